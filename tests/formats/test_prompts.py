"""Golden strings and ids of the prompts of published models, and how they are shortened.

Ids are those of T5's own vocabulary, as Hugging Face's T5 tokenizer gives them too.
"""

from pathlib import Path

import pytest
import small_tokenizers

from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.prompts import PROMPTS, Prompt, prompt_of, start_of
from lisax.formats.ranking import RANK
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.weights.public_models import FAMILIES, USES, Rule

SPIECE = Path(__file__).parents[2] / "../shared/data/t5vocab/spiece.model"
CLAIM, TEXT, OTHER = "Paris is big.", "Paris has 2 million people.", "Rome."
PARIS_IS_BIG, PARIS_HAS = [1919, 19, 600, 5], [1919, 65, 204, 770, 151, 5]
RELEVANT = [31484, 17, 10, 1]
GOLDEN = {
    "monot5": (
        "Query: Paris is big. Document: Paris has 2 million people. Relevant:",
        [3, 27569, 10, *PARIS_IS_BIG, 11167, 10, *PARIS_HAS, *RELEVANT],
    ),
    "duot5": (
        "Query: Paris is big. Document0: Paris has 2 million people. Document1: Rome. Relevant:",
        [3, 27569, 10, *PARIS_IS_BIG, 11167, 632, 10, *PARIS_HAS, 11167, 536, 10, 7332, 5, *RELEVANT],
    ),
    "rankt5": (
        "Query: Paris is big. Document: Paris has 2 million people.",
        [3, 27569, 10, *PARIS_IS_BIG, 11167, 10, *PARIS_HAS, 1],
    ),
    "minicheck": ("predict: Paris has 2 million people.</s>Paris is big.", [9689, 10, *PARIS_HAS, 1, *PARIS_IS_BIG, 1]),
    "nli": (
        "premise: Paris has 2 million people. hypothesis: Paris is big.",
        [3, 17398, 10, *PARIS_HAS, 22455, 10, *PARIS_IS_BIG, 1],
    ),
    "xnli": (
        "xnli: premise: Paris has 2 million people. hypothesis: Paris is big.",
        [3, 226, 29, 40, 23, 10, 3, 17398, 10, *PARIS_HAS, 22455, 10, *PARIS_IS_BIG, 1],
    ),
    "flan": (
        'Paris has 2 million people.\n\nBased on the paragraph above can we conclude that "Paris is big."?\n\n'
        "OPTIONS:\n- Yes\n- It's impossible to say\n- No",
        [*PARIS_HAS, 6719, 30, 8, 8986, 756, 54, 62, 12692, 24, 96, 13212, 159, 19, 600, 535, 58]
        + [3, 4652, 9562, 134, 10, 3, 18, 2163, 3, 18, 94, 31, 7, 4586, 12, 497, 3, 18, 465, 1],
    ),
    "unifiedskg": (
        "paris is big. ; structured knowledge: paris has 2 million people.",
        [260, 159, 19, 600, 5, 3, 117, 14039, 1103, 10, 260, 159, 65, 204, 770, 151, 5, 1],
    ),
}
# Of the first decoder step, in the order of a use's answers.
ANSWERS = {
    "monoT5": [1176, 6136],
    "duoT5": [1176, 6136],
    "InRanker": [1176, 6136],
    "RankT5": [32089],
    "MiniCheck-Flan-T5": [209, 3],
    "TRUE": [209, 3],
    "TrueTeacher": [209, 3],
    "Flan-T5, zero-shot": [[2163], [465], [94, 31, 7, 4586, 12, 497]],
    "UnifiedSKG's fine-tuned T5": [[3, 295, 10990], [6273, 2810, 26]],
}


@pytest.fixture(scope="module")
def t5():
    if not SPIECE.is_file():
        pytest.skip("T5's vocabulary is not here")
    return SentencePieceVocabulary(SPIECE)


def texts_of(prompt):
    return (TEXT, OTHER) if prompt.compares else (TEXT,)


def test_every_prompt_is_golden():
    assert GOLDEN.keys() == PROMPTS.keys()


