"""Multi-hop attacks: an entity with its own page is described by a phrase from that page.

    appositive    X was directed by Rob Letterman.   ->  …, an American film director who co-wrote Shark Tale.
    wrong birth   X was directed by Rob Letterman.   ->  …, who was born in 1961.        (refuted: 1970)
    description   X was directed by Rob Letterman.   ->  X was directed by an American film director who ….
    participle    X is a 2016 action comedy film.    ->  … directed by an American screenwriter.
    by its role   Rob Letterman is American.         ->  The director of X is American.

An appositive, a participle and a role keep any label; a description in place of a name weakens the claim, which keeps
only the label of a supported claim without negation.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of, together
from lisax.adversary.corpus import AttackCorpus, Named
from lisax.adversary.prose import body, is_negated, readable, sentence
from lisax.adversary.statements import Phrase, Statements
from lisax.adversary.subjects import subject_of
from lisax.records import Claim, Label, split_sentence_id
from lisax.retrieval.titles import unqualified
from lisax.text.words import words

_BEFORE_NAME = re.compile(
    r"\b(?:by|with|in|of|from|to|for|stars|starred|starring|features|featured|featuring|"
    r"married|at|under|as|has|had|on)(?: the)?(?: [a-z]+)? $"
)
_IN_NAME = re.compile(r"[A-Z][\w.'-]* (?:of|for|in|and)(?: the)? $")  # `National Stock Exchange of India`
# `The first song by X` is not the first song by a band.
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
_BIRTH = "was born"


class MultiHop:
    kind = AttackKind.MULTI_HOP

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._makers = (self._appositive, self._wrong_birth, self._description, self._participle, self._role)

    def attack(self, claim: Claim) -> Iterator[Attack]:
        """At most one attack: the first applicable form, tried in random order."""
        if claim.label is None:
            return
        rng = random_of(self._seed, self.kind, claim.id)
        for make in rng.sample(self._makers, len(self._makers)):
            if (attack := make(claim, rng)) is not None:
                yield attack
                return

    # --- An entity named at the end of the claim ------------------------------------------------

    def _ending_name(self, claim: Claim) -> tuple[Named, str] | None:
        """The name at the end of the claim and its page, which must not be in the claim's evidence."""
        text = body(claim.text)
        names = self._corpus.names_in(text)
        if len(names) < 2 or text[names[-1].end :] not in ("", ".") or names[0].pages == names[-1].pages:
            return None
        page = self._corpus.meant(text, names[-1])
        known = {split_sentence_id(unit)[0] for unit in claim.gold_ids}
        before = text[: names[-1].start]
        if (
            page is None
            or page in known
            or not _BEFORE_NAME.search(before)
            or _IN_NAME.search(before)
            or not self._surely_means(claim, names[-1], page)
        ):
            return None
        return names[-1], page

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

    def _first_name(self, claim: Claim) -> str:
        named = self._corpus.names_in(claim.text)[0]
        return claim.text[named.start : named.end]

    def _appositive(self, claim: Claim, rng: random.Random) -> Attack | None:
        if (ending := self._ending_name(claim)) is None:
            return None
        about = self._corpus.about(ending[1])
        if words(claim.text[: ending[0].start])[-1:] == [about.noun]:
            return None  # `the climber Zolia Kresen, a climber` would be redundant
        if (described := _described(about, rng, self._first_name(claim))) is None:
            return None
        phrase, units = described
        return self._appended(claim, f", {phrase}", units, f"{about.name} is {phrase}, says its page")

    def _wrong_birth(self, claim: Claim, rng: random.Random) -> Attack | None:
        if claim.label is not Label.SUPPORTS or is_negated(claim.text) or (ending := self._ending_name(claim)) is None:
            return None
        about = self._corpus.about(ending[1])
        born = next((event for event in about.events if event.text == _BIRTH and event.date.year > 0), None)
        if born is None:
            return None
        wrong = born.date.year + rng.choice((-1, 1)) * rng.randint(3, 15)
        return Attack(
            self.kind,
            (claim.id,),
            sentence(f"{body(claim.text)}, who was born in {wrong}"),
            Label.REFUTES,
            ((born.unit,),),
            f"+ , who was born in {wrong}",
            f"{about.name} was born in {born.date.year}, not {wrong}",
        )

    def _description(self, claim: Claim, rng: random.Random) -> Attack | None:
        if claim.label is not Label.SUPPORTS or is_negated(claim.text) or (ending := self._ending_name(claim)) is None:
            return None
        named, page = ending
        about = self._corpus.about(page)
        text = body(claim.text)
        lead = text[: named.start]
        # `the novelist Faba Sulin` is replaced as a whole, without leaving `the`.
        lead = re.sub(r" the(?: [a-z]+)? $", " ", lead)
        if (
            (described := _described(about, rng, self._first_name(claim))) is None
            or lead.split()[-1] == "as"
            or _UNIQUE.search(lead)
        ):
            return None
        phrase, units = described
        return Attack(
            self.kind,
            (claim.id,),
            sentence(lead + phrase),
            claim.label,
            together(claim.evidence_sets, (units,)),
            f"{text[named.start :]} -> {phrase}",
            f"{about.name} is {phrase}, says its page",
        )

    # --- An added entity of the evidence ----------------------------------------------------------

    def _participle(self, claim: Claim, rng: random.Random) -> Attack | None:
        subject = subject_of(claim.text, self._corpus)
        work = subject and _WORK_IS.fullmatch(subject.predicate)
        if not work or " by " in work["noun"]:
            return None
        for role, unit, page in made_by(self._corpus, subject.page):
            about = self._corpus.about(page)
            if (described := _described(about, rng, self._corpus.about(subject.page).name)) is None:
                continue
            phrase, units = described
            verb = next(verb for verb, noun in ROLES.items() if noun == role)
            return self._appended(
                claim, f" {verb} by {phrase}", (unit, *units), f"it was {verb} by {about.name}, {phrase}"
            )
        return None

    def _role(self, claim: Claim, rng: random.Random) -> Attack | None:
        """Replaces the subject by its role in a work, if the work's own page names its maker."""
        subject = subject_of(claim.text, self._corpus)
        if subject is None or subject.number == "p":
            return None
        known = {split_sentence_id(unit)[0] for unit in claim.gold_ids}
        for work in self._works_of(subject.page):
            name = self._corpus.written(work)
            if work in known or work == subject.page or name is None or name in claim.text:
                continue
            for role, unit, maker in made_by(self._corpus, work):
                if maker == subject.page and role not in claim.text:
                    the = f"The {role} of {name}"
                    return Attack(
                        self.kind,
                        (claim.id,),
                        sentence(f"{the} {subject.predicate}"),
                        claim.label,
                        together(claim.evidence_sets, ((unit,),)),
                        f"{subject.written} -> {the}",
                        f"{subject.written} is t{the[1:]}",
                    )
        return None

    def _works_of(self, page: str) -> list[str]:
        """Pages that the subject's page names, in order."""
        return list(dict.fromkeys(meant for line in self._corpus.lines(page) for _, meant in line.names if meant))

    def _appended(self, claim: Claim, phrase: str, units: tuple[str, ...], reason: str) -> Attack:
        """Appends a true phrase: a refuted claim stays refuted by its own evidence alone."""
        refuted = claim.label is Label.REFUTES
        sets = claim.evidence_sets if refuted else together(claim.evidence_sets, (units,))
        return Attack(
            self.kind,
            (claim.id,),
            sentence(body(claim.text) + phrase),
            claim.label,
            sets,
            f"+ {phrase.strip()}",
            reason,
        )


