"""From claims to verdicts: every kind of model behind the same two calls, and parts of one's own."""

import inspect
import json

import numpy as np
import pytest
from small_bundles import TABLES, bundle

from lisax import Checker, Evidence, Index, Label, LisaxError, Ranker, Verdict, Verifier, example_pages, shipped
from lisax.cli import main
from lisax.cli.check import CheckOptions
from lisax.cli.serve import ServeOptions
from lisax.cli.verify import verify
from lisax.corpora import table_predictions
from lisax.corpora.fever import read_predictions
from lisax.corpora.files import FileFolder
from lisax.files.writing import write_json_lines
from lisax.predict import index
from lisax.predict.checker import shipped_for
from lisax.predict.checking import Settings
from lisax.predict.file_steps import verify_file
from lisax.predict.ranker import Bm25Ranker, InTurn
from lisax.predict.table_verifier import WholeTables
from lisax.predict.verdicts import write_predictions
from lisax.predict.verifier import AGGREGATE, AGGREGATES, Labeller, verifier_of
from lisax.records import LABELS, Claim, Hit
from lisax.retrieval import documents, tables
from lisax.serve.answering import Engine
from lisax.serve.start import ServeSettings

CLAIM = "Vova Brugard was born in Torimoor."
CLAIMS = [
    CLAIM,
    "The Glass Harbour was released in 1958.",
    "zzz qqq",
    "The River Orm flows through Ostra.",
    "Lenas Brugard founded Doker Records in 1960.",
]


@pytest.mark.parametrize(
    ("ranker", "verifier"),
    [(one, "listwise") for one in (None, "ranker", "entity ranker", "pair ranker", "page pointer", "pointer")]
    + [("ranker", one) for one in ("pointwise", "pair pointwise", "pair listwise")],
)
def test_rankers_and_labellers_of_every_kind(pages, bundles, ranker, verifier):
    checker = Checker(pages, ranker and bundles[ranker], bundles[verifier])
    verdict = checker.check(CLAIM)
    assert verdict.claim == CLAIM and list(verdict.probabilities) == list(LABELS)
    assert sum(verdict.probabilities.values()) == pytest.approx(1)
    assert verdict.label == max(verdict.probabilities, key=verdict.probabilities.get) and verdict.reason == ""
    assert 0 < len(verdict.evidence) <= 5
    if ranker != "page pointer":
        scores = [one.score for one in verdict.evidence]
        assert ranker == "pointer" or scores == sorted(scores, reverse=True)
    for one in verdict.evidence:
        found = pages.lookup(one.unit)
        assert (one.text, one.source) == (found.text, found.title) and one.place == f"sentence {int(one.unit[-1]) + 1}"


def test_a_claim_is_labelled_as_its_verifier_does_alone(pages, bundles):
    checker = Checker(pages, bundles["ranker"], bundles["listwise"])
    (found,) = checker.find([CLAIM])
    assert Verifier.open(bundles["listwise"]).verify(CLAIM, found) == checker.check(CLAIM)
    assert Ranker.open(bundles["ranker"]).rank(CLAIM, pages.search(CLAIM, 100)) == found


def test_all_of_a_small_index_is_ranked_unless_numbers_are_given(pages, bundles, monkeypatch):
    def ranked(**options):
        return [one.unit for one in Checker(pages, verifier=bundles["listwise"], **options).search([CLAIM])[0]]

    found = [one.unit for one in pages.search(CLAIM, index.CANDIDATES)]
    everything = [unit for page in pages.index.pages for unit in pages.of_pages([Hit("", page, 1, 1.0)])]
    assert ranked()[: len(found)] == found and sorted(ranked()) == sorted(everything) != sorted(found)
    assert len(ranked(candidates=3)) == 3 and {*ranked(documents=1)} < {*found}
    assert ranked(ranker=bundles["ranker"]) == found  # a T5 reads each candidate
    assert Checker(pages, verifier=bundles["listwise"]).search(["Qwxyz!"]) == [[]]
    monkeypatch.setattr(index, "WHOLE", len(everything) - 1)
    assert [one.unit for one in Index.open(pages.folder).candidates_many([CLAIM], quick=True)[0]] == found


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_labels_of_single_sentences_become_one(pages, bundles, aggregate):
    checker = Checker(pages, bundles["ranker"], bundles["pointwise"], aggregate=aggregate)
    (found,) = checker.find([CLAIM])
    verdict = checker.check(CLAIM)
    single = [Verifier.open(bundles["pointwise"], aggregate="first").verify(CLAIM, [one]) for one in found[:5]]
    shares = np.array([list(one.probabilities.values()) for one in single])
    total = AGGREGATES[aggregate](shares, np.array([one.score for one in found[:5]]))
    assert list(verdict.probabilities.values()) == pytest.approx(list(total / total.sum()), rel=1e-5)


