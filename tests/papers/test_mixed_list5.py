"""What LisT5's models learn from an index of text, tables and graphs: which units, of which claims."""

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.formats.examples import read_examples
from lisax.papers.base import TRAIN
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import List5
from lisax.papers.udt_qa.claim_models import MixedList5, decided
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.papers.udt_qa.run import UdtQa
from lisax.records import Label


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    world.write(folder / "world", 150, mixed_evidence=True)
    recipe = QuestionRecipe(
        train={"reader": "experiments/udt_qa/span_reader_micro.gin"},
        method="bm25",
        passages=5,
        withheld_pages=0.4,
        claims="experiments/list5/demo.gin",
        indexes=("text", "raw"),
        learned_from=("text", "raw"),
    )
    run = UdtQa(open_folder(folder / "world"), folder / "out", recipe)
    run.make(*run.indexed)
    return run


def test_edges_are_evidence_and_what_is_withheld_is_not(run, tmp_path):
    pipeline = MixedList5(
        run.data,
        tmp_path,
        Recipe.read(["experiments/list5/demo.gin"]),
        index=run.index_folder("raw", "raw"),
        passages=20,
    )
    pipeline.make("examples.rank")
    made = list(read_examples(pipeline.examples_file("rank", TRAIN)))
    over_tables = {claim.id: claim for claim in run.data.table_claims("train")}
    claims = {claim.id: claim for claim in run.data.claims("train")} | over_tables
    relevant = {(example.claim_id, passage) for example in made if example.label for passage in example.sentences}
    for claim_id, passage in relevant:
        sets = claims[claim_id].evidence_sets + claims[claim_id].mixed_sets
        assert any(passage.id in units for units in sets)
        assert run.is_structure(passage.id) or run.is_kept(passage.id.rpartition("_")[0])
    parts = [passage for _, passage in relevant if run.is_structure(passage.id)]
    assert all(", " in passage.text and passage.title for passage in parts)
    assert {"#e" in passage.id for passage in parts} == {True, False} and len(parts) < len(relevant)
    assert not over_tables.keys().isdisjoint(i for i, _ in relevant) and dict(relevant).keys() - over_tables.keys()
    assert {claims[example.claim_id].label for example in made} == {Label.SUPPORTS, Label.REFUTES}


def test_models_learn_from_an_index_only_where_claims_name_what_it_has(run, tmp_path):
    assert run.claim_checks.settings == [("text", "text"), ("text", "raw"), ("raw", "raw")]
    found = [stage.name for stage in run.claim_checks.stages()]
    assert found == ["claims.train.text", "claims.text.text", "claims.text.raw", "claims.train.raw", "claims.raw.raw"]
    assert {stage.name for stage in run.claim_checks.stages()} <= set(run.graph)
    assert type(run.claim_checks.pipeline("text")) is List5 and type(run.claim_checks.pipeline("raw")) is MixedList5
    world.write(tmp_path / "world", 50)
    recipe = run.recipe.__class__(
        train={"reader": "experiments/udt_qa/span_reader_micro.gin"},
        method="bm25",
        passages=5,
        claims="experiments/list5/demo.gin",
    )
    plain = UdtQa(open_folder(tmp_path / "world"), tmp_path / "out", recipe)
    assert plain.claim_checks.settings == [("text", index) for index in ("text", "raw", "verbalized")]


def test_claims_that_are_true_or_false_are_decided(run):
    claims = list(run.data.claims("train"))
    kept = decided(claims)
    assert {claim.label for claim in kept.values()} == {Label.SUPPORTS, Label.REFUTES}
    assert [claim.id for claim in claims if claim.label is not Label.NOT_ENOUGH_INFO] == list(kept)
