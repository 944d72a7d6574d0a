"""Label scoring on CPU: ours by onnxruntime and by JAX, transformers (torch) and CTranslate2 on the same weights, in
float32, and in 8 bits beside them.

    .venv/bin/python -m benchmarks.scoring [--claims 2] [--sentences 200] [--rounds 5] [--model t5_1_0_small]

Every claim is scored against every sentence of a generated world: logits of the label words at the first decoder
step, from random weights. Peers are given the same tokens, sorted by length in batches of as many tokens as ours;
`transformers, as given` is what a user writes first: batches of 32 in their order, padded to the longest. Each of
the rounds runs all in turn; ratios are medians over rounds. 50 claims, the whole task, take 25 times the default.
Needs the extra `interop` and ctranslate2, and runs from the repository's root.
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
from lisax.formats.examples import Example, Passage
from lisax.formats.ranking import RANK
from lisax.formats.vocabulary import Vocabulary, train_vocabulary
from lisax.models.architectures import T5Config
from lisax.models.t5 import initialize
from lisax.scoring.onnx.scoring import OnnxLabels
from lisax.scoring.texts import LabelScorer
from lisax.training.gin_files import parsed
from lisax.weights.checkpoints import flatten
from lisax.world import write
from tests.models.reference import torch_t5

TOKENS = TOKENS_PER_BATCH["cpu"]  # in a batch
PIECES = (100, 200, 300)  # any three words: weights are random
MAX_TOKENS = 512
Tokens = Sequence[Sequence[int]]


def pairs(folder: Path, claims: int, sentences: int) -> tuple[list[str], Vocabulary]:
    """Ranking inputs of every claim with every sentence, and a vocabulary of the world's."""
    write(folder / "world", 400, seed=0)
    data = open_folder(folder / "world")
    found = [(document.title, sentence.text) for document in data.documents() for sentence in document.sentences]
    chosen = [found[i] for i in np.random.default_rng(0).permutation(len(found))[:sentences]]
    vocabulary = train_vocabulary((text for _, text in found), folder / "spiece.model", 4000)
    texts = [
        RANK.encode(Example(claim.id, claim.text, (Passage("", title, text),)), count_tokens=vocabulary.count).inputs
        for claim in list(data.claims("train"))[:claims]
        for title, text in chosen
    ]
    return texts, vocabulary


# --- Peers: tokens -> logits [len(tokens), len(PIECES)] --------------------------------------


def padded(rows: Tokens) -> np.ndarray:
    batch = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, ids in zip(batch, rows):
        row[: len(ids)] = ids
    return batch


def sorted_batches(tokens: Tokens) -> Iterator[np.ndarray]:
    """Indices, longest first, in batches of up to TOKENS tokens."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
    while order:
        size = max(1, TOKENS // len(tokens[order[0]]))
        yield np.array(order[:size])
        order = order[size:]


def given_batches(tokens: Tokens) -> Iterator[np.ndarray]:
    return iter(np.array_split(np.arange(len(tokens)), -(-len(tokens) // 32)))


def with_torch(model: Any, tokens: Tokens, batches: Callable[[Tokens], Iterator[np.ndarray]]) -> np.ndarray:
    import torch

    logits = np.zeros((len(tokens), len(PIECES)), np.float32)
    with torch.inference_mode():
        for rows in batches(tokens):
            batch = torch.from_numpy(padded([tokens[i] for i in rows]))
            start = torch.zeros((len(rows), 1), dtype=torch.long)
            found = model(input_ids=batch, attention_mask=(batch > 0).long(), decoder_input_ids=start, use_cache=False)
            logits[rows] = found.logits[:, 0, list(PIECES)].numpy()
    return logits


def ctranslate2_translator(model: Any, folder: Path, vocab_size: int, tied: bool) -> Callable[[str], Any]:
    """CTranslate2's own conversion; the translator of it for a type of computation."""
    import ctranslate2
    from ctranslate2.converters.transformers import T5Loader

    loader = T5Loader()
    model.config.tie_word_embeddings = tied  # transformers 5 says True of all models
    spec = loader.get_model_spec(model)
    loader.set_vocabulary(spec, [f"<{i}>" for i in range(vocab_size)])
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<0>", "<1>", "<2>"
    spec.config.decoder_start_token = "<0>"
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))
    return lambda kind: ctranslate2.Translator(
        str(folder), device="cpu", compute_type=kind, inter_threads=1, intra_threads=os.cpu_count()
    )


def with_ctranslate2(translator: Any, tokens: Tokens) -> np.ndarray:
    names = [[f"<{i}>" for i in ids] for ids in tokens]
    found = translator.translate_batch(
        names,
        max_batch_size=TOKENS,
        batch_type="tokens",
        beam_size=1,
        max_decoding_length=1,
        max_input_length=0,
        return_logits_vocab=True,
    )
    return np.stack([np.asarray(result.logits[0][0])[list(PIECES)] for result in found])


