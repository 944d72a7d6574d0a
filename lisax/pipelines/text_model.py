"""A trained checkpoint or bundle as a scorer of example records: format, vocabulary and network together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.formats import presets
from lisax.formats.card import depth_of
from lisax.formats.families import Family, encode
from lisax.formats.vocabulary import EOS_ID, Vocabulary
from lisax.records import LABELS, DataError, Label, LisaxError
from lisax.runtime import bundle, program, shapes
from lisax.runtime.checkpoints import VOCABULARY_NAME, nested, read_card, resolve_checkpoint
from lisax.runtime.scoring import LabelScorer, softmax
from lisax.sampling.examples import Example, Passage


class TextModel:
    """Scores examples of one format family. `dropped_rows`: rows of tables that the last call's inputs had no room for."""

    def __init__(self, scorer_of: Callable[[list[int], int], LabelScorer], vocabulary: Vocabulary, card: dict,
                 source: Path):
        """`scorer_of(pieces, max_tokens)` makes the scorer of the format's target words."""
        try:
            text = card["text"]
            self.family, self.preset = Family(text["family"]), presets.get(text["preset"])
            self.max_tokens = int(text["max_tokens"])
            # Read for a claim; of another family none are.
            self.tables = depth_of(text, "tables") if self.family is Family.TABLES else 0
            rows = int(card["architecture"]["vocab_size"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError("the model does not say which format it was trained on: `text` with family, preset and "
                            f"max_tokens, or `architecture`, is missing or wrong ({error})",
                            path=source / "model.json") from None
        self.vocabulary, self.card, self.dropped_rows = vocabulary, card, 0
        if vocabulary.size > rows:
            raise LisaxError(f"{source}: the vocabulary has {vocabulary.size} entries, the model {rows}: "
                             "they do not belong together")
        words = self.family.words(self.preset)
        self._scorer = scorer_of([vocabulary.piece_id(word) for word in words], self.max_tokens)

    @classmethod
    def open(cls, path: str | os.PathLike) -> TextModel:
        """From a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
        folder = Path(path)
        if not folder.is_dir():
            raise DataError("no such checkpoint or bundle", path=folder)
        if (folder / bundle.PARAMETERS_NAME).is_file():
            card, parameters = bundle.read(folder)
        else:
            from lisax.runtime.restore import load_parameters

            folder = resolve_checkpoint(folder)
            card, parameters = read_card(folder), load_parameters(folder)
        if (folder / program.PROGRAM_JSON).is_file():
            scorer_of = _of_program(parameters, folder)
        else:
            scorer_of = _of_model(card, parameters, folder)
        return cls(scorer_of, Vocabulary(folder / VOCABULARY_NAME), card, folder)

    def probabilities(self, examples: Sequence[Example], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Softmax over the target words, float32 [len(examples), words].

        Ranking: (relevant, not relevant). Labelling: in the order of `LABELS`. Operations: in that of `Operation`.
        """
        texts = [encode(example, self.family, preset=self.preset, max_tokens=self.max_tokens,
                        count_tokens=self._count) for example in examples]
        self.dropped_rows = sum(text.dropped_rows for text in texts)
        tokens = self.vocabulary.encode_batch([text.inputs for text in texts])
        return self.token_probabilities([ids + [EOS_ID] for ids in tokens], progress)

    def token_probabilities(self, tokens: Sequence[Sequence[int]],
                            progress: Callable[[int], None] | None = None) -> np.ndarray:
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
        examples = [Example(str(i), query, (Passage(str(i), "", text),), tuple(entities))
                    for i, text in enumerate(texts)]
        scores = self.probabilities(examples)[:, 0]
        return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]

    def verify(self, claim: str, evidence: Sequence[str] = ()) -> dict[Label, float]:
        """Probability of each label given evidence sentences, best first."""
        if self.family.ranks or self.family is Family.TABLE_OPERATION:
            raise LisaxError(f"this model {'ranks' if self.family.ranks else 'chooses operations'} ('{self.family}'); "
                             "verifying needs a labeller")
        passages = tuple(Passage(str(i), "", text) for i, text in enumerate(evidence))
        if self.family is Family.LABEL_POINTWISE and len(passages) != 1:
            raise LisaxError(f"a pointwise labeller takes one sentence at a time, found {len(passages)}")
        shares = self.probabilities([Example("claim", claim, passages)])[0]
        return dict(zip(LABELS, map(float, shares), strict=True))


def _of_program(parameters: dict, folder: Path) -> Callable[[list[int], int], LabelScorer]:
    """The scorer that a bundle carries as StableHLO: neither imports flax nor traces the model."""
    described = program.read_description(folder)
    shapes.check_parameters(described["parameters"], parameters, folder)

    def scorer_of(pieces: list[int], max_tokens: int) -> LabelScorer:
        if pieces != described.get("pieces"):
            raise DataError(f"the program scores the pieces {described.get('pieces')}, the label words are {pieces}: "
                            "export the model again", path=folder / program.PROGRAM_JSON)
        return LabelScorer(None, parameters, pieces, max_tokens=max_tokens, program=program.load(folder, described))

    return scorer_of


def _of_model(card: dict, parameters: Any, folder: Path) -> Callable[[list[int], int], LabelScorer]:
    """The scorer of a checkpoint, or of a bundle without a program."""
    import jax

    from lisax.models.t5 import T5Config, Transformer

    if (folder / bundle.PARAMETERS_NAME).is_file():
        parameters = nested(parameters)
    try:
        config = T5Config(**card["architecture"]).for_inference()
    except (KeyError, TypeError) as error:
        raise DataError(f"`architecture` is missing or wrong ({error})", path=folder / "model.json") from None
    tokens = jax.ShapeDtypeStruct((1, 2), np.int32)
    expected = jax.eval_shape(Transformer(config).init, jax.random.key(0), tokens, tokens, tokens)
    shapes.check_parameters(expected["params"], parameters, folder)
    return lambda pieces, max_tokens: LabelScorer(config, parameters, pieces, max_tokens=max_tokens)
