"""Claims that one table of the world decides: its id is their evidence.

`simple` claims look up one cell. `complex` ones need at least two: a superlative, a count, a comparison of two rows, a
conjunction. A claim over a series names its owner; one over a list names the list or one of its entities. Facts in two
tables are not used, so that no other table decides a claim; nor are facts that decide which lists contain an entity,
since some objects could only be claimed falsely.

The words of a claim do not reveal its label. A claim is drawn with two fillings, one true and one false, whose roles
could equally likely have been swapped; if they are equal, the claim is dropped. Only then is one of them chosen.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence

from lisax.records import Claim, Label, row_id
from lisax.text.articles import capitalised
from lisax.world.claims import WorldEvidence
from lisax.world.facts import Fact, Geography, Neighbourhood, format_number
from lisax.world.tables import LISTS, WorldTable

LOOKUP, SUPERLATIVE, COUNT, COMPARE, CONJUNCTION = "lookup", "superlative", "count", "compare", "conjunction"
SHARES = {LOOKUP: 0.4, SUPERLATIVE: 0.15, COUNT: 0.15, COMPARE: 0.15, CONJUNCTION: 0.15}
CLAIMS_PER_TABLE = 4
SIMPLE, COMPLEX = "simple", "complex"

Sets = tuple[tuple[str, ...], ...]
_LISTED_BY = frozenset((kind, relation) for kind, relation, _ in LISTS)
_PLURAL = {"has": "have", "is": "are", "was": "were"}


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A text with a gap `{x}`, and the fillings that make it true and false; `units`: sets of rows (and of units that
    state the same) that decide it, empty if it needs the whole table."""

    text: str
    true: str
    false: str
    units: Sets = ()


