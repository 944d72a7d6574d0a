"""One verdict from those of several sources."""

import dataclasses

import numpy as np
import pytest

from lisax.formats.labelling import LABEL_LISTWISE
from lisax.predict.joining import join
from lisax.predict.verdicts import Evidence, Verdict
from lisax.predict.verifier import Labeller, attributed
from lisax.records import LABELS, Claim, Label

S, R, N = LABELS


def verdict(label: Label, share: float, reads: str = "sentences", **fields) -> Verdict:
    rest = (1 - share) / 2
    shares = {one: share if one is label else rest for one in LABELS}
    unit = Evidence("Tarn_0" if reads == "sentences" else "towns", "Tarn is a town.", "Tarn", score=0.5)
    return Verdict("Tarn is a town.", label, shares, (unit,), reads=reads, **fields)


def test_the_surest_source_that_decides_counts_and_its_evidence_comes_first():
    text, tables = verdict(S, 0.6), verdict(S, 0.8, "tables")
    joined = join([text, tables])
    assert (joined.label, joined.probabilities) == (S, tables.probabilities) and joined.sources == (text, tables)
    assert [one.unit for one in joined.evidence] == ["towns", "Tarn_0"] and joined.deciding == "towns"
    assert joined.reason == ""


def test_a_source_without_information_does_not_outvote_one_that_decides():
    joined = join([verdict(N, 0.99), verdict(R, 0.4, "tables")])
    assert joined.label is R and joined.deciding == "towns" and not joined.reason


def test_sources_that_disagree_are_told_with_their_probabilities():
    joined = join([verdict(S, 0.9), verdict(R, 0.7, "tables")])
    assert joined.label is S and joined.deciding == "Tarn_0"
    assert joined.reason == ("the sources disagree (text: SUPPORTS 0.900, tables: REFUTES 0.700); the surer one counts")


def test_what_dates_decide_counts_before_a_surer_model():
    ruled = verdict(R, 0.1, reason="1850 is not 1900", ruling={"evidence": [{"id": "Tarn_0"}]})
    joined = join([verdict(S, 0.95, "tables"), ruled])
    assert joined.label is R and joined.ruling is ruled.ruling and joined.deciding == "Tarn_0"
    assert joined.reason.startswith("1850 is not 1900; the sources disagree (text: REFUTES, by its dates, tables: S")


def test_where_no_source_decides_nothing_does():
    withheld = dataclasses.replace(verdict(S, 0.5), label=N, abstained=True, reason="not sure")
    unknown = dataclasses.replace(verdict(N, 0.5, "tables"), probabilities={})
    joined = join([unknown, withheld])
    assert (joined.label, joined.deciding, joined.abstained, joined.reason) == (N, None, True, "not sure")


def test_a_single_verdict_is_returned_as_it_is():
    only = verdict(S, 0.6)
    assert join([only]) is only


def test_a_joined_verdict_as_plain_data_has_the_evidence_of_all_sources():
    row = join([verdict(S, 0.6), verdict(R, 0.8, "tables")]).to_dict()
    assert row["predicted_evidence"] == [["towns", None], ["Tarn", 0]] and row["evidence_units"] == ["towns", "Tarn_0"]
    assert row["evidence_scores"] == [0.5, 0.5]
    assert (row["predicted_label"], row["deciding"]) == ("REFUTES", "towns")
    found = [(one["reads"], one["label"]) for one in row["sources"]]
    assert found == [("sentences", "SUPPORTS"), ("tables", "REFUTES")]
    with pytest.raises(KeyError):
        verdict(S, 0.6).to_dict()["deciding"]


class ReadsTogether:
    """A labeller of lists: sure of what it supports as far as the words of the claim are there."""

    format, calibration, sentences, leading, pairs = LABEL_LISTWISE, None, None, 0, False

    def probabilities(self, examples):
        shared = [
            sum(word in " ".join(one.text for one in example.sentences) for word in "abcd") for example in examples
        ]
        return np.array([[0.2 * count, 0.1, 0.8 - 0.2 * count] for count in shared])


