"""The relations of each kind of entity, and the phrases that state them.

A phrase is a verb phrase with `{o}` for the object, so that every sentence and every claim is "subject + phrase". Pages
use `page` phrases and claims use `claim` phrases: they share few words, so that word overlap alone seldom finds the
evidence. `inverse` phrases state the same fact from the object's side, with `{s}` for its subject.

Every relation is functional (one object per subject), so a different object refutes. Years are in disjoint eras (people
are born before anything is founded, and works come last), so that one year never decides a claim about another.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Relation:
    """`draw` is the source of objects: `town`, `year`, `number`, `word`, or a kind or a profession."""

    name: str
    draw: str
    page: tuple[str, ...]
    claim: tuple[str, ...]
    question: str
    values: tuple = ()
    inverse: tuple[str, ...] = ()
    noun: str = ""  # "author": the object is "the author of {s}"
    more: str = ""  # comparison with another entity
    less: str = ""
    more_than: str = ""  # comparison with a number, or the phrase of `more` if it serves both
    less_than: str = ""


BIRTH_ERA, FOUNDING_ERA, WORK_ERA, TOWN_ERA = (
    tuple(range(*r)) for r in ((1860, 1900), (1920, 1960), (1970, 2010), (1500, 1540))
)
PRIZES = tuple(
    f"the {a} {b}"
    for a in ("Amber", "Cedar", "Ivory", "Laurel", "Opal", "Pearl", "Ruby", "Topaz")
    for b in ("Medal", "Prize", "Ribbon")
)
PRODUCTS = tuple(
    """bicycles boots bricks buttons candles carpets cheese clocks cutlery glassware gloves hats lamps
