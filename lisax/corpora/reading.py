"""How all readers handle errors and warnings.

By default a reader raises the first problem as a `DataError`. `lisax data check` passes a `Watch` that continues and
collects problems. Known oddities of the owners' files (a blank page in FEVER's dump, a sentence broken over two lines)
are warnings: counted by kind and logged once at the end, never silent.

Not msgspec or pydantic, with which reading pages takes 0.6 to 1.2 times as long: they accept deep nesting in skipped
fields, report a lone surrogate as broken JSON, and would need a class per layout.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import json
import logging
import operator
import os
import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lisax.errors import DataError, LisaxError, printable
from lisax.files.reading import get_field, parse_json_object, read_file, read_lines
from lisax.files.reading import parse_json as parse_value
from lisax.progress import say
from lisax.records import Label, check_id
from lisax.text import titles

log = logging.getLogger(__name__)
Content = TypeVar("Content")
Record = TypeVar("Record")

KEPT_KINDS, SHOWN_OF_A_KIND, LINES_OF_A_KIND = 100, 3, 5
# The variable parts of problems of one kind: numbers, quoted texts, and found values.
_VARYING = re.compile(r"""\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|found .*""", re.DOTALL)


@functools.lru_cache(maxsize=256)
def _without_values(said: str) -> str:
    return _VARYING.sub("", said)


@dataclasses.dataclass(slots=True)
class _Kind:
    """Similar problems of one file, or of the files of a folder: equal except for numbers and quoted texts. `place`:
    the file, or the folder if there are several. `shown`: the first messages that differ in more than their line;
    `lines`: the lines of the first others."""

    place: str
    count: int = 0
    shown: dict[tuple[str, str, str], str] = dataclasses.field(default_factory=dict)
    lines: list[int] = dataclasses.field(default_factory=list)

    def add(self, error: DataError) -> None:
        self.count += 1
        path = str(error.path)
        if path != self.place:
            self.place = os.path.dirname(path)
        said = path, error.field or "", error.message
        if said not in self.shown and len(self.shown) < SHOWN_OF_A_KIND:
            self.shown[said] = str(error)
        elif error.line is not None and len(self.lines) < LINES_OF_A_KIND:
            self.lines.append(error.line)

    def sentences(self) -> Iterator[str]:
        yield from self.shown.values()
        if more := self.count - len(self.shown):
            lines = f" ({'line' if more == 1 else 'lines'} {', '.join(map(str, self.lines))}" if self.lines else ""
            end = (", …)" if more > len(self.lines) else ")") if lines else ""
            yield f"{self.place}: {more:,} more like {'it' if len(self.shown) == 1 else 'these'}{lines}{end}"


class Watch:
    """Collects the problems and warnings of readers. `keep_going`: remember problems instead of raising the first.
    `labels`: additional names of labels; claims whose label name maps to None are left out.

    `where` is the (file, line) of the last yielded record; the line is None if the file is one value.
    """

    def __init__(self, keep_going: bool = False, labels: Mapping[str, Label | None] | None = None):
        self.keep_going, self.labels = keep_going, labels or {}
        self.where: tuple[Path, int | None] | None = None
        self.problem_count = 0
        self._kinds: dict[tuple[str, str, str], _Kind] = {}
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def problem(self, error: DataError) -> None:
        """Raises `error`, or counts it and keeps its message if it is among the first of its kind."""
        if not self.keep_going:
            raise error
        self.problem_count += 1
        path = str(error.path)
        kind = (
            os.path.dirname(path) if error.line is None else path,
            _without_values(error.field or ""),
            _without_values(error.message),
        )
        if kind in self._kinds or len(self._kinds) < KEPT_KINDS:
            self._kinds.setdefault(kind, _Kind(path)).add(error)

    @property
    def problems(self) -> list[str]:
        """The problems' messages with file and line: the first of similar ones in a file, and how many more
        there are."""
        said = [sentence for kind in self._kinds.values() for sentence in kind.sentences()]
        if rest := self.problem_count - sum(kind.count for kind in self._kinds.values()):
            said.append(f"and {rest:,} more problems")
        return list(map(printable, said))

    def warn(self, kind: str, path, line: int | None = None, count: int = 1) -> None:
        """Counts one or `count` warnings of this kind; the first place is kept."""
        self._counts[kind] += count
        self._first.setdefault(kind, f"{path}" if line is None else f"{path}:{line}")

    @property
    def warnings(self) -> list[str]:
        """One sentence per kind of warning, with its count and first place."""
        return [printable(f"{kind}: {count}, first at {self._first[kind]}") for kind, count in self._counts.items()]

    def tell(self) -> None:
        for sentence in self.warnings:
            log.warning("%s", sentence)


class SkippingWatch(Watch):
    """Skips bad lines; `tell` names them on standard error and prints their number. A file that cannot be read at all
    is raised. `said`: sentences that are not printed again."""

    def __init__(self, labels: Mapping[str, Label | None] | None = None, said: set[str] | None = None):
        super().__init__(keep_going=True, labels=labels)
        self._said = set() if said is None else said

    def problem(self, error: DataError) -> None:
        if error.line is None and error.field is None:
            raise error
        super().problem(error)

    def tell(self) -> None:
        super().tell()
        count = [f"bad lines skipped: {self.problem_count:,}"] if self.problem_count else []
        for sentence in (*self.problems, *count):
            if sentence not in self._said:
                self._said.add(sentence)
                say(sentence)


def skipping(
    read: Callable[[Watch | None], Iterable[Record]], skip_bad: bool, said: set[str] | None = None
) -> Iterator[Record]:
    """`read(watch)`; with `skip_bad` its bad lines are skipped, see `SkippingWatch`. Raises if none is left."""
    if not skip_bad:
        yield from read(None)
        return
    watch, any_good = SkippingWatch(said=said), False
    for record in read(watch):
        any_good = True
        yield record
    watch.tell()
    if watch.problem_count and not any_good:
        raise LisaxError(f"all {watch.problem_count:,} lines are bad; the first: {watch.problems[0]}")


class LeftOut(Exception):
    """Raised for a claim that the caller does not want; its text is the kind of warning to count."""


def named(name: str, names: Mapping[str, Label]) -> Label | None:
    """The label of a name in any case, as FEVER's own scorer compares them; None for an unknown one."""
    return names.get(name) or next((label for known, label in names.items() if known.upper() == name.upper()), None)


