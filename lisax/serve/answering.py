"""Answers of models from indexes: which kinds of questions a corpus supports, and their answers as plain data.

A question is answered by tables with a probability for each row and column, or, for an index of passages, by answers
with their sources, as in `lisax answer`. A claim gets a verdict from text, from tables, or from both, which are joined
(`predict.joining`); for an index of passages one verdict from text, tables and graphs together, as in `lisax rerank`
and `lisax verify`. A search finds evidence without any trained model.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax import shipped
from lisax.errors import LisaxError
from lisax.records import Claim, Label
from lisax.retrieval.entities import default_spotter
from lisax.serve.library import ServedCorpus
from lisax.serve.models import COLUMNS, LABELLER, PARTS, RANKER, READER, RETRIEVER, TABLE_VERIFIER, Models
from lisax.serve.opened import PASSAGES, TABLES, TEXT, OpenIndexes

if TYPE_CHECKING:
    from lisax.predict.answerer import Answerer
    from lisax.predict.checker import Checker
    from lisax.predict.page_index import PageIndex
    from lisax.predict.passage_index import PassageIndex
    from lisax.predict.ranker import Ranker
    from lisax.predict.reader import Answer
    from lisax.predict.sentence_answers import SentenceAnswerer
    from lisax.predict.table_answers import TableAnswerer
    from lisax.predict.table_verifier import WholeTables
    from lisax.predict.verdicts import Evidence, Verdict
    from lisax.predict.verifier import Verifier

QUESTION, CLAIM, SEARCH = "question", "claim", "search"
KINDS = (QUESTION, CLAIM, SEARCH)
PARAGRAPH = "paragraph"  # a claim of several sentences: an answer that names those of its sentences
FOUND = 20  # units that a search shows
UNLEARNED = (
    "The model was not trained to say 'not enough info'; its confidence that a table decides is below the threshold "
    "chosen on held-out claims."
)


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """A verdict from one source, with all evidence that was found, ranked; `note` is for the reader, `tier` that of the
    labeller if it was chosen."""

    source: str
    verdict: Verdict
    found: Sequence[Evidence]
    note: str = ""
    tier: str | None = None


class Engine(OpenIndexes):
    """Answers questions and checks claims. `ask(corpus, kind, text)` is heavy and runs in one thread only; looking up
    tables and sentences is thread-safe. A question scores `pool` tables, and shows `keep` tables or answers."""

    def __init__(
        self,
        models: Models,
        pool: int = 20,
        keep: int = 5,
        aggregate: str | None = None,
        temporal: bool = True,
        min_confidence: float | None = None,
    ):
        super().__init__(models)
        self.pool, self.keep, self.aggregate = pool, keep, aggregate
        self._ranks: tuple[object, Ranker] | None = None  # a model, and the ranker of it
        self.temporal, self.min_confidence = temporal, min_confidence

    def check(self, corpora: Iterable[ServedCorpus]) -> None:
        """Opens the indexes of passages. Raises `LisaxError` if they do not fit the models."""
        mixed = [corpus for corpus in corpora if corpus.has_passages]
        if RETRIEVER in self.models and READER not in self.models:
            raise LisaxError(f"{self.models.paths[RETRIEVER]} finds passages for a reader: give one as well")
        if READER in self.models and not mixed:
            raise LisaxError(f"{self.models.paths[READER]} reads passages: give an index of `lisax index mixed`")
        for corpus in (corpus for corpus in mixed if not corpus.uploaded):
            if not self.models.missing and self.kinds(corpus) == (SEARCH,):
                raise LisaxError(
                    f"{corpus.index} holds passages, and no model that is given reads them: give a "
                    "labeller, which checks claims, or a reader, which answers questions"
                )
            self.search(corpus)
        if self.aggregate is not None and LABELLER in self.models:
            self._verifier()  # opened to see that it takes the aggregate
        if not self.models.shipped:
            for corpus in corpora:
                if lacking := self.lacks(corpus):
                    raise LisaxError(f"{self.models.paths.get(PARTS, PARTS)} cannot answer. {lacking}")

    def kinds(self, corpus: ServedCorpus) -> tuple[str, ...]:
        """The kinds of questions that the models support for a corpus."""
        answers = self._reads(corpus) or self._scores_cells(corpus) or self._finds_sentences(corpus)
        asked = (answers, bool(self.sources(corpus)), self.found_source(corpus) is not None)
        return tuple(kind for kind, can in zip(KINDS, asked) if can)

    def _scores_cells(self, corpus: ServedCorpus) -> bool:
        from lisax.predict.table_answers import VECTORS

        if not (corpus.has_table_texts and PARTS in self.models):
            return False
        return self.models[PARTS].card.content.get("retrieval") != VECTORS or corpus.has_table_vectors

    def _finds_sentences(self, corpus: ServedCorpus) -> bool:
        """Whether the shipped model answers questions from a corpus's text."""
        is_there = self.models.shipped and RANKER in self.models and shipped.answers().is_dir()
        return is_there and (corpus.has_pages or corpus.has_passages)

    def lacks(self, corpus: ServedCorpus) -> str:
        """The missing parts of a corpus for questions over its tables, and how to make them; empty if nothing is
        missing."""
        if not (corpus.has_table_texts and PARTS in self.models) or self._scores_cells(corpus) or corpus.uploaded:
            return ""
        return f"Questions need vectors of its tables: lisax index vectors {corpus.index} --retriever minilm"

    def sources(self, corpus: ServedCorpus) -> tuple[str, ...]:
        """The sources that a claim can be checked against in a corpus."""
        # Where rows are passages, the shipped labeller over text finds them, and the one over tables reads their tables.
        reads_rows = self.models.shipped and (corpus.has_passages or corpus.has_pages)
        checked = (
            corpus.has_pages and LABELLER in self.models,
            corpus.has_cells and TABLE_VERIFIER in self.models and not reads_rows,
            corpus.has_passages and LABELLER in self.models,
        )
        return tuple(source for source, can in zip((TEXT, TABLES, PASSAGES), checked) if can)

    def _reads(self, corpus: ServedCorpus) -> bool:
        return corpus.has_passages and READER in self.models

    def ask(self, corpus: ServedCorpus, kind: str, text: str) -> dict[str, Any]:
        """The answer to one of the corpus's `kinds`, as the page keeps it."""
        if kind == QUESTION:
            return self._answer(corpus, text)
        if kind == SEARCH:
            return self._found(corpus, text)
        checked = (self.check_many(corpus, source, [text]) for source in self.sources(corpus))
        return self.claim_result(corpus, itertools.chain.from_iterable(checked))

    def use(self, path: Path) -> None:
        self.models.replace(path)
        self._keep(lambda what, edition: what not in (PARTS, "examples"))

    # --- Questions ------------------------------------------------------------------------------

    def _answer(self, corpus: ServedCorpus, question: str) -> dict[str, Any]:
        if self._reads(corpus):
            return {"answers": self._read(corpus, question)}
        found, guesses, given = [], [], []
        if self._scores_cells(corpus):
            answerer = self.answerer(corpus)
            found = answerer.answer(question, self.pool, self.keep)
            least = self.min_confidence
            if least is None and answerer.confidence is not None:
                least = answerer.confidence.threshold
            if found:
                guesses.append(found[0].probability)
                given.append(least is None or found[0].probability >= least)
        sentences: list[Answer] = []
        if self._finds_sentences(corpus):
            best = self._sentence_answerer(corpus)
            sentences = best.guesses([question], self.keep)[0]
            if sentences:
                guesses.append(sentences[0].probability)
                given.append(sentences[0].probability >= best.min_confidence)
        units = TEXT if corpus.has_pages else PASSAGES
        return {
            **({} if any(given) or not guesses else {"no_answer": 1 - max(guesses)}),
            "searched": self._answerer(corpus).searched,
            "sentences": [
                answer.row() | {"source": units, "digest": self.digest(corpus, units, answer.evidence.unit)}
                for answer in sentences
            ],
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
        search = self.search(corpus)
        rows = [answer.row() for answer in self._answerer(corpus).ask(question, self.keep)]
        for row in rows:
            if "passage" in row:
                row["marked"] = search.index.passage(row["passage"]).text[row["begin"] : row["end"]]
        return rows

    def searched_for_answers(self, corpus: ServedCorpus) -> dict[str, int]:
        """The number of pages and tables that a question is answered from."""
        return self._answerer(corpus).searched

    def answer_many(self, corpus: ServedCorpus, questions: Sequence[str], answers: int) -> list[list[Answer]]:
        """Up to `answers` answers to each question, as of `lisax ask`."""
        return list(self._answerer(corpus).ask_many(questions, answers))

    def _answerer(self, corpus: ServedCorpus) -> Answerer:
        from lisax.predict.answerer import CellAnswerer, JoinedAnswerer, PassageAnswerer

        if not self._reads(corpus):
            made: list[Answerer] = []
            if self._finds_sentences(corpus):
                made.append(self._sentence_answerer(corpus))
            if self._scores_cells(corpus):
                cells = self.answerer(corpus)
                made.append(CellAnswerer(cells, pool=self.pool, min_confidence=self.min_confidence))
            return made[0] if len(made) == 1 else JoinedAnswerer(made)
        answerer = PassageAnswerer(self.search(corpus), self.models[READER])
        answerer.min_confidence = self.min_confidence
        return answerer

    def _sentence_answerer(self, corpus: ServedCorpus) -> SentenceAnswerer:
        from lisax.predict.answerer import shipped_sentences

        def opened() -> SentenceAnswerer:
            index = self.sentences(corpus) if corpus.has_pages else self.evidence(corpus)
            return shipped_sentences(index, self.min_confidence)

        return self.once("answers", corpus, opened)

    def answerer(self, corpus: ServedCorpus) -> TableAnswerer:
        from lisax.predict.table_answers import TableAnswerer

        rows, columns = self.models[PARTS], self.models.get(COLUMNS)
        return self.once(PARTS, corpus, lambda: TableAnswerer.of(self.table_index(corpus), rows, columns))

    def titles_for(self, corpus: ServedCorpus, question: str) -> list[str]:
        """The titles of the five tables or passages that are found first for a question, which is quick."""
        from lisax.predict.answerer import PASSAGES as RETRIEVED

        if self._reads(corpus):
            search = self.search(corpus)
            found = (search.index.passage(hit).title for hit, _ in search({"q": question}, RETRIEVED)["q"])
        elif not self._scores_cells(corpus):
            found = (one.source for one in self._sentence_answerer(corpus).index.search(question, self.pool))
        else:
            answerer = self.answerer(corpus)
            tables = (answerer.table(table) for table, _ in answerer.search(question, self.pool))
            found = (table.title or table.caption or table.id for table in tables)
        return list(itertools.islice(dict.fromkeys(found), 5))

    # --- Search ---------------------------------------------------------------------------------

    def found_source(self, corpus: ServedCorpus) -> str | None:
        """The source that a search finds units of: sentences or passages if it has any, else tables."""
        return self.searched(corpus) or (TABLES if corpus.has_cells or corpus.has_table_texts else None)

    def _found(self, corpus: ServedCorpus, text: str) -> dict[str, Any]:
        source = self.found_source(corpus)
        if source == TABLES:
            found = self.table_index(corpus).search(text, FOUND)
        else:
            (found,) = self.find_many(corpus, [text])
        units = [one.unit for one in found[:FOUND]]
        return {"source": source, "evidence": units, "digests": [self.digest(corpus, source, unit) for unit in units]}

    # --- Claims ---------------------------------------------------------------------------------

    def search_for(self, corpus: ServedCorpus, source: str, claims: Sequence[str]) -> list[list[Evidence]]:
        """The first step of `check_many`: the evidence found for claims."""
        return self._checker(corpus, source).search(claims)

    def rank_for(
        self, corpus: ServedCorpus, source: str, found: Sequence[tuple[str, Sequence[Evidence]]]
    ) -> list[list[Evidence]]:
        """The second step: for each (claim, found evidence) the evidence, ranked."""
        return self._checker(corpus, source).rank(*map(list, zip(*found)))

    def verify_for(
        self,
        corpus: ServedCorpus,
        source: str,
        ranked: Sequence[tuple[str, Sequence[Evidence]]],
        tier: str | None = None,
    ) -> list[Checked]:
        """The third step: for each (claim, ranked evidence) the verdict, by the labeller of a tier."""
        from lisax.predict.verifier import attributed

        claims, found = map(list, zip(*ranked))
        checker = self._checker(corpus, source, tier)
        verdicts = attributed(checker.verifier, checker.verify(claims, found))
        return [Checked(source, one, units, self._note(one), tier) for one, units in zip(verdicts, found)]

    def check_many(
        self, corpus: ServedCorpus, source: str, claims: Sequence[str | Claim], tier: str | None = None
    ) -> list[Checked]:
        """The verdicts on claims from one of a corpus's `sources`, as of `lisax check`."""
        found = self._checker(corpus, source).find(claims)
        return self.verify_for(corpus, source, list(zip(claims, found)), tier)

    def claim_result(self, corpus: ServedCorpus, checked: Iterable[Checked]) -> dict[str, Any]:
        """A claim's verdicts as the page keeps them."""
        rows = [self._row(one) for one in checked]
        for row in rows:
            row["digests"] = [self.digest(corpus, row["source"], unit) for unit in row["evidence"]]
        return {"verdicts": rows}

    def _row(self, checked: Checked) -> dict[str, Any]:
        from lisax.predict.index import CANDIDATES

        verdict = checked.verdict
        # A text-to-text model gives no scores of single tables, and only a trained ranker's are probabilities.
        scored = verdict.sufficiency is not None if verdict.reads == "tables" else self._ranks_by_probability
        return {
            "source": checked.source,
            "label": str(verdict.label),
            "probabilities": list(verdict.probabilities.values()),
            "evidence": [one.unit for one in verdict.evidence],
            "read": verdict.read_units,
            "scores": [one.score for one in verdict.evidence] if scored else [],
            "candidates": [one.unit for one in checked.found[:CANDIDATES]],
            "computed": {one.unit: one.computed for one in verdict.evidence if one.computed},
            **({"deciding": verdict.deciding} if verdict.deciding else {}),
            **({"read_together": True} if not (verdict.decided_by or verdict.ruling) else {}),
            **({"calibrated": on} if (on := self._calibrated_on(checked)) else {}),
            **({"temporal": verdict.ruling} if verdict.ruling else {}),
            **({"abstained": verdict.reason} if verdict.abstained else {}),
            **({"disagreement": verdict.disagreement.to_dict()} if verdict.disagreement else {}),
            **({"reason": verdict.reason} if verdict.disagreement and verdict.disagreement.retraction else {}),
            **({"note": checked.note} if checked.note else {}),
        }

    def _calibrated_on(self, checked: Checked) -> str | None:
        """The shipped model's name, or "own", where the probabilities of a verdict were fitted to claims."""
        verdict = checked.verdict
        role = TABLE_VERIFIER if verdict.reads == "tables" else LABELLER
        fitted = self._verifier(checked.tier, role).calibration
        # On no claims if it was taken over from a model that was trained further.
        if not verdict.probabilities or fitted is None or fitted.claims == 0:
            return None
        if not self.models.paths.get(role, Path()).is_relative_to(shipped.FOLDER):
            return "own"
        return "tables" if role == TABLE_VERIFIER else checked.tier or self.models.tier

    def _note(self, verdict: Verdict) -> str:
        if verdict.reads != "tables" or verdict.label is not Label.NOT_ENOUGH_INFO or verdict.abstained:
            return ""
        decision = self._verifier(role=TABLE_VERIFIER).decision
        return UNLEARNED if decision is not None and not decision.in_data and verdict.evidence else ""

    def _checker(self, corpus: ServedCorpus, source: str, tier: str | None = None) -> Checker:
        from lisax.predict.checker import Checker

        if source == TABLES:
            # Users make claims that no table decides, whatever the model was trained on, so its threshold always
            # applies.
            verifier = self._verifier(tier, TABLE_VERIFIER)
            return Checker(self.table_index(corpus), verifier=verifier, min_confidence=self.min_confidence)
        return Checker(
            self._units(corpus, source),
            self._ranker(),
            self._verifier(tier),
            tables=self._whole_tables(corpus, source, tier),
            temporal=self.temporal,
            min_confidence=self.min_confidence,
        )

    def _whole_tables(self, corpus: ServedCorpus, source: str, tier: str | None) -> WholeTables | None:
        """The reader of whole tables next to the shipped labeller of text, where rows are evidence."""
        from lisax.predict.table_verifier import WholeTables

        if source != PASSAGES or not corpus.has_cells or not self.models.tiers:
            return None
        return WholeTables(self._verifier(tier, TABLE_VERIFIER), self.table_index(corpus))

    def _units(self, corpus: ServedCorpus, source: str) -> PageIndex | PassageIndex:
        return self.evidence(corpus) if source == PASSAGES else self.sentences(corpus)

    def _verifier(self, tier: str | None = None, role: str = LABELLER) -> Verifier:
        from lisax.predict.verifier import verifier_of

        aggregate = self.aggregate if role == LABELLER else None
        return verifier_of(self.models.labeller(tier, role), self.models.paths.get(role, role), aggregate=aggregate)

    def _ranker(self) -> Ranker:
        """The ranker of the model that is loaded; opened once, for a ranker over an encoder's results has to load the
        encoder too."""
        from lisax.predict.ranker import Bm25Ranker, VectorRanker, ranker_of

        model = self.models.get(RANKER)
        if model is None or isinstance(model, VectorRanker):
            return model or Bm25Ranker()
        if self._ranks is None or self._ranks[0] is not model:
            self._ranks = model, ranker_of(model)
        return self._ranks[1]

    @property
    def _ranks_by_probability(self) -> bool:
        from lisax.predict.ranker import Bm25Ranker, VectorRanker

        return not isinstance(self._ranker(), (Bm25Ranker, VectorRanker))

    # --- Ranking and verifying ------------------------------------------------------------------

    def searched(self, corpus: ServedCorpus) -> str | None:
        """The source of a corpus whose units can be ranked for a claim, which takes no trained model."""
        return PASSAGES if corpus.has_passages else TEXT if corpus.has_pages else None

    def find_many(self, corpus: ServedCorpus, claims: Sequence[str]) -> list[list[Evidence]]:
        """The units that are found for claims, ranked."""
        index = self._units(corpus, self.searched(corpus))
        spot = None if index.titles is None else default_spotter(index.titles).spot
        ranker = self._ranker()
        return list(ranker.rank_many(claims, index.candidates_many(claims, quick=ranker.is_quick), spot=spot))

    def rank_many(self, claims: Sequence[str], candidates: Sequence[Sequence[Evidence]]) -> list[list[Evidence]]:
        """The given candidates of each claim, ranked."""
        return list(self._ranker().rank_many(claims, candidates))

    def verify_many(
        self, claims: Sequence[str | Claim], evidence: Sequence[Sequence[Evidence]], tier: str | None = None
    ) -> list[Verdict]:
        """The verdicts on claims from the evidence that is given for each: its texts, its tables, or both, joined."""
        from lisax.predict.joining import join
        from lisax.predict.judging import judged

        made: list[list[Verdict]] = [[] for _ in claims]
        for of_tables, role in ((False, LABELLER), (True, TABLE_VERIFIER)):
            read = [[one for one in found if (one.table is not None) is of_tables] for found in evidence]
            if not (asked := [i for i, found in enumerate(read) if found]):
                continue
            reads = self._verifier(tier, role)
            verdicts = reads.verify_many([claims[i] for i in asked], [read[i] for i in asked])
            verdicts = judged(
                reads, verdicts, min_confidence=self.min_confidence, temporal=self.temporal and not of_tables
            )
            for i, verdict in zip(asked, verdicts, strict=True):
                made[i].append(verdict)
        return [join(verdicts) for verdicts in made]

    def open(self, corpus: ServedCorpus) -> None:
        """Opens all that is read from a corpus's folder, so that answers stay of one edition when it is built again."""
        parts: list[tuple[Any, str]] = []  # (index, a part that its first use opens)
        if corpus.has_pages:
            found = self.sentences(corpus)
            parts += [(found, "dense"), *((found.index, name) for name in ("bm25", "titles", "pages"))]
        if corpus.has_passages:
            parts.append((self.evidence(corpus), "dense"))
        if corpus.has_cells or corpus.has_table_texts:
            self.tables(corpus)
        if corpus.has_cells:
            parts.append((self.table_index(corpus), "cells"))
        if corpus.has_cells and corpus.has_table_texts:
            parts.append((self.table_index(corpus), "search_texts"))
        if self._scores_cells(corpus):
            self.answerer(corpus)
        for index, name in parts:
            getattr(index, name)