def test_many_claims_come_in_order_and_as_single_ones(pages, bundles, monkeypatch):
    monkeypatch.setattr("lisax.predict.checker.CLAIMS_AT_A_TIME", 2)
    checker, asked = Checker(pages, bundles["ranker"], bundles["pointwise"]), []

    def claims():
        for claim in CLAIMS:
            asked.append(claim)
            yield claim

    verdicts = checker.check_many(claims())
    assert next(verdicts).claim == CLAIM and asked == CLAIMS[:2]  # the others are read when they are asked for
    rest = list(verdicts)
    assert [verdict.claim for verdict in rest] == CLAIMS[1:]
    for verdict in rest:
        alone = checker.check(verdict.claim)
        assert alone.label == verdict.label and alone.reason == verdict.reason
        assert list(alone.probabilities.values()) == pytest.approx(list(verdict.probabilities.values()), abs=1e-5)


@pytest.mark.parametrize("verifier", ["pointwise", "listwise", "pointer"])
def test_without_evidence_there_is_not_enough_information(pages, bundles, verifier):
    verdict = Checker(pages, verifier=bundles[verifier]).check("zzz qqq")
    assert verdict.label is Label.NOT_ENOUGH_INFO and verdict.evidence == ()
    assert list(verdict.probabilities.values()) == [0, 0, 1] and "no evidence" in verdict.reason


def test_a_pointer_ranks_and_labels(pages, bundles):
    checker = Checker(pages, model=bundles["pointer"])
    (found,) = checker.find([CLAIM])
    pages_in_turn = [one.source for one in found]
    assert len(set(pages_in_turn[:4])) == 4  # first sentences of all pages before the second of any
    verdict = checker.check(CLAIM)
    assert {one.unit for one in verdict.evidence} <= {one.unit for one in found[:8]} and verdict.evidence
    assert len(verdict.evidence) <= 2


@pytest.mark.parametrize("model", ["fusion", "text to text"])
def test_tables_are_read_whole(cells, bundles, model):
    verdict = Checker(cells, model=bundles[model]).check("Torimoor has 39,000 people.")
    assert verdict.evidence[0].unit == "towns" and verdict.evidence[0].source == "Towns on the Orm"
    assert verdict.evidence[0].text.startswith("town, mayor, people | Torimoor, Minell, 18,400")
    assert (verdict.sufficiency is not None) is (model == "fusion")
    assert verdict.submission()["predicted_evidence"] == [one.unit for one in verdict.evidence]
    nothing = Checker(cells, model=bundles[model]).check("?")
    assert nothing.label is Label.NOT_ENOUGH_INFO and "no evidence" in nothing.reason


def test_where_a_row_leads_its_whole_table_is_read_too(bundles, monkeypatch, tmp_path):
    claims = ["The mayor of Torimoor is Minell, with 18,400 people.", "Torimoor has an inn."]
    index = Index.build([*TABLES, {"title": "Torimoor", "text": "Torimoor has an inn."}])
    of_text = list(Checker(index, "bm25", bundles["listwise"]).check_many(claims))
    of_tables = Verifier.open(bundles["text to text"])
    read = WholeTables(of_tables, index.reading("tables"))
    rows, page = Checker(index, "bm25", bundles["listwise"], tables=read).check_many(claims)
    assert page == of_text[1] and page.evidence[0].unit == "Torimoor_0"
    assert rows.evidence[0].unit == "towns#r0" == rows.decided_by
    table = of_tables.verify(claims[0], index.reading("tables").evidence(["towns"], claim=claims[0]))
    for label in LABELS:
        assert rows.probabilities[label] == pytest.approx(
            (of_text[0].probabilities[label] + table.probabilities[label]) / 2
        )
    assert rows.label is max(LABELS, key=rows.probabilities.get)
    # The shipped labellers do so without being asked.
    shipped_models = {"sentences": bundles["listwise"], "tables": bundles["text to text"]}
    monkeypatch.setattr(shipped, "labeller", lambda reads="sentences", tier="light": shipped_models[reads])
    assert list(Checker(index, "bm25").check_many(claims)) == [rows, page]
    assert list(Settings(None, index.folder, ranker="bm25").open().check_many(claims)) == [rows, page]
    for other in (Index.build(TABLES, kind="cells"), Index.build(example_pages())):
        assert shipped_for(other)[2] is None


