"""Vocabularies without TensorFlow: texts and pairs of texts as token ids. Padding is 0 in all of them.

A SentencePiece model has T5's conventions: padding is 0, EOS 1; `extra_ids` sentinels lie above the pieces,
`<extra_id_0>` at the very top. In mT5's model the sentinels are its last pieces.
`vocabulary_file` opens these and `tokenizer.json` files.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lisax.errors import DataError, LisaxError
from lisax.files.writing import atomic_write
from lisax.formats.reading import NOWHERE, Places
from lisax.records import check_text

PAD_ID, EOS_ID, UNK_ID = 0, 1, 2
EXTRA_IDS = 100
# The label words of both presets.
REQUIRED_WORDS = ("true", "false", "weak")
PUNCTUATION = ".,:;()"
# Characters of prompts and numbers, which every vocabulary should have.
PROMPT_CHARACTERS = string.ascii_letters + string.digits + PUNCTUATION
# Words of prompts, for a vocabulary whose texts may be in another language.
PROMPT_WORDS = ("Query", "Document", "Relevant", "query", "relevant", "sentence", "table", "row", "is")
_HEAD = 20_000  # texts that are looked at for their script


class Pair(NamedTuple):
    """Two texts as one input. Both are of the same length."""

    ids: list[int]  # with special tokens
    types: list[int]  # 0 of the first text, 1 of the second if the vocabulary distinguishes them


class Vocabulary(Protocol):
    """The interface of vocabularies for formats, tasks and inference. Raises LisaxError for a text with half of a
    surrogate pair."""

    path: Path
    extra_ids: int  # sentinels among its ids

    @property
    def size(self) -> int:
        """The number of rows that an embedding needs: all ids are below."""

    @property
    def digest(self) -> str:
        """sha256 of the file, in hexadecimal."""

    @property
    def padding_id(self) -> int:
        """Padding's id as published; here it is 0, and the two ids have changed places."""

    @property
    def unknown_id(self) -> int | None:
        """The id of all that the vocabulary cannot write; None if it writes everything."""

    def encode(self, text: str) -> list[int]:
        """Piece ids, without special tokens. A special token spelt out in a text is text."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def encode_input(self, text: str, max_tokens: int | None = None) -> list[int]:
        """A text as a model reads it, with special tokens, at most `max_tokens` long; the rest is cut."""

    def encode_inputs(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode_input` of each text, whole."""

    def count(self, text: str) -> int:
        """Number of tokens of `encode_input(text)`; of an empty text that of the special tokens."""

    def encode_with_places(self, text: str) -> tuple[list[int], Places]:
        """`encode_input(text)` with the characters of the text that each token stands for; special tokens stand for
        none."""

    def encode_pair(self, first: str, second: str, max_tokens: int | None = None) -> Pair:
        """Two texts as a model reads them, at most `max_tokens` long: the second is cut at its end, and the first only
        if it is too long without the second."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""

    def piece_id(self, word: str) -> int:
        """The id of a word that is one piece; LisaxError naming it otherwise."""

    def id_of(self, piece: str) -> int:
        """The id of a piece as the vocabulary spells it, `▁true` or `<extra_id_10>`; LisaxError if there is none."""


def room_of_pair(first: int, second: int, specials: int, max_tokens: int | None) -> tuple[int, int]:
    """How many pieces of each text go into a pair of at most `max_tokens` tokens, `specials` of them special ones."""
    if max_tokens is None:
        return first, second
    room = max(0, max_tokens - specials)
    return min(first, room), min(second, max(0, room - first))


class SentencePieceVocabulary:
    """A SentencePiece model file. `size` counts the sentinels; ids are Python ints."""

    def __init__(self, path: str | os.PathLike, extra_ids: int = EXTRA_IDS):
        self.path = Path(path)
        if not self.path.is_file():
            raise DataError("no such vocabulary (a SentencePiece model) here", path=self.path)
        self._bytes = self.path.read_bytes()
        import sentencepiece

        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(self._bytes)
        except RuntimeError:
            raise DataError("not a SentencePiece model", path=self.path) from None
        found = self._processor.pad_id(), self._processor.eos_id()
        if found != (PAD_ID, EOS_ID):
            raise DataError(
                f"padding and EOS have ids {found}; T5's conventions are {(PAD_ID, EOS_ID)}", path=self.path
            )
        own = own_sentinels(self._processor)
        self.pieces, self.extra_ids = self._processor.GetPieceSize() - own, own or extra_ids

    padding_id = PAD_ID

    @property
    def unknown_id(self) -> int:
        return self._processor.unk_id()

    @property
    def size(self) -> int:
        return self.pieces + self.extra_ids

    @property
    def added(self) -> int:
        """Sentinels that the model file does not have itself."""
        return self.size - self._processor.GetPieceSize()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._bytes).hexdigest()

    def encode(self, text: str) -> list[int]:
        return self._processor.EncodeAsIds(check_text(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return self._processor.EncodeAsIds(list(map(check_text, texts)))

    def encode_input(self, text: str, max_tokens: int | None = None) -> list[int]:
        """Piece ids and EOS."""
        ids = self.encode(text)
        return [*(ids if max_tokens is None else ids[: max(0, max_tokens - 1)]), EOS_ID]

    def encode_inputs(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*ids, EOS_ID] for ids in self.encode_batch(texts)]

    def count(self, text: str) -> int:
        return len(self.encode(text)) + 1

    def encode_with_places(self, text: str) -> tuple[list[int], Places]:
        found = self._processor.EncodeAsOffsetMapping(check_text(text))
        return [*found["ids"], EOS_ID], Places.of([*found["offsets"], NOWHERE])

    def encode_pair(self, first: str, second: str, max_tokens: int | None = None) -> Pair:
        """Each text with its EOS; types are all 0."""
        texts = self.encode(first), self.encode(second)
        room = room_of_pair(*map(len, texts), 2, max_tokens)
        ids = [i for text, most in zip(texts, room) for i in (*text[:most], EOS_ID)]
        return Pair(ids, [0] * len(ids))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids up to the first EOS; sentinels are written `<extra_id_n>`."""
        parts: list[str] = []
        pending: list[int] = []
        for i in map(int, ids):
            if i == EOS_ID:
                break
            if i < self.pieces:
                pending.append(i)
                continue
            parts.append(self._processor.DecodeIds(pending))
            # Models pad their embedding beyond the vocabulary; such an id has no text.
            parts.append(f"<extra_id_{self.size - 1 - i}>" if i < self.size else "")
            pending = []
        parts.append(self._processor.DecodeIds(pending))
        return " ".join(part for part in parts if part)

    def piece_id(self, word: str) -> int:
        return single_pieces([word], self.encode)[0]

    def id_of(self, piece: str) -> int:
        if sentinel := re.fullmatch(r"<extra_id_([0-9]{1,4})>", piece):
            return self.sentinel_id(int(sentinel[1]))
        found = self._processor.PieceToId(piece)
        if found == self._processor.unk_id():
            raise LisaxError(f"'{piece}' is not a piece of the vocabulary {self.path}")
        return found

    def sentinel_id(self, n: int) -> int:
        """The id of `<extra_id_n>`."""
        if not 0 <= n < self.extra_ids:
            raise LisaxError(f"the vocabulary has {self.extra_ids} sentinels, there is no <extra_id_{n}>")
        return self.size - 1 - n


