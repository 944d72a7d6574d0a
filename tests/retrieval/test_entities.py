import types

import pytest

from lisax.records import Document
from lisax.retrieval.documents import build_index
from lisax.retrieval.entities import OfflineSpotter, SpacySpotter, default_spotter

TITLES = [
    "Barack Obama", "The Who", "The Beatles", "Film", "Alice in Chains", "University of Oxford", "The Godfather",
    "Homeland (TV series)", "Actor", "Lord of the Rings", "There", "climate change", "Telemundo", "2012", "It (film)",
    "May 2012", "Homo sapiens",
]  # fmt: skip


@pytest.fixture(scope="module")
def gazetteer(tmp_path_factory):
    documents = [Document(f"d{i}", title) for i, title in enumerate(TITLES)]
    return OfflineSpotter(build_index(documents, tmp_path_factory.mktemp("titles"), components=["titles"]).titles)


GOLDEN = [
    # claim, with the corpus's titles, by capitals alone
    ("Barack Obama was born in Hawaii.", ["Barack Obama", "Hawaii"], ["Barack Obama", "Hawaii"]),
    ("The Who toured with The Beatles.", ["The Who", "The Beatles"], ["Beatles"]),
    ("There is a film called The Godfather.", ["The Godfather"], ["Godfather"]),
    ("Film is a medium.", [], []),
    ("Telemundo is a network.", ["Telemundo"], ["Telemundo"]),
    ("Homeland stars Claire Danes in October 2012.", ["Homeland", "Claire Danes"], ["Homeland", "Claire Danes"]),
    ("Alice in Chains formed in Seattle.", ["Alice in Chains", "Seattle"], ["Alice", "Chains", "Seattle"]),
    ("She studied at the University of Oxford on Monday.", ["University of Oxford"], ["University of Oxford"]),
    ("Malcolm X's mother met O'Brien.", ["Malcolm X", "O'Brien"], ["Malcolm X", "O'Brien"]),
    ("Nobody met Ann. However, Ann met Bob.", ["Ann", "Bob"], ["Ann", "Bob"]),
    ("The U.S. fears climate change.", ["U.S."], ["U.S."]),
    ("Jean-Luc Picard and Data met Q.", ["Jean-Luc Picard", "Data", "Q"], ["Jean-Luc Picard", "Data", "Q"]),
    ("Paris, France is old; Paris is large.", ["Paris", "France"], ["Paris", "France"]),
    ("In May 2012, two First Ladies met in January.", ["Ladies"], ["Ladies"]),
    ("Nobody saw It in the IT department.", ["It", "IT"], ["IT"]),
    ("St. Louis honoured J. R. R. Tolkien.", ["St. Louis", "J. R. R. Tolkien"], ["St. Louis", "J. R. R. Tolkien"]),
    ("Homo sapiens saw Homeland (TV series).", ["Homo sapiens", "Homeland (TV series)"], ["Homo", "Homeland", "TV"]),
    ("nothing here", [], []),
    ("", [], []),
]


@pytest.mark.parametrize("claim, with_titles, alone", GOLDEN)
def test_golden(gazetteer, claim, with_titles, alone):
    assert gazetteer.spot(claim) == with_titles
    assert OfflineSpotter().spot(claim) == alone


def test_spacy_kinds_are_filtered_in_order_of_first_appearance():
    kinds = {
        "Ann": "PERSON", "1999": "DATE", "Rome": "GPE", "two": "CARDINAL", "first": "ORDINAL", "NATO": "ORG",
        "5 km": "QUANTITY", "10%": "PERCENT", "noon": "TIME", "$5": "MONEY", "Dune": "WORK_OF_ART",
    }  # fmt: skip
    entities = [types.SimpleNamespace(text=text, label_=label) for text, label in (*kinds.items(), ("Ann", "PERSON"))]
    document = types.SimpleNamespace(ents=entities)
    assert SpacySpotter(lambda claim: document).spot("any") == ["Ann", "Rome", "NATO", "Dune"]


def test_the_default_works_without_spacy(monkeypatch):
    monkeypatch.setattr("lisax.retrieval.entities._spacy_spotter", lambda: None)
    assert default_spotter().spot("Ann met Bob.") == ["Ann", "Bob"]
