"""The data types of LisaX: frozen records, and reading and writing of JSON Lines with exact errors.

A unit of evidence has one string id: `{page}_{n}` for sentences, `{table}`, `{table}#r{i}`, `{table}#c{j}`,
`{table}#r{i}c{j}` for tables and their parts, `{graph}` for sub-graphs. Ids have no white space, because it separates
the columns of run and qrels files. An owner's own id is kept beside ours (`original_id`), and predictions are written
with it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import errno
import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from lisax.errors import DataError, LisaxError

# Limits of one JSON value and of one line. Deeper values break recursive code, such as that of error messages; longer
# ones take gigabytes, since a number of two bytes becomes a pointer of eight.
DEEPEST_NESTING = 100
MOST_VALUES = 5_000_000
LONGEST_LINE = 1 << 26

_HALF_PAIR = "half of a surrogate pair (\\ud800 to \\udfff on its own)"


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
    """Sentence `number` (from 0) of page `page`; empty text where the owner's page has a gap.

    >>> Sentence("Torimoor", 2, "It lies on the Inak.").id
    'Torimoor_2'
    """

    page: str
    number: int
    text: str

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
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataError(
            f"expected a string or an integer, found {json.dumps(value)[:80]}", path=path, line=line, field=field
        )
    text = str(value)
    if not text or any(c.isspace() for c in text):
        raise DataError(
            f"an id must be non-empty and without white space, found {text!r:.80}", path=path, line=line, field=field
        )
    if not is_text(text):
        raise DataError(
            f"an id holds {_HALF_PAIR}, or is a file's name that is not UTF-8: {text!r:.80}",
            path=path,
            line=line,
            field=field,
        )
    return text


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
        raise LisaxError(f"a text holds {_HALF_PAIR}, which is no character; replace it: {text!r:.80}")
    return text


# --- Files and JSON Lines -------------------------------------------------------------------


def read_file(path: str | os.PathLike, largest_bytes: int = 1 << 28) -> bytes:
    """The content of a file. Raises an error for a larger one."""
    path = Path(path)
    try:
        if not path.is_file():  # reading a pipe would block
            raise DataError("expected a file, found a folder" if path.is_dir() else "no such file", path=path)
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from None
    if len(content) > largest_bytes:
        raise DataError(f"the file has more than {largest_bytes:,} bytes", path=path)
    return content


def read_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """(line number, text) of a UTF-8 file, streaming; blank lines are skipped.

    Raises an error for a byte order mark (with the command that removes it), for bytes that are not UTF-8 (with their
    line), for a line of more than `LONGEST_LINE` bytes, and for a file without any non-blank line.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("expected a file, found a folder" if path.is_dir() else "no such file", path=path)
    empty = True
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    with file:
        for number, raw in enumerate(iter(functools.partial(file.readline, LONGEST_LINE + 1), b""), start=1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raise DataError(
                    "the file starts with a byte order mark; remove it, for example with "
                    f"`sed -i '1s/^\\xEF\\xBB\\xBF//' {path}`",
                    path=path,
                    line=1,
                )
            if len(raw) > LONGEST_LINE:
                raise DataError(f"the line has more than {LONGEST_LINE:,} bytes", path=path, line=number)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"byte {error.start + 1} is not UTF-8 (0x{raw[error.start]:02x}); if the file is "
                    "Latin-1, convert it with `iconv -f latin1 -t utf-8`",
                    path=path,
                    line=number,
                ) from None
            if text.strip():
                empty = False
                yield number, text.rstrip("\r\n")
    if empty:
        raise DataError("the file is empty", path=path)


