"""One index over sources that come and go: always what a full build gives."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax import cli
from lisax.corpora import open_folder
from lisax.errors import DataError, LisaxError
from lisax.retrieval import bm25, mixed, record_store
from lisax.retrieval.corpus_passages import passages_of
from lisax.retrieval.folder import check
from lisax.retrieval.passages import Passage, Source, source_of
from lisax.world import write

WORDS = ("amber", "bell", "castle", "dawn", "echo", "flame", "goal", "harbor")
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=6)
steps = st.lists(st.tuples(st.sampled_from(list(Source)), texts), min_size=1, max_size=6)


def made(source, of_source):
    return [Passage(f"{source}:x:{i}", "", text, (f"x{i}",), (0,)) for i, text in enumerate(of_source)]


@settings(max_examples=25)
@given(texts, steps)
def test_whatever_was_added_and_removed_the_index_is_what_a_full_build_gives(first, steps):
    with tempfile.TemporaryDirectory() as folder:
        held = {Source.TEXT: first}
        swapped = mixed.build_index({Source.TEXT: made(Source.TEXT, first)}, Path(folder) / "swapped")
        for source, of_source in steps:
            if source not in held:
                held[source] = of_source
                swapped = mixed.add_sources({source: made(source, of_source)}, swapped.folder)
            elif len(held) > 1:
                del held[source]
                swapped = mixed.remove_source(source, swapped.folder)
        whole = mixed.build_index(
            {source: made(source, held[source]) for source in Source if source in held}, Path(folder) / "whole"
        )
        assert list(swapped.sources) == list(whole.sources) and len(swapped) == len(whole)
        queries = [*WORDS, " ".join(WORDS), "castle castle dawn"]
        assert swapped.search(queries, 5) == whole.search(queries, 5)
        check(swapped.folder)
        for source, of_source in held.items():
            assert [swapped.passage(passage.id) for passage in made(source, of_source)] == made(source, of_source)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed") / "world"
    write(folder, 60)
    return folder


def run(*arguments) -> int:
    return cli.main(["index", "mixed", *map(str, arguments)])


def test_sources_are_added_and_removed_from_the_command_line(world, tmp_path, capsys):
    index = tmp_path / "index"
    assert run("--corpus", world, "--source", "text", "--out", index) == 0
    assert run("--corpus", world, "--source", "tables", "--source", "graphs", "--out", index, "--add") == 0
    assert "of table (raw)" in capsys.readouterr().out
    found = mixed.MixedIndex.open(index)
    assert list(found.sources) == list(Source)
    table = next(iter(open_folder(world).tables()))
    (hits,) = found.search([f"{table.title} {table.caption} {' '.join(table.rows[0])}"], 5)
    assert source_of(hits[0][0]) in (Source.TABLE, Source.GRAPH)
    assert any(unit.startswith(table.id) for hit, _ in hits for unit in found.passage(hit).provenance)
    before = found.search(["goals points"], 20)
    assert cli.main(["index", "remove", str(index), "tables"]) == 0
    assert Source.TABLE not in mixed.MixedIndex.open(index).sources
    assert not list((index / "passages-table").glob("*"))
    assert run("--corpus", world, "--source", "tables", "--out", index, "--add") == 0
    assert mixed.MixedIndex.open(index).search(["goals points"], 20) == before


def test_each_source_is_read_once(world):
    corpus = open_folder(world)
    passes = {name: [] for name in ("documents", "tables", "graphs")}

    class Counted:
        def __getattr__(self, name):
            return lambda: passes[name].append(1) or getattr(corpus, name)()

    found = passages_of(Counted())
    assert list(found) == list(Source) and all(map(list, found.values()))
    assert set(map(len, passes.values())) == {1}
    assert [len(list(stream)) for stream in found.values()] == [0, 0, 0]
    Counted.tables = lambda self: iter(())
    assert list(passages_of(Counted(), ["tables", "graphs"], if_there=True)) == [Source.GRAPH]


def test_verbalized_rows_take_the_place_of_raw_ones(world, tmp_path):
    from lisax.files.writing import write_json_lines
    from lisax.formats.triples import graph_triples, table_triples

    corpus = open_folder(world)
    units = [unit for table in corpus.tables() for unit in table_triples(table)]
    units += [graph_triples(graph) for graph in corpus.graphs()]
    write_json_lines(
        tmp_path / "made.jsonl",
        ({"id": unit.id, "text": f"said of {unit.id}", "digest": unit.digest} for unit in units),
    )
    assert run("--corpus", world, "--verbalized", tmp_path / "made.jsonl", "--out", tmp_path / "index") == 0
    found = mixed.MixedIndex.open(tmp_path / "index")
    assert found.sources[Source.TABLE]["form"] == found.sources[Source.GRAPH]["form"] == "verbalized"
    assert {unit for passage in found.stores[Source.TABLE] for unit in passage.provenance} == {
        unit.id for unit in units if "#r" in unit.id
    }
    for passage in found.stores[Source.GRAPH]:
        assert {f"said of {unit.partition('#')[0]}" for unit in passage.provenance} == {passage.text}


def test_mistakes_are_said_and_change_nothing(world, tmp_path, capsys):
    index = tmp_path / "index"
    assert run("--out", index) == 2 and "'--corpus'" in capsys.readouterr().err
    assert run("--corpus", world, "--source", "pictures", "--out", index) == 2
    assert "'pictures' is not one of 'text', 'tables', 'graphs'" in capsys.readouterr().err
    assert run("--corpus", world, "--source", "text", "--verbalized", "any", "--out", index) == 2
    assert "--source names only text" in capsys.readouterr().err and not index.exists()
    assert run("--corpus", world, "--source", "text", "--out", index) == 0
    assert run("--corpus", world, "--source", "text", "--out", index, "--add") == 1
    assert "passages of 'text' already" in capsys.readouterr().err
    assert cli.main(["index", "remove", str(index), "text"]) == 1
    assert "cannot be empty" in capsys.readouterr().err
    with pytest.raises(DataError, match="made.jsonl"):
        (tmp_path / "made.jsonl").write_text('{"id": "x", "text": "y"}\n', encoding="utf-8")
        mixed.add_sources(passages_of(open_folder(world), ["tables"], tmp_path / "made.jsonl"), index)
    for extra in ([], ["--add"]):
        assert cli.main(["index", "documents", "--corpus", str(world), "--out", str(index), *extra]) == 1
        assert "is an index of passages" in capsys.readouterr().err
    assert list(mixed.MixedIndex.open(index).sources) == [Source.TEXT]
    assert cli.main(["index", "documents", "--corpus", str(world), "--out", str(tmp_path / "pages")]) == 0
    with pytest.raises(LisaxError, match="not an index of passages"):
        mixed.MixedIndex.open(tmp_path / "pages")
    (tmp_path / "claims.jsonl").write_text('{"id": "1", "claim": "goals"}\n')
    asked = ["--index", str(index), "--claims", str(tmp_path / "claims.jsonl"), "--out", str(tmp_path / "run.trec")]
    assert cli.main(["retrieve", "mixed", *asked, "--k", "0"]) == 2
    assert "'--k': 0 is not in the range x>=1" in capsys.readouterr().err
    assert cli.main(["retrieve", "documents", *asked]) == 1
    assert "lisax retrieve mixed" in capsys.readouterr().err
    assert cli.main(["retrieve", "mixed", *asked]) == 0
    assert "passages for 1 claims" in capsys.readouterr().out


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_an_index_that_is_changed_while_it_is_opened_is_one_or_the_other(tmp_path, monkeypatch, moment):
    mixed.build_index({source: made(source, [f"{source} echo"]) for source in Source}, tmp_path)
    opened = []

    def component(folder, name, original=record_store.open_component):
        opened.append(name)
        if len(opened) == moment:  # another process removes what is being opened
            monkeypatch.undo()
            mixed.remove_source(Source.GRAPH, tmp_path)
        return original(folder, name)

    monkeypatch.setattr(record_store, "open_component", component)
    monkeypatch.setattr(bm25, "open_component", component)
    found = mixed.MixedIndex.open(tmp_path)
    assert opened and list(found.sources) == [Source.TEXT, Source.TABLE]
    assert all(found.passage(hit) for hit, _ in found.search(["echo"], 5)[0])


def test_what_was_opened_stays_as_it_was(tmp_path):
    before = mixed.build_index({source: made(source, [f"{source} echo"]) for source in Source}, tmp_path)
    mixed.remove_source(Source.TABLE, tmp_path)
    hits = before.search(["echo"], 5)[0]
    assert {hit for hit, _ in hits} == {f"{source}:x:0" for source in Source}
    assert before.passage("table:x:0") == made(Source.TABLE, ["table echo"])[0]
