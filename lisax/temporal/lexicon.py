"""Words for dated events by kind, and words that make a statement uncertain."""

from __future__ import annotations

import enum
import functools
import re
from pathlib import Path

from lisax.text.words import stemmer


class WordKind(enum.StrEnum):
    """Events that happen once to their subject, so that another date contradicts."""

    BIRTH = "birth"
    DEATH = "death"
    FOUNDING = "founding"
    END = "end"
    RELEASE = "release"
    OCCURRENCE = "occurrence"
    ASCENT = "ascent"
    WEDDING = "wedding"
    BUILDING = "building"
    LIFE = "life"
    OPENING = "opening"
    DESTRUCTION = "destruction"
    SINKING = "sinking"
    COMPLETION = "completion"
    SIGNING = "signing"
    DISCOVERY = "discovery"
    RETIREMENT = "retirement"
    LAUNCH = "launch"
    RECORDING = "recording"
    WRITING = "writing"


def _table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()]


# Nouns that a year before them dates the release of: `is a 2005 American film`.
WORKS = frozenset(
    """film movie album song single novel book series show game musical ep record comedy drama thriller documentary
    play poem sitcom opera sequel miniseries episode""".split()
)
# Ways to die and to come out: a claim of one holds only if the evidence has the same word.
SPECIFIC = WORKS | frozenset("killed assassinated executed drowned".split())
# Descriptors in claims: `the novel Harbour` is not the page `Harbour (film)`.
TYPES = WORKS | frozenset(
    """band group duo company firm label studio publisher team club town city village country state river lake mountain
    peak battle siege war award actor actress singer musician rapper player footballer director writer novelist
    author engineer general climber politician artist painter poet composer magazine newspaper university college
    school organization organisation network channel website ship building bridge church museum football""".split()
)
# In `an actor, singer and director` all nouns are descriptions, in `a film, theatre and music company` only the last.
PEOPLE = frozenset(
    """actor actress singer musician rapper player footballer director writer novelist author engineer general climber
    politician artist painter poet composer songwriter producer screenwriter comedian dancer model journalist lawyer
    businessman businesswoman philosopher scientist inventor architect guitarist drummer explorer""".split()
)
# Events as nouns: only `the death of X` and `X's death` give their subject.
NOUNS = frozenset(
    "birth death founding formation dissolution release publication premiere ascent wedding marriage "
    "construction".split()
)
# Verbs without a meaning of their own next to such a noun: `the first ascent of X was made`.
LIGHT = frozenset([("made",), ("took", "place"), ("held",), ("happened",), ("occurred",), ("came",)])
LIVES = frozenset({WordKind.BIRTH, WordKind.DEATH})  # their date contradicts whatever else a claim states
# Kinds that are unique, so that another date contradicts whatever else the sentences state.
ONCE = LIVES | {WordKind.FOUNDING, WordKind.END, WordKind.SINKING, WordKind.SIGNING, WordKind.DISCOVERY}
# Last words of the names of recurring events.
RECURRING = frozenset(
    """cup award awards game games festival championship championships election elections tournament league open series
    olympics conference ceremony fair race marathon derby bowl convention summit prix season trophy rally regatta
    parade congress meeting exhibition""".split()
)
# A showing before the release proper.
SHOWINGS = frozenset("premiered premiere aired debuted shown".split())
# Events that extend over years, so that another year contradicts only if the text calls the event the first.
LASTING = frozenset("aired printed issued".split())
# Stems of verbs for states; `won between 1990 and 1995` is not one.
CONTINUING = frozenset(
    """oper live work teach reign rule govern run exist last edit manag coach lead command resid chair serv occupi
    stand direct inhabit employ own""".split()
)
# Offices, which their holders hold until their own death.
OFFICES = frozenset(
    """king queen emperor empress pope bishop archbishop abbot abbess president minister mayor governor chairman
    chairwoman chancellor senator duke earl count director professor judge member sultan tsar ruler""".split()
)
# After these another person follows, whose death may be meant: `lived with Tom until his death`.
OF_ANOTHER = frozenset("with to under for by beside alongside 's his her their".split())
# Stems of words that count events.
COUNTING = frozenset("twice thrice both two three four five six seven eight nine ten time occas season".split())
# Words between `died` and its date that describe how or where; other words may mean that a role is played.
CIRCUMSTANCES = frozenset(
    """action home hospital office battle accident crash childbirth sleep prison custody war exile age car plane train
    city town village illness duel combat house captivity disaster""".split()
)
# Before a name, with or without which it is the same person's.
HONORIFICS = frozenset(
    "king queen emperor empress pope saint sir dame lord lady count countess duke duchess prince princess bishop "
    "archbishop cardinal baron baroness sultan tsar dr president".split()
)
# Before another name of the same: `Ida Moe, known as Lark`.
KNOWN = frozenset("known called name stylized nicknamed".split())
RELATIVES = frozenset(
    """brother sister father mother son daughter wife husband uncle aunt cousin namesake rival predecessor successor
    nearby neighbouring neighboring infamous famous""".split()
)
IRREGULAR = {past: base for base, pasts in _table("irregular_verbs.tsv") for past in pasts.split()}
# Past forms in -ed that are seldom verbs, and words in -ed that never are.
NO_VERBS = frozenset(
    """hundred united red bed named titled entitled called based embed need speed seed feed breed indeed animated
    syndicated supposed""".split()
)
# Verbs that, with an object, do not date their subject's release or founding.
TRANSITIVE = frozenset(
    (word,)
    for word in """
released published issued printed founded established formed created started began begins opened set incorporated
climbed scaled conquered topped killed assassinated executed drowned married built constructed erected held fought
dissolved disbanded abolished premiered aired debuted ended inaugurated destroyed demolished razed sank sunk completed
finished signed discovered invented retired launched recorded written composed drafted
""".split()
) | {("set", "up")}
# Verbs among these that also occur without an object: `the show premiered`, `the band formed`.
INTRANSITIVE = frozenset(
    (word,)
    for word in """
formed started began begins opened dissolved disbanded premiered aired debuted ended drowned sank sunk retired launched
""".split()
)
# Only as passives do these state events of their subject: `signed for Chelsea`, `finished in 1990`.
PASSIVE_ONLY = frozenset(
    ("signed", "completed", "finished", "discovered", "invented", "recorded", "written", "composed", "drafted")
)
# `began filming` is about filming. `appeared in 1990` is a release; `appeared in a film` or `debuted as Hamlet` is not.
# `lived in 1850` is about a life, `lived in Osk in 1850` is not.
BEGINNINGS = frozenset([("began",), ("begins",), ("started",)])
TO_THE_DATE = frozenset([("appeared",), ("debuted",), ("lived",)])
PREPOSITIONS = frozenset(
    """in on at by from to for with as of into onto under over near through during before after since until till
    between around about when while where worldwide theatrically internationally""".split()
)
INDEFINITE = frozenset("there a an another one two three some several many most".split())
ORDINALS = frozenset("first second third fourth fifth last final debut originally initially".split())
DETERMINERS = frozenset("a an the".split())
# After these a name belongs to someone else: `He and his brother Paul, born in 1950`.
OTHERS = frozenset("and or with without like 's his her its their our my".split())
# In `X had its premiere` the premiere is X's.
HAVING = frozenset("had has have saw sees".split())
HELD = frozenset("premiere release publication ascent wedding".split())
QUANTITIES = frozenset("over about around nearly some".split())
# `the year before 1990`, `shortly after June 1990`, `a quarter of a century before 1890`.
NARROWING = frozenset(
    "year years decade decades century centuries month months week weeks day days long just shortly "
    "soon immediately right well moments hours".split()
)
PORTIONS = frozenset("quarter quarters third thirds half tenth turn eve dawn rest score".split())
# After a date these introduce the words that it is compared with.
ASIDES = frozenset("after before when while until with to following during since where upon amid".split())
BORN = frozenset("born né née nee".split())
AUXILIARIES = frozenset("is are was were be been being has have had do does did will would can could".split())
PLACES = frozenset("in on at from near".split())
PASSIVES = frozenset("is are was were be been being got".split())
COPULAS = frozenset("is are was were".split())
RELATIVE_PRONOUNS = frozenset("who which that".split())
PRONOUNS = frozenset("he she it they this these that who which".split())
DEMONSTRATIVES = frozenset("this these that those".split())  # as a pronoun, or before a noun: `this film`
POSSESSIVES = frozenset("his her its their our my".split())
CLAUSE_ENDS = frozenset(", ; ( ) : and but who which that while where when whose".split())
# Words before a clause with a subject of its own.
SUBORDINATORS = frozenset("after before until till since once because although though".split())
# After a span these mean that it continued: `from 1956 to 1964 and later`.
GOING_ON = frozenset("later beyond after afterwards again onwards".split())
# Claims with these are left to the verifier: they deny, weaken or quantify the dated statement.
UNCERTAIN = frozenset(
    """not no never n't neither nor none nobody nothing without unless except only allegedly reportedly supposedly
    apparently probably possibly perhaps maybe may might could should would rumored rumoured claimed believed
    thought planned scheduled expected intended failed refused rejected stopped cannot can't won't isn't wasn't
    didn't doesn't aren't weren't hasn't haven't hadn't almost nearly hardly barely scarcely already yet lied faked
    fake partly partially largely mostly temporarily briefly annually every each always often usually sometimes
    again or either""".split()
)
# Parts of sentences that deny all that they state, or place it in a story or a plan.
DENYING = re.compile(
    r"\b(?:untrue|incorrect|wrong(?:ly)?|false(?:ly)?|den(?:y|ies|ied)|myth|hoax|mistakenly|erroneously|disputed"
    r"|disproved|debunked|(?:no|little) evidence|not (?:true|the case)|(?:was|were) to (?:be|have))\b"
    r"|\b[Aa]ccording to (?:(?:an?|the) )?(?:\w{1,20} )?legend\b|\b[Ll]egend has it\b"
    r"|\b[Ii]n the (?:novel|film|story|play|series|book|game),"
)


@functools.cache
def phrases() -> dict[tuple[str, ...], frozenset[WordKind]]:
    """The words of each phrase and the kinds of events that it may state."""
    found: dict[tuple[str, ...], set[WordKind]] = {}
    for kind, listed in _table("phrases.tsv"):
        for phrase in listed.split("|"):
            found.setdefault(tuple(phrase.split()), set()).add(WordKind(kind))
    return {words: frozenset(kinds) for words, kinds in found.items()}


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a folded word; irregular past forms get the stem of their verb."""
    return stemmer()(IRREGULAR.get(word, word))


def is_verb(word: str) -> bool:
    """Whether a word looks like a past form: a known irregular one, or one in -ed."""
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 4 and word not in NO_VERBS)