class TableClaimWriter:
    """Writes the claims of one neighbourhood's tables; `rng` is its own random stream. With `evidence` they have mixed
    sets."""

    def __init__(
        self,
        geography: Geography,
        place: Neighbourhood,
        tables: Sequence[WorldTable],
        rng: random.Random,
        shares: Mapping[str, float] = SHARES,
        evidence: WorldEvidence | None = None,
    ):
        self._evidence = evidence
        self._shares = tuple(shares), tuple(shares.values())
        self.geography, self.place, self.rng = geography, place, rng
        self._tables_of: dict[int, set[str]] = {}
        for table in tables:
            for fact in table.cells:
                self._tables_of.setdefault(fact, set()).add(table.id)
        self._supported = 0  # number of supported minus number of refuted claims

    def claims(self, table: WorldTable, count: int = CLAIMS_PER_TABLE) -> list[Claim]:
        """`count` different claims (rarely fewer), with empty ids and balanced labels."""
        of = "list" if table.series is None else "series"
        written: dict[str, Claim] = {}
        for _ in range(4 * count):
            if len(written) == count:
                break
            kind = self.rng.choices(*self._shares)[0]
            pair = getattr(self, f"_{of}_{kind}")(table)  # such as `_list_lookup`
            if pair is None or pair.true == pair.false:
                continue
            supported = self._supported < 0 or (self._supported == 0 and self.rng.random() < 0.5)
            text = capitalised(pair.text.replace("{x}", pair.true if supported else pair.false)) + "."
            if text not in written:
                self._supported += 1 if supported else -1
                written[text] = Claim(
                    "",
                    text,
                    Label.SUPPORTS if supported else Label.REFUTES,
                    ((table.id,),),
                    kind=SIMPLE if kind == LOOKUP else COMPLEX,
                    mixed_sets=pair.units,
                )
        return list(written.values())

    def _rows(self, table: WorldTable, *rows: int) -> Sets:
        return () if self._evidence is None else (tuple(row_id(table.id, row) for row in dict.fromkeys(rows)),)

    def _told(self, *facts: Fact) -> Sets:
        return () if self._evidence is None else self._evidence.sets(facts) + self._evidence.mixed_sets(facts)

    # --- Series: numbers by year, all from the same distribution ------------------------------

    def _series_lookup(self, table: WorldTable) -> Pair:
        i, j = self.rng.randrange(len(table.rows)), self.rng.randrange(1, len(table.header))
        return Pair(
            f"{table.owner.mention} {self._cell_phrase(table, i, j, '{x}')}",
            table.rows[i][j],
            self._other_number(table, i, j),
            self._rows(table, i),
        )

    def _series_conjunction(self, table: WorldTable) -> Pair:
        cells = [(i, j) for i in range(len(table.rows)) for j in range(1, len(table.header))]
        (i, j), (k, m) = self.rng.sample(cells, 2)
        halves = [self._cell_phrase(table, i, j, "{x}"), self._cell_phrase(table, k, m, table.rows[k][m])]
        self.rng.shuffle(halves)
        return Pair(
            f"{table.owner.mention} {halves[0]} and {halves[1]}",
            table.rows[i][j],
            self._other_number(table, i, j),
            self._rows(table, i, k),
        )

    def _series_superlative(self, table: WorldTable) -> Pair | None:
        j, verb, noun = self._compared_column(table)
        most = self.rng.random() < 0.5
        numbers = table.numbers(j)
        extreme = (max if most else min)(numbers)
        others = [i for i, number in enumerate(numbers) if number != extreme]
        if len(others) != len(numbers) - 1:
            return None
        return Pair(
            f"{table.owner.mention} {verb} the {self._word(most, noun, 'most')} {noun} in {{x}}",
            table.rows[numbers.index(extreme)][0],
            table.rows[self.rng.choice(others)][0],
        )

    def _series_compare(self, table: WorldTable) -> Pair | None:
        j, verb, noun = self._compared_column(table)
        first, second = self.rng.sample(range(len(table.rows)), 2)
        numbers = table.numbers(j)
        if numbers[first] == numbers[second]:
            return None
        more = numbers[first] > numbers[second]
        return Pair(
            f"{table.owner.mention} {verb} {{x}} {noun} in {table.rows[first][0]} than in {table.rows[second][0]}",
            self._word(more, noun, "more"),
            self._word(not more, noun, "more"),
            self._rows(table, first, second),
        )

    def _series_count(self, table: WorldTable) -> Pair:
        j, verb, noun = self._compared_column(table)
        values = table.series.columns[j - 1].values
        bound = self.rng.choice(values[len(values) // 4 : -len(values) // 4])
        other = [self.rng.choice(values) for _ in table.rows]
        text = (
            f"{table.owner.mention} {verb} more than {format_number(bound)} {noun} in exactly {{x}} of "
            f"{len(table.rows)} years"
        )
        return Pair(text, *(str(sum(number > bound for number in numbers)) for numbers in (table.numbers(j), other)))

    @staticmethod
    def _word(more: bool, noun: str, degree: str) -> str:
        less = {"more": "fewer", "most": "fewest"} if noun != "profit" else {"more": "less", "most": "least"}
        return degree if more else less[degree]

    @staticmethod
    def _cell_phrase(table: WorldTable, i: int, j: int, value: str) -> str:
        return f"{table.series.columns[j - 1].phrase.replace('{o}', value)} in {table.rows[i][0]}"

    def _compared_column(self, table: WorldTable) -> tuple[int, str, str]:
        j, column = self.rng.choice([place for place in enumerate(table.series.columns, start=1) if place[1].verb])
        return j, column.verb, column.noun

    def _other_number(self, table: WorldTable, i: int, j: int) -> str:
        """A number as likely as the cell's own: half the time that of another row, else a new draw."""
        if self.rng.random() < 0.5:
            return table.rows[self.rng.choice([k for k in range(len(table.rows)) if k != i])][j]
        return format_number(self.rng.choice(table.series.columns[j - 1].values))

    # --- Lists: facts of several entities -----------------------------------------------------

    def _list_lookup(self, table: WorldTable) -> Pair | None:
        facts = [fact for facts in self._own_facts(table) for fact in facts]
        if not facts:
            return None
        fact = self.rng.choice(facts)
        return Pair(
            f"{fact.subject.mention} {fact.said(self.rng, '{x}')}",
            fact.text,
            self._other_object(fact),
            self._told(fact),
        )

    def _list_conjunction(self, table: WorldTable) -> Pair | None:
        rows = [facts for facts in self._own_facts(table) if len(facts) > 1]
        if not rows:
            return None
        asked, other = self.rng.sample(self.rng.choice(rows), 2)
        halves = [asked.said(self.rng, "{x}"), other.said(self.rng)]
        self.rng.shuffle(halves)
        return Pair(
            f"{asked.subject.mention} {halves[0]} and {halves[1]}",
            asked.text,
            self._other_object(asked),
            self._told(asked, other),
        )

    def _list_superlative(self, table: WorldTable) -> Pair | None:
        facts = self._compared_facts(table)
        most = self.rng.random() < 0.5
        extreme = (max if most else min)(fact.number for fact in facts)
        best = [fact for fact in facts if fact.number == extreme]
        others = [fact for fact in facts if fact.number != extreme]
        if len(best) > 1:
            return None
        relation = best[0].relation
        phrase = (relation.more if most else relation.less).replace("{o}", f"any other of the {topic(table)}")
        return Pair(f"{{x}} {phrase}", best[0].subject.mention, self.rng.choice(others).subject.mention)

    def _list_compare(self, table: WorldTable) -> Pair | None:
        first, second = self.rng.sample(self._compared_facts(table), 2)
        if first.number == second.number or self._where(first) & self._where(second) != {table.id}:
            return None
        relation = first.relation
        more, less = (phrase.replace("{o}", second.subject.mention) for phrase in (relation.more, relation.less))
        phrases = (more, less) if first.number > second.number else (less, more)
        return Pair(f"{first.subject.mention} {{x}}", *phrases, self._told(first, second))

    def _list_count(self, table: WorldTable) -> Pair:
        facts = self._compared_facts(table)
        relation = facts[0].relation
        bound = self.rng.choice(relation.values[len(relation.values) // 4 : -len(relation.values) // 4])
        said = str(bound) if relation.draw == "year" else format_number(bound)
        counts = (
            sum(number > bound for number in numbers)
            for numbers in ([fact.number for fact in facts], [self.rng.choice(relation.values) for _ in facts])
        )
        verb, _, rest = relation.more_than.replace("{o}", said).partition(" ")
        return Pair(
            f"exactly {{x}} of the {len(facts)} {topic(table)} {_PLURAL.get(verb, verb)} {rest}", *map(str, counts)
        )

    def _own_facts(self, table: WorldTable) -> list[list[Fact]]:
        """The facts of each row that are in no other table and put nothing on a list."""
        rows = (
            [self.place.facts[entity.index][name] for name in table.header[1:] if (entity.kind, name) not in _LISTED_BY]
            for entity in table.members
        )
        return [[fact for fact in facts if self._where(fact) == {table.id}] for facts in rows]

    def _compared_facts(self, table: WorldTable) -> list[Fact]:
        """A column of numbers, drawn among the comparable ones; every listed kind has one."""
        members = [self.place.facts[entity.index] for entity in table.members]
        name = self.rng.choice([name for name in table.header[1:] if members[0][name].relation.more])
        return [facts[name] for facts in members]

    def _where(self, fact: Fact) -> set[str]:
        return self._tables_of.get(id(fact), set())

    def _other_object(self, fact: Fact) -> str:
        """An object as likely as the fact's own: half the time the companion's, else a new draw."""
        if self.rng.random() < 0.5:
            other = self.place.facts[fact.subject.companion][fact.relation.name]
            if other.target is not fact.subject:
                return other.text
        return self.geography.draw(fact.relation, fact.subject, self.place.entities, self.rng)[0]


def topic(table: WorldTable) -> str:
    """`Novels of Mara Velin (novelist)` as running text: `novels of the novelist Mara Velin`."""
    caption = table.caption.replace(table.owner.title, table.owner.mention)
    return ("members of the " if caption.startswith("Family") else "") + caption[0].lower() + caption[1:]
