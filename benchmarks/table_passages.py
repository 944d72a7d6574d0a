"""Questions over passages of tables, raw and verbalized by rule: how often an answer stands in the first passages.

    .venv/bin/python -m benchmarks.table_passages --data ../shared/data/ottqa [--split dev] [--tables 2000] [--vectors]

R@k as in UDT-QA's retrieval: the share of questions with an answer in the text of one of their first k passages. The
collection is the tables of the questions and the first others, `--tables` in all (0: all that there are). `--vectors` adds
those of `minilm`, zero-shot, alone and with BM25.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

from benchmarks import spread
from lisax.corpora import open_folder
from lisax.faithful import facts
from lisax.formats.triples import table_triples
from lisax.metrics import open_qa
from lisax.predict.dense_search import PassageSearch
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.retrieval import mixed, passages
from lisax.retrieval.dense import encode_index
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Source

CUTOFFS = (1, 5, 20, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--vectors", action="store_true")
    args = parser.parse_args()
    source = open_folder(args.data)
    questions = {question.id: question for question in source.questions(args.split)}
    gold = {unit.partition("#")[0] for question in questions.values() for unit in question.evidence}
    tables = sorted(source.tables(), key=lambda table: table.id not in gold)
    tables = list(itertools.islice(tables, args.tables or None))
    kept = {table.id for table in tables}
    questions = {i: one for i, one in questions.items() if not args.tables or set(one.evidence) <= kept}
    answers = {i: one.answers for i, one in questions.items()}
    print(f"{len(questions):,} questions, {len(tables):,} tables")
    encoder = SentenceEncoder.open("minilm") if args.vectors else None
    print(f"| form | search | {' | '.join(f'R@{k}' for k in CUTOFFS)} | passages | seconds |\n|---" + "|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (unit for table in tables for unit in table_triples(table))
        sentences = (
            {"id": unit.id, "title": unit.title, "text": facts.render(unit), "digest": unit.digest} for unit in rows
        )
        texts_of_row = passages.texts_in_order(enumerate(sentences, start=1), folder)
        made = {
            "raw": (one for table in tables for one in passages.of_table(table)),
            "verbalized": (one for table in tables for one in passages.of_verbalized_table(table, texts_of_row)),
        }
        for form, of_form in made.items():
            start, index = time.perf_counter(), folder / form
            mixed.build_index({Source.TABLE: of_form}, index, form=form)
            if encoder is not None:
                encode_index(index, encoder, lambda count: None)
            opened = MixedIndex.open(index)
            for method in ("bm25", *(("dense", "fused") if encoder else ())):
                texts = {i: one.text for i, one in questions.items()}
                hits = PassageSearch(opened, method=method, retriever=encoder)(texts, CUTOFFS[-1])
                found = {i: [opened.passage(hit).text for hit, _ in of_one] for i, of_one in hits.items()}
                figures = open_qa.recall(answers, found, CUTOFFS)
                cells = " | ".join(f"{100 * figures[f'R@{k}']:.1f}" for k in CUTOFFS)
                seconds = time.perf_counter() - start
                print(f"| {form} | {method} | {cells} | {len(opened):,} | {seconds:.0f} |", flush=True)
    spread.print_machine()


if __name__ == "__main__":
    main()
