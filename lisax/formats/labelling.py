"""The labelling inputs of LisT5, section 3.3: pointwise, listwise, and claim-only.

    query: {q} sentence: {s} relevant:
    query: {q} sentence1: {s1} … sentenceL: {sL} relevant:
    query: {q} relevant:

In the released wording `hypothesis:` opens the input and nothing closes it. Sentences follow their titles as in
ranking. Claim-only inputs are ours: the baseline that sees no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lisax.formats.budget import CountTokens, fits, join, longest_start, shorten, squeeze
from lisax.formats.examples import Example
from lisax.formats.format import VERDICT, Format, PairTexts, Text
from lisax.formats.number_facts import number_facts
from lisax.formats.presets import PAPER, Preset
from lisax.formats.ranking import only_sentence, titled
from lisax.formats.tables import TableExample


def encode_pointwise(
    query: str,
    sentence_text: str,
    title: str = "",
    *,
    preset: Preset = PAPER,
    max_tokens: int | None = None,
    count_tokens: CountTokens,
) -> str:
    """The input for one sentence, at most `max_tokens` tokens with the special ones; the sentence is shortened."""

    def render(document: str, query: str, entities: int) -> str:
        return join(preset.claim_slot, query, "sentence:", document, preset.label_closing)

    return shorten(
        render,
        titled(title, sentence_text, preset),
        squeeze(query),
        0,
        max_tokens=max_tokens,
        count_tokens=count_tokens,
    )


def encode_claim_only(
    query: str, *, preset: Preset = PAPER, max_tokens: int | None = None, count_tokens: CountTokens
) -> str:
    """The input without evidence; a claim that is too long is cut at its end."""

    def render(document: str, query: str, entities: int) -> str:
        return join(preset.claim_slot, query, preset.label_closing)

    return shorten(render, "", squeeze(query), 0, max_tokens=max_tokens, count_tokens=count_tokens)


def encode_listwise(
    query: str,
    sentences: Sequence[tuple[str, str]],
    *,
    preset: Preset = PAPER,
    max_tokens: int | None = None,
    count_tokens: CountTokens,
) -> str:
    """The input for a list of (title, sentence) pairs, best first.

    A list that fits is not touched. Otherwise every sentence has the same budget of tokens, and those
    above it are cut to it: (max_tokens - tokens of the template with the claim and EOS) // L. With T5's
    vocabulary, the released wording, 512 tokens and L = 5 that is (512 - 2 - |claim| - 3*5 - 1) // 5. If
    the claim leaves no token for evidence the markers stay empty, and a claim still too long is cut.
    """
    documents = [titled(title, text, preset) for title, text in sentences]

    def render(documents: Sequence[str], query: str) -> str:
        marked = (join(f"sentence{i}:", document) for i, document in enumerate(documents, start=1))
        return join(preset.claim_slot, query, *marked, preset.label_closing)

    query = squeeze(query)
    whole = render(documents, query)
    if fits(whole, max_tokens, count_tokens):
        return whole
    empty = [""] * len(documents)
    if documents:
        budget = sentence_budget(query, len(documents), preset=preset, max_tokens=max_tokens, count_tokens=count_tokens)
        special = count_tokens("")
        # Cutting each sentence on its own assumes that token counts add up over words; where a vocabulary
        # breaks that by a piece, the budget goes down until the whole input fits.
        while budget > 0:
            cut = [
                longest_start(document, lambda start: count_tokens(start) - special <= budget) or ""
                for document in documents
            ]
            text = render(cut, query)
            if fits(text, max_tokens, count_tokens):
                return text
            budget -= 1
    return shorten(
        lambda document, query, entities: render(empty, query),
        "",
        query,
        0,
        max_tokens=max_tokens,
        count_tokens=count_tokens,
    )


def sentence_budget(query: str, sentences: int, *, preset: Preset, max_tokens: int, count_tokens: CountTokens) -> int:
    """Tokens that each of `sentences` sentences may have; at most 0 when the claim leaves none."""
    markers = (f"sentence{i}:" for i in range(1, sentences + 1))
    template = join(preset.claim_slot, query, *markers, preset.label_closing)
    return (max_tokens - count_tokens(template)) // sentences


def _pointwise(example: Example, *, preset: Preset, **budget: Any) -> list[Text]:
    sentence = only_sentence(example, LABEL_POINTWISE)
    inputs = encode_pointwise(example.claim, sentence.text, sentence.title, preset=preset, **budget)
    return [Text(inputs, preset.target(example.label))]


def _listwise(example: Example, *, preset: Preset, **budget: Any) -> list[Text]:
    pairs = [(sentence.title, sentence.text) for sentence in example.sentences]
    return [Text(encode_listwise(example.claim, pairs, preset=preset, **budget), preset.target(example.label))]


def _claim_only(example: Example | TableExample, *, preset: Preset, **budget: Any) -> list[Text]:
    return [Text(encode_claim_only(example.claim, preset=preset, **budget), preset.target(example.label))]


def _pointwise_pair(example: Example, *, preset: Preset) -> PairTexts:
    only_sentence(example, LABEL_POINTWISE)
    return _listwise_pair(example, preset=preset)


def _listwise_pair(example: Example, *, preset: Preset) -> PairTexts:
    """The claim; the facts that are computed for it, and its sentences behind their titles, best first."""
    texts, titles = zip(*((one.text, one.title) for one in example.sentences)) if example.sentences else ((), ())
    facts = number_facts(example.claim, texts, titles)
    documents = (titled(sentence.title, sentence.text, preset) for sentence in example.sentences)
    return PairTexts(squeeze(example.claim), join(*(f"{fact} ." for fact in facts), *documents))


def _claim_alone(example: Example | TableExample, *, preset: Preset) -> PairTexts:
    return PairTexts(squeeze(example.claim), "")


LABEL_POINTWISE = Format("label_pointwise", Example, _pointwise, VERDICT, pairs=_pointwise_pair)
LABEL_LISTWISE = Format("label_listwise", Example, _listwise, VERDICT, pairs=_listwise_pair)
CLAIM_ONLY = Format("claim_only", Example, _claim_only, VERDICT, also=(TableExample,), pairs=_claim_alone)
