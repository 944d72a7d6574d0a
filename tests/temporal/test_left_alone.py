"""What dates must not decide: the nearest event is another one's, a date is half of another, or what happened may happen
again."""

import pytest

from lisax.formats.examples import Passage
from lisax.records import Label
from lisax.temporal import judge
from lisax.temporal.rules import LONGEST, MOST_DATES
from tests.tables import table

LIFE = "Ann Lee ( 5 May 1955 -- 6 June 2005 ) was an American actress ."


@pytest.mark.parametrize(*table(__file__, "of_others"))
def test_a_birth_or_death_of_another_decides_nothing(said):
    assert judge(f"Ann Lee {said}.", [Passage("Ann_Lee_0", "Ann Lee", LIFE)]) is None


@pytest.mark.parametrize(*table(__file__, "undecided"))
def test_what_decides_nothing(claim, title, text):
    assert judge(claim, [Passage(f"{title.replace(' ', '_')}_1", title, text)]) is None


@pytest.mark.parametrize(
    "claim",
    [
        "Foo Bar is five years older than Ann Lee.",
        "Foo Bar was born less than ten years before Ann Lee.",
        "Foo Bar was born more than ten years before Ann Lee.",
        "Foo Bar was born at least ten years before Ann Lee.",
        "Foo Bar was born the year before Ann Lee was born.",
    ],
)
def test_lengths_that_are_compared_decide_nothing(claim):
    evidence = [
        Passage("Foo_Bar_0", "Foo Bar", "Foo Bar was born in 1930 ."),
        Passage("Ann_Lee_0", "Ann Lee", "Ann Lee was born in 1953 ."),
    ]
    assert judge(claim, evidence) is None


def test_a_namesake_without_a_date_leaves_it_open_which_is_meant():
    found = [
        Passage("John_Foo_(actor)_0", "John Foo (actor)", "John Foo is an actor ."),
        Passage("John_Foo_(footballer)_0", "John Foo (footballer)", "John Foo was born in 1960 ."),
    ]
    assert judge("John Foo was born in 1950.", found) is None
    assert judge("The footballer John Foo was born in 1950.", found).label is Label.REFUTES


@pytest.mark.parametrize(
    ("claim", "kind", "bar", "baz"),
    [
        ("The album Foo was released in 1987.", "album", "was released in the 1980s", "was released in 1985"),
        ("The album Foo was released in 1985.", "album", "was released in the 1980s", "was released in 1985"),
        ("The magazine Foo was published in 1960.", "magazine", "was published from 1950 to 1970",
         "was published from 1980 to 1990"),
    ],
)  # fmt: skip
def test_a_word_that_two_namesakes_share_leaves_it_open_which_is_meant(claim, kind, bar, baz):
    found = [
        Passage(f"Foo_({name}_{kind})_0", f"Foo ({name} {kind})", f"Foo {text} .")
        for name, text in (("Bar", bar), ("Baz", baz))
    ]
    assert judge(claim, found) is None
    assert any(judge(claim, [one]) for one in found)


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Ann Lee was born in 1950.", Label.REFUTES),
        ("Ann Lee died in Rome in 1990.", Label.REFUTES),
        ("Ann Lee died of cancer in 2005.", None),
        ("Ann Lee was born in the 1950s.", Label.SUPPORTS),
        ("Ann Lee's death was in 1990.", Label.REFUTES),
        ("Ann Lee died at home in 2001.", Label.REFUTES),
        ("Ann Lee died in her nineties.", Label.REFUTES),
    ],
)
def test_what_is_hers_is_decided(claim, label):
    ruling = judge(claim, [Passage("Ann_Lee_0", "Ann Lee", LIFE)])
    assert (ruling and ruling.label) is label


@pytest.mark.parametrize("dates", [MOST_DATES, MOST_DATES + 1])
def test_claims_of_very_many_dates_decide_nothing(dates):
    claim = "Ann Lee died in 1990" + "".join(f" and was in Oslo in {1950 + i}" for i in range(dates - 1)) + "."
    assert (judge(claim, [Passage("Ann_Lee_0", "Ann Lee", LIFE)]) is None) is (dates > MOST_DATES)


@pytest.mark.parametrize("characters", [LONGEST, LONGEST + 1])
def test_very_long_texts_are_not_read(characters):
    text, claim = f"{LIFE:{characters}}", "Ann Lee died in 1990."
    assert (judge(claim, [Passage("Ann_Lee_0", "Ann Lee", text)]) is None) is (characters > LONGEST)
    assert (judge(f"{claim:{characters}}", [Passage("Ann_Lee_0", "Ann Lee", LIFE)]) is None) is (characters > LONGEST)
