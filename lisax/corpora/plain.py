"""LisaX's own layout, JSON Lines that anyone can write, used by generated worlds and for user data.

    claims.{split}.jsonl     {"id", "claim", "label", "evidence": [["Page_3", "Other_0"]], "kind"?, "candidates"?,
                              "mixed_evidence"?: [["Page_3", "Graph#e1"], ["Table#r4"]]}
    pages.jsonl              {"id", "title", "sentences": ["...", ...], "headings"?: ["...", ...], "redirects"?: [...]}
    tables.jsonl             {"id", "title", "header", "rows", "caption"?, "page"?}
    graphs.jsonl             {"id", "subject", "edges": [["relation", "object"], ...], "page"?}
    questions.{split}.jsonl  {"id", "question", "answers", "evidence"?, "operation"?, "operands"?}

Each member of a claim's `evidence` is a complete set of unit ids; sentence n (from 0) of page P is `P_n`. Evidence sets
with rows `T#r{i}` or edges `G#e{i}`, which train models on an index of all sources, are in `mixed_evidence`. A
question's `evidence` is a list of single ids, each of which contains an answer: cell j of row i of table T is
`T#r{i}c{j}`. `operation` is none, max, min, count, sum or average, and missing if unknown; `operands` are the cells of
a count, a sum or an average. `label` is SUPPORTS, REFUTES or NOT ENOUGH INFO, and missing for claims to be judged. Ids
have no white space. Ids and texts are in NFC. Reading a written file returns equal records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lisax.corpora.dataset import Dataset, check_splits, in_order
from lisax.corpora.files import FileFolder, has_files
from lisax.corpora.reading import LABEL_NAMES, Record, Row, Watch, parse_rows, read_records, told, unique_documents
from lisax.files.reading import read_lines
from lisax.files.writing import write_json_lines
from lisax.records import Claim, Document, Graph, Operation, Question, Sentence, Table, is_cell
from lisax.text import titles


class Plain(Dataset):
    layout = "plain"

    def __init__(self, folder: Path):
        super().__init__(folder, *(_by_split(folder, stem) for stem in ("claims", "questions")))
        self.table_claim_files = _by_split(folder, "table_claims")
        self.has_own_table_claims = bool(self.table_claim_files)
        self.has_pages = (folder / "pages.jsonl").is_file()
        self.has_table_files = not (folder / "tables.jsonl").is_file() and has_files(folder / "tables")
        if not self.has_pages and (self.has_table_files or (folder / "tables.jsonl").is_file()):
            self.table_claim_files = self.table_claim_files or self.files

    def may_read(self, file):
        if self.has_table_files and self.folder / "tables" in file.parents:
            return super().may_read(file)
        named = (self.folder / name for name in ("pages.jsonl", "tables.jsonl", "graphs.jsonl", "world.json"))
        return file in {*self.files.values(), *self.question_files.values(), *self.table_claim_files.values(), *named}

    @property
    def table_claim_splits(self):
        return tuple(self.table_claim_files)

    def _claims(self, split, watch):
        return read_records(self.files[split], parse_claim, watch, unique="id")

    def _table_claims(self, split, watch):
        return read_records(self.table_claim_files[split], parse_claim, watch, unique="id")

    def _documents(self, watch):
        if not self.has_pages and (self.table_claim_files or not self.files):
            return ()
        return read_records(self.folder / "pages.jsonl", parse_page, watch)

    def _tables(self, watch):
        if self.has_table_files:
            return FileFolder(self.folder / "tables")._tables(watch)
        return self._if_there("tables.jsonl", parse_table, watch)

    def _graphs(self, watch):
        return self._if_there("graphs.jsonl", parse_graph, watch)

    def _questions(self, split, watch):
        return read_records(self.question_files[split], parse_question, watch, unique="id")

    def _if_there(self, name: str, parse, watch):
        path = self.folder / name
        return read_records(path, parse, watch) if path.is_file() else ()


def is_plain(folder: Path) -> bool:
    """Whether a folder has pages, claims or questions in this layout."""
    return (folder / "pages.jsonl").is_file() or any(
        _by_split(folder, stem) for stem in ("claims", "table_claims", "questions")
    )


def _by_split(folder: Path, stem: str) -> dict[str, Path]:
    files = {path.name.split(".")[1]: path for path in folder.glob(f"{stem}.*.jsonl") if path.name.count(".") == 2}
    check_splits(folder, files)
    return in_order(files)


def _own(record_id: str, original: int | str) -> int | str | None:
    """The original id if it differs from ours."""
    return None if original == record_id else original


# --- Reading --------------------------------------------------------------------------------


def read_claims(path, watch: Watch | None = None) -> Iterator[Claim]:
    """Claims, streaming."""
    return told(lambda w: read_records(path, parse_claim, w, unique="id"), watch)


def read_claim_lines(path: Path, watch: Watch) -> Iterator[Claim]:
    """A text file of one claim per line, whose id is its line."""
    return parse_rows(
        read_lines(path), lambda line, text: Row({"claim": text}, path, line, watch), path, parse_numbered, watch
    )


def read_pages(path, watch: Watch | None = None) -> Iterator[Document]:
    """Pages, streaming; duplicate ids are reported at the end."""
    return told(lambda w: unique_documents(lambda v: read_records(path, parse_page, v), w), watch)


def read_tables(path, watch: Watch | None = None) -> Iterator[Table]:
    """Tables, streaming, as `read_pages`."""
    return told(lambda w: unique_documents(lambda v: read_records(path, parse_table, v), w), watch)


def read_graphs(path, watch: Watch | None = None) -> Iterator[Graph]:
    """Graphs, streaming, as `read_pages`."""
    return told(lambda w: unique_documents(lambda v: read_records(path, parse_graph, v), w), watch)


def read_questions(path, watch: Watch | None = None) -> Iterator[Question]:
    return told(lambda w: read_records(path, parse_question, w, unique="id"), watch)


def parse_claim(row: Row) -> Claim:
    claim_id, original = row.id()
    text = row.text("claim")
    row.warn_of_misspelt("id", "claim", "label", "evidence", "candidates", "kind", "mixed_evidence")
    label = None if row.value.get("label") is None else row.label(LABEL_NAMES)
    return Claim(
        claim_id,
        text,
        label,
        _sets(row, "evidence"),
        row.ids("candidates", row.get("candidates", list, [])),
        row.get("kind", str, None),
        _own(claim_id, original),
        _sets(row, "mixed_evidence"),
    )


def parse_numbered(row: Row) -> Claim:
    """A claim whose id, if it has none, is its line."""
    row.value.setdefault("id", row.line)
    return parse_claim(row)


def _sets(row: Row, field: str) -> tuple[tuple[str, ...], ...]:
    sets = tuple(
        row.ids(f"{field}[{i}]", members) for i, members in enumerate(row.each(field, row.get(field, list, []), list))
    )
    for i, members in enumerate(sets):
        if not members:
            raise row.error(f"{field}[{i}]", "an evidence set is empty")
    return sets


def parse_page(row: Row) -> Document:
    page, original = row.id()
    texts = row.strings("sentences")
    headings = row.strings("headings", [""] * len(texts))
    if len(headings) != len(texts):
        raise row.error("headings", f"expected {len(texts)}, one per sentence, found {len(headings)}")
    sentences = tuple(
        Sentence(page, number, titles.one_line(text), titles.one_line(heading))
        for number, (text, heading) in enumerate(zip(texts, headings))
    )
    redirects = tuple(map(titles.one_line, row.strings("redirects", [])))
    title = titles.one_line(row.get("title", str))
    row.warn_of_misspelt("id", "title", "sentences", "headings", "redirects")
    return Document(page, title, sentences, redirects, _text(_own(page, original)))


def parse_table(row: Row) -> Table:
    table, original = row.id()
    header = row.strings("header")
    row.warn_of_misspelt("id", "title", "header", "rows", "caption", "page")
    rows = []
    for i, cells in enumerate(row.each("rows", row.get("rows", list), list)):
        rows.append(tuple(row.each(f"rows[{i}]", cells, str)))
        if len(cells) != len(header):
            raise row.error(f"rows[{i}]", f"expected {len(header)} cells as in the header, found {len(cells)}")
    title, caption = map(titles.normal_form, (row.get("title", str), row.get("caption", str, "")))
    return Table(table, title, header, tuple(rows), caption, _page(row), _text(_own(table, original)))


def parse_graph(row: Row) -> Graph:
    graph, _ = row.id()
    row.warn_of_misspelt("id", "subject", "edges", "page")
    edges = []
    for i, edge in enumerate(row.each("edges", row.get("edges", list), list)):
        if len(edge) != 2:
            raise row.error(f"edges[{i}]", f"expected [relation, object], found {edge!r:.80}")
        edges.append(tuple(row.each(f"edges[{i}]", edge, str)))
    return Graph(graph, titles.normal_form(row.get("subject", str)), tuple(edges), _page(row))


def parse_question(row: Row) -> Question:
    question, original = row.id()
    row.warn_of_misspelt("id", "question", "answers", "evidence", "operation", "operands")
    operation = row.get("operation", str, None)
    if operation is not None and operation not in tuple(Operation):
        raise row.error("operation", f"expected one of {', '.join(Operation)}, found {operation!r:.80}")
    operands = row.ids("operands", row.get("operands", list, []))
    for i, cell in enumerate(operands):
        if not is_cell(cell):
            raise row.error(
                f"operands[{i}]", f"{cell!r:.80} is not the id of a cell: expected {{table}}#r{{row}}c{{column}}"
            )
    return Question(
        question,
        row.text("question"),
        row.strings("answers", []),
        row.ids("evidence", row.get("evidence", list, [])),
        _own(question, original),
        None if operation is None else Operation(operation),
        operands,
    )


def _page(row: Row) -> str | None:
    return None if row.value.get("page") is None else row.id("page")[0]


def _text(original: int | str | None) -> str | None:
    return None if original is None else str(original)


# --- Writing --------------------------------------------------------------------------------


def write_claims(path, claims: Iterable[Claim]) -> int:
    return _write(
        path,
        claims,
        lambda claim: {
            "claim": claim.text,
            "label": None if claim.label is None else str(claim.label),
            "evidence": claim.evidence_sets,
            "kind": claim.kind,
            "candidates": claim.candidates or None,
            "mixed_evidence": claim.mixed_sets or None,
        },
    )


def write_pages(path, documents: Iterable[Document]) -> int:
    """Writes pages; each sentence is written at its own number, and gaps become empty sentences."""
    return _write(
        path,
        documents,
        lambda document: {
            "title": document.title,
            "sentences": by_number(document, "text"),
            "headings": by_number(document, "heading") if any(one.heading for one in document.sentences) else None,
            "redirects": document.redirects or None,
        },
    )


def write_tables(path, tables: Iterable[Table]) -> int:
    return _write(
        path,
        tables,
        lambda table: {
            "title": table.title,
            "header": table.header,
            "rows": table.rows,
            "caption": table.caption or None,
            "page": table.page,
        },
    )


def write_questions(path, questions: Iterable[Question]) -> int:
    return _write(
        path,
        questions,
        lambda question: {
            "question": question.text,
            "answers": question.answers,
            "evidence": question.evidence or None,
            "operation": question.operation,
            "operands": question.operands or None,
        },
    )


def by_number(document: Document, field: str) -> list[str]:
    """The texts or the headings of sentences, at their own numbers; gaps are empty."""
    known = {sentence.number: getattr(sentence, field) for sentence in document.sentences}
    return [known.get(number, "") for number in range(max(known, default=-1) + 1)]


def _original(record) -> int | str:
    return record.id if record.original_id is None else record.original_id


def _write(path, records: Iterable[Record], fields: Callable[[Record], dict]) -> int:
    """Writes the id of each record, and its fields that are not None."""
    rows = ({"id": _original(record), **fields(record)} for record in records)
    return write_json_lines(path, ({name: value for name, value in row.items() if value is not None} for row in rows))
