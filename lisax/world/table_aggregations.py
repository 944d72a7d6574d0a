"""Questions whose answer is a count, a sum or an average of cells of one table, and is itself in no cell.

Their evidence is the table, their `operands` are the cells. Questions for a maximum or minimum are in
`table_questions`: a cell answers them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal

from lisax.records import Operation
from lisax.text.articles import capitalised
from lisax.world.facts import Neighbourhood, format_number
from lisax.world.phrases import WORDINGS
from lisax.world.table_claims import topic
from lisax.world.tables import WorldTable

SHARES = {Operation.COUNT: 0.4, Operation.SUM: 0.3, Operation.AVERAGE: 0.3}


class TableAggregationWriter:
    """Writes the questions of one neighbourhood's tables; `rng` is its own random stream."""

    def __init__(self, place: Neighbourhood, rng: random.Random):
        self.place, self.rng = place, rng

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
        j, column = self.rng.choice([place for place in enumerate(table.series.columns, start=1) if place[1].noun])
        if operation is Operation.COUNT:
            numbers = table.numbers(j)
            more, bound = self.rng.random() < 0.5, self.rng.choice(numbers)
            rows = [i for i, number in enumerate(numbers) if (number > bound if more else number < bound)]
            gaps = {"more": "more" if more else "less", "above": "above" if more else "below"}
            gaps |= {"bound": format_number(bound), "noun": column.noun}
            return self._asked(table, operation, j, rows, "series count", owner=owner, **gaps)
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
        return self._asked(table, operation, j, rows, str(operation), owner=owner, period=period)

    def _of_list(self, table: WorldTable, operation: Operation) -> dict | None:
        facts = [self.place.facts[entity.index] for entity in table.members]
        if operation is Operation.COUNT:
            j = self.rng.randrange(1, len(table.header))
            fact = self.rng.choice(facts)[table.header[j]]
            rows = [i for i, row in enumerate(table.rows) if row[j] == fact.cell]
            return self._asked(table, operation, j, rows, "list count", topic=topic(table), value=fact.text)
        numbers = [
            j
            for j, name in enumerate(table.header)
            if j and facts[0][name].relation.more and facts[0][name].relation.draw != "year"
        ]
        if not numbers:
            return None
        j = self.rng.choice(numbers)
        rows = range(len(table.rows))
        return self._asked(table, operation, j, rows, str(operation), owner=f"the {topic(table)}", period="")

    def _asked(
        self, table: WorldTable, operation: Operation, j: int, rows: Sequence[int], wording: str, **gaps: str
    ) -> dict | None:
        if not rows:
            return None
        answer = str(len(rows))
        if operation is not Operation.COUNT:
            numbers = table.numbers(j)
            answer = _answer(sum(numbers[i] for i in rows), len(rows) if operation is Operation.AVERAGE else 1)
        return {
            "question": capitalised(self.rng.choice(WORDINGS[wording]).format(name=table.header[j], **gaps)),
            "answers": [answer],
            "evidence": [table.id],
            "kind": "aggregation",
            "operation": operation,
            "operands": [f"{table.id}#r{i}c{j}" for i in rows],
        }


def _answer(total: int, parts: int) -> str:
    """The quotient without trailing zeros; if it does not terminate, with twelve decimals."""
    return f"{round(Decimal(total) / parts, 12):f}".rstrip("0").rstrip(".")