def test_a_labeller_of_short_lists_gives_the_mean_of_them():
    model = ReadsTogether()
    model.sentences = 2
    labeller, evidence = Labeller(model), [Evidence(f"P_{i}", text) for i, text in enumerate(["a", "b c", "d"])]
    verdict, without = labeller.verify_many(["a b c d"] * 2, [evidence, []])
    shares = (np.array([0.2, 0.1, 0.6]) + [0.6, 0.1, 0.2]) / 1.8  # of "a", and of "a b c"
    assert list(verdict.probabilities.values()) == pytest.approx(shares.tolist())
    assert len(verdict.evidence) == 3 and without.label is N
    (whole,) = Labeller(model, depth=3).verify_many(["a b c d"], [evidence])  # as many as somebody says
    assert list(whole.probabilities.values()) == pytest.approx((np.array([0.8, 0.1, 0.0]) / 0.9).tolist())


def test_of_sentences_read_together_the_one_that_says_most_alone_decides():
    labeller = Labeller(ReadsTogether())
    evidence = [Evidence(f"P_{i}", text) for i, text in enumerate(["a", "a b c", "b d"])]
    (verdict,) = labeller.verify_many(["a b c d"], [evidence])
    assert (verdict.label, verdict.decided_by, verdict.deciding) == (S, None, "P_0")
    (told,) = attributed(labeller, [verdict])
    assert told.deciding == "P_1" and dataclasses.replace(told, decided_by=None) == verdict
    undecided = dataclasses.replace(verdict, label=N)
    assert attributed(labeller, [undecided]) == [undecided]


def test_the_sentence_that_decides_most_surely_leads_the_lists():
    model = ReadsTogether()
    model.sentences, model.leading = 2, 5
    labeller, evidence = Labeller(model), [Evidence(f"P_{i}", text) for i, text in enumerate(["a", "b c d", "b c"])]
    verdict, without = labeller.verify_many(["a b c d"] * 2, [evidence, []])
    shares = (np.array([0.6, 0.1, 0.2]) + [0.8, 0.1, 0.0]) / 1.8  # of "b c d", and of "b c d a"
    assert list(verdict.probabilities.values()) == pytest.approx(shares.tolist())
    assert [one.text for one in verdict.evidence] == ["b c d", "a", "b c"]
    assert verdict.label is S and verdict.decided_by == "P_1"
    assert without.label is N and without.decided_by is None
    (open_,) = labeller.verify_many(["a b c d"], [evidence[:1] * 2])
    assert [one.unit for one in open_.evidence] == ["P_0", "P_0"]
    nothing, one_word = Evidence("P_3", "e"), evidence[0]
    (open_,) = labeller.verify_many(["a b c d"], [[nothing, one_word]])
    assert [one.unit for one in open_.evidence] == ["P_3", "P_0"]  # 0.2 is too little to lead


@pytest.mark.parametrize("leading, shown", [(5, "01234"), (7, "60123")])
def test_more_sentences_are_read_alone_than_a_verdict_shows(leading, shown):
    model = ReadsTogether()
    model.sentences, model.leading = 2, leading
    evidence = [Evidence(f"P_{i}", "b c d" if i == 6 else "a") for i in range(8)]
    (verdict,) = Labeller(model).verify_many(["a b c d"], [evidence])
    assert [one.unit for one in verdict.evidence] == [f"P_{i}" for i in shown]


def test_sentences_are_read_once_and_none_alone_after_one_that_is_sure():
    model, read = ReadsTogether(), []

    def probabilities(examples):
        read.extend(" ".join(one.text for one in example.sentences) for example in examples)
        return 1.6 * ReadsTogether.probabilities(model, examples)

    model.sentences, model.leading, model.probabilities = 3, 5, probabilities
    labeller = Labeller(model)
    evidence = [
        [Evidence(f"P_{i}", text) for i, text in enumerate(texts)] for texts in (["a", "b c d", "d"], ["a b c"])
    ]
    claims = [Claim(str(i), "a b c d") for i in range(2)]
    list(labeller.verify_many(claims, evidence))
    assert read == ["a", "a b c", "b c d", "b c d a d"]  # of the lists of two and of three the longest
    (shares,) = labeller.singly(["a b c d"], [evidence[0]])
    assert read[4:] == ["d"] and shares[:, 0].tolist() == pytest.approx([0.32, 0.96, 0.32])
