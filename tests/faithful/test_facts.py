"""The check of a verbalizer's output against its input, and the way back to the input's writing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lisax.faithful.facts import Facts, find, names_of, render
from lisax.faithful.restoring import Restorer
from lisax.formats.triples import Triples
from lisax.text import quantities
from lisax.text.folding import fold


def lost(pairs, text, title="", words=None):
    judgement = Facts(Triples("x", title, tuple(("n", value) for value in pairs))).judge(text, words)
    return judgement.lost, judgement.invented


@pytest.mark.parametrize(
    "values, text, expected",
    [
        (["5", "7"], "5 of 7.", ((), ())),
        (["5", "7"], "5 of 8.", (("7",), ("8",))),
        (["25"], "2.5 or 125", (("25",), ("2.5", "125"))),
        (["1,234.50"], "it is 1,234.50.", ((), ())),
        (["1932-03-15"], "born on March 15th, 1932", ((), ())),
        (["1932-03-15"], "born on the 15th of Mar. 1932", ((), ())),
        (["March 15, 1932"], "born 1932-03-15", ((), ())),
        (["March 15, 1932"], "born in March 1932", (("1932-3-15",), ())),
        (["1932"], "born on March 15, 1932", ((), ("15", "1932-3-15"))),
        (["15", "March", "1932"], "on 15 March 1932", ((), ())),
        (["Ana María Beldaña"], "ana maria beldana won", ((), ())),
        (["Ana María Beldaña"], "ana won", (("beldana", "maria"), ())),
        (["The Who"], "who is it", ((), ())),
        (["−5"], "it fell by 5", (("-5",), ("5",))),
        (["5"], "it is -5", (("5",), ("-5",))),
        (["2010–12"], "from 2010 to 12", ((), ())),
        ([".311"], "he hit 311", ((".311",), ("311",))),
        (["3–2"], "it ended 2-3", (("3-2",), ())),
        (["10:30"], "at 10:30", ((), ())),
        (["2½"], "it is 21/2", (("2", "1", "1-2"), ("21",))),
        (["10⁵"], "it is 105", (("10", "5"), ("105",))),
        (["5%", "$7"], "5 percent of 7 dollars", ((), ())),
        (["5%"], "it is $5", (("%",), ("$",))),
        (["745 feet", "44kg"], "745 feet and 44 kg", ((), ())),
        (["745 feet"], "745 metres", (("feet",), ())),
        (["5 million"], "5 billion", (("million",), ("billion",))),
        (["1,500,000"], "it has 1.5 million people", ((), ())),
        (["2,000 m"], "it is 2 km long", ((), ())),
        (["$2.5m"], "it cost $2,500,000", ((), ())),
        (["1,500,000"], "it has 15 million", (("1,500,000",), ("15", "million"))),
        (["2,000 m"], "it is 2 m long", (("2,000",), ("2",))),
        (["five"], "the six of them", (("five",), ("six",))),
        (["5"], "5 goals, the fifth one first", ((), ())),
        (["1950s"], "in 1950", (("1950s",), ())),
        (["1950"], "in the 1950s", ((), ("1950s",))),
        (["1st"], "the 1st", ((), ())),
        (["B52", "2B"], "a C52 of 2A", (("2b", "b", "b52"), ("c52",))),
        (["Group B"], "group A", (("b",), ())),
        (["World War I"], "World War II", (("i",), ())),
        (["A.C. Milan"], "AC Milan", ((), ())),
        (["iPhone"], "a phone", (("iphone",), ())),
        (["1932-03-15", "1932"], "on 15 March 1932", (("1932",), ())),
        (["1932-03-15", "1990-03-20"], "15 March 1932, 20 March 1990 and 20 March 1932", ((), ("1932-3-20",))),
        (["March 1932", "15"], "15 in March 1932, or 15 March 1932", ((), ())),
        (["March 1932"], "0 in March 1932", ((), ("0",))),
        (["michelle j. wolff", "yes"], "it was written by Michelle Wolff", ((), ())),
        (["michelle j. wolff"], "it was written by Wolff", (("michelle",), ())),
        (["თბილისი"], "it lies in Georgia", (("თბილისი",), ())),
        (
            ["lost in the second round of the playoffs to eventual champions"],
            "second, they lost to the champions",
            ((), ()),
        ),
        (
            ["lost in the second round of the playoffs to eventual champions"],
            "second to the champions",
            (("champions eventual lost playoffs round second",), ()),
        ),
        (["Rome"], "Rome ⁇ won", ((), ("⁇",))),
        (["Rome ⁇"], "Rome ⁇ won", ((), ())),
    ],
)
def test_what_is_lost_and_what_is_invented(values, text, expected):
    assert lost(values, text) == expected


def test_a_number_of_two_values_is_said_twice():
    triples = Triples("x", "2010 final", (("home", "2"), ("away", "2"), ("year", "2010")))
    assert Facts(triples).judge("The 2010 final ended 2-2.").faithful
    assert Facts(triples).judge("The 2010 final ended with 2.").lost == ("2",)


@pytest.mark.parametrize(
    "values, text, expected",
    [
        (["4-6, 6-3, 7-5, 6-4"], "it ended 4–6, 6–3, 7–5, 6–4", ((), ())),
        (["4-6, 6-3, 7-5, 6-4"], "it ended 4-6, 6-3, 7-5, 6-3, 7-5, 6-4", (("4-6-6-3-7-5-6-4",), ("6", "3", "7", "5"))),
        (["4-6, 6-3", "7"], "7 games, 6-3, 4-6", (("4-6-6-3",), ())),
        (["5", "7"], "5 of 7, 7", ((), ("7",))),
        (["5", "5"], "5 and 5", ((), ())),
        (["15 March 1932", "15"], "15 March 1932 and 15 March 1932", (("15",), ("1932-3-15",))),
        (["15 March 1932", "3"], "15 March 1932, in March 1932", (("3",), ())),
        (["15 March 1932"], "15 March 1932, and in 1932, the 15th", ((), ())),
        (["15 March 1932"], "15 March 1932, in 1932 and in 1932", ((), ("1932",))),
    ],
)
def test_nothing_is_said_too_often(values, text, expected):
    assert lost(values, text) == expected


def test_the_numbers_of_a_title_a_name_and_a_subject_may_be_said_again():
    assert lost(["5"], "Apollo 11 and 5 of Apollo 11", "Apollo 11") == ((), ())
    triples = Triples("x", "Bean", (("subject", "Apollo 12"), ("at 7", "8")))
    assert Facts(triples).judge("Bean of Apollo 12, Apollo 12 has 8 at 7 and 7").faithful


def test_words_that_no_text_may_use_are_invented():
    assert lost(["Rome"], "rome lies in italy", words={"lies"}) == ((), ("italy",))
    assert lost(["Rome"], "rome lies in italy") == ((), ())


def test_names_are_words_with_capitals():
    assert names_of("The Battle of Łódź on 3 May 1999, A B52 東京, 44kg, F. Q") == {
        "battle",
        "lodz",
        "b52",
        "東京",
        "q",
    }
    assert find("b52 and 1932-13-45").dates == {}


PIECES = st.sampled_from(
    """5 1,234 25.0 007 1932-03-15 15 March 1932 Of May Łódź İz ½ 東京 the goals , . ; : - is 1st B52 's U.S. -5 −5% $5 .5
