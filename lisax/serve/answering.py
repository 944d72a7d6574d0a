"""The models and indexes behind the page: which kinds of questions a corpus supports, and their answers as plain data.

A question is answered by tables with a probability for each row and column, or, for an index of passages, by answers
with their sources, as in `lisax answer`. A claim gets a verdict from text, from tables, or from both; for an index of
passages one verdict from text, tables and graphs together, as in `lisax rerank` and `lisax verify`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax import shipped
from lisax.formats import tables
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.formats.reading import POINT, READ, RETRIEVE
from lisax.records import Label, LisaxError
from lisax.serve.library import ServedCorpus

if TYPE_CHECKING:
    from lisax.predict.checker import Checker
    from lisax.predict.fusion_model import FusionModel
    from lisax.predict.page_index import PageIndex
    from lisax.predict.passage_index import PassageIndex
    from lisax.predict.ranker import VectorRanker
    from lisax.predict.reader import Reader
    from lisax.predict.retriever import PassageSearch, Retriever
    from lisax.predict.table_answers import TableAnswerer
    from lisax.predict.table_index import TableIndex
    from lisax.predict.text_model import TextModel
    from lisax.retrieval.table_store import TableStore

    Model = TextModel | FusionModel | Reader | Retriever | VectorRanker

QUESTION, CLAIM = "question", "claim"
KINDS = (QUESTION, CLAIM)
WARMED, WARMED_STRIDE = 16, 50  # titles asked about at the start, and the stride between them
TEXT, TABLES, PASSAGES = "text", "tables", "passages"
PARTS, COLUMNS, RANKER, LABELLER, TABLE_VERIFIER = (
    "question answerer",
    "scorer of columns",
    "ranker",
    "labeller",
    "table verifier",
)
UNLEARNED = (
    "That no table decides it was not learned from examples: the tables are less sure to than the threshold "
    "that was chosen on held-out claims."
)
READER, RETRIEVER = "reader", "retriever"
ROLES = {
    TABLE_PARTS: PARTS,
    RANK: RANKER,
    RANK_ENTITIES: RANKER,
    LABEL_POINTWISE: LABELLER,
    LABEL_LISTWISE: LABELLER,
    tables.TABLES: TABLE_VERIFIER,
    tables.TABLE_FUSION: TABLE_VERIFIER,
    READ: READER,
    POINT: READER,
    RETRIEVE: RETRIEVER,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Depths:
    """How much is retrieved, read and shown. A question scores `pool` tables, or retrieves `passages`, and shows `keep`
    tables or answers. A claim reads the best of `sentences` sentences (rows, edges) of `documents` pages or passages.
    """

    pool: int = 20
    keep: int = 5
    passages: int = 100
    documents: int = 20
    sentences: int = 100
    columns: int = 3


class Models:
    """One model per role, which its format determines; `COLUMNS` if rows and columns have separate models."""

    def __init__(self, models: Mapping[str, Model], paths: Mapping[str, Path] | None = None):
        self._models, self.paths = dict(models), dict(paths or {})

    @classmethod
    def open(cls, paths: Iterable[Path]) -> Models:
        """Loads bundles or MODEL_DIRs, or, where there are none, the checker that ships. A second model that answers
        questions is used for columns."""
        models, named = {}, {}
        for path in tuple(paths) or (Path(shipped.RANKER), shipped.labeller()):
            role, model = _open(path)
            role = COLUMNS if role == PARTS and PARTS in models else role
            if role in models:
                raise LisaxError(f"{path} is one {role} too many, beside {named[role]}: give one of them")
            models[role], named[role] = model, path
        return cls(models, named)

    def __contains__(self, role: str) -> bool:
        return role in self._models

    def __getitem__(self, role: str) -> Model:
        return self._models[role]

    def get(self, role: str) -> Model | None:
        return self._models.get(role)

    def replace(self, path: Path) -> None:
        """Loads the model at `path` in place of those with its role."""
        role, model = _open(path)
        if role == PARTS:
            self._models.pop(COLUMNS, None)
        self._models[role], self.paths[role] = model, path


def _open(path: Path) -> tuple[str, Model]:
    from lisax.predict.opening import format_of, is_encoder, open_model

    if is_encoder(path):
        from lisax.predict.ranker import VectorRanker
        from lisax.predict.sentence_encoder import SentenceEncoder

        return RANKER, VectorRanker(SentenceEncoder.open(path))
    role = ROLES.get(format_of(path))
    if role == READER:
        from lisax.predict.reader import Reader

        return role, Reader.open(path)
    if role == RETRIEVER:
        from lisax.predict.retriever import Retriever

        return role, Retriever.open(path)
    model = open_model(path)
    if model.format not in ROLES:
        raise LisaxError(
            f"{path} is of the format '{model.format}', which the page has no use for; it takes {', '.join(map(str, ROLES))}"
        )
    return ROLES[model.format], model


class Engine:
    """Answers questions and checks claims. `ask(corpus, kind, text)` is heavy and runs in one thread only; looking up
    tables and sentences is thread-safe."""

    def __init__(
        self,
        models: Models,
        depths: Depths = Depths(),
        aggregate: str = "any",
        temporal: bool = False,
        min_confidence: float | None = None,
    ):
        self.models, self.depths, self.aggregate = models, depths, aggregate
        self.temporal, self.min_confidence = temporal, min_confidence
        self._opened: dict[tuple[str, str], Any] = {}

    def check(self, corpora: Iterable[ServedCorpus]) -> None:
        """Opens the indexes of passages. Raises `LisaxError` where they do not fit the models."""
        mixed = [corpus for corpus in corpora if corpus.has_passages]
        if RETRIEVER in self.models and READER not in self.models:
            raise LisaxError(f"{self.models.paths[RETRIEVER]} finds passages for a reader: give one beside it")
        if READER in self.models and not mixed:
            raise LisaxError(f"{self.models.paths[READER]} reads passages: give an index of `lisax index mixed`")
        for corpus in mixed:
            if not self.kinds(corpus):
                raise LisaxError(
                    f"{corpus.index} holds passages, and no model that is given reads them: give a "
                    "labeller, which checks claims, or a reader, which answers questions"
                )
            self.search(corpus)

    def kinds(self, corpus: ServedCorpus) -> tuple[str, ...]:
        """The kinds of questions that the models support for a corpus."""
        asked = ((corpus.has_table_texts and PARTS in self.models) or self._reads(corpus), bool(self.sources(corpus)))
        return tuple(kind for kind, can in zip(KINDS, asked) if can)

    def sources(self, corpus: ServedCorpus) -> tuple[str, ...]:
        """The sources that a claim can be checked against in a corpus."""
        checked = (
            corpus.has_pages and LABELLER in self.models,
            corpus.has_cells and TABLE_VERIFIER in self.models,
            corpus.has_passages and LABELLER in self.models,
        )
        return tuple(source for source, can in zip((TEXT, TABLES, PASSAGES), checked) if can)

    def _reads(self, corpus: ServedCorpus) -> bool:
        return corpus.has_passages and READER in self.models

    def ask(self, corpus: ServedCorpus, kind: str, text: str) -> dict[str, Any]:
        if kind not in self.kinds(corpus):
            raise LisaxError(f"'{corpus.name}' cannot be asked a {kind} with the models that are loaded.")
        started = time.perf_counter()
        result = self._answer(corpus, text) if kind == QUESTION else self._check(corpus, text)
        return result | {"seconds": time.perf_counter() - started}

    def warming(self, corpora: Iterable[ServedCorpus]) -> Iterator[Callable[[], Any]]:
        """Warm-up tasks: questions about titles of each corpus, so that programs that are compiled once per batch size
        are compiled before the first user waits for them."""
        for corpus in corpora:
            titles = self._some_titles(corpus)
            for kind in self.kinds(corpus):
                yield from (functools.partial(self.ask, corpus, kind, f"What is {title}?") for title in titles)

    def _some_titles(self, corpus: ServedCorpus) -> list[str]:
        if corpus.has_passages:
            stores = self.search(corpus).index.stores.values()
            titles = (passage.title for store in stores for passage in store)
        elif corpus.has_pages:
            titles = self.sentences(corpus).index.pages.titles
        else:
            titles = (table.title or " ".join(table.header) for table in self.tables(corpus))
        return list(itertools.islice(titles, 0, WARMED * WARMED_STRIDE, WARMED_STRIDE))

    def use(self, path: Path) -> None:
        self.models.replace(path)
        self._keep(lambda what, corpus: what != PARTS)

    def forget(self, corpus: ServedCorpus) -> None:
        self._keep(lambda what, other: other != corpus.id)

    def _keep(self, wanted: Callable[[str, str], bool]) -> None:
        # Iterates over a copy, into which no other thread opens anything.
        self._opened = {key: opened for key, opened in self._opened.copy().items() if wanted(*key)}

    # --- Questions ------------------------------------------------------------------------------

    def _answer(self, corpus: ServedCorpus, question: str) -> dict[str, Any]:
        if self._reads(corpus):
            return {"answers": self._read(corpus, question)}
        answerer = self.answerer(corpus)
        found = answerer.answer(question, self.depths.pool, self.depths.keep)
        least = self.min_confidence
        if least is None and answerer.confidence is not None:
            least = answerer.confidence.threshold
        unsure = bool(found) and least is not None and found[0].probability < least
        return {
            **({"no_answer": 1 - found[0].probability} if unsure else {}),
            "tables": [
                {
                    "id": scores.table.id,
                    "retrieval": scores.retrieval,
                    "rows": scores.rows.tolist(),
                    "columns": scores.columns.tolist(),
                    "relevance": scores.relevance,
                    **({} if scores.confidence is None else {"confidence": scores.confidence}),
                    "digest": self.digest(corpus, TABLES, scores.table.id),
                }
                for scores in found
            ],
        }

    def _read(self, corpus: ServedCorpus, question: str) -> list[dict[str, Any]]:
        """`Answer.row()` of each answer, with the characters `marked` in its passage, if it has one."""
        from lisax.predict.answerer import PassageAnswerer

        search = self.search(corpus)
        answerer = PassageAnswerer(search, self.models[READER], self.depths.passages)
        answerer.min_confidence = self.min_confidence
        answers = answerer.ask(question, self.depths.keep)
        rows = [answer.row() for answer in answers]
        for row in rows:
            if "passage" in row:
                row["marked"] = search.index.passage(row["passage"]).text[row["begin"] : row["end"]]
        return rows

    def answerer(self, corpus: ServedCorpus) -> TableAnswerer:
        from lisax.predict.table_answers import TableAnswerer

        def opened() -> TableAnswerer:
            return TableAnswerer.of(corpus.index, self.tables(corpus), self.models[PARTS], self.models.get(COLUMNS))

        return self._once(PARTS, corpus, opened)

    # --- Claims ---------------------------------------------------------------------------------

    def _check(self, corpus: ServedCorpus, text: str) -> dict[str, Any]:
        check = {TEXT: self._check_text, TABLES: self._check_tables, PASSAGES: self._check_passages}
        verdicts = [check[source](corpus, text) for source in self.sources(corpus)]
        for row in verdicts:
            row["digests"] = [self.digest(corpus, row["source"], unit) for unit in row["evidence"]]
        return {"verdicts": verdicts}

    def _check_text(self, corpus: ServedCorpus, text: str) -> dict[str, Any]:
        return self._check_units(TEXT, self.sentences(corpus), text)

    def _check_passages(self, corpus: ServedCorpus, text: str) -> dict[str, Any]:
        return self._check_units(PASSAGES, self.evidence(corpus), text)

    def _check_units(self, source: str, index: PageIndex | PassageIndex, text: str) -> dict[str, Any]:
        from lisax.predict.checker import Checker
        from lisax.predict.ranker import AsFound, VectorRanker, ranker_of
        from lisax.predict.verifier import verifier_of

        model = self.models.get(RANKER)
        ranker = AsFound() if model is None else model if isinstance(model, VectorRanker) else ranker_of(model)
        checker = Checker(
            index,
            ranker,
            verifier_of(self.models[LABELLER], aggregate=self.aggregate),
            temporal=self.temporal,
            documents=self.depths.documents,
            candidates=self.depths.sentences,
            min_confidence=self.min_confidence,
        )
        row = _verdict(source, checker, text)
        if isinstance(ranker, (AsFound, VectorRanker)):
            return row | {"scores": []}  # what is no probability is not shown as one
        return row

    def _check_tables(self, corpus: ServedCorpus, text: str) -> dict[str, Any]:
        from lisax.predict.checker import Checker
        from lisax.predict.verifier import verifier_of

        # Users ask what no table decides, whatever the model was trained on, so its threshold always applies.
        verifier = verifier_of(self.models[TABLE_VERIFIER])
        checker = Checker(self.table_index(corpus), verifier=verifier, min_confidence=self.min_confidence)
        row = _verdict(TABLES, checker, text)
        decision = verifier.decision
        undecided = row["label"] == Label.NOT_ENOUGH_INFO and "abstained" not in row
        if decision is not None and not decision.in_data and undecided and row["evidence"]:
            row["note"] = UNLEARNED
        return row

    # --- Open indexes ---------------------------------------------------------------------------

    def digest(self, corpus: ServedCorpus, source: str, unit: str) -> str | None:
        """Digest of a unit's text: a short SHA-256 prefix. None if the corpus does not have the unit."""
        try:
            if source == TABLES:
                found = self.tables(corpus).get(unit)
                said = found and (found.title, found.caption, found.header, found.rows)
            else:
                found = (self.evidence if source == PASSAGES else self.sentences)(corpus).lookup(unit)
                said = found and (found.title, found.text)
        except LisaxError:  # the index no longer has it
            return None
        return None if found is None else hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def is_as_it_was(self, corpus: ServedCorpus, source: str, unit: str, result: Mapping[str, Any]) -> bool:
        """Whether a unit of an answer's verdict, or a table of `result["tables"]`, still has the same text: its index
        may have been rebuilt. Answers stored without digests count as unchanged."""
        digests = {row["id"]: row["digest"] for row in result.get("tables", ()) if "digest" in row}
        digests |= zip(result.get("evidence", ()), result.get("digests", ()))
        return unit not in digests or digests[unit] == self.digest(corpus, source, unit)

    def tables(self, corpus: ServedCorpus) -> TableStore:
        from lisax.retrieval.table_store import TableStore

        return self._once("store", corpus, lambda: TableStore.open(corpus.index))

    def table_index(self, corpus: ServedCorpus) -> TableIndex:
        from lisax.predict.table_index import TableIndex

        return self._once("cells", corpus, lambda: TableIndex(corpus.index, self.depths.columns))

    def sentences(self, corpus: ServedCorpus) -> PageIndex:
        from lisax.predict.page_index import PageIndex
        from lisax.retrieval.documents import DocumentIndex

        return self._once("sentences", corpus, lambda: PageIndex(DocumentIndex.open(corpus.index)))

    def search(self, corpus: ServedCorpus) -> PassageSearch:
        from lisax.predict.retriever import PassageSearch

        retriever = self.models.get(RETRIEVER)
        return self._once(
            "search",
            corpus,
            lambda: PassageSearch(corpus.index, method="bm25" if retriever is None else "fused", retriever=retriever),
        )

    def evidence(self, corpus: ServedCorpus) -> PassageIndex:
        from lisax.predict.passage_index import PassageIndex

        return self._once("evidence", corpus, lambda: PassageIndex(self.search(corpus).index))

    def _once(self, what: str, corpus: ServedCorpus, opened: Callable[[], Any]) -> Any:
        key = (what, corpus.id)
        if key not in self._opened:
            self._opened[key] = opened()
        return self._opened[key]


def _verdict(source: str, checker: Checker, text: str) -> dict[str, Any]:
    found = checker.find([text])
    (verdict,) = checker.verify([text], found)
    # A text-to-text model gives no scores of single tables.
    scored = verdict.reads == "sentences" or verdict.sufficiency is not None
    return {
        "source": source,
        "label": str(verdict.label),
        "probabilities": list(verdict.probabilities.values()),
        "evidence": [one.unit for one in verdict.evidence],
        "scores": [one.score for one in verdict.evidence] if scored else [],
        "candidates": [one.unit for one in found[0]],
        **({"temporal": verdict.ruling} if verdict.ruling else {}),
        **({"abstained": verdict.reason} if verdict.abstained else {}),
    }
