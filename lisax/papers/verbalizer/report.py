"""Evaluates the verbalizers of a run, by data: overlap with references, and which values and facts survive."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.faithful.facts import render
from lisax.files.writing import write_json_lines
from lisax.formats.triples import Triples, raw_text
from lisax.formats.verbalizing import VerbalExample
from lisax.metrics import text as figures_of
from lisax.predict.verbalizer import UNITS_AT_A_TIME, Verbalized, Verbalizer, shares
from lisax.sampling.verbal_examples import dev_examples

if TYPE_CHECKING:
    from lisax.papers.verbalizer.run import VerbalizerTraining


def report(run: VerbalizerTraining) -> dict:
    """{"filter", "baselines": {data: {name: figures}}, "models": {model: {data: figures}}}, where data are `dev`, the
    other dataset's `other`, and `target`, units that no model has seen.

    A model's overlap and coverage are those of its first hypotheses, unchecked, as in the paper. `faithfulness` gives
    the result of the check on them, `checked` the figures after it."""
    recipe = run.recipe
    data = {"dev": list(dev_examples(run.records("dev")))}
    if run.other is not None:
        data["other"] = [
            example
            for record in run.other.data_texts("dev")
            if record.source not in recipe.report_without
            for example in dev_examples([record])
        ]
    data = {name: examples[: recipe.report_records] for name, examples in data.items()}
    data["target"] = [VerbalExample(unit, "", ()) for unit in run.target_units(reported=True)]
    figures = {"filter": json.loads(run.filter_file.read_text(encoding="utf-8")), "baselines": {}, "models": {}}
    for name, examples in data.items():
        figures["baselines"][name] = {
            "copy": _measured(
                examples, [f"{e.triples.title} {raw_text(e.triples)}" for e in examples], recipe.long_cell_words
            ),
            "rule": _measured(examples, [render(e.triples) for e in examples], recipe.long_cell_words),
        }
    units = [example.triples for examples in data.values() for example in examples]
    for model in recipe.models:
        opens = functools.partial(_open_choosing, run.opens(model))
        found = run.at_workers(opens, units, UNITS_AT_A_TIME, f"units by {model}")
        figures["models"][model] = {
            name: _of_model(
                examples,
                list(itertools.islice(found, len(examples))),
                recipe.long_cell_words,
                run.outputs_file(model, name),
            )
            for name, examples in data.items()
        }
    return figures


def _open_choosing(
    opens: Callable[[], Verbalizer],
) -> Callable[[Sequence[Triples]], list[tuple[str, Verbalized]]]:
    """The work on a group of units: of each the first text, unchecked, and the checked one."""
    verbalizer = opens()
    return lambda units: [
        (verbalizer.choose(unit, read, check=False).text, verbalizer.choose(unit, read, check=True))
        for unit, read in zip(units, verbalizer.hypotheses(units), strict=True)
    ]


def _of_model(
    examples: Sequence[VerbalExample], found: Sequence[tuple[str, Verbalized]], long_words: int, out: Path
) -> dict:
    first, checked = [text for text, _ in found], [text for _, text in found]
    write_json_lines(out, (text.to_row() | {"first": one} for text, one in zip(checked, first)))
    return _measured(examples, first, long_words) | {
        "checked": shares(checked) | _measured(examples, [text.text for text in checked], long_words)
    }


def _measured(examples: Sequence[VerbalExample], texts: Sequence[str], long_words: int) -> dict:
    figures: dict = {}
    if examples and all(example.texts for example in examples):
        figures |= figures_of.overlap([example.texts for example in examples], texts)
    pairs = list(zip([example.triples for example in examples], texts))
    is_long = [any(len(value.split()) >= long_words for _, value in unit.pairs) for unit, _ in pairs]
    return figures | {
        "values_kept": values_kept(pairs),
        "long_celled": {
            "units": sum(is_long),
            "values_kept": values_kept(pair for pair, of_long in zip(pairs, is_long) if of_long),
        },
        "faithfulness": figures_of.faithfulness(pairs),
    }


def values_kept(pairs: Iterable[tuple[Triples, str]]) -> float | None:
    """Answer coverage with every value of a unit as an answer: the share of values that occur in the text."""
    return figures_of.answer_coverage(((value,), value, text) for unit, text in pairs for _, value in unit.pairs)[
        "answer_coverage"
    ]
