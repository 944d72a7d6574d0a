"""A trained checkpoint or bundle as a scorer of example records: format, vocabulary and network together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from lisax.formats import presets
from lisax.formats.families import Family, encode
from lisax.formats.vocabulary import EOS_ID, Vocabulary
from lisax.places import fetched, is_remote, place
from lisax.records import LABELS, DataError, Label, LisaxError
from lisax.runtime import bundle, program
from lisax.runtime.checkpoints import MODEL_JSON, VOCABULARY_NAME, resolve_checkpoint
from lisax.runtime.model_json import check_vocabulary, known_family, needed, read_card
from lisax.runtime.scoring import LabelScorer, softmax
from lisax.sampling.examples import Example, Passage


class TextModel:
    """Scores examples of one format family. `dropped_rows`: rows of tables that the last call's inputs had no room for."""

    def __init__(
        self, scorer_of: Callable[[list[int], int], LabelScorer], vocabulary: Vocabulary, card: dict, source: Path
    ):
        """`scorer_of(pieces, max_tokens)` makes the scorer of the format's target words."""
        family, preset, self.max_tokens = needed(card, source, "text.family", "text.preset", "text.max_tokens")
        self.family, self.preset = known_family(family, source), presets.get(preset)
        if not self.family.answers_in_words:
            raise DataError(
                f"a model of the format '{family}', which does not answer in words",
                path=source / MODEL_JSON,
                field="text.family",
            )
        # Read for a claim; of another family none are.
        (self.tables,) = needed(card, source, "text.tables") if self.family is Family.TABLES else (0,)
        if self.family is Family.TABLES and not self.tables:
            raise DataError("it reads no tables", path=source / MODEL_JSON, field="text.tables")
        self.vocabulary, self.card, self.dropped_rows = vocabulary, card, 0
        check_vocabulary(card, vocabulary.size, source)
        words = self.family.words(self.preset)
        self._scorer = scorer_of([vocabulary.piece_id(word) for word in words], self.max_tokens)

    @classmethod
    def open(cls, path: str | os.PathLike) -> TextModel:
        """From a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
        folder = fetched(resolve_checkpoint(path)) if is_remote(path) else place(path)
        if not folder.is_dir():
            raise DataError("no such checkpoint or bundle", path=folder)
        folder = resolve_checkpoint(folder)
        scorer_of = _of_program(folder) if (folder / program.PROGRAM_JSON).is_file() else _of_model(folder)
        return cls(scorer_of, Vocabulary(folder / VOCABULARY_NAME), read_card(folder), folder)

    def probabilities(self, examples: Sequence[Example], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Softmax over the target words, float32 [len(examples), words].

        Ranking: (relevant, not relevant). Labelling: in the order of `LABELS`. Operations: in that of `Operation`.
        """
        texts = [
            encode(example, self.family, preset=self.preset, max_tokens=self.max_tokens, count_tokens=self._count)
            for example in examples
        ]
        self.dropped_rows = sum(text.dropped_rows for text in texts)
        tokens = self.vocabulary.encode_batch([text.inputs for text in texts])
        return self.token_probabilities([[*ids, EOS_ID] for ids in tokens], progress)

    def token_probabilities(
        self, tokens: Sequence[Sequence[int]], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """`probabilities` of inputs that are encoded already, each with its EOS."""
        return softmax(self._scorer.logits(tokens, progress))

    @functools.cached_property
    def _count(self) -> Callable[[str], int]:
        return self.vocabulary.count

    # --- A line each, for users in Python -------------------------------------------------------

    def rank(self, query: str, texts: Sequence[str], entities: Sequence[str] = ()) -> list[tuple[int, float]]:
        """(index, probability of relevance) of each text, best first."""
        if not self.family.ranks:
            raise LisaxError(f"this model labels ('{self.family}'); ranking needs a ranker")
        examples = [
            Example(str(i), query, (Passage(str(i), "", text),), tuple(entities)) for i, text in enumerate(texts)
        ]
        scores = self.probabilities(examples)[:, 0]
        return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]

    def verify(self, claim: str, evidence: Sequence[str] = ()) -> dict[Label, float]:
        """Probability of each label given evidence sentences, best first."""
        if self.family.ranks or self.family is Family.TABLE_OPERATION:
            raise LisaxError(
                f"this model {'ranks' if self.family.ranks else 'chooses operations'} ('{self.family}'); "
                "verifying needs a labeller"
            )
        passages = tuple(Passage(str(i), "", text) for i, text in enumerate(evidence))
        if self.family is Family.LABEL_POINTWISE and len(passages) != 1:
            raise LisaxError(f"a pointwise labeller takes one sentence at a time, found {len(passages)}")
        shares = self.probabilities([Example("claim", claim, passages)])[0]
        return dict(zip(LABELS, map(float, shares), strict=True))


def _of_program(folder: Path) -> Callable[[list[int], int], LabelScorer]:
    """The scorer that a bundle carries as StableHLO: neither imports flax nor traces the model."""
    described, (_, parameters) = program.read_description(folder), bundle.read(folder)

    def scorer_of(pieces: list[int], max_tokens: int) -> LabelScorer:
        if pieces != described.get("pieces"):
            raise DataError(
                f"the program scores the pieces {described.get('pieces')}, the label words are {pieces}: "
                "export the model again",
                path=folder / program.PROGRAM_JSON,
            )
        program.check_use(
            described,
            parameters,
            folder,
            tokens=["batch", "length"],
            outputs=described["outputs"] == [["batch", len(pieces)]],
        )
        return LabelScorer(
            None, parameters, pieces, max_tokens=max_tokens, program=program.load(folder, described), source=folder
        )

    return scorer_of


def _of_model(folder: Path) -> Callable[[list[int], int], LabelScorer]:
    """The scorer of a checkpoint, or of a bundle without a program."""
    from lisax.models.t5 import T5Config
    from lisax.runtime.restore import load_model

    model, parameters = load_model(folder, T5Config, "T5")
    return lambda pieces, max_tokens: LabelScorer(
        model.for_inference(), parameters, pieces, max_tokens=max_tokens, source=folder
    )
