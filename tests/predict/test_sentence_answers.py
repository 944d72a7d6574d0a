"""Questions that sentences answer, with a probability that was fitted; the parts of a sentence that answer; and tables and
text together."""

import dataclasses

import numpy as np
import pytest

from lisax import Index, shipped
from lisax.errors import DataError
from lisax.predict.answer_confidence import AnswerConfidence
from lisax.predict.answer_marks import asked, cell_marks, marks
from lisax.predict.answerer import Answerer, JoinedAnswerer
from lisax.predict.checking import in_words
from lisax.predict.ranker import Ranker
from lisax.predict.reader import NO_ANSWER, Answer, SpanPlace
from lisax.predict.sentence_answers import SentenceAnswerer, features, fit
from lisax.predict.verdicts import Evidence
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import MODELS

PAGES = [
    {"title": "Tarn", "text": "Tarn is a small town. Olin B. Marsh is the mayor of Tarn. It has 12,000 inhabitants."},
    {"title": "Orm", "text": "The Orm is a river. It flows into the sea."},
]
WHO = "Who is the mayor of Tarn?"
ONLY_SCORES = AnswerConfidence((1.0, 0, 0, 0, 0, 0), 0.4)


class Shares(Ranker):
    """Scores a sentence by the share of the question's words in it."""

    def rank(self, claim, evidence):
        asked = set(claim.lower().strip("?").split())
        scored = [
            dataclasses.replace(one, score=len(asked & set(one.text.lower().split())) / len(asked)) for one in evidence
        ]
        return sorted(scored, key=lambda one: -one.score)


def answerer(confidence: AnswerConfidence = ONLY_SCORES, **options) -> SentenceAnswerer:
    return SentenceAnswerer(Index.build(PAGES), Shares(), confidence, **options)


def test_the_best_sentence_comes_first_with_the_only_name_marked():
    first, *others = answerer().ask(WHO)
    assert (first.text, first.evidence.source) == ("Olin B. Marsh is the mayor of Tarn.", "Tarn")
    assert first.text[first.place.begin : first.place.end] == "Olin B. Marsh" and first.place.unit == "Tarn_1"
    assert str(first).startswith("[Olin B. Marsh] is the mayor of Tarn. (0.")
    assert str(first).endswith("Tarn, sentence 2")
    assert [one.probability for one in others] == sorted((one.probability for one in others), reverse=True)
    assert first.to_dict()["begin"] == 0 and first.to_dict()["evidence"]["text"] == first.text


def test_without_a_likely_sentence_there_is_no_answer_unless_it_is_wanted():
    (only,) = answerer().ask("Which river does Petra like most?")
    assert only.text == NO_ANSWER and only.abstained and "below the minimum confidence 0.4" in only.reason
    assert answerer(min_confidence=0.0).ask("Which river does Petra like most?")[0].text != NO_ANSWER
    assert [len(found) for found in answerer().ask_many([WHO, "Is it a river?"], 2)] == [2, 2]


def test_what_is_searched_is_counted():
    assert answerer().searched == {"pages": 2}
    table = {"id": "towns", "title": "Towns", "header": ["town", "mayor"], "rows": [["Ostra", "Besa Siton"]]}
    mixed = SentenceAnswerer(Index.build([*PAGES, table]), Shares(), ONLY_SCORES)
    assert mixed.searched == {"pages": 2, "tables": 1}
    best = mixed.ask("Ostra town, mayor |")[0]
    assert best.evidence.unit == "towns#r0" and best.text[best.place.begin : best.place.end] == "Besa Siton"
    assert in_words({"pages": 2_900, "tables": 1}) == "2,900 pages and 1 table"


