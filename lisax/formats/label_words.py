"""Label words are read from the logits of one decoder step, so each must be one piece of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lisax.errors import LisaxError


def single_pieces(words: Sequence[str], encode: Callable[[str], Sequence[int]]) -> tuple[int, ...]:
    """The id of each word under `encode` (text -> ids without EOS).

    Raises LisaxError naming the word that is not one piece or that shares its piece with another.
    """
    owners: dict[int, str] = {}
    for word in words:
        ids = list(encode(word))
        if len(ids) != 1:
            raise LisaxError(
                f"the label word '{word}' is {len(ids)} pieces of the vocabulary and must be one; "
                "choose another word, or train the vocabulary with it among `required_words`"
            )
        # 2 is UNK in every vocabulary of T5's conventions: a word the vocabulary does not know.
        if ids[0] <= 2:
            raise LisaxError(f"the label word '{word}' is not in the vocabulary")
        if ids[0] in owners:
            raise LisaxError(f"the label words '{owners[ids[0]]}' and '{word}' are the same piece of the vocabulary")
        owners[ids[0]] = word
    return tuple(owners)
