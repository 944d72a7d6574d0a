"""Questions answered by cells of one table, which train a model of rows and columns before there is real data.

`lookup` names a row and asks for a column, `reverse` gives a cell and asks for its row, `conjunction` identifies the
row by another cell or by two, `superlative` by the highest or lowest number of a column, `compare` by comparing two
rows, `neighbour` by the row next to it (in series, whose rows are years). Each has several wordings, including a few
keywords as people type them. A question is asked only if exactly one row answers it; its evidence is the answering
cells.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from lisax.records import Operation
from lisax.world.claims import WorldEvidence
from lisax.world.facts import Fact, Neighbourhood
from lisax.world.pages import capitalise
from lisax.world.questions import answering_cells, answers_of
from lisax.world.table_claims import COLUMN_PHRASES, topic
from lisax.world.tables import WorldTable

QUESTIONS_PER_TABLE = 6
SHARES = {"lookup": 0.3, "reverse": 0.15, "conjunction": 0.2, "superlative": 0.15, "compare": 0.1, "neighbour": 0.1}
_HIGH = {True: ("highest", "largest", "top"), False: ("lowest", "smallest", "least")}
_LATEST = {True: ("latest", "last", "most recent"), False: ("earliest", "first", "oldest")}


class TableQuestionWriter:
    """Writes the questions of one neighbourhood's tables; `rng` is its own random stream."""

    def __init__(self, place: Neighbourhood, tables: Sequence[WorldTable], evidence: WorldEvidence, rng: random.Random):
        self.place, self.tables, self.evidence, self.rng = place, tables, evidence, rng
        self._entities = {entity.title: entity for entity in place.entities}

    def questions(self, table: WorldTable, count: int = QUESTIONS_PER_TABLE) -> Iterator[dict]:
        """`count` different questions (rarely fewer), without ids; one for the extreme number itself records its
        `operation`."""
        writers = self._of_series() if table.series is not None else self._of_list()
        kinds, shares = zip(*((kind, SHARES[kind]) for kind in writers))
        seen: set[str] = set()
        for _ in range(4 * count):
            if len(seen) == count:
                return
            kind = self.rng.choices(kinds, shares)[0]
            row = writers[kind](table)
            if row is not None and row["question"] not in seen:
                seen.add(row["question"])
                yield row | {"kind": kind}

    def _asked(self, wordings: Sequence[str], answers: Sequence[str], cells: Sequence[str]) -> dict:
        text = capitalise(self.rng.choice(wordings))
        return {"question": text, "answers": list(answers), "evidence": list(cells)}

    # --- Series: numbers by year --------------------------------------------------------------

    def _of_series(self) -> dict[str, Callable[[WorldTable], dict | None]]:
        return {
            "lookup": self._number_of_year,
            "reverse": self._year_of_number,
            "conjunction": self._by_other_number,
            "superlative": self._extreme_of_series,
            "compare": self._better_year,
            "neighbour": self._next_year,
        }

    def _number_of_year(self, table: WorldTable) -> dict:
        i, j = self._row(table), self._column(table)
        name, owner, year = table.header[j], table.owner.mention, table.rows[i][0]
        question = table.series.columns[j - 1][-1].replace("{s}", owner).replace("{y}", year)
        return self._number(
            table,
            i,
            j,
            (
                question,
                question,
                f"{name} of {owner} in {year}?",
                f"in {year}, what is given as {name} of {owner}?",
                f"{owner} {name} {year}",
                f"look up the {name} of {owner} for {year}.",
            ),
        )

    def _year_of_number(self, table: WorldTable) -> dict | None:
        i, j = self._row(table), self._column(table)
        if not _alone(table, i, [j]):
            return None
        name, owner, value = table.header[j], table.owner.mention, table.rows[i][j]
        phrase = COLUMN_PHRASES[name][0].replace("{o}", value)
        return self._year(
            table,
            i,
            (
                f"{owner} {phrase} in which year?",
                f"in which year is it that {owner} {phrase}?",
                f"when did the {name} of {owner} stand at {value}?",
                f"which year has {value} as {name} of {owner}?",
            ),
        )

    def _by_other_number(self, table: WorldTable) -> dict | None:
        i, (j, k) = self._row(table), self.rng.sample(range(1, len(table.header)), 2)
        owner, (name, other), (value, given) = (
            table.owner.mention,
            (table.header[j], table.header[k]),
            (table.rows[i][j], table.rows[i][k]),
        )
        phrases = [COLUMN_PHRASES[table.header[c]][0].replace("{o}", table.rows[i][c]) for c in (j, k)]
        if self.rng.random() < 0.5:
            if not _alone(table, i, [j, k]):
                return None
            return self._year(
                table,
                i,
                (
                    f"in which year is it that {owner} {phrases[0]} and {phrases[1]}?",
                    f"which year of {owner} has {name} {value} and {other} {given}?",
                    f"{owner} {phrases[0]} and also {phrases[1]}, in what year?",
                ),
            )
        if not _alone(table, i, [k]):
            return None
        return self._number(
            table,
            i,
            j,
            (
                f"what is the {name} of {owner} in the year in which it {phrases[1]}?",
                f"{owner} {phrases[1]} in a year with which {name}?",
                f"{name} of {owner} when the {other} is {given}?",
            ),
        )

    def _extreme_of_series(self, table: WorldTable) -> dict | None:
        j, most = self._column(table), self.rng.random() < 0.5
        numbers = _numbers(table, j)
        extreme = (max if most else min)(numbers)
        if numbers.count(extreme) > 1:
            return None
        i, name, owner = numbers.index(extreme), table.header[j], table.owner.mention
        high = self.rng.choice(_HIGH[most])
        if self.rng.random() < 0.4:
            return _extreme(
                most,
                self._number(
                    table,
                    i,
                    j,
                    (
                        f"what is the {high} {name} that {owner} has in any year?",
                        f"{high} {name} of {owner}?",
                        f"how {'high' if most else 'low'} is the {high} {name} of {owner}?",
                    ),
                ),
            )
        _, verb, noun = COLUMN_PHRASES[name]
        wordings = [
            f"which year has the {high} {name} of {owner}?",
            f"year of the {high} {name} of {owner}?",
            f"in what year is the {name} of {owner} at its {'highest' if most else 'lowest'}?",
        ]
        if noun and noun != "profit":
            wordings += [
                f"in which year did {owner} have the {'most' if most else 'fewest'} {noun}?",
                f"{owner} {verb} the {'most' if most else 'fewest'} {noun} in which year?",
            ]
        return self._year(table, i, wordings)

    def _better_year(self, table: WorldTable) -> dict | None:
        j, (first, second) = self._column(table), self.rng.sample(range(len(table.rows)), 2)
        numbers, more = _numbers(table, j), self.rng.random() < 0.5
        if numbers[first] == numbers[second]:
            return None
        right = first if (numbers[first] > numbers[second]) == more else second
        name, owner, years = table.header[j], table.owner.mention, (table.rows[first][0], table.rows[second][0])
        return self._year(
            table,
            right,
            (
                f"in which year is the {name} of {owner} {'higher' if more else 'lower'}, {years[0]} or {years[1]}?",
                f"does {owner} have the {'larger' if more else 'smaller'} {name} in {years[0]} or in {years[1]}?",
                f"{name} of {owner}: {'more' if more else 'less'} in {years[0]} or {years[1]}?",
            ),
        )

    def _next_year(self, table: WorldTable) -> dict:
        j, last, owner = self._column(table), len(table.rows) - 1, table.owner.mention
        if self.rng.random() < 0.3:
            i, which = self.rng.choice(((0, "first"), (last, "last")))
            return self._number(
                table,
                i,
                j,
                (
                    f"what is the {table.header[j]} of {owner} in the {which} year?",
                    f"{table.header[j]} of {owner} in its {which} year listed?",
                ),
            )
        i = self._row(table)
        known = self.rng.choice([row for row in (i - 1, i + 1) if 0 <= row <= last])
        which = "after" if known < i else "before"
        return self._number(
            table,
            i,
            j,
            (
                f"what is the {table.header[j]} of {owner} in the year {which} {table.rows[known][0]}?",
                f"the year {which} {table.rows[known][0]}, which {table.header[j]} does {owner} have?",
            ),
        )

    def _row(self, table: WorldTable) -> int:
        return self.rng.randrange(len(table.rows))

    def _column(self, table: WorldTable) -> int:
        return self.rng.randrange(1, len(table.header))

    def _number(self, table: WorldTable, i: int, j: int, wordings: Sequence[str]) -> dict:
        value = table.rows[i][j]
        return self._asked(wordings, dict.fromkeys((value, value.replace(",", ""))), [f"{table.id}#r{i}c{j}"])

    def _year(self, table: WorldTable, i: int, wordings: Sequence[str]) -> dict:
        return self._asked(wordings, [table.rows[i][0]], [f"{table.id}#r{i}c0"])

    # --- Lists: facts of several entities -----------------------------------------------------

    def _of_list(self) -> dict[str, Callable[[WorldTable], dict | None]]:
        return {
            "lookup": self._fact_of_member,
            "reverse": self._member_of_fact,
            "conjunction": self._by_other_fact,
            "superlative": self._extreme_of_list,
            "compare": self._better_member,
        }

    def _fact_of_member(self, table: WorldTable) -> dict:
        fact = self.rng.choice(self.rng.choice(self._facts(table)))
        name, mention = fact.relation.name, fact.subject.mention
        return self._object(
            fact,
            (
                fact.relation.question.replace("{s}", mention),
                fact.relation.question.replace("{s}", mention),
                f"{name} of {mention}?",
                f"what is given as {name} of {mention}?",
                f"{fact.subject.title} {name}",
            ),
        )

    def _member_of_fact(self, table: WorldTable) -> dict | None:
        i, j = self._row(table), self._column(table)
        if not _alone(table, i, [j]):
            return None
        fact = self._facts(table)[i][j - 1]
        phrase, name = self._phrase(fact), fact.relation.name
        return self._member(
            table,
            i,
            (
                f"which of the {topic(table)} {phrase}?",
                f"of the {topic(table)}, which one {phrase}?",
                f"which of the {topic(table)} has {fact.text} as {name}?",
                f"{topic(table)}: which has {name} {fact.text}?",
            ),
        )

    def _by_other_fact(self, table: WorldTable) -> dict | None:
        if len(table.header) < 3:
            return None
        i, (j, k) = self._row(table), self.rng.sample(range(1, len(table.header)), 2)
        asked, given = (self._facts(table)[i][c - 1] for c in (j, k))
        if self.rng.random() < 0.5:
            if not _alone(table, i, [j, k]):
                return None
            phrases = f"{self._phrase(asked)} and {self._phrase(given)}"
            return self._member(
                table, i, (f"which of the {topic(table)} {phrases}?", f"of the {topic(table)}, which one {phrases}?")
            )
        if not _alone(table, i, [k]):
            return None
        name = asked.relation.name
        wordings = (
            f"what is the {name} of that of the {topic(table)} which {self._phrase(given)}?",
            f"among the {topic(table)}, what is the {name} of the one that {self._phrase(given)}?",
            f"{topic(table)}: {name} of the one with {given.relation.name} {given.text}?",
        )
        return self._asked(wordings, answers_of(asked), [f"{table.id}#r{i}c{j}"])

    def _extreme_of_list(self, table: WorldTable) -> dict | None:
        facts, j = self._compared(table)
        most = self.rng.random() < 0.5
        extreme = (max if most else min)(fact.number for fact in facts)
        rows = [i for i, fact in enumerate(facts) if fact.number == extreme]
        if len(rows) > 1:
            return None
        relation, fact = facts[0].relation, facts[rows[0]]
        high = self.rng.choice((_LATEST if relation.draw == "year" else _HIGH)[most])
        if self.rng.random() < 0.4:
            return _extreme(
                most,
                self._asked(
                    (
                        f"what is the {high} {relation.name} among the {topic(table)}?",
                        f"{high} {relation.name} of the {topic(table)}?",
                    ),
                    answers_of(fact),
                    [f"{table.id}#r{rows[0]}c{j}"],
                ),
            )
        phrase = (relation.more if most else relation.less).replace("{o}", "any other")
        return self._member(
            table,
            rows[0],
            (
                f"which of the {topic(table)} {phrase}?",
                f"of the {topic(table)}, which one {phrase}?",
                f"which of the {topic(table)} has the {high} {relation.name}?",
                f"{topic(table)}: which one has the {high} {relation.name}?",
            ),
        )

    def _better_member(self, table: WorldTable) -> dict | None:
        facts, _ = self._compared(table)
        first, second = self.rng.sample(range(len(facts)), 2)
        if facts[first].number == facts[second].number:
            return None
        relation, more = facts[0].relation, self.rng.random() < 0.5
        right = first if (facts[first].number > facts[second].number) == more else second
        phrase = (relation.more if more else relation.less).replace("{o}", "the other")
        names = f"{facts[first].subject.mention} or {facts[second].subject.mention}"
        return self._member(
            table,
            right,
            (f"which of the {topic(table)} {phrase}, {names}?", f"of the {topic(table)}, which {phrase}: {names}?"),
        )

    def _facts(self, table: WorldTable) -> list[list[Fact]]:
        """The facts of each row, column by column."""
        members = (self.place.facts[self._entities[row[0]].index] for row in table.rows)
        return [[facts[name] for name in table.header[1:]] for facts in members]

    def _compared(self, table: WorldTable) -> tuple[list[Fact], int]:
        """A column of numbers or years and its index; every listed kind has one."""
        rows = self._facts(table)
        j = self.rng.choice([j for j, fact in enumerate(rows[0]) if fact.relation.more])
        return [facts[j] for facts in rows], j + 1

    def _phrase(self, fact: Fact) -> str:
        return self.rng.choice(fact.relation.claim).replace("{o}", fact.text)

    def _object(self, fact: Fact, wordings: Sequence[str]) -> dict:
        """A question for the object of a fact, wherever a table or a graph has it."""
        return self._asked(
            wordings, answers_of(fact), [*answering_cells(fact, self.tables), *self.evidence.edges(fact)]
        )

    def _member(self, table: WorldTable, i: int, wordings: Sequence[str]) -> dict:
        member = self._entities[table.rows[i][0]]
        return self._asked(wordings, dict.fromkeys((member.title, member.mention, member.name)), [f"{table.id}#r{i}c0"])


def _extreme(most: bool, row: dict) -> dict:
    return row | {"operation": Operation.MAX if most else Operation.MIN}


def _alone(table: WorldTable, i: int, columns: Sequence[int]) -> bool:
    """Whether no other row equals this one in `columns`."""
    return sum(all(row[j] == table.rows[i][j] for j in columns) for row in table.rows) == 1


def _numbers(table: WorldTable, j: int) -> list[int]:
    return [int(row[j].replace(",", "")) for row in table.rows]
