"""Retrains models from feedback: runs `lisax train`, then `lisax export`, as separate processes, one training at a
time.

Each training has a folder: `data/` (see `export`), `held_out/` (the share of it that is not trained on), `run.gin` (so
that the command can be repeated by hand), `model/`, `log.txt`, and at the end `bundle/` and `held_out.json`, with the
number of held-out entries that the model got right before and after. Its state is in `training.json`, so that a reload
or a restart loses nothing.

Several servers may use one folder. The training server holds a lock, which the system releases when its process ends: a
training that is marked as running without the lock has been interrupted. Any server can stop a training, by a file that
the training server looks for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write, write_json
from lisax.formats.format import RELEVANCE, Format
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.tables import TABLE_FUSION, TABLES
from lisax.models.architectures import EncoderConfig, Model, PairConfig, from_description
from lisax.models.lora import MATRICES
from lisax.predict.ranker import VectorRanker
from lisax.serve.export import Export
from lisax.serve.models import LABELLER, PARTS, RANKER, TABLE_VERIFIER
from lisax.serve.store import private_folder
from lisax.weights.checkpoints import MODEL_JSON, resolve_checkpoint, write_fitted
from lisax.weights.interop.kinds import VOCABULARY_NAME
from lisax.weights.model_card import ModelCard

CARD, LOCK, STOP = "training.json", "lock", "stop"
NAME, DATASET = "feedback", "dataset.json"
STEPS, MOST_STEPS = 200, 100_000
# -P: a `token.py` in the page's working folder must not shadow Python's.
COMMAND = (sys.executable, "-P", "-m", "lisax")
MEASURE = (sys.executable, "-P", "-m", "lisax.serve.held_out")
HELD, MEASURED = "held_out", "held_out.json"
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


class Need(NamedTuple):
    """The training data of a role: a member of `Export`, its name in words, and its `evidence` for
    `lisax.tasks.register`."""

    member: str
    words: str
    evidence: str


NEEDS = {
    PARTS: Need("questions", "questions with a right cell", "cells"),
    RANKER: Need("claims", "claims over text", "sentences"),
    LABELLER: Need("claims", "claims over text", "sentences"),
    TABLE_VERIFIER: Need("table_claims", "claims over tables", "tables"),
}
STOP_SECONDS, POLL_SECONDS = 30.0, 0.5
TOKENS = ("LISAX_TOKEN", "LISAX_TOKENS", "LISAX_OPERATOR_TOKEN")  # which a training is not given
# Exit codes of a command that Ctrl-C or SIGTERM ended, after saving or at once.
INTERRUPTED = (130, 143, -signal.SIGINT, -signal.SIGTERM)


@dataclasses.dataclass
class Run:
    """One training, as stored in `training.json`; `step` and `loss` are read from its log, and from `held_out.json` of
    how many held-out entries, `count`, the model got right `before` and `after`."""

    number: int
    role: str
    steps: int
    examples: int
    base: str
    started: float
    state: str = RUNNING
    message: str = ""
    step: int = 0
    loss: float | None = None
    count: int = 0
    before: int | None = None
    after: int | None = None


READ = ("step", "loss", "count", "before", "after")  # fields of a run that other files have


class Training:
    def __init__(self, folder: Path):
        self.folder, self._lock = folder.resolve(), threading.Lock()  # `run.gin` must work from any folder
        self._process: subprocess.Popen | None = None
        self._thread: threading.Thread | None = None
        private_folder(folder)
        self.runs()  # notes an interrupted one

    # --- Status ---------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """All trainings, newest first."""
        numbers = sorted((int(path.parent.name) for path in self.folder.glob(f"*/{CARD}")), reverse=True)
        found = [self._read(number) for number in numbers]
        if any(run.state == RUNNING for run in found) and (lock := self._locked()) is not None:
            with lock:  # no server trains
                for run in map(self._read, numbers):
                    if run.state == RUNNING:
                        self._note(run, STOPPED, "The page was ended while this ran.")
            return [self._read(number) for number in numbers]
        return found

    def get(self, number: int) -> Run | None:
        return self._read(number) if (self.folder / str(number) / CARD).is_file() else None

    def bundle(self, run: Run) -> Path:
        return self.folder / str(run.number) / "bundle"

    def last_lines(self, run: Run, count: int = 12) -> str:
        """The end of the training's output."""
        path = self.folder / str(run.number) / "log.txt"
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 8192))
            text = file.read().decode("utf-8", "replace").replace("\r", "\n")
        return "\n".join([line for line in text.splitlines() if line.strip()][-count:])

    @property
    def is_running(self) -> bool:
        """Whether a server on this folder trains."""
        return self._is_own or any(run.state == RUNNING for run in self.runs())

    @property
    def _is_own(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _locked(self) -> IO | None:
        """The lock of the server that trains, held until it is closed; None if another one has it."""
        lock = (self.folder / LOCK).open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock

    def _read(self, number: int) -> Run:
        run = Run(**json.loads((self.folder / str(number) / CARD).read_text(encoding="utf-8")))
        log = self.folder / str(number) / "model" / "train_log.jsonl"
        if log.is_file():
            for line in log.read_text(encoding="utf-8").splitlines():
                row = json.loads(line) if line.endswith("}") else {}
                if row.get("kind") == "train":
                    run.step, run.loss = row["step"], row["loss"]
        if (measured := self.folder / str(number) / MEASURED).is_file():
            found = json.loads(measured.read_text(encoding="utf-8"))
            run.count, run.before, run.after = found["count"], found["before"], found["after"]
        return run

    def _note(self, run: Run, state: str, message: str = "") -> None:
        run.state, run.message = state, message
        write_json(
            self.folder / str(run.number) / CARD,
            {name: value for name, value in dataclasses.asdict(run).items() if name not in READ},
        )

    # --- Starting and stopping ------------------------------------------------------------------

    def start(self, role: str, checkpoint: Path, export: Export, steps: int = STEPS) -> Run:
        """Continues training a role's model from its checkpoint or bundle, on the exported feedback."""
        need = NEEDS[role]
        if not getattr(export, need.member):
            raise LisaxError(f"There are no {need.words} in the feedback yet: the {role} has nothing to learn from.")
        if not 1 <= steps <= MOST_STEPS:
            raise LisaxError(f"A training takes from 1 to {MOST_STEPS:,} steps, not {steps:,}.")
        with self._lock, contextlib.ExitStack() as stack:
            if (lock := self._locked()) is None:
                raise LisaxError("A model is being trained already; one at a time.")
            stack.enter_context(lock)
            checkpoint = resolve_checkpoint(checkpoint).resolve()
            number = max((int(path.name) for path in self.folder.iterdir() if path.name.isdigit()), default=0) + 1
            folder = self.folder / str(number)
            folder.mkdir()
            learned, held = export.divided()
            if not getattr(learned, need.member) or not getattr(held, need.member):
                learned, held = export, None  # too few to hold any out
            examples = len(getattr(learned, need.member))
            try:
                learned.write(folder / "data")
                if held is not None:
                    held.write(folder / HELD)
                _prepare(folder, role, checkpoint, steps)
            except BaseException:
                shutil.rmtree(folder)
                raise
            run = Run(number, role, steps, examples, str(checkpoint), time.time())
            self._begin(run, stack.pop_all())
        return run

    def go_on(self, number: int) -> Run:
        """Resumes a training that was stopped or failed, from its last checkpoint."""
        with self._lock, contextlib.ExitStack() as stack:
            lock = self._locked()
            if lock is not None:
                stack.enter_context(lock)
            run = self.get(number)
            if lock is None or run is None or run.state not in (STOPPED, FAILED):
                raise LisaxError("That training cannot be resumed.")
            self._begin(run, stack.pop_all())
        return run

    def _begin(self, run: Run, lock: contextlib.ExitStack) -> None:
        (self.folder / str(run.number) / STOP).unlink(missing_ok=True)
        self._note(run, RUNNING)
        self._thread = threading.Thread(target=self._work, args=(run, lock), name="training", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the running training, whichever server runs it, after it has saved."""
        until = time.monotonic() + STOP_SECONDS + 2 * POLL_SECONDS
        for run in self.runs():
            if run.state == RUNNING:
                (self.folder / str(run.number) / STOP).touch()
        while self.is_running and time.monotonic() < until:
            time.sleep(POLL_SECONDS / 5)

    def close(self) -> None:
        """Stops the training of this server; that of another one continues."""
        if self._is_own:
            self.stop()

    def _work(self, run: Run, lock: contextlib.ExitStack) -> None:
        folder = self.folder / str(run.number)
        with lock:
            try:
                for what, command in self._commands(run, folder):
                    code = self._call(folder, command)
                    if (folder / STOP).exists() or code in INTERRUPTED:
                        self._note(run, STOPPED, "It was stopped; it can resume from its last checkpoint.")
                        return
                    if code:
                        self._note(run, FAILED, f"{what} ended with status {code}.")
                        return
                self._note(run, DONE)
            except (OSError, LisaxError) as error:
                self._note(run, FAILED, str(error))

    def _commands(self, run: Run, folder: Path) -> Iterator[tuple[str, list[str]]]:
        """Yields the name of each step with its command, when the steps before it are done."""
        yield "`lisax train`", [*COMMAND, "train", "--gin_file", str(folder / "run.gin")]
        if not self.bundle(run).exists():
            base = Path(run.base)
            card = ModelCard.read(base) if (base / MODEL_JSON).is_file() else {}  # its folder may be gone
            _keep_fitted(card, folder / "model")
            is_pair = card.get("architecture", {}).get("kind") == PairConfig.kind
            alone = ["--adapter"] if is_pair and card.get("adapter") else []
            paths = ["--model", str(folder / "model"), "--out", str(self.bundle(run))]
            yield "`lisax export`", [*COMMAND, "export", *alone, *paths]
        if (folder / HELD).is_dir():
            paths = [str(folder / HELD), run.base, str(self.bundle(run)), str(folder / MEASURED)]
            yield "The check", [*MEASURE, run.role, *paths]

    def _call(self, folder: Path, command: list[str]) -> int:
        # Low priority, since users keep asking; a killed page makes the training save and end.
        wrappers = [*_tool("nice", "-n", "10"), *_tool("setpriv", "--pdeathsig", "TERM")]
        environment = {name: value for name, value in os.environ.items() if name not in TOKENS}
        with (folder / "log.txt").open("ab") as log:
            process = self._process = subprocess.Popen(
                [*wrappers, *command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment | {"LISAX_TASKS": str(folder / DATASET)},
            )
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(POLL_SECONDS)
                if (folder / STOP).exists():
                    break
            # Ctrl-C in a terminal has already sent SIGINT, and a second one would prevent saving.
            process.terminate()
            try:
                return process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()


def _tool(*command: str) -> list[str]:
    return list(command) if shutil.which(command[0]) else []


# --- Training data --------------------------------------------------------------------------


def _prepare(folder: Path, role: str, checkpoint: Path, steps: int) -> None:
    """Writes `run.gin` and the data of its task."""
    card = ModelCard.read(checkpoint)
    text_format, preset = card.format, card.preset
    max_tokens, described = card.needed("text.max_tokens", "architecture")
    model = from_description(described)
    if isinstance(model, PairConfig) and isinstance(model.backbone, EncoderConfig):
        lines, targets = _pair_lines(card, model, preset.name, steps), 1
        vocabulary, wording = card.open_vocabulary().path.resolve(), {}
    elif model.kind is None:
        rate, targets = 0.0003 if text_format.answer is RELEVANCE else 0.001, 2
        lines = _T5.format(architecture=_fields(model), rate=rate)
        vocabulary, wording = checkpoint / VOCABULARY_NAME, {"preset": preset.name}
    else:
        raise LisaxError(
            f"{checkpoint} is neither a plain T5 nor a pair scorer on an encoder: it is trained by `lisax train`, not from "
            "this page."
        )
    task = f"{NAME}_{_variant(text_format, card)}"
    write_json(
        folder / DATASET,
        {
            "name": NAME,
            "folder": "data",
            "vocabulary": str(vocabulary),
            **wording,
            **{name: card[name] for name in ("columns", "sentences") if card.get(name)},
            "evidence": NEEDS[role].evidence,
            "out": "tasks",
        },
    )
    with atomic_write(folder / "run.gin") as file:
        # A gin file is code, and a bundle may come from anyone: only numbers and names from our own lists are taken
        # from it, as literals.
        file.write(
            _GIN.format(
                dataset=_in_comment(folder / DATASET),
                path=_in_comment(folder / "run.gin"),
                lines=lines,
                task=task,
                inputs=max_tokens,
                targets=targets,
                checkpoint=str(checkpoint),
                model=str(folder / "model"),
                steps=steps,
                period=max(1, steps // 50),
            )
        )


def _pair_lines(card: ModelCard, model: PairConfig, preset: str, steps: int) -> str:
    """The settings in `run.gin` for a pair scorer. An adapter is trained further; without one the whole model is, at a
    lower rate."""
    adapter = ""
    if card.get("adapter"):
        rank, alpha, targets = card.needed("adapter.rank", "adapter.alpha", "adapter.targets")
        if not set(targets.split("|")) <= set(MATRICES.split("|")):
            raise card.error("adapter.targets", f"an adapter that is trained here has targets among {MATRICES}")
        adapter = _ADAPTER.format(rank=rank, alpha=alpha, targets=targets)
    return _PAIR.format(
        architecture=_fields(model.backbone),
        labels=model.labels,
        pooling=model.pooling,
        adapter=adapter,
        rate=3e-4 if adapter else 3e-5,
        warm_up=max(1, steps // 10),
        preset=preset,
    )


def _fields(model: Model) -> str:
    """The fields of a T5 or an encoder, a line each; of dropout the run decides."""
    fields = dataclasses.asdict(model).items()
    return "\n".join(f"  {name} = {value!r}" for name, value in fields if name != "dropout_rate")


def _in_comment(path: Path) -> str:
    """A path quoted for a shell, on one line whatever its name."""
    return shlex.quote(str(path)) if str(path).isprintable() else repr(str(path))


# Settings fitted or chosen for a model after its training. The number of columns that it reads of a table is the
# task's.
KEPT = ("fusion", "reranks", "retrieval", "sentences", "leading", "calibration", "answers")


def _keep_fitted(card: Mapping[str, Any], model: Path) -> None:
    """Copies from its card the settings fitted for the old model: the weights that combine its scores with BM25 or
    vectors, the number of sentences it reads, the temperature of its probabilities, and the regression of a best
    answer's probability. The scores of the new model are others, but nothing was fitted for them yet, so that the
    temperature is recorded as fitted on 0 claims; `lisax verify --calibrate` fits one."""
    if kept := {name: value for name, value in card.items() if name in KEPT}:
        if "calibration" in kept:
            kept["calibration"] = {**kept["calibration"], "claims": 0}
        write_fitted(model, kept)


def why_not(model: Any) -> str:
    """Why the page cannot train a model; empty if it can."""
    if isinstance(model, VectorRanker):
        return "orders sentences by the vectors of an encoder as it was published, which is not trained here."
    if model.format is TABLE_FUSION:
        return "is a model of table fusion, which lisax train trains with the feedback that is downloaded."
    return ""


def _variant(text_format: Format, card: ModelCard) -> str:
    if text_format is TABLE_PARTS:
        return "parts"
    if text_format is TABLES:
        tables = card.text.get("tables", 0)
        return "tables_one" if tables <= 1 else f"tables_top{tables}"
    if text_format is LABEL_LISTWISE and card.get("sentences"):
        return "label_listwise_infused"
    return str(text_format)


_GIN = """\
# From feedback given on the page: LISAX_TASKS={dataset} lisax train --gin_file={path}
{lines}
MIXTURE_OR_TASK_MODULE = 'tasks'
MIXTURE_OR_TASK_NAME = {task!r}
TASK_FEATURE_LENGTHS = {{'inputs': {inputs}, 'targets': {targets}}}
INITIAL_CHECKPOINT_PATH = {checkpoint!r}
MODEL_DIR = {model!r}
TRAIN_STEPS = {steps}
EVAL_SPLIT = 'train'
EVAL_PERIOD = {steps}
EVAL_STEPS = 10
BATCH_SIZE = 16

train.log_period = {period}
utils.SaveCheckpointConfig:
  period = {steps}
  keep = 1
utils.RestoreCheckpointConfig:
  restore_optimizer = False
  restore_step = False
"""
_T5 = """\
include 'models/t5.gin'
include 'runs/finetune.gin'

network.T5Config:
{architecture}

DROPOUT_RATE = 0.0
utils.create_learning_rate_scheduler.base_learning_rate = {rate}
"""
_PAIR = """\
include 'models/encoder.gin'
include 'models/pair.gin'
include 'runs/finetune_encoder.gin'

encoder.EncoderConfig:
{architecture}

LABELS = {labels}
POOLING = {pooling!r}
lisax_format.preset = {preset!r}
{adapter}
LEARNING_RATE = {rate}
WARMUP_STEPS = {warm_up}
utils.create_learning_rate_scheduler:
  factors = 'constant * linear_warmup * cosine_decay'
  steps_per_cycle = %TRAIN_STEPS
"""
_ADAPTER = """\
train.adapter = @lora.Lora()
lora.Lora:
  rank = {rank}
  alpha = {alpha}
  targets = {targets!r}
"""
