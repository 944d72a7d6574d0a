"""UDT-QA (Ma et al., ACL 2022): answers questions from text, tables and graphs through one index of passages.

Tables and graphs are verbalized or raw. Models trained on one index answer from it, or from another with sources added
after training (the paper's hot-swap, section 7).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.faithful import facts
from lisax.files.writing import write_json_lines
from lisax.formats.examples import write_examples
from lisax.formats.triples import Triples, graph_triples, table_triples
from lisax.models.architectures import SpanReaderConfig
from lisax.papers.base import REPORT, TRAIN, VALIDATION, Pipeline, tell
from lisax.papers.list5.run import List5
from lisax.papers.recipe import file_and_bindings
from lisax.papers.settings import fact
from lisax.papers.stages import Stage
from lisax.papers.udt_qa.claims import ClaimChecks
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.predict.dense_search import open_search
from lisax.predict.reader import Answer, Reader, answer_to_file
from lisax.predict.retriever import add_vectors, open_encoder
from lisax.progress import say
from lisax.records import Document, Question
from lisax.retrieval import mixed
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.dense import Encodes
from lisax.retrieval.documents import CLAIMS_AT_A_TIME
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Source
from lisax.sampling import files
from lisax.sampling import question_examples as sampling
from lisax.training.gin_files import model_class_of
from lisax.weights.pretrained import sendable

LEARNED = (TRAIN, VALIDATION)


def _open_reading(
    model: Path, folder: Path
) -> Callable[[Sequence[tuple[Question, Sequence[str]]]], list[Sequence[Answer]]]:
    reader, index = Reader(model), MixedIndex.open(folder)
    return lambda pairs: list(reader.read([(question.text, list(map(index.passage, ids))) for question, ids in pairs]))


class UdtQa(Pipeline):
    """One run in the folder `out`; `stages` lists its steps."""

    asked = "questions"
    recipe_class = QuestionRecipe
    warm_up_pipeline = List5
    # More claims than in other worlds need two pages, one of which may be withheld; questions mostly ask for facts.
    world_settings = {
        "shares": {"one_hop": 0.5, "two_hop": 0.2, "joint": 0.05, "compare": 0.25},
        "questions_per_page": 6,
        "questions_per_table": 1,
        "mixed_evidence": True,
    }

    def __init__(self, data, out, recipe, *, until: str | None = None):
        super().__init__(data, out, recipe.expanded(), until=until)
        if next(iter(data.documents()), None) is None:
            raise LisaxError(
                f"{data.folder}: pages are needed (in our own layout pages.jsonl), to which tables and "
                "graphs are added; there are none"
            )

        readers = [name for name in self.recipe.train if name.startswith("reader")]
        if self.recipe.backbone is not None and not all(map(self._points, readers)):
            raise LisaxError(
                "QuestionRecipe.train has a reader that generates answers, which is for T5: with a backbone name one that "
                "points to them (models/span_reader.gin)"
            )

    @property
    def checks_claims(self) -> bool:
        """Whether the recipe checks claims and the data has claims to train on and to check."""
        splits = self.data.splits
        return bool(self.recipe.claims) and "train" in splits and ("dev" in splits or "test" in splits)

    @property
    def indexed(self) -> list[str]:
        return [f"index.{index}" for index in self.recipe.indexes]

    @fact
    def claims_settings(self) -> dict:
        """All settings of the LisT5 run whose models check claims."""
        return dataclasses.asdict(self.claim_checks.recipe)

    @property
    def claim_splits(self) -> Sequence[str]:
        return self.data.question_splits

    def read_claims(self, split: str) -> Iterable[Question]:
        return self.data.questions(split)

    def has_gold(self, claim: Question) -> bool:
        return bool(claim.answers)

    # --- Files ------------------------------------------------------------------------------

    @property
    def verbalized_file(self) -> Path:
        return self.out / "verbalized.jsonl"

    def index_folder(self, index: str, learned: str) -> Path:
        """The index folder; each retriever has its own, for its vectors."""
        return self.out / "index" / (index if index == learned else f"{index}.{learned}")

    def examples_folder(self, model: str) -> Path:
        return self.out / "examples" / model

    def _example_files(self, model: str, kind: str) -> list[Path]:
        return [self.examples_folder(model) / sampling.file_name(kind, role) for role in LEARNED]

    def answers_file(self, learned: str, index: str) -> Path:
        return self.out / "answers" / f"{learned}.{index}.jsonl"

    # --- Stages -----------------------------------------------------------------------------

    def run(self) -> None:
        """Runs all stages up to the answers and verdicts."""
        if share := self.recipe.withheld_pages:
            say(
                f"the recipe withholds the text of {share:.0%} of the pages from every index "
                "(QuestionRecipe.withheld_pages)"
            )
        if self.checks_claims:
            _ = self.claim_checks.claims  # raises errors in the claims before any work is done
        super().run()

    def stages(self) -> list[Stage]:
        """The paper's pipeline, from text, tables and graphs to answers; and claims checked on the same indexes."""
        recipe = self.recipe
        return [
            Stage("verbalize", [], [self.verbalized_file], self._verbalize),
            *(self._index_stage(f"index.{index}", index, index) for index in recipe.indexes),
            *self.stages_before_training(),
            *(stage for learned in recipe.learned_from for stage in self.stages_of_models(learned)),
            *(stage for learned, index in recipe.settings for stage in self.stages_of_answers(learned, index)),
            *(self.claim_checks.stages() if self.checks_claims else []),
        ]

    @functools.cached_property
    def claim_checks(self) -> ClaimChecks:
        return ClaimChecks(self)

    # --- Indexes ----------------------------------------------------------------------------

    def _verbalize(self) -> None:
        """Writes every row and sub-graph as sentences, in corpus order."""
        rows = (unit for table in self.data.tables() for unit in table_triples(table))
        graphs = filter(lambda unit: unit.pairs, map(graph_triples, self.data.graphs()))
        if self.recipe.verbalizer is None:
            texts = itertools.chain(
                ((unit, {"text": facts.render(unit)}) for unit in rows),
                ((unit, _edge_by_edge(unit)) for unit in graphs),
            )
            write_json_lines(
                self.verbalized_file,
                ({"id": unit.id, "title": unit.title, **text, "digest": unit.digest} for unit, text in texts),
            )
            return
        from lisax.predict.verbalizer import Verbalizer, verbalize_to_file

        shares = verbalize_to_file(
            functools.partial(Verbalizer.open, sendable(self.recipe.verbalizer)),
            itertools.chain(rows, graphs),
            self.verbalized_file,
            json.dumps(self.data_files),
            workers=self.workers,
        )
        say("  " + ", ".join(f"{name} {share:.4g}" for name, share in shares.items()))

    def _index_stage(self, name: str, index: str, learned: str) -> Stage:
        """Builds an index of one kind for the models trained on an index: text, then the added sources."""
        folder = self.index_folder(index, learned)
        return Stage(name, ["verbalize"], [folder], functools.partial(self._build_index, index, folder))

    def _build_index(self, index: str, folder: Path) -> None:
        mixed.build_index(passages_of(self.data, ["text"], keep=self.is_kept), folder)
        if index == "text":
            return
        # Hot-swap: tables and graphs are added to an existing index of text.
        file = self.verbalized_file if index == "verbalized" else None
        if sources := passages_of(self.data, ["tables", "graphs"], file, if_there=True):
            mixed.add_sources(sources, folder, form=index)

    def is_kept(self, page: Document | str) -> bool:
        """Whether the indexes contain a page's text."""
        page = page if isinstance(page, str) else page.id
        return files.hashed_share(f"withheld {page}") >= self.recipe.withheld_pages

    @functools.cached_property
    def structures(self) -> set[str]:
        """Ids of the data's tables and graphs."""
        return {unit.id for unit in itertools.chain(self.data.tables(), self.data.graphs())}

    def is_structure(self, unit: str) -> bool:
        """Whether a unit is a table, a graph, or a part of one; its id does not distinguish it from a sentence."""
        return unit in self.structures or ("#" in unit and unit.rpartition("#")[0] in self.structures)

    def texts(self) -> Iterator[str]:
        """The texts that the vocabulary is trained on: passages of every index, and training questions."""
        for index in self.recipe.indexes:
            opened = MixedIndex.open(self.index_folder(index, index))
            for source, store in opened.stores.items():
                if index == "text" or source is not Source.TEXT:
                    yield from (f"{passage.title} . {passage.text}" for passage in store)
        if self.recipe.warms_up:
            made = open_folder(self.world_folder)
            yield from (claim.text for claim in made.claims("train"))
            yield from (f"{page.title} . {page.text}" for page in made.documents())
        yield "question: title: context:"
        yield from (question.text for question in self.claims_of(TRAIN).values())

    def questions(self, role: str) -> dict[str, Question]:
        limit = self.recipe.train_questions if role == TRAIN else None
        return dict(itertools.islice(self.claims_of(role).items(), limit))

    # --- Models -----------------------------------------------------------------------------

    def stages_of_models(self, learned: str) -> list[Stage]:
        """An index's models: the retriever, its second round on its own negatives, readers of one and more passages."""
        stages = []
        for model in (name for name in self.recipe.train if name.endswith(f"_{learned}")):
            if model.startswith("retriever"):
                first = f"retriever_{learned}" if "second" in model else None
                kind = "retriever"
            else:
                first = self.recipe.retriever(learned)
                kind = "reader"
            examples = Stage(
                f"examples.{model}",
                [f"index.{learned}", *([f"train.{first}"] if first else [])],
                self._example_files(model, kind),
                functools.partial(self._write_examples, model, kind, learned, first),
            )
            stages += [examples, self.training(model, after=[examples.name])]
        return stages

    def _write_examples(self, model: str, kind: str, learned: str, first: str | None) -> None:
        """Writes examples of a retriever or a reader from passages that the retriever `first` (None: BM25) finds."""
        recipe, skipped = self.recipe, Counter()
        index = MixedIndex.open(self.index_folder(learned, learned))
        if kind == "retriever":
            k, method = recipe.mined, "dense" if first else "bm25"
            make = functools.partial(sampling.for_retriever, negatives=recipe.negatives)
        else:
            k, method = recipe.retrieved, recipe.method
            make = functools.partial(sampling.for_reader, passages=self._passages(model))
        for role, out in zip(LEARNED, self._example_files(model, kind)):
            questions = self.questions(role)
            ranked = self._retrieved(questions, learned, learned, k, first, method)
            gold = sampling.gold_passages(index, questions.values())
            write_examples(out, make(index, questions.values(), ranked, gold=gold, skipped=skipped))
        tell(skipped)

    def _passages(self, reader: str) -> int:
        """The number of passages that a reader reads per question."""
        return 1 if "first" in reader else self.recipe.passages

    def _points(self, reader: str) -> bool:
        """Whether a reader points to its answers; otherwise it generates them."""
        return model_class_of(file_and_bindings(self.recipe.train[reader])[0]) is SpanReaderConfig

    def task_of(self, model: str) -> str:
        if model.startswith("retriever"):
            return "questions_retrieve"
        return f"questions_{'point' if self._points(model) else 'read'}_top{self._passages(model)}"

    def lengths_of(self, model: str) -> dict[str, int]:
        recipe = self.recipe
        if model.startswith("retriever"):
            count = 1 + recipe.negatives
            return {"inputs": (2 * count + 1) * recipe.question_tokens, "targets": count}
        return {
            "inputs": self._passages(model) * recipe.passage_tokens,
            "targets": 2 * recipe.places if self._points(model) else recipe.answer_tokens,
        }

    def bindings_of(self, model: str) -> dict[str, int] | None:
        return None if model.startswith("retriever") else {"PASSAGES": self._passages(model)}

    def _retrieved(
        self, questions: dict[str, Question], learned: str, index: str, k: int, model: str | None, method: str
    ) -> dict[str, list[str]]:
        """The `k` first passages of each question, by the retriever `model` (None: BM25, or the backbone's vectors)."""
        folder, opens = self.index_folder(index, learned), None
        if method != "bm25":
            retriever = sendable(self.recipe.backbone) if model is None else self.model_dir(model)
            opens = functools.partial(open_encoder, retriever)
            add_vectors(folder, self._retriever(retriever), self.workers)
        work = functools.partial(open_search, folder, k, method, opens)
        found = self.at_workers(work, questions.values(), CLAIMS_AT_A_TIME, "questions")
        return {i: [hit for hit, _ in hits] for i, hits in zip(questions, found, strict=True)}

    @functools.lru_cache(2)
    def _retriever(self, model: Path | str) -> Encodes:
        return open_encoder(model)  # which shares one that is still in use

    # --- Answers ----------------------------------------------------------------------------

    def stages_of_answers(self, learned: str, index: str) -> list[Stage]:
        """Answers to the reported questions by models trained on one index, from the same or another."""
        retriever, built, stages = self.recipe.retriever(learned), f"index.{index}", []
        if index != learned:  # its vectors come from another model
            built = f"swap.{learned}.{index}"
            stages.append(self._index_stage(built, index, learned))
        answer = Stage(
            f"answer.{learned}.{index}",
            [f"train.reader_{learned}", built, *([f"train.{retriever}"] if retriever else [])],
            [self.answers_file(learned, index)],
            functools.partial(self._answer, learned, index, retriever),
        )
        return [*stages, answer]

    def _answer(self, learned: str, index: str, retriever: str | None) -> None:
        recipe, questions = self.recipe, self.questions(REPORT)
        methods = ["bm25", *(["dense", "fused"] if retriever or recipe.backbone is not None else [])]
        runs = {
            method: self._retrieved(questions, learned, index, recipe.retrieved, retriever, method)
            for method in methods
        }
        reader, read = self.model_dir(f"reader_{learned}"), runs[recipe.method]
        answer_to_file(
            functools.partial(_open_reading, reader, self.index_folder(index, learned)),
            [(question, read[question.id]) for question in questions.values()],
            self.answers_file(learned, index),
            more=lambda question: {
                "gold": question.answers,
                "evidence": question.evidence,
                "retrieved": {name: runs[name][question.id] for name in methods},
            },
            workers=self.workers,
        )

    def answers(self, learned: str, index: str) -> list[dict]:
        with self.answers_file(learned, index).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def _edge_by_edge(graph: Triples) -> dict:
    """The rule's rendering of a sub-graph."""
    texts = facts.render_pairs(graph)
    return {"text": " ".join(texts), "parts": list(enumerate(texts))}