def test_the_threshold_of_sufficiency_is_a_reason(cells, bundles, tmp_path):
    verdict = Checker(cells, model=bundles["fusion"], threshold=1e9).check("Torimoor has 39,000 people.")
    assert verdict.label is Label.NOT_ENOUGH_INFO and "less surely" in verdict.reason
    assert verdict.probabilities == {} and "label_probabilities" not in verdict.submission()
    decision = {"threshold": 1e9, "in_data": False, "precision": 0.75}
    learned = bundle(tmp_path / "fusion", "fusion", decision=decision)
    verdict = Checker(cells, model=learned).check("Torimoor has 39,000 people.")
    assert verdict.probabilities[Label.NOT_ENOUGH_INFO] == 0.75 and "held-out" in verdict.reason
    assert Checker(cells, model=learned, threshold=-1e9).check("Torimoor has 39,000 people.").reason == ""


@pytest.mark.parametrize("model", ["listwise", "text to text"])
def test_only_table_fusion_has_a_threshold(cells, bundles, model):
    with pytest.raises(LisaxError, match="is not table fusion"):
        Checker(cells, model=bundles[model], threshold=0.5)


def test_text_tables_and_graphs_are_evidence_together(bundles):
    index = Index.build(
        [
            *TABLES,
            {"title": "Torimoor", "text": "Torimoor is a town. It has an inn."},
            {"subject": "Torimoor", "edges": [["mayor", "Tessa Minell"], ["river", "Orm"]]},
        ]
    )
    found = index.search("Torimoor mayor", 100)
    assert {one.place.split()[0] for one in found} == {"sentence", "row", "edge"}
    verdict = Checker(index, bundles["ranker"], bundles["listwise"]).check("Torimoor has a mayor.")
    row = verdict.to_dict()
    assert row["evidence_units"] == [one.unit for one in verdict.evidence]
    assert row["evidence_scores"] == [one.score for one in verdict.evidence]
    assert ["towns", 0] in row["predicted_evidence"] and len(row["predicted_evidence"]) == len(verdict.evidence) == 5
    with pytest.raises(LisaxError, match="hops=1"):
        Checker(index, verifier=bundles["listwise"], hops=2).check("Torimoor")


def test_one_folder_may_hold_pages_and_cells(bundles, tmp_path):
    tables.build_index(TABLES, tmp_path / "index", tables.Strategy.ENTITY_CHAR_23)
    documents.build_index(FileFolder(example_pages()).documents(), tmp_path / "index")
    by_text, by_tables = (Checker(tmp_path / "index", model=bundles[kind]) for kind in ("listwise", "fusion"))
    assert by_text.check("Torimoor is a town.").evidence[0].unit.startswith("Torimoor_")
    assert by_tables.check("Torimoor has 39,000 people.").evidence[0].unit == "towns"


def test_a_second_hop_looks_into_named_pages(bundles, tmp_path):
    pages = [
        {"title": "Ada Brook", "text": "Ada Brook wrote The Red Mill."},
        {"title": "The Red Mill", "text": "The Red Mill is a novel of the Orm valley."},
    ]
    index = Index.build(pages, tmp_path / "index")
    (first,), (both,) = (index.search_many(["A book by Ada Brook"], 10, hops=hops) for hops in (1, 2))
    assert {one.source for one in first} == {"Ada Brook"}
    assert {one.source for one in both} == {"Ada Brook", "The Red Mill"}
    checker = Checker(index, verifier=bundles["listwise"], hops=2)
    assert {one.source for one in checker.check("A book by Ada Brook").evidence} == {"Ada Brook", "The Red Mill"}


def test_fewer_candidates_documents_and_units_of_evidence(pages, bundles):
    few = Checker(pages, verifier=bundles["listwise"], candidates=3, documents=1, evidence=2)
    assert len(few.find([CLAIM])[0]) == 3 and len(few.check(CLAIM).evidence) == 2


# --- Parts of one's own ---------------------------------------------------------------------


class Backwards(Ranker):
    def rank(self, claim, evidence):
        return list(reversed(evidence))


class Echo(Verifier):
    depth = 1

    def verify(self, claim, evidence=()):
        return Verdict(claim, Label.SUPPORTS, {}, tuple(evidence[: self.depth]))


class OneText(Index):
    def search(self, query, k=10):
        return [Evidence("a", "Torimoor is a town."), Evidence("b", f"Not {query}")][:k] if "Torimoor" in query else []


