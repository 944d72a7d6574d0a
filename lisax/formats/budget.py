"""Shortening a document so that the whole input fits: the claim, the entities and the closing word stay.

A text is cut at the end of a word; only where not one word fits is the first word itself cut. Every
length is counted on the whole text as the model will see it, special tokens included, so a budget holds
for any vocabulary, whatever its pieces do at the seams.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from lisax.errors import LisaxError

# The number of tokens that a model reads of a text, special ones included: `Vocabulary.count`.
CountTokens = Callable[[str], int]


def squeeze(text: str) -> str:
    """`text` with every run of white space as one space and none at the ends."""
    return " ".join(text.split())


def join(*parts: str) -> str:
    """The non-empty parts with one space between."""
    return " ".join(part for part in parts if part)


def longest_start(text: str, accepts: Callable[[str], bool]) -> str | None:
    """The longest start of `text` that `accepts`, cut after a word or else inside the first word.

    None when not even the empty start is accepted. `accepts` is taken to be monotone and is called
    O(log length) times; the returned start was always accepted.
    """
    if accepts(text):
        return text
    if not accepts(""):
        return None
    ends = [0, *(i for i, character in enumerate(text) if character == " ")]
    kept = ends[greatest(len(ends), lambda i: accepts(text[: ends[i]]))]
    if kept == 0:
        first_word = ends[1] if len(ends) > 1 else len(text)
        kept = greatest(first_word, lambda end: accepts(text[:end]))
    return text[:kept]


def greatest(limit: int, accepts: Callable[[int], bool]) -> int:
    """The greatest number below `limit` that is accepted; 0 is."""
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepts(middle) else (low, middle)
    return low


def first_words(text: str, count: int | None) -> str:
    """The first `count` words of a text whose words one space separates; None: all."""
    return text if count is None else " ".join(text.split(" ", count)[:count])


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """The room of an input: at most `tokens` tokens (None: no limit), as `count` counts them."""

    count: CountTokens
    tokens: int | None = None

    def fits(self, text: str) -> bool:
        return self.tokens is None or self.count(text) <= self.tokens

    def shorten(self, render: Callable[[str, str, int], str], document: str, query: str, entities: int = 0) -> str:
        """`render(document, query, number of entities)` at the greatest length that fits.

        Only the document is shortened. Only if the input is too long with an empty document are entities dropped, the
        last first; only if the query without a document is too long is the query cut at its end. The closing word that
        `render` writes is there in every case. Raises LisaxError if the template is too long."""

        def accepts(document: str, query: str, entities: int) -> bool:
            return self.fits(render(document, query, entities))

        kept = longest_start(document, lambda start: accepts(start, query, entities))
        if kept is not None:
            return render(kept, query, entities)
        for fewer in range(entities - 1, -1, -1):
            if accepts("", query, fewer):
                return render("", query, fewer)
        kept = longest_start(query, lambda start: accepts("", start, 0))
        if kept is None:
            raise LisaxError(
                f"{self.tokens} tokens do not hold even the empty template of this format; give `inputs` a greater "
                "length"
            )
        return render("", kept, 0)
