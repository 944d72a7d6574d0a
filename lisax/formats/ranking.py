"""monoT5's ranking input (LisT5, section 3.2): is this sentence evidence for this query?

Query: {q} Document: {title} . {sentence} Entity1: {e1} … EntityJ: {eJ} Relevant:
"""

from __future__ import annotations

from collections.abc import Sequence

from lisax.errors import LisaxError
from lisax.formats.budget import Budget, join, squeeze
from lisax.formats.examples import Example, Passage
from lisax.formats.format import RELEVANCE, Format, PairTexts, Text
from lisax.formats.presets import Preset

CLOSING = "Relevant:"


def titled(title: str, sentence: str, preset: Preset) -> str:
    """The sentence behind its page's title; only the sentence if it has no title."""
    title, sentence = squeeze(title), squeeze(sentence)
    return squeeze(f"{title}{preset.title_separator}{sentence}") if title else sentence


def encode_ranking(query: str, sentence: Passage, preset: Preset, budget: Budget, entities: Sequence[str] = ()) -> str:
    """The ranking input, ending in `Relevant:`.

    The document (title and sentence) is shortened, never the query or the entities, but for the last resorts of
    `Budget.shorten`.
    """
    names = [name for name in map(squeeze, entities) if name]

    def render(document: str, query: str, entities: int) -> str:
        named = (f"Entity{i}: {name}" for i, name in enumerate(names[:entities], start=1))
        return join("Query:", query, "Document:", document, *named, CLOSING)

    return budget.shorten(render, titled(sentence.title, sentence.text, preset), squeeze(query), len(names))


def only_sentence(example: Example, of: Format) -> Passage:
    """The sentence of an example; raises LisaxError if it has none or several."""
    if len(example.sentences) != 1:
        raise LisaxError(
            f"claim {example.claim_id}: the format '{of}' takes one sentence, found {len(example.sentences)}"
        )
    return example.sentences[0]


def _rank(example: Example, preset: Preset, budget: Budget) -> list[Text]:
    inputs = encode_ranking(example.claim, only_sentence(example, RANK), preset, budget)
    return [Text(inputs, preset.target(example.label))]


def _rank_entities(example: Example, preset: Preset, budget: Budget) -> list[Text]:
    inputs = encode_ranking(example.claim, only_sentence(example, RANK_ENTITIES), preset, budget, example.entities)
    return [Text(inputs, preset.target(example.label))]


def _rank_pair(example: Example, preset: Preset) -> PairTexts:
    sentence = only_sentence(example, RANK)
    return PairTexts(squeeze(example.claim), titled(sentence.title, sentence.text, preset))


def _rank_entities_pair(example: Example, preset: Preset) -> PairTexts:
    """The entities follow their claim."""
    claim, document = _rank_pair(example, preset)
    names = [name for name in map(squeeze, example.entities) if name]
    return PairTexts(join(claim, *(f"Entity{i}: {name}" for i, name in enumerate(names, start=1))), document)


RANK = Format("rank", Example, _rank, RELEVANCE, pairs=_rank_pair)
RANK_ENTITIES = Format("rank_entities", Example, _rank_entities, RELEVANCE, pairs=_rank_entities_pair)