def test_parts_of_ones_own():
    checker = Checker(OneText(), Backwards(), Echo())
    assert [one.unit for one in checker.check("Torimoor is large.").evidence] == ["b"]
    assert Checker(OneText(), verifier=Echo()).check("Torimoor is a town.").evidence[0].unit == "a"
    found = list(checker.check_many(["Torimoor", "Ostra", "Torimoor?"]))
    assert [verdict.label for verdict in found] == [Label.SUPPORTS, Label.NOT_ENOUGH_INFO, Label.SUPPORTS]
    with pytest.raises(LisaxError, match="cannot look up"):
        OneText().evidence(["a"])


def test_orders_without_a_model():
    texts = [Evidence(f"{page}_{i}", text, page) for page, i, text in (
        ("P", 0, "It rained."), ("P", 1, "Torimoor has a mayor."), ("Torimoor", 0, "A town of glass."))]  # fmt: skip
    assert [one.unit for one in Bm25Ranker().rank("The mayor of Torimoor", texts)] == ["P_1", "Torimoor_0", "P_0"]
    assert [one.score for one in Bm25Ranker().rank("zzz", texts)] == [0, 0, 0]
    assert Bm25Ranker().rank("zzz", []) == []
    turned = InTurn().rank("x", texts)
    assert [one.unit for one in turned] == ["P_0", "Torimoor_0", "P_1"] and turned[1].score == 1 / 2
    with pytest.raises(LisaxError, match="put it in a list"):
        Bm25Ranker().rank("x", "a text")


# --- As the verbs, one step at a time --------------------------------------------------------


@pytest.mark.parametrize("verifier", ["pointwise", "listwise", "pointer"])
def test_verdicts_are_those_of_retrieve_rerank_and_verify(pages, bundles, verifier, tmp_path):
    write_json_lines(tmp_path / "claims.jsonl", ({"id": i, "claim": text} for i, text in enumerate(CLAIMS)))
    steps = {
        "retrieve": ["documents", "--k", "20"],
        "rerank": ["--model", str(bundles["ranker"]), "--depth", "100", "--run", str(tmp_path / "retrieve")],
        "verify": ["--model", str(bundles[verifier]), "--run", str(tmp_path / "rerank"), "--temporal"],
    }
    for verb, options in steps.items():
        given = [f"--index={pages.folder}", f"--claims={tmp_path}/claims.jsonl", f"--out={tmp_path / verb}"]
        assert main([verb, *options, *given]) == 0
    wanted = list(read_predictions(tmp_path / "verify"))
    checker = Checker(pages, bundles["ranker"], bundles[verifier], temporal=True)
    verdicts = list(checker.check_many(Claim(str(i), text, original_id=i) for i, text in enumerate(CLAIMS)))
    write_predictions(tmp_path / "checked", verdicts)
    for found, one in zip(read_predictions(tmp_path / "checked"), wanted, strict=True):
        assert (found.claim_id, found.label, found.temporal) == (
            one.claim_id,
            one.label,
            one.temporal,
        ) or not one.evidence
        assert found.evidence == one.evidence
        assert found.evidence_scores == pytest.approx(one.evidence_scores, rel=1e-6)
        if one.evidence:
            assert found.probabilities == pytest.approx(one.probabilities, abs=1e-5)


def test_verdicts_over_tables_are_those_of_the_verb(cells, bundles, tmp_path):
    claims = ["Torimoor has 39,000 people.", "The Red Mill is of 1961."]
    write_json_lines(tmp_path / "claims.jsonl", ({"id": str(i), "claim": text} for i, text in enumerate(claims)))
    given = ["--index", str(cells.folder), "--claims", str(tmp_path / "claims.jsonl")]
    assert main(["retrieve", "cells", *given, "--out", str(tmp_path / "run")]) == 0
    options = ["--model", str(bundles["fusion"]), "--run", str(tmp_path / "run"), "--out", str(tmp_path / "verify")]
    assert main(["verify", *options, *given]) == 0
    checker = Checker(cells, model=bundles["fusion"])
    write_predictions(tmp_path / "checked", checker.check_many(Claim(str(i), text) for i, text in enumerate(claims)))
    found, wanted = (list(table_predictions.read_predictions(tmp_path / name)) for name in ("checked", "verify"))
    assert found == wanted and len(found) == 2


