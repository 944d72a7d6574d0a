"""`--skip-bad` in every verb that reads claims."""

import io
import json

import pytest

from lisax.cli import main
from lisax.corpora import open_folder, read_claims
from lisax.errors import LisaxError
from lisax.tasks.register import register

PAGE = {"id": "Orm", "title": "Orm", "sentences": ["Orm is a river."]}
TABLE = {"id": "Orms", "title": "Orm", "header": ["River", "Length"], "rows": [["Orm", "7"]]}
GOOD = {"id": "1", "claim": "Orm is a river.", "label": "SUPPORTS", "evidence": [["Orm_0"]]}
LINES = ["{", json.dumps(GOOD), json.dumps(GOOD | {"id": "2", "claim": 7}), json.dumps(GOOD | {"id": "3"})]
VERBS = {
    "check": "check --claims CLAIMS --index INDEX --ranker bm25 --model MODEL",
    "check stdin": "check --claims - --index INDEX --ranker bm25 --model MODEL",
    "check file": "check --claims CLAIMS --index INDEX --ranker bm25 --model MODEL --out OUT",
    "retrieve documents": "retrieve documents --index DOCUMENTS --claims CLAIMS --out OUT",
    "retrieve cells": "retrieve cells --index CELLS --claims CLAIMS --out OUT",
    "retrieve mixed": "retrieve mixed --index MIXED --claims CLAIMS --out OUT",
    "rerank": "rerank --model RANKER --index DOCUMENTS --claims CLAIMS --run RUN --out OUT",
    "verify": "verify --model MODEL --index DOCUMENTS --claims CLAIMS --run RUN --out OUT",
    "run list5": "run list5 --data DATA --out OUT --model MODEL --until retrieve",
    "run open-tables": "run open-tables --data TABLED --out OUT --until compare",
    "cache examples": "cache examples --data DATA --split train --candidates RUN --index DOCUMENTS --out OUT",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory, bundles, pages):
    folder = tmp_path_factory.mktemp("skip_bad")
    data = folder / "data"
    data.mkdir()
    for name, row in (("pages", PAGE), ("tables", TABLE)):
        (data / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    for split in ("train", "dev"):
        (data / f"claims.{split}.jsonl").write_text("\n".join(LINES) + "\n")
    tabled = folder / "tabled"
    tabled.mkdir()
    (tabled / "tables.jsonl").write_text(json.dumps(TABLE) + "\n")
    for split in ("train", "dev"):
        lines = (data / f"claims.{split}.jsonl").read_text().replace("Orm_0", "Orms")
        (tabled / f"claims.{split}.jsonl").write_text(lines)
    (folder / "run.trec").write_text("1 Q0 Orm_0 1 1.0 x\n3 Q0 Orm_0 1 1.0 x\n")
    for kind in ("documents", "cells", "mixed"):
        assert main(["index", kind, "--corpus", str(data), "--out", str(folder / kind)]) == 0
    return {
        "CLAIMS": data / "claims.train.jsonl",
        "DATA": data,
        "TABLED": tabled,
        "RUN": folder / "run.trec",
        "INDEX": pages.folder,
        "MODEL": bundles["pointwise"],
        "RANKER": bundles["ranker"],
        **{kind.upper(): folder / kind for kind in ("documents", "cells", "mixed")},
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_bad_line_is_an_error_or_is_skipped_named_and_counted(verb, places, tmp_path, monkeypatch, capsys):
    if verb == "cache examples":
        pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    words = [str({**places, "OUT": tmp_path / "out"}.get(word, word)) for word in VERBS[verb].split()]
    place = "standard input" if verb == "check stdin" else "train.jsonl"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(LINES)))
    assert main(words) == 1 and f"{place}:1" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(LINES)))
    assert main([*words, "--skip-bad"]) == 0
    said = capsys.readouterr().err
    assert f"{place}:1" in said and f"{place}:3" in said and "claim" in said and "bad lines skipped: 2\n" in said


def test_a_registered_dataset_skips_bad_lines(places, tmp_path, capsys):
    given = {"folder": places["DATA"], "vocabulary": "bytes", "out": tmp_path, "evidence": "sentences"}
    with pytest.raises(LisaxError, match=r"train\.jsonl:1"):
        register("strict", **given)
    assert register("skipping", **given, skip_bad=True).counts["rank"]["train"]
    assert "train.jsonl:3" in (said := capsys.readouterr().err) and "bad lines skipped: 2\n" in said
    assert said.count("bad lines skipped") == 2  # of train and of dev


def test_what_is_not_one_bad_line_stays_an_error(places, tmp_path):
    with pytest.raises(LisaxError, match="cannot be read|no such file"):
        list(read_claims(tmp_path / "none.jsonl", skip_bad=True))
    (tmp_path / "claims.dev.jsonl").write_text("{\n{\n")
    with pytest.raises(LisaxError, match="all 2 lines are bad"):
        list(open_folder(tmp_path, skip_bad=True).claims("dev"))
