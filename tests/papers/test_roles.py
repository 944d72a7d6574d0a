"""Who is trained on, who chooses checkpoints and who is reported: never the same."""

import itertools
import json
import shutil
from types import SimpleNamespace

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.formats.triples import Triples
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.run import Cltr
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import List5
from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.papers.verbalizer.run import VerbalizerTraining
from lisax.sampling import files
from lisax.world.writing import iterate_documents, split_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, 150)
    return folder


def without_test(folder, tmp_path):
    """The same data, of which the test split is missing."""
    for file in folder.iterdir():
        if ".test." not in file.name:
            (tmp_path / file.name).symlink_to(file)
    return tmp_path


def roles_of(pipeline):
    roles = pipeline.questions if isinstance(pipeline, Cltr) else pipeline.claims
    assert all(roles.values())
    assert not any(one.keys() & other.keys() for one, other in itertools.combinations(roles.values(), 2))
    return {role: set(found) for role, found in roles.items()}


def list5(folder, out, **settings):
    recipe = Recipe.read(["experiments/list5/scratch.gin"], [f"Recipe.{k} = {v!r}" for k, v in settings.items()])
    return List5(open_folder(folder), out, recipe)


def ids(folder, what, split):
    return {json.loads(line)["id"] for line in (folder / f"{what}.{split}.jsonl").read_text().splitlines()}


def test_all_three_splits_are_used_as_they_are(folder, tmp_path):
    roles = roles_of(list5(folder, tmp_path / "out", attacked_share=0.0, attacks=False))
    assert roles == {split: ids(folder, "claims", split) for split in ("train", "dev", "test")}


def test_claims_that_choose_checkpoints_are_held_out_of_train(folder, tmp_path):
    data, plain = without_test(folder, tmp_path), {"attacked_share": 0.0, "attacks": False, "validation_share": 0.3}
    whole = roles_of(list5(data, tmp_path / "out", **plain))
    assert whole["test"] == ids(folder, "claims", "dev")
    assert whole["train"] | whole["dev"] == ids(folder, "claims", "train")
    assert 0.2 < len(whole["dev"]) / len(whole["train"] | whole["dev"]) < 0.4
    few = roles_of(list5(data, tmp_path / "out", **plain, validation_claims=5))
    assert len(few["dev"]) == 5 and few["dev"] < whole["dev"]
    assert few["train"] == whole["train"]  # fewer of those held out are no more to train on


def test_questions_that_choose_checkpoints_are_held_out_of_train(folder, tmp_path):
    bindings = [
        "CltrRecipe.validation_share = 0.3",
        "CltrRecipe.validation_questions = None",
        "CltrRecipe.train_questions = None",
    ]
    recipe = CltrRecipe.read(["experiments/cltr/world_micro.gin"], bindings)
    whole = Cltr(open_folder(folder), tmp_path / "whole", recipe)
    whole.make("index")
    assert all(found <= ids(folder, "questions", role) for role, found in roles_of(whole).items())
    run = Cltr(open_folder(without_test(folder, tmp_path)), tmp_path / "out", recipe)
    run.make("index")
    roles = roles_of(run)
    assert roles["train"] | roles["dev"] <= ids(folder, "questions", "train")
    assert roles["test"] <= ids(folder, "questions", "dev")
    assert 0.2 < len(roles["dev"]) / len(roles["train"] | roles["dev"]) < 0.4


def test_a_question_that_is_reported_is_left_out_of_train(folder, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(folder, data)
    with (data / "questions.train.jsonl").open("a") as train:
        train.write((data / "questions.test.jsonl").read_text())
    run = Cltr(open_folder(data), tmp_path / "out", CltrRecipe.read(["experiments/cltr/world_micro.gin"]))
    run.make("index")
    assert roles_of(run)["test"] <= ids(folder, "questions", "test")


def test_texts_that_choose_checkpoints_are_held_out_of_train(tmp_path):
    pages = list(iterate_documents(100))
    counts = files.write_texts(tmp_path, pages, 0.2)
    texts = {split: (tmp_path / f"text.{split}.jsonl").read_text().splitlines() for split in ("train", "dev")}
    assert {split: len(lines) for split, lines in texts.items()} == counts and 8 < counts["dev"] < 33
    assert not set(texts["train"]) & set(texts["dev"]) and sum(counts.values()) == len({page.id for page in pages})


def test_what_the_verbalizer_is_judged_by_does_not_teach(tmp_path):
    records = [SimpleNamespace(id=f"r{i}") for i in range(200)]
    units = [Triples(f"u{i}", "T", (("r", "o"),)) for i in range(200)]
    data = SimpleNamespace(data_text_splits=("train",), data_texts=lambda split: iter(records))
    recipe = VerbalizerRecipe(train={"verbalize_t_f": "a.gin", "verbalize_t_f_id_t": "b.gin"}, validation_share=0.2)
    run = VerbalizerTraining(data, lambda: iter(units), None, tmp_path, recipe)
    for one, other, whole in (
        (run.records("train"), run.records("dev"), records),
        (run.target_units(False), run.target_units(True), units),
    ):
        one, other = ({item.id for item in found} for found in (one, other))
        assert one and other and not one & other and one | other == {item.id for item in whole}


@pytest.mark.parametrize("seed", range(5))
def test_a_page_of_a_world_belongs_to_one_split(seed):
    splits = [split_of(index, seed) for index in range(200)]
    for tens in range(0, 200, 10):
        assert sorted(splits[tens : tens + 10]) == ["dev", "test", *["train"] * 8]
