"""The written world: same bytes for a seed, disjoint splits, consistent ids and tables."""

import collections
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys

import pytest

import lisax.world
from lisax.corpora.check import check
from lisax.errors import LisaxError
from lisax.records import split_sentence_id

SPLITS = ("train", "dev", "test")
# Of the world of 300 pages and seed 3. A change here changes every world: raise VERSION in writing.py with it.
GOLDEN = (3, "6ae15cbe85df83e3")
GOLDEN_TABLE_CLAIMS = "5e456d8a9dc40386"
GOLDEN_QUESTIONS = "c674b74f0f3a9bd5"


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    lisax.world.write(folder, 300, seed=3)
    return folder


def test_same_seed_gives_same_bytes(world, tmp_path):
    command = "import sys, lisax.world; lisax.world.write(sys.argv[1], 300, seed=3)"
    subprocess.run(
        [sys.executable, "-c", command, str(tmp_path / "again")], check=True, env={**os.environ, "PYTHONHASHSEED": "1"}
    )
    for path in sorted(world.iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    lisax.world.write(tmp_path / "other", 300, seed=4)
    assert (world / "pages.jsonl").read_bytes() != (tmp_path / "other" / "pages.jsonl").read_bytes()


def test_golden_bytes(world):
    def digest(paths):
        return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]

    # Later than the rest, from streams of their own.
    table_claims, questions = (set(world.glob(f"{stem}.*.jsonl")) for stem in ("table_claims", "questions"))
    version = json.loads((world / "world.json").read_text())["version"]
    assert (version, digest(set(world.glob("*.jsonl")) - table_claims - questions)) == GOLDEN
    assert digest(table_claims) == GOLDEN_TABLE_CLAIMS
    assert digest(questions) == GOLDEN_QUESTIONS


def test_documents_are_the_written_pages(world):
    documents = list(lisax.world.iterate_documents(300, seed=3))
    found = [(d.id, d.title, [s.text for s in d.sentences], list(d.redirects)) for d in documents]
    assert found == [(p["id"], p["title"], p["sentences"], p["redirects"]) for p in rows(world / "pages.jsonl")]


def test_summary_counts_lines(world):
    summary = json.loads((world / "world.json").read_text())
    assert summary["seed"] == 3 and summary["counts"]["pages"] == 300
    for name, count in summary["counts"].items():
        assert len(rows(world / f"{name}.jsonl")) == count
    for split in SPLITS:
        assert sum(summary["labels"][split].values()) == summary["counts"][f"claims.{split}"]


def test_splits_are_disjoint_by_subject(world):
    subjects = [
        {claim["id"].partition("c")[0] for claim in rows(world / f"claims.{split}.jsonl")}
        | {question["id"].partition("q")[0] for question in rows(world / f"questions.{split}.jsonl")}
        for split in SPLITS
    ]
    assert [len(s) for s in subjects] == [240, 30, 30]
    assert not any(a & b for a, b in itertools.combinations(subjects, 2))
    claims = [{claim["claim"] for claim in rows(world / f"claims.{split}.jsonl")} for split in SPLITS]
    assert not any(a & b for a, b in itertools.combinations(claims, 2))


def test_pages_read_well(world):
    for page in rows(world / "pages.jsonl"):
        assert 4 <= len(page["sentences"]) <= 9
        for text in page["sentences"]:
            assert text[0].isupper() and text.endswith(".") and "{" not in text and len(text.split()) <= 22


def test_ids_are_consistent(world):
    pages = {page["id"]: page for page in rows(world / "pages.jsonl")}
    assert len(pages) == 300 and not any(c.isspace() for id in pages for c in id)
    tables = {table["id"]: table for table in rows(world / "tables.jsonl")}
    assert len(tables) == len(rows(world / "tables.jsonl"))
    for table in tables.values():
        assert table["page"] in pages and all(len(row) == len(table["header"]) for row in table["rows"])
    graphs = {graph["id"]: graph for graph in rows(world / "graphs.jsonl")}
    for graph in graphs.values():
        assert graph["subject"] == pages[graph["page"]]["title"]
        assert len(graph["sentences"]) == len(graph["edges"])

    def check(unit):
        if "#e" in unit:
            graph, _, edge = unit.partition("#e")
            return graphs[graph]["edges"][int(edge)][1]
        if "#" in unit:
            table, _, cell = unit.partition("#r")
            row, _, column = cell.partition("c")
            return tables[table]["rows"][int(row)][int(column)]
        page, number = split_sentence_id(unit)
        return pages[page]["sentences"][number]

    for split in SPLITS:
        for claim in rows(world / f"claims.{split}.jsonl"):
            assert (claim["label"] == "NOT ENOUGH INFO") == (not claim["evidence"])
            assert all(check(unit) for evidence_set in claim["evidence"] for unit in evidence_set)
        for question in rows(world / f"questions.{split}.jsonl"):
            texts = [check(unit) for unit in question["evidence"]]
            assert texts and question["answers"]
            held = [text for unit, text in zip(question["evidence"], texts) if "#" in unit]
            assert all(text in question["answers"] for text in held) or question["kind"] == "two_facts"
            assert held or question["kind"] in ("fact", "two_facts")


