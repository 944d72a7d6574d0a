"""A world whose facts are known: what each sentence states, and what each claim means."""

import dataclasses

from lisax.adversary.corpus import AttackCorpus
from lisax.records import Claim, Label
from lisax.world.claims import ClaimWriter
from lisax.world.writing import neighbourhoods


@dataclasses.dataclass(frozen=True)
class KnownWorld:
    """`facts`: sentence id to its (subject title, relation, text, number, target title); `forms` by claim id."""

    corpus: AttackCorpus
    claims: dict[str, Claim]
    forms: dict[str, object]
    facts: dict[str, list[tuple]]

    def known(self, units) -> list[tuple]:
        return [fact for unit in units for fact in self.facts[unit]]


def told(fact) -> tuple:
    """(subject title, relation, text, number, target title)"""
    return fact.subject.title, fact.relation.name, fact.text, fact.number, fact.target and fact.target.title


def make(pages: int = 400, seed: int = 5, claims_per_page: int = 4) -> KnownWorld:
    facts, claims, forms, documents = {}, {}, {}, {}
    for geography, place, written in neighbourhoods(pages, seed):
        for page in written:
            document = page.document()
            documents[document.id] = document
            for number, (_, stated) in enumerate(page.sentences):
                facts[f"{document.id}_{number}"] = list(map(told, stated))
        writer = ClaimWriter(geography, place, written, geography.rng(place.number, "claims"))
        for page in written:
            for stated in writer.claims(page.entity, claims_per_page):
                id = f"c{len(claims)}"
                claims[id], forms[id] = dataclasses.replace(stated.claim, id=id), stated.form
    return KnownWorld(AttackCorpus(documents.__getitem__, documents.values()), claims, forms, facts)


def decide(form, known) -> Label | None:
    """The label that stated facts give to a logical form, or None where they do not decide it."""
    objects = {(subject, relation): (text, number, target) for subject, relation, text, number, target in known}
    if form.operator == "=" and len(form.values) == 2:
        truths = [objects[step][0] == value for step, value in zip(form.steps, form.values) if step in objects]
        return Label.REFUTES if False in truths else Label.SUPPORTS if len(truths) == 2 else None
    if form.operator == "=":
        if form.steps[0] not in objects:
            return None
        text, _, target = objects[form.steps[0]]
        for _, relation in form.steps[1:]:
            if (target, relation) not in objects:
                return None
            text, _, target = objects[target, relation]
        return Label.SUPPORTS if (text,) == form.values else Label.REFUTES
    if any(step not in objects for step in form.steps):
        return None
    numbers = [objects[step][1] for step in form.steps]
    right = form.values[0] if form.values else numbers[1]
    return Label.SUPPORTS if (numbers[0] > right if form.operator == ">" else numbers[0] < right) else Label.REFUTES


def joined(first: Label | None, second: Label | None) -> Label | None:
    if Label.REFUTES in (first, second):
        return Label.REFUTES
    return Label.SUPPORTS if first is second is Label.SUPPORTS else None
