"""Questions about the facts of pages with answers, and every sentence, cell and edge that contains the answer.

Questions about a single table are in `table_questions`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from lisax.world.claims import WorldEvidence
from lisax.world.facts import Fact, Neighbourhood
from lisax.world.pages import WorldPage
from lisax.world.tables import WorldTable


def questions_of(
    place: Neighbourhood,
    page: WorldPage,
    evidence: WorldEvidence,
    tables: Sequence[WorldTable],
    rng: random.Random,
    count: int = 1,
) -> Iterator[dict]:
    """At most `count` questions about one fact of the page's subject, and one about two facts.

    `fact`: one fact, from sentences, cells of lists, or edges. `two_facts`: by way of another entity, for one page in
    three; its evidence is sentences and edges of both, because no row or column states it whole.
    """
    facts = list(place.facts[page.entity.index].values())
    rng.shuffle(facts)
    told = (fact for fact in facts if evidence.ids(fact) or answering_cells(fact, tables))
    for fact in itertools.islice(told, count):
        yield _question(
            "fact",
            fact,
            fact.subject.mention,
            [*evidence.ids(fact), *answering_cells(fact, tables), *evidence.edges(fact)],
        )
    if rng.random() < 1 / 3:
        bridges = [(fact, ids) for fact in facts if fact.relation.noun and (ids := evidence.ids(fact))]
        if bridges:
            bridge, bridge_ids = rng.choice(bridges)
            fact = rng.choice(list(place.facts[bridge.target.index].values()))
            if ids := evidence.ids(fact):
                yield _question(
                    "two_facts",
                    fact,
                    f"the {bridge.relation.noun} of {bridge.subject.mention}",
                    list(dict.fromkeys([*bridge_ids, *ids, *evidence.edges(bridge), *evidence.edges(fact)])),
                )


def answering_cells(fact: Fact, tables: Sequence[WorldTable]) -> list[str]:
    """The cells that contain the fact's object. That a list contains its subject at all is not an answer."""
    return [cell for table in tables for cell in table.cells.get(id(fact), ()) if not cell.endswith("c0")]


def _question(kind: str, fact: Fact, mention: str, ids: list[str]) -> dict:
    return {
        "question": fact.relation.question.replace("{s}", mention),
        "answers": answers_of(fact),
        "evidence": ids,
        "kind": kind,
    }


def answers_of(fact: Fact) -> list[str]:
    """The ways to write the fact's object."""
    answers = [fact.text]
    if fact.target is not None:
        answers += [fact.target.title, fact.target.name]
    elif fact.number is not None:
        answers.append(str(fact.number))
    return list(dict.fromkeys(answers))
