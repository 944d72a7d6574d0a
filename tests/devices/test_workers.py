"""Workers give what one process gives, in order, whichever of them dies."""

import functools
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import ray_cluster

from lisax.devices import workers
from lisax.devices.workers import Workers, mapped, one_connection, received, sent
from lisax.errors import DataError, LisaxError
from lisax.extras import not_installed
from lisax.files import places
from lisax.shipped import ranker


def opens(factor, read=None, dies_once=None, always_dies=False):
    """Work that says where it was done. At block 7 its process dies: once, or each."""
    text = "" if read is None else Path(read).read_text()

    def work(block):
        if block == 7 and dies_once is not None and not dies_once[1].exists():
            dies_once[1].touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if block == 7 and always_dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if block == 13:
            raise DataError("a bad line", path="claims.jsonl", line=13)
        time.sleep(1.5 if block == 0 else 0.01)  # the results after the first wait for it
        return block * factor, text, os.getpid()

    return work


@pytest.fixture(scope="module")
def ray():
    with ray_cluster.started(Path(__file__).parent) as found:
        yield found


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("ray", Workers("ray")),
        ("ray,4", Workers("ray", 4)),
        ("10.0.0.1:6379,12", Workers("10.0.0.1:6379", 12)),
        ("ray://head:10001", Workers("ray://head:10001")),
    ],
)
def test_addresses(text, wanted):
    assert Workers.of(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "ray,0", "ray,", "rays", "head", "http://head:1", "ray://head", "ray,-1", "ray,x"]
)
def test_other_addresses_are_refused(text):
    with pytest.raises(LisaxError, match="expected ray, HOST:6379"):
        Workers.of(text)


def test_one_process_needs_no_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert [one for one, *_ in mapped(functools.partial(opens, 2), range(3))] == [0, 2, 4]
    with pytest.raises(ModuleNotFoundError) as missing:
        next(mapped(functools.partial(opens, 2), range(3), Workers("ray")))
    assert "pip install 'lisax[ray]'" in str(not_installed(missing.value))


def test_an_address_without_a_cluster(tmp_path):
    pytest.importorskip("ray", reason="pip install 'lisax[ray]'")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(LisaxError, match=f"no Ray cluster answers at {address}: .*refused; if it asks for a token"):
            next(mapped(functools.partial(opens, 2), range(3), Workers(address)))


def test_calls_share_a_connection_to_the_cluster_of_this_machine(monkeypatch):
    ray, calls = pytest.importorskip("ray", reason="pip install 'lisax[ray]'"), []
    monkeypatch.setattr(ray, "init", lambda *_, **__: calls.append("init"))
    monkeypatch.setattr(ray, "shutdown", lambda: calls.append("shutdown"))
    monkeypatch.setattr(ray, "is_initialized", lambda: calls.count("init") > calls.count("shutdown"))
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 2.0}}])
    monkeypatch.setattr(ray, "kill", lambda worker: calls.append("kill"))
    monkeypatch.setattr(workers._Cluster, "results", lambda self, opens, blocks: self._alive.add(0) or iter(blocks))
    monkeypatch.setattr(workers.socket, "create_connection", lambda *_: open(os.devnull))

    def twice(address):
        calls.clear()
        with one_connection(Workers(address)):
            assert [list(mapped(functools.partial(opens, 2), [5], Workers(address))) for _ in range(2)] == [[5], [5]]
        return calls

    assert twice("ray") == ["init", "kill", "kill", "shutdown"]
    assert twice("head:1") == ["init", "kill", "shutdown"] * 2
    calls.clear()
    list(mapped(functools.partial(opens, 2), [5], Workers("ray")))
    assert calls == ["init", "kill", "shutdown"]
    calls.clear()
    with one_connection(Workers("ray")):
        left = mapped(functools.partial(opens, 2), [5, 6], Workers("ray"))
        assert next(left) == 5
    left.close()  # an error keeps it until then; `kill` would start another cluster
    assert calls == ["init", "shutdown"]


