"""Claims checked against sentences, rows and edges of one index by LisT5's own ranker and verifier."""

import dataclasses

import numpy as np
import pytest

from lisax.corpora.fever import read_predictions
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.ranking import RANK
from lisax.predict.judging import verifying
from lisax.predict.passage_index import PassageIndex
from lisax.predict.ranker import SentenceRanker, ranking
from lisax.predict.verdicts import write_predictions
from lisax.predict.verifier import Labeller
from lisax.records import Claim, Document, Graph, Hit, Label, Sentence, Table
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source
from lisax.retrieval.runs import read_run

PAGE = Document("Tarn_1", "Tarn", (Sentence("Tarn_1", 0, "Tarn is a town."), Sentence("Tarn_1", 1, "It has an inn.")))
TABLE = Table("Tarn_1:seasons", "Tarn", ("year", "points"), (("1971", "18"), ("1972", "20")))
GRAPH = Graph("Tarn_1:graph", "Tarn", (("mayor", "Mara Velin"), ("river", "Orm")))
CLAIM = Claim("c1", "Tarn, whose mayor is Mara Velin, won 18 points in 1971.")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    sources = {
        Source.TEXT: passages.of_document(PAGE),
        Source.TABLE: passages.of_table(TABLE),
        Source.GRAPH: passages.of_graph(GRAPH),
    }
    index = mixed.build_index(sources, tmp_path_factory.mktemp("evidence") / "index")
    return PassageIndex(index)


def test_units_are_looked_up_by_their_ids(evidence):
    texts = {"Tarn_1_1": "It has an inn.", "Tarn_1:seasons#r1": "year, points | 1972, 20"}
    texts["Tarn_1:graph#e0"] = "mayor, Mara Velin"
    gone = ("Tarn_1_7", "Tarn_1:seasons#r9", "nothing", "x#r1")
    found = {unit: evidence.lookup(unit) for unit in (*texts, *gone)}
    assert {unit: passage and passage.text for unit, passage in found.items()} == texts | dict.fromkeys(gone)
    assert found["Tarn_1_1"].title == "Tarn" and found["Tarn_1_1"].id == "Tarn_1_1"


def test_edges_that_one_sentence_tells_are_read_once(tmp_path):
    said = "Tarn by the Orm has the mayor Mara Velin."
    made = passages.of_verbalized_graph(GRAPH, lambda unit: [(0, said)])
    evidence = PassageIndex(mixed.build_index({Source.GRAPH: made}, tmp_path / "index", form="verbalized"))
    assert evidence.lookup("Tarn_1:graph#e0").text == evidence.lookup("Tarn_1:graph#e1").text == said
    assert evidence.retrieve([CLAIM], 10) == {"c1": ["Tarn_1:graph#e0"]}


def test_a_rendering_does_not_say_its_title_twice(tmp_path):
    """A short input's budget is for what the unit says."""
    named = dataclasses.replace(TABLE, caption="Seasons of Tarn")
    table = passages.of_verbalized_table(named, lambda unit: [(0, "Tarn: the year is 1971; the points is 18.")])
    graph = passages.of_verbalized_graph(GRAPH, lambda unit: [(0, "Tarn: the mayor is Mara Velin.")])
    evidence = PassageIndex(
        mixed.build_index({Source.GRAPH: graph, Source.TABLE: table}, tmp_path / "index", form="verbalized")
    )
    assert evidence.lookup("Tarn_1:graph#e0").text == "the mayor is Mara Velin."
    row = evidence.lookup("Tarn_1:seasons#r0")
    assert (row.title, row.text) == ("Tarn . Seasons of Tarn", "the year is 1971; the points is 18.")


def test_a_unit_of_several_passages_is_looked_up_whole(tmp_path):
    said = " ".join(f"The river {i} flows by Tarn." for i in range(60))
    made = list(passages.of_verbalized_graph(GRAPH, lambda unit: [(0, said)]))
    wide = Table("Tarn_1:wide", "Tarn", ("name", "notes"), (("a", "word " * 150 + "end"), ("b", "x")))
    evidence = PassageIndex(
        mixed.build_index(
            {Source.GRAPH: made, Source.TABLE: passages.of_table(wide)}, tmp_path / "index", form="verbalized"
        )
    )
    assert len(made) > 2 and evidence.lookup("Tarn_1:graph#e1").text == said
    assert evidence.lookup("Tarn_1:wide#r0").text == "name, notes | a, " + "word " * 150 + "end"
    assert evidence.lookup("Tarn_1:wide#r1").text == "name, notes | b, x"


class Words:
    """A ranker and a labeller that count shared words: what a trained T5 would be."""

    calibration = sentences = None
    pairs = False

    def __init__(self, text_format):
        self.format = text_format

    def probabilities(self, examples):
        if self.format is RANK:
            shared = [
                len(set(example.claim.split()) & set(example.sentences[0].text.replace(",", "").split()))
                for example in examples
            ]
            return np.array([[share / 10, 1 - share / 10] for share in shared])
        texts = [" ".join(sentence.text for sentence in example.sentences) for example in examples]
        return np.array([[0.8, 0.1, 0.1] if "Mara" in text and "1971" in text else [0.1, 0.1, 0.8] for text in texts])


def test_one_claim_is_decided_by_an_edge_and_a_row_together(evidence, tmp_path):
    candidates = evidence.retrieve([CLAIM], 10)
    assert set(candidates["c1"]) == {
        "Tarn_1_0",
        "Tarn_1_1",
        "Tarn_1:seasons#r0",
        "Tarn_1:seasons#r1",
        "Tarn_1:graph#e0",
        "Tarn_1:graph#e1",
    }
    rank = ranking(SentenceRanker(Words(RANK)), lambda claim: evidence.evidence(candidates[claim.id]), None, "words")
    (tmp_path / "run.trec").write_text("\n".join(rank([CLAIM])))
    run = read_run(tmp_path / "run.trec")
    labeller = Labeller(Words(LABEL_LISTWISE))
    (verdict,) = verifying(labeller, run, evidence)([CLAIM])
    assert verdict.label is Label.SUPPORTS
    assert {("Tarn_1:seasons#r0", "row 1"), ("Tarn_1:graph#e0", "edge 1")} <= {
        (one.unit, one.place) for one in verdict.evidence
    }
    text_only = {"c1": [hit for hit in run["c1"] if "#" not in hit.id]}
    (verdict_of_text,) = verifying(labeller, text_only, evidence)([CLAIM])
    assert verdict_of_text.label is Label.NOT_ENOUGH_INFO
    write_predictions(tmp_path / "out.jsonl", [verdict])
    (read,) = read_predictions(tmp_path / "out.jsonl")
    assert read.label is Label.SUPPORTS and all("#" not in unit for unit in read.evidence)
    assert '"evidence_units"' in (tmp_path / "out.jsonl").read_text()


def test_runs_hold_passages_or_units(evidence):
    passages_run = {"c1": [Hit("c1", "table:Tarn_1:seasons:0", 1, 1.0)]}
    assert evidence.in_run(passages_run) == {"c1": ["Tarn_1:seasons#r0", "Tarn_1:seasons#r1"]}
    assert evidence.in_run({"c1": [Hit("c1", "Tarn_1_0", 1, 1.0)]}) == {"c1": ["Tarn_1_0"]}
