import pytest

from lisax.errors import DataError, LisaxError
from lisax.records import Claim, Document, Hit, Sentence
from lisax.retrieval.documents import DocumentIndex, add_documents, build_index, retrieve

DOCUMENTS = [
    Document(id, title, (Sentence(id, 0, text),))
    for id, title, text in (
        ("Rome", "Rome", "The capital of Italy lies on the Tiber."),
        ("Tiber", "Tiber", "A river that flows through Rome."),
        ("Italy", "Italy", "A country with many rivers."),
        ("Oslo", "Oslo", "The capital of Norway."),
    )
]
CLAIMS = [Claim("1", "Rome is the capital of Italy."), Claim("2", "quux"), Claim("3", "Oslo lies on a river.")]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("documents") / "index")


def ids(hits, claim):
    return [hit.id for hit in hits if hit.query_id == claim]


def test_methods(index):
    bm25 = list(retrieve(index, CLAIMS, 3, method="bm25"))
    assert ids(bm25, "1") == ["Rome", "Oslo", "Italy"] and ids(bm25, "2") == []
    found = [hit.score for hit in bm25 if hit.query_id == "1"]
    assert found == sorted((score for _, score in index.bm25.search([CLAIMS[0].text], 3)[0]), reverse=True)
    titles = list(retrieve(index, CLAIMS, 3, method="titles"))
    assert ids(titles, "1") == ["Rome", "Italy"] and ids(titles, "3") == ["Oslo"]
    both = list(retrieve(index, CLAIMS, 4))
    assert ids(both, "1") == ["Rome", "Oslo", "Italy", "Tiber"]
    assert both[:2] == [Hit("1", "Rome", 1, 1.0), Hit("1", "Oslo", 2, 0.5)]
    given = list(retrieve(index, CLAIMS, 2, search_titles=lambda texts, k: [["Oslo"]] * len(texts)))
    assert ids(given, "1") == ["Rome", "Oslo"] and ids(given, "2") == ["Oslo"]


def test_a_grown_index_is_the_whole_one(tmp_path, index):
    build_index(DOCUMENTS[:2], tmp_path / "index")
    grown = add_documents(DOCUMENTS[2:], tmp_path / "index")
    assert list(retrieve(grown, CLAIMS, 4)) == list(retrieve(index, CLAIMS, 4))
    assert [grown.titles.title(i) for i in range(4)] == [document.title for document in DOCUMENTS]
    assert [grown.pages.page(document.id) for document in DOCUMENTS] == DOCUMENTS
    with pytest.raises(DataError, match="'Oslo' occurs twice"):
        add_documents([DOCUMENTS[3]], tmp_path / "index")
    assert len(DocumentIndex.open(tmp_path / "index").pages) == 4


def test_components_share_a_folder(tmp_path):
    build_index(DOCUMENTS, tmp_path / "index", components=["bm25"])
    first = DocumentIndex.open(tmp_path / "index")
    assert next(iter(retrieve(first, CLAIMS[:1], 1, method="bm25"))).id == "Rome"
    with pytest.raises(DataError, match="no 'titles'.*bm25"):
        list(retrieve(first, CLAIMS, 1))
    second = build_index(DOCUMENTS, tmp_path / "index", components=["titles"], k1=9)
    assert second.components == {"bm25", "titles", "titles-bm25"} and second.bm25.settings["k1"] == 0.6
    assert second.digest != first.digest


def test_bad_arguments_are_told(index):
    with pytest.raises(LisaxError, match="bm25, titles, both"):
        list(retrieve(index, CLAIMS, 1, method="dense"))
    with pytest.raises(LisaxError, match="k >= 1"):
        list(retrieve(index, CLAIMS, 0))