def test_features_are_of_scores_words_and_kinds():
    found = [
        Evidence("Tarn_1", "Olin Marsh is the mayor.", "Tarn", score=0.9),
        Evidence("Orm_0", "it is a river.", "Orm", score=0.2),
    ]
    made = features(WHO, found)
    assert made[:, 2:].tolist() == [[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    assert made[0, 1] == pytest.approx(made[0, 0] - made[1, 0]) and made[1, 1] == -made[0, 1]
    assert features(WHO, found[:0]).shape == (0, 6)


def test_the_fitted_probability_separates_right_sentences_from_others():
    rng, asked = np.random.default_rng(0), []
    for number in range(60):
        right = number % 2 == 0
        score = float(np.clip(rng.normal(0.8 if right else 0.3, 0.1), 0, 1))
        found = [Evidence("a_0", "Olin is the mayor.", score=score), Evidence("b_0", "It rains.", score=0.1)]
        asked.append((WHO, found, [right, False]))
    fitted = fit([*asked, (WHO, [], [])])
    best = [fitted.probabilities(features(question, found))[0] for question, found, _ in asked]
    assert np.mean([(share >= fitted.threshold) == right[0] for share, (_, _, right) in zip(best, asked)]) > 0.95
    assert np.mean(best) == pytest.approx(0.5, abs=0.1) and fitted.questions == 60


def test_a_ranker_without_fitted_values_answers_no_questions(tmp_path):
    with pytest.raises(DataError, match=r"asked.weights"):
        AnswerConfidence.of(ModelCard(tmp_path, {}), "asked")


def test_answers_of_several_answerers_are_joined_by_their_probability():
    class Gives(Answerer):
        def __init__(self, name: str, *found: Answer):
            self.found, self.name = list(found), name

        @property
        def searched(self):
            return {self.name: 3}

        def ask(self, question, answers=5):
            return self.found

    none = [Answer(NO_ANSWER, share, abstained=True) for share in (0.9, 0.7)]
    joined = JoinedAnswerer([Gives("pages", Answer("a", 0.6), Answer("b", 0.2)), Gives("tables", Answer("c", 0.5))])
    assert [one.text for one in joined.ask("?", 2)] == ["a", "c"] and joined.searched == {"pages": 3, "tables": 3}
    assert JoinedAnswerer([Gives("pages", none[0]), Gives("tables", Answer("c", 0.5))]).ask("?")[0].text == "c"
    assert JoinedAnswerer([Gives("pages", none[0]), Gives("tables", none[1])]).ask("?") == [none[1]]
    assert JoinedAnswerer([Gives("pages"), Gives("tables")]).ask("?") == []
    row = Answer("a, b | 1, 2", 0.6, SpanPlace("t#r0", "t#r0", 7, 8), Evidence("t#r0", "a, b | 1, 2"))
    cell = Answer("1", 0.3, evidence=Evidence("t#r0c0", "a: 1, b: 2"))
    (both,) = JoinedAnswerer([Gives("pages", row), Gives("tables", cell)]).ask("?")
    assert (both.text, both.probability, both.evidence) == ("1", 0.6, cell.evidence)
    other = dataclasses.replace(cell, text="2")
    assert JoinedAnswerer([Gives("pages", row), Gives("tables", other)]).ask("?") == [row, other]


@pytest.mark.skipif(
    not (MODELS["minilm"].is_there and shipped.answers().is_dir()), reason="needs MiniLM: lisax models get minilm"
)
def test_the_shipped_answerer_reads_text_and_tables_of_one_index():
    table = {"id": "depths", "title": "Lakes", "header": ["lake", "depth"], "rows": [["Mira", "40 m"], ["Ode", "9 m"]]}
    found = Answerer.open(Index.build([*PAGES, table], vectors="minilm"))
    assert found.searched == {"pages": 2, "tables": 1}
    assert found.ask(WHO)[0].text == "Olin B. Marsh is the mayor of Tarn."
    assert found.ask("What is the depth of Mira?")[0].text == "40 m"
    text = Answerer.open(Index.build(PAGES))
    assert text.searched == {"pages": 2} and "12,000" in text.ask("How many inhabitants does Tarn have?")[0].text


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who is the mayor?", "name"),
        ("When was the pool opened?", "time"),
        ("In which year was Olin born?", "time"),
        ("How many people live in Tarn?", "number"),
        ("How long is the quay?", "number"),
        ("Wie hoch ist der Turm?", "number"),
        ("Qui est le maire ?", "name"),
        ("What is Tarn known for?", None),
        ("Is Tarn a town?", None),
        ("", None),
    ],
)
def test_the_kind_that_is_asked_for(question, kind):
    assert asked(question) == kind


@pytest.mark.parametrize(
    ("question", "sentence", "parts"),
    [
        ("Who is the mayor of Tarn?", "Since 2019 Olin B. Marsh is the mayor of Tarn.", ["Olin B. Marsh"]),
        ("Who built it?", "Later it was rebuilt by Mara Velin and Besa Siton.", ["Mara Velin", "Besa Siton"]),
        ("How many people live in Tarn?", "Tarn had 12,000 inhabitants on 3 May 2020.", ["12,000"]),
        ("How long is the quay?", "The quay of 1911 is 340 m long.", ["340 m"]),
        ("How many of the 3 shops are open?", "Of 3 shops 2 are open.", ["2"]),
        ("When was it opened?", "No. 5 was opened on 2 Aug. 1872.", ["2 Aug. 1872"]),
        ("When was it lit?", "It was lit in 1831, not in 1850.", ["1831", "1850"]),
        ("When does the ferry leave?", "The last one leaves at 18:45.", ["18:45"]),
        ("What is Tarn?", "Tarn is a town with 12,000 inhabitants.", []),
        ("Who is it?", "", []),
    ],
)
def test_the_parts_of_that_kind(question, sentence, parts):
    assert [sentence[start:end] for start, end in marks(question, sentence)] == parts


@pytest.mark.parametrize(
    ("question", "row", "cells"),
    [
        ("How many votes did Olin get?", "name, votes, share | Olin, 2,611, 34.3 %", ["2,611"]),
        ("Which party does Olin belong to?", "name, party | Olin, Greens", ["Greens"]),
        ("Which votes?", "name, votes | Olin Marsh, Tarn, 3", []),
        ("Which votes?", "It rains.", []),
        ("Who was born in 1870?", "name, born | Eva Falk, 1870-05-06", ["Eva Falk"]),
        ("Who is the mayor of Tarn?", "town, people, mayor | Tarn, 900, Olin Marsh", ["Olin Marsh"]),
        ("When was Dogwood opened?", "mine, opened | Dogwood, empty", []),
        ("When was Dogwood opened?", "mine, opened | Dogwood, n/a", []),
        ("Who is the mayor of Tarn?", "town, mayor, keeper | Tarn, empty, Eva Falk", []),
        ("Who was born in May?", "born, name | 6 May 1870, Eva Falk", ["Eva Falk"]),
    ],
)
def test_the_cells_of_a_column_that_the_question_names(question, row, cells):
    assert [row[start:end] for start, end in cell_marks(question, row)] == cells