def single_pieces(words: Sequence[str], encode: Callable[[str], Sequence[int]]) -> tuple[int, ...]:
    """The id of each word under `encode` (text -> ids without EOS). Label words are read from the logits of one decoder
    step, so each must be one piece of the vocabulary.

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


def own_sentinels(processor: Any) -> int:
    """How many of a SentencePiece model's last pieces are sentinels (`▁<extra_id_0>` the very last), as in mT5's."""
    last = processor.GetPieceSize() - 1
    return next(n for n in itertools.count() if processor.IdToPiece(last - n) != f"▁<extra_id_{n}>")


def unwritten(vocabulary: Vocabulary, texts: Iterable[str]) -> Counter[str]:
    """The characters of texts that a vocabulary cannot write, with the number of texts that have each. A model sees no
    difference between them."""
    known: dict[str, bool] = {}
    found: Counter[str] = Counter()
    for text in texts:
        for character in set(text):
            if character not in known:
                known[character] = character.isspace() or vocabulary.unknown_id not in vocabulary.encode(character)
            if not known[character]:
                found[character] += 1
    return found


def train_vocabulary(
    texts: Iterable[str],
    out: str | os.PathLike,
    size: int,
    required_words: Sequence[str] = REQUIRED_WORDS,
    *,
    writes_all: bool | None = None,
) -> SentencePieceVocabulary:
    """Trains a model of at most `size` pieces on `texts` and writes it to `out`.

    Each required word is one piece of it. The same texts in the same order give the same bytes. A corpus
    too small for `size` gives fewer pieces.

    With `writes_all` the model can write every text: it has pieces for `PROMPT_WORDS`, for `PROMPT_CHARACTERS` and for
    all bytes, which spell any other character. None: only if the texts are in another script than the prompts, whose letters and digits
    would be unknown.

    Merges (BPE) rather than T5's unigram model: on a corpus of some thousand sentences, unigram splits
    frequent words that merging keeps whole, and inputs are half as long again. Punctuation is separate, so that `1972.`
    and `1972` share the piece that must be compared.
    """
    import sentencepiece

    stream = iter(texts)
    head = list(itertools.islice(stream, _HEAD))
    if writes_all is None:
        characters = Counter(map(str.isascii, itertools.chain.from_iterable(head)))
        writes_all = characters[False] > characters[True]
    required = " ".join((*required_words, *PROMPT_WORDS) if writes_all else required_words)
    all_characters = (
        {"byte_fallback": True, "required_chars": string.ascii_letters + string.digits} if writes_all else {}
    )

    def lines() -> Iterator[str]:
        count = 0
        for text in itertools.chain(head, stream):
            if line := " ".join(text.split()):
                count += 1
                yield line
        # As frequent as needed for their merges to come early.
        yield from itertools.repeat(required, max(1000, count // 20))

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=lines(),
            model_writer=model,
            model_type="bpe",
            vocab_size=size,
            pad_id=PAD_ID,
            eos_id=EOS_ID,
            unk_id=UNK_ID,
            bos_id=-1,
            hard_vocab_limit=False,
            user_defined_symbols=list(PUNCTUATION),
            character_coverage=0.9999,
            num_threads=1,
            max_sentence_length=1 << 16,
            minloglevel=2,
            **all_characters,
        )
    except (RuntimeError, OSError) as error:
        raise LisaxError(f"no vocabulary of {size} pieces could be trained on these texts: {error}") from None
    with atomic_write(out, "wb") as file:
        file.write(model.getvalue())
    vocabulary = SentencePieceVocabulary(out)
    for word in required_words:
        vocabulary.piece_id(word)
    return vocabulary
