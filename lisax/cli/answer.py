"""`lisax answer`."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from lisax.cli.verbs import AtWorkers, Count, Indexed, Local, Option, Target


def answer(
    *,
    index: Annotated[
        Indexed,
        Option(
            "An index of `lisax index mixed`, or of `tables`, or the address of one of `lisax index cluster`.", "INDEX"
        ),
    ],
    questions: Annotated[
        Local,
        Option(
            "Questions as JSON Lines (id, question, and answers if known), or a file of NQ-open or WebQuestions.",
            "FILE",
        ),
    ],
    out: Annotated[Target, Option("Predictions to write, as JSON Lines.", "FILE")],
    reader: Annotated[
        Local | None,
        Option(
            "A reader of passages, or a model of table rows and columns: a MODEL_DIR, a checkpoint or a bundle.",
            "DIR",
            default="the model of table rows and columns that comes with LisaX, if one does",
        ),
    ] = None,
    retriever: Annotated[
        Local | None,
        Option(
            "For readers: the model that `lisax index vectors` filled the index with, such as a dual encoder's folder.",
            "MODEL",
        ),
    ] = None,
    method: Annotated[
        Literal["bm25", "dense", "fused"] | None, Option("Search method.", default="fused with a retriever, else bm25")
    ] = None,
    approximate: Annotated[
        bool, Option("Search the inverted file or graph of vectors, which is faster and approximate.")
    ] = False,
    k: Annotated[Count, Option("Passages retrieved per question.")] = 100,
    workers: AtWorkers = None,
) -> None:
    """Answer questions from an index of passages, each with the sentence, row or edge that contains the answer, or from
    the cells of an index of tables.

    lisax answer --index INDEX --reader READER --questions questions.jsonl --out answers.jsonl
    """
    from lisax.predict.file_steps import answer_file

    method = method or ("fused" if retriever else "bm25")
    if method != "bm25" and retriever is None:
        raise click.UsageError(f"--method {method} needs --retriever DIR")
    if method == "bm25" and retriever is not None:
        raise click.UsageError("--method bm25 uses no retriever: leave --retriever out")
    if approximate and method == "bm25":
        raise click.UsageError("--approximate is for a search of vectors: give --retriever DIR, or leave it out")
    figures = answer_file(
        index,
        reader,
        questions,
        out,
        retriever_folder=retriever,
        method=method,
        approximate=approximate,
        k=k,
        workers=workers,
    )
    if figures:
        print(f"exact match {figures['exact_match']:.4f} of {figures['questions']:,} questions with answers")
