"""The inputs that published T5 models were trained on, as templates, and how whole inputs are shortened.

A template's slots are `{claim}`, `{text}` and, where two texts are compared, `{other}`. `</s>` in a template is the
token that ends a text, which Hugging Face's tokenizers make of it; in a claim or a text it is text. `tests/formats` has
the string and the ids of each prompt with T5's vocabulary.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from lisax.errors import LisaxError
from lisax.formats.budget import greatest, squeeze
from lisax.formats.vocabulary import EOS_ID, Vocabulary

SLOTS = ("claim", "text", "other")
END = "</s>"
NEAR = 32  # characters that are given up so that a text ends with a whole word


@dataclasses.dataclass(frozen=True)
class Prompt:
    """A template around a claim and a text. Raises LisaxError for a template without a slot for each, or with one
    twice."""

    template: str
    lower: bool = False  # claim and text are put in lower case

    def __post_init__(self) -> None:
        found = re.findall(r"\{(\w*)\}", self.template)
        if sorted(found) not in (["claim", "text"], ["claim", "other", "text"]):
            raise LisaxError(
                f"the prompt {self.template!r} has the slots {found}: expected {{claim}} and {{text}} once each, "
                "and also {other} if two texts are compared"
            )

    @property
    def compares(self) -> bool:
        """Whether it has two texts, of which the model chooses the better one."""
        return "{other}" in self.template

    def text(self, claim: str, *texts: str) -> str:
        """The input in words, whole."""
        return self._filled(self.template, claim, texts)

    def ids(self, claim: str, *texts: str, vocabulary: Vocabulary, max_tokens: int) -> list[int]:
        """Token ids with EOS, at most `max_tokens`.

        Texts are shortened, all to the same number of characters; only if nothing is left of them is the claim cut too.
        The words around them stay. Raises LisaxError if even these do not fit."""

        def encoded(claim: str, texts: Sequence[str]) -> list[int]:
            parts = (self._filled(part, claim, texts) for part in self.template.split(END))
            # In some `tokenizer.json` a text may spell EOS: there it is left out.
            pieces = ([i for i in vocabulary.encode(part) if i > EOS_ID] for part in parts)
            return [i for part in pieces for i in (*part, EOS_ID)]

        claim, texts = squeeze(claim), tuple(map(squeeze, texts))
        whole = encoded(claim, texts)
        if len(whole) <= max_tokens:
            return whole

        def fits(claim: str, texts: Sequence[str]) -> bool:
            return len(encoded(claim, texts)) <= max_tokens

        none = ("",) * len(texts)
        if fits(claim, none):
            longest = max(map(len, texts))
            length = greatest(longest, lambda length: fits(claim, [start_of(text, length) for text in texts]))
            return encoded(claim, [start_of(text, length) for text in texts])
        if not fits("", none):
            raise LisaxError(f"{max_tokens} tokens do not hold even the empty prompt {self.template!r}: give more")
        return encoded(start_of(claim, greatest(len(claim), lambda length: fits(start_of(claim, length), none))), none)

    def _filled(self, template: str, claim: str, texts: Sequence[str]) -> str:
        values = dict(zip(SLOTS, (claim, *texts), strict=False))
        if self.lower:
            values = {name: value.lower() for name, value in values.items()}
        return re.sub(r"\{(\w+)\}", lambda slot: values[slot[1]], template)


def start_of(text: str, length: int) -> str:
    """The first `length` characters, or up to NEAR fewer if a word ends there."""
    if len(text) <= length:
        return text
    space = text.rfind(" ", max(0, length - NEAR), length + 1)
    return text[: length if space < 0 else space]


PROMPTS = {
    # pygaggle, model/tokenize.py
    "monot5": Prompt("Query: {claim} Document: {text} Relevant:"),
    "duot5": Prompt("Query: {claim} Document0: {text} Document1: {other} Relevant:"),
    # Zhuang et al. 2023
    "rankt5": Prompt("Query: {claim} Document: {text}"),
    # MiniCheck, minicheck/inference.py
    "minicheck": Prompt("predict: {text}</s>{claim}"),
    # TRUE and TrueTeacher
    "nli": Prompt("premise: {text} hypothesis: {claim}"),
    "xnli": Prompt("xnli: premise: {text} hypothesis: {claim}"),
    # FLAN, flan/templates.py: ANLI's first
    "flan": Prompt(
        '{text}\n\nBased on the paragraph above can we conclude that "{claim}"?\n\n'
        "OPTIONS:\n- Yes\n- It's impossible to say\n- No"
    ),
    # UnifiedSKG, utils/dataset.py
    "unifiedskg": Prompt("{claim} ; structured knowledge: {text}", lower=True),
}


CELL_TOKENS = 15  # of a cell in UnifiedSKG's tables


def linear_table(header: Sequence[str], rows: Sequence[Sequence[str]], vocabulary: Vocabulary) -> str:
    """A table as UnifiedSKG writes it: `col : h1 | h2 row 1 : a | b row 2 : …`, each cell cut at CELL_TOKENS."""

    def cut(cell: str) -> str:
        ids = vocabulary.encode(squeeze(cell))
        return squeeze(cell) if len(ids) <= CELL_TOKENS else vocabulary.decode(ids[:CELL_TOKENS])

    lines = [f"col : {' | '.join(map(squeeze, header))}"]
    lines += [f"row {number} : {' | '.join(map(cut, row))}" for number, row in enumerate(rows, start=1)]
    return " ".join(lines)


def prompt_of(text: str) -> Prompt:
    """The prompt with this name in the list, or else a prompt of this template."""
    if text in PROMPTS:
        return PROMPTS[text]
    if "{" not in text:
        raise LisaxError(
            f"no prompt is named '{text}'; there are {', '.join(PROMPTS)}, or give a template such as "
            "'Query: {claim} Document: {text} Relevant:'"
        )
    return Prompt(text)
