"""Questions with answers, and every sentence and cell that holds the answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from lisax.world.claims import Evidence
from lisax.world.facts import Fact, Neighbourhood
from lisax.world.pages import Page
from lisax.world.tables import WorldTable


def questions_of(place: Neighbourhood, page: Page, evidence: Evidence, tables: Sequence[WorldTable],
                 rng: random.Random) -> Iterator[dict]:
    """At most one question of each kind about the page's subject.

    `fact`: one fact, from sentences or list cells. `two_facts`: over another entity, asked of one page in
    three. `cell` and `most`: a number of a series and the year of its highest number, where there is one.
    """
    facts = list(place.facts[page.entity.index].values())
    rng.shuffle(facts)
    for fact in facts:
        if ids := _where(fact, evidence, tables):
            yield _question("fact", fact, fact.subject.mention, ids)
            break
    if rng.random() < 1 / 3:
        bridges = [(fact, ids) for fact in facts if fact.relation.noun and (ids := _where(fact, evidence, tables))]
        if bridges:
            bridge, bridge_ids = rng.choice(bridges)
            fact = rng.choice(list(place.facts[bridge.target.index].values()))
            if ids := _where(fact, evidence, tables):
                yield _question("two_facts", fact, f"the {bridge.relation.noun} of {bridge.subject.mention}",
                                list(dict.fromkeys([*bridge_ids, *ids])))
    for table in tables:
        if table.owner is page.entity and table.series is not None:
            yield from _about_series(table, rng)


def _where(fact: Fact, evidence: Evidence, tables: Sequence[WorldTable]) -> list[str]:
    return [*evidence.ids(fact), *(cell for table in tables for cell in table.cells.get(id(fact), ()))]


def _question(kind: str, fact: Fact, mention: str, ids: list[str]) -> dict:
    answers = [fact.text]
    if fact.target is not None:
        answers += [fact.target.title, fact.target.name]
    elif fact.number is not None:
        answers.append(str(fact.number))
    return {"question": fact.relation.question.replace("{s}", mention), "answers": list(dict.fromkeys(answers)),
            "evidence": ids, "kind": kind}


def _about_series(table: WorldTable, rng: random.Random) -> Iterator[dict]:
    j = rng.randrange(1, len(table.header))
    i = rng.randrange(len(table.rows))
    year, number = table.rows[i][0], table.rows[i][j]
    question = table.series.columns[j - 1][-1].replace("{s}", table.owner.mention).replace("{y}", year)
    yield {"question": question, "answers": list(dict.fromkeys((number, number.replace(",", "")))),
           "evidence": [f"{table.id}#r{i}c{j}"], "kind": "cell"}
    numbers = [int(row[j].replace(",", "")) for row in table.rows]
    highest = max(numbers)
    if numbers.count(highest) == 1 and table.header[j] != "place":
        i = numbers.index(highest)
        yield {"question": f"In which year did {table.owner.mention} have the most {table.header[j]}?",
               "answers": [table.rows[i][0]], "evidence": [f"{table.id}#r{i}c0", f"{table.id}#r{i}c{j}"],
               "kind": "most"}
