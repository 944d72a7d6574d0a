"""The interface of all layouts: claims by split, documents, tables, graphs, questions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.corpora.reading import Record, Watch, skipping, told, unique_documents
from lisax.errors import DataError
from lisax.records import Claim, DataText, Document, Graph, Question, Table, is_text

SPLITS = ("train", "dev", "test")


def check_splits(folder: Path, splits: Iterable[str]) -> None:
    """Refuses split names that are not UTF-8, since files are named by them."""
    for split in splits:
        if not is_text(split):
            raise DataError(f"a file's name must be UTF-8: that of split {split!r} is not", path=folder)


def in_order(files: Mapping[str, Path]) -> dict[str, Path]:
    """Train, dev, test, then any other split by name."""
    return {
        split: files[split]
        for split in sorted(files, key=lambda split: (SPLITS.index(split) if split in SPLITS else len(SPLITS), split))
    }


class Dataset:
    """Claims by split, and the documents that they are checked against.

    A layout overrides `_claims`, `_documents` and the like, which report problems to a watch. The methods of these names
    without the underscore raise the first problem, or report it to a `Watch` if given one; ids that occur twice in the
    corpus are problems at its end. A split without claims raises a `DataError`. `files` of claims and `question_files` are
    by split; a layout with any of them overrides the method that reads them.
    """

    layout: str
    has_own_table_claims = False  # claims over tables that `claims` does not return
    data_text_files: Mapping[str, Any] = {}  # by split, of data and texts that verbalize it

    def __init__(self, folder: Path, files: Mapping[str, Path] = {}, question_files: Mapping[str, Path] = {}):
        check_splits(folder, files)
        self.folder, self.files, self.question_files = folder, files, question_files
        self._skipped: set[str] | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits with claims."""
        return tuple(self.files)

    @property
    def table_claim_splits(self) -> tuple[str, ...]:
        """The splits with claims that one table decides."""
        return ()

    @property
    def question_splits(self) -> tuple[str, ...]:
        """The splits with questions."""
        return tuple(self.question_files)

    @property
    def data_text_splits(self) -> tuple[str, ...]:
        """The splits with data and texts that verbalize it."""
        return tuple(self.data_text_files)

    def skip_bad(self) -> None:
        """Makes claims and pages skip bad lines where the caller gives no watch; each line is named once."""
        self._skipped = set()

    def may_read(self, file: Path) -> bool:
        """Whether a file in the folder may be data. Hidden files, and examples that `register` wrote, are not."""
        parts = file.relative_to(self.folder).parts
        return not (any(part.startswith(".") for part in parts) or (parts[1:] and parts[0].endswith("_tasks")))

    def claim_file(self, split: str) -> Path:
        if split not in self.files:
            raise DataError(
                f"no claims for split {split!r}; there are {', '.join(self.splits) or 'none'}", path=self.folder
            )
        return self.files[split]

    def claims(self, split: str, watch: Watch | None = None) -> Iterator[Claim]:
        """The claims of a split, in file order."""
        self.claim_file(split)
        return self._read(functools.partial(self._claims, split), watch)

    def table_claims(self, split: str, watch: Watch | None = None) -> Iterator[Claim]:
        """The claims of a split that one table decides; their only evidence set names the table."""
        if split not in self.table_claim_splits:
            raise DataError(
                f"no claims over tables for split {split!r}; there are {', '.join(self.table_claim_splits) or 'none'}",
                path=self.folder,
            )
        return self._read(functools.partial(self._table_claims, split), watch)

    def documents(self, watch: Watch | None = None) -> Iterator[Document]:
        """All documents, streaming."""
        return self._read(lambda w: unique_documents(self._documents, w), watch)

    def tables(self, watch: Watch | None = None) -> Iterator[Table]:
        """All tables, streaming."""
        return told(lambda w: unique_documents(self._tables, w), watch)

    def graphs(self, watch: Watch | None = None) -> Iterator[Graph]:
        return told(lambda w: unique_documents(self._graphs, w), watch)

    def questions(self, split: str, watch: Watch | None = None) -> Iterator[Question]:
        """The questions of a split, in file order; none for a split without them."""
        if split not in self.question_files:
            return iter(())
        return told(functools.partial(self._questions, split), watch)

    def data_texts(self, split: str, watch: Watch | None = None) -> Iterator[DataText]:
        return told(functools.partial(self._data_texts, split), watch)

    def _read(self, read: Callable[[Watch], Iterator[Record]], watch: Watch | None) -> Iterator[Record]:
        if watch is None and self._skipped is not None:
            return skipping(read, True, self._skipped)
        return told(read, watch)

    def _claims(self, split: str, watch: Watch) -> Iterable[Claim]:
        raise NotImplementedError

    def _table_claims(self, split: str, watch: Watch) -> Iterable[Claim]:
        raise NotImplementedError

    def _documents(self, watch: Watch) -> Iterable[Document]:
        return ()

    def _tables(self, watch: Watch) -> Iterable[Table]:
        return ()

    def _graphs(self, watch: Watch) -> Iterable[Graph]:
        return ()

    def _questions(self, split: str, watch: Watch) -> Iterable[Question]:
        raise NotImplementedError

    def _data_texts(self, split: str, watch: Watch) -> Iterable[DataText]:
        return ()

    @functools.cached_property
    def _original_pages(self) -> dict[str, str]:
        return {
            document.id: document.original_id
            for document in self.documents(Watch(keep_going=True))
            if document.original_id not in (None, document.id)
        }

    def original_page(self, page: str) -> str:
        """A page's id as its corpus writes it. The first call reads all documents once and keeps the ids that
        differ."""
        return self._original_pages.get(page, page)


class TableDataset(Dataset):
    """A layout of tables without pages: all its claims are claims over tables."""

    @property
    def table_claim_splits(self):
        return self.splits

    def table_claims(self, split, watch=None):
        return self.claims(split, watch)


class StructureDataset(Dataset):
    """A layout without claims and pages: data with texts, questions, tables or graphs."""
