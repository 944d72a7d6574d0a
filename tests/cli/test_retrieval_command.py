import json

import click
import pytest

from lisax.cli import invoke
from lisax.errors import LisaxError

PAGES = [
    {"id": "Rome", "title": "Rome", "sentences": ["Rome is in Italy."], "redirects": []},
    {"id": "Oslo", "title": "Oslo", "sentences": ["Oslo is in Norway."], "redirects": ["Kristiania"]},
]
CLAIMS = [
    {"id": "1", "claim": "Rome is in Italy.", "label": "SUPPORTS", "evidence": [["Rome_0"]]},
    {"id": "2", "claim": "Kristiania is north of Rome.", "label": "SUPPORTS", "evidence": [["Oslo_0", "Rome_0"]]},
]


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "data" / "pages.jsonl", PAGES)
    write(tmp_path / "data" / "claims.dev.jsonl", CLAIMS)
    return tmp_path


def index(*words):
    return invoke(["index", *map(str, words)])


def retrieve(*words):
    return invoke(["retrieve", *map(str, words)])


def asked(data, *more):
    """The words of a search of `data`'s index for its claims."""
    claims = data / "data" / "claims.dev.jsonl"
    return ["documents", f"--index={data}/index", f"--claims={claims}", f"--out={data}/run.trec", *more]


def test_index_then_retrieve_then_nothing_to_do(data, capsys):
    assert index("documents", "--corpus", data / "data", "--out", data / "index") == 0
    words = asked(data)
    assert retrieve(*words, "--k", 2) == 0
    told = capsys.readouterr().out
    assert "2 documents" in told and "recall over 2 claims with evidence" in told
    assert told.splitlines()[-2:] == ["       1         1.0000        0.5000", "       2         1.0000        1.0000"]
    found = (data / "run.trec").read_text()
    assert found == "1 Q0 Rome 1 1.0 lisax-both\n2 Q0 Rome 1 1.0 lisax-both\n2 Q0 Oslo 2 0.5 lisax-both\n"
    before = (data / "run.trec").stat().st_mtime_ns
    assert retrieve(*words, "--k", 2) == 0 and "done before" in capsys.readouterr().out
    assert (data / "run.trec").stat().st_mtime_ns == before
    assert retrieve(*words, "--k", 1) == 0 and "done before" not in capsys.readouterr().out
    assert len((data / "run.trec").read_text().splitlines()) == 2


def test_add_and_check(data, capsys):
    index("documents", "--corpus", data / "data", "--out", data / "index", "--k1", "0.9", "--b", "0.4")
    page = {"id": "Bern", "title": "Bern", "sentences": ["Bern."], "redirects": []}
    write(data / "more" / "pages.jsonl", [page])
    index("documents", "--add", "--corpus", data / "more", "--out", data / "index")
    index("check", data / "index")
    assert "3 documents" in (told := capsys.readouterr().out) and "files, all as they were written" in told


def test_bad_calls_are_told(data):
    with pytest.raises(click.MissingParameter, match="corpus"):
        index("documents", "--out", data / "index")
    with pytest.raises(click.UsageError, match="leave --only out"):
        index("documents", "--add", "--only", "bm25", "--corpus", data / "data", "--out", data / "index")
    with pytest.raises(click.UsageError, match="keeps the k1"):
        index("documents", "--add", "--k1", "1", "--corpus", data / "data", "--out", data / "index")
    with pytest.raises(LisaxError, match="no index here"):
        index("documents", "--add", "--corpus", data / "data", "--out", data / "index")
    assert not (data / "index").exists()
    with pytest.raises(LisaxError, match="no index here"):
        retrieve(*asked(data))
    with pytest.raises(click.UsageError, match="--method titles or both"):
        retrieve(*asked(data, "--method=bm25", "--mediawiki=wikipedia"))
    index("documents", "--only", "titles", "--corpus", data / "data", "--out", data / "index")
    with pytest.raises(LisaxError, match="no such file"):
        retrieve("documents", "--index", data / "index", "--claims", data / "none.jsonl", "--out", data / "run")


def test_a_wikis_titles_become_pages_of_the_index(data, monkeypatch):
    index("documents", "--corpus", data / "data", "--out", data / "index")
    urls, searched = [], []

    class Wiki:
        def __init__(self, cache, url):
            urls.append(url)

        def search(self, text, k):
            searched.append(text)
            return ["Not here", "Kristiania", "Rome"]

    monkeypatch.setattr("lisax.retrieval.mediawiki.MediaWiki", Wiki)
    retrieve(*asked(data, "--method=titles", "--mediawiki=http://wiki/api.php"))
    assert urls == ["http://wiki/api.php"]
    assert searched == ["Rome", "Italy", "Kristiania", "Rome"]  # entities, not claims
    assert [line.split()[2] for line in (data / "run.trec").read_text().splitlines()] == ["Oslo", "Rome"] * 2


