"""Plain text, Markdown, rich text, messages and JSON as blocks."""

from __future__ import annotations

import dataclasses
import email
import email.policy
import email.utils
import itertools
import json
import mailbox
import re
from collections.abc import Iterator, Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lisax.documents import encodings, headers, html, rich_text
from lisax.documents.blocks import ITEM, Block, Kind, Unread
from lisax.documents.broken_words import is_broken, joined, whole_words
from lisax.documents.grid import Place
from lisax.text.abbreviations import MONTHS
from lisax.text.dates import in_words
from lisax.text.titles import one_line

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

HEADING_CHARACTERS = 80  # of a line that looks like a heading
TEXT_FIELDS = ("text", "content", "body", "abstract", "description", "summary")
TITLE_FIELDS = ("title", "name", "headline", "subject", "heading")
# Of a file of claims or questions for `lisax`, which may be next to the documents.
QUERY_FIELDS = frozenset(
    "id claim question label answers evidence file kind split candidates operation operands".split()
)
LONGER = 2  # times as long is a message's page that is read and not its plain text
SIGNATURE = "-- "  # the line above it, in RFC 3676
CODE_INDENT = 4  # blanks, of Markdown
DEPTH = 8  # of objects within objects; deeper ones are written as JSON

_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\*{3,})\s*")
_DAY = re.compile(rf"\s*+\d{{1,2}}\.\s+(?:{'|'.join(MONTHS)})\b")  # a date or a century, no number of an item
_FINISHED = re.compile(r"[.!?:;…。][\"'”’“»)\]]*\s*\Z")
_BEGINS_LIST = re.compile(r"\s*+(?:\(?[1a][.)]|[^\w\s(](?!\s+\d))\s")
_RULE = re.compile(r"[\s|+=:-]*")  # between the rows of a table
_FIELD = re.compile(r"\A\s*+[^\W\d][^:.]{0,40}:\s+\S")
_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*(.*?)\s*$", re.MULTILINE)
_QUOTES = "\"'"
_FRONT_FACT = re.compile(r"^(author|date|status):[ \t]+([^\s\[{|>&*!#].*)", re.MULTILINE | re.IGNORECASE)
_FROM = re.compile(rb"^>(>*+From )", re.MULTILINE)
_NOTE = re.compile(r"^\[\^[^\]]+\]:\s*")
_CONTINUED = re.compile(r"\[\^[^\]]+\]:|[!?]{3}")  # with the indented paragraph below it
_REFERENCE = re.compile(r"\[\^[^\]\s]{1,20}\](?!:)")


def decode(path: Path, content: bytes, place: Place) -> str:
    """The text of a file, with a warning if its encoding was guessed. Raises Unread if it does not look like text."""
    try:
        text, guessed = encodings.decoded(content)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unread(
            "not text", f"line {line} is not UTF-8, nor in another encoding that is known", path=path
        ) from None
    if guessed is not None:
        place.warn(f"files that are not UTF-8 (read as {guessed})")
    return text


def read_text(text: str) -> Iterator[Block]:
    """Paragraphs are separated by blank lines; a paragraph of one short line, or a line with a rule below it, is a
    heading, and lines of columns are a table."""
    known = whole_words([text]) if is_broken(text) else frozenset()
    for first, lines in _paragraphs(text.splitlines()):
        place = f"line {first}"
        if (rows := _columns(lines)) is not None:
            yield from headers.tables(rows, place)
            continue
        if len(lines) > 1 and _UNDERLINE.fullmatch(lines[1]) and len(lines[0].strip()) <= HEADING_CHARACTERS:
            yield Block(Kind.HEADING, one_line(lines[0]), 1 if "=" in lines[1] else 2, place)
            lines = lines[2:]
        elif len(lines) == 1 and _looks_like_heading(lines[0]):
            yield Block(Kind.HEADING, one_line(lines[0]), 3, place, is_said=True)
            continue
        # Items, and fields in a line each: `Present: Ann Bee`.
        is_list = len(lines) > 1 and all(map(_FIELD.match, lines))
        items = [True] * len(lines) if is_list else _items(lines)
        for is_item, group in itertools.groupby(zip(items, lines), key=lambda line: line[0]):
            if is_item:
                yield from (Block(Kind.ITEM, one_line(ITEM.sub("", line, count=1)), place=place) for _, line in group)
                continue
            shown = "\n".join(line.strip() for _, line in group if not _UNDERLINE.fullmatch(line))
            if paragraph := one_line(joined(shown, known, always=False)):
                yield Block(Kind.PARAGRAPH, paragraph, place=place)


