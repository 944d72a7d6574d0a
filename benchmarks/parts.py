"""Scoring pools of tables by rows and columns on CPU: against the plain loop, and what pruning spares.

    .venv/bin/python -m benchmarks.parts [--data WTQ] [--questions 4] [--pool 300] [--loop 200]
        [--rounds 3] [--tokens 512]
    .venv/bin/python -m benchmarks.parts --data WTQ --model MODEL_DIR --index INDEX [--questions 100]

Questions a second and cells a second of a pool of `--pool` tables, by `TableAnswerer.rank` (everything) and by
`TableAnswerer.answer` (pruned). The plain loop is what a user writes first: one part a call, encoded anew and padded to
the model's length (`--tokens`: 512 is the paper's, 128 that of the micro recipe); `--loop` parts of each question's
pool are timed and the rest reckoned from them. Without `--data` a generated world's tables are scored; without
`--model` by a micro model with random weights, whose time does not depend on them (how much pruning spares does: give a
trained one). Sides take turns; figures are medians over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from lisax.corpora import open_folder
from lisax.formats.parts import TABLE_PARTS, PartExample
from lisax.formats.presets import PAPER
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.t5 import Transformer
from lisax.predict.model import Model
from lisax.predict.table_answers import PartScorer, TableAnswerer
from lisax.retrieval.table_store import TableStore
from lisax.retrieval.table_text import build_index, open_index
from lisax.sampling.part_examples import parts_of
from lisax.scoring.texts import LabelScorer, first_step_logits
from lisax.training.gin_files import configured
from lisax.weights.model_card import ModelCard
from lisax.world import write


def micro_model(tables: TableStore, folder: Path, max_tokens: int) -> tuple[Model, Callable[[PartExample], float]]:
    """Random weights, with a vocabulary of the tables; and the plain loop over them."""
    texts = (TABLE_PARTS.encode(part, count_tokens=len).inputs for table in tables for part in parts_of("", "", table))
    vocabulary = train_vocabulary(texts, folder / "spiece.model", 8000)
    given = [
        "MODEL_DIR = 'out'",
        f"VOCAB_SIZE = {-(-vocabulary.size // 128) * 128}",
        "MIXTURE_OR_TASK_NAME = 'cltr_parts'",
        f"TASK_FEATURE_LENGTHS = {{'inputs': {max_tokens}, 'targets': 2}}",
    ]
    with configured("train", ["experiments/cltr/micro.gin"], given) as config:
        model = config.model.for_inference()
    tokens = jax.ShapeDtypeStruct((1, 2), np.int32)
    shapes = jax.eval_shape(Transformer(model).init, jax.random.key(0), tokens, tokens, tokens)["params"]
    rng = np.random.default_rng(0)
    weights = jax.tree.map(lambda leaf: rng.normal(0, 0.5, leaf.shape).astype(np.float32), shapes)
    card = TABLE_PARTS.card(PAPER, max_tokens) | {"architecture": {"vocab_size": model.vocab_size}}
    made = Model.of_words(
        lambda pieces, longest: LabelScorer(model, weights, pieces, max_tokens=longest),
        vocabulary,
        ModelCard(folder, card),
    )
    return made, plain_loop(made, model, weights)


def plain_loop(model: Model, config, weights):
    """(one example) -> its probability: encoded, padded to the greatest length, a call of its own."""
    pieces = np.array([model.vocabulary.piece_id(word) for word in PAPER.ranking_words], np.int32)
    score = jax.jit(lambda weights, tokens: first_step_logits(Transformer(config), weights, tokens, pieces))
    placed = jax.device_put(weights)

    def one(example: PartExample) -> float:
        text = TABLE_PARTS.encode(example, max_tokens=model.max_tokens, count_tokens=model.vocabulary.count)
        ids = model.vocabulary.encode_input(text.inputs)
        batch = np.zeros((1, model.max_tokens), np.int32)
        batch[0, : len(ids)] = ids
        logits = np.asarray(score(placed, batch))[0]
        return float(1 / (1 + np.exp(logits[1] - logits[0])))

    return one


def measure(answerer: TableAnswerer, plain, questions: list[str], pool: int, loop: int, rounds: int) -> dict:
    pools = [answerer.pool(question, pool) for question in questions]
    cells = sum(len(table.rows) * len(table.header) for found in pools for table, _ in found)
    seconds: dict[str, list[float]] = {"everything": [], "pruned": [], "plain loop": []}
    examples = [
        [part for table, _ in found for part in parts_of("", question, table)]
        for question, found in zip(questions, pools)
    ]
    for number in range(rounds + 1):  # the first compiles, and encodes the tables' parts
        started = time.perf_counter()
        ranked = [answerer.rank(question, found) for question, found in zip(questions, pools)]
        whole = time.perf_counter()
        pruned = [answerer.answer(question, pool) for question in questions]
        end = time.perf_counter()
        spent = 0.0
        if plain is not None:
            for parts in examples:
                begun = time.perf_counter()
                for part in parts[:loop]:
                    plain(part)
                spent += (time.perf_counter() - begun) * len(parts) / max(1, len(parts[:loop]))
        if number:
            for name, value in zip(seconds, (whole - started, end - whole, spent)):
                seconds[name].append(value)
    same = np.mean(
        [
            [scores.table.id for scores in sorted(full, key=lambda scores: -scores.value)[:5]]
            == [scores.table.id for scores in best]
            for full, best in zip(ranked, pruned)
        ]
    )
    medians = {name: statistics.median(values) for name, values in seconds.items() if any(values)}
    return {
        "tables": sum(map(len, pools)),
        "parts": sum(map(len, examples)),
        "cells": cells,
        "same top 5": float(same),
        "questions/s": {name: len(questions) / value for name, value in medians.items()},
        "cells/s": {name: cells / value for name, value in medians.items()},
        "times the plain loop": {name: medians["plain loop"] / value for name, value in medians.items()}
        if plain is not None
        else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--pool", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--loop", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.data is None:
            write(folder / "world", 6000)
        data = open_folder(arguments.data or folder / "world")
        split = arguments.split or ("e2e_dev" if "e2e_dev" in data.question_splits else "test")
        index = arguments.index or folder / "index"
        if arguments.index is None:
            build_index(data.tables(), index)
        store = TableStore.open(index)
        model, plain = (
            (Model.open(arguments.model), None) if arguments.model else micro_model(store, folder, arguments.tokens)
        )
        questions = [question.text for question, _ in zip(data.questions(split), range(arguments.questions))]
        answerer = TableAnswerer(open_index(index), store, PartScorer(model))
        found = measure(answerer, plain, questions, arguments.pool, arguments.loop, arguments.rounds)
        print(
            json.dumps(
                {
                    "cores": len(os.sched_getaffinity(0)),
                    "load": os.getloadavg()[0],
                    "questions": len(questions),
                    "pool": arguments.pool,
                    "max tokens": model.max_tokens,
                }
                | found,
                indent=2,
            )
        )


if __name__ == "__main__":
    main()
