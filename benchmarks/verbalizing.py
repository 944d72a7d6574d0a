"""Verbalizing on CPU: rows a second with ten beams, ours against transformers' generate on the same weights, float32.

    .venv/bin/python -m benchmarks.verbalizing [--rows 64] [--rounds 3] [--model t5_1_1_mini] [--targets 48]

Both generate ten hypotheses of at most `--targets` tokens for the rows of a generated world's tables, as token ids, from
random weights. `transformers` gets the rows sorted by
length in batches of ours; `as given` is what a user writes first: batches of 16 in their order, padded to the longest.
The share of rows whose best hypothesis is the same is printed, as are the rows a second of the whole `verbalize` with
its choice and check. Ratios are medians over rounds. Needs the extra `interop` and runs from the repository's root.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lisax.corpora import open_folder
from lisax.formats.triples import Triples, table_triples
from lisax.formats.verbalizing import Encoder, marker_ids
from lisax.formats.vocabulary import EOS_ID, Vocabulary, train_vocabulary
from lisax.models.architectures import T5Config
from lisax.models.decoding import Decoding
from lisax.models.t5 import initialize
from lisax.papers.verbalizer.run import unit_texts
from lisax.predict.verbalizer import Choices, Verbalizer
from lisax.scoring.generating import ROWS, Generator
from lisax.training.gin_files import parsed
from lisax.world import write
from tests.models.reference import torch_t5

MAX_TOKENS, BEAMS = 128, 10
Tokens = Sequence[Sequence[int]]


def world_rows(folder: Path, count: int) -> tuple[list[Triples], Vocabulary]:
    write(folder / "world", 2000, seed=0)
    units = [unit for table in open_folder(folder / "world").tables() for unit in table_triples(table)]
    texts = (text.lower() for unit in units for text in unit_texts(unit))
    vocabulary = train_vocabulary(texts, folder / "spiece.model", 4000)
    chosen = np.random.default_rng(0).permutation(len(units))[:count]
    return [units[i] for i in chosen], vocabulary


def with_torch(model: Any, tokens: Tokens, targets: int, order: Sequence[int]) -> list[list[int]]:
    """The best hypothesis of each row, without EOS."""
    import torch

    best: list[list[int]] = [[] for _ in tokens]
    with torch.inference_mode():
        for rows in batched(order, ROWS["cpu"]):
            batch = np.zeros((len(rows), max(len(tokens[i]) for i in rows)), np.int64)
            for row, i in zip(batch, rows):
                row[: len(tokens[i])] = tokens[i]
            ids = torch.from_numpy(batch)
            found = model.generate(
                input_ids=ids,
                attention_mask=(ids > 0).long(),
                num_beams=BEAMS,
                do_sample=False,
                num_return_sequences=BEAMS,
                max_new_tokens=targets,
                length_penalty=1.0,
                early_stopping=False,
            )
            for i, hypothesis in zip(rows, found[::BEAMS].tolist()):
                best[i] = [token for token in hypothesis if token > EOS_ID]
    return best


def batched(order: Sequence[int], size: int) -> list[list[int]]:
    return [list(order[start : start + size]) for start in range(0, len(order), size)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--targets", type=int, default=48)
    parser.add_argument("--model", default="t5_1_1_mini", help="a file of gin_configs/models")
    args = parser.parse_args()
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    import torch
    import transformers

    jax.config.update("jax_platforms", "cpu")
    torch.set_num_threads(os.cpu_count())
    with parsed([f"models/{args.model}.gin"], ["DROPOUT_RATE = 0.0", "VOCAB_SIZE = 4224"]) as gin:
        config: T5Config = gin.get_configurable("T5Config")()
    parameters = jax.device_get(initialize(config))
    with tempfile.TemporaryDirectory() as folder:
        units, vocabulary = world_rows(Path(folder), args.rows)
    encoder = Encoder(vocabulary.encode, marker_ids(vocabulary.size))
    generator = Generator(
        config, parameters, max_tokens=MAX_TOKENS, target_tokens=args.targets, decoding=Decoding(beam_size=BEAMS)
    )
    verbalizer = Verbalizer(generator, vocabulary, encoder, MAX_TOKENS, Choices(BEAMS))
    tokens = [[*encoder.inputs(piece), EOS_ID] for unit in units for _, piece in encoder.split(unit, MAX_TOKENS)]
    by_length = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    peer = torch_t5(config, parameters)

    ways: dict[str, Callable[[], Any]] = {
        "lisax": lambda: [found[0].ids for found in generator.hypotheses(tokens)],
        "lisax, whole verbalize": lambda: verbalizer.verbalize(units),
        "transformers": lambda: with_torch(peer, tokens, args.targets, by_length),
        "transformers, as given": lambda: with_torch(peer, tokens, args.targets, range(len(tokens))),
    }
    results = {name: way() for name, way in ways.items()}  # not timed: compiles
    same = sum(a == b for a, b in zip(results["lisax"], results["transformers"]))
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, way in ways.items():
            started = time.perf_counter(), time.process_time()
            way()
            spent[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    for name, rounds in spent.items():
        wall, cpu = (statistics.median(times) for times in zip(*rounds))
        print(f"{name:24} {len(tokens) / wall:7.2f} rows/s, {1000 * cpu / len(tokens):.1f} ms of CPU time a row")
    for name in ("transformers", "transformers, as given"):
        for i, clock in enumerate(("the clock", "CPU time")):
            ratios = [other[i] / own[i] for own, other in zip(spent["lisax"], spent[name])]
            print(
                f"by {clock}, lisax is {statistics.median(ratios):.2f} times as fast as {name} "
                f"({min(ratios):.2f} to {max(ratios):.2f})"
            )
    print(
        f"same best hypothesis: {same} of {len(tokens)} rows of {min(map(len, tokens))} to {max(map(len, tokens))} tokens"
    )
    print(
        f"{args.model}, {BEAMS} beams, {args.targets} tokens, float32, {os.cpu_count()} cores of {platform.machine()}; "
        f"jax {jax.__version__}, torch {torch.__version__}, transformers {transformers.__version__}"
    )


if __name__ == "__main__":
    main()
