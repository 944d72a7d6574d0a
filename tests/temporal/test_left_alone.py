"""What dates must not decide: the nearest event is another one's, a date is half of another, or what happened may happen
again."""

import pytest

from lisax.formats.examples import Passage
from lisax.records import Label
from lisax.temporal import judge
from lisax.temporal.rules import LONGEST, MOST_DATES

LIFE = "Ann Lee ( 5 May 1955 -- 6 June 2005 ) was an American actress ."
OF_OTHERS = [
    "gave birth to a son in 1990",
    "was sentenced to death in 1990",
    "received death threats in 1990",
    "was charged with causing the death of John Bar in 1990",
    "mourned the death of her mother in 1960",
    "inherited the house after her father's death in 1990",
    "changed her birth name in 1990",
    "had a son born in 1990",
    "is the mother of Tom, born in 1990",
    "starred with an actor born in 1940",
    "played a man killed in 1990",
    "was married in 1990 to John Bar, born in 1950",
    "killed 3 people in 1990",
    "killed over 30 people in 1990",
    "almost died in 1990",
    "died on stage in 1990",
    "died in the film Foo in 1990",
    "drowned her husband in 1990",
    "was wrongly said to have died in 1990",
    "was not yet born in 1990",
    "died in her early fifties",
    "lived in Oslo in 1990",
    "was over ninety when she won",
    "won at the age of 40",
    "was elected at the age of 40",
]
# claim, title, text
CASES = [
    ("John Foo died in 2000.", "John Foo", "After the death of his wife in 1950 , he moved to Rome ."),
    ("John Foo died in 2000.", "John Foo", "The death of his father in 1950 shocked him ."),
    ("John Foo, the father of Mary, died in 2000.", "John Foo", "After his father died in 1950 , John moved ."),
    ("Mary Foo was born in 1960.", "Mary Foo", "Until the birth of her son in 1990 , she danced ."),
    ("Mary Foo was born in 1960.", "Mary Foo", "They had one child , Lisa Marie , born in 1968 ."),
    ("John Foo was born in 1945.", "John Foo", "He and his brother Paul , born in 1950 , were painters ."),
    ("Acme was founded in 1990.", "Acme", "Before the founding of its rival in 1995 , Acme was small ."),
    ("Foo was released in 2003.", "Foo", "The release of the single in 2001 brought success ."),
    ("Foo was released in 2005.", "Foo", "A sequel , released in 2010 , failed ."),
    ("The Foos were formed in 1960.", "The Foos", "The band's record label Apple was founded in 1968 ."),
    ("The Foos were formed in 1990.", "The Foos", "The Foos re-formed in 2005 ."),
    ("The Foos released 3 albums in 1990.", "The Foos", "The Foos released 2 albums in 1985 ."),
    ("John Foo died in 2001.", "John Foo", "He killed 168 people in 1995 ."),
    # Stretches of time, of which an instant is known.
    ("Foo was published until 1990.", "Foo", "Foo was published in 1985 ."),
    ("Foo was published up to 1990.", "Foo", "Foo was published in 1960 ."),
    ("Foo aired from 2001 to 2010.", "Foo", "Foo aired in 2005 ."),
    ("The war was fought from 1939 to 1945.", "The war", "The war was fought in 1941 ."),
    ("John Foo was alive before 1950.", "John Foo", "John Foo ( 1900 -- 1940 ) was a painter ."),
    ("John Foo was alive throughout the 1930s.", "John Foo", "John Foo ( 1900 -- 1935 ) was a painter ."),
    ("John Foo was alive from 1940 to 1980.", "John Foo", "John Foo ( 1930 -- 1955 ) was a painter ."),
    # Halves of dates.
    ("Foo was released the year before 1990.", "Foo", "Foo was released in 1980 ."),
    ("Foo was released in the decade before 1990.", "Foo", "Foo was released in 1950 ."),
    ("John Foo was born between 100 and 44 BC.", "John Foo", "John Foo was born in 80 BC ."),
    ("John Foo was born between the 5th and 7th century.", "John Foo", "John Foo was born in 550 AD ."),
    ("John Foo was born between 5 and 10 years before 1890.", "John Foo", "John Foo was born in 1883 ."),
    ("John Foo was born five to ten years before 1890.", "John Foo", "John Foo was born in 1883 ."),
    ("John Foo was born a quarter of a century before 1890.", "John Foo", "John Foo was born in 1865 ."),
    ("John Foo was born at the turn of the 20th century.", "John Foo", "John Foo was born in 1899 ."),
    ("The Battle of Foo was fought on 7 June 1990.", "Battle of Foo", "It was fought from 5 to 10 June 1990 ."),
    ("The Battle of Foo was fought on 7 June 1990.", "Battle of Foo", "It was fought 5 -- 10 June 1990 ."),
    ("The Battle of Foo was fought in July 1990.", "Battle of Foo", "It was fought from June to August 1990 ."),
    ("Foo was released in the winter of 1990.", "Foo", "Foo was released in January 1991 ."),
    # Brackets that give no life.
    ("John Foo was born in 1638.", "John Foo", "John Foo ( reigned 1643 -- 1715 ) was a king ."),
    ("John Foo was born in 1565.", "John Foo", "John Foo ( bapt. 26 April 1566 -- 23 April 1616 ) was a poet ."),
    ("John Foo was born in 1732.", "John Foo", "John Foo ( c. 1730 -- 1799 ) was a poet ."),
    ("John Foo was born in 1732.", "John Foo", "John Foo ( 1731 or 1732 -- 1799 ) was a poet ."),
    ("John Foo was born in 1941.", "John Foo", "John Foo ( 16 February 1941/1942 -- 17 December 2011 ) led ."),
    ("John Foo was born in 1950.", "John Foo", "John Foo ( Chelsea 1990 -- 1999 ) was a footballer ."),
    # What happens again, elsewhere, or for years.
    ("The Foo Awards were held in 2000.", "Foo Awards", "The Foo Awards were first held in 1929 ."),
    ("The Foo Cup took place in 1994.", "Foo Cup", "The Foo Cup took place in 2014 ."),
    ("Mount Foo was climbed in 1978.", "Mount Foo", "Mount Foo was first climbed in 1953 ."),
    ("Ann Lee married Bob Bar in 1975.", "Ann Lee", "Ann Lee married Bob Bar in 1964 ."),
    ("Ann Lee was arrested in 1990.", "Ann Lee", "Ann Lee was arrested in 1985 ."),
    ("Ann Lee was released from prison in 1990.", "Ann Lee", "Ann Lee was released from prison in 1980 ."),
    ("Foo aired in 1995.", "Foo", "Foo first aired in 1989 ."),
    ("Foo was published in 1611.", "Foo", "Foo was first printed in 1455 ."),
    ("Foo was released in 1997.", "Foo", "Foo was released on DVD in 1999 ."),
    ("Foo was released in Japan in 1990.", "Foo", "Foo was released in North America in 1991 ."),
    ("Foo premiered in 2010.", "Foo", "Foo was released in theaters in 2011 ."),
    ("Acme was founded in 1636.", "Acme", "Acme was established as a corporation in 1650 ."),
    # Not all of what lasted, or of what happened several times.
    ("John Foo was mayor in 1960.", "John Foo", "Foo was deputy mayor from 1956 to 1964 ."),
    ("John Foo was mayor in 1970.", "John Foo", "Foo was mayor of Osk from 1956 to 1964 ."),
    ("John Foo was mayor in 1970.", "John Foo", "Foo was mayor since 1975 ."),
    ("John Foo was mayor in 1960.", "John Foo", "Foo was mayor in 1958 ."),
    ("John Foo was mayor until 1960.", "John Foo", "Foo was mayor from 1956 to 1964 ."),
    ("John Foo was the first mayor in 1960.", "John Foo", "Foo was mayor from 1956 to 1964 ."),
    ("John Foo was mayor for three years.", "John Foo", "Foo was mayor from February 2014 to December 2016 ."),
    ("John Foo visited Osk in 1960.", "John Foo", "Foo visited Osk between 1956 and 1964 ."),
    ("John Foo won the Oak Cup in 1977.", "John Foo", "Foo won the Oak Cup in 1974 and 1979 ."),
    ("John Foo won the Oak Cup in 1976.", "John Foo", "Foo won the Oak Cup in 1974 and in 1976 the Elm Cup ."),
    ("John Foo won the Oak Cup in 1976.", "John Foo", "Foo won the Oak Cup in 1974, and in 1976, he retired ."),
    ("John Foo won the Oak Cup in 1977.", "John Foo", "Foo , who twice lost , won the Oak Cup in 1974 and 1979 ."),
    ("Foo came out in 2003.", "Foo", "Foo was released in Japan in 2002 and in Chile in 2003 ."),
    ("Foo Hall was founded in 1900.", "Foo Hall", "Foo Hall was sold in 1990 to a firm from Osk , founded in 1900 ."),
    ("John Foo won silver in 1964.", "John Foo", "Foo won silver in 1958 and 1960 and gold in 1964 ."),
    ("John Foo was mayor of Osk in 1960.", "John Foo", "Foo was mayor of a town near Osk from 1956 to 1964 ."),
    ("John Foo was mayor in 1970.", "John Foo", "Foo was mayor from 1956 to 1964 and later ."),
    ("John Foo was mayor in 1970.", "John Foo", "Foo was mayor from 1956 to 1964 , the first of two terms ."),
    ("John Foo was mayor in 1980.", "John Foo", "Foo was mayor from 1956 to 1964 and a judge from 1964 to 1990 ."),
    ("John Foo died in 1950.", "John Foo", "Foo was the king 's cook from 1930 until his death in 1950 ."),
    ("John Foo died in 1960.", "John Foo", "Foo moved to Osk after his father died in 1950 ."),
    ("Acme was dissolved in 1955.", "Acme", "Acme supplied the Red Army until 1950 , when it was dissolved ."),
    ("The Foo was opened in 1955.", "The Foo", "The second stage of the Foo was opened in 1950 ."),
    ("John Foo signed for Osk in 1955.", "John Foo", "Foo signed for Osk in 1950 ."),
    ("John Foo was born in 1598.", "John Foo", "John Foo ( 1590s -- 1660 ) was a painter ."),
    ("John Foo was born on 20 May 1955.", "John Foo", "John Foo ( May 1955 -- June 2005 ) was a painter ."),
    # Another of the name.
    ("Savages was released in 2012.", "Savages (2007 film)", "Savages is a 2007 American drama film ."),
]


@pytest.mark.parametrize("said", OF_OTHERS)
def test_a_birth_or_death_of_another_decides_nothing(said):
    assert judge(f"Ann Lee {said}.", [Passage("Ann_Lee_0", "Ann Lee", LIFE)]) is None


@pytest.mark.parametrize(("claim", "title", "text"), CASES, ids=[f"{claim} {text}" for claim, _, text in CASES])
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
    assert (
        judge(
            claim,
            [
                Passage("Foo_Bar_0", "Foo Bar", "Foo Bar was born in 1930 ."),
                Passage("Ann_Lee_0", "Ann Lee", "Ann Lee was born in 1953 ."),
            ],
        )
        is None
    )


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
