"""Every verb that works without the extra `train`, each on a small world in the current folder.

    python tests/base_verbs.py            where only `pip install lisax` was run: by .ci/wheel
    python tests/base_verbs.py --block    where all is installed, as if it were not: by tests/test_base_verbs.py

Models have parameters as they begin: what they answer is arbitrary, that they answer is not."""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import lisax as package
from lisax import cli
from lisax.extras import EXTRAS

WORLD, INDEX, MIXED, TABLES = map(Path, ("world", "index", "mixed", "tables"))
# What is never wanted here: what the extra `train` brings, and torch.
BLOCKED = {*EXTRAS, "torch", "keras"}


class Blocker(importlib.abc.MetaPathFinder):
    """Makes the import of `BLOCKED` fail as it does where they are not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def lisax(*arguments: object, fails_with: str | None = None) -> None:
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        code = cli.main(list(map(str, arguments)))
    print(f"lisax {' '.join(map(str, arguments))}: {code}", flush=True)
    if fails_with is None:
        assert code == 0, told.getvalue()
    else:
        assert (code, told.getvalue()) == (1, f"lisax: {fails_with}\n")


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write_models() -> None:
    """Bundles `ranker`, `labeller`, `reader` and `retriever`, the first two with their programs."""
    from lisax.files.writing import write_json
    from lisax.formats import presets
    from lisax.formats.labelling import LABEL_LISTWISE
    from lisax.formats.ranking import RANK
    from lisax.formats.vocabulary import train_vocabulary
    from lisax.models.architectures import DualEncoderConfig, SpanReaderConfig, T5Config, describe
    from lisax.models.t5 import initialize
    from lisax.training import export
    from lisax.weights.checkpoints import MODEL_JSON, flatten
    from lisax.weights.interop.kinds import VOCABULARY_NAME
    from lisax.weights.interop.safetensors_files import write_arrays
    from lisax.weights.model_folder import ModelFolder

    texts = [row["claim"] for row in lines("world/claims.train.jsonl")]
    texts += ["Query: Document: Relevant: true false weak premise hypothesis entities title context question"] * 40
    vocabulary = train_vocabulary(texts, "spiece.model", 400).path.read_bytes()
    t5 = T5Config(
        vocab_size=512, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=16
    )

    def write(name: str, model: Any, card: dict) -> Path:
        folder, arrays = Path(name), flatten(initialize(model))
        folder.mkdir()
        (folder / VOCABULARY_NAME).write_bytes(vocabulary)
        write_arrays(folder, {name: array.shape for name, array in arrays.items()}, arrays.items(), shard_bytes=None)
        write_json(folder / MODEL_JSON, {"architecture": describe(model)} | card)
        return folder

    export.export(ModelFolder.find(write("untraced_ranker", t5, RANK.card(presets.PAPER, 96))), "ranker")
    export.export(ModelFolder.find(write("untraced_labeller", t5, LABEL_LISTWISE.card(presets.PAPER, 160))), "labeller")
    write("reader", SpanReaderConfig(t5, 3), {"text": {"family": "point", "max_tokens": 96, "passages": 3}})
    write("retriever", DualEncoderConfig(t5), {"text": {"family": "retrieve", "max_tokens": 96, "question_tokens": 48}})


def check_serve() -> None:
    """`lisax serve` answers its first page."""
    command = [sys.executable, __file__, *(["--block"] if "--block" in sys.argv else []), "lisax", "serve"]
    command += ["--model", "ranker", "--model", "labeller", "--index", str(INDEX), "--state", "state", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = threading.Timer(240, process.kill)
        watch.start()
        try:
            address = process.stdout.readline().strip()
            with urllib.request.urlopen(address, timeout=60) as page:
                assert b"a claim or text" in page.read()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
            watch.cancel()
    print("lisax serve: answered", flush=True)


def main() -> None:
    lisax("--help")
    lisax("data", "world", "--pages", 60, "--out", WORLD)
    lisax("data", "check", WORLD)
    write_models()
    claims, questions = WORLD / "claims.dev.jsonl", WORLD / "questions.dev.jsonl"
    lisax("index", "documents", "--corpus", WORLD, "--out", INDEX)
    lisax("index", "cells", "--corpus", WORLD, "--out", TABLES)
    lisax("index", "mixed", "--corpus", WORLD, "--out", MIXED)
    lisax("index", "vectors", MIXED, "--retriever", "retriever")
    lisax("check", "Tarn is a town.", "--index", INDEX, "--ranker", "ranker", "--model", "labeller")
    lisax("check", "Tarn is a town.", "--corpus", WORLD / "pages.jsonl", "--model", "labeller")
    lisax("ask", "Who founded Tarn?", "--index", MIXED, "--model", "reader")
    lisax("retrieve", "documents", "--index", INDEX, "--claims", claims, "--out", "documents.trec", "--k", 3)
    of_tables = ("--claims", WORLD / "table_claims.dev.jsonl", "--out", "tables.trec")
    lisax("retrieve", "cells", "--index", TABLES, *of_tables)
    given = ("--claims", claims, "--index", INDEX)
    lisax("rerank", "--model", "ranker", *given, "--run", "documents.trec", "--out", "ranked.trec", "--depth", 4)
    lisax("verify", "--model", "labeller", *given, "--run", "ranked.trec", "--out", "predictions.jsonl")
    assert len(lines("predictions.jsonl")) == len(lines(str(claims)))
    lisax("score", "fever", "--gold", claims, "--predictions", "predictions.jsonl")
    case = {"capability": "places", "claim": "Tarn is a town.", "evidence": ["Tarn is a town."], "label": "SUPPORTS"}
    Path("suite.jsonl").write_text(json.dumps(case))
    lisax("probe", "labeller", "--suite", "suite.jsonl", "--json", "probed.json", "--html", "probed.html")
    read = ("--reader", "reader", "--retriever", "retriever")
    lisax("answer", "--index", MIXED, *read, "--questions", questions, "--out", "answers.jsonl")
    lisax("attack", "make", "--claims", claims, "--corpus", WORLD, "--kind", "date", "--out", "attacks")

    verdict = package.load("labeller").verify("Tarn is a town.", ["Tarn is a town in Ostra."])
    assert abs(sum(verdict.probabilities.values()) - 1) < 1e-5
    assert package.load("ranker").rank("Tarn is a town.", ["Tarn is a town.", "Ostra is not."])
    for name in package.__all__:
        getattr(package, name)

    # What needs the extra says so.
    wanted = ("--gin_file=models/t5_1_1_micro.gin", "--gin_file=runs/finetune.gin")
    lisax("train", *wanted, fails_with="this needs gin, which is not installed: pip install 'lisax[train]'")
    imported = {name.partition(".")[0] for name in sys.modules} & BLOCKED
    assert not imported, f"imported without need: {imported}"
    check_serve()


if __name__ == "__main__":
    if "--block" in sys.argv:
        sys.meta_path.insert(0, Blocker())
    if "lisax" in sys.argv:
        sys.exit(cli.main(sys.argv[sys.argv.index("lisax") + 1 :]))
    main()
