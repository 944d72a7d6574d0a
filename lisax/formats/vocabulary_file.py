"""Vocabularies by their files: `open_vocabulary`, and those in `tokenizer.json`, the file of the library `tokenizers`:
WordPiece, BPE, unigram."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import DataError, LisaxError
from lisax.formats.reading import NOWHERE, Places
from lisax.formats.vocabulary import EXTRA_IDS, Pair, SentencePieceVocabulary, Vocabulary, room_of_pair
from lisax.records import check_text

# Of the BERT family, RoBERTa's and T5's files.
PADDING, UNKNOWN = ("[PAD]", "<pad>"), ("[UNK]", "<unk>")
MOST_BYTES = 64 << 20  # twice the largest that is published
MOST_GROWTH = 64  # characters that normalizing may make of one; SentencePiece's escape of a blank makes one
NO_TEXT = "this tokenizer cannot split a text, as published tokenizers can"


def open_vocabulary(path: str | os.PathLike, extra_ids: int = EXTRA_IDS) -> Vocabulary:
    """The vocabulary of a file: `.json` is one of `tokenizers`, any other a SentencePiece model with `extra_ids`
    sentinels. Raises DataError if it is neither."""
    path = Path(path)
    if path.suffix != ".json":
        return SentencePieceVocabulary(path, extra_ids)
    return _tokenizer(path, path.stat().st_mtime_ns if path.is_file() else None)


@functools.lru_cache(maxsize=4)
def _tokenizer(path: Path, changed: int | None) -> TokenizerVocabulary:
    """One for all models over one encoder. `changed`: when the file was."""
    return TokenizerVocabulary(path)


def _growth(normalizer: dict[str, Any] | None) -> int:
    """The most characters that the replacements of a `normalizer` make of one."""
    if not normalizer:
        return 1
    grown = math.prod(map(_growth, normalizer.get("normalizers") or ()))
    return grown * max(1, len(normalizer.get("content") or ""))


class TokenizerVocabulary:
    """A `tokenizer.json` file.

    Padding and the token whose id is 0 change places, so that padding is 0 as everywhere in LisaX; `encode` and the
    others give ids so, and `published` gives them as other libraries have them. The file's own truncation and padding
    are left out."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        if not self.path.is_file():
            raise DataError("no such vocabulary (a tokenizer.json) here", path=self.path)
        if (size := self.path.stat().st_size) > MOST_BYTES:
            raise DataError(f"a vocabulary of {size:,} bytes; at most {MOST_BYTES:,} are read", path=self.path)
        self._bytes = self.path.read_bytes()
        from tokenizers import Tokenizer

        with self._telling("not a tokenizer that the library tokenizers reads"):
            self._tokenizer = Tokenizer.from_buffer(self._bytes)
            growth = _growth(json.loads(self._bytes).get("normalizer"))
        if growth > MOST_GROWTH:
            raise DataError(
                f"`normalizer` makes {growth:,} characters of one; at most {MOST_GROWTH} are allowed", path=self.path
            )
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # `[SEP]` in a user's text is text
        # MPNet's vocabulary was made of BERT's, whose `[PAD]` is an ordinary piece there.
        special = {token.content for token in self._tokenizer.get_added_tokens_decoder().values() if token.special}
        named = sorted(PADDING, key=lambda token: token not in special)
        found = next((i for i in map(self._tokenizer.token_to_id, named) if i is not None), None)
        if found is None:
            raise DataError(f"it has no token for padding, {' or '.join(PADDING)}", path=self.path)
        self.padding_id: int = found
        unknown = next((i for i in map(self._tokenizer.token_to_id, UNKNOWN) if i is not None), None)
        self.unknown_id: int | None = None if unknown is None else self.published([unknown])[0]
        self.extra_ids = 0

    @contextlib.contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Raises DataError for the library's errors: a plain Exception, or, if its Rust code panics, an object that is
        not an Exception."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, LisaxError) or not (
                isinstance(error, Exception) or type(error).__name__ == "PanicException"
            ):
                raise
            raise DataError(f"{what}: {str(error)[:200]}", path=self.path) from None

    @functools.cached_property
    def size(self) -> int:
        return 1 + max(self._tokenizer.get_vocab().values())

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._bytes).hexdigest()

    @functools.cached_property
    def separator_id(self) -> int | None:
        """The token between the texts of a pair; None if there is none."""
        ids, types = self.encode_pair("", "")
        return ids[types.index(1) - 1] if 1 in types[1:] else None

    def published(self, ids: Iterable[int]) -> list[int]:
        """Ids as other libraries have them, of ours, or the reverse."""
        if not self.padding_id:
            return list(ids)
        places = {0: self.padding_id, self.padding_id: 0}
        return [places.get(i, i) for i in ids]

    def encode(self, text: str) -> list[int]:
        return self.published(self._pieces(text).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        with self._telling(NO_TEXT):
            found = self._tokenizer.encode_batch_fast(list(map(check_text, texts)), add_special_tokens=False)
        return [self.published(encoding.ids) for encoding in found]

    def encode_input(self, text: str, max_tokens: int | None = None) -> list[int]:
        found = self._pieces(text)
        if max_tokens is not None:
            found.truncate(max(0, max_tokens - self._tokenizer.num_special_tokens_to_add(False)))
        return self.published(self._tokenizer.post_process(found).ids)

    def encode_inputs(self, texts: Sequence[str]) -> list[list[int]]:
        with self._telling(NO_TEXT):
            found = self._tokenizer.encode_batch_fast(list(map(check_text, texts)))
        return [self.published(encoding.ids) for encoding in found]

    def count(self, text: str) -> int:
        return len(self._pieces(text)) + self._tokenizer.num_special_tokens_to_add(False)

    def encode_with_places(self, text: str) -> tuple[list[int], Places]:
        with self._telling(NO_TEXT):
            found = self._tokenizer.encode(check_text(text))
        special = found.special_tokens_mask
        places = [NOWHERE if is_special else offsets for is_special, offsets in zip(special, found.offsets)]
        return self.published(found.ids), Places.of(places)

    def encode_pair(self, first: str, second: str, max_tokens: int | None = None) -> Pair:
        texts = self._pieces(first), self._pieces(second)
        specials = self._tokenizer.num_special_tokens_to_add(True)
        for text, most in zip(texts, room_of_pair(*map(len, texts), specials, max_tokens)):
            text.truncate(most)
        found = self._tokenizer.post_process(*texts)
        return Pair(self.published(found.ids), found.type_ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids, without special tokens."""
        return self._tokenizer.decode(self.published(map(int, ids)))

    def piece_id(self, word: str) -> int:
        ids = self.encode(word)
        if len(ids) != 1 or self.decode(ids) == "":  # the unknown token is a special one
            raise LisaxError(f"'{word}' is not one piece of the vocabulary {self.path}: choose another word")
        return ids[0]

    def id_of(self, piece: str) -> int:
        found = self._tokenizer.token_to_id(piece)
        if found is None:
            raise LisaxError(f"'{piece}' is not a piece of the vocabulary {self.path}")
        return self.published([found])[0]

    def _pieces(self, text: str) -> Any:
        with self._telling(NO_TEXT):
            return self._tokenizer.encode(check_text(text), add_special_tokens=False)
