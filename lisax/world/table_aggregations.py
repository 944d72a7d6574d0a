"""Questions whose answer is a count, a sum or an average of cells of one table, and is itself in no cell.

Their evidence is the table, their `operands` are the cells. Questions for a maximum or minimum are in
`table_questions`: a cell answers them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from lisax.records import Operation
from lisax.world.facts import Neighbourhood, format_number
from lisax.world.pages import capitalise
from lisax.world.table_claims import COLUMN_PHRASES, topic
from lisax.world.tables import WorldTable

SHARES = {Operation.COUNT: 0.4, Operation.SUM: 0.3, Operation.AVERAGE: 0.3}
_OVER = {
    Operation.SUM: (
        "what is the total {n} of {o}{p}?",
        "{n} of {o}{p}, all together?",
        "sum of the {n} of {o}{p}?",
        "add up the {n} of {o}{p}.",
        "what do the {n} of {o} come to in all{p}?",
    ),
    Operation.AVERAGE: (
        "what is the average {n} of {o}{p}?",
        "{n} of {o}{p} on average?",
        "mean {n} of {o}{p}?",
        "what are the {n} of {o} on average{p}?",
    ),
}


class TableAggregationWriter:
    """Writes the questions of one neighbourhood's tables; `rng` is its own random stream."""

    def __init__(self, place: Neighbourhood, rng: random.Random):
        self.place, self.rng = place, rng
        self._entities = {entity.title: entity for entity in place.entities}

    def questions(self, table: WorldTable, count: int) -> Iterator[dict]:
        """`count` different questions (rarely fewer), without ids."""
        seen: set[str] = set()
        for _ in range(4 * count):
            if len(seen) >= count:
                return
            operation = self.rng.choices(list(SHARES), list(SHARES.values()))[0]
            ask = self._of_series if table.series is not None else self._of_list
            row = ask(table, operation)
            if row is not None and row["question"] not in seen:
                seen.add(row["question"])
                yield row

    def _of_series(self, table: WorldTable, operation: Operation) -> dict:
        owner, last = table.owner.mention, len(table.rows) - 1
        # Places (1st, 2nd, …) are not added up.
        j = self.rng.choice([j for j, name in enumerate(table.header) if j and COLUMN_PHRASES[name][2]])
        name, noun = table.header[j], COLUMN_PHRASES[table.header[j]][2]
        if operation is Operation.COUNT:
            numbers = [_number(row[j]) for row in table.rows]
            more, bound = self.rng.random() < 0.5, self.rng.choice(numbers)
            rows = [i for i, number in enumerate(numbers) if (number > bound if more else number < bound)]
            word, said = "more" if more else "less", format_number(bound)
            return self._asked(
                table,
                operation,
                j,
                rows,
                (
                    f"in how many years does {owner} have {word} than {said} {noun}?",
                    f"how many years have {name} of {owner} {'above' if more else 'below'} {said}?",
                    f"number of years in which {owner} has {word} than {said} {noun}?",
                ),
            )
        first, end = sorted(self.rng.choices(range(last + 1), k=2))
        years = [row[0] for row in table.rows]
        rows, period = self.rng.choice(
            (
                (range(last + 1), ""),
                (range(last + 1), " over all years"),
                (range(first, last + 1), f" since {years[first]}"),
                (range(first, end + 1), f" from {years[first]} to {years[end]}"),
            )
        )
        return self._asked(table, operation, j, rows, _worded(operation, name, owner, period))

    def _of_list(self, table: WorldTable, operation: Operation) -> dict | None:
        facts = [self.place.facts[self._entities[row[0]].index] for row in table.rows]
        if operation is Operation.COUNT:
            j = self.rng.randrange(1, len(table.header))
            fact = self.rng.choice(facts)[table.header[j]]
            rows = [i for i, row in enumerate(table.rows) if row[j] == fact.cell]
            return self._asked(
                table,
                operation,
                j,
                rows,
                (
                    f"how many of the {topic(table)} have {fact.text} as {fact.relation.name}?",
                    f"number of {topic(table)} with {fact.relation.name} {fact.text}?",
                    f"count the {topic(table)} whose {fact.relation.name} is {fact.text}.",
                ),
            )
        numbers = [
            j
            for j, name in enumerate(table.header)
            if j and facts[0][name].relation.more and facts[0][name].relation.draw != "year"
        ]
        if not numbers:
            return None
        j = self.rng.choice(numbers)
        return self._asked(
            table, operation, j, range(len(table.rows)), _worded(operation, table.header[j], f"the {topic(table)}")
        )

    def _asked(
        self, table: WorldTable, operation: Operation, j: int, rows: Sequence[int], wordings: Sequence[str]
    ) -> dict | None:
        if not rows:
            return None
        if operation is Operation.COUNT:
            answer = str(len(rows))
        else:
            total = sum(_number(table.rows[i][j]) for i in rows)
            answer = _answer(total, len(rows) if operation is Operation.AVERAGE else 1)
        return {
            "question": capitalise(self.rng.choice(wordings)),
            "answers": [answer],
            "evidence": [table.id],
            "kind": "aggregation",
            "operation": operation,
            "operands": [f"{table.id}#r{i}c{j}" for i in rows],
        }


def operation_of(question: Mapping) -> Operation:
    """The operation of a question of `questions` or `table_questions`; the latter records it for an extreme number."""
    return question.get("operation", Operation.NONE)


def _worded(operation: Operation, name: str, owner: str, period: str = "") -> list[str]:
    return [wording.format(n=name, o=owner, p=period) for wording in _OVER[operation]]


def _number(cell: str) -> int:
    return int(cell.replace(",", ""))


def _answer(total: int, parts: int) -> str:
    """The quotient without trailing zeros; if it does not terminate, with twelve decimals."""
    return f"{round(Decimal(total) / parts, 12):f}".rstrip("0").rstrip(".")