# --- What does not fit ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"verifier": "listwise", "model": "pointer"}, "not both"),
        ({"verifier": "ranker"}, "ranks .'rank'.; a labeller is wanted"),
        ({"verifier": "listwise", "ranker": "pointwise"}, "a ranker is wanted here"),
        ({"verifier": "listwise", "ranker": "parts"}, "lisax ask"),
        ({"verifier": "reader"}, "checks no claims|answers questions"),
        ({"verifier": "fusion"}, "reads tables, and this index holds sentences.*index cells"),
        ({"verifier": "page pointer"}, "points to documents"),
        ({"verifier": "pointer", "evidence": 3}, "points to its evidence itself"),
        ({"verifier": "pointwise", "aggregate": "min"}, "expected an aggregate of"),
        ({"verifier": "listwise", "aggregate": "sum"}, "labels no single sentences, .* 'sum' .* leave it out"),
        ({"verifier": "fusion", "aggregate": "any"}, "labels no single sentences"),
        ({"verifier": "pointwise", "hops": 3}, "hops of 1 or 2"),
        ({"verifier": "pointwise", "candidates": 0}, "at least 1"),
        ({"verifier": "pointwise", "evidence": 0}, "at least one unit"),
    ],
)
def test_parts_that_do_not_fit(pages, bundles, arguments, complaint):
    given = {
        name: bundles[value] if name in ("verifier", "ranker", "model") else value for name, value in arguments.items()
    }
    with pytest.raises(LisaxError, match=complaint):
        Checker(pages, **given)


def test_claims_and_paths_that_cannot_be_read(pages, bundles, tmp_path):
    checker = Checker(pages, verifier=bundles["listwise"])
    with pytest.raises(LisaxError, match="surrogate"):
        checker.check("half \ud800")
    with pytest.raises(LisaxError, match="no index here"):
        Checker(tmp_path, verifier=bundles["listwise"])
    with pytest.raises(LisaxError, match="no such checkpoint or bundle"):
        Checker(pages, verifier=tmp_path / "none")
    with pytest.raises(LisaxError, match="at most 2 tables"):
        Checker(pages, verifier=bundles["fusion"], evidence=3)


# --- Printing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["<script>alert(1)</script>", "a & \"'><img src=x>"])
def test_verdicts_print_and_are_escaped(bad):
    evidence = Evidence("P_0", f"text {bad}", f"title {bad}", "sentence 0", 0.5)
    verdict = Verdict(f"claim {bad}", Label.REFUTES, dict(zip(LABELS, (0.1, 0.7, 0.2))), (evidence,), f"reason {bad}")
    shown = verdict._repr_html_()
    assert "<script" not in shown and "<img" not in shown and "REFUTES</b>" in shown and shown.count("<tr>") == 2
    text = str(verdict)
    assert text.startswith(f"REFUTES  claim {bad}\n  REFUTES 0.700  NOT ENOUGH INFO 0.200  SUPPORTS 0.100")
    assert f"reason {bad}" in text and "sentence 0 (0.5)" in text
    assert "\n" not in repr(verdict) and "REFUTES 0.700" in repr(verdict)
    row = json.loads(verdict.to_json())
    assert row["evidence"][0]["text"] == f"text {bad}" and row["predicted_evidence"] == [["P", 0]]
    bare = Verdict("c", Label.NOT_ENOUGH_INFO, {})
    assert str(bare) == "NOT ENOUGH INFO  c" and "<table" not in bare._repr_html_()
    assert Verdict("c", Label.SUPPORTS, {}, (evidence,) * 8).__str__().endswith("… and 3 more")


def test_evidence_of_a_run_is_looked_up_once_each(pages):
    hits = [
        Hit("q", unit, rank, 1 / rank)
        for rank, unit in enumerate(("Torimoor_0", "gone_0", "Torimoor_99", "Torimoor_1"), 1)
    ]
    assert [(one.unit, one.score) for one in pages.evidence(hits)] == [("Torimoor_0", 1.0), ("Torimoor_1", 0.25)]
    assert [one.unit for one in pages.evidence(["Torimoor_1", "Torimoor_1", "Torimoor_0"], 1)] == ["Torimoor_1"]


@pytest.mark.parametrize(
    "of",
    [
        Labeller,
        verifier_of,
        Verifier.open,
        Checker,
        Settings,
        Engine,
        ServeSettings,
        verify_file,
        CheckOptions,
        verify,
        ServeOptions,
    ],
)
def test_labels_of_single_sentences_are_combined_in_one_way_wherever_nothing_else_is_said(of):
    assert inspect.signature(of).parameters["aggregate"].default in (None, AGGREGATE) and AGGREGATE == "any"
