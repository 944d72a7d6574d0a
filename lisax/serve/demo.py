"""The page of `lisax demo --serve`: a corpus, or a generated world, indexed for the models that ship."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lisax import shipped, world
from lisax.corpora import Dataset, open_folder
from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.progress import say
from lisax.records import LABELS
from lisax.serve.answering import CLAIM, QUESTION
from lisax.serve.limits import LIMITS
from lisax.serve.start import ServeSettings, open_models, serve
from lisax.serve.views import SEVERAL, joined
from lisax.text.words import words

if TYPE_CHECKING:
    from lisax.serve.answering import Engine
    from lisax.serve.library import ServedCorpus

PAGES = 200
MADE = "demo.json"  # what the index was made of, and the examples
PER_LABEL, QUESTIONS = 1, 2  # examples on the page
TRIED = 25  # claims of a label, or questions, that these are chosen among
Example = tuple[str, str, str]


def serve_demo(data: Path | None, pages: int, seed: int, out: Path, port: int) -> None:
    """Indexes the pages and tables of `data`, or of a generated world, in `out`/page, and serves them with the models
    that ship and a few of the claims and questions as examples. Existing indexes are kept."""
    folder = out / "page"
    index = folder / "indexes" / (data.resolve().name if data else "encyclopedia")
    made = {"data": str(data and data.resolve()), "pages": pages, "seed": seed}
    if data is None:
        world.write(folder / "world", pages, seed)
    corpus = open_folder(data or folder / "world")
    settings = ServeSettings((), (index,), folder, port=port)
    known = json.loads((folder / MADE).read_text(encoding="utf-8")) if (folder / MADE).is_file() else {}
    if known.get("made") != made:
        (folder / MADE).unlink(missing_ok=True)
        shutil.rmtree(index, ignore_errors=True)
        _index(corpus, index)
        engine, library = open_models(settings, folder / "corpora", LIMITS)
        examples, tried = _choose(corpus, engine, next(iter(library)))
        known = {"made": made, "examples": examples, "tried": tried}
        write_json(folder / MADE, known)
    say(f"Ctrl-C ends the page; to open it again: lisax serve --index {index} --state {folder}")
    examples = tuple(map(tuple, known["examples"]))
    serve(dataclasses.replace(settings, examples=examples, tried=known["tried"]))


def _index(corpus: Dataset, index: Path) -> None:
    from lisax.predict.retriever import add_vectors, open_encoder
    from lisax.retrieval import documents, table_text

    tables = iter(corpus.tables())
    first = list(itertools.islice(tables, 1))
    if first:
        say("indexing tables")
        table_text.build_index(itertools.chain(first, tables), index, **table_text.BESIDE_VECTORS)
        try:
            add_vectors(index, open_encoder(shipped.ENCODER))  # of only tables: the pages come after
        except LisaxError as error:
            say(f"questions over tables are left out: {error}")
    say("indexing pages")
    documents.build_index(corpus.documents(), index)


def _choose(corpus: Dataset, engine: Engine, served: ServedCorpus) -> tuple[list[Example], str]:
    """Claims of each label and questions to begin with, and a sentence on how they were chosen. They should show the
    look of a verdict: of `TRIED` of each, those come first that the models get right."""
    split = next((split for split in ("dev", "test", "train") if split in corpus.splits), None)
    if split is None:
        return [], ""
    chosen: list[Example] = []
    shares: dict[str, list[int]] = {}  # of a kind: right, tried
    for kind, number, candidates in _candidates(corpus, split):
        right, wrong = [], []
        for text, expected in itertools.islice(candidates, TRIED):
            got = kind in engine.kinds(served) and _answer(engine, served, kind, text) in expected
            (right if got else wrong).append(text)
            if len(right) == number:
                break
        if kind in engine.kinds(served):
            so_far = shares.get(kind, [0, 0])
            shares[kind] = [so_far[0] + len(right), so_far[1] + len(right) + len(wrong)]
        chosen += [(kind, served.id, text) for text in (*right, *wrong)[:number]]
    counts = ", ".join(f"{right} of {tried} {SEVERAL[kind]}" for kind, (right, tried) in shares.items())
    said = f"Chosen, where possible, because the models get them right: {counts} that were tried came out right."
    return chosen, said if shares else ""


def _candidates(corpus: Dataset, split: str) -> Iterator[tuple[str, int, Iterator[tuple[str, set[str]]]]]:
    """(kind, how many are wanted, (text, answers) of each that may be taken)"""
    for label in LABELS:
        claims = (claim for claim in corpus.claims(split) if claim.label is label)
        yield CLAIM, PER_LABEL, ((claim.text, {label.value}) for claim in claims)
    try:
        questions = list(itertools.islice(corpus.questions(split), TRIED))
    except LisaxError:  # a corpus without questions
        return
    yield QUESTION, QUESTIONS, ((one.text, {_plain(answer) for answer in one.answers}) for one in questions)


def _answer(engine: Engine, served: ServedCorpus, kind: str, text: str) -> str:
    if kind == CLAIM:
        whole, _ = joined(engine.ask(served, CLAIM, text)["verdicts"], text)
        return whole.label.value
    (answers,) = engine.answer_many(served, [text], 1)
    return _plain(answers[0].text) if answers else ""


def _plain(answer: str) -> str:
    return " ".join(words(answer))
