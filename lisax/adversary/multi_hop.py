"""Multi-hop attacks: an entity with its own page is described by a phrase that its page states, or contradicts.

    appositive    X was directed by Rob Letterman.   ->  …, an American film director who co-wrote Shark Tale.
                                                         …, a Canadian film director who co-wrote Shark Tale.
    event         X was directed by Rob Letterman.   ->  …, who was born in 1970.  |  …, who was born in 1961.
    description   X was directed by Rob Letterman.   ->  X was directed by an American film director who ….
    participle    X is a 2016 action comedy film.    ->  … directed by an American screenwriter.
    by its role   Rob Letterman is American.         ->  The director of X is American.

The label depends on the second page. Of all but roles there are two attacks, which differ only in one word or year
(`Falsehoods`): of a supported claim one stays supported and needs both pages, and one is refuted; of an undecided one
one stays undecided, and one is refuted by the second page. Refuted claims, which stay so with any statement on an
entity, only take a role in the place of their subject.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterable, Iterator, Sequence

from lisax.adversary.attack import Attack, AttackKind, random_of, together
from lisax.adversary.corpus import AttackCorpus, Named, subject_of
from lisax.adversary.falsehoods import Falsehoods, other_year
from lisax.adversary.prose import at_end, body, is_negated, readable, sentence
from lisax.adversary.statements import verb_phrase
from lisax.records import Claim, Label, split_sentence_id
from lisax.retrieval.titles import unqualified
from lisax.text.words import words

_BEFORE_NAME = re.compile(
    r"\b(?:by|with|in|of|from|to|for|stars|starred|starring|features|featured|featuring|"
    r"married|at|under|as|has|had|on)(?: the)?(?: [a-z]+)? $"
)
_IN_NAME = re.compile(r"[A-Z][\w.'-]* (?:of|for|in|and)(?: the)? $")  # `National Stock Exchange of India`
# `The first song by X` is not the first song by a band.
_AFTER_NAME = re.compile(r"\.?$| (?:in|on|from|at|for|with|by|during|as|is|was|has|had|starred|stars|appeared|\w+ed) ")
_UNIQUE = re.compile(r"\b(?:first|second|third|last|only|best|most|every|all|same|\w+est|\w+th)\b")
ROLES = {
    "directed": "director",
    "written": "writer",
    "authored": "author",
    "produced": "producer",
    "founded": "founder",
    "created": "creator",
    "composed": "composer",
    "designed": "designer",
    "taught": "teacher",
    "coached": "coach",
    "managed": "manager",
}
_BY = re.compile(rf"\b({'|'.join(ROLES)}) by (?:the )?(?:[a-z]+ )?$")
_WORK_IS = re.compile(
    r"(?:is|was) an? (?P<noun>[^,;:\"]*?\b(?:film|movie|album|song|novel|book|series|show|sitcom|"
    r"play|musical|band|company|organization|magazine|game|soundtrack|single|town|river|mountain))"
)
_AFTER_ONE = re.compile(r"^\s*(?:,|and\b|or\b|&|/|who\b|with\b|\()")
_GOES_ON = re.compile(r" and (?:star|also|is|was|[a-z]+s )")
_NOT_OF_SUBJECT = re.compile(r"\b(?:and|or|sequel|based|sister|brother)\b")


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """A page's statement on its subject, the same with a falsehood in it, and the sentences for each: all that the true
    phrase needs, and the sentence that refutes the false one."""

    true: str
    false: str
    units: tuple[str, ...]
    refuting: str


class MultiHop:
    kind = AttackKind.MULTI_HOP

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._falsehoods = Falsehoods(corpus)
        self._makers = (self._appositive, self._event, self._description, self._participle, self._role)

    def attack(self, claim: Claim) -> Iterator[Attack]:
        """The attacks of the first applicable form, tried in random order."""
        if claim.label is None:
            return
        rng = random_of(self._seed, self.kind, claim.id)
        makers = (self._role,) if claim.label is Label.REFUTES or is_negated(claim.text) else self._makers
        for make in rng.sample(makers, len(makers)):
            if made := make(claim, rng):
                yield from made
                return

    # --- An entity that the claim names ----------------------------------------------------------

    def _named(self, claim: Claim) -> list[tuple[Named, str]]:
        """Names to which a phrase can be added, and their pages, which must not be in the claim's evidence."""
        names = self._corpus.names_in(claim.text)
        known = {split_sentence_id(unit)[0] for unit in claim.gold_ids} | (
            {page for named in names[:1] for page in named.pages} if not claim.evidence_sets else set()
        )
        return [
            (named, page)
            for named in reversed(names)
            if (page := self._corpus.meant(claim.text, named)) is not None
            and page not in known
            and self._takes_phrase(claim, named)
            and self._surely_means(claim, named, page)
        ]

    def _takes_phrase(self, claim: Claim, named: Named) -> bool:
        before, after = claim.text[: named.start], claim.text[named.end :]
        if at_end(_IN_NAME, before) or not _AFTER_NAME.match(after):
            return False
        return bool(_BEFORE_NAME.search(before)) or (not before and verb_phrase(after.strip()) is not None)

    def _surely_means(self, claim: Claim, named: Named, page: str) -> bool:
        """Whether a name surely means a page. A page with a qualifier has namesakes, in this corpus or beyond: its bare
        name means it only if the evidence has the name too. Lower-case words (`DC comics`) are not names."""
        name, qualifier = unqualified(self._corpus.page(page).title)
        written = claim.text[named.start : named.end]
        if written.split()[-1][0].islower() and name.split()[-1][0].isupper():
            return False
        return (
            not qualifier
            or qualifier in claim.text
            or any(written in readable(self._corpus.text(unit)) for unit in claim.gold_ids)
        )

    def _appositive(self, claim: Claim, rng: random.Random) -> list[Attack]:
        for named, page in self._named(claim):
            if words(claim.text[: named.start])[-1:] == [self._corpus.about(page).noun]:
                continue  # `the climber Zolia Kresen, a climber` would be redundant
            if (said := self._described(page, rng, self._others(claim, named))) is not None:
                return self._inserted(claim, named, page, said)
        return []

    def _event(self, claim: Claim, rng: random.Random) -> list[Attack]:
        for named, page in self._named(claim):
            if (said := self._one_event(page, rng)) is not None:
                return self._inserted(claim, named, page, said)
        return []

    def _inserted(self, claim: Claim, named: Named, page: str, said: _Said) -> list[Attack]:
        """The claim with the phrase after a name, between commas."""
        before, after = claim.text[: named.end], claim.text[named.end :]
        if not after.strip(" ."):
            before, after = body(claim.text), ""
        comma = "," if after else ""
        texts = (f"{before}, {phrase}{comma}{after}" for phrase in (said.true, said.false))
        edits = (f"+ , {phrase}" for phrase in (said.true, said.false))
        return self._pair(claim, texts, edits, self._corpus.about(page).name, said, said.units, (said.refuting,))

    def _description(self, claim: Claim, rng: random.Random) -> list[Attack]:
        """A description in the place of the name of the maker of the claim's subject: another maker's is false."""
        text = body(claim.text)
        subject = subject_of(claim.text, self._corpus)
        made = {} if subject is None else {one: unit for _, unit, one in made_by(self._corpus, subject.page)}
        for named, page in self._named(claim):
            # `the novelist Faba Sulin` is replaced as a whole, without leaving `the`.
            lead = re.sub(r" the(?: [a-z]+)? $", " ", text[: named.start])
            if claim.label is not Label.SUPPORTS or page not in made or text[named.end :] or _UNIQUE.search(lead):
                continue
            if _BY.search(lead) and (said := self._described(page, rng, self._others(claim, named))) is not None:
                texts = (lead + said.true, lead + said.false)
                edits = (f"{text[named.start :]} -> {phrase}" for phrase in (said.true, said.false))
                refuting = (made[page], said.refuting)
                return self._pair(claim, texts, edits, self._corpus.about(page).name, said, said.units, refuting)
        return []

    # --- An added entity of the evidence ----------------------------------------------------------

    def _participle(self, claim: Claim, rng: random.Random) -> list[Attack]:
        subject = subject_of(claim.text, self._corpus)
        work = subject and _WORK_IS.fullmatch(subject.predicate)
        if not work or " by " in work["noun"]:
            return []
        for role, unit, page in made_by(self._corpus, subject.page):
            if (said := self._described(page, rng, [self._corpus.about(subject.page).name])) is None:
                continue
            verb = next(verb for verb, noun in ROLES.items() if noun == role)
            phrases = [f"{verb} by {phrase}" for phrase in (said.true, said.false)]
            texts = (f"{body(claim.text)} {phrase}" for phrase in phrases)
            edits = (f"+ {phrase}" for phrase in phrases)
            name = f"it was {verb} by {self._corpus.about(page).name}, who"
            return self._pair(claim, texts, edits, name, said, (unit, *said.units), (unit, said.refuting))
        return []

    def _pair(
        self,
        claim: Claim,
        texts: Iterable[str],
        edits: Iterable[str],
        name: str,
        said: _Said,
        units: tuple[str, ...],
        refuting: tuple[str, ...],
    ) -> list[Attack]:
        """The attack with a true phrase, which keeps the label, and the one with a false phrase, which is refuted."""
        true, false = texts
        of_true, of_false = edits
        sets = together(claim.evidence_sets, (units,)) if claim.label is Label.SUPPORTS else ()
        told = f"{name}: {said.true}, says its page"
        denied = f"{told}, not {said.false}"
        return [
            Attack(self.kind, (claim.id,), sentence(true), claim.label, sets, of_true, told),
            Attack(self.kind, (claim.id,), sentence(false), Label.REFUTES, (refuting,), of_false, denied),
        ]

    def _others(self, claim: Claim, named: Named) -> list[str]:
        """The claim's other names, which nothing that is added may speak of."""
        return [claim.text[one.start : one.end] for one in self._corpus.names_in(claim.text) if one != named]

    def _described(self, page: str, rng: random.Random, subjects: Sequence[str]) -> _Said | None:
        """A noun phrase, with or without a relative clause. It does not mention the claim's `subjects`, since it would
        add to the claim."""
        about = self._corpus.about(page)
        if about.description is None or any(subject in about.description.text for subject in subjects):
            return None
        true, units = about.description.text, (about.description.unit,)
        false = self._falsehoods.of_description(page, rng)
        if false is None or rng.random() < 0.2:
            return self._dated(page, true, units, rng)
        predicates = [
            phrase
            for phrase in about.predicates
            if not any(subject in phrase.text for subject in subjects) and not _repeats(phrase.text, true)
        ]
        if predicates and rng.random() < 0.7:
            more = rng.choice(predicates)
            clause = f" {'who' if about.person else 'that'} {more.text}"
            return _Said(true + clause, false + clause, tuple(dict.fromkeys((*units, more.unit))), units[0])
        return _Said(true, false, units, units[0])

    def _dated(self, page: str, description: str, units: tuple[str, ...], rng: random.Random) -> _Said | None:
        """A description with the year of an event: `a novelist who was born in 1872`."""
        if (event := self._one_event(page, rng)) is None:
            return None
        true, false = (f"{description} {phrase}" for phrase in (event.true, event.false))
        return _Said(true, false, tuple(dict.fromkeys((*units, *event.units))), event.refuting)

    def _one_event(self, page: str, rng: random.Random) -> _Said | None:
        about = self._corpus.about(page)
        events = [event for event in about.events if event.date.year > 0]
        if not events or not about.known:
            return None
        event = rng.choice(events)
        who, year = "who" if about.person else "which", event.date.year
        true, false = (f"{who} {event.text} in {one}" for one in (year, other_year(year, rng)))
        return _Said(true, false, (event.unit,), event.unit)

    def _role(self, claim: Claim, rng: random.Random) -> list[Attack]:
        """Replaces the subject by its role in a work, if the work's own page names its maker."""
        subject = subject_of(claim.text, self._corpus)
        if subject is None or subject.number == "p":
            return []
        known = {split_sentence_id(unit)[0] for unit in claim.gold_ids}
        works = (meant for line in self._corpus.lines(subject.page) for _, meant in line.names if meant)
        for work in dict.fromkeys(works):
            name = self._corpus.written(work)
            if work in known or work == subject.page or name is None or name in claim.text:
                continue
            for role, unit, maker in made_by(self._corpus, work):
                if maker == subject.page and role not in claim.text:
                    the = f"The {role} of {name}"
                    sets = together(claim.evidence_sets, ((unit,),)) if claim.evidence_sets else ()
                    text, edit = sentence(f"{the} {subject.predicate}"), f"{subject.written} -> {the}"
                    reason = f"{subject.written} is t{the[1:]}"
                    return [Attack(self.kind, (claim.id,), text, claim.label, sets, edit, reason)]
        return []


def made_by(corpus: AttackCorpus, page: str) -> Iterator[tuple[str, str, str]]:
    """(role, sentence, maker's page) for a page that names one entity as its subject's maker."""
    about = corpus.about(page)
    subjects = (about.name, f"The {about.noun}", "It ") if about.noun and not about.person else (about.name,)
    for line in corpus.lines(page):
        subject = next((one for one in subjects if line.text.startswith(one)), None)
        if subject is None or (subject != about.name and line.text[len(subject) :].lstrip()[:1].isupper()):
            continue  # `The album Osk` is another one
        for named, maker in line.names:
            by, rest = _BY.search(line.text[: named.start]), line.text[named.end :]
            if by is None or maker in (None, page) or (_AFTER_ONE.match(rest) and not _GOES_ON.match(rest)):
                continue
            if not _NOT_OF_SUBJECT.search(line.text[len(about.name) : by.start()]):
                yield ROLES[by[1]], line.unit, maker


def _repeats(predicate: str, description: str) -> bool:
    return bool(re.match(r"(?:is|was) (?:an?|the) ", predicate)) or set(words(predicate)) <= set(words(description))
