import pytest

from lisax.records import Document
from lisax.retrieval.documents import add_documents, build_index
from lisax.retrieval.entities import OfflineSpotter
from lisax.retrieval.titles import TitleIndex, unqualified

DOCUMENTS = [
    Document("Barack_Obama", "Barack Obama", redirects=("President Obama", "Obama")),
    Document("Hawaii", "Hawaii"),
    Document("Savages_2012", "Savages (2012 film)"),
    Document("Savages_novel", "Savages (novel)"),
    Document("The_Who", "The Who"),
    Document("It_film", "It (film)"),
    Document("Film", "Film"),
    Document("Beyonce", "Beyoncé"),
    Document("President", "President of the United States", redirects=("US president",)),
    Document("New_York", "New York"),
    Document("New_York_City", "New York City"),
    Document("York", "York"),
]


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    return TitleIndex.build(DOCUMENTS, tmp_path_factory.mktemp("titles") / "index")


@pytest.mark.parametrize(
    "claim, expected",
    [
        ("Barack Obama was born in Hawaii.", ["Barack_Obama", "Hawaii"]),
        ("HAWAII is where president obama was born.", ["Barack_Obama", "Hawaii"]),
        ("Savages is a film.", ["Savages_2012", "Savages_novel", "Film"]),
        ("Savages is based on a novel", ["Savages_novel", "Savages_2012"]),
        ("The Who made it.", ["The_Who"]),
        ("Nobody liked It.", ["It_film"]),
        ("It is raining.", []),
        ("Beyonce's new york city concert", ["New_York_City", "Beyonce", "New_York", "York"]),
        ("Yorkshire is large.", []),
        ("The U.S. president travelled.", ["President"]),
        ("", []),
    ],
)
def test_mentioned_titles(titles, claim, expected):
    assert titles.mentioned(claim) == expected


def test_shared_words_follow_mentions(titles):
    assert titles.search("The president was in Hawaii.", 5) == ["Hawaii", "President", "Barack_Obama"]
    assert titles.search("The president was in Hawaii.", 1) == ["Hawaii"]
    claims = ["Hawaii", "Obama's film", ""]
    assert titles.search_all(claims, 4) == [titles.search(claim, 4) for claim in claims]


def test_page_with_title_prefers_it_as_written(tmp_path):
    documents = [
        Document("lower", "it girl"),
        Document("upper", "It Girl"),
        Document("song", "It Girl (song)"),
        Document("r", "Rome", redirects=("Roma",)),
    ]
    index = TitleIndex.build(documents, tmp_path / "index")
    asked = ("It Girl", "it girl", "IT GIRL", "roma", "It Girl (song)", "It")
    assert [index.page_with_title(title) for title in asked] == ["upper", "lower", "lower", "r", "song", None]


def test_qualifiers():
    titles = ("Savages (2012 film)", "Plain", "(What's the Story)", "A (b) (c)")
    found = [unqualified(title) for title in titles]
    assert found == [("Savages", "2012 film"), ("Plain", ""), ("(What's the Story)", ""), ("A (b)", "c")]


def test_grown_index_answers_as_a_whole_one(tmp_path, titles):
    build_index(DOCUMENTS[:5], tmp_path / "index", components=["titles"])
    grown = add_documents(DOCUMENTS[5:], tmp_path / "index").titles
    for claim in ("Savages is a film by Barack Obama.", "New York City, Hawaii", "united states"):
        assert grown.search(claim, 10) == titles.search(claim, 10)
    assert [grown.title(i) for i in range(len(grown))] == [document.title for document in DOCUMENTS]


SIGNED = [*"C C++ C# Net AT&T R&D Not Yahoo! 塔恩 Łódź ทาร์น".split(), ".NET Framework", "It (2017 film)"]


@pytest.mark.parametrize(
    "claim, first",
    [
        ("C++ is a language.", "C++"),
        ("He writes C#.", "C#"),
        ("C is a language.", "C"),
        ("(C++) is old.", "C++"),
        ("The .NET Framework is old.", ".NET Framework"),
        ("AT&T was founded in Tarn.", "AT&T"),
        ("Its R&D is in Orm.", "R&D"),
        ("“It” is long.", "It (2017 film)"),
        ("It is a film.", "It (2017 film)"),
        ("It", "It (2017 film)"),
        ("Not", "Not"),
        ("Nobody liked Not.", "Not"),
        ("Yahoo! was sold.", "Yahoo!"),
        ("塔恩有九百人。", "塔恩"),
        ("他住在塔恩。", "塔恩"),
        ("Lodz is a town.", "Łódź"),
        ("ทาร์นเป็นเมือง", "ทาร์น"),
    ],
)
def test_names_with_signs_of_stop_words_and_of_all_scripts(tmp_path, claim, first):
    index = TitleIndex.build([Document(title.replace(" ", "_"), title) for title in SIGNED], tmp_path / "index")
    assert index.search(claim)[0] == first.replace(" ", "_")


def test_a_pronoun_is_not_a_title(tmp_path):
    index = TitleIndex.build([Document(title.replace(" ", "_"), title) for title in SIGNED], tmp_path / "index")
    assert index.mentioned("It was founded in Tarn.") == []


@pytest.mark.parametrize(
    "claim, names",
    [
        ("C++ is a language.", ["C++"]),
        ("Nobody uses C# or .NET Framework.", ["C#", ".NET Framework"]),
        ("AT&T and Tarn met.", ["AT&T", "Tarn"]),
        ("Yahoo! was sold.", ["Yahoo!"]),
        ("Nobody liked It.", ["It"]),
        ("他住在塔恩。", ["塔恩"]),
    ],
)
def test_spotted_names_with_signs(tmp_path, claim, names):
    index = TitleIndex.build([Document(title.replace(" ", "_"), title) for title in SIGNED], tmp_path / "index")
    assert [name for name in OfflineSpotter(index).spot(claim) if name != "Nobody"] == names


def test_signs_without_known_titles():
    assert OfflineSpotter().spot("Velin wrote C++ in Tarn!") == ["Velin", "C++", "Tarn"]