2½ 3–2 five 1950s 44kg I iPod <T> ( שלום 🏆""".split()
    + ["March 15, 1932"]
)
WORDS = st.lists(PIECES, max_size=4).map(" ".join)
ANY = st.one_of(WORDS, st.text(max_size=10)).map(lambda text: " ".join(text.split()))
STRUCTURES = st.builds(
    Triples,
    st.just("u"),
    ANY,
    st.lists(st.tuples(ANY, ANY), max_size=5).map(lambda pairs: tuple(pair for pair in pairs if pair[1])),
)


@settings(max_examples=150)
@given(STRUCTURES)
def test_the_rule_says_everything(triples):
    text = render(triples)
    assert Facts(triples).judge(text, plain_words=()).faithful
    for part in (triples.title, *(part for pair in triples.pairs for part in pair)):
        assert part in text


@settings(max_examples=150)
@given(STRUCTURES, st.data())
def test_what_the_rule_says_otherwise_is_found(triples, data):
    facts = Facts(triples)
    wanted = facts.names | facts.numbers.keys()
    if wanted:
        word = data.draw(st.sampled_from(sorted(wanted)))
        # The text has the other facts alone, so that the check reports this one as lost. Equal quantities in another form,
        # such as `five` for `5`, count as kept: leave them out too.
        parts = (triples.title, *itertools.chain(*triples.pairs))
        amounts = {
            one.value for part in parts for one in quantities.find(part) if word in fold(part[one.start : one.end])
        }
        equal = {fact for fact in wanted if (amount := quantities.whole(fact)) and amount.value in amounts}
        kept = [fact for fact in sorted(wanted - equal) if fact != word and word not in fact]
        assert word in facts.judge(" , ".join(kept)).lost


# --- Restoring ------------------------------------------------------------------------------


def test_the_inputs_writing_comes_back():
    triples = Triples(
        "x",
        "Lamar Hunt U.S. Open Cup",
        (("Player", "Paulo Jr."), ("Team", "Miami FC (1999)"), ("Born", "Łódź"), ("Goals", "1,500.0")),
    )
    said = "in the lamar hunt us cup, paulo jr. of miami fc 1999 scored 1500 goals. he is from lodz."
    assert Restorer(triples).restore(said) == (
        "In the Lamar Hunt us Cup, Paulo Jr. of Miami FC (1999) scored 1,500.0 goals. He is from Łódź."
    )


@pytest.mark.parametrize(
    "values, said, expected",
    [
        (["-5", "5"], "-5 and 5", "-5 and 5"),
        (["5%", "5"], "5 and 5%", "5 and 5%"),
        (["−5"], "top 5 and -5", "Top 5 and −5"),
        (["C++", "C"], "c and c++", "C and C++"),
        (["2½"], "2 1/2 and 2", "2½ and 2"),
        (["Wham!"], "wham", "Wham!"),
        (["$5"], "5 dollars", "5 dollars"),
        (["㎞", "5"], "5 km", "5 km"),
        (["3–2"], "3-2 in 3.2", "3–2 in 3.2"),
    ],
)
def test_a_number_is_not_made_another(values, said, expected):
    triples = Triples("x", "", tuple(("n", value) for value in values))
    assert Restorer(triples).restore(said) == expected


def test_function_words_stay_small():
    triples = Triples("x", "The Of", (("name", "In"),))
    assert Restorer(triples).restore("the man in the of is in it") == "The man in The Of is in it"


@settings(max_examples=200)
@given(STRUCTURES)
@example(Triples("x", "", (("", "µA"),)))  # whose capital is Greek
@example(Triples("x", "", (("", "Οδός"),)))
@example(Triples("x", "March ,", (("March 15, 1932", "5"),)))
def test_restoring_the_rule_changes_no_fact(triples):
    assert Facts(triples).judge(Restorer(triples).restore(fold(render(triples)))).lost == ()
