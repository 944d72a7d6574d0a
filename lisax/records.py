"""The data types of LisaX: frozen records, and reading and writing of JSON Lines with exact errors.

A unit of evidence has one string id: `{page}_{n}` for sentences, `{table}`, `{table}#r{i}`, `{table}#c{j}`,
`{table}#r{i}c{j}` for tables and their parts, `{graph}` for sub-graphs. Ids have no white space, because it separates
the columns of run and qrels files. An owner's own id is kept next to ours (`original_id`), and predictions are written
with it.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from typing import Any

from lisax.errors import DataError, LisaxError
from lisax.files.reading import HALF_PAIR


class Label(enum.StrEnum):
    """A verdict, written as FEVER writes it.

    >>> Label("NOT ENOUGH INFO") is Label.NOT_ENOUGH_INFO
    True
    """

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"


# The order of label logits, of confusion matrices, and of every table that lists the labels.
LABELS = (Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO)


class Operation(enum.StrEnum):
    """The operation that computes a question's answer from cells; NONE: the cells are the answer.

    The order is that of WikiSQL's indices and of an aggregation head's logits."""

    NONE = "none"
    MAX = "max"
    MIN = "min"
    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """Sentence `number` (from 0) of page `page`; empty text where the owner's page has a gap. `heading`: the headings
    above it, from the outermost, separated by a colon; empty if the page has none.

    >>> Sentence("Torimoor", 2, "It lies on the Inak.").id
    'Torimoor_2'
    """

    page: str
    number: int
    text: str
    heading: str = ""

    @property
    def id(self) -> str:
        return sentence_id(self.page, self.number)


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """A page. `id` is normalised (NFC, no white space); `title` is prose, as a reader writes it.

    >>> Document("Tarn", "Tarn", (Sentence("Tarn", 0, "Tarn is a town."), Sentence("Tarn", 1, "It is old."))).text
    'Tarn is a town. It is old.'
    """

    id: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    redirects: tuple[str, ...] = ()
    original_id: str | None = None

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences if sentence.text)

    def source(self, sentence: Sentence) -> str:
        """The title with the sentence's headings, which models read before it: `Minutes: Harbour wall`."""
        return f"{self.title}: {sentence.heading}" if sentence.heading else self.title


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A claim. `evidence_sets`: each is a complete set of evidence ids, any one of which suffices.

    `kind` names the family of the claim where the source knows it (`one_hop`, `date`, an attack). `candidates` are
    evidence ids given with the claim (FoolMeTwice, WiCE), in the source's order. `mixed_sets`: further complete sets
    that include rows or edges, for models that are trained on an index of all sources.

    >>> Claim("1", "Tarn is old.", Label.SUPPORTS, evidence_sets=(("Tarn_1",), ("Tarn_0", "Tarn_1"))).gold_ids
    ('Tarn_1', 'Tarn_0')
    """

    id: str
    text: str
    label: Label | None = None
    evidence_sets: tuple[tuple[str, ...], ...] = ()
    candidates: tuple[str, ...] = ()
    kind: str | None = None
    original_id: int | str | None = None
    mixed_sets: tuple[tuple[str, ...], ...] = ()

    @property
    def gold_ids(self) -> tuple[str, ...]:
        """Ids of all evidence sets, without duplicates, in order of first appearance."""
        return tuple(dict.fromkeys(i for evidence_set in self.evidence_sets for i in evidence_set))


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A table: `rows` are as wide as `header`; `page` is the document that contains it, if known.

    >>> table = Table("towns", "Towns", ("town", "people"), (("Tarn", "900"), ("Ostra", "18,400")))
    >>> table.rows[1][table.header.index("people")]
    '18,400'
    """

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    page: str | None = None
    original_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Graph:
    """A sub-graph around one subject: `edges` are (relation, object) in reading order.

    >>> Graph("tarn", "Tarn", (("river", "Orm"),)).edges
    (('river', 'Orm'),)
    """

    id: str
    subject: str
    edges: tuple[tuple[str, str], ...]
    page: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class DataText:
    """Data with texts that verbalize it: `pairs` are (name, value) of the subject `title`, `source` is the author of
    the texts."""

    id: str
    title: str
    pairs: tuple[tuple[str, str], ...]
    texts: tuple[str, ...] = ()
    source: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A question, its accepted answers, and the ids of evidence that contains one: cells, sentences, or a whole table
    if the cell is not known.

    `operation`: computes the answer from cells; None if unknown. `operands`: the cells of a count, a sum or an average;
    those of a maximum or minimum are its evidence."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    original_id: int | str | None = None
    operation: Operation | None = None
    operands: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """One line of a run: unit `id` at `rank` (from 1) for `query_id`, higher `score` is better."""

    query_id: str
    id: str
    rank: int
    score: float


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """A verdict as it is stored in predictions files: a claim's predicted label with the ids of its evidence, best
    first.

    `probabilities` follow `LABELS` and are the verifier's; `evidence_scores` follow `evidence`. `temporal` is the
    ruling of the temporal step, if it decided the label. `abstained`: the label is NOT ENOUGH INFO because the most
    probable one was below the minimum confidence.
    """

    claim_id: str
    label: Label
    probabilities: tuple[float, float, float]
    evidence: tuple[str, ...] = ()
    evidence_scores: tuple[float, ...] = ()
    temporal: dict[str, Any] | None = None
    abstained: bool = False


