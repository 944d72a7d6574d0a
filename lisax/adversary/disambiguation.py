"""Entity disambiguation attacks: a claim about another page with the same surface name, which is all that the claim
gives.

    Kate Hudson is an American actress.   ->   Kate Hudson is a British left wing political activist.

The label is SUPPORTS with the other page's sentence, as in all of the authors' examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.prose import readable, sentence, without_parentheses
from lisax.records import Claim, Label, split_sentence_id
from lisax.retrieval.titles import unqualified


class Disambiguation:
    """Uses each sentence of a namesake once."""

    kind = AttackKind.DISAMBIGUATION

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._used: set[str] = set()

    def attack(self, claim: Claim) -> Iterator[Attack]:
        rng = random_of(self._seed, self.kind, claim.id)
        for page, name in self._subjects(claim):
            namesakes = [
                other
                for other in self._corpus.pages_named(name)
                if other != page and unqualified(self._corpus.page(other).title)[0] == name
            ]
            for other in rng.sample(namesakes, len(namesakes)):
                said = self._said(other, name, page)
                fresh = [(unit, text) for unit, text in said if text not in self._used]
                if fresh:
                    unit, text = rng.choice(fresh)
                    self._used.add(text)
                    yield Attack(
                        self.kind,
                        (claim.id,),
                        text,
                        Label.SUPPORTS,
                        ((unit,),),
                        f"{page} -> {other}",
                        f'"{name}" is also the name of {other}, whose page says so',
                    )
                    return

    def _subjects(self, claim: Claim) -> list[tuple[str, str]]:
        """(page, its name) of the claim's first name, and of the pages of its evidence if the claim names them."""
        pages = [split_sentence_id(unit)[0] for unit in claim.gold_ids]
        for named in self._corpus.names_in(claim.text)[:1]:
            meant = self._corpus.meant(claim.text, named)
            pages = [meant, *pages] if meant else [*(p for p in named.pages if p in pages)] or list(named.pages[:1])
        return [
            (page, name)
            for page in dict.fromkeys(pages)
            if page in self._corpus
            if (name := unqualified(self._corpus.page(page).title)[0]) in claim.text
        ]

    def _said(self, page: str, name: str, instead: str) -> list[tuple[str, str]]:
        """Claims about `page` under the shared name, which its own sentences support."""
        about = self._corpus.about(page)
        said = [(phrase.unit, sentence(f"{name} {phrase.text}")) for phrase in about.predicates]
        if about.description is not None:
            first = without_parentheses(readable(self._corpus.text(about.description.unit)))
            verb = "was" if f" was {about.description.text}" in first else "is"
            said.append((about.description.unit, sentence(f"{name} {verb} {about.description.text}")))
        theirs = {phrase.text for phrase in self._corpus.about(instead).predicates}
        return [(unit, text) for unit, text in said if text.removeprefix(f"{name} ").rstrip(".") not in theirs]