def test_cells_of_tables_are_indexed_added_to_and_searched(tmp_path, capsys):
    towns = [("Norway", "Bergen", "3500"), ("Spain", "Bilbao", "9100"), ("Norway", "Oslo", "12")]
    rows = [
        {"id": f"t{n}", "title": f"Towns of {name}", "header": ["town", "people"], "rows": [[town, people]]}
        for n, (name, town, people) in enumerate(towns)
    ]
    claims = [
        {"id": "1", "claim": "Bergen has 3500 people", "label": "SUPPORTS", "evidence": [["t0"]]},
        {"id": "2", "claim": "Oslo has 13 people", "label": "REFUTES", "evidence": [["t2"]]},
    ]
    for folder, some in (("data", rows[:2]), ("more", rows[2:])):
        write(tmp_path / folder / "tables.jsonl", some)
        write(tmp_path / folder / "table_claims.dev.jsonl", claims)
    assert index("cells", "--corpus", tmp_path / "data", "--out", tmp_path / "index") == 0
    assert index("cells", "--add", "--corpus", tmp_path / "more", "--out", tmp_path / "index") == 0
    assert "3 tables, 15 cells" in capsys.readouterr().out
    assert index("check", tmp_path / "index") == 0
    claims_file = f"--claims={tmp_path}/data/table_claims.dev.jsonl"
    words = "cells", f"--index={tmp_path}/index", claims_file, f"--out={tmp_path}/run.trec", "--k", 2
    assert retrieve(*words) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["       1             1.0000", "       2             1.0000"]
    found = [line.split()[::2][:2] for line in (tmp_path / "run.trec").read_text().splitlines()][::2]
    assert found == [["1", "t0"], ["2", "t2"]]
    assert retrieve(*words) == 0 and "done before" in capsys.readouterr().out
    assert retrieve(*words, "--mode", "linked") == 0
    assert "done before" not in capsys.readouterr().out
    write(tmp_path / "nothing.jsonl", [claims[0] | {"claim": "It was so ."}])
    assert retrieve(*words[:2], "--claims", tmp_path / "nothing.jsonl", "--out", tmp_path / "nothing.trec") == 0
    assert "10             0.0000" in capsys.readouterr().out and (tmp_path / "nothing.trec").read_bytes() == b""
    write(tmp_path / "lost.jsonl", [claims[0] | {"evidence": [["t9"]]}])
    with pytest.raises(LisaxError, match="lost.jsonl: .*'t9'"):
        retrieve(*words[:-3], "--out", tmp_path / "other", "--mode", "linked", "--claims", tmp_path / "lost.jsonl")
    with pytest.raises(LisaxError, match="lisax retrieve cells"):
        retrieve("documents", *words[1:-3], "--out", tmp_path / "other.trec")
    with pytest.raises(click.UsageError, match="leave --strategy out"):
        index("cells", "--add", "--strategy", "entity-word", "--corpus", tmp_path / "data", "--out", tmp_path / "index")


def test_a_second_hop_is_another_run_and_of_documents_only(data, capsys):
    index("documents", "--corpus", data / "data", "--out", data / "index")
    words = asked(data)
    for hops in (1, 2):
        assert retrieve(*words, "--k", 2, "--hops", hops) == 0
        assert "2 claims" in capsys.readouterr().out
    assert retrieve(*words, "--k", 2, "--hops", 2) == 0
    assert "done before" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["documents", "tables", "mixed"])
def test_the_analyzer_of_an_index(data, verb):
    table = {"id": "t", "title": "Cities", "caption": "", "header": ["City"], "rows": [["Rome"]]}
    write(data / "data" / "tables.jsonl", [table])
    words = verb, "--corpus", data / "data", "--out", data / "index"
    assert index(*words, "--analyzer", "lucene") == 0
    components = json.loads((data / "index" / "meta.json").read_text())["components"]
    found = [name for name, part in components.items() if part["settings"].get("analyzer")]
    assert found == ["table_text" if verb == "tables" else "bm25"]
    for more, message in (("--add", "leave --analyzer out with --add"), ("--language=auto", "leave --language out")):
        with pytest.raises(click.UsageError, match=message):
            index(*words, "--analyzer", "lucene", more)


def test_the_language_of_an_index(data, capsys):
    write(data / "data" / "pages.jsonl", [PAGES[0] | {"sentences": ["Die Stadt ist nicht groß und hat das Rad."]}])
    assert index("documents", "--corpus", data / "data", "--out", data / "index", "--language", "auto") == 0
    assert "language: german" in capsys.readouterr().out
    meta = json.loads((data / "index" / "meta.json").read_text())
    found = {name: part["settings"].get("language") for name, part in meta["components"].items()}
    assert found == {"bm25": "german", "titles": None, "titles-bm25": "german", "pages": None}
    with pytest.raises(click.UsageError, match="leave --language out with --add"):
        index("documents", "--corpus", data / "data", "--out", data / "index", "--add", "--language", "german")
