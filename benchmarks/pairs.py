"""Pairs of texts labelled and sentences encoded on a CPU: ours by onnxruntime and by JAX, beside transformers,
sentence-transformers and onnxruntime on torch's export, with the same weights and texts in float32.

    lisax models get minilm; make peers; pip install onnx onnxscript sentence-transformers
    .venv/bin/python -m benchmarks.pairs [--texts 400] [--rounds 5] [--threads 2]

The model is the shipped labeller, its adapter merged, and for sentences MiniLM. Pairs are claims of a generated world
with three of its sentences. Text goes in and numbers come out, so tokenising counts. Of peers that leave batches to
their user, texts are sorted by length and go in batches of as many tokens as ours; sentence-transformers has its own (32
texts, sorted by length). Its CrossEncoder reads the first token through a pooler, which none of the others has, so
that it is timed and not compared. All run in turn in each round; ratios are medians over rounds, by the clock and by CPU
time, which counts where others use the machine too. Peers that are not installed are left out. Runs from the
repository's root.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import io
import os
import platform
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax import shipped
from lisax.corpora import open_folder
from lisax.models.architectures import PairConfig
from lisax.predict.model import Model
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.scoring.backends import JAX, ONNX, ONNX_INT8
from lisax.scoring.onnx.scoring import TOKENS_PER_BATCH
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.opening import open_whole
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import get
from lisax.world import write

SENTENCES, LONGEST = 3, 128  # of a pair; its tokens
Texts = Sequence[Any]  # pairs of texts, or single ones
Way = Callable[[Texts], np.ndarray]


def generated(folder: Path, count: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs of a claim with sentences, and single sentences, each after its page's title."""
    write(folder / "world", 400, seed=0)
    data = open_folder(folder / "world")
    sentences = [f"{page.title}: {one.text}" for page in data.documents() for one in page.sentences]
    draws = np.random.default_rng(0)
    claims = [claim.text for claim in data.claims("train")]
    pairs = [(claims[draws.integers(len(claims))], " ".join(draws.choice(sentences, SENTENCES))) for _ in range(count)]
    return pairs, draws.choice(sentences, count).tolist()


# --- Ours and theirs: texts -> float32 [texts, outputs] ---------------------------------------


def labels_of_ours(backend: str) -> Way:
    model = Model.open(shipped.labeller(), backend=backend)

    def way(pairs: Texts) -> np.ndarray:
        return model._scorer.probabilities([model.vocabulary.encode_pair(*pair, LONGEST).ids for pair in pairs])

    return way


def exported(folder: Path, bundle: Path) -> tuple[Any, np.ndarray, np.ndarray]:
    """transformers' model of a pair scorer's encoder, whose folder is written, and the head's matrix and bias."""
    import transformers

    checkpoint = open_whole(ModelFolder.find(bundle), PairConfig)
    arrays = dict(checkpoint.read(checkpoint.parameters))
    backbone = tuple(
        piece for piece in checkpoint.parameters if not any(name.startswith("pair/") for name in piece.shapes)
    )
    folder.mkdir()
    architecture = dataclasses.replace(checkpoint.architecture.backbone, separator_id=None)
    write_huggingface(folder, dataclasses.replace(checkpoint, parameters=backbone), architecture)
    shutil.copy(get("minilm") / "tokenizer.json", folder)
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    return model, arrays["pair/classes/kernel"], arrays["pair/classes/bias"]


class TorchMean:
    """The mean of a BERT's states, as [texts, width], with what follows: a linear layer and softmax, or length 1."""

    def __init__(self, model: Any, head: tuple[np.ndarray, np.ndarray] | None):
        import torch

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.bert = model
                self.head = None if head is None else tuple(map(torch.from_numpy, head))

            def forward(self, ids: Any, mask: Any, types: Any) -> Any:
                states = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
                mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
                if self.head is None:
                    return torch.nn.functional.normalize(mean)
                return torch.softmax(mean @ self.head[0] + self.head[1], -1)

        self.network = Network().eval()

    def run(self, *arrays: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return self.network(*map(torch.from_numpy, arrays)).numpy()

    def session(self, threads: int) -> Callable[..., np.ndarray]:
        """The same by onnxruntime, on torch's export with its own optimisations."""
        import onnxruntime as ort
        import torch

        file, names = io.BytesIO(), ["ids", "mask", "types"]
        example = tuple(torch.ones((2, 8), dtype=torch.long) for _ in names)
        free = {name: {0: "texts", 1: "length"} for name in names}
        torch.onnx.export(
            self.network, example, file, input_names=names, dynamic_axes=free, opset_version=17, dynamo=False
        )
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        session = ort.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
        return lambda *arrays: session.run(None, dict(zip(names, arrays)))[0]


def in_batches(tokenizer: Any, run: Callable[..., np.ndarray]) -> Way:
    def way(texts: Texts) -> np.ndarray:
        encoded = tokenizer.encode_batch(list(texts))
        found: list[Any] = [None] * len(texts)
        for rows in sorted_batches([len(one.ids) for one in encoded]):
            ids, mask, types = np.zeros((3, len(rows), len(encoded[rows[0]].ids)), np.int64)
            for place, row in enumerate(rows):
                length = len(encoded[row].ids)
                ids[place, :length], types[place, :length] = encoded[row].ids, encoded[row].type_ids
                mask[place, :length] = 1
            for row, result in zip(rows, run(ids, mask, types)):
                found[row] = result
        return np.array(found)

    return way


def sorted_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, TOKENS_PER_BATCH // lengths[order[0]])
        yield order[:size]
        order = order[size:]


def peers(folder: Path, head: tuple[np.ndarray, np.ndarray] | None, model: Any, threads: int) -> dict[str, Way]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST, strategy="longest_first")
    network = TorchMean(model, head)
    found = {"transformers, sorted": in_batches(tokenizer, network.run)}
    if importlib.util.find_spec("onnx") is not None:
        found["onnxruntime, torch's export"] = in_batches(tokenizer, network.session(threads))
    return found


