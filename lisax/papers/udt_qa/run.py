"""UDT-QA (Ma et al., ACL 2022): questions answered from text, tables and graphs through one index of passages.

Tables and graphs are verbalized or raw; models learn from one index and answer from it, or from another with sources
added after they were trained (the paper's hot-swap, section 7).
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lisax.corpora import open_folder
from lisax.formats import faithfulness
from lisax.formats.examples import write_examples
from lisax.formats.triples import Triples, graph_triples, table_triples
from lisax.models.architectures import SpanReaderConfig
from lisax.papers.base import REPORT, TRAIN, VALIDATION, Pipeline, tell
from lisax.papers.udt_qa.claims import ClaimChecks
from lisax.papers.udt_qa.recipe import read_recipe
from lisax.predict.reader import Reader, answer_to_file
from lisax.predict.retriever import Retriever, retrieve
from lisax.progress import counting, say
from lisax.records import Document, LisaxError, Question, write_json_lines
from lisax.retrieval import mixed
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.dense import encode_index
from lisax.retrieval.mixed import Hits, MixedIndex
from lisax.retrieval.passages import Source
from lisax.runtime.gin_files import architecture_of
from lisax.runtime.resumable import fingerprint
from lisax.sampling import files
from lisax.sampling import question_examples as sampling

LEARNED = (TRAIN, VALIDATION)


class UdtQa(Pipeline):
    """One run in the folder `out`: each method is a stage that reads and writes files there."""

    indexed = "index.text"
    asked = "questions"
    read_recipe = staticmethod(read_recipe)
    # Claims of which more need two pages than in other worlds, one of them perhaps withheld; questions of facts mostly.
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

    @property
    def stage_names(self) -> list[str]:
        recipe = self.recipe
        names = ["verbalize", *(f"index.{index}" for index in recipe.indexes)]
        names += ["world", "vocabulary", "warm_up"] if recipe.warm_up else ["vocabulary"]
        for learned in recipe.learned_from:
            for model in (name for name in recipe.train if name.endswith(f"_{learned}")):
                names += [f"examples.{model}", f"train.{model}"]
        for learned, index in recipe.settings:
            names += [f"swap.{learned}.{index}"] * (learned != index) + [f"answer.{learned}.{index}"]
        return names + (self.claim_checks.stage_names if self.checks_claims else [])

    @property
    def checks_claims(self) -> bool:
        """Whether the recipe has claims checked and the data has some to learn from and to check."""
        splits = self.data.splits
        return bool(self.recipe.claims) and "train" in splits and ("dev" in splits or "test" in splits)

    @property
    def claim_splits(self) -> Sequence[str]:
        return self.data.question_splits

    def read_claims(self, split: str) -> Iterable[Question]:
        return self.data.questions(split)

    @property
    def warm_up_pipeline(self) -> type[Pipeline]:
        from lisax.papers.list5.run import List5

        return List5

    def has_gold(self, claim: Question) -> bool:
        return bool(claim.answers)

    # --- Files ------------------------------------------------------------------------------

    @property
    def verbalized_file(self) -> Path:
        return self.out / "verbalized.jsonl"

    def index_folder(self, index: str, learned: str) -> Path:
        """Each retriever has an index of its own for its vectors."""
        return self.out / "index" / (index if index == learned else f"{index}.{learned}")

    def examples_folder(self, model: str) -> Path:
        return self.out / "examples" / model

    def answers_file(self, learned: str, index: str) -> Path:
        return self.out / "answers" / f"{learned}.{index}.jsonl"

    # --- Stages -----------------------------------------------------------------------------

    def run(self) -> None:
        """All stages up to the answers and verdicts."""
        if share := self.recipe.withheld_pages:
            say(
                f"the recipe withholds the text of {share:.0%} of the pages from every index "
                "(QuestionRecipe.withheld_pages)"
            )
        if self.checks_claims:
            _ = self.claim_checks.claims  # what is wrong with them is told before anything is made
        self.train_models()
        for learned, index in self.recipe.settings:
            self.answer(learned, index)
        if self.checks_claims:
            self.claim_checks.run()

    @functools.cached_property
    def claim_checks(self) -> ClaimChecks:
        return ClaimChecks(self)

    def train_models(self) -> None:
        self.verbalize()
        self.build_indexes()
        self.write_world()
        self.build_vocabulary()
        self.warm_up()
        for learned in self.recipe.learned_from:
            self.learn(learned)

    def verbalize(self) -> None:
        """Every row and sub-graph as sentences, in the corpus's order."""
        recipe = self.recipe

        def work() -> None:
            rows = (unit for table in self.data.tables() for unit in table_triples(table))
            graphs = filter(lambda unit: unit.pairs, map(graph_triples, self.data.graphs()))
            if recipe.verbalizer is None:
                texts = itertools.chain(
                    ((unit, {"text": faithfulness.render(unit)}) for unit in rows),
                    ((unit, _edge_by_edge(unit)) for unit in graphs),
                )
                write_json_lines(
                    self.verbalized_file,
                    ({"id": unit.id, "title": unit.title, **text, "digest": unit.digest} for unit, text in texts),
                )
                return
            units = itertools.chain(rows, graphs)
            from lisax.predict.verbalizer import Verbalizer, verbalize_to_file

            shares = verbalize_to_file(
                Verbalizer.open(recipe.verbalizer), units, self.verbalized_file, json.dumps(self.data_print)
            )
            say("  " + ", ".join(f"{name} {share:.4g}" for name, share in shares.items()))

        by = recipe.verbalizer and [recipe.verbalizer, fingerprint(Path(recipe.verbalizer))]
        self.stages.run(
            "verbalize", work, outputs=[self.verbalized_file], settings={"data": self.data_print, "verbalizer": by}
        )

    def build_indexes(self) -> None:
        """Each index as it is learned from: text, then what is added to it."""
        for index in self.recipe.indexes:
            self._build(index, index, f"index.{index}", ["verbalize"])

    def _build(self, index: str, learned: str, stage: str, after: Sequence[str]) -> None:
        folder = self.index_folder(index, learned)

        def work() -> None:
            mixed.build_index(passages_of(self.data, ["text"], keep=self.is_kept), folder)
            self._add(index, folder)

        self.stages.run(
            stage,
            work,
            outputs=[folder],
            after=after,
            settings={"data": self.data_print, "withheld": self.recipe.withheld_pages},
        )

    def is_kept(self, page: Document | str) -> bool:
        """Whether the indexes have a page's text."""
        page = page if isinstance(page, str) else page.id
        return files.hashed_share(f"withheld {page}") >= self.recipe.withheld_pages

    @functools.cached_property
    def structures(self) -> set[str]:
        """Ids of the data's tables and graphs."""
        return {unit.id for unit in itertools.chain(self.data.tables(), self.data.graphs())}

    def is_structure(self, unit: str) -> bool:
        """Whether a unit is a table, a graph, or a part of one: its looks do not tell it from a sentence."""
        return unit in self.structures or ("#" in unit and unit.rpartition("#")[0] in self.structures)

    def _add(self, index: str, folder: Path) -> None:
        """Hot-swap: tables and graphs join the text of an index that is there."""
        if index == "text":
            return
        file = self.verbalized_file if index == "verbalized" else None
        if sources := passages_of(self.data, ["tables", "graphs"], file, if_there=True):
            mixed.add_sources(sources, folder, form=index)

    def texts(self) -> Iterator[str]:
        """What the vocabulary is trained on: passages of every index, and questions of train."""
        for index in self.recipe.indexes:
            opened = MixedIndex.open(self.index_folder(index, index))
            for source, store in opened.stores.items():
                if index == "text" or source is not Source.TEXT:
                    yield from (f"{passage.title} . {passage.text}" for passage in store)
        if self.recipe.warm_up:
            made = open_folder(self.world_folder)
            yield from (claim.text for claim in made.claims("train"))
            yield from (f"{page.title} . {page.text}" for page in made.documents())
        yield "question: title: context:"
        yield from (question.text for question in self.claims[TRAIN].values())

    def questions(self, role: str) -> dict[str, Question]:
        limit = self.recipe.train_questions if role == TRAIN else None
        return dict(itertools.islice(self.claims[role].items(), limit))

    def learn(self, learned: str) -> None:
        """The models of one index: the retriever, again from its own negatives, and readers of one and of more passages."""
        for model in (name for name in self.recipe.train if name.endswith(f"_{learned}")):
            if model.startswith("retriever"):
                self._learn_retriever(model, learned, f"retriever_{learned}" if "second" in model else None)
            else:
                self._learn_reader(model, learned, 1 if "first" in model else self.recipe.passages)

    def _learn_retriever(self, model: str, learned: str, first: str | None) -> None:
        recipe, folder = self.recipe, self.examples_folder(model)
        outputs = [folder / sampling.file_name("retriever", role) for role in LEARNED]

        def work() -> None:
            index, skipped = MixedIndex.open(self.index_folder(learned, learned)), Counter()
            for role, out in zip(LEARNED, outputs):
                questions = self.questions(role)
                ranked = self._ranked(questions, learned, learned, recipe.mined, first, "dense" if first else "bm25")
                gold = sampling.gold_passages(index, questions.values())
                write_examples(
                    out,
                    sampling.for_retriever(
                        index, questions.values(), ranked, gold, negatives=recipe.negatives, skipped=skipped
                    ),
                )
            tell(skipped)

        after = [f"index.{learned}", *([f"train.{first}"] if first else [])]
        self.stages.run(
            f"examples.{model}",
            work,
            outputs=outputs,
            after=after,
            settings={"mined": recipe.mined, "negatives": recipe.negatives, **self._roles},
        )
        count = 1 + recipe.negatives
        self.train_model(
            model,
            "questions_retrieve",
            [f"examples.{model}", "vocabulary"],
            data=folder,
            lengths={"inputs": (2 * count + 1) * recipe.question_tokens, "targets": count},
        )

    def _learn_reader(self, model: str, learned: str, passages: int) -> None:
        recipe, folder = self.recipe, self.examples_folder(model)
        outputs = [folder / sampling.file_name("reader", role) for role in LEARNED]
        retriever = recipe.retriever(learned)

        def work() -> None:
            index, skipped = MixedIndex.open(self.index_folder(learned, learned)), Counter()
            for role, out in zip(LEARNED, outputs):
                questions = self.questions(role)
                ranked = self._ranked(questions, learned, learned, recipe.retrieved, retriever, recipe.method)
                gold = sampling.gold_passages(index, questions.values())
                write_examples(
                    out,
                    sampling.for_reader(
                        index, questions.values(), ranked, passages=passages, gold=gold, skipped=skipped
                    ),
                )
            tell(skipped)

        after = [f"index.{learned}", *([f"train.{retriever}"] if retriever else [])]
        self.stages.run(
            f"examples.{model}",
            work,
            outputs=outputs,
            after=after,
            settings={"method": recipe.method, "passages": passages, "retrieved": recipe.retrieved, **self._roles},
        )
        points = architecture_of(recipe.train[model]) is SpanReaderConfig
        self.train_model(
            model,
            f"questions_{'point' if points else 'read'}_top{passages}",
            [f"examples.{model}", "vocabulary"],
            data=folder,
            lengths={
                "inputs": passages * recipe.passage_tokens,
                "targets": 2 * recipe.places if points else recipe.answer_tokens,
            },
            bindings={"PASSAGES": passages},
        )

    @property
    def _roles(self) -> dict:
        return {
            "questions": self.recipe.train_questions,
            "roles": [self.recipe.validation_share, self.recipe.validation_claims],
        }

    def _ranked(
        self, questions: dict[str, Question], learned: str, index: str, k: int, model: str | None, method: str
    ) -> dict[str, list[str]]:
        return {
            i: [hit for hit, _ in hits]
            for i, hits in self._retrieve(questions, learned, index, k, model, method).items()
        }

    def _retrieve(
        self, questions: dict[str, Question], learned: str, index: str, k: int, model: str | None, method: str
    ) -> dict[str, Hits]:
        folder = self.index_folder(index, learned)
        retriever = None if model is None or method == "bm25" else self._retriever(model)
        if retriever is not None:
            with counting(len(MixedIndex.open(folder)), "passages") as advance:
                encode_index(folder, retriever, advance)
        return retrieve(
            folder, {i: question.text for i, question in questions.items()}, k, method=method, retriever=retriever
        )

    @functools.lru_cache(2)
    def _retriever(self, model: str) -> Retriever:
        return Retriever.open(self.model_dir(model))

    def answer(self, learned: str, index: str) -> None:
        """Answers of the reported questions by models that learned from one index, from the same or another."""
        recipe, out = self.recipe, self.answers_file(learned, index)
        model, folder, built = recipe.retriever(learned), self.index_folder(index, learned), f"index.{index}"
        if index != learned:  # its vectors are another model's
            built = f"swap.{learned}.{index}"
            self._build(index, learned, built, ["verbalize"])
        after = [f"train.reader_{learned}", built, *([f"train.{model}"] if model else [])]

        def work() -> None:
            questions = self.questions(REPORT)
            methods = ["bm25", *(["dense", "fused"] if model else [])]
            runs = {
                method: self._ranked(questions, learned, index, recipe.retrieved, model, method) for method in methods
            }
            opened, reader = MixedIndex.open(folder), Reader.open(self.model_dir(f"reader_{learned}"))
            answer_to_file(
                reader,
                questions.values(),
                lambda i: [opened.passage(hit) for hit in runs[recipe.method][i]],
                out,
                more=lambda question: {
                    "gold": question.answers,
                    "evidence": question.evidence,
                    "retrieved": {name: runs[name][question.id] for name in methods},
                },
            )

        self.stages.run(
            f"answer.{learned}.{index}",
            work,
            outputs=[out],
            after=after,
            settings={
                "method": recipe.method,
                "retrieved": recipe.retrieved,
                "passages": recipe.passages,
                "questions": recipe.report_claims,
            },
        )

    def answers(self, learned: str, index: str) -> list[dict]:
        with self.answers_file(learned, index).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def _edge_by_edge(graph: Triples) -> dict:
    """The rule's rendering of a sub-graph."""
    texts = faithfulness.render_pairs(graph)
    return {"text": " ".join(texts), "parts": list(enumerate(texts))}
