"""Models put to use: kept in the state folder, taken up by every server that began with the same ones."""

import json
import threading
from pathlib import Path

from lisax.errors import LisaxError
from lisax.serve import in_use
from lisax.serve.in_use import InUse
from lisax.serve.models import LABELLER, RANKER
from lisax.serve.worker import Busy

BEGUN = {LABELLER: Path("/models/old"), RANKER: Path("/models/ranker")}


def server(folder: Path, begun=BEGUN) -> tuple[InUse, dict[str, Path]]:
    """A server's models in use, and those that answer there."""
    return InUse(folder, begun), dict(begun)


def test_a_model_is_taken_up_where_the_server_began_with_the_same_one(tmp_path):
    one, answering = server(tmp_path)
    one.put(LABELLER, Path("/state/1/bundle"))
    for begun, taken in ((BEGUN, ["/state/1/bundle"]), (BEGUN | {LABELLER: Path("/models/newer")}, []), ({}, [])):
        used = []
        other, answering = server(tmp_path, begun)
        other.take_up(answering, lambda path: used.append(str(path)))
        assert used == taken
    one.put(LABELLER, Path("/state/2/bundle"))
    one.put(RANKER, Path("/state/3/bundle"))
    used = []
    one.take_up(dict(BEGUN), used.append)
    assert used == [Path("/state/2/bundle"), Path("/state/3/bundle")]
    one.put(LABELLER, BEGUN[LABELLER])
    used = []
    server(tmp_path)[0].take_up(dict(BEGUN), used.append)
    assert used == [Path("/state/3/bundle")]  # the server began with the labeller
    assert set(json.loads((tmp_path / in_use.IN_USE).read_text())) == {LABELLER, RANKER}


def test_a_model_that_is_gone_leaves_the_old_one_and_is_named(tmp_path, caplog):
    one, answering = server(tmp_path)
    one.put(LABELLER, Path("/state/1/bundle"))

    def use(path):
        raise LisaxError("no model there")

    one.take_up(answering, use)
    assert "the labeller in use, /state/1/bundle, cannot be opened: no model there" in caplog.text


def test_another_server_takes_up_a_change_and_tries_again_when_it_was_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(in_use, "POLL_SECONDS", 0.01)
    (one, _), (other, answering) = server(tmp_path), server(tmp_path)
    tried, taken = [], threading.Event()

    def use(path):
        tried.append(path)
        if len(tried) == 1:
            raise Busy("full")
        answering[LABELLER] = path
        taken.set()

    other.follow(answering, use)
    one.put(LABELLER, Path("/state/1/bundle"))
    assert taken.wait(10) and tried == [Path("/state/1/bundle")] * 2
