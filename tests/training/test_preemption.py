"""What ends a run before its last step: a signal in the middle of an evaluation, a machine that says that it will go."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from memory_task import batch_of, config, source

from lisax.training import preemption
from lisax.training.train import train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import CheckpointWriter, SaveCheckpointConfig, complete_steps, read_metrics

BEST = SaveCheckpointConfig(period=100, keep=None, best_metric="loss", best_mode="min")


def _rows(folder) -> list[tuple]:
    return [(row["step"], row["kind"], row["loss"]) for row in read_train_log(folder)]


def _stopped(number: int, *arguments, **fields) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit if number == signal.SIGTERM else KeyboardInterrupt) as ended:
        train(config(*arguments, **fields))
    assert number != signal.SIGTERM or ended.value.code == 143
    assert signal.getsignal(number) == before


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(config(folder, 8, save=BEST))
    return folder


@pytest.mark.parametrize(("step", "number"), [(4, signal.SIGTERM), (8, signal.SIGINT)])
def test_an_evaluation_is_left_for_later(whole, tmp_path, step, number):
    """The first one, and that after the last step: the run that goes on makes it first, and then is what it would have
    been."""
    read = []

    def interrupted():
        for i in range(50):
            read.append(i)
            if i == 1:
                os.kill(os.getpid(), number)
            yield batch_of(10_000 + i)

    if step == 8:
        train(config(tmp_path, 4, save=BEST))
    _stopped(number, tmp_path, 8, save=BEST, dev_data=interrupted)
    assert read == [0, 1] and complete_steps(tmp_path)[-1] == step
    assert read_metrics(tmp_path / f"checkpoint_{step}") == {"metrics": {}, "best": None}
    result = train(config(tmp_path, 8, save=BEST))
    assert _rows(tmp_path) == _rows(whole)
    for saved in (4, 8):
        assert read_metrics(tmp_path / f"checkpoint_{saved}") == read_metrics(whole / f"checkpoint_{saved}")
    assert result.metrics == read_metrics(whole / "checkpoint_8")["metrics"]


def test_an_evaluation_of_the_callers_is_left_at_once(tmp_path):
    def evaluate(parameters, step):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    started = time.monotonic()
    _stopped(signal.SIGTERM, tmp_path, 8, dev_data=None, evaluate=evaluate)
    assert complete_steps(tmp_path) == [3, 4] and time.monotonic() - started < 50
    calls = []
    result = train(config(tmp_path, 8, dev_data=None, evaluate=lambda _, step: calls.append(step) or {"figure": step}))
    assert calls == [4, 8] and result.metrics == {"figure": 8.0}


def test_a_signal_during_the_last_save_is_not_lost(tmp_path, monkeypatch):
    """What a program does after training must not begin."""
    save = CheckpointWriter.save

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        save(*arguments)

    monkeypatch.setattr(CheckpointWriter, "save", interrupted)
    _stopped(signal.SIGTERM, tmp_path, 4, save=BEST)
    assert read_metrics(tmp_path / "checkpoint_4")["metrics"] and complete_steps(tmp_path) == [4]


def test_before_the_first_step_there_is_nothing_to_save(tmp_path, capfd):
    def interrupted(skip):
        os.kill(os.getpid(), signal.SIGTERM)
        return source(skip)

    _stopped(signal.SIGTERM, tmp_path, 4, train_data=interrupted)
    assert "stopped by SIGTERM before step 1 of 4" in capfd.readouterr().err and complete_steps(tmp_path) == []


# --- Notices ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def metadata_server(values: dict[str, str]) -> Iterator[str]:
    """HOST:PORT of a server that tells `values` as a machine's metadata."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.removeprefix("/computeMetadata/v1/instance/")
            told = self.headers["Metadata-Flavor"] == "Google" and values.get(name)
            self.send_response(200 if told else 403)
            self.end_headers()
            self.wfile.write(f"{told or 'refused'}\n".encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def machine(monkeypatch):
    """What this machine tells of itself, to be changed."""
    values = {"preempted": "FALSE", "maintenance-event": "NONE"}
    monkeypatch.setattr(preemption, "POLL_SECONDS", 0.02)
    with metadata_server(values) as host:
        monkeypatch.setenv("GCE_METADATA_HOST", host)
        yield values


def _announcing(values: dict[str, str], name: str, told: str):
    """Training data, with whose fifth batch a machine tells something; then no batch comes for a while."""

    def batches(skip):
        for number, batch in enumerate(source(skip)):
            if number == 5:
                values[name] = told
            if number > 5:
                time.sleep(0.2)
            yield batch

    return batches


@pytest.mark.parametrize(
    ("name", "told"), [("preempted", "TRUE"), ("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")]
)
def test_a_machine_that_will_go_ends_the_run(machine, tmp_path, capfd, name, told):
    _stopped(signal.SIGTERM, tmp_path, 100_000, train_data=_announcing(machine, name, told))
    assert "lisax: this machine will be gone soon" in capfd.readouterr().err
    saved = complete_steps(tmp_path)[-1]
    assert [step for step, kind, _ in _rows(tmp_path) if kind == "train"] == list(range(1, saved + 1))


def test_what_does_not_end_a_run(machine, tmp_path):
    """A machine that moves while it runs; a maintenance that was known when the run began."""
    moving = _announcing(machine, "maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE")
    assert train(config(tmp_path / "moving", 8, train_data=moving)).step == 8
    machine["maintenance-event"] = preemption.ENDS
    known = _announcing(machine, "preempted", "FALSE")
    assert train(config(tmp_path / "known", 8, train_data=known)).step == 8


def test_only_machines_of_googles_are_asked(monkeypatch, tmp_path):
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    product = tmp_path / "product_name"
    monkeypatch.setattr(preemption, "PRODUCT", product)
    assert preemption.metadata_host() is None
    product.write_text("KVM\n")
    assert preemption.metadata_host() is None
    product.write_text("Google Compute Engine\n")
    assert preemption.metadata_host() == "metadata.google.internal"
