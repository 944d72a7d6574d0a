"""The date expressions of DeSePtion's `date manipulation` claims, and claims without dates, on the owners' data.

What each claim means was written by hand: the first and the last year that it allows, None where that end is open.
"""

import json
from pathlib import Path

import pytest

from lisax.records import LABELS
from lisax.sampling.examples import lookup_in
from lisax.temporal import judge, parse
from lisax.temporal.calendar import civil
from lisax.temporal.expressions import Dates

DATA = Path(__file__).parents[3] / "shared/data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")
ALLOWED = {
    500015: [(None, 1979)],
    500018: [(2016, None)],
    500021: [(None, 2009)],
    500037: [(2010, 2020)],
    500062: [(None, 2009)],
    500075: [(None, 1979)],
    500120: [(2012, 2012)],
    500132: [(2013, 2013)],
    500141: [(1980, 1984)],
    500149: [(None, 2019)],
    500189: [(2015, 2015)],
    500196: [(1981, None)],
    500201: [(2000, 2009)],
    500208: [(1981, None)],
    500229: [(1930, 1939)],
    500264: [(1922, 1930)],
    500272: [(2016, None)],
    500282: [(2000, 2009)],
    500302: [(None, 2019), (2011, None)],
    500325: [(2006, 2014)],
    500339: [(2000, 2010)],
    500350: [(2010, 2019)],
    500365: [(1930, 1936)],
    500371: [(1921, None)],
    500381: [(1980, 1984)],
    500397: [],
    500408: [(2014, 2018)],
    500410: [(2010, 2019)],
    500421: [(1961, None)],
    500429: [(1970, 1972)],
    500442: [(2010, 2010)],
    500457: [(None, 1999)],
    500472: [(2006, 2014)],
    500497: [(2010, 2014)],
    500546: [(1990, 1999)],
    500561: [(1990, 1999)],
    500568: [(None, 1979)],
    500601: [(1999, 1999)],
    500630: [(None, 1939)],
    500653: [(None, 1929)],
    500703: [(2012, 2012)],
    500725: [(2010, 2019)],
    500728: [(1930, 1939)],
    500742: [(2005, 2005)],
    500745: [(2001, 2001)],
    500757: [],
    500763: [],
    500789: [(1999, 1999)],
    500803: [(1967, 1977)],
    500812: [(1937, 1937)],
    500827: [(2007, 2017)],
    500829: [(1998, 1998)],
    500846: [(1975, 1975)],
    500863: [(2005, 2005)],
    500880: [(2000, 2009)],
    500888: [(2010, 2019)],
    500894: [(2002, 2002)],
    500918: [],
    500923: [(None, 1809)],
    500937: [(2000, None)],
    500963: [(2013, 2018)],
    500974: [(2008, 2016)],
    500982: [(2010, 2019)],
    500999: [(None, 1969)],
    501016: [(None, 1999)],
    501019: [(2012, 2012)],
    501028: [(None, 2009)],
    501042: [(1973, 1977)],
    501047: [(1900, 2000)],
    501106: [(1800, 1899)],
    501109: [(None, 2019)],
    501151: [(None, 1979)],
    501168: [(None, 1939)],
}
# Of these not every allowed year is sure: centuries begin with 00 or 01, and the 1800s may be a decade.
SURE = {500037: (2011, 2019), 500339: (2001, 2009), 501047: (1901, 1999), 501106: (1800, 1809)}


def years(interval):
    """First and last year; both ends must be the first and the last day of a year."""
    ends = interval.iso()
    assert ends[0] is None or ends[0].endswith("-01-01")
    assert ends[1] is None or ends[1].endswith("-12-31")
    return tuple(day and civil(number)[0] for day, number in zip(ends, (interval.first, interval.last)))


def test_date_manipulations_of_real_claims_are_read_as_a_person_reads_them():
    file = DATA / "adversarial/deseption-dev.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    claims = {row["id"]: row["claim"] for row in rows if row["attack"] == "date manipulation"}
    read = {i: [found for found in parse(text) if isinstance(found, Dates)] for i, text in claims.items()}
    assert {i: [years(date.possibly) for date in found] for i, found in read.items()} == ALLOWED
    for i, found in read.items():
        for date in found:
            assert years(date.surely) == SURE.get(i, years(date.possibly))


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
