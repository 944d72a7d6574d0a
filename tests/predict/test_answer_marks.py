"""The kind of answer that a question asks for, and the parts of a sentence that are of this kind."""

import pytest

from lisax.predict.sentence_answers import asked, cell_marks, marks


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
