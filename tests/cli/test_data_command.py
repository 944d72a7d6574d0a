"""`lisax data list | get | check | world`."""

import click
import pytest

from lisax import world
from lisax.cli import invoke, main
from lisax.errors import LisaxError


def run(*words: str) -> int:
    return invoke(["data", *words])


def test_list_names_each_set_and_where_it_is(capsys):
    assert run("list") == 0
    shown = capsys.readouterr().out
    assert "lisax data get fever\n" in shown
    assert "https://github.com/wenhuchen/Table-Fact-Checking: clone" in shown


def test_check_says_what_is_wrong(tmp_path, capsys):
    (tmp_path / "pages.jsonl").write_text('{"id": "P", "title": "P", "sentences": ["a"]}\n')
    claims = tmp_path / "claims.dev.jsonl"
    claims.write_text('{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["P_0"]]}\n')
    assert run("check", str(tmp_path)) == 0
    assert capsys.readouterr().out.endswith("  sound\n")
    claims.write_text('{"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [["P_1"]]}\n')
    assert run("check", str(tmp_path)) == 1
    assert capsys.readouterr().out.endswith(
        f"  problem: {claims}:1: field 'evidence': evidence 'P_1' of claim '1' is not in the corpus\n  1 problem\n"
    )


def test_errors_are_sentences(tmp_path):
    with pytest.raises(LisaxError, match="no dataset 'nothing' in the catalogue; there are fever, "):
        run("get", "nothing")
    with pytest.raises(LisaxError, match="no such folder"):
        run("check", str(tmp_path / "nowhere"))
    with pytest.raises(click.UsageError, match="0 is not in the range x>=1"):
        run("world", "--pages", "0", "--out", str(tmp_path))


def test_a_world_does_not_replace_data_of_ones_own(tmp_path):
    (tmp_path / "claims.dev.jsonl").write_text("mine\n")
    (tmp_path / "pages.jsonl").write_text("mine too\n")
    with pytest.raises(LisaxError, match=r"claims\.dev\.jsonl was not written by this command"):
        run("world", "--pages", "5", "--out", str(tmp_path))
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["mine\n", "mine too\n"]
    world.write(tmp_path / "expected", pages=6, seed=3)
    for pages in ("5", "6"):  # its own files are replaced
        assert run("world", "--pages", pages, "--seed", "3", "--out", str(tmp_path / "w")) == 0
    assert (tmp_path / "w/pages.jsonl").read_bytes() == (tmp_path / "expected/pages.jsonl").read_bytes()


def test_msmarco_triples_become_the_tasks_files(tmp_path, capsys):
    texts, ids = tmp_path / "texts.tsv", tmp_path / "ids.tsv"
    texts.write_text("".join(f"query {i}\tgood {i}\tbad {i}\n" for i in range(5)))
    assert main(["data", "msmarco", "--triples", str(texts), "--dev", "2", "--out", str(tmp_path / "a")]) == 0
    dev, train = ((tmp_path / f"a/msmarco/triples.{split}.tsv").read_text() for split in ("dev", "train"))
    assert dev + train == texts.read_text() and dev.count("\n") == 2
    (tmp_path / "queries.tsv").write_text("7\twho?\n")
    (tmp_path / "collection.tsv").write_text("1\tshe\n2\tit\n")
    ids.write_text("7\t1\t2\n7\t1\t2\n")
    of_ids = ["data", "msmarco", "--triples", str(ids), "--dev", "1", "--out", str(tmp_path / "b")]
    tables = ["--queries", str(tmp_path / "queries.tsv"), "--collection", str(tmp_path / "collection.tsv")]
    assert main([*of_ids, *tables]) == 0
    assert (tmp_path / "b/msmarco/triples.train.tsv").read_text() == "who?\tshe\tit\n"
    capsys.readouterr()
    assert main([*of_ids, *tables[:2]]) == 2 and "both --queries and --collection" in capsys.readouterr().err
    ids.write_text("7\t1\t3\n")
    assert main([*of_ids, *tables]) == 1
    assert "ids.tsv:1: field 'negative passage id': id 3 is not in" in capsys.readouterr().err