def parse_json(text: str, *, path=None, line=None, pairs: Callable[[list], Any] | None = None) -> Any:
    """`text` as one JSON value that can be re-encoded, traversed and kept in memory: lone surrogates, more than
    `DEEPEST_NESTING` nested lists and objects, and more than `MOST_VALUES` values are errors.

    `pairs` builds the value of an object from its (key, value) pairs; None: a dict."""
    if len(text) > MOST_VALUES and sum(map(text.count, ",[{")) > MOST_VALUES:
        raise DataError(f"the JSON holds more than {MOST_VALUES:,} values", path=path, line=line)
    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if text.count("[") + text.count("{") > DEEPEST_NESTING and _is_too_deep(value):
            raise RecursionError
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"a string holds {_HALF_PAIR}", path=path, line=line) from None
    except RecursionError:
        raise DataError(
            f"not valid JSON: lists and objects are nested more than {DEEPEST_NESTING} deep", path=path, line=line
        ) from None
    except ValueError as error:
        raise DataError(f"not valid JSON: {error}", path=path, line=line) from None
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST_NESTING + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (list, dict, tuple))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (list, dict, tuple))
        ]
        if not level:
            return False
    return True


def parse_json_object(text: str, *, path=None, line=None) -> dict:
    """`text` as one JSON object, see `parse_json`."""
    value = parse_json(text, path=path, line=line)
    if not isinstance(value, dict):
        raise DataError(f"expected a JSON object, found {type(value).__name__}", path=path, line=line)
    return value


def read_json_lines(path: str | os.PathLike) -> Iterator[tuple[int, dict]]:
    """(line number, object) for each line of a JSON Lines file; see `read_lines` for its errors."""
    for number, text in read_lines(path):
        yield number, parse_json_object(text, path=path, line=number)


def get_field(row: dict, field: str, kind: type | tuple[type, ...], *, path, line: int, default: Any = ...) -> Any:
    """`row[field]`, checked to be of `kind`. Raises an error for a missing field unless a default is given."""
    if field not in row:
        if default is not ...:
            return default
        raise DataError("the field is missing", path=path, line=line, field=field)
    value = row[field]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(k.__name__ for k in kinds)
        raise DataError(f"expected {expected}, found {json.dumps(value)[:80]}", path=path, line=line, field=field)
    return value


def get_strings(row: dict, field: str, *, path, line: int) -> tuple[str, ...]:
    """`row[field]`, checked to be a list of strings."""
    values = get_field(row, field, list, path=path, line=line)
    if not all(isinstance(value, str) for value in values):
        raise DataError(
            f"expected a list of strings, found {json.dumps(values)[:80]}", path=path, line=line, field=field
        )
    return tuple(values)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Names `path` in errors of a full disk while it is written: the system's own error names no file."""
    try:
        yield
    except LisaxError:
        raise
    except Exception as error:  # native libraries have error types of their own, with the system's message
        # numpy's own error has no errno; it says how many items of an array were to be written and were.
        if getattr(error, "filename", None) is None and (
            getattr(error, "errno", None) in FULL
            or any(words in str(error) for words in (" requested and ", os.strerror(errno.ENOSPC)))
        ):
            why = getattr(error, "strerror", None) or os.strerror(errno.ENOSPC)
            raise LisaxError(
                f"{path} could not be written: {why}. Make room, and run the same command again"
            ) from error
        raise


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike, mode: str = "w") -> Iterator[TextIO]:
    """Opens a temporary file beside `path` for writing and renames it to `path` only on success. In a bucket, which has
    no renaming, the object appears only when it is complete."""
    if os.fspath(path).startswith("gs://"):
        from lisax.places import place, uploading

        with uploading(place(path), mode) as file:
            yield file
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        # mkstemp creates private files; the result gets the permissions of any new file.
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(handle, 0o666 & ~umask)
        with naming(path):
            with os.fdopen(handle, mode, **({} if "b" in mode else {"encoding": "utf-8", "newline": "\n"})) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_json_lines(path: str | os.PathLike, rows: Iterable[dict]) -> int:
    """Writes rows atomically, one JSON object per line. Returns their number."""
    count = 0
    with atomic_write(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Writes one indented JSON value atomically."""
    with atomic_write(path) as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
        file.write("\n")
