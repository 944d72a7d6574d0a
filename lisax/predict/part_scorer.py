"""Probabilities of relevance of table rows and columns. Each distinct part is scored once, and its text is encoded
once.

An input is the claim's slot, the question, then the part. Vocabulary pieces do not cross spaces, so the tokens of a
part are the same for every question and are cached. This is verified with every question, by encoding one of its inputs
as in training. Pair scorers read the question and the part as two texts.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np

from lisax.errors import LisaxError
from lisax.formats.budget import squeeze
from lisax.formats.parts import TABLE_PARTS, PartExample, PartKind, encode_part
from lisax.predict.model import Model
from lisax.records import Table
from lisax.sampling.part_examples import parts_of

TABLES_KEPT = 4096


@dataclasses.dataclass(slots=True)
class _Part:
    number: int  # index of the row or column in its table
    example: PartExample  # without a question
    tokens: np.ndarray  # of the whole input without a question
    key: bytes
    cut: dict[int, np.ndarray]  # room -> the tokens that fit it


class PartScorer:
    """Scores parts with one model. Results are cached by table id: use one scorer for one collection."""

    def __init__(self, model: Model):
        if model.format is not TABLE_PARTS:
            raise LisaxError(f"this model's format is '{model.format}'; rows and columns need one of '{TABLE_PARTS}'")
        self.model = model
        self._known: collections.OrderedDict[tuple[str, PartKind], list[_Part]] = collections.OrderedDict()
        self._slot = len(model.vocabulary.encode(model.preset.claim_slot))

    @staticmethod
    def of(model: Model) -> PartScorer:
        """The scorer of a model of either kind."""
        return PairPartScorer(model) if model.pairs else PartScorer(model)

    def scores(self, question: str, kind: PartKind, tables: Sequence[Table]) -> list[np.ndarray]:
        """Each table's row or column probabilities, float32 [rows] or [columns]; 0 for parts without text."""
        parts = [self._parts(table, kind) for table in tables]
        distinct = {part.key: part for members in parts for part in members}
        tokens = self._inputs(question, list(distinct.values()))
        found = dict(zip(distinct, self.model.token_probabilities(tokens)[:, 0]))
        made = []
        for table, members in zip(tables, parts):
            values = np.zeros(len(table.rows) if kind is PartKind.ROW else len(table.header), np.float32)
            for part in members:
                values[part.number] = found[part.key]
            made.append(values)
        return made

    def tokens(self, kind: PartKind, table: Table) -> int:
        """The approximate number of tokens that the model reads to score a table's parts of one kind."""
        return sum(min(len(part.tokens), self.model.max_tokens) for part in self._parts(table, kind))

    def _parts(self, table: Table, kind: PartKind) -> list[_Part]:
        key = table.id, kind
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        examples = [example for example in parts_of("", "", table) if example.kind is kind]
        texts = [self._text(example) for example in examples]
        made = []
        for example, ids in zip(examples, self.model.vocabulary.encode_batch(texts)):
            tokens = np.array(ids, np.int32)
            made.append(_Part(int(example.unit_id.rpartition(kind[0])[2]), example, tokens, tokens.tobytes(), {}))
        self._known[key] = made
        while len(self._known) > TABLES_KEPT:
            self._known.popitem(last=False)
        return made

    def _text(self, example: PartExample, question: str = "", max_tokens: int | None = None) -> str:
        return encode_part(
            question,
            example.kind,
            example.header,
            example.cells,
            preset=self.model.preset,
            max_tokens=max_tokens,
            count_tokens=self.model.vocabulary.count,
        )

    def _inputs(self, question: str, parts: Sequence[_Part]) -> list[np.ndarray]:
        asked = np.array(self.model.vocabulary.encode(" ".join(question.split())), np.int32)
        slot, end = self._slot, np.array(self.model.vocabulary.encode_input(""), np.int32)
        made = []
        for part in parts:
            tokens = self._fitting(part, self.model.max_tokens - len(asked))
            if tokens is None:
                made.append(self._plainly(question, part))
            else:
                made.append(np.concatenate((tokens[:slot], asked, tokens[slot:], end)))
        if parts and not np.array_equal(made[0], self._plainly(question, parts[0])):
            return [self._plainly(question, part) for part in parts]
        return made

    def _fitting(self, part: _Part, room: int) -> np.ndarray | None:
        """The tokens without a question that fit `room` with EOS; None if the question must be cut too."""
        if len(part.tokens) < room:
            return part.tokens
        if room not in part.cut:
            try:
                text = self._text(part.example, max_tokens=room)
            except LisaxError:
                return None
            part.cut[room] = np.array(self.model.vocabulary.encode(text), np.int32)
        return part.cut[room]

    def _plainly(self, question: str, part: _Part) -> np.ndarray:
        text = self._text(part.example, question, self.model.max_tokens)
        return np.array(self.model.vocabulary.encode_input(text), np.int32)


class PairPartScorer(PartScorer):
    """Scores parts with a pair scorer."""

    def _text(self, example: PartExample, question: str = "", max_tokens: int | None = None) -> str:
        return TABLE_PARTS.pair(example, preset=self.model.preset).second

    def _inputs(self, question: str, parts: Sequence[_Part]) -> list[np.ndarray]:
        encode, asked = self.model.vocabulary.encode_pair, squeeze(question)
        texts = (self._text(part.example) for part in parts)
        return [np.array(encode(asked, text, self.model.max_tokens).ids, np.int32) for text in texts]
