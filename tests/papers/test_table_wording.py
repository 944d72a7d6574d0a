"""TabFact's claims in a run over tables: lemmatised as the paper has them, or as written."""

import json

from lisax.corpora import open_folder
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.open_tables.run import OpenTables


def test_claims_are_those_of_the_recipes_wording(tmp_path):
    data = tmp_path / "data"
    (data / "all_csv").mkdir(parents=True)
    (data / "all_csv/1-1.html.csv").write_text("year#team\n1999#lions\n")
    for name, claims in (
        ("examples", ["the lion win", "the lion lose"]),
        ("examples_raw", ["the lions won", "they lost"]),
    ):
        for split in ("train", "val"):
            entry = {"1-1.html.csv": [claims, [1, 0], "lions"]}
            (data / f"{split}_{name}.json").write_text(json.dumps(entry))
    for wording, text in (("lemmatised", "the lion win"), ("written", "the lions won")):
        recipe = TableRecipe.read([], [f"TableRecipe.wording = '{wording}'"])
        run = OpenTables(open_folder(data), tmp_path / "out", recipe)
        assert next(run.read_claims("dev")).text == text
