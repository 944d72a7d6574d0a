"""The verbalizer's iterative training (UDT-QA, section 3.2) as stages that resume.

T-F is T without pairs of low ROUGE-1; a first model learns it and verbalizes the target data; of its outputs those with
high ROUGE-1 against their inputs are sampled to the size of T-F (ID-T); a second model learns both.
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
from lisax.formats.overlap import Overlap
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VerbalExample
from lisax.formats.vocabulary import Vocabulary
from lisax.papers.base import gin_text, make_vocabulary, train_by_gin
from lisax.papers.stages import Stages
from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.papers.verbalizer.report import report
from lisax.predict.verbalizer import PLAIN_WORDS, Choices, Verbalizer, read_verbalized, verbalize_to_file
from lisax.progress import counting, say
from lisax.records import DataText, LisaxError, atomic_write, read_json_lines, write_json, write_json_lines
from lisax.runtime.resumable import fingerprint
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


class VerbalizerTraining:
    """One run in the folder `out`. `data` has texts for a train split, and for dev or a share of train; `target` gives
    the target units, which `target_print` (JSON) stands for. `other` is data that is only reported (its dev)."""

    def __init__(
        self,
        data: Dataset,
        target: Callable[[], Iterable[Triples]],
        target_print: Any,
        out: Path,
        recipe: VerbalizerRecipe,
        *,
        other: Dataset | None = None,
        stages: Stages | None = None,
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
        if until is not None and until not in self.stage_names(recipe):
            raise LisaxError(f"there is no stage '{until}'; the stages are {', '.join(self.stage_names(recipe))}")
        self.data, self.target, self.target_print, self.other = data, target, target_print, other
        self.out, self.recipe, self.stages = Path(out), recipe, stages or Stages(out, until)

    @staticmethod
    def stage_names(recipe: VerbalizerRecipe) -> list[str]:
        first = [f"train.{model}" for model in recipe.models if model != T_F_ID_T]
        return [
            "pairs",
            "verbal_vocabulary",
            *first,
            "verbalize.target",
            "select",
            f"train.{T_F_ID_T}",
            "verbal_report",
        ]

    def run(self) -> dict:
        """Runs all stages; returns the figures, which are in `verbalizer.json` too."""
        self.write_pairs()
        self.build_vocabulary()
        for model in self.recipe.models:
            if model == T_F_ID_T:
                self.verbalize_target()
                self.select()
            self.train(model)
        self.stages.run(
            "verbal_report",
            lambda: write_json(self.figures_file, report(self)),
            outputs=[self.figures_file],
            after=[f"train.{model}" for model in self.recipe.models],
            settings={
                "other": fingerprint(self.other.folder, besides=self.out) if self.other else None,
                "records": self.recipe.report_records,
                "without": self.recipe.report_without,
                "long": self.recipe.long_cell_words,
                "beams": self.recipe.beam_size,
            },
        )
        return json.loads(self.figures_file.read_text(encoding="utf-8"))

    # --- Files ------------------------------------------------------------------------------

    def examples_file(self, stem: str, role: str) -> Path:
        return self.out / "examples" / f"{stem}.{role}.jsonl"

    def model_dir(self, model: str) -> Path:
        return self.out / "models" / model

    @property
    def vocabulary_file(self) -> Path:
        return self.out / "spiece.model"

    @property
    def figures_file(self) -> Path:
        return self.out / "verbalizer.json"

    @property
    def filter_file(self) -> Path:
        return self.out / "examples" / "filter.json"

    @property
    def _words_file(self) -> Path:
        return self.out / "examples" / PLAIN_WORDS

    @property
    def _outputs_file(self) -> Path:
        return self.out / "predictions" / "target.jsonl"

    def verbalizer(self, model: str, max_pairs: int | None = None) -> Verbalizer:
        return Verbalizer.open(
            self.model_dir(model), Choices(self.recipe.beam_size, max_pairs or self.recipe.max_pairs)
        )

    # --- What stages read -------------------------------------------------------------------

    def records(self, role: str) -> Iterator[DataText]:
        """The texts of `train`, or of `dev`: its own split, else a share of train by a hash of the id."""
        if "dev" in self.data.data_text_splits:
            return self.data.data_texts(role)
        share = self.recipe.validation_share
        return (
            record for record in self.data.data_texts("train") if (hashed_share(record.id) < share) == (role == "dev")
        )

    def target_units(self, reported: bool) -> Iterator[Triples]:
        """Those that are reported, or the others, of which `target_units` are verbalized for ID-T."""
        limit = (self.recipe.report_records or REPORTED_UNITS) if reported else self.recipe.target_units
        count = 0
        for unit in self.target():
            if (hashed_share(unit.id) < REPORTED_SHARE) == reported:
                if count == limit:
                    return
                count += 1
                yield unit

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.vocabulary_file)

    # --- Stages -----------------------------------------------------------------------------

    def write_pairs(self) -> None:
        """T and T-F with the curve of what other thresholds would keep, and the words that any text may use."""
        recipe = self.recipe

        def work() -> None:
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

        outputs = [self.examples_file(stem, role) for stem in (T, T_F) for role in ("train", "dev")]
        outputs += [self.examples_file(T_F_ID_T, "dev"), self.filter_file, self._words_file]
        self.stages.run(
            "pairs",
            work,
            outputs=outputs,
            settings={
                "data": fingerprint(self.data.folder, besides=self.out),
                "threshold": recipe.threshold,
                "share": recipe.validation_share,
                "words": recipe.plain_word_count,
                **(
                    {"copies": [recipe.swapped_copies, recipe.seed, recipe.target_units, self.target_print]}
                    if recipe.swapped_copies
                    else {}
                ),
            },
        )

    def _copies(self, members: Sequence[VerbalExample], others: Sequence[VerbalExample]) -> Iterator[VerbalExample]:
        """Copies of `members` with what `others` and the target units say."""
        recipe = self.recipe
        if recipe.swapped_copies:
            units = itertools.chain((example.triples for example in others), self.target_units(reported=False))
            swapper = Swapper(units)
            for example in members:
                yield from swapper.copies(example, recipe.swapped_copies * len(example.triples.pairs), recipe.seed)

    def build_vocabulary(self) -> None:
        """The given vocabulary, or one trained on the folded pairs and target units."""
        recipe = self.recipe

        def texts() -> Iterator[str]:
            for example in read_examples(self.examples_file(T, "train")):
                yield fold(example.text)
                yield from map(fold, unit_texts(example.triples))
            for unit in self.target_units(reported=False):
                yield from map(fold, unit_texts(unit))

        def work() -> None:
            make_vocabulary(recipe, self.vocabulary_file, texts())

        given = (
            Vocabulary(recipe.vocabulary).digest if recipe.vocabulary else [recipe.vocabulary_size, self.target_print]
        )
        self.stages.run(
            "verbal_vocabulary",
            work,
            outputs=[self.vocabulary_file],
            after=["pairs"],
            settings={"vocabulary": given, "units": recipe.target_units},
        )

    def train(self, model: str) -> None:
        """Trains the model of one set of examples."""
        recipe, folder, initial = self.recipe, self.model_dir(model), self.recipe.initial.get(model)
        after = ["pairs", "verbal_vocabulary", *(["select"] if model == T_F_ID_T else [])]
        if initial in recipe.train:
            after.append(f"train.{initial}")
            initial = str(self.model_dir(initial))
        lengths = {"inputs": recipe.max_tokens, "targets": recipe.target_tokens}

        def work() -> None:
            train_by_gin(
                recipe.train[model],
                folder,
                model,
                seed=recipe.seed,
                lengths=lengths,
                initial=initial,
                data=self.out,
                vocabulary=self.vocabulary,
                preset=recipe.preset,
                files={PLAIN_WORDS: self._words_file.read_bytes()},
            )

        self.stages.run(
            f"train.{model}",
            work,
            outputs=[folder],
            after=after,
            settings={
                "gin": gin_text(recipe.train[model]),
                "lengths": lengths,
                "seed": recipe.seed,
                "preset": recipe.preset,
                "initial": initial,
            },
        )

    def verbalize_target(self) -> None:
        """The first model's outputs on the target data, each checked against its input."""
        recipe = self.recipe
        settings = {
            "target": self.target_print,
            "units": recipe.target_units,
            "beams": recipe.beam_size,
            "pairs": recipe.target_pairs or recipe.max_pairs,
        }

        def work() -> None:
            with counting(sum(1 for _ in self.target_units(reported=False)), "target units") as advance:
                found = verbalize_to_file(
                    self.verbalizer(T_F, recipe.target_pairs),
                    self.target_units(reported=False),
                    self._outputs_file,
                    json.dumps(settings, default=str),
                    advance,
                )
            say("  " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))

        self.stages.run(
            "verbalize.target", work, outputs=[self._outputs_file], after=[f"train.{T_F}"], settings=settings
        )

    def select(self) -> None:
        """ID-T, sampled to the size of T-F, behind T-F."""
        recipe, out = self.recipe, self.examples_file(T_F_ID_T, "train")

        def work() -> None:
            filtered = list(read_examples(self.examples_file(T_F, "train")))
            kept = json.loads(self.filter_file.read_text(encoding="utf-8"))["kept"]  # without their swapped copies
            texts = read_verbalized(self._outputs_file)
            good = [
                VerbalExample(unit, found.text, (found.text,))
                for unit, found in zip(self.target_units(reported=False), texts, strict=True)
                if not (recipe.faithful_only and found.fallback)
                and Overlap.with_cells(unit).rouge1(found.text) >= recipe.target_threshold
            ]
            drawn = sample(good, kept, recipe.seed)
            say(
                f"  T-F {kept:,}, ID-T {len(drawn):,} of {len(good):,} outputs above ROUGE-1 of "
                f"{recipe.target_threshold}"
            )
            copies = self._copies(drawn, filtered)
            write_json_lines(out, (example.to_row() for example in itertools.chain(filtered, drawn, copies)))

        self.stages.run(
            "select",
            work,
            outputs=[out],
            after=["verbalize.target"],
            settings={
                "threshold": recipe.target_threshold,
                "faithful": recipe.faithful_only,
                "seed": recipe.seed,
                "copies": recipe.swapped_copies,
            },
        )


def read_examples(path: Path) -> Iterator[VerbalExample]:
    return (VerbalExample.from_row(row) for _, row in read_json_lines(path))


def unit_texts(unit: Triples) -> Iterator[str]:
    """All that the model reads of a unit, each text once."""
    return iter(dict.fromkeys([unit.title, *(text for pair in unit.pairs for text in pair)]))


def plain_words(examples: Sequence[VerbalExample], least: int) -> list[str]:
    """Folded words that at least `least` texts write in small letters though their input has not got them: what a text
    may say of anything."""
    counts: Counter[str] = Counter()
    for example in examples:
        known = {fold(run) for text in unit_texts(example.triples) for run in RUN.findall(text)}
        counts.update({fold(run) for run in RUN.findall(example.text) if run.islower()} - known)
    return sorted(word for word, count in counts.items() if count >= least)