# --- Ours -----------------------------------------------------------------------------------


def shares_of_time(scorer: LabelScorer, vocabulary: Vocabulary, texts: list[str]) -> dict[str, float]:
    """Milliseconds of one pass: tokenising, building the batches, waiting for the device; and padding's share."""
    started = time.perf_counter()
    tokens = vocabulary.encode_inputs(texts)
    tokenised = time.perf_counter()
    batches = list(scorer._batches(tokens))
    built = time.perf_counter()
    for _, batch in batches:
        placed = scorer._loop.partitioner.place_batch(batch)["tokens"]
        jax.block_until_ready(scorer._score(scorer._loop.parameters, placed, scorer._answers))
    computed = time.perf_counter()
    size = sum(batch["tokens"].size for _, batch in batches)
    return {
        "tokenising ms": (tokenised - started) * 1e3,
        "padding ms": (built - tokenised) * 1e3,
        "device ms": (computed - built) * 1e3,
        "batches": len(batches),
        "share of padding": 1 - sum(map(len, tokens)) / size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="t5_1_0_small", help="a file of gin_configs/models")
    args = parser.parse_args()
    # Threads that wait sleep: where others use the machine too, spinning would slow torch and CTranslate2 severalfold.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
    import ctranslate2
    import torch
    import transformers

    jax.config.update("jax_platforms", "cpu")
    torch.set_num_threads(os.cpu_count())
    with parsed([f"models/{args.model}.gin"], ["DROPOUT_RATE = 0.0"]) as gin:
        config: T5Config = gin.get_configurable("T5Config")()
    with tempfile.TemporaryDirectory() as folder:
        texts, vocabulary = pairs(Path(folder), args.claims, args.sentences)
        tokens = vocabulary.encode_inputs(texts)
        parameters = initialize(config)
        reference = torch_t5(config, parameters)
        translator_of = ctranslate2_translator(
            reference, Path(folder) / "ct2", config.vocab_size, config.logits_via_embedding
        )
        scorer = LabelScorer(config, parameters, PIECES, max_tokens=MAX_TOKENS)
        translator, translator8 = translator_of("float32"), translator_of("int8")
        arrays = {name: np.asarray(array) for name, array in flatten(parameters).items()}
        ours, ours8 = (OnnxLabels(config, arrays, PIECES, max_tokens=MAX_TOKENS, int8=int8) for int8 in (False, True))
        ways = {
            "lisax": lambda: ours.logits(tokens),
            "lisax, JAX": lambda: scorer.logits(tokens),
            "transformers, sorted": lambda: with_torch(reference, tokens, sorted_batches),
            "ctranslate2": lambda: with_ctranslate2(translator, tokens),
            "lisax, int8": lambda: ours8.logits(tokens),
            "ctranslate2, int8": lambda: with_ctranslate2(translator8, tokens),
            "transformers, as given": lambda: with_torch(reference, tokens, given_batches),
        }
        report(ways, args, tokens)
        print(
            "lisax, JAX, one pass: "
            + ", ".join(f"{name} {value:.4g}" for name, value in shares_of_time(scorer, vocabulary, texts).items())
        )
    print(
        f"{args.model}, {args.claims} claims x {args.sentences} sentences of {np.mean([*map(len, tokens)]):.1f} tokens "
        f"({min(map(len, tokens))} to {max(map(len, tokens))}), float32, {os.cpu_count()} cores of {platform.machine()}; "
        f"jax {jax.__version__}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"ctranslate2 {ctranslate2.__version__}"
    )


def report(ways: dict[str, Callable[[], np.ndarray]], args: argparse.Namespace, tokens: Tokens) -> None:
    expected = None
    for name, way in ways.items():  # not timed: compiles, and shows that all compute the same
        found = way()
        expected = found if expected is None else expected
        print(f"{name}: largest difference of a logit {np.abs(found - expected).max():.2g}", flush=True)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, way in ways.items():
            way()  # not timed: the first pass after another's pays for memory that changes hands
            started = time.perf_counter(), time.process_time()
            way()
            spent[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    for name, rounds in spent.items():
        seconds = statistics.median(wall for wall, _ in rounds)
        print(
            f"{name:24} {args.claims / seconds:7.3f} claims/s {len(tokens) / seconds:7.1f} inputs/s; lisax is "
            + " and ".join(
                f"{statistics.median(ratios):.2f} times as fast by {clock} ({min(ratios):.2f} to {max(ratios):.2f})"
                for i, clock in enumerate(("the clock", "CPU time"))
                for ratios in [[other[i] / own[i] for own, other in zip(spent["lisax"], rounds)]]
            )
        )


if __name__ == "__main__":
    main()