def test_names_collide_on_purpose_and_titles_do_not():
    titles, redirects, names, surnames = [], [], collections.Counter(), collections.Counter()
    for document in lisax.world.iterate_documents(20_000, seed=1):
        titles.append(document.title)
        redirects += document.redirects
        names[document.title.partition(" (")[0]] += 1
        surnames[document.title.partition(" (")[0].rpartition(" ")[2]] += 1
    assert len(set(titles)) == len(titles) and not set(titles) & set(redirects)
    assert len(set(redirects)) == len(redirects)
    assert sum(count > 1 for count in names.values()) > 500 and max(surnames.values()) > 50


def test_titles_stay_unique_at_any_size():
    """Neighbourhoods from all over a world of 5 M pages, and a dense stretch far from its start."""
    from lisax.world.facts import SIZE, Geography

    geography = Geography(5_000_000, 0)
    last = 5_000_000 // SIZE
    numbers = {*range(0, last, 251), *range(90_000, 90_150)}
    titles = [entity.title for number in numbers for entity in geography.neighbourhood(number).entities]
    assert len(set(titles)) == len(titles)


def test_tables_agree_with_graphs(world):
    facts = collections.defaultdict(dict)
    for graph in rows(world / "graphs.jsonl"):
        facts[graph["subject"]] = dict(graph["edges"])
    checked = 0
    for table in rows(world / "tables.jsonl"):
        for row in table["rows"]:
            for column, cell in zip(table["header"][1:], row[1:]):
                if column in facts.get(row[0], {}):
                    assert facts[row[0]][column] == cell
                    checked += 1
    assert checked > 300


def test_one_page_and_wrong_arguments(tmp_path):
    assert lisax.world.write(tmp_path / "one", 1)["counts"]["pages"] == 1
    assert check(tmp_path / "one").sound, "no empty files"
    with pytest.raises(LisaxError, match="at least one page"):
        lisax.world.write(tmp_path / "none", 0)
    for wrong, complaint in (
        ({"claims_per_page": -1}, "claims_per_page must not be negative, found -1"),
        ({"shares": {"x": 1}}, "shares may name one_hop, two_hop, joint, compare, found x"),
        ({"table_shares": {}}, "table_shares must be numbers of at least 0, one of them more, found {}"),
        ({"shares": {"joint": 2, "compare": -1}}, "shares must be numbers of at least 0"),
        ({"shares": {"joint": math.nan}}, "shares must be numbers of at least 0"),
    ):
        with pytest.raises(LisaxError, match=complaint):
            lisax.world.write(tmp_path / "none", 3, **wrong)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").touch()
    with pytest.raises(LisaxError, match="file is a file"):
        lisax.world.write(tmp_path / "file", 3)


def test_a_neighbourhood_does_not_need_the_others():
    """A neighbourhood made alone, in the middle of a large world, is the one that streaming comes to."""
    from lisax.world.facts import SIZE, Geography
    from lisax.world.pages import write_pages

    geography = Geography(50 * SIZE, 3)
    pages = write_pages(geography, geography.neighbourhood(40), geography.rng(40, "pages"))
    streamed = itertools.islice(lisax.world.iterate_documents(50 * SIZE, seed=3), 40 * SIZE, 41 * SIZE)
    assert {page.document() for page in pages} == set(streamed)


def test_the_world_is_read_by_the_plain_reader(world):
    corpora = pytest.importorskip("lisax.corpora")
    folder = corpora.open_folder(world)
    assert sum(1 for _ in folder.documents()) == 300
    assert sum(1 for _ in folder.tables()) == len(rows(world / "tables.jsonl"))
    assert sum(1 for _ in folder.graphs()) == 300
    for split in SPLITS:
        written = rows(world / f"claims.{split}.jsonl")
        assert [claim.id for claim in folder.claims(split)] == [claim["id"] for claim in written]
        assert sum(1 for _ in folder.questions(split)) == len(rows(world / f"questions.{split}.jsonl"))
