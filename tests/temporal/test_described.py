"""`The film was released in 2015`: of whom a noun with an article is said, and what pages say that they are."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.examples import Passage
from lisax.records import Label
from lisax.temporal import judge
from lisax.temporal.described import described
from tests.tables import table

NOUNS = """film movie album song novel book series show game band group company firm label town city village country
singer actor painter footballer director river bridge university magazine ship manga opera airline""".split()
# How a sentence after the first may speak of a noun and its date.
SAYINGS = [
    "The {n} was released in 2015 .",
    "The {n} , which was released in 2015 , sold well .",
    "In 2015 , the {n} was released .",
    "Released in 2015 , the {n} sold well .",
    "This {n} was released in 2015 .",
    "This {n} won a prize and was released in 2015 .",
    "The {n} had its premiere in 2015 .",
    "The {n} is a 2015 drama film .",
    "The {n} sold well and was released in 2015 .",
]
# The same of what is never the page's subject, whatever that is.
OF_OTHERS = [
    "The {n}'s sequel was released in 2015 .",
    "The sequel of the {n} was released in 2015 .",
    "The {n}s were released in 2015 .",
    "The other {n} was released in 2015 .",
    "The second {n} was released in 2015 .",
    "The first {n} was released in 2015 .",
    "The original {n} was released in 2015 .",
    "The 2010 {n} was released in 2015 .",
    "The {n} that was released in 2015 sold well .",
    "The {n} version was released in 2015 .",
    "A {n} was released in 2015 .",
    "There was a {n} released in 2015 .",
    "Another {n} was released in 2015 .",
    "The director of the {n} was released in 2015 .",
    "These {n}s were released in 2015 .",
    "The {n} based on the story was released in 2015 .",
    "Its {n} was released in 2015 .",
]
SAME = [{"film", "movie"}, {"company", "firm"}]
CLAIM = "Goosebumps was released in 1992."


def means(noun, said):
    return noun == said or {noun, said} in SAME


def ruling(claim, first, text, title="Goosebumps"):
    """What a page of a first sentence and a later one decides; the first one is looked up, or is beside it."""
    page = title.replace(" ", "_")
    opening, later = Passage(f"{page}_0", title, first), Passage(f"{page}_4", title, text)
    found = judge(claim, [later], {opening.id: opening}.get)
    beside = judge(claim, [opening, later])
    assert (found and found.label) == (beside and beside.label)
    return found and found.label


@pytest.mark.parametrize("text", [*SAYINGS, *OF_OTHERS])
def test_a_noun_with_an_article_is_the_subject_only_where_the_page_says_so(text):
    for noun, said in itertools.product(NOUNS, NOUNS):
        expected = Label.REFUTES if means(noun, said) and text in SAYINGS else None
        article = "an" if said[0] in "aeiou" else "a"
        assert ruling(CLAIM, f"Goosebumps is {article} {said} by Ida Moe .", text.format(n=noun)) is expected, (
            said,
            noun,
        )


@pytest.mark.parametrize("text", SAYINGS)
def test_nothing_is_decided_where_the_page_does_not_say_what_it_is(text):
    for noun in NOUNS:
        later = text.format(n=noun)
        assert judge(CLAIM, [Passage("Goosebumps_4", "Goosebumps", later)]) is None
        assert ruling(CLAIM, "Goosebumps sold well .", later) is None
        found = ruling(CLAIM, f"Goosebumps is a series of {noun}s .", later)
        assert found is (Label.REFUTES if noun == "series" else None)
        by_title = ruling(CLAIM, "", later, title=f"Goosebumps ({noun})")
        assert by_title is Label.REFUTES


@pytest.mark.parametrize(*table(__file__, "first_sentences"))
def test_first_sentences(first, text, label):
    assert ruling(CLAIM, first, text) == label


@pytest.mark.parametrize("of", NOUNS)
def test_a_claim_that_calls_it_something_else_is_not_decided_by_its_page(of):
    for said in NOUNS:
        first = f"Ada Brook was {'an' if said[0] in 'aeiou' else 'a'} {said} ."
        found = ruling(f"The {of} Ada Brook was born in 1750.", first, "She was born in 1748 .", "Ada Brook")
        assert found is (Label.REFUTES if means(of, said) else None)


def test_a_noun_with_a_name_on_another_page_needs_the_page_of_that_name_or_the_claims_word():
    told = Passage("Jack_Black_3", "Jack Black", "The film Goosebumps was released in 2015 .")
    film, novels = (
        Passage("Goosebumps_0", "Goosebumps", f"Goosebumps is a {what} .") for what in ("film", "series of novels")
    )
    assert judge(CLAIM, [told]) is None and judge(CLAIM, [told, novels]) is None
    assert judge(CLAIM, [told, film]).label is Label.REFUTES
    assert judge("The film Goosebumps was released in 1992.", [told]).label is Label.REFUTES


@pytest.mark.parametrize("role", ["director", "star", "author", "winner"])
def test_a_role_is_the_persons_only_where_their_page_says_so(role):
    text = f"The {role} of Harbour was born in 1963 ."
    assert ruling("Jack Black was born in 1969.", "Jack Black is an actor .", text, "Jack Black") is None
    assert ruling("Jack Black was born in 1969.", f"Jack Black is a {role} .", text, "Jack Black") is Label.REFUTES


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_title_and_first_sentence_are_read(title, opening):
    found = described(title, opening)
    assert found.heads <= found.words and not found.heads & {"the", "a", "an", ""}
    assert described("Ada (poet)", opening).heads >= {"poet"}


def test_two_pages_of_a_name_leave_open_which_of_them_another_page_names():
    told = Passage("Jack_Black_3", "Jack Black", "The film Goosebumps was released in 2015 .")
    pages = [
        Passage("Goosebumps_(film)_0", "Goosebumps (film)", "Goosebumps is a comedy film ."),
        Passage("Goosebumps_0", "Goosebumps", "Goosebumps is a series of novels ."),
    ]
    assert judge(CLAIM, [told, *pages]) is None and judge(CLAIM, [told, *reversed(pages)]) is None
