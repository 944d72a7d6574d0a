"""Score files of predictions and runs.

Each verb prints one figure per line, or with --json one JSON object with the names of metrics.json.

    lisax score fever --gold claims.jsonl --predictions predictions.jsonl
"""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from typing import Annotated, Literal

import click

from lisax.cli.verbs import Local, Option

Json = Annotated[bool, Option("Print one JSON object with the names of metrics.json.")]
LabelledClaims = Annotated[
    Local, Option("Claims with labels and evidence, in any layout that `lisax data check` reads.", "FILE")
]


def fever(
    *, gold: LabelledClaims, predictions: Annotated[Local, Option("A FEVER submission.", "FILE")], json: Json = False
) -> None:
    """Score verdicts with evidence, as the official FEVER scorer does.

    lisax score fever --gold claims.jsonl --predictions predictions.jsonl
    """
    from lisax.metrics.scoring import score_fever

    _print(score_fever(gold, predictions), json)


def ranking(
    *,
    run: Annotated[Local, Option("A TREC run (six columns), or a JSON object of scores, as BEIR has them.", "RUN")],
    qrels: Annotated[Local | None, Option("TREC judgements (four columns), or BEIR's (three).", "FILE")] = None,
    gold: Annotated[
        Local | None,
        Option(
            "Claims with evidence: recall then requires a complete evidence set, as in LisT5. A run of pages is scored "
            "by the pages of the evidence.",
            "FILE",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score a TREC run, as trec_eval does.

    lisax score ranking --run sentences.trec --gold claims.jsonl
    """
    from lisax.metrics.scoring import score_run, score_selection

    if (qrels is None) == (gold is None):
        raise click.UsageError("give one of --qrels FILE and --gold FILE")
    _print(score_run(run, qrels) if qrels is not None else score_selection(run, gold), json)


def tables(
    *,
    gold: LabelledClaims,
    predictions: Annotated[Local, Option("Verdicts: a FEVER submission with table ids as evidence.", "FILE")],
    run: Annotated[
        Local | None,
        Option(
            "A TREC run of tables, to add hits at k and the ranks of the gold tables.",
            "RUN",
            "ranks in the predicted evidence",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score verdicts over tables: accuracy by kind and by the gold table's rank.

    lisax score tables --gold claims.jsonl --predictions predictions.jsonl --run tables.trec
    """
    from lisax.metrics.scoring import score_tables

    _print(score_tables(gold, predictions, run), json)


def answers(
    *,
    gold: Annotated[
        Local, Option("questions.*.jsonl, or a folder of questions over tables that `lisax data check` reads.", "PATH")
    ],
    split: Annotated[str | None, Option("Split of a folder's questions.", default="dev")] = None,
    predictions: Annotated[Local, Option("JSON Lines with ranked answers or cells, or a TREC run of cells.", "FILE")],
    json: Json = False,
) -> None:
    """Score ranked answers to questions: mean reciprocal rank and Hit@1.

    lisax score answers --gold questions.dev.jsonl --predictions answers.jsonl
    """
    from lisax.metrics.scoring import score_answers

    _print(score_answers(gold, predictions, split), json)


def potency(
    *,
    gold: Annotated[Local, Option("Attacked claims with labels and evidence.", "FILE")],
    predictions: Annotated[tuple[Local, ...], Option("FEVER submission of one system.", "FILE")],
    decisions: Annotated[
        Local | None,
        Option(
            "The decisions of `lisax attack review`, to add the correct rate and adjusted potency.",
            "FILE",
            "the `annotation` of a FEVER 2.0 file",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score how often adversarial claims break systems, by kind of attack, as in FEVER 2.0.

    lisax score potency --gold ATTACKED/claims.dev.jsonl --predictions predictions.jsonl
    """
    from lisax.adversary.scoring import score_potency

    _print(score_potency(gold, predictions, decisions), json)


def text(
    *,
    gold: Annotated[
        Local,
        Option(
            'JSON Lines {"id", "texts"} with "title", "pairs" and "answers" where known, or a folder that `lisax '
            "data check` reads.",
            "PATH",
        ),
    ],
    split: Annotated[str | None, Option("Split of a folder's texts.", default="dev")] = None,
    predictions: Annotated[Local, Option('JSON Lines {"id", "text"}, as `lisax verbalize` writes them.', "FILE")],
    measure: Annotated[
        tuple[Literal["meteor", "bertscore"], ...],
        Option("An optional measure to require (METEOR is always reported if its data is available)."),
    ] = (),
    json: Json = False,
) -> None:
    """Score generated sentences: BLEU, chrF, TER, ROUGE, answer coverage, faithfulness.

    lisax score text --gold WEBNLG --split dev --predictions sentences.jsonl
    """
    from lisax.metrics.scoring import score_texts

    _print(score_texts(gold, predictions, split, measure), json)


def _print(figures: dict, json: bool) -> None:
    print(json_format.dumps(figures, ensure_ascii=False, indent=2) if json else "\n".join(_lines(figures)))


def _lines(figures: dict, prefix: str = "") -> Iterator[str]:
    """One figure per line, preceded by its path in the JSON. Lists (reliability bins) are printed only with --json."""
    for name, value in figures.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _lines(value, f"{path}.")
        elif not isinstance(value, list):
            shown = "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
            yield f"{path:<45} {shown}"


VERBS = (fever, ranking, tables, answers, potency, text)
