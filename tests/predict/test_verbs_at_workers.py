"""`--workers` gives the bytes of one process, also after the death of a worker."""

import shutil

import pytest
import ray_cluster
from test_dense_search import write_encoder

from lisax import world
from lisax.cli import main
from lisax.files.resumable import partial
from lisax.files.writing import write_json_lines
from lisax.predict import checking, file_steps, reader, verbalizer
from lisax.retrieval import dense, documents, prepared
from lisax.retrieval.folder import read_components

NAMES = ("Vova Brugard", "Lenas Brugard", "Besa Siton", "Torimoor", "the Irum")


@pytest.fixture(scope="module")
def ray():
    with ray_cluster.started() as found:
        yield found


@pytest.fixture
def claims(tmp_path):
    rows = [{"id": i, "claim": f"{NAMES[i % 5]} was born in {1800 + i}."} for i in range(60)]
    write_json_lines(tmp_path / "claims.jsonl", rows)
    return tmp_path / "claims.jsonl"


def run(*words) -> None:
    assert main([str(word) for word in words]) == 0


def same_at_workers(out, *words) -> None:
    """Runs a command in this process and at three workers, of which one is killed, and compares the files."""
    run(*words, "--out", out.with_name("alone"))
    with ray_cluster.one_killed(partial(out)) as killed:
        run(*words, "--out", out, "--workers", "ray,3")
    assert killed and out.read_bytes() == out.with_name("alone").read_bytes()


@pytest.mark.slow
def test_check(ray, bundles, pages, claims, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "CLAIMS_AT_A_TIME", 2)
    given = ["check", "--claims", claims, "--index", pages.folder, "--model", bundles["pointwise"]]
    same_at_workers(tmp_path / "verdicts.jsonl", *given, "--ranker", bundles["ranker"], "--temporal")


@pytest.mark.slow
def test_retrieve_rerank_and_verify(ray, bundles, pages, claims, tmp_path, monkeypatch):
    monkeypatch.setattr(file_steps, "RANKED_AT_A_TIME", 2)
    monkeypatch.setattr(file_steps, "VERIFIED_AT_A_TIME", 2)
    given, documents = ["--index", pages.folder, "--claims", claims], tmp_path / "documents.trec"
    run("retrieve", "documents", *given, "--out", documents)
    ranked = tmp_path / "ranked.trec"
    same_at_workers(ranked, "rerank", *given, "--run", documents, "--model", bundles["ranker"])
    same_at_workers(tmp_path / "p.jsonl", "verify", *given, "--run", ranked, "--model", bundles["listwise"])


@pytest.mark.slow
def test_answer(ray, bundles, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "QUESTIONS_AT_A_TIME", 2)
    world.write(tmp_path / "world", pages=60, seed=0)
    index, encoder = tmp_path / "index", write_encoder(tmp_path / "encoder")
    run("index", "mixed", "--corpus", tmp_path / "world", "--out", index)
    run("index", "vectors", index, "--retriever", encoder)
    given = ["answer", "--index", index, "--retriever", encoder, "--reader", bundles["reader"], "--k", 9]
    same_at_workers(tmp_path / "answers.jsonl", *given, "--questions", tmp_path / "world" / "questions.dev.jsonl")


@pytest.mark.slow
def test_verbalize(ray, bundles, tmp_path, monkeypatch):
    monkeypatch.setattr(verbalizer, "UNITS_AT_A_TIME", 2)
    world.write(tmp_path / "world", pages=60, seed=0)
    given = ["--tables", tmp_path / "world" / "tables.jsonl", "--model", bundles["verbalizer"], "--beams", 2]
    same_at_workers(tmp_path / "sentences.jsonl", "verbalize", *given)


@pytest.mark.slow
def test_an_interrupted_command_resumes_at_workers(ray, bundles, pages, claims, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "CLAIMS_AT_A_TIME", 6)
    given = ["check", "--claims", claims, "--index", pages.folder, "--model", bundles["listwise"], "--ranker", "bm25"]
    run(*given, "--out", tmp_path / "alone")
    finished, write = [], checking.lines_to_file

    def stops(out, opens, *others, **options):
        def opens_and_stops():
            work = opens()

            def done(block):
                if len(finished) == 3:
                    raise KeyboardInterrupt
                finished.append(block)
                return work(block)

            return done

        write(out, opens_and_stops, *others, **options)

    with monkeypatch.context() as patch:
        patch.setattr(checking, "lines_to_file", stops)
        assert main([str(word) for word in (*given, "--out", tmp_path / "out")]) == 130
    assert partial(tmp_path / "out").read_bytes().count(b"#group") == 3
    run(*given, "--out", tmp_path / "out", "--workers", "ray,2")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.slow
def test_index_vectors(ray, pages, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 4)
    encoder = write_encoder(tmp_path / "encoder")
    for name, more in (("alone", []), ("out", ["--workers", "ray,3"])):
        shutil.copytree(pages.folder, tmp_path / name)
        run("index", "vectors", tmp_path / name, "--retriever", encoder, *more)
    alone, out = (read_components(tmp_path / name)["dense-sentences"] for name in ("alone", "out"))
    assert len(out["parts"]) > 3 and out["digest"] == alone["digest"]


@pytest.mark.slow
def test_retrieve(ray, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "CLAIMS_AT_A_TIME", 7)
    world.write(tmp_path / "world", pages=60, seed=0)
    claims = dict.fromkeys(("documents", "mixed"), tmp_path / "world" / "claims.dev.jsonl")
    claims["cells"] = tmp_path / "world" / "table_claims.dev.jsonl"
    for kind in claims:
        index = tmp_path / kind
        run("index", kind, "--corpus", tmp_path / "world", "--out", index)
        given = ["retrieve", kind, "--index", index, "--claims", claims[kind], "--k", 9]
        given += ["--hops", 2] if kind == "documents" else []
        run(*given, "--out", tmp_path / "alone")
        run(*given, "--out", tmp_path / "out", "--workers", "ray,2")
        assert (tmp_path / "out").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["documents", "tables"])
def test_index(ray, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(prepared, "RECORDS", 8)
    world.write(tmp_path / "world", pages=300, seed=0)
    given = ["index", kind, "--corpus", tmp_path / "world", "--out"]
    run(*given, tmp_path / "alone")
    with ray_cluster.one_killed(tmp_path / "out" / ".lock", b"") as killed:
        run(*given, tmp_path / "out", "--workers", "ray,3")
    alone, out = (
        {name: one["digest"] for name, one in read_components(tmp_path / folder).items()} for folder in ("alone", "out")
    )
    assert killed and out == alone
