"""`lisax cache`: Beam's files are those of the in-process path, byte by byte."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter

import pytest

from lisax import cli, world
from lisax.corpora import open_folder
from lisax.formats.examples import write_examples
from lisax.formats.vocabulary import train_vocabulary
from lisax.predict.page_index import PageIndex
from lisax.records import Hit
from lisax.retrieval.documents import DocumentIndex, build_index, retrieve
from lisax.retrieval.runs import read_run, write_run
from lisax.sampling import examples, files

needs_beam = pytest.mark.skipif(importlib.util.find_spec("apache_beam") is None, reason="Apache Beam is not installed")
needs_dask = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("apache_beam", "distributed"))), reason="Beam or Dask is not installed"
)
OPTIONS = "--pipeline-options=--direct_num_workers=2,--direct_running_mode=multi_threading"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small world, its index, and the runs of its train claims as the pipeline makes them in one process."""
    out = tmp_path_factory.mktemp("beam")
    world.write(out / "world", pages=100, seed=3)
    data = open_folder(out / "world")
    sentences = PageIndex(build_index(data.documents(), out / "index"))
    write_run(out / "documents.trec", retrieve(sentences.index, data.claims("train"), 12), "documents")
    write_run(
        out / "candidates.trec",
        (
            hit
            for query, hits in read_run(out / "documents.trec").items()
            for hit in sentences.candidates(query, hits, 60)
        ),
        "candidates",
    )
    # A ranker that turns every list round, and knows nothing of every fifth claim.
    turned = [hits[::-1] for i, hits in enumerate(read_run(out / "candidates.trec").values()) if i % 5]
    write_run(
        out / "reranked.trec",
        (Hit(hit.query_id, hit.id, rank, 1 / rank) for hits in turned for rank, hit in enumerate(hits, start=1)),
        "turned",
    )
    return out