_ROW = re.compile(r".+#r[0-9]{1,9}", re.DOTALL)
_CELL = re.compile(r"(.+)#r([0-9]{1,9})c([0-9]{1,9})", re.DOTALL)


def sentence_id(page: str, number: int) -> str:
    return f"{page}_{number}"


def split_sentence_id(unit: str) -> tuple[str, int]:
    """Splits `{page}_{n}` at its last underscore, since page ids may contain underscores."""
    page, separator, number = unit.rpartition("_")
    if not separator or not page or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise DataError(f"'{unit}' is not a sentence id: expected {{page}}_{{number}}")
    return page, int(number)


def row_id(table: str, row: int) -> str:
    return f"{table}#r{row}"


def column_id(table: str, column: int) -> str:
    return f"{table}#c{column}"


def cell_id(table: str, row: int, column: int) -> str:
    return f"{table}#r{row}c{column}"


def edge_id(graph: str, number: int) -> str:
    """The id of an edge; edges are counted from 0, including those without a value."""
    return f"{graph}#e{number}"


def is_row(unit: str) -> bool:
    return _ROW.fullmatch(unit) is not None


def is_cell(unit: str) -> bool:
    return _CELL.fullmatch(unit) is not None


def split_cell_id(unit: str) -> tuple[str, int, int]:
    """`{table}#r{i}c{j}` as (table, i, j); both count from 0."""
    match = _CELL.fullmatch(unit)
    if match is None:
        raise DataError(f"'{unit}' is not the id of a cell: expected {{table}}#r{{row}}c{{column}}")
    return match[1], int(match[2]), int(match[3])


def check_id(value: Any, *, path=None, line=None, field="id") -> str:
    """`value` as a record id: a non-empty string (or an integer) without white space."""
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        fault = f"expected a string or an integer, found {json.dumps(value)[:80]}"
    elif not text or any(c.isspace() for c in text):
        fault = f"an id must be non-empty and without white space, found {text!r:.80}"
    elif not is_text(text):
        fault = f"an id holds {HALF_PAIR}, or is a file's name that is not UTF-8: {text!r:.80}"
    else:
        return text
    raise DataError(fault, path=path, line=line, field=field)


def is_text(text: str) -> bool:
    """Whether `text` can be encoded: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_text(text: str) -> str:
    """Returns `text` for use as a model's input. Raises LisaxError if it has a lone surrogate."""
    if not is_text(text):
        raise LisaxError(f"a text holds {HALF_PAIR}, which is not a character; replace it: {text!r:.80}")
    return text
