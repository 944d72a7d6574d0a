"""The date expressions of DeSePtion's `date manipulation` claims, and claims without dates, on the owners' data.

What each claim means was written by hand (`deseption_years.tsv`): the first and the last year that it allows, and of
which it is sure where that are fewer: centuries begin with 00 or 01, and the 1800s may be a decade.
"""

import json
from pathlib import Path

import pytest

from lisax.records import LABELS
from lisax.sampling.examples import lookup_in
from lisax.temporal import judge, parse
from lisax.temporal.calendar import civil
from lisax.temporal.expressions import Dates
from tests.tables import table

DATA = Path(__file__).parents[3] / "shared/data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")


def years(interval):
    """First and last year; both ends must be the first and the last day of a year."""
    ends = interval.iso()
    assert ends[0] is None or ends[0].endswith("-01-01")
    assert ends[1] is None or ends[1].endswith("-12-31")
    return "..".join(str(civil(number)[0]) if day else "" for day, number in zip(ends, (interval.first, interval.last)))


def test_date_manipulations_of_real_claims_are_read_as_a_person_reads_them():
    file = DATA / "adversarial/deseption-dev.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    claims = {row["id"]: row["claim"] for row in rows if row["attack"] == "date manipulation"}
    read = {i: [found for found in parse(text) if isinstance(found, Dates)] for i, text in claims.items()}
    allowed = {i: " ".join(years(date.possibly) for date in found) or None for i, found in read.items()}
    surely = {i: " ".join(years(date.surely) for date in found) or None for i, found in read.items()}
    _, rows = table(__file__, "deseption_years")
    assert allowed == {int(i): found for i, found, _ in rows}
    assert surely == {int(i): sure or found for i, found, sure in rows}


def test_claims_without_dates_are_not_ruled_on_and_few_with_dates_wrongly():
    from lisax.corpora import open_folder

    data = open_folder(DATA / "fever")
    documents = list(data.documents())
    lookup, pages = lookup_in(documents), {document.id: document for document in documents}
    ruled = {label: [] for label in LABELS}
    undated = 0
    for claim in data.claims("dev"):
        named = [unit.rpartition("_")[0] for unit in claim.gold_ids]
        beside = [s.id for page in named if page in pages for s in pages[page].sentences]
        units = dict.fromkeys([*claim.gold_ids, *beside])
        ruling = judge(claim.text, [passage for unit in units if (passage := lookup(unit))])
        undated += not parse(claim.text)
        if ruling is not None:
            assert parse(claim.text)
            ruled[claim.label].append(ruling.label)
    right = sum(found.count(label) for label, found in ruled.items())
    # One claim of the owners' is supported by its own date being `before` itself.
    assert undated >= 1000 and right >= 50 and sum(map(len, ruled.values())) - right <= 1


def test_of_date_attacks_by_the_papers_authors_few_are_decided_and_none_wrongly():
    from lisax.corpora import open_folder

    lookup = lookup_in(open_folder(DATA / "fever").documents())
    rows = map(json.loads, (DATA / "adversarial/deseption-dev.jsonl").read_text(encoding="utf-8").splitlines())
    judged = []
    for row in rows:
        if row["attack"] in ("date manipulation", "multi-hop temporal reasoning"):
            sets = [[lookup(f"{page}_{line}") for _, _, page, line in found] for found in row["evidence"]]
            if whole := [found for found in sets if all(found)]:
                ruling = judge(row["claim"], [passage for found in whole for passage in found], lookup)
                judged.append(None if ruling is None else str(ruling.label) == row["label"])
    assert (len(judged), judged.count(True), judged.count(False)) == (18, 3, 0)
