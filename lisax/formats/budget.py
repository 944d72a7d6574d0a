"""Shortening a document so that the whole input fits: the claim, the entities and the closing word stay.

A text is cut at the end of a word; only where not one word fits is the first word itself cut. Every
length is counted on the whole text as the model will see it, special tokens included, so a budget holds
for any vocabulary, whatever its pieces do at the seams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lisax.errors import LisaxError

# The number of tokens that a model reads of a text, special ones included: `Vocabulary.count`.
CountTokens = Callable[[str], int]


def squeeze(text: str) -> str:
    """`text` with every run of white space as one space and none at the ends."""
    return " ".join(text.split())


def join(*parts: str) -> str:
    """The non-empty parts with one space between."""
    return " ".join(part for part in parts if part)


def fits(text: str, max_tokens: int | None, count_tokens: CountTokens) -> bool:
    """Whether `text` is at most `max_tokens` tokens; None: no limit."""
    return max_tokens is None or count_tokens(text) <= max_tokens


def longest_start(text: str, accepts: Callable[[str], bool]) -> str | None:
    """The longest start of `text` that `accepts`, cut after a word or else inside the first word.

    None when not even the empty start is accepted. `accepts` is taken to be monotone and is called
    O(log length) times; the returned start was always accepted.
    """
    if accepts(text):
        return text
    if not accepts(""):
        return None
    ends = [i for i, character in enumerate(text) if character == " "]
    kept = _last_accepted(text, [0, *ends], accepts)
    if kept == 0:
        first_word = ends[0] if ends else len(text)
        kept = _last_accepted(text, list(range(first_word)), accepts)
    return text[:kept]


def _last_accepted(text: str, ends: Sequence[int], accepts: Callable[[str], bool]) -> int:
    """The last of the ascending `ends` whose start is accepted; the first one is known to be."""
    low, high = 0, len(ends)
    while high - low > 1:
        middle = (low + high) // 2
        if accepts(text[: ends[middle]]):
            low = middle
        else:
            high = middle
    return ends[low]


def shorten(
    render: Callable[[str, str, int], str],
    document: str,
    query: str,
    entities: int,
    *,
    max_tokens: int | None,
    count_tokens: CountTokens,
) -> str:
    """`render(document, query, number of entities)` at the greatest length that fits `max_tokens`.

    Only the document is shortened. Only if the input is too long with an empty document are entities dropped, the last
    first; only if the query without a document is too long is the query cut at its end. The closing word that `render`
    writes is there in every case. Raises LisaxError if the template is too long.
    """

    def accepts(document: str, query: str, entities: int) -> bool:
        return fits(render(document, query, entities), max_tokens, count_tokens)

    kept = longest_start(document, lambda start: accepts(start, query, entities))
    if kept is not None:
        return render(kept, query, entities)
    for fewer in range(entities - 1, -1, -1):
        if accepts("", query, fewer):
            return render("", query, fewer)
    kept = longest_start(query, lambda start: accepts("", start, 0))
    if kept is None:
        raise LisaxError(
            f"{max_tokens} tokens do not hold even the empty template of this format; give `inputs` a greater length"
        )
    return render("", kept, 0)