def made_by(corpus: AttackCorpus, page: str) -> Iterator[tuple[str, str, str]]:
    """(role, sentence, maker's page) where a page says that one entity made its subject."""
    about = corpus.about(page)
    subjects = (about.name, f"The {about.noun}", "It ") if about.noun and not about.person else (about.name,)
    for line in corpus.lines(page):
        if not line.text.startswith(subjects):
            continue
        for named, maker in line.names:
            by, rest = _BY.search(line.text[: named.start]), line.text[named.end :]
            if by is None or maker in (None, page) or (_AFTER_ONE.match(rest) and not _GOES_ON.match(rest)):
                continue
            if not _NOT_OF_SUBJECT.search(line.text[len(about.name) : by.start()]):
                yield ROLES[by[1]], line.unit, maker


def _described(about: Statements, rng: random.Random, subject: str) -> tuple[str, tuple[str, ...]] | None:
    """A noun phrase, with or without a relative clause, and the sentences that support it. It does not mention the
    claim's `subject`, since it would add to the claim."""
    if about.description is None or subject in about.description.text:
        return None
    predicates: list[Phrase] = [
        p for p in about.predicates if subject not in p.text and not _repeats(p.text, about.description.text)
    ]
    if predicates and rng.random() < 0.7:
        said = rng.choice(predicates)
        units = tuple(dict.fromkeys((about.description.unit, said.unit)))
        return f"{about.description.text} {'who' if about.person else 'that'} {said.text}", units
    if len(about.description.text.split()) < 3:
        return None  # `a country` identifies nothing
    return about.description.text, (about.description.unit,)


def _repeats(predicate: str, description: str) -> bool:
    return bool(re.match(r"(?:is|was) (?:an?|the) ", predicate)) or set(words(predicate)) <= set(words(description))