# --- Measuring --------------------------------------------------------------------------------


def compare(what: str, ways: dict[str, Way], texts: Texts, rounds: int, alike: int) -> None:
    """Prints how fast the ways are; the first `alike` of them compute the same."""
    expected = None
    print(f"{what}, {len(texts)} texts")
    for name, way in list(ways.items()):  # not timed: compiles, and shows that all compute the same
        found = way(texts)
        expected = found if expected is None else expected
        if list(ways).index(name) < alike:
            print(f"  {name}: largest difference {np.abs(found - expected).max():.2g}", flush=True)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter(), time.process_time()
            way(texts)
            spent[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    first = next(iter(ways))
    for name, seconds in spent.items():
        wall, work = ([other[i] / own[i] for own, other in zip(spent[first], seconds)] for i in (0, 1))
        print(
            f"  {name:32}{len(texts) / statistics.median(wall for wall, _ in seconds):8.1f} texts/s; {first} is "
            f"{statistics.median(wall):.2f} times as fast by the clock ({min(wall):.2f} to {max(wall):.2f}), "
            f"{statistics.median(work):.2f} by CPU time ({min(work):.2f} to {max(work):.2f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    # Threads that wait sleep: where others use the machine too, spinning would slow all of them.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "TOKENIZERS_PARALLELISM": "true"}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import torch
    import transformers

    torch.set_num_threads(args.threads)
    transformers.logging.set_verbosity_error()
    modules = ("onnxruntime", "jax", "torch", "transformers", "sentence_transformers")
    installed = [name for name in modules if importlib.util.find_spec(name) is not None]
    versions = ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in installed)
    print(f"{args.threads} cores of {platform.machine()}, float32; {versions}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs, sentences = generated(folder, args.texts)
        model, *head = exported(folder / "labeller", shipped.labeller())
        ways = {"lisax, onnxruntime": labels_of_ours(ONNX), "lisax, JAX": labels_of_ours(JAX)}
        ways |= peers(folder / "labeller", tuple(head), model, args.threads)
        alike = len(ways)
        if "sentence_transformers" in installed:
            from sentence_transformers import CrossEncoder

            scorer = CrossEncoder(str(folder / "labeller"), num_labels=3, max_length=LONGEST, device="cpu")
            ways["CrossEncoder"] = lambda texts: scorer.predict(texts, batch_size=32, show_progress_bar=False)
        ways["lisax, onnxruntime, int8"] = labels_of_ours(ONNX_INT8)
        compare("labels of pairs", ways, pairs, args.rounds, alike)

        encoders = {
            f"lisax, {label}": SentenceEncoder.open("minilm", max_tokens=LONGEST, backend=backend).encode
            for label, backend in (("onnxruntime", ONNX), ("JAX", JAX))
        }
        model = transformers.BertModel.from_pretrained(get("minilm"), add_pooling_layer=False).eval()
        encoders |= peers(get("minilm"), None, model, args.threads)
        if "sentence_transformers" in installed:
            from sentence_transformers import SentenceTransformer
            from sentence_transformers.models import Normalize, Pooling, Transformer

            whole = Transformer(str(get("minilm")), max_seq_length=LONGEST)
            theirs = SentenceTransformer(modules=[whole, Pooling(384), Normalize()], device="cpu")
            encoders["SentenceTransformer"] = lambda texts: theirs.encode(texts, show_progress_bar=False)
        alike = len(encoders)
        eight = SentenceEncoder.open("minilm", max_tokens=LONGEST, backend=ONNX_INT8)
        encoders["lisax, onnxruntime, int8"] = eight.encode
        compare("vectors of sentences", encoders, sentences, args.rounds, alike)


if __name__ == "__main__":
    main()
