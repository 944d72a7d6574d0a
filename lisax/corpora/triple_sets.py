"""Sets of triples with texts: DART and WebNLG in the owners' JSON and XML, converted to a title and pairs.

    dart-v1.1.1-full-{train,dev,test}.{json,xml}     DART; of a split with both, the JSON is read
    {train,dev,test}/{n}triples/*.xml                WebNLG, also in `webnlg*.tar.gz` as it is packed

UDT-QA (section 3.1) gives the verbalizer pairs, not triples. The title is the object of DART's triple `[TABLECONTEXT] |
[TITLE] | title`, else the first subject that is not an object of another triple. Every other triple becomes (name,
object), if its subject is the title or another pair's value; any other subject is added before its first triple as
("subject", subject). An entry without a text is left out and reported.
"""

from __future__ import annotations

import re
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora import archives
from lisax.corpora.dataset import SPLITS, StructureDataset
from lisax.corpora.reading import Row, Watch, read_entries
from lisax.errors import DataError
from lisax.files.reading import DEEPEST_NESTING
from lisax.records import DataText, check_id
from lisax.text import titles

TABLE, TITLE = "[TABLECONTEXT]", "[TITLE]"
Triple = tuple[str, str, str]
LARGEST_ENTRY = 100_000  # in elements
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# A value in quotes with its language, its type or its unit.
_LITERAL = re.compile(r'"(.*)"\s*(?:@[A-Za-z-]+|\^\^[^\s"]+|(\([^()]*\)))', re.DOTALL)
_DART = re.compile(r"dart-.*-(train|dev|test)\.(json|xml)")


class Dart(StructureDataset):
    layout = "dart"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.data_text_files = dart_files(folder)

    def _data_texts(self, split, watch):
        path = self.data_text_files[split]
        if path.suffix == ".json":
            return read_entries(path, lambda row: parse_dart(row, split), watch)
        return read_dart_xml(path, split, watch)


class WebNlg(StructureDataset):
    layout = "webnlg"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.data_text_files = webnlg_files(folder)

    def _data_texts(self, split, watch):
        return read_webnlg(self.data_text_files[split], split, watch)


def dart_files(folder: Path) -> dict[str, Path]:
    """Split -> its file, train first."""
    found = {}
    for path in sorted(folder.glob("dart-*"), reverse=True):
        if match := _DART.fullmatch(path.name):
            found[match[1]] = path
    return {split: found[split] for split in SPLITS if split in found}


def webnlg_files(folder: Path) -> dict[str, list[Path]]:
    """Split -> the archive, or its XML files by path; a file's split is the name of the folder that contains it."""
    if packed := sorted(folder.glob("webnlg*.tar.gz")):
        names = {_split_of(name) for name, _ in archives.read_folder(packed[0], ".xml")}
        return {split: packed[:1] for split in SPLITS if split in names}
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("**/*triples/*.xml")):
        files.setdefault(_split_of(path.relative_to(folder)), []).append(path)
    return {split: files[split] for split in SPLITS if split in files}


def _split_of(path: Path) -> str:
    return next((part for part in path.parts if part in SPLITS), "")


