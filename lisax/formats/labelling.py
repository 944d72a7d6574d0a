"""The labelling inputs of LisT5, section 3.3: pointwise, listwise, and claim-only.

    query: {q} sentence: {s} relevant:
    query: {q} sentence1: {s1} … sentenceL: {sL} relevant:
    query: {q} relevant:

In the released wording `hypothesis:` opens the input and nothing closes it. Sentences follow their titles as in
ranking. Claim-only inputs are ours: the baseline that sees no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from lisax.formats.budget import Budget, join, longest_start, squeeze
from lisax.formats.examples import Example, Passage
from lisax.formats.format import VERDICT, Format, PairTexts, Text
from lisax.formats.number_facts import number_facts
from lisax.formats.presets import Preset
from lisax.formats.ranking import only_sentence, titled
from lisax.formats.tables import TableExample


def encode_pointwise(query: str, sentence: Passage, preset: Preset, budget: Budget) -> str:
    """The input for one sentence, which is shortened."""

    def render(document: str, query: str, entities: int) -> str:
        return join(preset.claim_slot, query, "sentence:", document, preset.label_closing)

    return budget.shorten(render, titled(sentence.title, sentence.text, preset), squeeze(query))


def _pointwise(example: Example, preset: Preset, budget: Budget) -> list[Text]:
    inputs = encode_pointwise(example.claim, only_sentence(example, LABEL_POINTWISE), preset, budget)
    return [Text(inputs, preset.target(example.label))]


def _listwise(example: Example, preset: Preset, budget: Budget) -> list[Text]:
    """The input for a list of sentences, best first.

    A list that fits is not touched. Otherwise every sentence has the same budget of tokens, and those
    above it are cut to it: (max_tokens - tokens of the template with the claim and EOS) // L. With T5's
    vocabulary, the released wording, 512 tokens and L = 5 that is (512 - 2 - |claim| - 3*5 - 1) // 5. If
    the claim leaves no token for evidence the markers stay empty, and a claim still too long is cut.
    """
    documents = [titled(sentence.title, sentence.text, preset) for sentence in example.sentences]
    target = preset.target(example.label)

    def render(documents: Sequence[str], query: str) -> str:
        marked = (join(f"sentence{i}:", document) for i, document in enumerate(documents, start=1))
        return join(preset.claim_slot, query, *marked, preset.label_closing)

    query = squeeze(example.claim)
    whole = render(documents, query)
    if budget.fits(whole):
        return [Text(whole, target)]
    empty = [""] * len(documents)
    if documents:
        room, special = (budget.tokens - budget.count(render(empty, query))) // len(documents), budget.count("")
        # Cutting each sentence on its own assumes that token counts add up over words; where a vocabulary
        # breaks that by a piece, the room goes down until the whole input fits.
        for tokens in range(room, 0, -1):
            cut = [
                longest_start(text, lambda start: budget.count(start) - special <= tokens) or "" for text in documents
            ]
            if budget.fits(text := render(cut, query)):
                return [Text(text, target)]
    return [Text(budget.shorten(lambda _, query, entities: render(empty, query), "", query), target)]


def _claim_only(example: Example | TableExample, preset: Preset, budget: Budget) -> list[Text]:
    """A claim that is too long is cut at its end."""

    def render(document: str, query: str, entities: int) -> str:
        return join(preset.claim_slot, query, preset.label_closing)

    return [Text(budget.shorten(render, "", squeeze(example.claim)), preset.target(example.label))]


def _pointwise_pair(example: Example, preset: Preset) -> PairTexts:
    only_sentence(example, LABEL_POINTWISE)
    return _listwise_pair(example, preset)


def _listwise_pair(example: Example, preset: Preset) -> PairTexts:
    """The claim; the facts that are computed for it, and its sentences behind their titles, best first."""
    texts, titles = zip(*((one.text, one.title) for one in example.sentences)) if example.sentences else ((), ())
    facts = number_facts(example.claim, texts, titles)
    documents = (titled(sentence.title, sentence.text, preset) for sentence in example.sentences)
    return PairTexts(squeeze(example.claim), join(*(f"{fact} ." for fact in facts), *documents))


def _claim_alone(example: Example | TableExample, preset: Preset) -> PairTexts:
    return PairTexts(squeeze(example.claim), "")


LABEL_POINTWISE = Format("label_pointwise", Example, _pointwise, VERDICT, pairs=_pointwise_pair)
LABEL_LISTWISE = Format("label_listwise", Example, _listwise, VERDICT, pairs=_listwise_pair)
CLAIM_ONLY = Format("claim_only", Example, _claim_only, VERDICT, also=(TableExample,), pairs=_claim_alone)
