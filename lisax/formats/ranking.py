"""monoT5's ranking input (LisT5, section 3.2): is this sentence evidence for this query?

Query: {q} Document: {title} . {sentence} Entity1: {e1} … EntityJ: {eJ} Relevant:
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lisax.errors import LisaxError
from lisax.formats.budget import CountTokens, join, shorten, squeeze
from lisax.formats.examples import Example, Passage
from lisax.formats.format import RELEVANCE, Format, PairTexts, Text
from lisax.formats.presets import PAPER, Preset

CLOSING = "Relevant:"


def titled(title: str, sentence: str, preset: Preset) -> str:
    """The sentence behind its page's title; only the sentence if it has no title."""
    title, sentence = squeeze(title), squeeze(sentence)
    return squeeze(f"{title}{preset.title_separator}{sentence}") if title else sentence


def encode_ranking(
    query: str,
    sentence_text: str,
    title: str = "",
    entities: Sequence[str] = (),
    *,
    preset: Preset = PAPER,
    max_tokens: int | None = None,
    count_tokens: CountTokens,
) -> str:
    """The ranking input, at most `max_tokens` tokens with the special ones, ending in `Relevant:`.

    The document (title and sentence) is shortened, never the query or the entities, but for the last
    resorts of `budget.shorten`.
    """
    names = [name for name in map(squeeze, entities) if name]

    def render(document: str, query: str, entities: int) -> str:
        named = (f"Entity{i}: {name}" for i, name in enumerate(names[:entities], start=1))
        return join("Query:", query, "Document:", document, *named, CLOSING)

    return shorten(
        render,
        titled(title, sentence_text, preset),
        squeeze(query),
        len(names),
        max_tokens=max_tokens,
        count_tokens=count_tokens,
    )


def only_sentence(example: Example, of: Format) -> Passage:
    """The sentence of an example; raises LisaxError if it has none or several."""
    if len(example.sentences) != 1:
        raise LisaxError(
            f"claim {example.claim_id}: the format '{of}' takes one sentence, found {len(example.sentences)}"
        )
    return example.sentences[0]


def _rank(example: Example, *, preset: Preset, **budget: Any) -> list[Text]:
    sentence = only_sentence(example, RANK)
    inputs = encode_ranking(example.claim, sentence.text, sentence.title, preset=preset, **budget)
    return [Text(inputs, preset.target(example.label))]


def _rank_entities(example: Example, *, preset: Preset, **budget: Any) -> list[Text]:
    sentence = only_sentence(example, RANK_ENTITIES)
    inputs = encode_ranking(example.claim, sentence.text, sentence.title, example.entities, preset=preset, **budget)
    return [Text(inputs, preset.target(example.label))]


def _rank_pair(example: Example, *, preset: Preset) -> PairTexts:
    sentence = only_sentence(example, RANK)
    return PairTexts(squeeze(example.claim), titled(sentence.title, sentence.text, preset))


def _rank_entities_pair(example: Example, *, preset: Preset) -> PairTexts:
    """The entities follow their claim."""
    claim, document = _rank_pair(example, preset=preset)
    names = [name for name in map(squeeze, example.entities) if name]
    return PairTexts(join(claim, *(f"Entity{i}: {name}" for i, name in enumerate(names, start=1))), document)


RANK = Format("rank", Example, _rank, RELEVANCE, pairs=_rank_pair)
RANK_ENTITIES = Format("rank_entities", Example, _rank_entities, RELEVANCE, pairs=_rank_entities_pair)
