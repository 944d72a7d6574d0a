"""The claims of a run of UDT-QA: their groups, their stages, their figures, with counters of words as models."""

import dataclasses
import functools

import numpy as np
import pytest
import ray_cluster
import stages_alone
from small_bundles import bundle

from lisax import world
from lisax.corpora import open_folder, plain
from lisax.corpora.check import check
from lisax.devices.workers import Workers
from lisax.errors import DataError, LisaxError
from lisax.files.resumable import partial
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.ranking import RANK
from lisax.papers.list5.run import List5
from lisax.papers.stages import Stopped
from lisax.papers.udt_qa import claim_models
from lisax.papers.udt_qa import claims as mixed_claims
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.papers.udt_qa.report import _claims_table
from lisax.papers.udt_qa.run import UdtQa
from lisax.predict.ranker import SentenceRanker
from lisax.predict.verifier import Labeller
from lisax.records import Claim, Label, Prediction, Table


class Words:
    """Relevance is the share of the claim's words that a text has; a text with most of them supports."""

    calibration = sentences = None
    pairs = False

    def __init__(self, path):
        self.format = RANK if "rank" in path.name else LABEL_POINTWISE

    def probabilities(self, examples):
        shares = []
        for example in examples:
            words = set(example.claim.lower().strip(".").split())
            text = f"{example.sentences[0].title} {example.sentences[0].text}".lower()
            shares.append(sum(word in text for word in words) / len(words))
        if self.format is RANK:
            return np.array([[share, 1 - share] for share in shares])
        return np.array([[0.9, 0.05, 0.05] if share > 0.7 else [0.05, 0.05, 0.9] for share in shares])


READER = {"reader": "experiments/udt_qa/span_reader_micro.gin"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    world.write(folder / "world", 150)
    recipe = QuestionRecipe(
        train=READER,
        method="bm25",
        passages=5,
        withheld_pages=0.4,
        claims="experiments/list5/demo.gin",
        checked_claims=40,
    )
    return UdtQa(open_folder(folder / "world"), folder / "out", recipe)


def test_claims_are_grouped_by_where_their_evidence_is(run):
    pages = [document.id for document in run.data.documents()]
    kept, held = next(p for p in pages if run.is_kept(p)), next(p for p in pages if not run.is_kept(p))

    def group(*sets):
        return run.claim_checks.group(Claim("c", "c", Label.SUPPORTS, sets))

    assert group((f"{kept}_0",)) == mixed_claims.AT_HAND and group((f"{held}_0",)) == mixed_claims.WITHHELD
    assert group((f"{kept}_0", f"{held}_1")) == mixed_claims.SPLIT
    assert group((f"{held}_0",), (f"{kept}_0",)) == mixed_claims.AT_HAND
    table, graph = next(iter(run.data.tables())).id, next(iter(run.data.graphs())).id
    assert group((table,)) == group((f"{graph}#e0",)) == group((f"{held}_0",), (table,)) == mixed_claims.TABLES
    assert group((f"{kept}_0", f"{table}#r0")) == group((f"{kept}_0", f"{graph}#e1")) == mixed_claims.SPLIT
    assert group((f"{held}_0", f"{table}#r0c1")) == mixed_claims.WITHHELD
    assert group() == group(("nothing-of-it",)) == mixed_claims.UNNAMED


def test_a_tables_id_is_no_sentence_of_a_page(run, tmp_path):
    for file in run.data.folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "tables.jsonl").unlink()
    plain.write_tables(tmp_path / "tables.jsonl", [Table("Town_1", "Town", ("n",), (("5",),))])
    own = UdtQa(open_folder(tmp_path), tmp_path / "out", dataclasses.replace(run.recipe, train=READER))
    assert own.claim_checks.group(Claim("c", "c", Label.SUPPORTS, (("Town_1",),))) == mixed_claims.TABLES


def test_claims_of_pages_and_of_tables_do_not_share_an_id(run, tmp_path):
    for file in run.data.folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    claim = next(iter(run.claim_checks._of_tables.values()))
    (tmp_path / "claims.test.jsonl").unlink()
    plain.write_claims(tmp_path / "claims.test.jsonl", [Claim(claim.id, "Tarn is a town.", Label.SUPPORTS)])
    twice = UdtQa(open_folder(tmp_path), tmp_path / "out", dataclasses.replace(run.recipe, train=READER))
    with pytest.raises(DataError, match=rf"'{claim.id}' .* claims.test \('Tarn is a town.'\) and .* table_claims.test"):
        twice.run()
    (told,) = [problem for problem in check(tmp_path).problems if "field 'id'" in problem]
    assert "table_claims.test.jsonl:" in told and f"claim '{claim.id}' is among the claims in test too" in told


