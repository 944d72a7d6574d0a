"""`lisax data list | get | check | world`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import types

import pytest

from lisax.corpora import command
from lisax.records import LisaxError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.main(parser.parse_args(words))


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
        f"  problem: {claims}:1: field 'evidence': evidence 'P_1' of claim '1' is not in the corpus\n"
        "  1 problem\n")


def test_errors_are_sentences(tmp_path):
    with pytest.raises(LisaxError, match="no dataset 'nothing' in the catalogue; there are fever, "):
        run("get", "nothing")
    with pytest.raises(LisaxError, match="no such folder"):
        run("check", str(tmp_path / "nowhere"))
    with pytest.raises(LisaxError, match="--pages: expected at least 1, found 0"):
        run("world", "--pages", "0", "--out", str(tmp_path))


def test_world_is_asked_to_write(tmp_path, monkeypatch):
    asked = []
    world = types.ModuleType("lisax.world")
    world.write = lambda folder, pages, seed: asked.append((folder, pages, seed))
    monkeypatch.setitem(sys.modules, "lisax.world", world)
    monkeypatch.setattr("lisax.world", world, raising=False)
    assert run("world", "--pages", "5", "--seed", "3", "--out", str(tmp_path / "w")) == 0
    assert asked == [(tmp_path / "w", 5, 3)]


def test_the_verbs_cost_no_heavy_import():
    heavy = "numpy,requests,jax,tensorflow,lisax.world"
    code = ("import sys, argparse; from lisax.corpora import command; "
            "command.add_arguments(argparse.ArgumentParser()); "
            f"print([name for name in '{heavy}'.split(',') if name in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
