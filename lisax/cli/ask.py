"""`lisax ask`."""

from __future__ import annotations

from typing import Annotated

import click

from lisax.cli.check import Documents
from lisax.cli.verbs import Argument, Count, Indexed, Local, Option, Probability

SHOWN = 0.0005  # a less probable answer, which would read 0.000, is shown as JSON or if it is the only one


def ask(
    question: Annotated[str, Argument("The question, in quotation marks.", "QUESTION")],
    *,
    model: Annotated[
        Local | None,
        Option(
            "A reader of passages, or a model of table rows and columns: a MODEL_DIR, one of its checkpoints, or a "
            "bundle.",
            "DIR",
            default="the shipped models: sentences of text and cells of tables, the likeliest first",
        ),
    ] = None,
    corpus: Documents = None,
    index: Annotated[
        Indexed | None,
        Option(
            "Instead of --corpus: an index, or the address of one of `lisax index cluster`. Its tables are searched if it "
            "has vectors of `minilm`.",
            "INDEX",
        ),
    ] = None,
    retriever: Annotated[
        Local | None, Option("For readers: the model that `lisax index vectors` filled the index with.", "MODEL")
    ] = None,
    columns: Annotated[
        Local | None, Option("For tables: a separate model for columns; --model then scores rows only.", "DIR")
    ] = None,
    aggregation: Annotated[
        Local | None, Option("For tables: a model that chooses operations (a count, a sum).", "DIR")
    ] = None,
    answers: Annotated[Count, Option("Number of answers to show.")] = 5,
    min_confidence: Annotated[
        Probability | None,
        Option(
            "Return `no answer here`, with its probability, if the likeliest answer has a lower probability.",
            default="as fitted for the shipped models or by `lisax run cltr`; none for a reader",
        ),
    ] = None,
    json: Annotated[bool, Option("Print each answer as JSON.")] = False,
) -> None:
    """Answer a question from a corpus or an index, each answer with its source: a sentence, whose part that answers is
    in brackets if its kind shows it, or a cell of a table. The pages and tables that were searched are counted.

    lisax ask "Who is the mayor?" --corpus documents/
    lisax ask "Which club won the cup in 1921?" --corpus tables/
    lisax ask "Where was Vova Brugard born?" --index INDEX --model reader
    """
    if (corpus is None) == (index is None):
        raise click.UsageError("give the source of answers: --corpus DIR or --index INDEX")
    from lisax.predict.checking import ask as answers_to

    found = answers_to(
        question,
        corpus,
        index,
        model,
        retriever=retriever,
        columns=columns,
        aggregation=aggregation,
        answers=answers,
        min_confidence=min_confidence,
    )
    for place, line in enumerate(found):
        if json or place == 0 or line.probability >= SHOWN:
            print(line.to_json() if json else line)
    if not found and not json:
        print("no answer was found")
