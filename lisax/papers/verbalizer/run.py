"""The verbalizer's iterative training (UDT-QA, section 3.2) as resumable stages.

T-F is T without pairs of low ROUGE-1. A first model is trained on it and verbalizes the target data. Those of its
outputs with high ROUGE-1 against their inputs are sampled to the size of T-F (ID-T). A second model is trained on both.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora import Dataset
from lisax.errors import LisaxError
from lisax.faithful.overlap import Overlap
from lisax.files.reading import read_json_lines
from lisax.files.writing import atomic_write, write_json, write_json_lines
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VerbalExample
from lisax.papers.base import Training
from lisax.papers.settings import fact
from lisax.papers.stages import Stage
from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.papers.verbalizer.report import report
from lisax.predict.verbalizer import PLAIN_WORDS, Choices, Verbalizer, read_verbalized, verbalize_to_file
from lisax.progress import counting, say
from lisax.records import DataText
from lisax.sampling.files import hashed_share
from lisax.sampling.swapping import Swapper
from lisax.sampling.verbal_examples import (
    T_F,
    T_F_ID_T,
    T,
    dev_examples,
    kept_curve,
    rouge_of,
    sample,
    training_examples,
)
from lisax.text.folding import RUN, fold

REPORTED_SHARE = 0.1  # of the target units: reported, and never in ID-T
REPORTED_UNITS = 1000


class VerbalizerTraining(Training):
    """One run in the folder `out`. `data` has texts for a training split and for dev (or a share of train). `target`
    yields the target units; `target_print` (JSON) is their fingerprint. Of `other` data the dev split is reported."""

    vocabulary_stage = "verbal_vocabulary"

    def __init__(
        self,
        data: Dataset,
        target: Callable[[], Iterable[Triples]],
        target_print: Any,
        out: Path,
        recipe: VerbalizerRecipe,
        *,
        other: Dataset | None = None,
        until: str | None = None,
    ):
        if "train" not in data.data_text_splits:
            raise LisaxError(
                f"{data.folder}: data with texts is needed for train, found "
                f"{', '.join(data.data_text_splits) or 'none'}"
            )
        if other is not None and "dev" not in other.data_text_splits:
            raise LisaxError(
                f"{other.folder}: data that is reported needs texts for dev, found "
                f"{', '.join(other.data_text_splits) or 'none'}"
            )
        super().__init__(data, out, recipe, until=until)
        self._target, self._target_print, self._other = target, target_print, other
        self.figures_file, self.filter_file = self.out / "verbalizer.json", self.out / "examples" / "filter.json"
        self._words_file = self.out / "examples" / PLAIN_WORDS
        self._outputs_file = self.out / "predictions" / "target.jsonl"
        self.check_until()

    @property
    def figures(self) -> dict:
        """The figures of a finished run (`verbalizer.json`)."""
        return json.loads(self.figures_file.read_text(encoding="utf-8"))

    def stages(self) -> list[Stage]:
        """T and T-F, a first model, its outputs on the target data, the selected outputs, a second model."""
        recipe = self.recipe
        pairs = Stage(
            "pairs",
            after=[],
            outputs=[
                *(self.examples_file(stem, role) for stem in (T, T_F) for role in ("train", "dev")),
                self.examples_file(T_F_ID_T, "dev"),
                self.filter_file,
                self._words_file,
            ],
            work=self._write_pairs,
        )
        vocabulary = Stage(self.vocabulary_stage, ["pairs"], [self.vocabulary_file], self.write_vocabulary)
        verbalize = Stage("verbalize.target", [f"train.{T_F}"], [self._outputs_file], self._verbalize_target)
        select = Stage("select", ["verbalize.target"], [self.examples_file(T_F_ID_T, "train")], self._select)
        reported = ["dev", *(["other"] if self._other else []), "target"]
        report_ = Stage(
            "verbal_report",
            after=[f"train.{model}" for model in recipe.models],
            outputs=[
                self.figures_file,
                *(self.outputs_file(model, name) for model in recipe.models for name in reported),
            ],
            work=lambda: write_json(self.figures_file, report(self)),
        )
        first = [self.training(model, after=["pairs"]) for model in recipe.models if model != T_F_ID_T]
        second = self.training(T_F_ID_T, after=["pairs", "select"])
        return [pairs, vocabulary, *first, verbalize, select, second, report_]

    # --- Files ------------------------------------------------------------------------------

    def outputs_file(self, model: str, data: str) -> Path:
        """A model's texts for the reported units of some data."""
        return self.out / "predictions" / f"{model}.{data}.jsonl"

    def opens(self, model: str, max_pairs: int | None = None) -> Callable[[], Verbalizer]:
        """Returns a function, also for workers, that loads a model of the run."""
        choices = Choices(self.recipe.beam_size, max_pairs or self.recipe.max_pairs)
        return functools.partial(Verbalizer.open, self.model_dir(model), choices)

    # --- Inputs of stages -------------------------------------------------------------------

    @fact
    def target_files(self) -> Any:
        """The fingerprint of the target data."""
        return self._target_print

    def target(self) -> Iterable[Triples]:
        self.see("target_files")
        return self._target()

    @fact
    def other_files(self) -> list | None:
        return self.files_of(self._other) if self._other else None

    @property
    def other(self) -> Dataset | None:
        self.see("other_files")
        return self._other

    def records(self, role: str) -> Iterator[DataText]:
        """The texts of `train`, or of `dev`: its own split, or else a share of train by a hash of the id."""
        if "dev" in self.data.data_text_splits:
            return self.data.data_texts(role)
        share = self.recipe.validation_share
        return (
            record for record in self.data.data_texts("train") if (hashed_share(record.id) < share) == (role == "dev")
        )

    def target_units(self, reported: bool) -> Iterator[Triples]:
        """The reported target units, or the others, of which `target_units` are verbalized for ID-T."""
        limit = (self.recipe.report_records or REPORTED_UNITS) if reported else self.recipe.target_units
        count = 0
        for unit in self.target():
            if (hashed_share(unit.id) < REPORTED_SHARE) == reported:
                if count == limit:
                    return
                count += 1
                yield unit

    # --- Stages -----------------------------------------------------------------------------

    def _write_pairs(self) -> None:
        """Writes T and T-F, the shares that other thresholds would keep, and the words that any text may use."""
        recipe = self.recipe
        examples = list(training_examples(self.records("train")))
        held = [example.to_row() for example in dev_examples(self.records("dev"))]
        if not examples or not held:
            raise LisaxError(f"{self.data.folder}: there are no texts for {'dev' if examples else 'train'}")
        scores = [rouge_of(example) for example in examples]
        kept = [example for example, score in zip(examples, scores) if score >= recipe.threshold]
        if not kept:
            raise LisaxError(
                f"VerbalizerRecipe.threshold = {recipe.threshold} leaves none of {len(examples):,} "
                f"pairs in T-F, whose best ROUGE-1 is {max(scores):.3f}: lower it"
            )
        for stem, members in ((T, examples), (T_F, kept)):
            copies = self._copies(members, examples)
            write_json_lines(
                self.examples_file(stem, "train"),
                (example.to_row() for example in itertools.chain(members, copies)),
            )
        for stem in (T, T_F, T_F_ID_T):
            write_json_lines(self.examples_file(stem, "dev"), held)
        write_json(
            self.filter_file,
            {
                "threshold": recipe.threshold,
                "examples": len(examples),
                "kept": len(kept),
                "curve": kept_curve(scores),
            },
        )
        with atomic_write(self._words_file) as file:
            file.writelines(f"{word}\n" for word in plain_words(kept, recipe.plain_word_count))
        say(f"  T {len(examples):,}, T-F {len(kept):,} at ROUGE-1 of {recipe.threshold}")

    def _copies(self, members: Sequence[VerbalExample], others: Sequence[VerbalExample]) -> Iterator[VerbalExample]:
        """Copies of `members` with values from `others` and the target units."""
        recipe = self.recipe
        if recipe.swapped_copies:
            units = itertools.chain((example.triples for example in others), self.target_units(reported=False))
            swapper = Swapper(units)
            for example in members:
                yield from swapper.copies(example, recipe.swapped_copies * len(example.triples.pairs), recipe.seed)

    def texts(self) -> Iterator[str]:
        """The folded pairs and target units."""
        for example in read_examples(self.examples_file(T, "train")):
            yield fold(example.text)
            yield from map(fold, unit_texts(example.triples))
        for unit in self.target_units(reported=False):
            yield from map(fold, unit_texts(unit))

    def task_of(self, model: str) -> str:
        return model

    def lengths_of(self, model: str) -> dict[str, int]:
        return {"inputs": self.recipe.max_tokens, "targets": self.recipe.target_tokens}

    def bundled_files(self) -> dict[str, bytes]:
        return {PLAIN_WORDS: self._words_file.read_bytes()}

    def _verbalize_target(self) -> None:
        """Writes the first model's outputs on the target data, each checked against its input."""
        recipe = self.recipe
        made_from = {
            "target": self.target_files,
            "units": recipe.target_units,
            "beams": recipe.beam_size,
            "pairs": recipe.target_pairs or recipe.max_pairs,
        }
        with counting(sum(1 for _ in self.target_units(reported=False)), "target units") as advance:
            found = verbalize_to_file(
                self.opens(T_F, recipe.target_pairs),
                self.target_units(reported=False),
                self._outputs_file,
                json.dumps(made_from, default=str),
                advance,
                self.workers,
            )
        say("  " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))

    def _select(self) -> None:
        """Writes ID-T, sampled to the size of T-F, after T-F."""
        recipe = self.recipe
        filtered = list(read_examples(self.examples_file(T_F, "train")))
        kept_pairs = json.loads(self.filter_file.read_text(encoding="utf-8"))["kept"]  # without the swapped copies
        texts = read_verbalized(self._outputs_file)
        good = [
            VerbalExample(unit, found.text, (found.text,))
            for unit, found in zip(self.target_units(reported=False), texts, strict=True)
            if not (recipe.faithful_only and found.fallback)
            and Overlap.with_cells(unit).rouge1(found.text) >= recipe.target_threshold
        ]
        drawn = sample(good, kept_pairs, recipe.seed)
        say(
            f"  T-F {kept_pairs:,}, ID-T {len(drawn):,} of {len(good):,} outputs above ROUGE-1 of "
            f"{recipe.target_threshold}"
        )
        copies = self._copies(drawn, filtered)
        write_json_lines(
            self.examples_file(T_F_ID_T, "train"),
            (example.to_row() for example in itertools.chain(filtered, drawn, copies)),
        )


def read_examples(path: Path) -> Iterator[VerbalExample]:
    return (VerbalExample.from_row(row) for _, row in read_json_lines(path))


def unit_texts(unit: Triples) -> Iterator[str]:
    """All texts of a unit that the model reads, without duplicates."""
    return iter(dict.fromkeys([unit.title, *(text for pair in unit.pairs for text in pair)]))


def plain_words(examples: Sequence[VerbalExample], least: int) -> list[str]:
    """Folded words, for any text, that at least `least` texts use in lower case though their input lacks them."""
    counts: Counter[str] = Counter()
    for example in examples:
        known = {fold(run) for text in unit_texts(example.triples) for run in RUN.findall(text)}
        counts.update({fold(run) for run in RUN.findall(example.text) if run.islower()} - known)
    return sorted(word for word, count in counts.items() if count >= least)