def test_claims_are_checked_against_every_index(run, monkeypatch):
    def trained(self):
        self.make("index")
        for model in self.recipe.train:
            self.model_dir(model).mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(List5, "train_models", trained)
    monkeypatch.setattr(mixed_claims.Ranker, "open", staticmethod(lambda path: SentenceRanker(Words(path))))
    monkeypatch.setattr(mixed_claims.Verifier, "open", staticmethod(lambda path: Labeller(Words(path))))
    checks = [stage.name for stage in run.claim_checks.stages()]
    run.make(*checks)
    figures = run.claim_checks.figures()
    assert list(figures) == ["text/text", "text/raw", "text/verbalized"]  # no claim names an edge
    assert {claim.label for claim in run.claim_checks.claims.values()} == {Label.SUPPORTS, Label.REFUTES}
    for of in figures.values():
        assert sum(group["claims"] for group in of.values()) == len(run.claim_checks.claims)
    text, raw = figures["text/text"][mixed_claims.TABLES], figures["text/raw"][mixed_claims.TABLES]
    assert text["accuracy"] < raw["accuracy"] <= raw["accuracy_with_dates"]  # what no sentence says, rows do
    (table,) = _claims_table({"claims": figures, "withheld_pages": 0.4})
    assert "40% of the pages" in table.explanation and len(table.rows) == 6
    with pytest.raises(Stopped):
        run.runner.until = "claims.text.raw"
        run.make(*checks)  # done before, up to the stage asked for


def test_accuracy_is_told_before_and_after_dates():
    claims = [Claim(i, "c", Label.SUPPORTS) for i in "abc"]
    verdicts = {
        "a": Prediction("a", Label.SUPPORTS, (1.0, 0.0, 0.0), (), (), {"verifier_label": "REFUTES"}),
        "b": Prediction("b", Label.REFUTES, (0.0, 1.0, 0.0), (), (), {"verifier_label": "SUPPORTS"}),
        "c": Prediction("c", Label.SUPPORTS, (1.0, 0.0, 0.0), (), (), {"verifier_label": "REFUTES"}),
    }
    found = mixed_claims._accuracy(claims, verdicts)
    assert found == {"accuracy": pytest.approx(1 / 3), "accuracy_with_dates": pytest.approx(2 / 3), "claims": 3}
    assert mixed_claims._accuracy(claims[:1], {"a": Prediction("a", Label.SUPPORTS, (1.0, 0.0, 0.0))})["accuracy"] == 1


def test_a_ranking_goes_on_only_with_the_same_models_and_passages(run, tmp_path, monkeypatch):
    begun = []

    def rank(self, opens, claims, candidates, depth, out, *_):
        begun.append(partial(out).exists())
        partial(out).parent.mkdir(parents=True, exist_ok=True)
        partial(out).touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(
        List5,
        "train_models",
        lambda self: [self.model_dir(model).mkdir(parents=True, exist_ok=True) for model in self.recipe.train],
    )
    monkeypatch.setattr(List5, "rank_claims", rank)
    for change in ({}, {}, {"claim_passages": 7}, {"checked_claims": 9}, {"seed": 5}):
        again = UdtQa(run.data, tmp_path, dataclasses.replace(run.recipe, train=READER, **change))
        assert again.claim_checks.claims  # known before the stage, as in a whole run
        with pytest.raises(KeyboardInterrupt):
            again.make("claims.text.text")
    assert begun == [False, True, False, False, False]


def test_models_of_claims_start_from_the_runs_warm_up_with_its_vocabulary(run, tmp_path, monkeypatch):
    recipe = dataclasses.replace(
        run.recipe, claims="experiments/udt_qa/claims_micro.gin", warm_up="experiments/list5/warm_up.gin", train=READER
    )
    warmed, made = UdtQa(run.data, tmp_path, recipe), []
    monkeypatch.setattr(List5, "train_models", lambda self: made.append(self))
    training = warmed.graph["claims.train.text"]
    assert "warm_up" in training.after  # the stage that has to come first
    training.work()
    (pipeline,) = made
    assert pipeline.recipe.initial["rank_entities"] == str(tmp_path / "warm_up" / "models" / "rank_entities")
    assert pipeline.recipe.vocabulary == str(tmp_path / "spiece.model")
    cold = UdtQa(run.data, tmp_path / "cold", dataclasses.replace(recipe, warm_up=None))
    with pytest.raises(LisaxError, match="warm_up/rank_entities and has no warm_up"):
        cold.graph["claims.train.text"].work()


def test_questions_alone_are_answered_and_no_claims_checked(run, tmp_path):
    for file in run.data.folder.iterdir():
        if "claims" not in file.name:
            (tmp_path / file.name).symlink_to(file)
    alone = UdtQa(open_folder(tmp_path), tmp_path / "out", dataclasses.replace(run.recipe, train=READER))
    assert run.checks_claims and not alone.checks_claims
    assert [*alone.graph] == [stage for stage in run.graph if not stage.startswith("claims.")]


@pytest.mark.slow
def test_workers_check_claims_as_one_process_does(run, tmp_path, monkeypatch):
    def trained(self):
        self.make("index")
        for model in self.recipe.train:
            bundle(self.model_dir(model), "entity ranker" if "rank" in model else "pointwise")

    monkeypatch.setattr(List5, "train_models", trained)
    monkeypatch.setattr(claim_models, "CLAIMS_AT_A_TIME", 7)
    made = functools.partial(UdtQa, run.data, tmp_path, dataclasses.replace(run.recipe, train=READER))
    made().make("claims.text.raw")
    with ray_cluster.started(workers=2):
        stages_alone.check(made, monkeypatch, ["claims.text.raw"], Workers("ray", 2))