@pytest.mark.parametrize("name", GOLDEN)
def test_the_string_is_golden(name):
    assert PROMPTS[name].text(CLAIM, *texts_of(PROMPTS[name])) == GOLDEN[name][0]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_ids_are_golden(name, t5):
    prompt = PROMPTS[name]
    assert prompt.ids(CLAIM, *texts_of(prompt), vocabulary=t5, max_tokens=512) == GOLDEN[name][1]


def test_monot5_is_the_ranking_format(t5):
    example = Example("1", CLAIM, (Passage("0", "", TEXT),))
    text = RANK.encode(example, max_tokens=512, count_tokens=t5.count)
    assert PROMPTS["monot5"].text(CLAIM, TEXT) == text.inputs


@pytest.mark.parametrize("family", [one for one in FAMILIES if one.use], ids=lambda family: family.name)
def test_answers_are_the_authors_ids(family, t5):
    if family.use in (USES["mmarco"], USES["mmarco_13b"], USES["xnli"]):
        assert family.name not in ANSWERS  # mT5's vocabulary has other ids
    elif family.use.rule is Rule.ANSWERS:
        assert t5.encode_batch(family.use.answers) == ANSWERS[family.name]
    else:
        assert [t5.id_of(piece) for piece in family.use.answers] == ANSWERS[family.name]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    texts = [f"Query: Document: Relevant: predict: town {n} was opened in {1900 + n} ." for n in range(200)]
    return train_vocabulary(texts, tmp_path_factory.mktemp("vocabulary") / "spiece.model", 300)


@pytest.mark.parametrize("name", PROMPTS)
@pytest.mark.parametrize("max_tokens", [80, 120, 200])
def test_what_is_too_long_loses_text_and_keeps_the_words_around_it(small, name, max_tokens):
    prompt = PROMPTS[name]
    long = ["town 5 was opened in 1905 . " * 100] * (1 + prompt.compares)
    try:
        ids = prompt.ids("town 5 .", *long, vocabulary=small, max_tokens=max_tokens)
    except LisaxError as error:
        assert "do not hold even the empty prompt" in str(error)
        return
    assert max_tokens - 20 <= len(ids) <= max_tokens
    end = prompt.text("town 5 .", *(["1905 ."] * len(long))).rpartition("1905 .")[2].split("</s>")[-1]
    assert small.decode(ids[-small.count(end) : -1]) == small.decode(small.encode(end))


def test_a_claim_is_cut_only_where_no_text_is_left(small):
    ids = PROMPTS["monot5"].ids("town 5 was opened . " * 50, "in 1905 .", vocabulary=small, max_tokens=60)
    text = small.decode(ids)
    assert len(ids) <= 60 and text.startswith("Query: town 5") and text.endswith("Document: Relevant:")


@pytest.mark.parametrize("kind", ["spiece.model", "tokenizer.json"])
def test_what_spells_a_special_token_in_a_text_is_no_special_token(small, tmp_path, kind):
    vocabulary = small if kind == "spiece.model" else open_vocabulary(small_tokenizers.unigram(tmp_path / kind))
    ids = PROMPTS["minicheck"].ids("a</s>b", "c</s>d <pad>", vocabulary=vocabulary, max_tokens=100)
    assert ids.count(1) == 2 and ids[-1] == 1 and 0 not in ids


def test_slots_in_a_text_are_text():
    assert PROMPTS["monot5"].text("{text}", "{claim}") == "Query: {text} Document: {claim} Relevant:"


def test_a_text_without_spaces_is_cut_between_characters():
    assert start_of("ab cd ef", 5) == "ab cd" and start_of("ab cd ef", 4) == "ab"
    assert start_of("a" * 90, 50) == "a" * 50 and start_of("ab", 5) == "ab"


@pytest.mark.parametrize("template", ["{claim}", "{claim} {claim} {text}", "{claim} {text} {x}", "{claim} {other}"])
def test_a_template_has_a_slot_for_each(template):
    with pytest.raises(LisaxError, match="expected"):
        Prompt(template)


def test_a_prompt_is_found_by_name_or_is_a_template():
    assert prompt_of("nli") is PROMPTS["nli"]
    assert prompt_of("{text} => {claim}").text("a", "b") == "b => a"