def test_workers_are_placed_on_one_kind_of_device():
    cpus, gpus, tpus = {"CPU": 8.0, "memory": 1e9}, {"CPU": 16.0, "GPU": 4.0}, {"CPU": 96.0, "TPU": 4.0}
    placed = lambda machines, count=None: workers._placed(machines, Workers("ray", count))  # noqa: E731
    assert placed([cpus, cpus])[1:] == (8, 2) and placed([cpus, cpus], 32)[1:] == (1, 32)
    assert placed([cpus], 9)[0]["num_cpus"] == 0
    assert placed([cpus, gpus]) == ({"scheduling_strategy": "SPREAD", "num_cpus": 1, "num_gpus": 1}, 4, 4)
    options, _, count = placed([cpus, tpus, tpus])
    assert options["resources"] == {"TPU": 4.0} and count == 2
    with pytest.raises(LisaxError, match="no machine of the Ray cluster"):
        placed([{"memory": 1e9}])


def test_paths_are_those_of_the_same_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data", "a.txt").write_text("abc")
    content = sent(functools.partial(opens, 2, Path("data/a.txt"), ("x", Path("minilm")), ranker()))
    folder = sent(functools.partial(opens, 2, Path("data")))
    monkeypatch.chdir("/")
    _, path, (_, name), shipped = received(content).args
    assert path == tmp_path / "data" / "a.txt" and name == Path("minilm") and shipped == ranker()
    assert received(folder).args[1] == tmp_path / "data"
    (tmp_path / "data" / "a.txt").write_text("abcd")
    for changed in (content, folder):
        with pytest.raises(LisaxError, match=r"does not see .*a\.txt as the machine that asks does: put"):
            received(changed)
    (tmp_path / "data" / "a.txt").unlink()
    with pytest.raises(LisaxError, match="in a folder that all machines have at the same place, or in a bucket"):
        received(content)


def test_a_copy_of_a_bucket_is_fetched_again(monkeypatch):
    copy = Path(places._scratch()) / "bucket" / "index"
    assert places.origin(copy) == "gs://bucket/index" and places.origin(Path("/tmp")) is None
    content = sent(functools.partial(opens, 2, copy))
    monkeypatch.setattr(workers, "fetched", lambda address: Path("/elsewhere") / address.removeprefix("gs://"))
    assert received(content).args[1] == Path("/elsewhere/bucket/index")


def test_another_version_is_refused(monkeypatch):
    content = sent(functools.partial(opens, 2))
    monkeypatch.setattr(workers, "__version__", "9.9")
    with pytest.raises(LisaxError, match=r"has lisax 9\.9, and the machine that asks"):
        received(content)


def test_results_come_in_order_from_several_workers_whichever_dies(ray, tmp_path, capsys):
    (tmp_path / "read.txt").write_text("seen")
    work = functools.partial(opens, 3, tmp_path / "read.txt", (0, tmp_path.absolute() / "died"))
    blocks = [block for block in range(40) if block != 13]
    got = list(mapped(work, blocks, Workers("ray", 3)))
    assert [one for one, *_ in got] == [3 * block for block in blocks] and {text for _, text, _ in got} == {"seen"}
    processes = {process for *_, process in got}
    assert len(processes) >= 2 and os.getpid() not in processes and (tmp_path / "died").exists()
    assert "a worker has ended; another one takes its place" in capsys.readouterr().err


def test_errors_of_the_work_are_raised_here(ray, tmp_path):
    with pytest.raises(DataError, match=r"^claims\.jsonl:13: a bad line$"):
        list(mapped(functools.partial(opens, 3), range(20), Workers("ray", 1)))


@pytest.mark.slow
def test_a_block_that_ends_every_worker_ends_the_command(ray):
    with pytest.raises(LisaxError, match="3 workers ended one after another, at the same input"):
        list(mapped(functools.partial(opens, 3, always_dies=True), range(9), Workers("ray", 2)))
