"""Whole tables of a cluster, alone and beside text at one address, are found and read as in an index folder."""

import contextlib
import itertools
import json

import pytest

from lisax import cli
from lisax.corpora import open_folder
from lisax.errors import DataError, LisaxError
from lisax.predict.answerer import Answerer
from lisax.predict.checker import Checker
from lisax.predict.index import Index
from lisax.predict.retriever import add_vectors, open_encoder
from lisax.predict.table_index import TableIndex
from lisax.retrieval import cluster_client, elastic, mixed, table_text
from lisax.retrieval.cluster import fill_cluster
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.runs import read_run
from tests.small_cluster import HOST, fill


@pytest.mark.parametrize("vectors", [False, True])
def test_whole_tables_are_found_and_read_as_in_a_folder(server, corpus, model, bundles, capsys, tmp_path, vectors):
    at, data = f"{HOST}/tables", open_folder(corpus)
    given = ["index", "cluster", at, "--corpus", str(corpus), "--of", "tables"]
    assert cli.main([*given, *(["--vectors", str(model)] if vectors else [])]) == 0
    bm25 = table_text.BESIDE_VECTORS if vectors else {}
    table_text.build_index(data.tables(), tmp_path / "tables", analyzer="lucene", **bm25)
    if vectors:
        add_vectors(tmp_path / "tables", open_encoder(model))
    remote, here = Index.open(at), Index.open(tmp_path / "tables")
    assert isinstance(remote, TableIndex) and remote.reading("tables") is remote
    assert ("dense-tables" in remote.components) is vectors is (remote.by_vectors(None) is not None)
    asked = [question.text for question in data.questions("train") if table_text.gold_tables(question)][:10]
    server.requests.clear()
    found, expected = (index.search_many(asked, 20) for index in (remote, here))
    assert len(server.requests) < 2 * len(asked) + 5 + 2 * vectors * len(asked)  # not one for each table
    assert all(found) and [one[0].unit for one in found] == [one[0].unit for one in expected]
    tables = {one.unit: one.table for of_one in expected for one in of_one}
    assert all(tables.get(one.unit, one.table) == one.table for of_one in found for one in of_one)
    answered = [Answerer.open(index, bundles["parts"]).ask(asked[0]) for index in (remote, here)]
    assert answered[0] and [one.text for one in answered[0]] == [one.text for one in answered[1]]
    assert Answerer.open(remote, bundles["parts"]).searched == {"tables": len(here.store)}
    capsys.readouterr()
    assert cli.main(["ask", asked[0], "--index", at, "--model", str(bundles["parts"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["answer"] == answered[0][0].text
    claims, run = corpus / "table_claims.dev.jsonl", tmp_path / "run.trec"
    asked = ["retrieve", "tables", "--index", at, "--questions", str(corpus), "--out", str(run)]
    assert cli.main(asked) == 0 and "gold tables of " in capsys.readouterr().out
    assert all(len({hit.score for hit in hits}) == len(hits) > 1 for hits in read_run(run).values())  # no ties
    hits = [f"{claim.id} Q0 {claim.gold_ids[0]} 1 1 x\n" for claim in data.table_claims("dev") if claim.gold_ids]
    run.write_text("".join(hits))
    verify = ["verify", "--claims", str(claims), "--model", str(bundles["fusion"]), "--run", str(run)]
    for index, name in ((at, "there"), (tmp_path / "tables", "here")):
        assert cli.main([*verify, "--index", str(index), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


# --- Text and whole tables at one address ----------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory, corpus):
    """The index folder of the same corpus."""
    folder, data = tmp_path_factory.mktemp("whole") / "index", open_folder(corpus)
    mixed.build_index(passages_of(data), folder, analyzer="lucene")
    table_text.build_index(data.tables(), folder, with_cells=True)
    return folder


def test_text_and_whole_tables_are_checked_and_asked_at_one_address(server, corpus, whole, model, bundles, capsys):
    at = fill(corpus, "whole", replace=True)
    remote, here = Index.open(at), Index.open(whole)
    assert remote.components == here.components >= {"bm25", "cells", "tables", "table_text"}
    assert remote.index.sources == here.index.sources
    said = [claim.text for claim in open_folder(corpus).table_claims("dev")][:20]
    tables = [index.reading("tables") for index in (remote, here)]
    server.requests.clear()
    found, expected = (index.search_many(said, 5) for index in tables)
    assert found == expected and all(found) and any(len(one.table.header) == 3 for one in found[0])
    assert len(server.requests) < 10 + len(said)  # not one for each table
    assert capsys.readouterr().err.count("built the index of cells") == 1
    assert Index.open(at).reading("tables").search_many(said, 5) == expected
    assert "built" not in capsys.readouterr().err
    for kind, exactly in (("fusion", True), ("pointwise", False)):
        verdicts, others = (list(Checker(index, model=bundles[kind]).check_many(said[:8])) for index in (remote, here))
        same = [(one == other) if exactly else (one.label is other.label) for one, other in zip(verdicts, others)]
        assert sum(same) >= (8 if exactly else 6)
    questions = [question.text for question in open_folder(corpus).questions("train")][:3]
    for kind in ("parts", "reader"):
        answers, others = (list(Answerer.open(index, bundles[kind]).ask_many(questions, 1)) for index in (at, whole))
        assert [[one.text for one in some] for some in answers] == [[one.text for one in some] for some in others]
        assert any(answers)
    assert cli.main(["index", "vectors", at, "--retriever", str(model)]) == 0
    (printed,) = [line for line in capsys.readouterr().out.splitlines() if "vectors" in line]
    vectors = {name: len(rows) for name, rows in server.indices.items() if name.endswith("-vectors")}
    assert len(vectors) == 2 and f"{sum(vectors.values()):,} vectors" in printed
    opened = Index.open(at)
    assert "dense-tables" in opened.components and opened.dense is not None
    assert opened.reading("tables").by_vectors(None).search(questions[:1], 3)


def test_runs_over_both_halves_are_those_of_the_folder(server, corpus, whole, tmp_path):
    at, tables = fill(corpus, "whole"), fill(corpus, "tables", name="tables")  # of which claims elsewhere search texts
    run, claims = tmp_path / "run.trec", ["--claims", str(corpus / "table_claims.dev.jsonl")]
    for verb, what, places in (
        ("cells", claims, (at, tables, whole)),
        ("cells", [*claims, "--mode", "linked"], (at, whole)),
        ("tables", ["--questions", str(corpus / "questions.dev.jsonl")], (at, tables, whole)),
        ("mixed", ["--claims", str(corpus / "claims.dev.jsonl")], (at, whole)),
    ):
        runs = []
        for index in places:
            assert cli.main(["retrieve", verb, *what, "--index", str(index), "--out", str(run), "--k", "3"]) == 0
            runs.append([tuple(line.split()[:3]) for line in run.read_text().splitlines()])
        assert len(runs[0]) > 10 and all(one == runs[0] for one in runs[: len(runs) - (verb != "cells")])
        assert len({*runs[0]} & {*runs[-1]}) >= 0.7 * len(runs[-1])  # stemmers differ
    assert not Index.open(tables).has_cells


@contextlib.contextmanager
def away_after(server, action, times):
    """The server does not answer to an action that it has answered some times."""
    usual, asked = server.handle, itertools.count()

    def breaking(method, path, *more):
        server.is_away = path.endswith(action) and next(asked) >= times
        return usual(method, path, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "handle", breaking)
        yield
    server.is_away = False


def test_both_halves_are_filled_replaced_and_extended_together(server, corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(elastic, "WRITERS", 1)
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 20)
    at = f"{HOST}/wiki"
    for whole_bulks in (1, 3):  # it goes away in the tables, and in the passages
        with away_after(server, "/_bulk", whole_bulks):
            with pytest.raises(cluster_client.Unreachable, match="the same command resumes"):
                fill(corpus, "whole")
        with pytest.raises(LisaxError, match="not filled to its end"):
            Index.open(at)
    fill(corpus, "whole")
    data = open_folder(corpus)
    tables, passages = sum(1 for _ in data.tables()), sum(1 for of in passages_of(data).values() for _ in of)
    assert {name: len(rows) for name, rows in server.indices.items()} == {"wiki": passages, "wiki-tables": tables}
    server.requests.clear()
    fill(corpus, "whole")
    assert not any(path.endswith("_bulk") for _, path, _ in server.requests)  # the same is there
    more = tmp_path / "more"
    more.mkdir()
    (more / "pages.jsonl").write_text(json.dumps({"id": "New", "title": "New", "sentences": ["New is a town."]}) + "\n")
    fill(more, "whole", add=True)  # text only
    row = {"id": "new", "title": "Ports", "header": ["port", "year"], "rows": [["Yarrowhaven", "1871"]]}
    (more / "tables.jsonl").write_text(json.dumps(row) + "\n")
    fill(more, "whole", add=True)
    opened = Index.open(at)
    assert opened.search("New is a town.")[0].source == "New"
    assert opened.reading("tables").search("Yarrowhaven is a port.", 1)[0].unit == "new"
    with pytest.raises(LisaxError, match="was filled with --of whole: add to it with --of whole"):
        fill(more, "documents", add=True)
    at = fill(corpus, "whole", name="swapped", replace=True)
    before = set(server.indices)
    fill_cluster(open_folder(more), "whole", at, corpus_print=[2], replace=True)
    assert len(before & set(server.indices)) == 2 and len(server.indices) == 4  # wiki and its tables
    assert Index.open(at).reading("tables").store.get("new").title == "Ports"


def test_a_missing_half_and_a_corpus_without_one_are_named(server, corpus, tmp_path):
    (tmp_path / "pages.jsonl").write_text(json.dumps({"id": "New", "title": "New", "sentences": ["New."]}) + "\n")
    for of in ("whole", "tables"):
        with pytest.raises(LisaxError, match=f"nothing to index: {tmp_path} has no table"):
            fill(tmp_path, of)
    assert not server.indices
    fill(corpus, "tables", name="wiki-tables")
    with pytest.raises(LisaxError, match="an index 'wiki-tables' already"):
        fill(corpus, "whole")
    assert set(server.indices) == {"wiki-tables"}
    at = fill(corpus, "whole", name="own")
    server.indices["own-tables"] = server.indices["wiki-tables"]
    server.meta["own-tables"] = server.meta["wiki-tables"]
    with pytest.raises(DataError, match="'own-tables', the index of its tables, is gone or is another"):
        Index.open(at)
    del server.indices["own-tables"]
    with pytest.raises(DataError, match="is gone.*: remove 'own' and fill both again"):
        Index.open(at)


def test_cells_of_a_cluster_that_is_away_are_not_indexed_in_part(server, corpus, monkeypatch):
    monkeypatch.setattr(elastic, "SCANNED", 10)
    tables = Index.open(fill(corpus, "whole")).reading("tables")
    said = next(iter(open_folder(corpus).table_claims("dev"))).text
    with away_after(server, "/_msearch", 3), pytest.raises(cluster_client.Unreachable, match="cannot be reached"):
        tables.search(said)
    assert tables.search(said, 3) and len(tables.cells) == len(tables.store) == 41
