import pytest

from lisax.records import Document
from lisax.retrieval.documents import build_index
from lisax.retrieval.entities import OfflineSpotter
from lisax.retrieval.titles import unqualified

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


def indexed(documents, folder):
    return build_index(documents, folder, components=["titles"]).titles


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    return indexed(DOCUMENTS, tmp_path_factory.mktemp("titles"))


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
    index = indexed(
        [
            Document("lower", "it girl"),
            Document("upper", "It Girl"),
            Document("song", "It Girl (song)"),
            Document("r", "Rome", redirects=("Roma",)),
        ],
        tmp_path,
    )
    asked = ("It Girl", "it girl", "IT GIRL", "roma", "It Girl (song)", "It")
    assert [index.page_with_title(title) for title in asked] == ["upper", "lower", "lower", "r", "song", None]


def test_qualifiers():
    titles = ("Savages (2012 film)", "Plain", "(What's the Story)", "A (b) (c)")
    assert [unqualified(title) for title in titles] == [
        ("Savages", "2012 film"),
        ("Plain", ""),
        ("(What's the Story)", ""),
        ("A (b)", "c"),
    ]


SIGNED = [
    "C", "C++", "C#", ".NET Framework", "Net", "AT&T", "R&D", "It (2017 film)", "Not", "Yahoo!", "塔恩", "Łódź", "ทาร์น",
]  # fmt: skip


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    return indexed([Document(title.replace(" ", "_"), title) for title in SIGNED], tmp_path_factory.mktemp("signed"))


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
def test_names_with_signs_of_stop_words_and_of_all_scripts(signed, claim, first):
    assert signed.search(claim)[0] == first.replace(" ", "_")


def test_a_pronoun_is_not_a_title(signed):
    assert signed.mentioned("It was founded in Tarn.") == []


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
def test_spotted_names_with_signs(signed, claim, names):
    assert [name for name in OfflineSpotter(signed).spot(claim) if name != "Nobody"] == names


def test_signs_without_known_titles():
    assert OfflineSpotter().spot("Velin wrote C++ in Tarn!") == ["Velin", "C++", "Tarn"]