@pytest.fixture(scope="module")
def dask():
    """Beam's options for a scheduler with three workers, processes of their own that do not know LISAX_DATA."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield "--runner=dask", f"--pipeline-options=--dask_client_address={cluster.scheduler_address}"


@pytest.fixture(scope="module")
def job_server(tmp_path_factory):
    """Options for Beam's own job server, to which its runners of Flink and Spark hand a pipeline as they do to theirs;
    and its log."""
    file, log = (tmp_path_factory.mktemp("server") / name for name in ("port", "log"))
    module = "apache_beam.runners.portability.local_job_service_main"
    with log.open("w") as output:
        command = [sys.executable, "-m", module, "--port=0", f"--port_file={file}"]
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text().strip()):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield f"--pipeline-options=--job_endpoint=localhost:{int(file.read_text())},--environment_type=LOOPBACK", log
    finally:
        server.kill()
        server.wait()


def lisax(*arguments):
    assert cli.main(["cache", *map(str, arguments)]) == 0


@needs_beam
def test_candidates(folder, tmp_path):
    lisax(
        "candidates",
        f"--run={folder}/documents.trec",
        f"--index={folder}/index",
        "--limit=60",
        f"--out={tmp_path}/run.trec",
        OPTIONS,
    )
    assert (tmp_path / "run.trec").read_bytes() == (folder / "candidates.trec").read_bytes()
    assert os.listdir(tmp_path) == ["run.trec"]


@needs_dask
def test_candidates_on_dask(folder, tmp_path, dask, monkeypatch):
    monkeypatch.chdir(tmp_path)  # workers have another folder, and paths may be relative
    shutil.copy(folder / "documents.trec", "documents.trec")
    lisax("candidates", "--run=documents.trec", f"--index={folder}/index", "--limit=60", "--out=run.trec", *dask)
    assert (tmp_path / "run.trec").read_bytes() == (folder / "candidates.trec").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["documents.trec", "run.trec"]


@needs_beam
@pytest.mark.parametrize("runner", ["flink", "spark"])
def test_candidates_by_a_job_server(folder, tmp_path, job_server, runner):
    options, log = job_server
    ended = log.read_text().count("with state DONE")
    where = f"--run={folder}/documents.trec", f"--index={folder}/index", "--limit=60", f"--out={tmp_path}/run.trec"
    lisax("candidates", *where, f"--runner={runner}", options)
    assert log.read_text().count("with state DONE") == ended + 1
    assert (tmp_path / "run.trec").read_bytes() == (folder / "candidates.trec").read_bytes()


@pytest.mark.parametrize(
    "runner", [pytest.param(None, marks=needs_beam), pytest.param("dask", marks=[needs_dask, pytest.mark.slow])]
)
@pytest.mark.parametrize("split", ["train", "dev"])
def test_examples(folder, tmp_path, split, runner, request, monkeypatch, capsys):
    from lisax.papers.list5 import beam_examples

    monkeypatch.setattr(beam_examples, "CLAIMS_PER_PART", 7)
    lisax(
        "examples",
        f"--data={folder}/world",
        f"--split={split}",
        f"--candidates={folder}/candidates.trec",
        f"--reranked={folder}/reranked.trec",
        f"--index={folder}/index",
        "--seed=5",
        f"--out={tmp_path}/beam",
        *(request.getfixturevalue(runner) if runner else [OPTIONS]),
    )
    candidates, reranked = (
        examples.ranked_ids(read_run(folder / f"{name}.trec")) for name in ("candidates", "reranked")
    )
    sentences = PageIndex(DocumentIndex.open(folder / "index"))
    skipped = Counter()
    written = files.write_all(
        tmp_path / "here",
        split,
        list(open_folder(folder / "world").claims(split)),
        candidates,
        reranked,
        sentences.lookup,
        draws=examples.Draws(5),
        training=split == "train",
        skipped=skipped,
    )
    assert sorted(os.listdir(tmp_path / "beam")) == sorted(os.listdir(tmp_path / "here"))
    for variant, number in written.items():
        made = (tmp_path / "beam" / files.file_name(variant, split)).read_bytes()
        assert made == (tmp_path / "here" / files.file_name(variant, split)).read_bytes()
        assert made.count(b"\n") == number
    printed = capsys.readouterr().out
    assert all(line in printed for line in examples.told(skipped))
    assert split == "dev" or skipped


@pytest.mark.slow
@pytest.mark.parametrize("runner", [pytest.param(None, marks=needs_beam), pytest.param("dask", marks=needs_dask)])
def test_tasks_are_cached_and_read_back(tmp_path, runner, request):
    options = request.getfixturevalue(runner) if runner else []
    made = [
        examples.Example(str(i), f"claim {i}", (examples.Passage(f"p_{i}", "Title", f"text {i}"),), label=bool(i % 2))
        for i in range(30)
    ]
    for split in ("train", "dev"):
        (tmp_path / "examples").mkdir(exist_ok=True)
        write_examples(tmp_path / "examples" / f"rank.{split}.jsonl", made)
    train_vocabulary(["claim text Title Query: Document: Relevant: true false weak"] * 9, tmp_path / "spiece.model", 60)
    environment = os.environ | {"LISAX_DATA": str(tmp_path)}
    cache = tmp_path / "cache"
    command = [sys.executable, "-P", "-m", "lisax", "cache", "tasks", "list5_rank", f"--out={cache}", "--min-shards=2"]
    command += options
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == f"list5_rank: {cache / 'list5_rank'}"
    assert not list(cache.rglob("beam-temp-*"))
    assert len(list((cache / "list5_rank").glob("train.tfrecord-*-of-00002"))) == 2
    assert json.loads((cache / "list5_rank" / "stats.train.json").read_text())["examples"] == 30
    read = (
        "import seqio, sys, lisax.tasks; seqio.add_global_cache_dirs([sys.argv[1]]); "
        "t = seqio.get_mixture_or_task('list5_rank'); "
        "print(sorted(row['claim_id'].decode() for row in t.get_dataset({'inputs': 64, 'targets': 2}, 'train', "
        "use_cached=True, shuffle=False).as_numpy_iterator()) == sorted(map(str, range(30))))"
    )
    done = subprocess.run([sys.executable, "-c", read, cache], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr[-2000:]


@needs_beam
@pytest.mark.parametrize(
    ("runner", "expected"),
    [
        ("dsk", "the Beam runner 'dsk' cannot be used: Unexpected pipeline runner: dsk."),
        ("dataflow", "the Beam runner 'dataflow' stopped: "),
    ],
)
def test_a_runner_that_cannot_be_used_is_named(folder, tmp_path, runner, expected, capsys):
    run, index, out = folder / "documents.trec", folder / "index", tmp_path / "run.trec"
    words = ["cache", "candidates", f"--run={run}", f"--index={index}", f"--out={out}", f"--runner={runner}"]
    assert cli.main(words) == 1
    error = capsys.readouterr().err
    assert expected in error and "Traceback" not in error
    assert not os.listdir(tmp_path)


@needs_dask
def test_a_cluster_out_of_reach_is_an_error(folder, tmp_path, capsys):
    options = "--pipeline-options=--dask_client_address=tcp://127.0.0.1:9,--dask_connection_timeout=1"
    run, index, out = folder / "documents.trec", folder / "index", tmp_path / "run.trec"
    words = ["cache", "candidates", f"--run={run}", f"--index={index}", f"--out={out}", "--runner=dask", options]
    assert cli.main(words) == 1
    assert "the Beam runner 'dask' stopped: OSError: Timed out" in capsys.readouterr().err


def test_without_beam_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(["cache", "tasks", "list5_rank", "--out=cache"]) == 1
    assert "make beam" in capsys.readouterr().err
