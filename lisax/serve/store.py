"""Stores answers and feedback in SQLite: each change is one transaction, and is on disk when the call returns."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError

NAME, LOCK = "feedback.sqlite", "lock"
FORMAT = 1
BLANK = ("owner", "seconds", "tier", "parts", "left")  # fields without texts of documents, which stay
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
  id TEXT PRIMARY KEY, corpus TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, result TEXT NOT NULL,
  created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS feedback (
  id INTEGER PRIMARY KEY AUTOINCREMENT, answer TEXT NOT NULL REFERENCES answers(id), kind TEXT NOT NULL,
  unit TEXT NOT NULL, value TEXT NOT NULL, created REAL NOT NULL, UNIQUE (answer, kind, unit));
CREATE INDEX IF NOT EXISTS newest_answers ON answers (created, id);
"""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredAnswer:
    """`kind`: question, claim, search or paragraph. `result`: the models' output, see `answering`; of a private corpus
    with its `owner`."""

    id: str
    corpus: str
    kind: str
    text: str
    result: dict[str, Any]
    created: float


@dataclasses.dataclass(frozen=True, slots=True)
class Feedback:
    """`kind`: cell, table (`value` right or wrong) or verdict (`value`: its label and evidence). `unit`: the evidence
    id, or for a verdict its source."""

    id: int
    answer: StoredAnswer
    kind: str
    unit: str
    value: Any
    created: float


def private_folder(folder: Path) -> None:
    """Creates a folder that only its owner may open; an existing one keeps its permissions."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other server is starting on a state folder: they share its secret and its ids of indexes."""
    private_folder(folder)
    with (folder / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Store:
    """Thread-safe. New feedback on the same unit replaces the old."""

    def __init__(self, folder: Path, answers_kept: int = 10_000):
        self.path, self._kept, self._lock = folder / NAME, answers_kept, threading.Lock()
        private_folder(folder)
        try:
            # Questions must be readable only by the owner. SQLite gives its side files the same permissions.
            for name in (NAME, f"{NAME}-wal", f"{NAME}-shm"):
                if name == NAME or (folder / name).exists():
                    os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
                    os.chmod(folder / name, 0o600)
            self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level="IMMEDIATE", timeout=10)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._db.execute("PRAGMA secure_delete=ON")  # deleted texts are not in the file any more
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, FORMAT):
                raise LisaxError(f"{self.path} is of format {found}, not {FORMAT}: it belongs to another LisaX")
            self._db.executescript(_TABLES + f"PRAGMA user_version={FORMAT};")
        except (sqlite3.Error, OSError) as error:
            raise LisaxError(f"{self.path} cannot be used: {error}") from None

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _change(self, *statements: tuple[str, tuple]) -> None:
        with self._lock, self._db:
            for statement, values in statements:
                self._db.execute(statement, values)

    def _read(self, statement: str, values: tuple = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(statement, values).fetchall()

    # --- Answers --------------------------------------------------------------------------------

    def add_answer(self, corpus: str, kind: str, text: str, result: dict[str, Any]) -> StoredAnswer:
        """Stores an answer, and deletes the oldest answers without feedback."""
        answer = StoredAnswer(secrets.token_hex(8), corpus, kind, text, result, time.time())
        self._change(
            (
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)",
                (answer.id, corpus, kind, text, json.dumps(result, ensure_ascii=False), answer.created),
            ),
            (
                "DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE id NOT IN (SELECT answer FROM feedback)"
                " ORDER BY created DESC LIMIT -1 OFFSET ?)",
                (self._kept,),
            ),
        )
        return answer

    def answer(self, answer_id: str) -> StoredAnswer | None:
        rows = self._read("SELECT * FROM answers WHERE id = ?", (answer_id,))
        return _answer(rows[0]) if rows else None

    def answered_uploads(self) -> set[str]:
        """The ids of the uploads that answers have texts of."""
        return {
            row["corpus"]
            for row in self._read("SELECT DISTINCT corpus FROM answers WHERE json_extract(result, '$.uploaded')")
        }

    def blank(self, corpora: Collection[str]) -> None:
        """Removes all texts of documents from the answers from these corpora; the questions and their feedback stay."""
        kept = ", ".join(f"'{field}', json_extract(result, '$.{field}')" for field in BLANK)
        these = ", ".join("?" * len(corpora))
        # A patch leaves out fields that are null.
        self._change(
            (
                f"UPDATE answers SET result = json_patch('{{\"tables\": []}}', json_object({kept})) WHERE corpus IN ({these})",
                tuple(corpora),
            )
        )
        with self._lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- Feedback -------------------------------------------------------------------------------

    def say(self, answer_id: str, kind: str, unit: str, value: Any) -> None:
        self._change(
            (
                "INSERT INTO feedback (answer, kind, unit, value, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT "
                "(answer, kind, unit) DO UPDATE SET value = excluded.value, created = excluded.created",
                (answer_id, kind, unit, json.dumps(value, ensure_ascii=False), time.time()),
            )
        )

    def take_back(self, feedback_id: int, owners: Collection[str] = ()) -> None:
        """Deletes feedback, unless it is on another's answer: see `feedback`."""
        seen, values = _seen(owners)
        statement = f"DELETE FROM feedback WHERE id = ? AND answer IN (SELECT id FROM answers a WHERE {seen})"
        self._change((statement, (feedback_id, *values)))

    def feedback(
        self, answer_id: str | None = None, *, owners: Collection[str] = (), count: int = -1, start: int = 0
    ) -> list[Feedback]:
        """The feedback on one answer, or all but feedback on answers from private corpora whose owner is not in
        `owners`; newest first."""
        where, values = ("f.answer = ?", (answer_id,)) if answer_id else _seen(owners)
        rows = self._read(
            "SELECT f.id AS number, f.kind AS said_of, f.unit, f.value, f.created AS said, a.* "
            f"FROM feedback f JOIN answers a ON a.id = f.answer WHERE {where} "
            "ORDER BY f.created DESC, f.id DESC LIMIT ? OFFSET ?",
            (*values, count, start),
        )
        return [
            Feedback(row["number"], _answer(row), row["said_of"], row["unit"], json.loads(row["value"]), row["said"])
            for row in rows
        ]

    def answers_with_feedback(self, corpus: str) -> int:
        """How many answers from a corpus have feedback."""
        return self._read(
            "SELECT count(DISTINCT f.answer) AS n FROM feedback f JOIN answers a ON a.id = f.answer WHERE a.corpus = ?",
            (corpus,),
        )[0]["n"]

    def feedback_count(self, owners: Collection[str] = ()) -> int:
        seen, values = _seen(owners)
        statement = f"SELECT count(*) AS n FROM feedback f JOIN answers a ON a.id = f.answer WHERE {seen}"
        return self._read(statement, values)[0]["n"]


def _seen(owners: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """(condition, its values) for answers `a` that these owners see."""
    owner, marks = "json_extract(a.result, '$.owner')", ", ".join("?" * len(owners))
    return f"({owner} IS NULL OR {owner} IN ({marks}))", tuple(owners)


def _answer(row: sqlite3.Row) -> StoredAnswer:
    return StoredAnswer(row["id"], row["corpus"], row["kind"], row["text"], json.loads(row["result"]), row["created"])