def label_of(name: str, names: Mapping[str, Label], watch: Watch, **where: Any) -> Label:
    """The label that a name stands for: as the caller defines it, else as the layout does (`names`). Raises `LeftOut`,
    or `DataError` for an unknown name."""
    label = watch.labels[name] if name in watch.labels else named(name, names)
    if name in watch.labels and label is None:
        raise LeftOut(f"claims labelled {name!r:.80} (left out, as was asked for)")
    if label is None:
        raise DataError(
            f"unknown label {name!r:.80}; expected {', '.join(map(repr, {**names, **watch.labels}))}{label_hint(name)}",
            **where,
        )
    return label


def label_hint(name: str) -> str:
    return (
        f"; data with other labels are registered with one of these, labels={{{name!r:.80}: …}}; None leaves them out"
    )


@functools.lru_cache(maxsize=256)
def _nearest(name: str, fields: tuple[str, ...]) -> str | None:
    return next(iter(difflib.get_close_matches(name[:80], fields, 1, 0.8)), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One JSON object with its place, so that every error about a field names file and line."""

    value: dict
    path: Path
    line: int
    watch: Watch

    def get(self, field: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        return get_field(self.value, field, kind, path=self.path, line=self.line, default=default)

    def error(self, field: str, message: str) -> DataError:
        return DataError(message, path=self.path, line=self.line, field=field)

    def warn(self, kind: str) -> None:
        self.watch.warn(kind, self.path, self.line)

    def warn_of_misspelt(self, *fields: str) -> None:
        """Warns of a missing one of `fields`, which are all that is read, if another has nearly its name."""
        for name in self.value.keys() - set(fields):
            if (meant := _nearest(name, fields)) and meant not in self.value:
                self.warn(f"a field nearly named {meant!r} is ignored")

    def id(self, field: str = "id") -> tuple[str, int | str]:
        """(our id, the owner's id) from a field with a string or an integer."""
        original = self.get(field, (str, int))
        return check_id(
            titles.normal_form(original) if isinstance(original, str) else original,
            path=self.path,
            line=self.line,
            field=field,
        ), original

    def text(self, field: str) -> str:
        """A non-empty string on one line, in NFC."""
        text = titles.one_line(self.get(field, str))
        if not text:
            raise self.error(field, "the text is empty")
        return text

    def strings(self, field: str, default: Any = ...) -> tuple[str, ...]:
        values = self.get(field, list, default)
        return tuple(self.each(field, values, str))

    def each(self, field: str, values: Iterable, kind: type | tuple[type, ...]) -> Iterator:
        """The members of a list, each checked to be of `kind`, strings in NFC; errors name `field[i]`."""
        for i, value in enumerate(values):
            fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
            if not fits or (kind is float and abs(value) > sys.float_info.max):
                names = " or ".join(k.__name__ for k in kind) if isinstance(kind, tuple) else kind.__name__
                raise self.error(f"{field}[{i}]", f"expected {names}, found {value!r:.80}")
            yield titles.normal_form(value) if isinstance(value, str) else value

    def ids(self, field: str, values: Iterable) -> tuple[str, ...]:
        """A list of evidence ids, in NFC."""
        return tuple(
            check_id(value, path=self.path, line=self.line, field=f"{field}[{i}]")
            for i, value in enumerate(self.each(field, values, str))
        )

    def within(self, value: dict) -> Row:
        """An object within this one, at the same place."""
        return dataclasses.replace(self, value=value)

    def objects(self, field: str, default: Any = ...) -> list[Row]:
        """The objects of a list."""
        return [self.within(value) for value in self.each(field, self.get(field, list, default), dict)]

    def label(self, names: Mapping[str, Label]) -> Label:
        """The label of a claim, see `label_of`."""
        return label_of(self.get("label", str), names, self.watch, path=self.path, line=self.line, field="label")


def one_file(files: dict[str, Path], split: str, path: Path) -> None:
    """Records the file of a split. Raises an error for a second one."""
    if split in files:
        raise DataError(
            f"{files[split].name} and {path.name} are both of the split '{split}': leave one of them in the folder",
            path=path.parent,
        )
    files[split] = path


LABEL_NAMES = {str(label): label for label in Label}


def parse_json(content: bytes, kind: type, path) -> Any:
    """The content of a file with one JSON value: an object as a `dict`, or as a `tuple` of all (key, value) pairs; or a
    `list`. A duplicate key is an error for a `dict`, so that nothing is lost.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise DataError(f"the key {twice!r} is there twice", path=path)
        return value

    try:
        # Not json.loads of bytes, which accepts lone surrogates.
        text = content.decode(json.detect_encoding(content))
    except UnicodeDecodeError as error:
        raise DataError(f"not valid JSON: byte {error.start + 1} is not {error.encoding.upper()}", path=path) from None
    value = parse_value(text, path=path, pairs=tuple if kind is tuple else unique)
    if not isinstance(value, kind):
        raise DataError(f"expected one JSON {'list' if kind is list else 'object'}", path=path)
    return value


def read_json(path: Path, kind: type) -> Any:
    """A file of one JSON object or list, see `parse_json`."""
    return parse_json(read_file(path), kind, path)


def json_rows(path: Path) -> Iterator[dict]:
    """The objects of a JSON Lines file, to recognise its layout: other lines are left to its reader to report."""
    for line, text in read_lines(path):
        with contextlib.suppress(DataError):
            yield parse_json_object(text, path=path, line=line)


def parse_rows(
    rows: Iterable[tuple[int, Content]],
    row: Callable[[int, Content], Row],
    path: Path,
    parse: Callable[[Row], Record | None],
    watch: Watch,
    *,
    unique: str = "",
    first_is: str = "on line",
) -> Iterator[Record]:
    """The result of `parse` for the `row` of each (line, content); an invalid row is reported and left out. Rows for
    which `parse` returns None are left out.

    `unique` is the attribute of a record that no other of this file may have (all stay in memory).
    """
    seen: dict[str, int] = {}
    key = operator.attrgetter(unique) if unique else None
    try:
        for line, content in rows:
            try:
                record = parse(row(line, content))
                if record is not None and key is not None and (first := seen.setdefault(key(record), line)) != line:
                    raise DataError(
                        f"duplicate id {key(record)!r}, first {first_is} {first}", path=path, line=line, field="id"
                    )
            except DataError as error:
                watch.problem(error)
                continue
            except LeftOut as reason:
                watch.warn(str(reason), path, line)
                continue
            if record is not None:
                watch.where = (path, line)
                yield record
    except DataError as error:
        # The file itself cannot be read: missing, empty, a byte order mark, not UTF-8.
        watch.problem(error)


def read_records(path, parse: Callable[[Row], Record | None], watch: Watch, *, unique: str = "") -> Iterator[Record]:
    """The records of a JSON Lines file, one per line, see `parse_rows`."""
    path = Path(path)

    def row(line: int, text: str) -> Row:
        return Row(parse_json_object(text, path=path, line=line), path, line, watch)

    return parse_rows(read_lines(path), row, path, parse, watch, unique=unique)


def read_entries(path: Path, parse: Callable[[Row], Record], watch: Watch, *, unique: str = "") -> Iterator[Record]:
    """The records of a JSON array, one per object, see `parse_rows`."""

    def row(number: int, entry: Any) -> Row:
        if not isinstance(entry, dict):
            raise DataError(f"expected an object, found {entry!r:.80}", path=path, field=f"[{number - 1}]")
        return Row(entry, path, number, watch)

    def rows() -> Iterator[tuple[int, Any]]:
        yield from enumerate(read_json(path, list), start=1)

    return parse_rows(rows(), row, path, parse, watch, unique=unique, first_is="in entry")


def read_separated(
    path: Path,
    lines: Iterator[tuple[int, Content]],
    header: Callable[[Content], list[str]],
    split: Callable[[Content, int], list[str]],
    parse: Callable[[Row], Record | None],
    watch: Watch,
    *,
    unique: str = "",
) -> Iterator[Record]:
    """The records of a file separated by tabs, one for each of the (number, content) of `lines` below the header, see
    `parse_rows`. `split` finds the fields of a content with its number, and `header` their names in the first one: it
    raises an error for wrong fields."""
    names: list[str] = []

    def rows() -> Iterator[tuple[int, Content]]:
        _, first = next(lines)
        names.extend(header(first))
        yield from lines

    def row(line: int, content: Content) -> Row:
        fields = split(content, line)
        if len(fields) != len(names):
            raise DataError(
                f"expected {len(names)} fields separated by tabs, found {len(fields)}", path=path, line=line
            )
        return Row(dict(zip(names, fields)), path, line, watch)

    return parse_rows(rows(), row, path, parse, watch, unique=unique)


def parsed_files(
    members: Iterable[tuple[Path, Callable[[], Record]]], watch: Watch, *, nothing: DataError | None = None
) -> Iterator[Record]:
    """The records of a series of files; an invalid file is reported and left out, as are `members` that end in an
    error.

    `nothing` is the error to report if there is no file at all."""
    count = 0
    try:
        for file, parse in members:
            count += 1
            try:
                record = parse()
            except DataError as error:
                watch.problem(error)
                continue
            watch.where = (file, 1)
            yield record
    except DataError as error:
        watch.problem(error)
    if not count and nothing is not None:
        watch.problem(nothing)


def told(read: Callable[[Watch], Iterator[Record]], watch: Watch | None) -> Iterator[Record]:
    """`read(watch)`; without a watch from the caller, warnings are logged when the stream ends."""
    if watch is not None:
        yield from read(watch)
        return
    watch = Watch()
    yield from read(watch)
    watch.tell()


def silent(watch: Watch) -> Watch:
    """A watch for lines whose problems another reading of them reports: one that keeps going if `watch` does."""
    return Watch(keep_going=True) if watch.keep_going else watch


def unique_documents(stream: Callable[[Watch], Iterable[Record]], watch: Watch) -> Iterator[Record]:
    """`stream(watch)`, streaming; ids that occur twice are reported as problems at its end.

    Of millions of ids the hashes are kept, eight bytes each. Where they are equal, the stream is read a second time, so
    that the error names both places and hash collisions cause no false alarm.
    """
    import numpy as np

    hashes = array("q")
    for document in stream(watch):
        hashes.append(hash(document.id))
        yield document
    ordered = np.sort(np.asarray(hashes))
    if not (repeated := set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())):
        return
    places: dict[str, str] = {}
    quiet = Watch(keep_going=True)
    for document in stream(quiet):
        if hash(document.id) in repeated:
            path, line = quiet.where
            if (first := places.setdefault(document.id, f"{path}:{line}")) != f"{path}:{line}":
                watch.problem(
                    DataError(f"duplicate id {document.id!r}, first at {first}", path=path, line=line, field="id")
                )
