"""Claims over tables: an oracle reads the claim and the tables, and the words alone tell nothing."""

import collections
import dataclasses
import json
import re

import pytest

import lisax.world
from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.records import Label
from tests.world.bayes import share_right

NUMBER = r"([\d,]+)"
LOOKUP = re.compile(
    r"(.+?) (reached place|won|scored|drew|had sales of|made a profit of|had|counted|gave) "
    + NUMBER
    + r"(?: (\w+))? in (\d{4})\."
)
COMPARE = re.compile(
    r"(.+?) (?:won|scored|drew|had|made|counted|gave) (more|fewer|less) (\w+) in (\d{4}) than in "
    r"(\d{4})\."
)
SUPERLATIVE = re.compile(r"(.+?) (?:won|scored|drew|had|made|counted|gave) the (most|fewest|least) (\w+) in (\d{4})\.")
COUNT = re.compile(
    r"(.+?) (?:won|scored|drew|had|made|counted|gave) more than " + NUMBER + r" (\w+) in exactly "
    r"(\d+) of (\d+) years\."
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    lisax.world.write(folder, 2500, seed=5, claims_per_page=1)
    return open_folder(folder)


@pytest.fixture(scope="module")
def tables(dataset):
    return {table.id: table for table in dataset.tables()}


@pytest.fixture(scope="module")
def claims(dataset):
    return {split: list(dataset.table_claims(split)) for split in dataset.table_claim_splits}


def number(text: str) -> int:
    return int(text.replace(",", ""))


def series_truth(text: str, table) -> bool | None:
    """Whether a claim of a series holds in a table, told from its words; None for other wordings."""

    def value(year, column):
        row = next(row for row in table.rows if row[0] == year)
        return number(row[table.header.index(column)])

    if match := LOOKUP.fullmatch(text):
        _, verb, said, noun, year = match.groups()
        column = {"reached place": "place", "had sales of": "sales", "made a profit of": "profit"}.get(verb, noun)
        return value(year, column) == number(said)
    if match := COMPARE.fullmatch(text):
        _, degree, column, first, second = match.groups()
        difference = value(first, column) - value(second, column)
        assert difference
        return (difference > 0) == (degree == "more")
    if match := SUPERLATIVE.fullmatch(text):
        _, degree, column, year = match.groups()
        values = {row[0]: value(row[0], column) for row in table.rows}
        extreme = (max if degree == "most" else min)(values.values())
        assert list(values.values()).count(extreme) == 1
        return values[year] == extreme
    if match := COUNT.fullmatch(text):
        _, bound, column, count, rows = match.groups()
        assert len(table.rows) == int(rows)
        return sum(value(row[0], column) > number(bound) for row in table.rows) == int(count)
    return None


def test_an_oracle_agrees_on_series(claims, tables):
    seen = collections.Counter()
    for claim in (claim for split in claims.values() for claim in split):
        table = tables[claim.gold_ids[0]]
        if table.header[0] != "year":
            continue
        halves = re.fullmatch(r"(.+?) (\w+ .+ in \d{4}) and (\w+ .+ in \d{4})\.", claim.text)
        if halves:
            truths = [series_truth(f"{table.title} {half}.", table) for half in halves.groups()[1:]]
            truth, kind = all(truths), "conjunction"
            assert None not in truths
        else:
            truth, kind = series_truth(claim.text, table), "one"
        assert claim.text.startswith(table.title)
        assert truth is not None and claim.label is (Label.SUPPORTS if truth else Label.REFUTES), claim
        assert (claim.kind == "simple") == bool(kind == "one" and LOOKUP.fullmatch(claim.text))
        seen[claim.kind, claim.label] += 1
    assert len(seen) == 4 and min(seen.values()) > 50


def test_rows_that_a_claim_names_decide_it_and_change_no_claim(dataset, tables, tmp_path):
    lisax.world.write(tmp_path, 2500, seed=5, claims_per_page=1, mixed_evidence=True)
    mixed = open_folder(tmp_path)
    decided = 0
    for split in ("train", "dev", "test"):
        for plain, claim in zip(dataset.table_claims(split), mixed.table_claims(split), strict=True):
            assert dataclasses.replace(claim, mixed_sets=()) == plain
            table = tables[claim.evidence_sets[0][0]]
            if (truth := series_truth(claim.text, table)) is not None and claim.mixed_sets:
                ((*units,),) = claim.mixed_sets
                rows = {f"{table.id}#r{i}": row for i, row in enumerate(table.rows)}
                alone = dataclasses.replace(table, rows=tuple(rows[unit] for unit in units))
                assert series_truth(claim.text, alone) == truth
                decided += 1
            elif truth is None and claim.mixed_sets:
                units = {unit for of in claim.mixed_sets for unit in of}
                assert any(unit.startswith(f"{table.id}#r") for unit in units)
    assert decided > 50


def test_an_oracle_agrees_on_lists(claims, tables):
    """Superlatives and counts of novels, whose column `pages` is compared."""
    seen = collections.Counter()
    for claim in (claim for split in claims.values() for claim in split):
        table = tables[claim.gold_ids[0]]
        pages = [number(row[table.header.index("pages")]) for row in table.rows] if "pages" in table.header else []
        if match := re.fullmatch(r"(.+) has (more|fewer) pages than any other of the .+\.", claim.text):
            named = match[1].removeprefix("The novel ")
            row = next(i for i, row in enumerate(table.rows) if row[0].partition(" (")[0] == named)
            truth = pages[row] == (max if match[2] == "more" else min)(pages)
        elif match := re.fullmatch(r"Exactly (\d+) of the (\d+) .+ have more than ([\d,]+) pages\.", claim.text):
            assert len(pages) == int(match[2])
            truth = sum(count > number(match[3]) for count in pages) == int(match[1])
        else:
            continue
        assert claim.label is (Label.SUPPORTS if truth else Label.REFUTES), claim
        assert claim.kind == "complex"
        seen[claim.label] += 1
    assert min(seen[label] for label in (Label.SUPPORTS, Label.REFUTES)) > 10


def test_labels_are_balanced_in_every_kind(claims):
    counts = collections.Counter((claim.kind, claim.label) for claim in claims["train"])
    for kind in ("simple", "complex"):
        share = counts[kind, Label.SUPPORTS] / (counts[kind, Label.SUPPORTS] + counts[kind, Label.REFUTES])
        assert 0.47 < share < 0.53
    assert 0.2 < sum(counts["simple", label] for label in Label) / counts.total() < 0.5


def test_words_do_not_tell_the_label(claims):
    held_out = claims["dev"] + claims["test"]
    assert len(held_out) > 900 and abs(share_right(claims["train"], held_out) - 0.5) < 0.05


def test_one_table_decides_and_others_look_like_it(claims, tables):
    named = collections.Counter()
    for table in tables.values():
        named.update({table.title, *(cell for row in table.rows for cell in row)})
    everything = [claim for split in claims.values() for claim in split]
    assert all(claim.evidence_sets == ((claim.gold_ids[0],),) and claim.gold_ids[0] in tables for claim in everything)
    # The owner of the gold table stands in other tables too, more often than not.
    assert sum(named[tables[claim.gold_ids[0]].title] > 1 for claim in everything) > len(everything) / 2
    texts = [claim.text for claim in everything]
    assert len(set(texts)) == len(texts)


def test_the_folder_is_sound_and_splits_follow_the_pages(dataset, claims):
    assert dataset.table_claim_splits == ("train", "dev", "test")
    page_split = {claim.id.partition("c")[0]: split for split in dataset.splits for claim in dataset.claims(split)}
    for split, found in claims.items():
        assert {page_split[claim.id.partition("t")[0]] for claim in found} == {split}
    summary = check(dataset.folder)
    assert summary.sound and summary.counts["table claims in train"] == len(claims["train"])
    written = json.loads((dataset.folder / "world.json").read_text())["counts"]
    assert written["table_claims.dev"] == len(claims["dev"])
