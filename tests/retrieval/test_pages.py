import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.records import Document, Sentence
from lisax.retrieval import pages as pages_module
from lisax.retrieval.documents import build_index


def page(id, title, *texts, redirects=(), original_id=None):
    sentences = tuple(Sentence(id, n, text) for n, text in enumerate(texts))
    return Document(id, title, sentences, redirects, original_id)


PAGES = [
    page("Paris", "Paris", "Paris is a city.", "", "It is the capital of France.", original_id="Paris"),
    page("Åbo", "Åbo", "Åbo lies in Finland.", redirects=("Turku", "Turku, Finland"), original_id=""),
    page("Blank", ""),
    Document("Gap", "Gap", (Sentence("Gap", 3, "three"), Sentence("Gap", 7, "seven"))),
]


def test_pages_come_back_as_they_were(tmp_path):
    store = build_index(PAGES, tmp_path / "index", components=["pages"]).pages
    assert len(store) == 4 and list(store) == ["Paris", "Åbo", "Blank", "Gap"]
    assert [store.page(p.id) for p in PAGES] == PAGES
    assert list(store.titles) == [p.title for p in PAGES] and store.title("Åbo") == "Åbo"
    assert "Paris" in store and "paris" not in store and "" not in store
    assert store.sentence("Paris_2") == Sentence("Paris", 2, "It is the capital of France.")
    assert store.sentence("Gap_7").text == "seven"
    for unit, message in (
        ("Paris_3", "no sentence 3"),
        ("Gap_0", "no sentence 0"),
        ("Rome_0", "no page with id 'Rome'"),
        ("Paris", "not a sentence id"),
    ):
        with pytest.raises(DataError, match=message):
            store.sentence(unit)


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@settings(max_examples=25)
@given(
    st.lists(
        st.builds(
            lambda title, texts, redirects, original: (title, texts, tuple(redirects), original),
            TEXT,
            st.lists(TEXT, max_size=4),
            st.lists(TEXT, max_size=2),
            st.none() | TEXT,
        ),
        min_size=1,
        max_size=9,
    ),
    st.integers(1, 4),
)
def test_any_text_survives_any_cut(tmp_path_factory, contents, part_pages):
    pages = [
        page(f"p{i}", title, *texts, redirects=redirects, original_id=original)
        for i, (title, texts, redirects, original) in enumerate(contents)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages_module, "PART_PAGES", part_pages)
        store = build_index(pages, tmp_path_factory.mktemp("pages") / "index", components=["pages"]).pages
    assert [store.page(p.id) for p in pages] == pages
