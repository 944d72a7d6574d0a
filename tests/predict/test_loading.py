"""`lisax.load` opens each kind of model by its card."""

from __future__ import annotations

import pytest

import lisax
from lisax import shipped
from lisax.errors import LisaxError
from lisax.records import LABELS, Label, Table
from lisax.retrieval.table_text import build_index
from lisax.weights.pretrained import MODELS

TABLE = Table("t", "Towns", ("town", "residents"), (("Tarn", "12,000"), ("Ode", "300")))
SENTENCES = ["Tarn has 12,000 residents.", "It rains in Ode."]
needs_minilm = pytest.mark.skipif(not MODELS["minilm"].is_there, reason="needs MiniLM's files: lisax models get minilm")


@pytest.mark.parametrize("kind", ["listwise", "pointwise", "pointer"])
def test_a_labeller_verifies(bundles, kind):
    verdict = lisax.load(bundles[kind]).verify("Tarn is a town.", SENTENCES)
    assert set(verdict.probabilities) == set(LABELS)


def test_the_example_model_says_what_its_verifier_says():
    model, claim = lisax.example_model(), "Torimoor has 12,000 residents."
    evidence = ["Torimoor is home to 39,000 people.", "It rains in Ode."]
    verdict = lisax.load(model).verify(claim, evidence)
    assert verdict == lisax.Verifier.open(model).verify(claim, evidence)
    assert verdict.label is Label.REFUTES and verdict.probabilities[Label.REFUTES] == pytest.approx(0.979, abs=1e-3)


def test_table_fusion_verifies_tables(bundles):
    verdict = lisax.load(bundles["fusion"]).verify("Tarn has 300 residents.", [TABLE])
    assert sum(verdict.probabilities.values()) == pytest.approx(1) and verdict.evidence[0].unit == "t"


def test_a_ranker_ranks(bundles):
    ranked = lisax.load(bundles["ranker"]).rank("Tarn is a town.", SENTENCES)
    assert {one.unit for one in ranked} == {"0", "1"}


def test_a_reader_needs_an_index(bundles):
    with pytest.raises(LisaxError, match="from an index: give load"):
        lisax.load(bundles["reader"])


def test_a_labeller_takes_no_index(bundles):
    with pytest.raises(LisaxError, match="reads no index"):
        lisax.load(bundles["listwise"], index="index")


@needs_minilm
@pytest.mark.parametrize("reads, evidence", [("sentences", ["Tarn is a town."]), ("tables", [TABLE])])
def test_the_shipped_labellers(reads, evidence):
    verdict = lisax.load(str(shipped.labeller(reads))).verify("Tarn is a town.", evidence)
    assert set(verdict.probabilities) == set(LABELS)


@needs_minilm
def test_the_shipped_ranker():
    assert lisax.load("minilm-ranker").rank("It rains in Ode.", SENTENCES)[0].unit == "1"


@needs_minilm
def test_the_shipped_scorer_of_rows_and_columns(tmp_path):
    build_index([TABLE], tmp_path / "index")
    from lisax.predict.retriever import add_vectors, open_encoder

    add_vectors(tmp_path / "index", open_encoder("minilm"))
    answer = lisax.load(str(shipped.parts()), index=tmp_path / "index").ask("How many residents has Tarn?")[0]
    assert answer.text == "12,000"
