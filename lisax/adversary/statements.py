"""Extracts a page's statements about its own subject, as phrases that can be used in another sentence.

    Rob_Letterman_0  "Rob Letterman is an American film director ."   description  "an American film director"
    Rob_Letterman_4  "He co-wrote Shark Tale ."                       predicate    "co-wrote Shark Tale"
    Rob_Letterman_0  "( born October 31 , 1970 )"                     event        "was born", October 31, 1970

A sentence is used only if it begins with the page's title, with `The film` where the page is about a film, or with a
fitting pronoun, followed by a verb. Sentences about another subject never pass.
"""

from __future__ import annotations

import dataclasses
import re

from lisax.adversary import dates
from lisax.adversary.dates import Date
from lisax.adversary.prose import readable, without_parentheses
from lisax.records import Document
from lisax.retrieval.titles import unqualified
from lisax.text.words import words

# Head nouns of descriptions of people, to whom `who` and `he` refer.
PERSON_NOUNS = frozenset(
    """academic activist actor actress admiral advocate anthropologist architect artist astronaut astronomer athlete
    attorney author ballerina baron baseballer basketballer biologist bishop boxer broadcaster businessman
    businessperson businesswoman cardinal cartoonist celebrity chef chemist choreographer climber coach columnist
    comedian comedienne commander composer conductor congressman cricketer criminal critic dancer dealer designer
    dictator diplomat director doctor dramatist drummer duke economist editor educator emperor empress engineer
    entertainer entrepreneur environmentalist essayist explorer farmer fighter filmmaker footballer general golfer
    governor guitarist historian host humanitarian hunter illustrator inventor investor journalist judge king lawyer
    leader lecturer legislator lyricist magician manager mathematician mayor merchant minister missionary model
    mogul monarch musician nobleman noblewoman novelist nurse occultist officer outlaw painter pathologist
    personality philanthropist philosopher photographer physician physicist pianist pilot pitcher playwright poet
    politician pope presenter president priest prince princess producer professor programmer psychologist publisher
    quarterback queen racer rapper researcher revolutionary runner saint scholar scientist screenwriter sculptor
    senator singer skater skier sniper socialite sociologist soldier songwriter spy statesman stateswoman strategist
    superhero superheroine surfer surgeon swimmer teacher theologian traveler traveller trumpeter veteran vocalist
    voice-over wrestler writer youtuber zoologist""".split()
)
# Words after a name that do not begin a verb phrase.
NO_VERBS = frozenset(
    """a an the and or but nor of in on at by for from with to as who whom whose which that where when while if than
    then also known called named born best series film album song band novel book season games years members fans
    others this these those its his her their pictures studios awards species times sports""".split()
)
IRREGULAR_VERBS = frozenset(
    """is was were are has had have does did do can could will would may might must should became began begun bore
    bought broke brought built came caught chose cost cut dealt did drew drove fell felt fought found fled flew gave
    got grew goes held hit kept knew laid led left lent let lost made meant met paid put ran rang read rose said
    sang sank saw sat sent set shot shut sold spent spoke spread stood stuck sung swam swept swore taught thought
    threw told took went withdrew woke won wore wrote co-wrote began starring overcame overtook rewrote underwent
    undertook understood""".split()
)
ADVERBS = frozenset(
    """also always originally officially currently formerly eventually later first once previously often usually
    initially subsequently never only still mainly largely primarily reportedly rarely recently soon then""".split()
)
_DESCRIPTION = re.compile(r"\b(?:is|was) (?P<phrase>(?:an?) [^,;:.()\"]+)")
_YEAR_OF_WORK = re.compile(r"an? ([12]\d{3}) [^,]*?\b(?:film|album|song|novel|book|single|movie|ep)\b")
_RELATIVE = re.compile(
    r"(?<!\s)\s++(?:who|which|that|whose|where|when|best|known|born|and (?:is|was|has|had|the)|considered|"
    r"currently|most|formerly|because|although|while|since)\b.*"
)
_END_OF_NOUNS = re.compile(
    r"\s(?:of|in|from|for|at|by|with|on|to|about|based|located|set|directed|written|produced|"
    r"created|made|released|starring|founded|developed|formed|headquartered|established|owned|"
    r"operated|published|distributed|broadcast|launched|recorded|hosted|held|composed|"
    r"consisting|and|near|between|under|through|as|into|within|an?|the|appearing|comprising|"
    r"containing|distinguishing|encompassing|featuring|having|including|involving|making|"
    r"occupying|providing|specializing)\b.*"
)
_ENDS_AS_VERB = re.compile(r"(?<=\w) (?:\w+ed|found|known|made|given|seen|spoken|sung|worn)$")
_GOES_ON = re.compile(r"(?:, (?!written\b|\w+ed\b)[\w-]+)+,? and ")
_INITIAL = re.compile(r" [A-Z]$")
_MODIFIER_AND = re.compile(r" and [\w-]+ [\w-]+")
_BORN = re.compile(r"\([^()]*\bborn\b")
_PRONOUN = re.compile(r"(?:She|He|It|They)\b")
_LIFE = re.compile(r"\((?=[^()]*\d{3})([^()]*+)\)")
_MOST_WORDS = 14

