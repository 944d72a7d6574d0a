"""Budgets: whatever the texts, an input fits and ends in its closing word; only the document pays."""

import pytest
from counters import COUNTERS, SPIECE
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.budget import longest_start
from lisax.formats.catalogue import FORMATS
from lisax.formats.examples import Example, Passage
from lisax.formats.format import RELEVANCE
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.formats.vocabulary import SentencePieceVocabulary

words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
text = st.lists(words, max_size=40).map(" ".join)
passages = st.builds(Passage, st.just("p_0"), st.text(max_size=20), text)


@settings(max_examples=80)
@pytest.mark.parametrize("counter", COUNTERS)
@given(
    claim=text,
    sentences=st.lists(passages, min_size=1, max_size=5),
    entities=st.lists(text, max_size=3),
    limit=st.integers(90, 300),
    preset=st.sampled_from([PAPER, RELEASED]),
    text_format=st.sampled_from(
        [entry for entry in FORMATS.values() if entry.has_label_words and entry.example is Example]
    ),
)
def test_every_input_fits_and_keeps_its_closing_word(counter, claim, sentences, entities, limit, preset, text_format):
    count = COUNTERS[counter]
    if text_format is not LABEL_LISTWISE:
        sentences = sentences[:1]
    example = Example("c", claim, tuple(sentences), tuple(entities))
    inputs = text_format.encode(example, preset=preset, max_tokens=limit, count_tokens=count).inputs
    assert count(inputs) <= limit
    assert inputs.endswith("Relevant:" if text_format.answer is RELEVANCE else preset.label_closing)
    assert inputs.startswith("Query:" if text_format.answer is RELEVANCE else preset.claim_slot)
    for i in range(1, len(sentences) + 1):
        assert text_format is not LABEL_LISTWISE or f"sentence{i}:" in inputs


@settings(max_examples=60)
@given(
    claim=st.lists(st.sampled_from("abcde"), max_size=10).map(" ".join),
    document=st.lists(st.sampled_from("vwxyz"), min_size=1, max_size=60).map(" ".join),
    entities=st.lists(st.sampled_from(["K L", "M"]), max_size=3),
    limit=st.integers(30, 80),
)
def test_only_the_document_is_shortened_and_no_word_too_much(claim, document, entities, limit):
    count = COUNTERS["words"]
    example = Example("c", claim, (Passage("p_0", "", document),), tuple(entities))
    inputs = RANK_ENTITIES.encode(example, max_tokens=limit, count_tokens=count).inputs
    whole = RANK_ENTITIES.encode(example, count_tokens=count).inputs
    assert count(inputs) == min(count(whole), limit)
    kept = inputs.split("Document:")[1].split("Entity1:")[0].split("Relevant:")[0].split()
    assert kept == document.split()[: len(kept)]
    assert inputs.split("Document:")[0].split() == ["Query:", *claim.split()]
    assert inputs.count("Entity") == len(entities)


def test_a_word_longer_than_the_budget_is_cut_inside():
    example = Example("c", "q", (Passage("p_0", "", "x" * 500),))
    inputs = RANK.encode(example, max_tokens=40, count_tokens=COUNTERS["bytes"]).inputs
    assert inputs == "Query: q Document: " + "x" * 10 + " Relevant:"
    assert longest_start(" x", lambda start: not start) == ""


def test_without_room_entities_go_from_the_last_and_then_the_end_of_the_query():
    count = COUNTERS["words"]
    example = Example("c", "a b c d", (Passage("p_0", "", "doc"),), ("E F", "G"))

    def at(limit):
        return RANK_ENTITIES.encode(example, max_tokens=limit, count_tokens=count).inputs

    assert at(13) == "Query: a b c d Document: Entity1: E F Entity2: G Relevant:"
    assert at(11) == "Query: a b c d Document: Entity1: E F Relevant:"
    assert at(8) == "Query: a b c d Document: Relevant:"
    assert at(6) == "Query: a b Document: Relevant:"
    with pytest.raises(LisaxError, match="3 tokens do not hold"):
        at(3)


def test_a_list_that_fits_is_untouched_and_one_that_does_not_gives_each_the_same():
    count = COUNTERS["words"]
    example = Example("c", "q", tuple(Passage("p_0", "", text) for text in ("a " * 30, "b b", "c " * 9)))
    whole = LABEL_LISTWISE.encode(example, max_tokens=47 + 1, count_tokens=count).inputs
    assert count(whole) == 47 + 1 and whole.count(" a") == 30
    short = LABEL_LISTWISE.encode(example, max_tokens=25, count_tokens=count).inputs
    assert short == ("query: q sentence1: a a a a a a sentence2: b b sentence3: c c c c c c relevant:")


@pytest.mark.parametrize(("max_tokens", "budget"), [(40, 6), (39, 5), (15, 1), (14, 0), (10, 0)])
def test_the_budget_of_a_sentence_keeps_room_for_the_template_and_eos(max_tokens, budget):
    """`query: Ada composed sentence1: … sentence5: relevant:` are nine words."""
    example = Example("c", "Ada composed", (Passage("p_0", "", "x " * 9),) * 5)
    inputs = LABEL_LISTWISE.encode(example, max_tokens=max_tokens, count_tokens=COUNTERS["words"]).inputs
    assert inputs.split().count("x") == 5 * budget


@pytest.mark.skipif(not SPIECE.exists(), reason="T5's vocabulary is not here")
def test_the_released_budget_is_the_formula_of_the_released_code():
    vocabulary = SentencePieceVocabulary(SPIECE)
    claim = "Nikolaj Coster-Waldau worked with the Fox Broadcasting Company."
    expected = (512 - 2 - len(vocabulary.encode(claim)) - 3 * 5 - 1) // 5
    example = Example("c", claim, (Passage("p_0", "", "town " * 512),) * 5)
    inputs = LABEL_LISTWISE.encode(example, preset=RELEASED, max_tokens=512, count_tokens=vocabulary.count).inputs
    assert len(vocabulary.encode("town")) == 1 and inputs.split().count("town") == 5 * expected
