"""Tables, graphs and questions over the same facts as the pages."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence

from lisax.world.claims import Evidence
from lisax.world.facts import Entity, Fact, Neighbourhood
from lisax.world.pages import Page


@dataclasses.dataclass(slots=True)
class WorldTable:
    """`row` as written; `cells`: the cell ids that hold each fact, by id(fact)."""

    row: dict
    cells: dict[int, list[str]]


# Which lists a page carries: (kind of the page, relation of the listed entity that points to it, caption).
_LISTS = (("book", "author", "Novels"), ("film", "director", "Films"), ("album", "band", "Albums"),
          ("book", "publisher", "Publications"), ("album", "label", "Releases"), ("person", "teacher", "Pupils"),
          ("town", "river", "Towns on the banks"))


def tables_of(place: Neighbourhood, pages: Sequence[Page], rng: random.Random) -> list[WorldTable]:
    present = {page.entity.index for page in pages}
    tables = []
    for kind, relation, caption in _LISTS:
        groups: dict[int, list[Entity]] = {}
        for entity in place.entities:
            if entity.kind == kind:
                target = place.facts[entity.index][relation].target
                if target is not None and target.index in present:
                    groups.setdefault(target.index, []).append(entity)
        for index, members in sorted(groups.items()):
            if len(members) >= 2:
                tables.append(_list_table(place, place.entities[index], members, relation, caption, rng))
    return tables


def _list_table(place: Neighbourhood, owner: Entity, members: list[Entity], relation: str, caption: str,
                rng: random.Random) -> WorldTable:
    columns = [name for name in place.facts[members[0].index] if name != relation]
    rng.shuffle(members)
    table = f"{owner.page}:{caption.split()[0].lower()}"
    cells: dict[int, list[str]] = {}
    rows = []
    for i, member in enumerate(members):
        facts = place.facts[member.index]
        rows.append([member.title] + [facts[name].text for name in columns])
        cells.setdefault(id(facts[relation]), []).append(f"{table}#r{i}c0")
        for j, name in enumerate(columns, start=1):
            cells.setdefault(id(facts[name]), []).append(f"{table}#r{i}c{j}")
    return WorldTable({"id": table, "title": owner.title, "header": [members[0].kind, *columns], "rows": rows,
                       "caption": f"{caption} of {owner.title}", "page": owner.page}, cells)


def graph_row(place: Neighbourhood, page: Page) -> dict:
    """Every fact of the page's subject; `sentences` names, edge by edge, the sentence that states it, or null."""
    entity = page.entity
    where: dict[int, int] = {}
    for number, (_, facts) in enumerate(page.sentences):
        for fact in facts:
            where.setdefault(id(fact), number)
    facts: list[Fact] = list(place.facts[entity.index].values())
    return {"id": f"{entity.page}:graph", "subject": entity.title,
            "edges": [["kind", entity.role], *([f.relation.name, f.text] for f in facts)], "page": entity.page,
            "sentences": [0, *(where.get(id(f)) for f in facts)]}


def questions_of(place: Neighbourhood, page: Page, evidence: Evidence, tables: Sequence[WorldTable],
                 rng: random.Random) -> Iterator[dict]:
    """One question a page about a fact that a sentence or a cell holds, with all ids that hold it."""
    facts = list(place.facts[page.entity.index].values())
    rng.shuffle(facts)
    for fact in facts:
        ids = [*evidence.ids(fact), *(i for table in tables for i in table.cells.get(id(fact), ()))]
        if ids:
            yield {"question": fact.relation.question.replace("{s}", fact.subject.mention), "answers": [fact.text],
                   "evidence": ids}
            return