def _is_marked(line: str) -> bool:
    return ITEM.match(line) is not None and not _DAY.match(line)


def _items(lines: Sequence[str]) -> list[bool]:
    """Whether each line of a paragraph is an item. A sentence may be wrapped before a number or a minus, so
    below an unfinished line a mark is an item's only if it begins a list or follows the last mark."""
    found, before, last = [], ".", -1  # the number of the last mark
    for line in lines:
        if is_item := _is_marked(line):
            mark = line.split(maxsplit=1)[0].strip("(.)")
            number = int(mark) if mark.isdecimal() else ord(mark)
            is_next = number - last in (0, 1)
            if is_item := bool(is_next or _FINISHED.search(before[-9:]) or _BEGINS_LIST.match(line)):
                last = number
        found.append(is_item)
        before = line.rstrip()
    return found


def _columns(lines: Sequence[str]) -> list[list[str]] | None:
    """The rows of lines whose cells are separated by tabs, bars or runs of blanks; None if they are not a table."""
    if len(lines) < 3:
        return None
    for separator in (r"\t", r"\|", r"\s{2,}"):
        rows = [
            [cell.strip() for cell in re.split(separator, line.strip().strip("|"))]
            for line in lines
            if not _RULE.fullmatch(line)
        ]
        widths = set(map(len, rows))
        if len(rows) > 1 and len(widths) == 1 and widths.pop() > 1:
            return rows
    return None


def read_titled(text: str) -> tuple[str, list[Block]]:
    """(title, blocks) of plain text: the title is a first line with a line drawn below it, or ""."""
    blocks = list(read_text(text))
    is_titled = bool(blocks) and blocks[0].kind is Kind.HEADING and not blocks[0].is_said
    return blocks[0].text if is_titled else "", blocks


def _looks_like_heading(line: str) -> bool:
    line = line.strip()
    return len(line) <= HEADING_CHARACTERS and line[-1] not in ".!?:;,…。" and not _is_marked(line) and any(
        character.isalpha() for character in line
    )  # fmt: skip


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of the runs between blank lines."""
    for is_filled, group in itertools.groupby(enumerate(lines, start=1), key=lambda line: bool(line[1].strip())):
        if is_filled:
            numbered = list(group)
            yield numbered[0][0], [line for _, line in numbered]


def read_markdown(text: str, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks): markdown-it-py writes it as HTML. The title is that of the front matter or the first heading,
    and author, date and status in it are read; code, fenced or indented, is left out, and a footnote is a block of its own."""
    from markdown_it import MarkdownIt

    title, facts = "", []
    if front := _FRONT.match(text):
        text = text[front.end() :]
        if named := _FRONT_TITLE.search(front[1]):
            title = one_line(named[1].strip(_QUOTES))
        facts = [f"{name}: {value.strip().strip(_QUOTES)}" for name, value in _FRONT_FACT.findall(front[1])]
    parser = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").enable("strikethrough")
    parser.disable("code", ignoreInvalid=True)
    parser.block.ruler.before("table", "indented code", _is_indented_code)
    parser.add_render_rule("fence", lambda *_: "")
    _, blocks = html.read(parser.render(_REFERENCE.sub("", text)), place)
    blocks = [Block(Kind.FOOTNOTE, _NOTE.sub("", block.text)) if _NOTE.match(block.text) else block for block in blocks]
    title = title or next((block.text for block in blocks if block.kind is Kind.HEADING), "")
    return title, [*(Block(Kind.PARAGRAPH, one_line(fact)) for fact in facts), *blocks]