def to_pairs(triples: Sequence[Triple]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(title, pairs) of a set of triples; names become words, `NUMBER_OF_STUDENTS` is `number of students`."""
    title = next((value for subject, name, value in triples if subject == TABLE and name.upper() == TITLE), None)
    inner = [triple for triple in triples if not (triple[0] == TABLE and triple[1].upper() == TITLE)]
    values = {value for _, _, value in inner}
    if title is None:
        subjects = [subject for subject, _, _ in inner if subject != TABLE]
        title = next((subject for subject in subjects if subject not in values), subjects[0] if subjects else "")
    pairs, told_of = [], {title, TABLE, *values}
    for subject, name, value in inner:
        if subject not in told_of:
            told_of.add(subject)
            pairs.append(("subject", subject))
        pairs.append((words(name), value))
    return title, tuple(pair for pair in pairs if pair[1])


def words(name: str) -> str:
    """A relation's name as words, in lower case."""
    return titles.one_line(_CAMEL.sub(" ", name.replace("_", " "))).lower()


def _record(
    key: str, triples: Sequence[Triple], texts: Iterable[str], source: str, watch: Watch, path: Path
) -> DataText | None:
    title, pairs = to_pairs([tuple(map(titles.one_line, triple)) for triple in triples])
    texts = tuple(dict.fromkeys(filter(None, map(titles.one_line, texts))))
    if not texts or not pairs:
        watch.warn("sets of triples without a text or a triple (left out)", path)
        return None
    watch.where = (path, None)
    return DataText(key, title, pairs, texts, source)


# --- DART's JSON ----------------------------------------------------------------------------


def parse_dart(row: Row, split: str) -> DataText | None:
    """One member of the file's list, with the id `dart:{split}:{number}`; `source` is that of its first text."""

    def check(fits: bool, field: str, expected: str, found: Any) -> None:
        if not fits:
            message = f"expected {expected}, found {found!r:.80}"
            raise DataError(message, path=row.path, field=f"[{row.line - 1}]{field}")

    triples, texts = row.value.get("tripleset"), row.value.get("annotations")
    check(isinstance(triples, list), ".tripleset", "a list", triples)
    check(isinstance(texts, list), ".annotations", "a list", texts)
    for i, triple in enumerate(triples):
        fits = isinstance(triple, list) and len(triple) == 3 and all(isinstance(part, str) for part in triple)
        check(fits, f".tripleset[{i}]", "three strings", triple)
    for i, text in enumerate(texts):
        fits = isinstance(text, dict) and isinstance(text.get("text"), str) and isinstance(text.get("source", ""), str)
        check(fits, f".annotations[{i}]", "an object with a text", text)
    source = texts[0].get("source", "") if texts else ""
    return _record(
        f"dart:{split}:{row.line - 1}", triples, [text["text"] for text in texts], source, row.watch, row.path
    )


# --- XML ------------------------------------------------------------------------------------


def read_dart_xml(path: Path, split: str, watch: Watch) -> Iterator[DataText]:
    """DART's XML: like WebNLG's, but with blanks in names, and with a text's source as its comment."""
    for number, (triples, texts, _) in enumerate(_entries(path, path, watch)):
        source = texts[0][0] if texts else ""
        if record := _record(f"dart:{split}:{number}", triples, [text for _, text in texts], source, watch, path):
            yield record


def read_webnlg(places: Sequence[Path], split: str, watch: Watch) -> Iterator[DataText]:
    """The entries of all files of a split, by path; an id is `webnlg:{split}:{n}triples_{file}:{eid}`.

    Releases after 2017 have files of the same name for every number of triples, each with its own count of eids."""
    try:
        for path, file in _files(places, split):
            name = path.stem if path.stem.startswith(path.parent.name) else f"{path.parent.name}_{path.stem}"
            name = check_id(titles.page_id(name), path=path, field="file name")
            for triples, texts, eid in _entries(file, path, watch):
                triples = [(_entity(subject), relation, _entity(value)) for subject, relation, value in triples]
                key = titles.page_id(f"webnlg:{split}:{name}:{eid}")
                if record := _record(key, triples, [text for _, text in texts], "webnlg", watch, path):
                    yield record
    except DataError as error:
        watch.problem(error)


def _files(places: Sequence[Path], split: str) -> Iterator[tuple[Path, Path]]:
    """(path, unpacked path) of each file, by path; both are equal for files that are not packed."""
    if places[0].suffix != ".gz":
        yield from ((path, path) for path in places)
        return
    with tempfile.TemporaryDirectory(prefix="lisax-webnlg-") as work:
        unpacked = archives.unpack(places[0], work)
        names = sorted(name for path in unpacked if (name := path.relative_to(work)).suffix == ".xml")
        yield from ((places[0] / name, Path(work, name)) for name in names if _split_of(places[0] / name) == split)


def _entity(text: str) -> str:
    """`"Aarhus_Airport"` and `"Aarhus Airport"@en` as `Aarhus Airport`; `"52.0"(minutes)` as `52.0 (minutes)`."""
    text = text.strip()
    if literal := _LITERAL.fullmatch(text):
        text = " ".join(filter(None, literal.groups()))
    return text.strip('"').replace("_", " ")


def _entries(file: Path, path: Path, watch: Watch) -> Iterator[tuple[list[Triple], list[tuple[str, str]], str]]:
    """(triples, [(comment, English text)], eid) of each entry of a benchmark file, reported as `path`, streaming."""
    try:
        for node in _nodes(file, path):
            texts = [
                (lex.get("comment", ""), lex.findtext("text") or lex.text or "")
                for lex in node.iter("lex")
                if lex.get("lang", "") in ("", "en")
            ]
            found = [(triple.text or "").split(" | ") for triple in node.iter("mtriple")]
            eid = node.get("eid", "")
            if all(len(triple) == 3 for triple in found):
                yield [tuple(triple) for triple in found], texts, eid
            else:
                watch.problem(
                    DataError(f"entry {eid!r:.80}: expected `subject | name | object`", path=path, field="mtriple")
                )
    except ElementTree.ParseError as error:
        watch.problem(DataError(f"not well-formed XML: {error}", path=path, line=error.position[0]))
    except (LookupError, ValueError) as error:  # an encoding that Python or expat does not support
        watch.problem(DataError(f"cannot be read: {error}", path=path))
    except OSError as error:
        watch.problem(DataError(f"cannot be read: {error.strerror}", path=path))
    except DataError as error:
        watch.problem(error)


def _nodes(file: Path, path: Path) -> Iterator[ElementTree.Element]:
    """Yields the `entry` elements of a file in bounded memory: other elements are dropped, and a too large entry raises
    a DataError."""
    open_nodes: list[ElementTree.Element] = []
    entry, size = None, 0
    if not file.is_file():
        raise DataError("expected a file", path=path)
    for event, node in ElementTree.iterparse(file, ("start", "end")):
        if event == "start":
            open_nodes.append(node)
            size += 1
            if entry is None and node.tag == "entry":
                entry, size = node, 1
            if size > LARGEST_ENTRY or len(open_nodes) > DEEPEST_NESTING:
                raise DataError(
                    f"expected entries of at most {LARGEST_ENTRY:,} elements, {DEEPEST_NESTING} deep", path=path
                )
            continue
        open_nodes.pop()
        if node is entry:
            yield node
            entry = None
        if entry is None and open_nodes:
            open_nodes[-1].clear()
