"""A bundle's exported programs beside LisaX on a CPU: bytes on disk, CPU seconds, and how far probabilities are apart.

    .venv/bin/python -m benchmarks.exports MODEL [--texts 64] [--rounds 3] [--savedmodel]

MODEL is a scorer of sentences: a T5 with label words or a pair scorer, a folder or a name such as minilm-text. Claims and
sentences are of a generated world. LisaX batches them itself; the programs are given the same inputs in batches of
sixteen, sorted by length, on one thread as far as their runtimes let it be set. All run in turn in each round, after one
that is not counted; the figures are medians. CPU time counts where others use the machine too.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.corpora import open_folder
from lisax.devices.batching import padded
from lisax.formats.examples import Example, Passage
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.ranking import RANK
from lisax.predict.model import Model
from lisax.scoring.backends import JAX, ONNX
from lisax.training.export import EXPORTED_NAME, SAVED_MODEL_NAME, export
from lisax.weights.interop import safetensors_files
from lisax.weights.model_folder import ModelFolder
from lisax.world import write

ROWS = 16  # of a batch
Way = Callable[[Sequence[Any]], np.ndarray]


def encoded(model: Model, folder: Path, count: int) -> list[list[int]]:
    """The inputs of claims, each with a sentence, as LisaX encodes them."""
    if model.format not in (RANK, LABEL_LISTWISE, LABEL_POINTWISE):
        raise SystemExit(f"a scorer of sentences is needed; this one reads the format '{model.format}'")
    write(folder / "world", 200, seed=0)
    data, draws, found = open_folder(folder / "world"), np.random.default_rng(0), []
    sentences = [(page.title, one.text) for page in data.documents() for one in page.sentences]
    claims = [claim.text for claim in data.claims("train")]
    examples = [
        Example("", claims[i % len(claims)], (Passage("", *sentences[draws.integers(len(sentences))]),))
        for i in range(count)
    ]
    scorer, model._scorer = (
        model._scorer,
        type("Kept", (), {"probabilities": lambda _, tokens, __: found.extend(tokens)})(),
    )
    model.probabilities(examples)
    model._scorer = scorer
    return sorted(found, key=len)


def in_batches(run: Callable[[np.ndarray], np.ndarray], padding: int) -> Way:
    def score(rows: Sequence[Any]) -> np.ndarray:
        parts = [rows[i : i + ROWS] for i in range(0, len(rows), ROWS)]
        widths = [max(map(len, part)) for part in parts]
        filled = [[[*row, *[padding] * (width - len(row))] for row in part] for part, width in zip(parts, widths)]
        return np.concatenate([run(padded(part, len(part), width)) for part, width in zip(filled, widths)])

    return score


def programs(bundle: Path, padding: int, formats: Sequence[str]) -> dict[str, Way]:
    import jax
    import onnxruntime
    from jax import export as jax_export

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(bundle / "scorer.onnx", options, providers=["CPUExecutionProvider"])
    program = jax.jit(jax_export.deserialize((bundle / EXPORTED_NAME).read_bytes()).call)
    parameters = safetensors_files.read(bundle / "model.safetensors")
    parameters = {name: jax.numpy.asarray(array) for name, array in parameters.items()}
    ways = {
        "scorer.onnx": lambda tokens: session.run(["probabilities"], {"tokens": tokens})[0],
        EXPORTED_NAME: lambda tokens: np.asarray(program(parameters, tokens)[0]),
    }
    if "savedmodel" in formats:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        loaded = tf.saved_model.load(str(bundle / SAVED_MODEL_NAME))
        score = loaded.signatures["serving_default"]
        ways[SAVED_MODEL_NAME] = lambda tokens, _=loaded: score(tokens=tf.constant(tokens))["probabilities"].numpy()
    return {name: in_batches(run, padding) for name, run in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--savedmodel", action="store_true")
    given = parser.parse_args()
    formats = ["onnx", "stablehlo", *(["savedmodel"] if given.savedmodel else [])]
    with tempfile.TemporaryDirectory() as made:
        bundle = export(ModelFolder.find(given.model), Path(made) / "bundle", formats)
        for path in sorted(bundle.iterdir()):
            files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
            print(f"{path.name:24}{sum(one.stat().st_size for one in files):>14,} bytes")
        of_jax, of_onnx = (Model.open(bundle, backend=backend) for backend in (JAX, ONNX))
        rows, vocabulary = encoded(of_jax, Path(made), given.texts), of_jax.vocabulary
        published = getattr(vocabulary, "published", list)
        ways: dict[str, Way] = {
            "LisaX, JAX": of_jax.token_probabilities,
            "LisaX, onnxruntime": of_onnx.token_probabilities,
        }
        inputs: dict[str, Sequence[Any]] = dict.fromkeys(ways, rows)
        ways |= programs(bundle, vocabulary.padding_id, formats)
        theirs = [published(row) for row in rows]
        inputs |= {name: theirs for name in ways if name not in inputs}
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        wanted = of_jax.token_probabilities(rows)
        for _ in range(given.rounds + 1):
            for name, way in ways.items():
                begun = time.process_time()
                found = way(inputs[name])
                seconds[name].append(time.process_time() - begun)
                if len(seconds[name]) == 1:
                    print(f"{name:24}{np.abs(found - wanted).max():14.1e} apart from LisaX in JAX")
        for name, times in seconds.items():
            print(f"{name:24}{statistics.median(times[1:]):14.3f} s of the CPU")


if __name__ == "__main__":
    main()
