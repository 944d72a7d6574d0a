"""Additional unverifiable proposition attacks: a statement of the corpus on another entity of the same kind is made of
the claim's subject too, so that nothing decides it.

    Craig David is a pop music performer.   ->   Craig David is a pop music performer who has toured with Adele.

Only supported claims are used: a refuted one stays refuted whatever is added. Additions come from other pages, and from
the predicates of supported claims about them; they have the claim's tense, voice and number, and are used only if none
of their words occurs on the claim's pages. Statements that can be true of only one thing, or only once (`was born in
Osk`, `directed Jaws`, `won the race of 1980`), are left out, because a page may exclude it without naming it; and so
are statements on several of the kind with other names, or with another last word (`has Ann Lee as manager`, `is noted
for wine`), for which the subject's own page may have one of its own. Statements that name a page of the corpus are left
out too: that page may decide them.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from lisax.adversary.attack import Attack, AttackKind, random_of
from lisax.adversary.corpus import AttackCorpus, Subject, subject_of
from lisax.adversary.prose import body, is_negated, readable, sentence, without_parentheses
from lisax.adversary.statements import ADVERBS, IRREGULAR_VERBS, ONCE, PERSON_NOUNS, nouns_of, verb_phrase
from lisax.records import Claim, Document, Label, split_sentence_id
from lisax.retrieval.titles import unqualified
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import words

PAGES_READ = 20_000  # number of pages, and of claims, from which phrases are taken
PERSON = "person"  # the kind of subjects described by one of PERSON_NOUNS, or called he or she
_MOST_WORDS, _MOST_ADDED = 16, 10
_TRIED = 500  # phrases per claim
# Attacks with one phrase, at most, or as a share of all claims read: a model learns frequent additions by heart.
_MOST_USED, _SHARE_USED = 5, 0.01
_CLAUSES = re.compile(r"[,;:]|\b(?:who|which|that)\b")
_ENDS = re.compile(
    r"[,;:.()\"–]|\b(?:who|whom|whose|which|that|where|when|while|after|before|until|since|because|although|but|so)\b|"
    rf"\band (?:also|then|later|{'|'.join(sorted(IRREGULAR_VERBS))}|\w+(?:ed|s))\b|\bas well\b|\bas of\b"
)
_IS_NOUN = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) ([^,;:.()\"]+)")
_NOUN_PHRASE = re.compile(r"(?:is|was) (?P<phrase>an? (?:[a-zA-Z'-]+ )*[a-z-]+)")
# Statements that are true of only one thing, or decided by a page in other words.
_EXCLUSIVE = re.compile(
    rf"{ONCE.pattern}|\d|\b(?:(?:co-)?(?:directed|wrote|written|created|founded|produced|developed|designed|composed|"
    r"invented|coined)|raised|grew|based|located|situated|headquartered|set|lives?|lived|resides?|resided|buried|owns|owned|"
    r"married|divorced|named|called|titled|known|played|portrayed|voiced|adapted|stars?|starring|starred|follows|followed|"
    r"tells|attended|succeeded|replaced|became|first|second|third|fourth|last|final|only|most|best|least|largest|highest|"
    r"\w+est|he|she|him|his|her|hers|they|their|them|it|its|himself|herself|itself|i|this|these|another|other|"
    r"brother|sister|father|mother|son|daughter|wife|husband|spouse|spans?|spanned|consists?|contains?|centers?|"
    r"belongs?|borders?|marked|features?|featured|ended|began|begins?|marry|marries|ruled|reigned|elected|served as|"
    r"chairman|president|nineteen|twenty|\w+ties|century|decade|upcoming|not|never|no|"
    r"(?:has|have|had) (?:an?|the)|conceived|then|later|also|previously)\b|'s\b",
    re.IGNORECASE,
)
_HANGING = re.compile(r"\b(?:of|in|from|for|at|by|with|on|to|about|an?|the|and|or|as|into|[A-Z][a-z]{0,2})$")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_CONTEMPORARIES = 30  # years at most between the first ones on two pages
_VALUE = re.compile(r"(?:(?:the )?(?:(?<![a-z])[a-z]+ )?[A-Z][\w.'-]*)(?: [A-Z][\w.'-]*)*|\d[\d,.]*")
_COPULAS = {"is": "present", "are": "present", "was": "past", "were": "past"}
_HAVE = {"has": "present", "have": "present", "had": "past"}
_NUMBER = {"is": "s", "was": "s", "has": "s", "are": "p", "were": "p", "have": "p"}


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """`tense` is present or past, `voice` active, passive or copula, `number` s, p or empty if a verb has both."""

    tense: str
    voice: str
    number: str

    def goes_with(self, other: Form) -> bool:
        return (
            self.tense == other.tense
            and (self.voice == "passive") == (other.voice == "passive")
            and {self.number, other.number} != {"s", "p"}
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Phrase:
    """`text` is a statement on the page `page`."""

    page: str
    text: str
    form: Form


class Unverifiable:
    kind = AttackKind.UNVERIFIABLE

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim], seed: int):
        self._corpus, self._seed = corpus, seed
        self._of_kind: dict[str, list[Phrase]] = defaultdict(list)
        self._used: Counter[str] = Counter()
        claims = list(claims)
        self._most_used = max(_MOST_USED, int(_SHARE_USED * len(claims)))
        said = [
            (kind, page, text)
            for page, text in dict.fromkeys(itertools.chain(self._of_pages(), self._of_claims(claims)))
            if len(text.split()) >= 3 and (kind := self._kind(page))
        ]
        values = defaultdict(set)
        for kind, _, text in said:
            for frame, value in _frames(text):
                values[kind, frame].add(value)
        for kind, page, text in said:
            form = form_of(text)
            if form is None or form.voice == "copula" or len(text.split()) > _MOST_ADDED:
                continue
            if _EXCLUSIVE.search(text) or _HANGING.search(text) or corpus.names_in(text):
                continue
            if all(len(values[kind, frame]) == 1 for frame, _ in _frames(text)):
                self._of_kind[kind].append(Phrase(page, text, form))

    def _of_pages(self) -> Iterator[tuple[str, str]]:
        for page in itertools.islice(self._corpus.documents(), PAGES_READ):
            for text in predicates(page):
                yield page.id, text

    def _of_claims(self, claims: Iterable[Claim]) -> Iterator[tuple[str, str]]:
        for claim in itertools.islice(claims, PAGES_READ):
            if claim.label is Label.SUPPORTS and (subject := subject_of(claim.text, self._corpus)) is not None:
                yield subject.page, cut(subject.predicate)

    def _kind(self, page: str) -> str | None:
        about = self._corpus.about(page)
        return PERSON if about.person else about.noun or noun_of(self._corpus.page(page))

    def attack(self, claim: Claim) -> Iterator[Attack]:
        if claim.label is not Label.SUPPORTS or is_negated(claim.text):
            return
        subject = subject_of(claim.text, self._corpus)
        if subject is None or len(subject.predicate.split()) > _MOST_WORDS or _CLAUSES.search(subject.predicate):
            return
        kind, form, told = self._kind(subject.page), form_of(subject.predicate), self._told(claim, subject)
        if kind is None or form is None or "upcoming" in told:
            return  # a future subject has been and done nothing
        rng = random_of(self._seed, self.kind, claim.id)
        phrase = self._phrase(subject, told, [one for one in self._of_kind[kind] if one.form.goes_with(form)], rng)
        if phrase is None:
            return
        self._used[phrase.text] += 1
        found = _NOUN_PHRASE.fullmatch(subject.predicate)
        noun = found is not None and nouns_of(found["phrase"]) == found["phrase"]
        join = rng.choice(("and", "who" if kind == PERSON else "that")) if noun else "and"
        text, edit = sentence(f"{body(claim.text)} {join} {phrase.text}"), f"+ {join} {phrase.text}"
        reason = (
            f'"{phrase.text}" is said of {phrase.page}; no page that the claim leads to says it of {subject.written}'
        )
        yield Attack(self.kind, (claim.id,), text, Label.NOT_ENOUGH_INFO, (), edit, reason)

    def _phrase(self, subject: Subject, told: set[str], phrases: list[Phrase], rng: random.Random) -> Phrase | None:
        """The likeliest of the phrases that no page decides of the subject: of the pages most like it, and least
        used."""
        name = unqualified(self._corpus.page(subject.page).title)[0]
        phrases = rng.sample(phrases, min(_TRIED, len(phrases)))
        alike = {page: self._likeness(page, subject.page) for page in {phrase.page for phrase in phrases}}
        phrases = sorted(phrases, key=lambda one: self._used[one.text] - alike[one.page])
        fitting = (
            phrase
            for phrase in phrases
            if phrase.page != subject.page
            and self._used[phrase.text] < self._most_used
            and self._contemporary(phrase, subject.page)
            and not told & (set(words(phrase.text)) - INDEX_STOP_WORDS - _HAVE.keys() - _COPULAS.keys())
            and not any(name in readable(line.text) for line in self._corpus.page(phrase.page).sentences)
        )
        return next(fitting, None)

    def _likeness(self, page: str, other: str) -> int:
        """How many words the descriptions of two pages share."""
        one, two = (self._corpus.about(name).description for name in (page, other))
        return 0 if None in (one, two) else len((set(words(one.text)) & set(words(two.text))) - INDEX_STOP_WORDS)

    def _contemporary(self, phrase: Phrase, page: str) -> bool:
        """Whether the same may have happened to a page's subject. A phrase that names a person is of its time, and is
        left out if one of the two pages has no year."""
        years = [self._first_year(name) for name in (phrase.page, page)]
        if None in years:
            return not _VALUE.search(phrase.text)
        return abs(years[0] - years[1]) <= _CONTEMPORARIES

    def _first_year(self, page: str) -> int | None:
        texts = (self._corpus.page(page).title, *(line.text for line in self._corpus.page(page).sentences))
        found = (_YEAR.search(text) for text in texts)
        return next((int(year[0]) for year in found if year), None)

    def _told(self, claim: Claim, subject: Subject) -> set[str]:
        pages = {subject.page, *(split_sentence_id(unit)[0] for unit in claim.gold_ids)}
        return {
            word
            for page in pages
            if page in self._corpus
            for line in self._corpus.page(page).sentences
            for word in words(line.text)
        } | set(words(claim.text))


def _frames(text: str) -> Iterator[tuple[str, str]]:
    """A phrase without its names and numbers, or without its last word, and the parts taken out."""
    yield _VALUE.sub("_", text), " ".join(_VALUE.findall(text))
    frame, _, last = text.rpartition(" ")
    if len(frame.split()) > 1:
        yield f"{frame} _", last


def predicates(page: Document) -> Iterator[str]:
    """The statements of a page's sentences on their subject: from its name or a pronoun to the end of the first
    clause."""
    name, noun = unqualified(page.title)[0], noun_of(page)
    pronouns = ("He", "She") if noun == PERSON else ("It",)
    for line in page.sentences:
        text = without_parentheses(readable(line.text))
        for subject in (name, *pronouns, f"The {noun}"):
            if text.startswith(f"{subject} ") and (said := verb_phrase(text[len(subject) + 1 :])) is not None:
                yield cut(said)
                break


def cut(said: str) -> str:
    """A verb phrase without the words after its first clause."""
    end = _ENDS.search(said)
    return (said if end is None else said[: end.start()]).strip()


def noun_of(page: Document) -> str | None:
    """The noun of a page's subject, PERSON for people; None if its sentences do not have it."""
    first = next((readable(line.text) for line in page.sentences if line.text), "")
    found = _IS_NOUN.search(without_parentheses(first))
    noun = nouns_of(f"a {found[1]}").split()[-1] if found and page.sentences[0].text else None
    qualifier = unqualified(page.title)[1].split()[-1:]
    if noun in PERSON_NOUNS or any(re.match(r"(?:He|She)\b", line.text) for line in page.sentences):
        return PERSON
    return noun if noun and noun.islower() else next(iter(qualifier), None)


def form_of(predicate: str) -> Form | None:
    """Tense, voice and number of a predicate that begins with a finite verb; None if its form leaves them open."""
    said = predicate.split()
    while said and said[0] in ADVERBS:
        said = said[1:]
    if len(said) < 2:
        return None
    verb, following = said[0], next((word for word in said[1:] if word not in ADVERBS), "")
    if verb in _COPULAS:
        participle = following.endswith("ed") or following in "given seen shown sung chosen held made".split()
        return Form(_COPULAS[verb], "passive" if participle else "copula", _NUMBER[verb])
    if verb in _HAVE:
        passive = following == "been"
        return Form(_HAVE[verb], "passive" if passive else "active", _NUMBER.get(verb, ""))
    if verb.endswith("ed") or verb in IRREGULAR_VERBS - {"does", "do", "can", "will", "may", "must", "should", "goes"}:
        return Form("past", "active", "")
    return Form("present", "active", "s") if verb.endswith("s") else None
