"""How soon LisaX is of use: from the start of the process to the first training step, and to a bundle's first answer.

    .venv/bin/python -m benchmarks.start [--rounds 5] [--json FILE]

Training is `lisax train` of T5 1.1 small on LisT5's ranking task with generated examples, batch 8 × 128 → 8, first
without and then with jax's compilation cache (JAX_COMPILATION_CACHE_DIR; off unless a user sets it). The bundle holds T5 1.1
small too, with random weights, and answers one `verify`. Each round is a fresh process on the CPU; medians are
printed, with CPU seconds beside the seconds that passed, because only those mean much on a machine that is shared.
Peak memory is VmHWM. Files are in the page cache after the first round.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lisax.formats.examples import write_examples

REPOSITORY = Path(__file__).resolve().parents[1]
FIRST_STEP, ANSWERED = "first step after", "answered"
# What the two import on their way, all of it before they begin to compute.
IMPORTS = {
    "first answer": "lisax.predict.text_model, sentencepiece",
    "first step": "lisax.training.train, lisax.training.gin_files, gin, seqio, tasks, orbax.checkpoint",
}
# T5X's head of 2026-04-21 on such a machine.
T5X = "T5X: 40-48 s and 3.0 GiB to the first step"
VERIFY = f"""
import sys, lisax
print(lisax.load(sys.argv[1]).verify("Mara was born in Tarn.", ["Mara was born in Tarn in 1902 ."]))
print("{ANSWERED}", file=sys.stderr)
sys.stdin.read()
"""


def prepare(folder: Path) -> None:
    """`data/` with examples of the ranking task and a vocabulary, and the bundle `bundle/`."""
    import numpy as np

    from lisax.formats.examples import Example, Passage
    from lisax.formats.vocabulary import train_vocabulary

    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnoprstuvw"), rng.integers(3, 9))) for _ in range(2000)]

    def text(length: int) -> str:
        return " ".join(rng.choice(words, length))

    train_vocabulary((text(20) for _ in range(2000)), folder / "data" / "spiece.model", 4000)
    for split, count in (("train", 1000), ("dev", 8)):
        write_examples(
            folder / "data" / "examples" / f"rank.{split}.jsonl",
            (Example(str(i), text(8), (Passage(f"P_{i}", text(2), text(60)),), (), i % 2 == 0) for i in range(count)),
        )
    write_bundle(folder)


def write_bundle(folder: Path) -> None:
    import dataclasses

    import jax.numpy as jnp

    from lisax.formats import presets
    from lisax.formats.labelling import LABEL_POINTWISE
    from lisax.models.architectures import T5Config
    from lisax.models.t5 import initialize
    from lisax.training import export
    from lisax.weights.checkpoints import CheckpointWriter, SaveCheckpointConfig, TrainState
    from lisax.weights.model_folder import ModelFolder

    card = {"architecture": dataclasses.asdict(T5Config())}
    card |= LABEL_POINTWISE.card(presets.PAPER, 512)
    files = {"spiece.model": (folder / "data" / "spiece.model").read_bytes()}
    with CheckpointWriter(folder / "model", SaveCheckpointConfig(), card, files) as writer:
        writer.save(TrainState(jnp.int32(0), initialize(T5Config()), {}), {})
    export.export(ModelFolder.find(folder / "model"), folder / "bundle")


def training(folder: Path, model_dir: Path) -> list[str]:
    return [
        "-m",
        "lisax",
        "train",
        "--gin_file=models/t5_1_1_small.gin",
        "--gin_file=runs/pretrain.gin",
        "--gin.MIXTURE_OR_TASK_MODULE=tasks",
        "--gin.MIXTURE_OR_TASK_NAME=list5_rank",
        "--gin.PACK=False",
        "--gin.TASK_FEATURE_LENGTHS={'inputs': 128, 'targets': 8}",
        "--gin.BATCH_SIZE=8",
        "--gin.TRAIN_STEPS=1000",
        f"--gin.MODEL_DIR={model_dir}",
    ]


def measure(arguments: list[str], mark: str, environment: dict[str, str]) -> dict[str, float]:
    """Runs python until its stderr has a line with `mark`, then ends it."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-P", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if mark in line:
                break
        else:
            raise SystemExit("".join(lines))
        seconds, place = time.perf_counter() - started, Path(f"/proc/{process.pid}")
        peak = int((place / "status").read_text().split("VmHWM:")[1].split()[0]) / 2**20
        user, system = map(int, (place / "stat").read_text().rpartition(")")[2].split()[11:13])
        process.kill()
    return {"seconds": seconds, "cpu_seconds": (user + system) / os.sysconf("SC_CLK_TCK"), "peak_gib": peak}


def imports(modules: str, environment: dict[str, str]) -> dict[str, float]:
    """Seconds that importing took by top-level package, the greatest first, from `-X importtime`."""
    found: collections.Counter = collections.Counter()
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-c", f"import {modules}"],
        stderr=subprocess.PIPE,
        check=True,
        text=True,
        env=environment,
    )
    for own, name in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)", done.stderr, re.MULTILINE):
        found[name.partition(".")[0]] += int(own) / 1e6
    return {"all": found.total(), **dict(found.most_common(12))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        plain = os.environ | {"JAX_PLATFORMS": "cpu", "LISAX_DATA": str(folder / "data"), "PYTHONPATH": str(REPOSITORY)}
        plain.pop("JAX_COMPILATION_CACHE_DIR", None)
        cached = plain | {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "xla"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        verify = ["-c", VERIFY, str(folder / "bundle")]
        runs = {
            "first answer": (lambda _: verify, ANSWERED, plain),
            "first step": (lambda i: training(folder, folder / f"run{i}"), FIRST_STEP, plain),
            "first step, compiled before": (lambda i: training(folder, folder / f"again{i}"), FIRST_STEP, cached),
        }
        measure(training(folder, folder / "warm"), FIRST_STEP, cached)  # fills the cache
        for label, (arguments, mark, environment) in runs.items():
            rounds = [measure(arguments(i), mark, environment) for i in range(args.rounds)]
            results[label] = {key: statistics.median(row[key] for row in rounds) for key in rounds[0]}
            print(f"{label:28}" + "  ".join(f"{key} {value:.2f}" for key, value in results[label].items()), flush=True)
        for label, modules in IMPORTS.items():
            found = results[label]["imports"] = imports(modules, plain)
            print(f"imports to the {label}: " + ", ".join(f"{key} {value:.2f} s" for key, value in found.items()))
    print(T5X)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
