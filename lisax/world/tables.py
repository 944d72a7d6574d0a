"""Tables and graphs over the same facts as the pages, and tables of series with facts of their own.

A list ("Novels of Mara Velin", "Towns around Tarn") repeats facts of several pages, including facts that no sentence
states. A series ("Seasons of Tarn United") has a row of numbers for each year. A page's graph has every fact of its
subject. Labels of claims depend only on pages; tables and graphs know more than the pages.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence

from lisax.records import edge_id, row_id, split_cell_id
from lisax.world.facts import FAMILIES, Entity, Fact, Neighbourhood, format_number
from lisax.world.pages import WorldPage
from lisax.world.phrases import SERIES, WORK_ERA, Series


@dataclasses.dataclass(slots=True)
class WorldTable:
    """`cells`: ids of the cells that contain a fact, by id(fact). `members` has the entity of each row of a list,
    `series` is set for tables of series."""

    id: str
    owner: Entity
    header: list[str]
    rows: list[list[str]]
    caption: str
    cells: dict[int, list[str]]
    members: Sequence[Entity] = ()
    series: Series | None = None

    def numbers(self, j: int) -> list[int]:
        """The numbers of a column, row by row."""
        return [int(row[j].replace(",", "")) for row in self.rows]

    def row(self) -> dict:
        return {
            "id": self.id,
            "title": self.owner.title,
            "header": self.header,
            "rows": self.rows,
            "caption": self.caption,
            "page": self.owner.page,
        }


# (kind listed, relation from the listed entity to the page's subject, caption)
LISTS = (
    ("book", "author", "Novels"),
    ("film", "director", "Films"),
    ("film", "star", "Roles"),
    ("album", "band", "Albums"),
    ("book", "publisher", "Publications"),
    ("album", "label", "Releases"),
    ("album", "producer", "Productions"),
    ("person", "teacher", "Pupils"),
    ("town", "river", "Riverside towns"),
)


def tables_of(place: Neighbourhood, pages: Sequence[WorldPage], rng: random.Random) -> list[WorldTable]:
    """The tables on `pages`; a list has at least two rows, a series four to eight years."""
    present = {page.entity.index for page in pages}
    tables = []
    for kind, relation, caption in LISTS:
        owners: dict[int, list[Entity]] = {}
        for entity in place.of_kind(kind):
            target = place.facts[entity.index][relation].target
            if target is not None:
                owners.setdefault(target.index, []).append(entity)
        for index, members in sorted(owners.items()):
            if index in present and len(members) >= 2:
                tables.append(_list(place, place.entities[index], members, relation, caption, "of", rng))
    towns = place.of_kind("town")
    if towns[0].index in present:
        tables.append(_list(place, towns[0], towns, None, "Towns", "around", rng))
    people = place.of_kind("person")
    for family in FAMILIES:
        members = [people[i] for i in family]
        if members[0].index in present:
            tables.append(_list(place, members[0], members, "teacher", "Family", "of", rng))
    tables.extend(
        _series(page.entity, SERIES[page.entity.kind], rng)
        for page in sorted(pages, key=lambda page: page.entity.index)
        if page.entity.kind in SERIES
    )
    return tables


def _list(
    place: Neighbourhood,
    owner: Entity,
    members: list[Entity],
    left_out: str | None,
    caption: str,
    preposition: str,
    rng: random.Random,
) -> WorldTable:
    columns = [name for name in place.facts[members[0].index] if name != left_out]
    members = rng.sample(members, len(members))
    table = f"{owner.page}:{caption.replace(' ', '_').lower()}"
    cells: dict[int, list[str]] = {}
    rows = []
    for i, member in enumerate(members):
        facts = place.facts[member.index]
        rows.append([member.title, *(facts[name].cell for name in columns)])
        if left_out is not None and facts[left_out].target is owner:  # being on the list is itself the fact
            cells.setdefault(id(facts[left_out]), []).append(f"{table}#r{i}c0")
        for j, name in enumerate(columns, start=1):
            cells.setdefault(id(facts[name]), []).append(f"{table}#r{i}c{j}")
    title = f"{caption} {preposition} {owner.title}"
    return WorldTable(table, owner, [members[0].kind, *columns], rows, title, cells, members)


def _series(owner: Entity, series: Series, rng: random.Random) -> WorldTable:
    first, count = rng.choice(WORK_ERA[:-8]), rng.randint(4, 8)
    rows = [
        [str(year), *(format_number(rng.choice(column.values)) for column in series.columns)]
        for year in range(first, first + count)
    ]
    header = ["year", *(column.name for column in series.columns)]
    table, title = f"{owner.page}:{series.caption.lower()}", f"{series.caption} of {owner.title}"
    return WorldTable(table, owner, header, rows, title, {}, series=series)


def row_of_cell(cell: str) -> str:
    table, row, _ = split_cell_id(cell)
    return row_id(table, row)


def edges_of(place: Neighbourhood, page: WorldPage) -> Iterator[tuple[Fact, str]]:
    """The facts of the page's graph with the ids of their edges; edge 0 is the kind of its subject."""
    for number, fact in enumerate(place.facts[page.entity.index].values(), start=1):
        yield fact, edge_id(f"{page.entity.page}:graph", number)


def graph_row(place: Neighbourhood, page: WorldPage) -> dict:
    """Every fact of the page's subject; `sentences` has, edge by edge, the sentence that states it, or null."""
    entity = page.entity
    where: dict[int, int] = {}
    for number, (_, facts) in enumerate(page.sentences):
        for fact in facts:
            where.setdefault(id(fact), number)
    facts = [fact for fact, _ in edges_of(place, page)]
    return {
        "id": f"{entity.page}:graph",
        "subject": entity.title,
        "edges": [["kind", entity.role], *([fact.relation.name, fact.cell] for fact in facts)],
        "page": entity.page,
        "sentences": [0, *(where.get(id(fact)) for fact in facts)],
    }