lenses locks needles paper pianos pottery ropes saddles soap tea toys umbrellas wine""".split()
)
GENRES = ("adventure", "comedy", "crime", "fantasy", "horror", "mystery", "romance", "satire", "tragedy", "western")
STYLES = ("blues", "disco", "folk", "funk", "gospel", "jazz", "polka", "reggae", "soul", "swing")
COLOURS = tuple(
    f"{a} and {b}" for a in ("black", "blue", "green", "orange", "purple", "red") for b in ("gold", "grey", "white")
)
ROCKS = ("basalt", "chalk", "gneiss", "granite", "limestone", "marble", "sandstone", "schist", "shale", "slate")


def _year(name, era, page, claim, question, more, less) -> Relation:
    return Relation(name, "year", page, claim, question, era, more=more, less=less, more_than=more, less_than=less)


def _number(name, values, page, claim, question, compare) -> Relation:
    return Relation(
        name,
        "number",
        page,
        claim,
        question,
        tuple(values),
        more=compare[0],
        less=compare[1],
        more_than=compare[2],
        less_than=compare[3],
    )


def _more_of(verb: str, unit: str) -> tuple[str, str, str, str]:
    return (
        f"{verb} more {unit} than {{o}}",
        f"{verb} fewer {unit} than {{o}}",
        f"{verb} more than {{o}} {unit}",
        f"{verb} fewer than {{o}} {unit}",
    )


_PERSON = (
    _year(
        "birth year",
        BIRTH_ERA,
        ("was born in {o}", "came into the world in {o}", "entered life in {o}"),
        ("was born in {o}", "has the birth year {o}", "started life in {o}"),
        "In what year was {s} born?",
        "was born after {o}",
        "was born before {o}",
    ),
    Relation(
        "birthplace",
        "town",
        ("was born in {o}", "came from {o}", "hailed from {o}"),
        ("is a native of {o}", "has {o} as birthplace", "was born in {o}"),
        "Where was {s} born?",
    ),
    Relation(
        "home",
        "town",
        ("settled in {o}", "moved to a house in {o}", "made a home in {o}"),
        ("lived in {o}", "was a resident of {o}", "took up residence in {o}"),
        "Where did {s} live?",
    ),
    Relation(
        "prize",
        "word",
        ("received {o}", "was honoured with {o}", "took home {o}"),
        ("won {o}", "was awarded {o}", "is a winner of {o}"),
        "Which prize did {s} win?",
        PRIZES,
    ),
    Relation(
        "teacher",
        "person",
        ("was taught by {o}", "learned the craft from {o}", "trained under {o}"),
        ("was a pupil of {o}", "studied with {o}", "had {o} as teacher"),
        "Who taught {s}?",
        inverse=("taught {s}", "trained {s}", "gave lessons to {s}"),
        noun="teacher",
    ),
)

RELATIONS: dict[str, tuple[Relation, ...]] = {
    "person": _PERSON,
    "town": (
        _number(
            "population",
            range(1000, 41000, 1000),
            ("has {o} inhabitants", "is home to {o} people", "counts {o} residents"),
            ("has a population of {o}", "holds {o} people", "has {o} dwellers"),
            "How many people live in {s}?",
            _more_of("has", "inhabitants"),
        ),
        _year(
            "founded",
            TOWN_ERA,
            ("was founded in {o}", "dates from {o}", "received its charter in {o}"),
            ("was established in {o}", "goes back to {o}", "began in {o}"),
            "When was {s} founded?",
            "is younger than {o}",
            "is older than {o}",
        ),
        Relation(
            "river",
            "river",
            ("lies on {o}", "stands beside {o}", "grew along {o}"),
            ("is crossed by {o}", "is found on {o}", "sits by {o}"),
            "Which river runs through {s}?",
            inverse=("flows through {s}", "passes {s}", "runs past {s}"),
            noun="river",
        ),
        Relation(
            "mayor",
            "person",
            ("elected {o} as mayor", "is governed by {o}", "is led by mayor {o}"),
            ("has {o} as mayor", "is run by {o}", "chose {o} for mayor"),
            "Who is the mayor of {s}?",
            inverse=("served as mayor of {s}", "governed {s}", "led the council of {s}"),
            noun="mayor",
        ),
        Relation(
            "craft",
            "word",
            ("is known for its {o}", "sells its {o} abroad", "holds a fair for {o}"),
            ("is famous for {o}", "exports {o}", "is noted for {o}"),
            "What is {s} known for?",
            PRODUCTS,
        ),
    ),
    "river": (
        _number(
            "length in km",
            range(40, 440, 10),
            ("is {o} km long", "runs for {o} km", "covers {o} km"),
            ("has a length of {o} km", "stretches {o} km", "measures {o} km"),
            "How many km long is {s}?",
            ("is longer than {o}", "is shorter than {o}", "is longer than {o} km", "is shorter than {o} km"),
        ),
        Relation(
            "source",
            "mountain",
            ("rises on {o}", "springs from {o}", "begins on the slopes of {o}"),
            ("has its source on {o}", "starts at {o}", "comes down from {o}"),
            "Where does {s} rise?",
            inverse=("feeds {s}", "is the spring of {s}", "sends its water to {s}"),
            noun="source",
        ),
        Relation(
            "explorer",
            "person",
            ("was mapped by {o}", "was charted by {o}", "was first sailed by {o}"),
            ("was explored by {o}", "had {o} as explorer", "was surveyed by {o}"),
            "Who explored {s}?",
            inverse=("mapped {s}", "charted {s}", "first sailed {s}"),
            noun="explorer",
        ),
        Relation(
            "bank",
            "word",
            ("cuts through {o}", "has banks of {o}", "wore a bed into {o}"),
            ("flows over {o}", "crosses {o}", "runs across {o}"),
            "What rock does {s} cross?",
            ROCKS,
        ),
    ),
    "mountain": (
        _number(
            "height in metres",
            range(1050, 3050, 50),
            ("is {o} metres high", "rises to {o} metres", "reaches {o} metres"),
            ("has a height of {o} metres", "stands {o} metres tall", "measures {o} metres"),
            "How many metres high is {s}?",
            ("is higher than {o}", "is lower than {o}", "is higher than {o} metres", "is lower than {o} metres"),
        ),
        Relation(
            "climber",
            "person",
            ("was first climbed by {o}", "was conquered by {o}", "was mastered by {o}"),
            ("was first scaled by {o}", "had {o} as first climber", "yielded to {o}"),
            "Who first climbed {s}?",
            inverse=("was first to climb {s}", "conquered {s}", "reached the top of {s}"),
            noun="first climber",
        ),
        _year(
            "climbed",
            FOUNDING_ERA,
            ("was first climbed in {o}", "saw its first ascent in {o}", "was conquered in {o}"),
            ("was first scaled in {o}", "had a first ascent in {o}", "was topped in {o}"),
            "In what year was {s} first climbed?",
            "was first climbed after {o}",
            "was first climbed before {o}",
        ),
        Relation(
            "rock",
            "word",
            ("consists of {o}", "is made of {o}", "is built up of {o}"),
            ("is formed from {o}", "is a mass of {o}", "is all {o}"),
            "What rock is {s} made of?",
            ROCKS,
        ),
    ),
    "company": (
        _year(
            "founded",
            FOUNDING_ERA,
            ("was founded in {o}", "opened its doors in {o}", "was set up in {o}"),
            ("was established in {o}", "began in {o}", "started business in {o}"),
            "When was {s} founded?",
            "was founded after {o}",
            "was founded before {o}",
        ),
        Relation(
            "founder",
            "person",
            ("was founded by {o}", "was set up by {o}", "goes back to {o}"),
            ("was established by {o}", "was started by {o}", "has {o} as founder"),
            "Who founded {s}?",
            inverse=("founded {s}", "set up {s}", "opened {s}"),
            noun="founder",
        ),
        Relation(
            "seat",
            "town",
            ("has its head office in {o}", "is based in {o}", "keeps its offices in {o}"),
            ("is headquartered in {o}", "has its seat in {o}", "operates from {o}"),
            "Where is {s} based?",
        ),
        Relation(
            "product",
            "word",
            ("makes {o}", "produces {o}", "earns its money with {o}"),
            ("manufactures {o}", "turns out {o}", "is a maker of {o}"),
            "What does {s} make?",
            PRODUCTS,
        ),
        _number(
            "staff",
            range(100, 4100, 100),
            ("employs {o} people", "has a staff of {o}", "pays {o} workers"),
            ("has {o} employees", "gives work to {o} people", "keeps {o} workers"),
            "How many people work for {s}?",
            _more_of("has", "employees"),
        ),
    ),
    "book": (
        Relation(
            "author",
            "novelist",
            ("was written by {o}", "came from the pen of {o}", "is the work of {o}"),
            ("was authored by {o}", "is a novel by {o}", "has {o} as author"),
            "Who wrote {s}?",
            inverse=("wrote {s}", "is the writer of {s}", "finished {s}"),
            noun="author",
        ),
        _year(
            "published",
            WORK_ERA,
            ("was published in {o}", "was printed in {o}", "reached the shops in {o}"),
            ("came out in {o}", "appeared in {o}", "was first sold in {o}"),
            "When was {s} published?",
            "came out after {o}",
            "came out before {o}",
        ),
        Relation(
            "publisher",
            "company",
            ("was published by {o}", "was printed by {o}", "was brought out by {o}"),
            ("was issued by {o}", "has {o} as publisher", "was released by {o}"),
            "Who published {s}?",
            inverse=("published {s}", "printed {s}", "brought out {s}"),
            noun="publisher",
        ),
        Relation(
            "genre",
            "word",
            ("is a tale of {o}", "belongs to {o}", "is counted as {o}"),
            ("is a work of {o}", "is classed as {o}", "falls under {o}"),
            "What is the genre of {s}?",
            GENRES,
        ),
        _number(
            "pages",
            range(120, 520, 10),
            ("runs to {o} pages", "fills {o} pages", "takes up {o} pages"),
            ("has {o} pages", "is {o} pages long", "contains {o} pages"),
            "How many pages does {s} have?",
            _more_of("has", "pages"),
        ),
    ),
    "film": (
        Relation(
            "director",
            "director",
            ("was directed by {o}", "was shot by {o}", "was made by {o}"),
            ("has {o} as director", "is a film by {o}", "was filmed by {o}"),
            "Who directed {s}?",
            inverse=("directed {s}", "shot {s}", "made {s}"),
            noun="director",
        ),
        _year(
            "released",
            WORK_ERA,
            ("was released in {o}", "reached cinemas in {o}", "had its premiere in {o}"),
            ("came out in {o}", "appeared in {o}", "was first shown in {o}"),
            "When was {s} released?",
            "came out after {o}",
            "came out before {o}",
        ),
        Relation(
            "star",
            "person",
            ("stars {o}", "has {o} in the lead", "features {o}"),
            ("was led by {o}", "casts {o} as its hero", "shows {o} in the main role"),
            "Who stars in {s}?",
            inverse=("starred in {s}", "played the lead in {s}", "acted in {s}"),
            noun="star",
        ),
        Relation(
            "genre",
            "word",
            ("is a story of {o}", "belongs to {o}", "is counted as {o}"),
            ("is a work of {o}", "is classed as {o}", "falls under {o}"),
            "What is the genre of {s}?",
            GENRES,
        ),
        _number(
            "minutes",
            range(70, 150, 2),
            ("runs for {o} minutes", "takes {o} minutes", "plays for {o} minutes"),
            ("lasts {o} minutes", "is {o} minutes long", "has {o} minutes"),
            "How many minutes does {s} last?",
            _more_of("has", "minutes"),
        ),
    ),
    "band": (
        _year(
            "formed",
            FOUNDING_ERA,
            ("formed in {o}", "came together in {o}", "gave a first concert in {o}"),
            ("got started in {o}", "was founded in {o}", "began in {o}"),
            "When did {s} form?",
            "was founded after {o}",
            "was founded before {o}",
        ),
        Relation(
            "home",
            "town",
            ("came from {o}", "rehearsed in {o}", "grew out of a club in {o}"),
            ("is a band from {o}", "has {o} as home town", "started in {o}"),
            "Which town did {s} come from?",
        ),
        Relation(
            "style",
            "word",
            ("played {o}", "recorded {o}", "made a name with {o}"),
            ("performed {o}", "was a group for {o}", "was loved for {o}"),
            "What style did {s} play?",
            STYLES,
        ),
        Relation(
            "singer",
            "musician",
            ("had {o} on vocals", "chose {o} as singer", "was fronted by {o}"),
            ("was led by {o}", "featured the voice of {o}", "had {o} at the microphone"),
            "Who sang for {s}?",
            inverse=("sang for {s}", "fronted {s}", "was the voice of {s}"),
            noun="singer",
        ),
    ),
    "album": (
        Relation(
            "band",
            "band",
            ("was recorded by {o}", "is an album by {o}", "was made by {o}"),
            ("is a record by {o}", "was played by {o}", "belongs to {o}"),
            "Which band recorded {s}?",
            inverse=("recorded {s}", "made {s}", "put out {s}"),
            noun="band",
        ),
        _year(
            "released",
            WORK_ERA,
            ("was released in {o}", "reached the shops in {o}", "was put on sale in {o}"),
            ("came out in {o}", "appeared in {o}", "was first sold in {o}"),
            "When was {s} released?",
            "came out after {o}",
            "came out before {o}",
        ),
        Relation(
            "label",
            "company",
            ("was released by {o}", "was pressed by {o}", "was put out by {o}"),
            ("was issued by {o}", "has {o} as label", "came out on {o}"),
            "Which company released {s}?",
            inverse=("released {s}", "pressed {s}", "sold {s}"),
            noun="label",
        ),
        Relation(
            "producer",
            "person",
            ("was produced by {o}", "was mixed by {o}", "was overseen by {o}"),
            ("has {o} as producer", "was arranged by {o}", "was supervised by {o}"),
            "Who produced {s}?",
            inverse=("produced {s}", "mixed {s}", "oversaw {s}"),
            noun="producer",
        ),
        _number(
            "minutes",
            range(20, 80, 2),
            ("runs for {o} minutes", "takes {o} minutes", "plays for {o} minutes"),
            ("lasts {o} minutes", "is {o} minutes long", "has {o} minutes"),
            "How many minutes does {s} last?",
            _more_of("has", "minutes"),
        ),
    ),
    "club": (
        _year(
            "founded",
            FOUNDING_ERA,
            ("was founded in {o}", "played its first match in {o}", "was set up in {o}"),
            ("was established in {o}", "began in {o}", "goes back to {o}"),
            "When was {s} founded?",
            "was founded after {o}",
            "was founded before {o}",
        ),
        Relation(
            "manager",
            "footballer",
            ("is managed by {o}", "is trained by {o}", "hired {o} to lead the team"),
            ("is coached by {o}", "has {o} as manager", "is under {o}"),
            "Who manages {s}?",
            inverse=("manages {s}", "trains {s}", "leads the team of {s}"),
            noun="manager",
        ),
        Relation(
            "colours",
            "word",
            ("plays in {o}", "wears {o}", "chose shirts of {o}"),
            ("has the colours {o}", "takes the field in {o}", "dresses in {o}"),
            "What colours does {s} wear?",
            COLOURS,
        ),
        _number(
            "capacity",
            range(2000, 42000, 1000),
            ("has a ground for {o} people", "plays before {o} people", "built a stand for {o} people"),
            ("has {o} seats", "has room for {o} fans", "can seat {o}"),
            "How many seats does {s} have?",
            _more_of("has", "seats"),
        ),
    ),
    "battle": (
        _year(
            "year",
            FOUNDING_ERA,
            ("was fought in {o}", "took place in {o}", "broke out in {o}"),
            ("happened in {o}", "occurred in {o}", "dates to {o}"),
            "In what year did {s} take place?",
            "happened after {o}",
            "happened before {o}",
        ),
        Relation(
            "victor",
            "general",
            ("was won by {o}", "ended in victory for {o}", "brought fame to {o}"),
            ("was a triumph of {o}", "was decided by {o}", "had {o} as winner"),
            "Who won {s}?",
            inverse=("won {s}", "led the winning side in {s}", "triumphed in {s}"),
            noun="winner",
        ),
        _number(
            "days",
            range(2, 42),
            ("lasted {o} days", "went on for {o} days", "took {o} days"),
            ("was over in {o} days", "had a length of {o} days", "continued for {o} days"),
            "How many days did {s} last?",
            ("was longer than {o}", "was shorter than {o}", "was longer than {o} days", "was shorter than {o} days"),
        ),
        _number(
            "losses",
            range(100, 4100, 100),
            ("cost {o} lives", "left {o} dead", "killed {o} men"),
            ("saw {o} deaths", "had {o} victims", "claimed {o} men"),
            "How many people died in {s}?",
            _more_of("had", "victims"),
        ),
    ),
}

# "Her brother Joren Velin ...": how a page introduces a sentence about the subject's companion.
COMPANIONS = {
    "town": "The nearby town",
    "river": "The nearby",
    "mountain": "The neighbouring peak",
    "company": "Its rival",
    "book": "The novel",
    "film": "The film",
    "band": "The rival band",
    "album": "The album",
    "club": "Its rival",
    "battle": "The infamous",
}

PROFESSIONS = (
    ("novelist",) * 3
    + ("director",) * 2
    + ("footballer",) * 4
    + ("musician",) * 3
    + ("engineer",) * 2
    + ("general",) * 2
    + ("climber",) * 2
)

NOUN_OF_KIND = {
    "town": "town",
    "river": "river",
    "mountain": "mountain",
    "company": "company",
    "book": "novel",
    "film": "film",
    "band": "band",
    "album": "album",
    "club": "football club",
    "battle": "battle",
}

# Sentences that decide nothing, though many have a town {t}, a person {p} or a year {y} after all eras.
FILLERS = {
    "person": (
        "was a cheerful guest at any table",
        "kept a diary for many years",
        "once spoke in {t}",
        "wrote letters to {p}",
        "quarrelled with {p}",
        "was shown on a stamp in {y}",
        "often travelled to {t}",
        "owned a painting of {t}",
        "is the subject of a lecture from {y}",
        "played cards with {p}",
    ),
    "town": (
        "has an old market hall",
        "keeps its old walls",
        "built a road to {t}",
        "named a street after {p}",
        "put up a statue of {p}",
        "held a festival in {y}",
        "shares a railway with {t}",
        "lost a lawsuit to {t}",
    ),
    "company": (
        "survived two hard winters",
        "has a brass sign above its gate",
        "once paid a debt to {p}",
        "bought a warehouse near {t}",
        "changed its letterhead in {y}",
        "sent a gift to {p}",
        "showed its goods at a fair in {t}",
    ),
    "work": (
        "was liked by the critics",
        "has a surprising end",
        "was a favourite of {p}",
        "was banned in {t} for a week",
        "was restored in {y}",
        "is kept in an archive in {t}",
        "was sharply attacked by {p}",
        "was reviewed again in {y}",
    ),
    "place": (
        "is shown on old maps",
        "appears in local legends",
        "was painted by pupils from {t}",
        "is described in a poem by {p}",
        "was the theme of a show in {y}",
        "is the topic of a song from {t}",
        "appears in a dream of {p}",
    ),
    "group": (
        "has loyal followers",
        "is often praised in the papers",
        "once travelled to {t}",
        "was admired by {p}",
        "was the theme of a show in {y}",
        "lost a bet against {p}",
        "has a fan club in {t}",
    ),
}
FILLER_YEARS = range(2012, 2024)
FILLER_OF_KIND = {
    "person": "person",
    "town": "town",
    "company": "company",
    "book": "work",
    "film": "work",
    "album": "work",
    "river": "place",
    "mountain": "place",
    "battle": "place",
    "band": "group",
    "club": "group",
}
