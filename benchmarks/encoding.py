"""Vectors of passages on CPU: encoding an index with MiniLM, and the same texts by transformers.

    lisax models get minilm; make peers
    .venv/bin/python -m benchmarks.encoding [--passages 100000] [--compared 500] [--rounds 3]

Passages of a generated world are indexed and encoded; after the first of the blocks that are committed the encoding is
interrupted, and resumed. Then `--compared` of their texts are encoded in rounds that alternate: ours, and transformers'
BertModel with the mean of its states in torch, once sorted by length in batches of as many tokens as ours (what
sentence-transformers does, whose batches are of 32 texts) and once in batches of 32 in their order. Texts go in, so
tokenising counts; vectors are compared. Ratios are medians over rounds.
Runs from the repository's root.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lisax.corpora import open_folder
from lisax.devices.loop import TOKENS_PER_BATCH
from lisax.predict.retriever import add_vectors
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.retrieval import dense, mixed
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.passages import Passage, Source
from lisax.weights.pretrained import get
from lisax.world import write

WIDTH = 384  # of vectors
TOKENS = TOKENS_PER_BATCH["cpu"]  # in a batch


class Interrupted(Exception):
    pass


class Interrupts:
    """An encoder that stops when it is asked for a second block."""

    def __init__(self, encoder: SentenceEncoder):
        self.digest, self.source, self.cosines = encoder.digest, encoder.source, encoder.cosines
        self._encoder, self._blocks = encoder, 0

    def passages(self, passages: Sequence[Any], progress: Callable[[int], None] | None = None) -> np.ndarray:
        self._blocks += 1
        if self._blocks > 1:
            raise Interrupted
        return self._encoder.passages(passages, progress)


def generated(folder: Path, count: int) -> list[Passage]:
    """Passages of a generated world's pages and tables."""
    found: list[Passage] = []
    pages = max(50, count)
    while len(found) < count:
        write(folder / f"world-{pages}", pages, claims_per_page=0)
        sources = passages_of(open_folder(folder / f"world-{pages}"))
        found = [passage for of_source in sources.values() for passage in of_source]
        pages *= 2
    return [found[i] for i in sorted(np.random.default_rng(0).permutation(len(found))[:count])]


def encode_resumed(folder: Path, encoder: SentenceEncoder, passages: list[Passage]) -> None:
    """Indexes the passages, encodes a block, is interrupted, and encodes the rest."""
    sources = {source: [one for one in passages if one.source is source] for source in Source}
    mixed.build_index({source: some for source, some in sources.items() if some}, folder)
    dense.BLOCK = min(dense.BLOCK, max(1, len(passages) // 4))
    started = time.perf_counter()
    try:
        dense.encode_index(folder, Interrupts(encoder))
    except Interrupted:
        left = dense.to_encode(folder, encoder.digest)
        print(f"interrupted with {len(passages) - left:,} of {len(passages):,} vectors written", flush=True)
    count = add_vectors(folder, encoder)
    seconds = time.perf_counter() - started
    print(f"{count:,} passages encoded in {seconds:,.1f} s, {count / seconds:.1f}/s, compilation and writing included")


# --- Peers ----------------------------------------------------------------------------------


def sorted_batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    while order:
        size = max(1, TOKENS // len(tokens[order[0]]))
        yield order[:size]
        order = order[size:]


def given_batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    return (list(range(start, min(start + 32, len(tokens)))) for start in range(0, len(tokens), 32))


def with_torch(model: Any, tokenizer: Any, texts: Sequence[str], batches: Callable) -> np.ndarray:
    import torch

    tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    vectors = np.zeros((len(texts), WIDTH), np.float32)
    with torch.inference_mode():
        for rows in batches(tokens):
            ids = torch.zeros((len(rows), max(len(tokens[i]) for i in rows)), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, i in enumerate(rows):
                ids[row, : len(tokens[i])], mask[row, : len(tokens[i])] = torch.tensor(tokens[i]), 1
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state
            mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            vectors[rows] = torch.nn.functional.normalize(mean).numpy()
    return vectors


def compare(encoder: SentenceEncoder, texts: list[str], rounds: int) -> None:
    import torch
    import transformers
    from tokenizers import Tokenizer

    torch.set_num_threads(os.cpu_count())
    folder = get("minilm")
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(encoder.max_tokens)
    ways = {
        "lisax": lambda: encoder.encode(texts),
        "transformers, sorted": lambda: with_torch(model, tokenizer, texts, sorted_batches),
        "transformers, as given": lambda: with_torch(model, tokenizer, texts, given_batches),
    }
    expected = None
    for name, way in ways.items():  # not timed: compiles, and shows that all compute the same
        found = way()
        expected = found if expected is None else expected
        print(f"{name}: largest difference {np.abs(found - expected).max():.2g}", flush=True)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter(), time.process_time()
            way()
            spent[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    for name, seconds in spent.items():
        wall, work = ([other[i] / own[i] for own, other in zip(spent["lisax"], seconds)] for i in (0, 1))
        print(
            f"{name:24}{len(texts) / statistics.median(wall for wall, _ in seconds):8.1f} passages/s; lisax is "
            f"{statistics.median(wall):.2f} times as fast by the clock ({min(wall):.2f} to {max(wall):.2f}), "
            f"{statistics.median(work):.2f} by CPU time ({min(work):.2f} to {max(work):.2f})"
        )
    tokens = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]
    print(
        f"{len(texts):,} passages of {np.mean(tokens):.1f} tokens ({min(tokens)} to {max(tokens)}), float32, "
        f"{os.cpu_count()} cores of {platform.machine()}; jax {jax.__version__}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--compared", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    # Threads that wait sleep: where others use the machine too, spinning would slow torch severalfold.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    jax.config.update("jax_platforms", "cpu")
    encoder = SentenceEncoder.open("minilm")
    with tempfile.TemporaryDirectory() as folder:
        passages = generated(Path(folder), args.passages)
        encode_resumed(Path(folder) / "index", encoder, passages)
        texts = [f"{passage.title}: {passage.text}" for passage in passages]
        chosen = np.random.default_rng(1).permutation(len(texts))[: args.compared]
        compare(encoder, [texts[i] for i in chosen], args.rounds)


if __name__ == "__main__":
    main()
