"""Draws examples from short documents and claims about them that were written for this project one by one (ours).

A line of `written.jsonl` is a document: minutes, a letter, a leaflet, news, rules, an encyclopedia's passage, a table;
`written_tables.jsonl` has further tables, whose claims count, add up and compare, for labellers of whole tables. Claims
have other words than the sentences that decide them, and several claims of a sentence differ in the deciding detail. A
claim is kept only if a second writer, who saw no label, gave it the same one, and if a bag of words of other documents'
claims does not guess it surely.

    title       str
    sentences   [str]; a table has `header`, [str], and `rows`, [[str]]
    claims      [{"claim": str, "label": "S", "R" or "N", "kind": str, "because": [int]}]

A line of `written_folders.jsonl` is a folder of papers that correct and complete each other. It has `pages`, each with a
title and sentences, in the place of both; places count through all of its pages.

`because` has the places, from 0, of the sentences or rows that together decide the claim; if the document leaves it open,
the places of the nearest ones.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from lisax.files.reading import read_json_lines
from lisax.formats.examples import Example, Passage
from lisax.formats.tables import TableExample, TableView
from lisax.formats.triples import raw_table
from lisax.records import LABELS, Label
from lisax.text.words import shared_words

LENGTHS = (1, 1, 1, 2, 3)  # of an example, in sentences, equally likely
UNDECIDED = 0.2  # share of examples whose deciding sentences are left out, so that the claim is open
NEAR = 6  # others of a document that a ranker's irrelevant sentences are drawn from
WRONG, OTHERS = 0.15, 20  # share of decided claims read with another table: of that number the one nearest in words
SHUFFLED = 0.3  # share of examples in random order; in the others the deciding sentences come first
T = TypeVar("T")
_LABELS = dict(zip("SRN", LABELS, strict=True))


@functools.cache
def documents() -> list[dict]:
    """The documents and folders."""
    return [*_lines("written.jsonl"), *_lines("written_folders.jsonl")]


@functools.cache
def tables() -> list[dict]:
    """The tables of both files."""
    return [*(one for one in documents() if "rows" in one), *_lines("written_tables.jsonl")]


def _lines(name: str) -> list[dict]:
    return [row for _, row in read_json_lines(Path(__file__).with_name(name))]


def draw(count: int, seed: int = 0) -> Iterator[Example]:
    """The first `count` examples of rounds over all claims in random order; each round reads a claim with other
    sentences of its document. A larger count begins with the examples of a smaller one."""
    return itertools.islice(_rounds(f"lisax.written:{seed}", documents(), _example), count)


def draw_pairs(count: int, seed: int = 0) -> Iterator[Example]:
    """A ranker's examples of such rounds: each deciding sentence, and an irrelevant one of `NEAR` near others."""
    return itertools.islice(_rounds(f"lisax.written.pairs:{seed}", documents(), _pairs), count)


def draw_tables(count: int, seed: int = 0) -> Iterator[TableExample]:
    """Examples of such rounds over the claims about tables, each with its whole table; a share `WRONG` of the decided
    claims has another one, so that the claim is open."""
    return itertools.islice(_rounds(f"lisax.written.tables:{seed}", tables(), _table_example), count)


def _rounds(
    seed: str, documents: Sequence[dict], made: Callable[[str, dict, dict, random.Random], Iterable[T]]
) -> Iterator[T]:
    for number in itertools.count():
        rng = random.Random(f"{seed}:{number}")
        places = [(i, j) for i, document in enumerate(documents) for j in range(len(document["claims"]))]
        rng.shuffle(places)
        for i, j in places:
            yield from made(f"written-{number}-{i}-{j}", documents[i], documents[i]["claims"][j], rng)


def _pairs(name: str, document: dict, claim: dict, rng: random.Random) -> Iterator[Example]:
    because = [] if _LABELS[claim["label"]] is Label.NOT_ENOUGH_INFO else claim["because"]
    others = [place for place in _near(document, claim["claim"]) if place not in because][:NEAR]
    for place in (*because, *rng.sample(others, min(len(others), len(because)))):
        yield Example(name, claim["claim"], _passages(name, document, [place]), label=place in because)


def _example(name: str, document: dict, claim: dict, rng: random.Random) -> Iterator[Example]:
    label, first, left_out = _LABELS[claim["label"]], claim["because"], []
    if label is not Label.NOT_ENOUGH_INFO and rng.random() < UNDECIDED:
        # The other deciding sentences stay, as near misses.
        label, first, left_out = Label.NOT_ENOUGH_INFO, first[:-1], first[-1:]
    needed = 0 if label is Label.NOT_ENOUGH_INFO else len(first)
    others = [place for place in _near(document, claim["claim"]) if place not in {*first, *left_out}]
    read = [*first, *others][: max(needed, rng.choice(LENGTHS))]
    if rng.random() < SHUFFLED:
        rng.shuffle(read)
    yield Example(name, claim["claim"], _passages(name, document, read), label=label)


def _table_example(name: str, document: dict, claim: dict, rng: random.Random) -> Iterator[TableExample]:
    label, read = _LABELS[claim["label"]], document
    if label is not Label.NOT_ENOUGH_INFO and rng.random() < WRONG:
        others = [one for one in rng.sample(tables(), OTHERS) if one is not document]
        shared = shared_words(claim["claim"], [" ".join(text for _, text in sentences_of(one)) for one in others])
        label, read = Label.NOT_ENOUGH_INFO, others[max(range(len(others)), key=lambda place: shared[place])]
    view = TableView(name, read["title"], tuple(read["header"]), tuple(map(tuple, read["rows"])))
    yield TableExample(name, claim["claim"], (view,), label, (read is document,))


def _passages(name: str, document: dict, places: Iterable[int]) -> tuple[Passage, ...]:
    sentences = sentences_of(document)
    return tuple(Passage(f"{name}_{place}", *sentences[place]) for place in places)


def _near(document: dict, claim: str) -> list[int]:
    """The places of a document's sentences or rows, ordered by the words that they share with the claim."""
    shared = shared_words(claim, [text for _, text in sentences_of(document)])
    return sorted(range(len(shared)), key=lambda place: (-shared[place], place))


def sentences_of(document: dict) -> list[tuple[str, str]]:
    """The sentences of a document or of all pages of a folder, each after its title; of a table its rows, as an index
    gives them."""
    if "rows" in document:
        return [(document["title"], raw_table(document["header"], [row])) for row in document["rows"]]
    return [(page["title"], text) for page in document.get("pages", [document]) for text in page["sentences"]]
