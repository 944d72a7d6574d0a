"""The interface of all layouts: claims by split, documents, tables, graphs, questions."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lisax.corpora.reading import Watch, skipping
from lisax.errors import DataError
from lisax.records import Claim, DataText, Document, Graph, Question, Table, is_text

SPLITS = ("train", "dev", "test")


def check_splits(folder: Path, splits: Iterable[str]) -> None:
    """Refuses split names that are not UTF-8, since files are named by them."""
    for split in splits:
        if not is_text(split):
            raise DataError(f"a file's name must be UTF-8: that of split {split!r} is not", path=folder)


class Dataset(ABC):
    """Claims by split, and the documents that they are checked against.

    Readers raise the first problem, or report it to a `Watch` if given one. A missing split raises a `DataError`.
    """

    layout: str
    has_own_table_claims = False  # claims over tables that `claims` does not return
    question_files: Mapping[str, Path] = {}  # by split

    def __init__(self, folder: Path, files: dict[str, Path]):
        check_splits(folder, files)
        self.folder, self.files = folder, files

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits with claims."""
        return tuple(self.files)

    @property
    def question_splits(self) -> tuple[str, ...]:
        """The splits with questions."""
        return tuple(self.question_files)

    def skip_bad(self) -> None:
        """Makes claims and pages skip bad lines where the caller gives no watch; each line is named once."""
        said: set[str] = set()
        for name in ("claims", "table_claims", "documents"):

            def read(*given, read=getattr(self, name)):
                if any(isinstance(value, Watch) for value in given):
                    return read(*given)
                return skipping(functools.partial(read, *given), True, said)

            setattr(self, name, read)

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

    @abstractmethod
    def claims(self, split: str, watch: Watch | None = None) -> Iterator[Claim]:
        """The claims of a split, in file order."""

    @property
    def table_claim_splits(self) -> tuple[str, ...]:
        """The splits with claims that one table decides."""
        return ()

    def table_claims(self, split: str, watch: Watch | None = None) -> Iterator[Claim]:
        """The claims of a split that one table decides; their only evidence set names the table."""
        raise DataError(
            f"no claims over tables for split {split!r}; there are {', '.join(self.table_claim_splits) or 'none'}",
            path=self.folder,
        )

    @abstractmethod
    def documents(self, watch: Watch | None = None) -> Iterator[Document]:
        """All documents, streaming."""

    def tables(self, watch: Watch | None = None) -> Iterator[Table]:
        """All tables, streaming."""
        return iter(())

    def graphs(self, watch: Watch | None = None) -> Iterator[Graph]:
        return iter(())

    def questions(self, split: str, watch: Watch | None = None) -> Iterator[Question]:
        return iter(())

    @property
    def data_text_splits(self) -> tuple[str, ...]:
        """The splits with data and texts that verbalize it."""
        return ()

    def data_texts(self, split: str, watch: Watch | None = None) -> Iterator[DataText]:
        return iter(())

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

    def documents(self, watch=None):
        return iter(())

    @abstractmethod
    def tables(self, watch=None): ...


class QuestionDataset(TableDataset):
    """A layout of tables with questions and without claims."""

    def __init__(self, folder: Path, question_files: dict[str, Path]):
        super().__init__(folder, {})
        self.question_files = question_files

    def claims(self, split, watch=None):
        self.claim_file(split)  # raises: there are none

    @abstractmethod
    def questions(self, split, watch=None): ...


class StructureDataset(Dataset):
    """A layout without claims and pages: data with texts, questions, tables or graphs."""

    def __init__(self, folder: Path):
        super().__init__(folder, {})

    def claims(self, split, watch=None):
        self.claim_file(split)  # raises: there are none

    def documents(self, watch=None):
        return iter(())
