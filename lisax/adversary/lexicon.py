"""Words and phrases that can replace one another: from the corpus, and from WordNet if its data is installed. Words
that exclude each other are in `opposites.py`.

These relations are extracted from the corpus, each with a reason that can be checked:

- *synonym*: two verb phrases that are used of the same subjects and nearly always agree on the object. `was published
  by` and `was brought out by` agree for each book; `was born in` and `settled in` agree only by chance. Supported
  claims are read as sentences too, because claims have phrases that pages lack.
- *hypernym*: a page titled with a common noun defines it: `A monster is a fictional creature`.
- *hyponym*: the same page in the other direction, `a creature` may be `a monster`.
- *hypernym* by omission: `a 2004 American action film` is `an American action film`.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from lisax.adversary.corpus import AttackCorpus, subject_of
from lisax.adversary.prose import at_end, readable
from lisax.records import Claim, Label
from lisax.text.articles import article
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import words


class WordRelation(enum.StrEnum):
    SYNONYM = "synonym"
    HYPERNYM = "hypernym"
    HYPONYM = "hyponym"
    ANTONYM = "antonym"


@dataclasses.dataclass(frozen=True, slots=True)
class Substitute:
    """`new` can replace `text[start:end]` of the given text."""

    start: int
    end: int
    new: str
    relation: WordRelation
    reason: str


# Two phrases are synonyms if they agree on the object this often, over at least this many subjects.
AGREEMENT, SUBJECTS = 0.95, 3
MOST_HYPONYMS = 5  # per word, the first ones
_OBJECT = re.compile(
    r"(?P<object>(?:the )?(?:[a-z]+ )?[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)*|"
    r"\d[\d,]*(?P<unit>(?: [a-z]+)?))\.?$"
)
_MODIFIED = re.compile(
    r"\ban? (?:(?:19|20)\d\d|[A-Z][a-z-]+(?:an|ese|ish)(?= [a-z])(?! language)|"
    r"(?P<lower>[a-z-]+(?:al|ic|ful|ive|ous))) "
    r"(?P<rest>(?:[A-Za-z-]+ ){0,50}[a-z]+)(?=\.?$| (?:of|by|in|from|directed|written|starring)\b)"
)
# Without these the meaning changes: a fictional person is not a person, a critical success may have been no success.
_DECISIVE = frozenset(
    "artificial comic commercial critical executive fictional mythical partial potential virtual".split()
)
_NO_NOUNS = INDEX_STOP_WORDS | {"who", "which", "from", "about"}  # `a total of`, `an executive who`


class CorpusLexicon:
    """`substitutes`, as of every lexicon: all single substitutions in a claim, left to right."""

    def __init__(self, corpus: AttackCorpus, claims: Iterable[Claim] = ()):
        self._corpus = corpus
        self._synonyms = _synonyms(_said(corpus, claims))
        self._hypernyms = dict(_hypernyms(corpus))
        self._hyponyms: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for title, (noun, page) in self._hypernyms.items():
            self._hyponyms[noun].append((title, page))

    def substitutes(self, text: str) -> list[Substitute]:
        found = []
        subject = subject_of(text, self._corpus)
        for said in _split(self._corpus, subject.page, subject.predicate) if subject else ():
            start = len(subject.written) + 1
            for new, count, of in self._synonyms.get(said.key, ()):
                reason = f'"{said.phrase}" and "{new}" agree in the corpus on {count} of {of} subjects'
                found.append(Substitute(start, start + len(said.phrase), new, WordRelation.SYNONYM, reason))
        for match in re.finditer(r"\b(an?) ([a-z]+)\b(?! [a-z]+(?<!\bwho)(?<!\bin)(?<!\bof)(?<!\bby))", text):
            if (hypernym := self._hypernyms.get(match[2])) is not None:
                new = f"{article(hypernym[0])} {hypernym[0]}"
                reason = f"the page {hypernym[1]} says that it is {new}"
                found.append(Substitute(*match.span(), new, WordRelation.HYPERNYM, reason))
            for title, page in self._hyponyms.get(match[2], ())[:MOST_HYPONYMS]:
                new = f"{article(title)} {title}"
                reason = f"the page {page} says that {new} is {match[0]}"
                found.append(Substitute(*match.span(), new, WordRelation.HYPONYM, reason))
        for match in _MODIFIED.finditer(text):
            nouns = match["rest"].split()
            if nouns[0] in _NO_NOUNS or (match["lower"] in _DECISIVE and "character" not in nouns):
                continue
            new = f"{article(match['rest'])} {match['rest']}"
            found.append(Substitute(*match.span(), new, WordRelation.HYPERNYM, f'"{match[0]}" is "{new}"'))
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """A statement: `phrase` connects `page`, which is about a `noun`, with an `object`: a name, or a number and its
    `unit`."""

    page: str
    noun: str
    phrase: str
    object: str
    unit: str

    @property
    def key(self) -> tuple[str, str, str]:
        """The further properties that two synonyms share: the kinds of subject and object."""
        return self.noun, self.unit, self.phrase


def _said(corpus: AttackCorpus, claims: Iterable[Claim]) -> Iterator[Said]:
    """Verb phrases that end in a name or a number, from pages and from supported claims."""
    for document in corpus.documents():
        for phrase in corpus.about(document.id).predicates:
            yield from _split(corpus, document.id, phrase.text)
    for claim in claims:
        if claim.label is Label.SUPPORTS and (subject := subject_of(claim.text, corpus)) is not None:
            yield from _split(corpus, subject.page, subject.predicate)


def _split(corpus: AttackCorpus, page: str, predicate: str) -> Iterator[Said]:
    match = at_end(_OBJECT, predicate)
    if match and " and " not in predicate:
        phrase = predicate[: match.start()].strip()
        if 0 < len(phrase.split()) <= 5 and phrase.islower():
            unit = "name" if match["unit"] is None else f"number{match['unit']}"
            yield Said(page, corpus.about(page).noun, phrase, match["object"], unit)


def _synonyms(said: Iterable[Said]) -> dict[tuple[str, str, str], list[tuple[str, int, int]]]:
    """Key of a phrase -> (phrase, subjects that agree, subjects with both), the best attested first."""
    of_page: dict[str, dict[tuple, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in said:
        of_page[one.page][one.key].add(one.object)
    together, agree = Counter(), Counter()
    for phrases in of_page.values():
        for one in phrases:
            for two in phrases:
                if one < two and one[:2] == two[:2] and len(phrases[one]) == len(phrases[two]) == 1:
                    together[one, two] += 1
                    agree[one, two] += phrases[one] == phrases[two]
    found: dict[tuple, list[tuple[str, int, int]]] = defaultdict(list)
    for (one, two), count in together.items():
        if count >= SUBJECTS and agree[one, two] >= AGREEMENT * count:
            found[one].append((two[2], agree[one, two], count))
            found[two].append((one[2], agree[one, two], count))
    return {key: sorted(others, key=lambda other: (-other[1], other[0])) for key, others in found.items()}


def _hypernyms(corpus: AttackCorpus) -> Iterator[tuple[str, tuple[str, str]]]:
    for document in corpus.documents():
        first = readable(document.sentences[0].text) if document.sentences else ""
        title = document.title.casefold()
        # An article before the title indicates a common noun.
        if re.match(rf"(?:A|An) {re.escape(title)}\b", first) and title.isalpha():
            about = corpus.about(document.id)
            if about.noun and about.noun not in (title, "form", "kind", "type", "set", "group", "piece", "part"):
                yield title, (about.noun, document.id)


class WordNetLexicon:
    """Substitutes for single words by their first two senses; needs nltk with its data `wordnet`. Inflection is
    copied."""

    def __init__(self, wordnet):
        self._wordnet = wordnet

    @classmethod
    def load(cls) -> WordNetLexicon | None:
        """Loads the lexicon; None if nltk or its data is not installed."""
        try:
            from nltk.corpus import wordnet

            wordnet.ensure_loaded()
        except (ImportError, LookupError):
            return None
        return cls(wordnet)

    def substitutes(self, text: str) -> list[Substitute]:
        found: dict[tuple[int, str], Substitute] = {}
        for match in re.finditer(r"(?<![\w'-])(?:(?P<article>an?) )?(?P<word>[a-z]{4,})\b(?!['-])", text):
            word = match["word"]
            for lemma, ending in _lemmas(word):
                for pos in "nva" if not ending else "nv":
                    for sense in self._wordnet.synsets(lemma, pos=pos)[:2]:
                        for relation, near in (
                            (WordRelation.SYNONYM, [sense]),
                            (WordRelation.HYPERNYM, sense.hypernyms()),
                            (WordRelation.HYPONYM, sense.hyponyms()[:MOST_HYPONYMS]),
                        ):
                            for other in near:
                                for name in other.lemma_names():
                                    if name != lemma and name.isalpha() and name.islower():
                                        new = _inflected(name, ending)
                                        new = f"{article(new)} {new}" if match["article"] else new
                                        reason = f'"{name}" is a {relation} of "{lemma}" in WordNet ({other.name()})'
                                        edit = Substitute(*match.span(), new, relation, reason)
                                        found.setdefault((match.start(), new), edit)
        return list(found.values())


def _lemmas(word: str) -> Iterator[tuple[str, str]]:
    """(lemma, ending) candidates from the regular endings."""
    yield word, ""
    for ending in ("ies", "ied", "es", "ed", "ing", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word.removesuffix(ending)
            yield (stem + "y", ending[1:].removeprefix("e") or "s") if ending in ("ies", "ied") else (stem, ending)
            if ending in ("ed", "es", "ing"):
                yield stem + "e", ending


def _inflected(lemma: str, ending: str) -> str:
    if not ending:
        return lemma
    if ending in ("s", "es"):
        if re.search(r"[^aeiou]y$", lemma):
            return lemma[:-1] + "ies"
        return lemma + ("es" if re.search(r"(?:s|x|z|ch|sh)$", lemma) else "s")
    if ending in ("ed", "d"):
        if re.search(r"[^aeiou]y$", lemma):
            return lemma[:-1] + "ied"
        return lemma + ("d" if lemma.endswith("e") else "ed")
    return (lemma[:-1] if lemma.endswith("e") else lemma) + "ing"


class Lexicons:
    """Several lexicons as one."""

    def __init__(self, *parts: CorpusLexicon | WordNetLexicon):
        self._parts = parts

    def substitutes(self, text: str) -> list[Substitute]:
        found = itertools.chain.from_iterable(part.substitutes(text) for part in self._parts)
        return list({(edit.start, edit.end, edit.new): edit for edit in found}.values())


def words_of(texts: Iterator[str]) -> set[str]:
    return {word for text in texts for word in words(text)}
