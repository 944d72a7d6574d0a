"""The page of `lisax demo --serve`: a corpus, or a generated world, indexed for the models that ship."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from lisax import shipped
from lisax.corpora import Dataset, open_folder
from lisax.progress import say
from lisax.records import LABELS, Claim, LisaxError, write_json
from lisax.serve.answering import CLAIM, QUESTION
from lisax.serve.start import ServeSettings, serve

PAGES = 200
MADE = "demo.json"  # what the index was made of
PER_LABEL, QUESTIONS = 1, 2  # examples on the page
Example = tuple[str, str, str]


def serve_demo(data: Path | None, pages: int, seed: int, out: Path, port: int) -> None:
    """Indexes the pages and tables of `data`, or of a generated world, in `out`/page, and serves them with the models that
    ship and a few of the claims and questions as examples. What is indexed already is not indexed again."""
    folder = out / "page"
    index = folder / "indexes" / (data.resolve().name if data else "encyclopedia")
    made = {"data": str(data and data.resolve()), "pages": pages, "seed": seed}
    corpus = open_folder(data or _world(folder / "world", pages, seed))
    if not (folder / MADE).is_file() or json.loads((folder / MADE).read_text(encoding="utf-8")) != made:
        (folder / MADE).unlink(missing_ok=True)
        shutil.rmtree(index, ignore_errors=True)
        _index(corpus, index)
        write_json(folder / MADE, made)
    say(f"the page is told to stop by Ctrl-C; the same again: lisax serve --index {index} --state {folder}")
    serve(ServeSettings((), (index,), folder, port=port, examples=tuple(_examples(corpus, index.name))))


def _world(folder: Path, pages: int, seed: int) -> Path:
    from lisax import world

    world.write(folder, pages, seed)
    return folder


def _index(corpus: Dataset, index: Path) -> None:
    from lisax.predict.retriever import add_vectors, open_encoder
    from lisax.retrieval import documents, table_text

    tables = iter(corpus.tables())
    first = list(itertools.islice(tables, 1))
    if first:
        say("indexing tables")
        table_text.build_index(itertools.chain(first, tables), index, **table_text.BESIDE_VECTORS)
        try:
            add_vectors(index, open_encoder(shipped.ENCODER))  # of tables alone: the pages come after
        except LisaxError as error:
            say(f"questions over tables are left out: {error}")
    say("indexing pages")
    documents.build_index(corpus.documents(), index)


def _examples(corpus: Dataset, index: str) -> Iterator[Example]:
    split = next((split for split in ("dev", "test", "train") if split in corpus.splits), None)
    if split is None:
        return
    for label in LABELS:
        claims: Iterable[Claim] = (claim for claim in corpus.claims(split) if claim.label is label)
        yield from ((CLAIM, index, claim.text) for claim in itertools.islice(claims, PER_LABEL))
    try:
        questions = [one.text for one in itertools.islice(corpus.questions(split), QUESTIONS)]
    except LisaxError:  # a corpus without questions
        questions = []
    yield from ((QUESTION, index, text) for text in questions)
