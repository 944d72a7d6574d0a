"""A T5 as others have published it, used with the prompt and the answers that it was trained with."""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.presets import PAPER
from lisax.formats.prompts import linear_table
from lisax.formats.ranking import RANK, only_sentence, titled
from lisax.formats.tables import TABLES, TableExample, TableView
from lisax.formats.vocabulary import Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.metrics.temperature import Calibration
from lisax.models.architectures import T5Config
from lisax.records import LABELS, Label
from lisax.scoring.backends import T5Scoring, softmax
from lisax.text.sentences import split_sentences
from lisax.weights.interop.kinds import VOCABULARY_NAME
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.public_models import Job, Rule, Use, use_of
from lisax.weights.vocabulary_check import check_fits


class PromptModel:
    """Scores claims with texts by the rule of its `use`."""

    format, pairs = RANK, False  # the record that `probabilities` takes; a checker is asked by `shares`
    calibration: Calibration | None = None

    def __init__(self, scoring: T5Scoring, vocabulary: Vocabulary, use: Use, source: str | os.PathLike):
        self.use, self.vocabulary, self.source = use, vocabulary, source
        self.max_tokens = use.max_tokens
        if use.rule is Rule.ANSWERS:
            answers = vocabulary.encode_batch(use.answers)
            if any(len(ids) > 1 for ids in answers):
                self._raw = scoring.answers(answers, use.max_tokens).log_likelihoods
                return
            pieces = [vocabulary.piece_id(word) for word in use.answers]
        else:
            pieces = [vocabulary.id_of(piece) for piece in use.answers]
        self._raw = scoring.labels(pieces, use.max_tokens).logits

    @classmethod
    def open(cls, path: str | os.PathLike | ModelFolder, use: Use | None = None) -> PromptModel:
        """A model of the Hub (`hf:OWNER/NAME@REVISION`) or a Hugging Face folder. `use`: by default that of
        `weights.public_models`; raises LisaxError for a model that it does not list."""
        found = ModelFolder.find(path)
        checkpoint, path = open_checkpoint(found), found.name
        if type(checkpoint.architecture) is not T5Config:
            raise LisaxError(
                f"{path} is an {checkpoint.architecture.title} as published, which has no answers: expected a T5, or a "
                "model that LisaX trained"
            )
        if not checkpoint.has_decoder:
            raise LisaxError(f"{path} has only the encoder of a T5, for vectors of texts: it answers no prompt")
        use = use_of(path) if use is None else use
        if cls is PromptModel and use.job is Job.TABLES:
            return TablePromptModel.open(path, use)
        if checkpoint.vocabulary is None:
            raise DataError(
                "no such file: the vocabulary belongs next to the weights", path=checkpoint.folder / VOCABULARY_NAME
            )
        vocabulary = open_vocabulary(checkpoint.vocabulary)
        check_fits(vocabulary, checkpoint.architecture.backbone, checkpoint.folder)
        return cls(T5Scoring(checkpoint), vocabulary, use, path)

    def score(self, inputs: Sequence[tuple[str, ...]]) -> np.ndarray:
        """float32 [inputs, answers]: the share of each answer, or under `Rule.LOGIT` its logit. An input is a claim
        with its text, or with the two texts that are compared."""
        tokens = [
            self.use.prompt.ids(*one, vocabulary=self.vocabulary, max_tokens=self.use.max_tokens) for one in inputs
        ]
        raw = self._raw(tokens)
        return raw if self.use.rule is Rule.LOGIT else softmax(raw)

    def probabilities(self, examples: Sequence[Example]) -> np.ndarray:
        """`score` of claims, each with one sentence, which is read after its title."""
        return self.score([(one.claim, text_of([only_sentence(one, RANK)])) for one in examples])

    def shares(self, claims: Sequence[str], documents: Sequence[str]) -> np.ndarray:
        """float32 [claims, labels of the use]: how surely each claim's document has each label.

        The document's chunk that supports a sentence most counts, and the claim's least supported sentence."""
        inputs, groups = [], []
        for claim, document in zip(claims, documents, strict=True):
            sentences = (split_sentences(claim) if self.use.one_sentence else []) or [claim]
            chunks = [document] if self.use.chunk_words is None else chunks_of(document, self.use.chunk_words)
            groups.append((len(sentences), len(chunks)))
            inputs += [(sentence, chunk) for sentence in sentences for chunk in chunks]
        scores, support = self.score(inputs), self.use.labels.index(Label.SUPPORTS)
        found, start = [], 0
        for sentences, chunks in groups:
            each = scores[start : start + sentences * chunks].reshape(sentences, chunks, -1)
            start += sentences * chunks
            best = each[np.arange(sentences), each[:, :, support].argmax(1)]
            found.append(best[best[:, support].argmin()])
        return np.array(found, np.float32).reshape(len(groups), len(self.use.labels))


class TablePromptModel(PromptModel):
    """One that checks claims against a table. `dropped_rows`: how many did not fit into the inputs of the last call."""

    format, depth, columns, dropped_rows = TABLES, 1, None, 0

    def probabilities(self, examples: Sequence[TableExample]) -> np.ndarray:
        """float32 [examples, 3] in the order of `LABELS`, of claims with at most one table; 0 for labels that the model
        does not have. Without a table there is not enough information."""
        self.dropped_rows, inputs, found = 0, [], np.zeros((len(examples), len(LABELS)), np.float32)
        asked = [number for number, one in enumerate(examples) if one.tables]
        for one in (examples[number] for number in asked):
            table = one.tables[0]
            kept = self._rows_that_fit(one.claim, table)
            self.dropped_rows += len(table.rows) - kept
            inputs.append((one.claim, linear_table(table.header, table.rows[:kept], self.vocabulary)))
        found[np.ix_(asked, [LABELS.index(label) for label in self.use.labels])] = self.score(inputs)
        found[
            [number for number, one in enumerate(examples) if not one.tables], LABELS.index(Label.NOT_ENOUGH_INFO)
        ] = 1
        return found

    def _rows_that_fit(self, claim: str, table: TableView) -> int:
        """How many of a table's first rows the input holds."""

        def is_too_long(rows: int) -> bool:
            text = self.use.prompt.text(claim, linear_table(table.header, table.rows[:rows], self.vocabulary))
            return self.vocabulary.count(text) + 1 > self.use.max_tokens

        return bisect.bisect_left(range(1, len(table.rows) + 1), True, key=is_too_long)


def text_of(passages: Sequence[Passage]) -> str:
    """Passages as one text; a title is written once before consecutive passages under it."""
    parts, title = [], ""
    for one in passages:
        parts.append(titled(one.title if one.title != title else "", one.text, PAPER))
        title = one.title
    return " ".join(parts)


def chunks_of(document: str, words: int) -> list[str]:
    """Whole sentences of a document, together up to a number of words; a longer sentence is a chunk of its own. At
    least one chunk, which may be empty."""
    chunks: list[list[str]] = [[]]
    count = 0
    for sentence in (one for line in document.splitlines() for one in split_sentences(line)):
        own = len(sentence.split())
        if chunks[-1] and count + own > words:
            chunks.append([])
            count = 0
        chunks[-1].append(sentence)
        count += own
    return [" ".join(chunk) for chunk in chunks]
