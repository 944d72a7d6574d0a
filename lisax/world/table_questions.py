"""Questions answered by cells of one table, which train a model of rows and columns before there is real data.

`lookup` names a row and asks for a column, `reverse` gives a cell and asks for its row, `conjunction` identifies the
row by another cell or by two, `superlative` by the highest or lowest number of a column, `compare` by comparing two
rows, `neighbour` by the row next to it (in series, whose rows are years). Each has several wordings, including a few
keywords as people type them. A question is asked only if exactly one row answers it; its evidence is the answering
cells.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from lisax.records import Operation
from lisax.text.articles import capitalised
from lisax.world.claims import WorldEvidence
from lisax.world.facts import Fact, Neighbourhood
from lisax.world.phrases import WORDINGS
from lisax.world.questions import answering_cells, answers_of
from lisax.world.table_claims import topic
from lisax.world.tables import WorldTable

QUESTIONS_PER_TABLE = 6
SHARES = {"lookup": 0.3, "reverse": 0.15, "conjunction": 0.2, "superlative": 0.15, "compare": 0.1, "neighbour": 0.1}
_HIGH = {True: ("highest", "largest", "top"), False: ("lowest", "smallest", "least")}
_LATEST = {True: ("latest", "last", "most recent"), False: ("earliest", "first", "oldest")}


class TableQuestionWriter:
    """Writes the questions of one neighbourhood's tables; `rng` is its own random stream."""

    def __init__(self, place: Neighbourhood, tables: Sequence[WorldTable], evidence: WorldEvidence, rng: random.Random):
        self.place, self.tables, self.evidence, self.rng = place, tables, evidence, rng

    def questions(self, table: WorldTable, count: int = QUESTIONS_PER_TABLE) -> Iterator[dict]:
        """`count` different questions (rarely fewer), without ids; one for the extreme number itself records its
        `operation`."""
        of = "list" if table.series is None else "series"
        kinds = [kind for kind in SHARES if of == "series" or kind != "neighbour"]
        shares = [SHARES[kind] for kind in kinds]
        seen: set[str] = set()
        for _ in range(4 * count):
            if len(seen) == count:
                return
            kind = self.rng.choices(kinds, shares)[0]
            row = getattr(self, f"_{of}_{kind}")(table)  # such as `_list_lookup`
            if row is not None and row["question"] not in seen:
                seen.add(row["question"])
                yield row | {"kind": kind}

    def _asked(self, wording: str, answers: Iterable[str], cells: Iterable[str], **gaps: str) -> dict:
        text = capitalised(self.rng.choice(WORDINGS[wording]).format(**gaps))
        return {"question": text, "answers": list(answers), "evidence": list(cells)}

    # --- Series: numbers by year --------------------------------------------------------------

    def _series_lookup(self, table: WorldTable) -> dict:
        i, j = self._row(table), self._column(table)
        year, question = table.rows[i][0], table.series.columns[j - 1].question
        question = question.replace("{s}", table.owner.mention).replace("{y}", year)
        return self._number(table, i, j, "series lookup", question=question, year=year)

    def _series_reverse(self, table: WorldTable) -> dict | None:
        i, j = self._row(table), self._column(table)
        if not _alone(table, i, [j]):
            return None
        return self._year(table, i, j, "series reverse", phrase=_phrase(table, i, j), value=table.rows[i][j])

    def _series_conjunction(self, table: WorldTable) -> dict | None:
        i, (j, k) = self._row(table), self.rng.sample(range(1, len(table.header)), 2)
        gaps = {"also": _phrase(table, i, k), "other": table.header[k], "given": table.rows[i][k]}
        if self.rng.random() < 0.5:
            if not _alone(table, i, [j, k]):
                return None
            gaps |= {"phrase": _phrase(table, i, j), "value": table.rows[i][j]}
            return self._year(table, i, j, "series by two numbers", **gaps)
        return self._number(table, i, j, "series by another number", **gaps) if _alone(table, i, [k]) else None

    def _series_superlative(self, table: WorldTable) -> dict | None:
        j, most = self._column(table), self.rng.random() < 0.5
        numbers = table.numbers(j)
        extreme = (max if most else min)(numbers)
        if numbers.count(extreme) > 1:
            return None
        i, high = numbers.index(extreme), self.rng.choice(_HIGH[most])
        if self.rng.random() < 0.4:
            asked = self._number(table, i, j, "series extreme", high=high, how="high" if most else "low")
            return _extreme(most, asked)
        column, gaps = table.series.columns[j - 1], {"high": high, "highest": "highest" if most else "lowest"}
        if not column.noun or column.noun == "profit":
            return self._year(table, i, j, "series year of extreme", **gaps)
        gaps |= {"most": "most" if most else "fewest", "verb": column.verb, "noun": column.noun}
        return self._year(table, i, j, "series year of most", **gaps)

    def _series_compare(self, table: WorldTable) -> dict | None:
        j, (first, second) = self._column(table), self.rng.sample(range(len(table.rows)), 2)
        numbers, more = table.numbers(j), self.rng.random() < 0.5
        if numbers[first] == numbers[second]:
            return None
        right = first if (numbers[first] > numbers[second]) == more else second
        words = ("higher", "larger", "more") if more else ("lower", "smaller", "less")
        gaps = dict(zip(("higher", "larger", "more"), words)) | {
            "first": table.rows[first][0],
            "second": table.rows[second][0],
        }
        return self._year(table, right, j, "series compare", **gaps)

    def _series_neighbour(self, table: WorldTable) -> dict:
        j, last = self._column(table), len(table.rows) - 1
        if self.rng.random() < 0.3:
            i, which = self.rng.choice(((0, "first"), (last, "last")))
            return self._number(table, i, j, "series end", which=which)
        i = self._row(table)
        known = self.rng.choice([row for row in (i - 1, i + 1) if 0 <= row <= last])
        which = "after" if known < i else "before"
        return self._number(table, i, j, "series neighbour", which=which, known=table.rows[known][0])

    def _row(self, table: WorldTable) -> int:
        return self.rng.randrange(len(table.rows))

    def _column(self, table: WorldTable) -> int:
        return self.rng.randrange(1, len(table.header))

    def _number(self, table: WorldTable, i: int, j: int, wording: str, **gaps: str) -> dict:
        value = table.rows[i][j]
        gaps |= {"name": table.header[j], "owner": table.owner.mention}
        return self._asked(wording, dict.fromkeys((value, value.replace(",", ""))), [f"{table.id}#r{i}c{j}"], **gaps)

    def _year(self, table: WorldTable, i: int, j: int, wording: str, **gaps: str) -> dict:
        gaps |= {"name": table.header[j], "owner": table.owner.mention}
        return self._asked(wording, [table.rows[i][0]], [f"{table.id}#r{i}c0"], **gaps)

    # --- Lists: facts of several entities -----------------------------------------------------

    def _list_lookup(self, table: WorldTable) -> dict:
        """A question for the object of a fact, wherever a table or a graph has it."""
        fact = self.rng.choice(self.rng.choice(self._facts(table)))
        cells = [*answering_cells(fact, self.tables), *self.evidence.edges(fact)]
        member, question = fact.subject.mention, fact.relation.question.replace("{s}", fact.subject.mention)
        gaps = {"name": fact.relation.name, "member": member, "title": fact.subject.title, "question": question}
        return self._asked("list lookup", answers_of(fact), cells, **gaps)

    def _list_reverse(self, table: WorldTable) -> dict | None:
        i, j = self._row(table), self._column(table)
        if not _alone(table, i, [j]):
            return None
        fact = self._facts(table)[i][j - 1]
        gaps = {"phrase": fact.said(self.rng), "name": fact.relation.name, "value": fact.text}
        return self._member(table, i, "list reverse", **gaps)

    def _list_conjunction(self, table: WorldTable) -> dict | None:
        if len(table.header) < 3:
            return None
        i, (j, k) = self._row(table), self.rng.sample(range(1, len(table.header)), 2)
        asked, given = (self._facts(table)[i][c - 1] for c in (j, k))
        if self.rng.random() < 0.5:
            if not _alone(table, i, [j, k]):
                return None
            phrase = f"{asked.said(self.rng)} and {given.said(self.rng)}"
            return self._member(table, i, "list by two facts", phrase=phrase)
        if not _alone(table, i, [k]):
            return None
        gaps = {"phrase": given.said(self.rng), "again": given.said(self.rng), "given": given.text}
        gaps |= {"name": asked.relation.name, "other": given.relation.name, "topic": topic(table)}
        return self._asked("list by another fact", answers_of(asked), [f"{table.id}#r{i}c{j}"], **gaps)

    def _list_superlative(self, table: WorldTable) -> dict | None:
        facts, j = self._compared(table)
        most = self.rng.random() < 0.5
        extreme = (max if most else min)(fact.number for fact in facts)
        rows = [i for i, fact in enumerate(facts) if fact.number == extreme]
        if len(rows) > 1:
            return None
        relation, fact = facts[0].relation, facts[rows[0]]
        gaps = {"high": self.rng.choice((_LATEST if relation.draw == "year" else _HIGH)[most]), "name": relation.name}
        if self.rng.random() < 0.4:
            gaps |= {"topic": topic(table)}
            return _extreme(most, self._asked("list extreme", answers_of(fact), [f"{table.id}#r{rows[0]}c{j}"], **gaps))
        phrase = (relation.more if most else relation.less).replace("{o}", "any other")
        return self._member(table, rows[0], "list superlative", phrase=phrase, **gaps)

    def _list_compare(self, table: WorldTable) -> dict | None:
        facts, _ = self._compared(table)
        first, second = self.rng.sample(range(len(facts)), 2)
        if facts[first].number == facts[second].number:
            return None
        relation, more = facts[0].relation, self.rng.random() < 0.5
        right = first if (facts[first].number > facts[second].number) == more else second
        gaps = {name: facts[i].subject.mention for name, i in (("first", first), ("second", second))}
        phrase = (relation.more if more else relation.less).replace("{o}", "the other")
        return self._member(table, right, "list compare", phrase=phrase, **gaps)

    def _facts(self, table: WorldTable) -> list[list[Fact]]:
        """The facts of each row, column by column."""
        members = (self.place.facts[entity.index] for entity in table.members)
        return [[facts[name] for name in table.header[1:]] for facts in members]

    def _compared(self, table: WorldTable) -> tuple[list[Fact], int]:
        """A column of numbers or years and its index; every listed kind has one."""
        rows = self._facts(table)
        j = self.rng.choice([j for j, fact in enumerate(rows[0]) if fact.relation.more])
        return [facts[j] for facts in rows], j + 1

    def _member(self, table: WorldTable, i: int, wording: str, **gaps: str) -> dict:
        member = table.members[i]
        answers = dict.fromkeys((member.title, member.mention, member.name))
        return self._asked(wording, answers, [f"{table.id}#r{i}c0"], topic=topic(table), **gaps)


def _extreme(most: bool, row: dict) -> dict:
    return row | {"operation": Operation.MAX if most else Operation.MIN}


def _alone(table: WorldTable, i: int, columns: Sequence[int]) -> bool:
    """Whether no other row equals this one in `columns`."""
    return sum(all(row[j] == table.rows[i][j] for j in columns) for row in table.rows) == 1


def _phrase(table: WorldTable, i: int, j: int) -> str:
    return table.series.columns[j - 1].phrase.replace("{o}", table.rows[i][j])
