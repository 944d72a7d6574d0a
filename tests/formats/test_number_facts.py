"""Facts of numbers: golden strings, and rules that hold for any texts."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.number_facts import MOST, number_facts
from lisax.formats.presets import PAPER
from lisax.text.dates import in_words

BORN, NEW = "from 5 December 1980 to ", "1 January 2020"
LEFT = "0.003 g minus 0.001 g is 0.002 g"
LARGER = "Orm: 7,400 is more than Sel: 6,900"
SALES = "2023: 6 million is more than 2022: 5 million"
BUILT = "hall: 1720 is after mill: 1701"
TWICE = "Orm: 1,396 is 2 times Sel: 698"
WARMER = ["30 °C is 86 °F", "30 °C minus 68 °F is 10 °C"]


@pytest.mark.parametrize(
    ("claim", "sentences", "facts"),
    [
        ("Over 50 people came.", ["63 people came."], ["63 is more than 50"]),
        ("No more than fifty people came.", ["63 people came."], ["63 is more than fifty"]),
        ("The liner is faster than 14 knots.", ["Top speed: 13 knots."], ["13 knots is less than 14 knots"]),
        ("They won at least 3 cups.", ["They won 3 cups."], ["3 is equal to 3"]),
        ("He served 48 months.", ["He got four years."], ["four years is 48 months"]),
        ("It is about 180 feet long.", ["It is 71 metres long."], ["71 metres is 232.94 feet"]),
        ("It is 5 kilometres long.", ["It is 7 km long."], []),
        ("It took two years.", ["It began in the second half."], []),
        ("It holds 1,200 books.", ["Twelve hundred books are there."], ["Twelve hundred is 1,200"]),
        ("It holds 1,200 books.", ["There are 1,200 books."], []),
        ("The album has 15 songs.", ["7 old songs and 8 new ones."], ["7 plus 8 is 15"]),
        ("The album has 16 songs.", ["7 old songs and 8 new ones."], ["7 plus 8 is 15", "8 minus 7 is 1"]),
        ("The four barns hold 90 cows.", ["The four barns hold 20, 30 and 40 cows."], ["20 plus 30 plus 40 is 90"]),
        ("The four barns hold 90 cows.", ["One of the four holds 50 cows, another 40."], ["50 plus 40 is 90"]),
        ("It adds up to 9 km.", ["The first half is 5 km long and the other 4."], ["5 km plus 4 km is 9 km"]),
        (
            "It is 900 metres higher.",
            ["They are 400 and 1,300 metres high."],
            ["1,300 metres minus 400 metres is 900 metres"],
        ),
        ("Orm is three years older.", ["Orm is 29, Sel 26."], ["29 minus 26 is 3", "Orm: 29 is more than 26"]),
        ("Varn won 15 medals.", ["3 gold, 4 silver and 8 bronze."], ["3 plus 4 plus 8 is 15"]),
        ("It has 40 pages more.", ["First 300 pages.", "Then 340."], ["340 minus 300 is 40"]),
        ("76 members agreed.", ["38 % of the 200 members agreed."], ["38 % of 200 is 76"]),
        ("Two thirds came.", ["Of 600 people 400 came."], ["400 of 600 is 66.67 % , equal to Two thirds"]),
        ("More than half own one.", ["One in ten owns one."], ["One in ten is less than half"]),
        ("He led it for 5 years.", ["He led it from 1958 to 1963."], ["from 1958 to 1963 is 5 years"]),
        ("He was 30.", ["Born on 5 December 1980, he died on 3 March 2011."], [BORN + "3 March 2011 is 30 years"]),
        (
            "He was 30.",
            ["Born on 5 December 1980, he died on 5 December 2010."],
            [BORN + "5 December 2010 is 30 years"],
        ),
        ("He was 31.", ["Born on 5 December 1980, he died in 2011."], [BORN + "2011 is 31 years"]),
        (
            "It took one year.",
            ["From 31 December 2019 to 1 January 2020."],
            [f"from 31 December 2019 to {NEW} is 1 day"],
        ),
        (
            "It took one year.",
            ["From 30 January 2019 to 1 January 2020."],
            [f"from 30 January 2019 to {NEW} is 11 months"],
        ),
        ("It took 3 years.", ["December 2018 to January 2021."], ["from December 2018 to January 2021 is 2 years"]),
        ("It took 2 years.", ["May 2018 to 3 April 2019."], ["from May 2018 to 3 April 2019 is 11 months"]),
        ("It took 2 years.", ["May 2018 to 31 May 2018."], []),
        ("It took 2 years.", ["From 2018 to 2019."], ["from 2018 to 2019 is 1 year"]),
        ("It closed in 1985.", ["It opened in 1980, and closed five years later."], ["1980 plus five years is 1985"]),
        ("Orm is larger than Sel.", ["Orm has 7,400 people, Sel 6,900."], [LARGER]),
        ("Orm is larger than Sel.", ["Sel has 6,900 people,", "and Orm 7,400."], [LARGER]),
        ("Orm is larger than Sel.", ["6,900 people live in Sel and 7,400 in Orm."], [LARGER]),
        ("Orm is larger than Sel.", ["It has 7,400 people, the other 6,900."], ["6,900 is less than 7,400"]),
        ("Orm is larger than it.", ["It has 6,900 people, Orm 7,400."], ["Orm: 7,400 is more than 6,900"]),
        ("Orm is larger than Sel.", ["Orm has 500 more people than Sel, which has 6,900."], []),
        (
            "The old hall has more than the new one.",
            ["90 in the new hall, 80 in the old one."],
            ["old: 80 is less than new: 90"],
        ),
        ("Sales were higher in 2023 than in 2022.", ["They were 5 million in 2022 and 6 million in 2023."], [SALES]),
        (
            "Orm is higher than Sel.",
            ["Sel is 58 metres high, and Orm 49."],
            ["Orm: 49 metres is less than Sel: 58 metres"],
        ),
        ("Orm is higher than Sel.", ["Sel is 58 metres high, and Orm has 3 doors."], []),
        ("The hall was built earlier than the mill.", ["The mill was built in 1701, the hall in 1720."], [BUILT]),
        (
            "The hall was built earlier than the mill.",
            ["1701: mill. May 1720: hall."],
            ["hall: May 1720 is after mill: 1701"],
        ),
        (
            "Orm has twice as many.",
            ["Orm has 1,396, Sel 698."],
            ["Orm: 1,396 is more than 698", "Orm: 1,396 is 2 times 698"],
        ),
        ("Orm has twice as many as Sel.", ["Orm has 1,396, Sel 698."], ["Orm: 1,396 is more than Sel: 698", TWICE]),
        ("It was 10 °C warmer.", ["It was 30 °C in Orm, 20 °C in Sel."], ["30 °C minus 20 °C is 10 °C"]),
        ("It was 18 °F warmer.", ["It was 30 °C in Orm.", "It was 68 °F in Sel."], WARMER),
        (
            "It was 5 °C on the whole.",
            ["It was 1 °C, 2 °C and 2 °C."],
            ["2 °C minus 1 °C is 1 °C"],
        ),
        ("It was twice as hot.", ["It was 40 °C in Orm, 20 °C in Sel."], ["20 °C is less than 40 °C"]),
        (
            "It was twice as hot.",
            ["It was 40 K in Orm, 20 K in Sel."],
            ["20 K is less than 40 K", "40 K is 2 times 20 K"],
        ),
        ("It is 0.5 g.", ["Of 0.003 g 0.001 g are left."], ["0.003 g plus 0.001 g is 0.004 g", LEFT]),
        ("It is 0.002 kg.", ["It is 0.01 ounces."], ["0.01 ounces is 0.000283 kg"]),
        ("She came before 1921.", ["She came in May 1914."], ["May 1914 is before 1921"]),
        ("It closed on 30 June 2024.", ["It closed on 2024-06-30."], ["2024-06-30 is 30 June 2024"]),
        ("It closed in June 2024.", ["It closed on 30.06.2024."], ["30.06.2024 is 30 June 2024"]),
        ("It closed on 29 June 2024.", ["It closed on 2024-06-30."], []),
        ("It closed in 2024.", ["It closed on 2024-06-30."], []),
        ("The first came on 3 May 1870.", ["The first came in 1870."], []),
        ("The first came in 1870.", ["The first came on 3 May 1870."], ["3 May 1870 is in 1870"]),
        ("It was built before that.", ["One in 1702, one in 1690."], ["1690 is before 1702"]),
        # Neither a number nor a word that compares; one number; ordinals.
        ("Orm is a town.", ["Orm has 7,400 people, Sel 6,900."], []),
        ("Orm is larger than Sel.", ["Orm has 7,400 people."], []),
        ("It is the third town.", ["It is the 5th town of 2nd rank."], []),
    ],
)
def test_facts(claim, sentences, facts):
    assert number_facts(claim, sentences) == facts


DAYS = st.dates(date(1000, 1, 1), date(2099, 12, 31))


@given(DAYS, DAYS)
def test_ages_are_those_of_the_calendar(one, other):
    born, died = sorted((one, other))
    years = died.year - born.year - ((died.month, died.day) < (born.month, born.day))
    texts = [in_words(day.year, day.month, day.day) for day in (born, died)]
    (fact,) = number_facts("She was 300.", texts) or [""]
    assert fact.endswith(f"{texts[1]} is {years} {'year' if years == 1 else 'years'}") == (years > 0)
    if 1 < (died - born).days < 28:
        assert fact == f"from {texts[0]} to {texts[1]} is {(died - born).days} days"


def test_titles_name_the_things_of_a_sentence():
    sentences, titles = ["It has 7,400 people.", "Its 6,900 people are old."], ["Orm", "Sel"]
    assert number_facts("Orm is larger than Sel.", sentences, titles) == [LARGER]
    assert number_facts("Orm is larger than Sel.", sentences) == ["6,900 is less than 7,400"]


def test_facts_come_before_the_sentences():
    example = Example("c", "Over 50 people came.", (Passage("a_0", "Fair", "63 people came."),))
    assert LABEL_LISTWISE.pair(example, preset=PAPER).second == "63 is more than 50 . Fair . 63 people came."


WORDS = st.sampled_from(
    "over at least 50 63 half two thirds % of in one five 1914 May 1921 before than more km 3 m years İ 5 , .".split()
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_facts_are_few_and_different(claim, sentences):
    facts = number_facts(claim, sentences)
    assert len(facts) == len(set(facts)) <= MOST


@pytest.mark.parametrize(
    "part, most",
    [*((part, 3_200) for part in ("one in five ", "7 plus ", "1914 ", "over 5 km ", "than 3 ")), ("a", 8_000)],
)
def test_time_grows_linearly(part, most):
    def seconds(times: int) -> float:
        found = []
        for run in range(2):  # the second without what the collector of garbage takes in the first
            text, start = part * times + " " * run, time.process_time()
            number_facts(f"more than half before {text}", [text])
            found.append(time.process_time() - start)
        return min(found)

    seconds(100)
    assert seconds(most) < 20 * max(seconds(most // 8), 0.01)
