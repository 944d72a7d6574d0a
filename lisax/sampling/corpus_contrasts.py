"""Makes contrasts from the sentences of a training split: one value exchanged, in the claim or in its evidence (ours).

A supported claim and its sentence give six examples or twelve: the claim and a copy with another year, number, name or
role, each with the sentence, with a copy of the sentence that has the other value, and with a sentence of another
page; and the same with both claims negated. Only values that both texts have are exchanged, for values of the same kind
elsewhere in the split.
Never give it claims of dev or test.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from lisax.formats.examples import Example
from lisax.records import Claim, Label
from lisax.sampling.contrasts import triples
from lisax.sampling.examples import Lookup
from lisax.text import quantities
from lisax.text.dates import MONTHS, YEAR

# A year decides a claim about something that happens once.
_ONCE = re.compile(
    r"\bdied\b|\b(?:was|were)\b[^.]{0,60}\b(?:born|founded|established|released|published|formed|built|opened|launched)\b"
)
_YEAR = re.compile(rf"\b{YEAR}\b")
_NAME = r"[A-Z][^\W\d_]++(?: [A-Z][^\W\d_]++){0,2}+"
_NAMED = re.compile(rf"\b(?:directed|written|composed|painted|founded|designed|discovered|invented) by ({_NAME})")
_PLACE = re.compile(rf"\b(?:born|died) in ({_NAME})")
_LONGER = re.compile(r"^(?:[ -][A-Z]|\w)")
_ROLES = {"preceded": "succeeded", "succeeded": "preceded", "predecessor": "successor", "successor": "predecessor"}
_ROLE = re.compile(rf"\b(?:{'|'.join(_ROLES)})\b")
_BOUND = re.compile(
    r"\b(?:about|after|around|at|before|between|both|by|during|from|least|less|more|most|not|never|only|over|since|than|"
    r"under|until)\b"
)
_NEGATED = re.compile(r"\b(is|was|are|were)\b(?! not\b)")
# A claim whose negation may mean something else.
_SCOPED = re.compile(r"\b(?:all|and|any|but|every|n't|never|no|none|not|or|some|that|which|who|whose)\b|'s\b|,")


def supported(claims: Iterable[Claim], lookup: Lookup) -> Iterator[Example]:
    """The supported claims that one sentence suffices for, with that sentence."""
    for claim in claims:
        gold = next((lookup(units[0]) for units in claim.evidence_sets if len(units) == 1), None)
        if claim.label is Label.SUPPORTS and gold is not None:
            yield Example(claim.id, claim.text, (gold,), label=claim.label)


def of_sentences(examples: Iterable[Example], seed: int = 0) -> Iterator[Example]:
    """Six or twelve examples of each supported example of one sentence that a rule fits; the others give none."""
    fitting = [(example, found) for example in examples if (found := _value(example)) is not None]
    pools: dict[str, dict[str, None]] = defaultdict(dict)
    for _, (kind, value) in fitting:
        pools[kind][value] = None
    for example, (kind, value) in fitting:
        rng = random.Random(f"lisax.contrasts:{seed}:{example.claim_id}")
        (gold,) = example.sentences
        foreign = [other.sentences[0] for other, _ in rng.sample(fitting, min(8, len(fitting)))]
        foreign = [passage for passage in foreign if passage.title != gold.title]
        pool = {"role": [_ROLES.get(value, "")], "month": MONTHS}.get(kind, pools[kind])
        others = [text for text in pool if text not in gold.text]
        if not foreign or not others:
            continue
        other = rng.choice(others)
        changed = dataclasses.replace(gold, text=gold.text.replace(value, other))
        claims = [example.claim, example.claim.replace(value, other)]
        evidence = [[gold], [changed], [foreign[0]]]
        yield from triples(f"{example.claim_id}~{kind}", claims, evidence)
        denied = [_NEGATED.sub(r"\1 not", claim) for claim in claims]
        if len(_NEGATED.findall(example.claim)) == 1 and not _SCOPED.search(example.claim):
            yield from triples(f"{example.claim_id}~not", denied, [evidence[1], evidence[0], evidence[2]])


def _value(example: Example) -> tuple[str, str] | None:
    """The kind and the text of the one value that decides a claim; its sentence has it once, its title does not."""
    if len(example.sentences) != 1 or example.label is not Label.SUPPORTS:
        return None
    claim, (gold,) = example.claim, example.sentences

    def decides(value: str) -> bool:
        once = claim.count(value) == gold.text.count(value) == 1 and value not in gold.title
        # Nothing that is a part of a longer name: "John" of "John R. Leonetti".
        return once and not any(
            _LONGER.search(text[text.index(value) + len(value) :][:3]) for text in (claim, gold.text)
        )

    if (match := _ROLE.search(claim)) and decides(match[0]) and not _ROLE.search(claim, match.end()):
        return ("role", match[0]) if len(_ROLE.findall(gold.text)) == 1 else None
    for kind, pattern in (("name", _NAMED), ("place", _PLACE)):
        if (match := pattern.search(claim)) and decides(match[1]) and "includ" not in gold.text:
            return "month" if match[1] in MONTHS else kind, match[1]
    if _BOUND.search(claim):
        return None
    if (match := _YEAR.search(claim)) and _ONCE.search(claim):
        return ("year", match[0]) if decides(match[0]) and len(_YEAR.findall(gold.text)) == 1 else None
    for found in quantities.find(claim):
        text = claim[found.start : found.end]
        plain = found.exact and found.kind in (quantities.Kind.PERCENT, quantities.Kind.CURRENCY)
        if plain and decides(text):
            return f"{found.kind} {found.unit}".strip(), text
    return None