def _is_indented_code(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Passes over lines indented by four blanks, as code. Writers also indent some text, which is read:
    paragraphs of a list, a footnote or a box (`!!! note`), items of a list, and the first line of a paragraph."""

    def is_indented(line: int) -> bool:
        return state.sCount[line] - state.blkIndent >= CODE_INDENT

    before = state.tokens[-2].content if len(state.tokens) > 1 else ""
    if state.level or not is_indented(start) or _CONTINUED.match(before):
        return False
    if ITEM.match(state.getLines(start, start + 1, 0, False).strip()):
        return False
    last = start + 1
    while last < end and (state.isEmpty(last) or is_indented(last)):
        last += 1
    if last == start + 1 < end:
        return False
    state.line = last
    return True


def read_rich_text(text: str) -> Iterator[Block]:
    for is_note, part in rich_text.read(text):
        if isinstance(part, list):
            yield from headers.tables(part)
        else:
            yield from [Block(Kind.FOOTNOTE, one_line(part))] if is_note else read_text(part)


# --- Messages ------------------------------------------------------------------------------


def read_message(content: bytes, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks) of an .eml file: the title is its subject with its date, the first sentence names writer and
    readers. Attachments are left out, with a warning."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    return _message(message, place)


def read_mailbox(path: Path, place: Place) -> Iterator[Block]:
    """The messages of an .mbox file, each below its subject."""
    for message in mailbox.mbox(path, factory=_stored_message, create=False):
        title, blocks = _message(message, place)
        yield Block(Kind.HEADING, title or "message", 1)
        yield from (
            block if block.kind is not Kind.HEADING else dataclasses.replace(block, level=block.level + 1)
            for block in blocks
        )


def _stored_message(file: IO[bytes]) -> EmailMessage:
    """A message of an .mbox file, where lines that begin with `From ` have a `>` before it."""
    return email.message_from_bytes(_FROM.sub(rb"\1", file.read()), policy=email.policy.default)


def _message(message: EmailMessage, place: Place) -> tuple[str, list[Block]]:
    subject = one_line(str(message["subject"] or ""))
    blocks = []
    try:
        sent = email.utils.parsedate_to_datetime(str(message["date"]))
        day = in_words(sent.year, sent.month, sent.day)
    except (TypeError, ValueError):
        day = ""
    writer, readers = (_names(message, field) for field in ("from", "to"))
    if writer:
        to = f" to {readers}" if readers else ""
        blocks.append(Block(Kind.PARAGRAPH, f"{writer} wrote{to}{day and f' on {day}'}."))
    plain, page = _body(message, "plain"), html.read(_body(message, "html"), place)[1]
    # The plain text of some messages only points to the page, and it has no tables.
    is_page = sum(len(block.text) for block in page) > LONGER * len(plain) or any(block.rows for block in page)
    blocks += page if is_page else read_text(_own_text(plain))
    place.warn("attachments of messages (left out)", sum(1 for _ in message.iter_attachments()))
    return f"{subject} ({day})" if subject and day else subject, blocks


def _body(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    if body is None:
        return ""
    try:
        return body.get_content()
    except (LookupError, UnicodeError):
        return body.get_payload(decode=True).decode("utf-8", "replace")


def _own_text(text: str) -> str:
    """The plain text of a message without its signature and quotes. A line `--` only separates paragraphs."""
    lines = text.splitlines()
    if SIGNATURE in lines:
        del lines[len(lines) - 1 - lines[::-1].index(SIGNATURE) :]
    return "\n".join(line if line.rstrip() != "--" else "" for line in lines if not line.startswith(">"))


def _names(message: EmailMessage, field: str) -> str:
    found = email.utils.getaddresses([str(value) for value in message.get_all(field, [])])
    return ", ".join(one_line(name or address) for name, address in found if name or address)


# --- JSON ----------------------------------------------------------------------------------


def read_json(text: str, path: Path) -> list[Block]:
    """A list of objects is a table, an object is sections of `name: value`, texts are paragraphs."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unread("damaged", f"not valid JSON: {error}"[:200], path=path) from None
    return _records(value, path)


def read_json_lines(text: str, path: Path) -> list[Block]:
    """Reads the values of the lines as one list."""
    values = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise Unread("damaged", f"line {number} is not valid JSON: {error}"[:200], path=path) from None
    return _records(values, path)


def _records(value: Any, path: Path) -> list[Block]:
    """The blocks of a value. Raises Unread for claims and questions, which are not evidence for themselves."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and first.keys() & {"claim", "question"} and first.keys() <= QUERY_FIELDS:
        raise Unread("claims or questions", path=path)
    return list(_json_blocks(value, 1))


def _json_blocks(value: Any, level: int, name: str = "") -> Iterator[Block]:
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        if any(isinstance(one.get(field), str) and len(one[field]) > 100 for one in value for field in TEXT_FIELDS):
            for one in value:
                yield from _article(one, level)
        else:
            yield _table(value, name)
    elif _is_rows(value):
        yield from headers.tables([list(map(_scalar, row)) for row in value], caption=name)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, (dict, list)):
                yield from _json_blocks(one, level + 1)
            else:
                yield Block(Kind.ITEM, _scalar(one))
    elif isinstance(value, dict):
        nested = {}
        for key, one in value.items():
            if isinstance(one, (dict, list)) and one and level < DEPTH and not _is_short_list(one):
                nested[key] = one
            elif text := _scalar(one):
                is_text = isinstance(one, str) and len(one) > 100
                yield Block(Kind.PARAGRAPH, one_line(text) if is_text else f"{_words(key)}: {one_line(text)}")
        members = list(value.values())
        if nested and len(nested) == len(value) > 1 and _are_alike(members):
            yield _table([{name or "name": key, **one} for key, one in value.items()], name)
            return
        for key, one in nested.items():
            yield Block(Kind.HEADING, _words(key), level)
            yield from _json_blocks(one, level + 1, _words(key))
    elif text := _scalar(value):
        yield Block(Kind.PARAGRAPH, one_line(text))


def _is_rows(value: Any) -> bool:
    """Whether a value is a list of lists of scalars, all of one length: a table whose first row is the header."""
    if not (isinstance(value, list) and len(value) > 1 and all(isinstance(row, list) for row in value)):
        return False
    is_flat = not any(isinstance(cell, (dict, list)) for row in value for cell in row)
    return is_flat and len(set(map(len, value))) == 1 and len(value[0]) > 1


def _article(one: Mapping[str, Any], level: int) -> Iterator[Block]:
    title = next((one[field] for field in TITLE_FIELDS if isinstance(one.get(field), str)), "")
    if title:
        yield Block(Kind.HEADING, one_line(title), level)
    yield from _json_blocks({key: value for key, value in one.items() if value != title}, level + 1)


def _are_alike(members: Sequence[Any]) -> bool:
    """Whether these are objects of scalars with the same fields, mostly."""
    if not all(isinstance(one, dict) and not any(isinstance(v, (dict, list)) for v in one.values()) for one in members):
        return False
    fields = [set(one) for one in members]
    return bool(fields) and len(set.union(*fields)) <= 1.5 * len(set.intersection(*fields))


def _is_short_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(one, (dict, list)) for one in value) and len(str(value)) < 200


def _table(records: Sequence[Mapping[str, Any]], caption: str) -> Block:
    flat = [dict(_flat(record)) for record in records]
    header = list(dict.fromkeys(key for record in flat for key in record))
    rows = tuple(tuple(record.get(key, "") for key in header) for record in flat)
    return Block(Kind.TABLE, caption, header=tuple(map(_words, header)), rows=rows)


def _flat(record: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if isinstance(value, dict) and depth < DEPTH:
            yield from _flat(value, f"{before}{key} ", depth + 1)
        else:
            yield f"{before}{key}", _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(isinstance(one, (dict, list)) for one in value):
        return ", ".join(map(_scalar, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(key: str) -> str:
    """A field's name in words: `seatsWon` and `seats_won` are `seats won`."""
    return one_line(re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", str(key)).replace("_", " "))