# Verb phrases of unique events: another date for one is a wrong date.
ONCE = re.compile(
    r"\b(?P<once>born|died|founded|established|set up|started life|formed|released|published|printed|premiered|opened|"
    r"launched|created|incorporated|built|completed|discovered|invented|dissolved|disbanded|fought|came out|"
    r"(?:first )?(?:climbed|scaled|topped|published|shown|sold|aired|broadcast|performed|released)|came into the world|"
    r"entered life|reached (?:the shops|cinemas)|(?:took|taken) place|occurred|happened|broke out|had its premiere|"
    r"opened its doors|started business|got started|came together|had a first ascent|saw its first ascent|"
    r"put on sale)\b"
)
NOUN_OF = {
    "born": "the birth of",
    "died": "the death of",
    "founded": "the founding of",
    "released": "the release of",
    "published": "the publication of",
    "established": "the establishment of",
    "formed": "the formation of",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Phrase:
    """`text` describes the page's subject, according to the sentence `unit`."""

    unit: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class StatedEvent:
    """`subject` `text` ("was born") on `date`, according to `unit`; `once` is the verb that names it."""

    unit: str
    text: str
    date: Date
    once: str


@dataclasses.dataclass(frozen=True, slots=True)
class Statements:
    """`name`: how a sentence calls the subject; `noun`: the head noun of its description, or empty."""

    name: str
    noun: str
    person: bool
    description: Phrase | None
    predicates: tuple[Phrase, ...]
    events: tuple[StatedEvent, ...]

    @property
    def known(self) -> bool:
        """Whether it is known if the subject is a person, so that `who` or `that` is right."""
        return bool(self.noun)


def statements(page: Document) -> Statements:
    name = unqualified(page.title)[0]
    texts = [(s.id, readable(s.text)) for s in page.sentences if s.text]
    description = noun = None
    if texts and page.sentences[0].text and _is_of(name, texts[0][1]):
        description, noun = _description(*texts[0])
    person = noun in PERSON_NOUNS or (noun is not None and _BORN.search(texts[0][1]) is not None)
    predicates, events = [], []
    if person:
        events += _life(texts[0])
    elif description is not None and (year := _YEAR_OF_WORK.match(description.text)):
        events.append(StatedEvent(description.unit, "came out", Date(int(year[1])), "came out"))
    for unit, text in texts:
        if (predicate := _predicate(name, noun or "", person, without_parentheses(text))) is None:
            continue
        if (event := _event(unit, predicate)) is not None:
            events.append(event)
        if _stands_alone(predicate):
            predicates.append(Phrase(unit, predicate))
    return Statements(name, noun or "", person, description, tuple(predicates), tuple(events))


def _is_of(name: str, text: str) -> bool:
    """Whether a first sentence has the page's name before its verb (`Samuel George Claflin ( … ) is …`)."""
    before = re.split(r"\b(?:is|was|are|were)\b", without_parentheses(text), maxsplit=1)[0]
    if re.search(r"'s? (?:\w+ )*[a-z]+ $", before):
        return False  # someone else: `Ann Lee's sister`
    head = words(before)
    parts = words(name)
    return bool(parts) and (parts[-1] in head[:12]) and (parts[0] in head[:3] or len(parts) > 1)


def _description(unit: str, text: str) -> tuple[Phrase | None, str | None]:
    match = _DESCRIPTION.search(without_parentheses(text))
    if match is None:
        return None, None
    # A short part such as `a British` is cut from an enumeration: `a British, later American, actor`.
    phrase = _ENDS_AS_VERB.sub("", _RELATIVE.sub("", match["phrase"]).strip())
    nouns = nouns_of(phrase)
    if re.match(r"an? \S+ and \S+ \S+", phrase):
        return None, None  # `a large and permanent settlement`: the word before `and` may not be a noun
    head = words(nouns)[-1:]
    if not head or len(nouns.split()) < 2 or len(phrase.split()) > _MOST_WORDS or head[0] in ("of", "one", "type"):
        return None, None
    following = match.string[match.end() :]
    cut = following.startswith(",") and not re.match(r", (?:who|which|and|best|known|born)\b|, [a-z]+ed by", following)
    goes_on = _GOES_ON.match(following) if phrase == nouns else _MODIFIER_AND.match(phrase[len(nouns) :])
    if cut and goes_on and head[0] not in PERSON_NOUNS:
        return None, None  # `a legal, medical and crime drama`, `a screen and stage actor, …`: not a noun yet
    if cut or _INITIAL.search(phrase) or following.lstrip().startswith('"'):
        phrase = nouns  # before a comma may be the first of several; `by J` of `by J. Doe` is not a name
    if phrase.split()[-1] in _PREPOSITIONS or not nouns.split()[-1][0].isalpha() or nouns.split()[-1][0].isupper():
        return None, None
    of_both = re.search(r" and [\w-]+ ([\w-]+)$", phrase)  # `a film and television actor`
    if of_both and of_both[1] in PERSON_NOUNS and head[0] not in PERSON_NOUNS:
        head = [of_both[1]]
    return Phrase(unit, phrase), head[0]


def nouns_of(phrase: str) -> str:
    """A description without the words after its noun: `a film` of `a film directed by Jo Doe`."""
    return _ENDS_AS_VERB.sub("", _END_OF_NOUNS.sub("", phrase))


_PREPOSITIONS = frozenset("of in from for at by with on to about the a an and or as its his her".split())


def verb_phrase(rest: str) -> str | None:
    """The text after a subject, if its form shows that it begins with a finite verb (after adverbs); else None."""
    parts = re.findall(r"[\w'-]+|[^\w\s]", rest)
    while parts and parts[0] in ADVERBS:
        parts = parts[1:]
    if not parts or not parts[0][0].islower():
        return None
    first = parts[0]
    if first in NO_VERBS:
        return None
    if first in IRREGULAR_VERBS or first.endswith("n't"):
        return rest.strip()
    looks = len(first) > 3 and (
        first.endswith("ed") or (first.endswith("s") and not first.endswith(("ss", "'s", "us")))
    )
    # Of two in a row the first is a noun (`X fans are`).
    if not looks or (len(parts) > 1 and parts[1] in ("is", "was", "are", "were", "has", "had")):
        return None
    return rest.strip()


def _predicate(name: str, noun: str, person: bool, text: str) -> str | None:
    subjects = (name, f"The {name}", f"The {noun}" if noun else None)
    begin = next((len(subject) for subject in subjects if subject and text.startswith(subject + " ")), None)
    match = _PRONOUN.match(text)
    if begin is None and noun and match and ((match[0] in ("She", "He")) if person else match[0] == "It"):
        begin = match.end()
    phrase = None if begin is None else verb_phrase(text[begin + 1 :])
    return phrase and phrase.rstrip(" .")


def _stands_alone(predicate: str) -> bool:
    """Whether a predicate is short and one clause, without references to its context."""
    parts = predicate.split()
    return (
        2 < len(parts) <= _MOST_WORDS
        and not re.search(r"[;:\"()\[\]–]|,", predicate)
        and not re.search(
            r"\b(?:this|these|those|that|which|who|also|it|they|there|however|such|another|other|"
            r"former|latter|same|the (?:film|album|song|novel|book|series|band|show))\b",
            predicate,
        )
        and parts[-1] not in _PREPOSITIONS
    )


def _life(first: tuple[str, str]) -> list[StatedEvent]:
    """Birth and death from the brackets after a person's name."""
    unit, text = first
    brackets = _LIFE.search(text)
    if brackets is None:
        return []
    found = dates.find(brackets[1])
    if len(found) == 2 and ("–" in brackets[1] or " - " in brackets[1]):
        born, died = (one.date for one in found)
        events = [StatedEvent(unit, "was born", born, "born"), StatedEvent(unit, "died", died, "died")]
        return events if born.before(died) else []
    if len(found) == 1 and re.search(r"\bborn\b", brackets[1]) and "–" not in brackets[1]:
        return [StatedEvent(unit, "was born", found[0].date, "born")]
    return []


_HAPPENED = re.compile(rf"(?:(?:was|were) )?(?:originally |officially )?{ONCE.pattern}")
_EVENT = re.compile(r"(?P<phrase>[^,;]*?) (?:in|on) $")


def _event(unit: str, predicate: str) -> StatedEvent | None:
    """The event of `was published in 1983`, if that is all, or all that comes first: `was released in 2001 by X`."""
    found = dates.find(predicate)
    if len(found) != 1:
        return None
    match = _EVENT.fullmatch(predicate[: found[0].start])
    happened = match and _HAPPENED.fullmatch(match["phrase"])
    return (
        StatedEvent(unit, match["phrase"], found[0].date, happened["once"].removeprefix("first ")) if happened else None
    )
