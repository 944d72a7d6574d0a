"""Labels and evidence of attacked claims, recomputed from the facts of a world."""

import itertools
import re
from collections import Counter

import pytest
from known_world import decide, joined, make

from lisax.adversary import dates
from lisax.adversary.attack import AttackKind
from lisax.adversary.date_manipulation import dated
from lisax.adversary.kinds import BY_RULE, attacks
from lisax.adversary.lexical import Fluency, LexicalSearch
from lisax.adversary.lexicon import CorpusLexicon
from lisax.records import Label, split_sentence_id
from lisax.retrieval.titles import unqualified

YEARS = ("birth year", "founded", "climbed", "published", "released", "formed", "year")
CENTURIES = dict(
    zip(("sixteenth", "nineteenth", "twentieth", "twenty-first", "16th", "19th", "20th", "21st"), (15, 18, 19, 20) * 2)
)
TENS = {name: tens for tens, name in dates._DECADES.items()}
ORDINALS = {name: i for i, name in enumerate(dates._ORDINALS)}


@pytest.fixture(scope="module")
def world():
    return make()


@pytest.fixture(scope="module")
def made(world):
    by_kind = {kind: [] for kind in BY_RULE}
    for _, attack in attacks(list(world.claims.values()), world.corpus):
        by_kind[attack.kind].append(attack)
    return by_kind


def all_facts(world):
    return list(itertools.chain.from_iterable(world.facts.values()))


def check_evidence(attack, label_of):
    """Each set decides the label; where there is none, all of the world does not."""
    assert bool(attack.evidence_sets) == (attack.label is not Label.NOT_ENOUGH_INFO)
    for members in attack.evidence_sets:
        assert label_of(members) is attack.label, attack


def test_every_kind_is_made(made):
    assert {kind: bool(found) for kind, found in made.items()} == dict.fromkeys(BY_RULE, True)
    assert min(map(len, made.values())) >= 20


def test_conjunctions(world, made):
    everything = all_facts(world)
    for attack in made[AttackKind.CONJUNCTION]:
        forms = [world.forms[id] for id in attack.source]
        truth = joined(*(decide(form, everything) for form in forms))
        assert attack.label is (truth or Label.NOT_ENOUGH_INFO)
        check_evidence(attack, lambda units: joined(*(decide(form, world.known(units)) for form in forms)))
        assert len(set(attack.source)) == 2
    assert {attack.label for attack in made[AttackKind.CONJUNCTION]} == set(Label)


def holds(phrase: str, year: int) -> bool:
    """An evaluation of date phrases of its own: by regular expressions on the attacked claim."""
    if match := re.search(r"(\d+) years (before|after) (\d{4})", phrase):
        return year == int(match[3]) + int(match[1]) * (1 if match[2] == "after" else -1)
    if match := re.search(r"between (\d{4}) and (\d{4})", phrase):
        return int(match[1]) <= year <= int(match[2])
    if match := re.search(r"(before|after) (\d{4})", phrase):
        return year < int(match[2]) if match[1] == "before" else year > int(match[2])
    if match := re.search(r"(?:in|during) the (\d{3})0s", phrase):
        return year // 10 == int(match[1])
    if match := re.search(r"from (\d{4}) to (\d{4})", phrase):
        return int(match[1]) <= year <= int(match[2])
    if match := re.search(r"the (\w+) decade of the ([\w-]+) century", phrase):
        return year // 10 == CENTURIES[match[2]] * 10 + ORDINALS[match[1]]
    if match := re.search(r"the (\w+) of the ([\w-]+) century", phrase):
        return year // 10 * 10 == CENTURIES[match[2]] * 100 + TENS[match[1]]
    match = re.search(r"in the ([\w-]+) century", phrase)
    return (year - 1) // 100 == CENTURIES[match[1]]


def test_dates(world, made):
    everything = all_facts(world)
    years = {(subject, relation): number for subject, relation, _, number, _ in everything if relation in YEARS}
    targets = {(subject, relation): target for subject, relation, _, _, target in everything}
    forms_seen = set()
    for attack in made[AttackKind.DATE]:
        source, form = world.claims[attack.source[0]], world.forms[attack.source[0]]
        phrase = attack.text[dated(source.text)[0].start :]
        subject, relation = form.steps[-1]
        if len(form.steps) == 2 and len(form.values) == 1:
            subject = targets.get(form.steps[0], subject)
        year = years.get((subject, relation))
        if source.label is Label.NOT_ENOUGH_INFO:
            assert attack.label is Label.NOT_ENOUGH_INFO and not attack.evidence_sets
            assert decide(form, everything) is None and holds(phrase, int(form.values[-1]))
            continue
        right = holds(phrase, year)
        if len(form.values) == 2:  # joint: the other half must hold too
            right = right and targets.get(form.steps[0]) is not None and source.label is Label.SUPPORTS
        assert attack.label is (Label.SUPPORTS if right else Label.REFUTES), (attack, year)
        check_evidence(attack, lambda units: attack.label if decide(form, world.known(units)) is source.label else None)
        forms_seen.add(re.sub(r"\d+|\w+(?= decade| of the|-first| century)|\w+-?\w* century", "", phrase))
    assert {attack.label for attack in made[AttackKind.DATE]} == set(Label) and len(forms_seen) >= 7


def test_seven_variants_of_each_dated_claim(made):
    decided = [attack for attack in made[AttackKind.DATE] if attack.label is not Label.NOT_ENOUGH_INFO]
    by_source = itertools.groupby(decided, key=lambda attack: attack.source)
    assert [len(list(group)) for _, group in by_source].count(7) >= len(decided) / 7 * 0.9


def test_multi_hop(world, made):
    """What is false of the second page is so in the facts, and the label is that of no page alone."""
    everything = all_facts(world)
    years = {subject: number for subject, relation, _, number, _ in everything if relation in YEARS}
    wrong = 0
    for attack in made[AttackKind.MULTI_HOP]:
        source, form = world.claims[attack.source[0]], world.forms[attack.source[0]]
        if attack.label is Label.REFUTES is not source.label:
            ((*_, unit),) = attack.evidence_sets
            ((subject, number),) = {(f[0], f[3]) for f in world.facts[unit] if f[1] in YEARS}
            said = re.search(r"(?:who|which) (?:\w+ )+in (\d{4})", attack.edit)
            assert number == years[subject] != int(said[1])
            assert split_sentence_id(unit)[0] not in {split_sentence_id(one)[0] for one in source.gold_ids}
            wrong += 1
            continue
        assert attack.label is source.label
        truth = decide(form, everything)
        assert attack.label is (truth or Label.NOT_ENOUGH_INFO)
        check_evidence(attack, lambda units: decide(form, world.known(units)))
        if attack.label is not Label.NOT_ENOUGH_INFO:
            # Every set needs a page that no set of the source needed.
            pages = {split_sentence_id(unit)[0] for unit in source.gold_ids}
            for members in attack.evidence_sets:
                added = {split_sentence_id(unit)[0] for unit in members} - pages
                assert added, attack
    edits = " ".join(attack.edit for attack in made[AttackKind.MULTI_HOP])
    assert wrong >= 20 and "+ ," in edits and "The director of" in edits


def wording(attack) -> tuple:
    """What two attacks share that differ in a year alone; over dates, in their names."""
    if attack.kind is AttackKind.MULTI_HOP:
        return attack.source, re.sub(r"\d{4}", "_", attack.text)
    text = attack.text.casefold()
    for said in attack.reason.split("; "):
        parts = said.partition(":")[0].casefold().split()
        text = text.replace(next(n for i in range(len(parts), 0, -1) if (n := " ".join(parts[:i])) in text), "_")
    return (), text


@pytest.mark.parametrize("kind", [AttackKind.MULTI_HOP, AttackKind.MULTI_HOP_TEMPORAL])
def test_wording_does_not_decide_attacks_over_two_pages(made, kind):
    labels = {}
    for attack in made[kind]:
        if "-> The " not in attack.edit:
            labels.setdefault(wording(attack), Counter())[attack.label] += 1
    assert len(labels) >= 5
    for counts in labels.values():
        assert len(counts) == 2 and len(set(counts.values())) == 1, labels


def test_roles_are_facts(world, made):
    """`The director of X` stands for the one whom a stated fact of X names."""
    relation_of = {"writer": "author", "coach": "manager"}
    facts = {(subject, relation): target for subject, relation, _, _, target in all_facts(world)}
    checked = 0
    for attack in made[AttackKind.MULTI_HOP]:
        if match := re.search(r"^(.+) -> The (\w+) of (.+)$", attack.edit):
            work = next(
                title
                for title in (unit[0] for unit in facts)
                if match[3] in (title, f"the {title}", "the {1} {0}".format(*unqualified(title)))
            )
            target = facts[work, relation_of.get(match[2], match[2])]
            assert unqualified(target)[0] in match[1]
            checked += 1
    assert checked >= 10


def test_appended_phrases_are_said_by_the_named_entity(world, made):
    for attack in made[AttackKind.MULTI_HOP]:
        if (match := re.match(r"\+ , (an? .+)", attack.edit)) and attack.label is Label.SUPPORTS:
            source = world.claims[attack.source[0]]
            for members in attack.evidence_sets:
                added = [unit for unit in members if unit not in source.gold_ids]
                (page,) = {split_sentence_id(unit)[0] for unit in added}
                assert unqualified(world.corpus.page(page).title)[0] in source.text
                if len(clause := match[1].split(" who ") if " who " in match[1] else match[1].split(" that ")) == 2:
                    assert any(clause[1] in world.corpus.text(unit) for unit in added)


def test_multi_hop_temporal(world, made):
    for attack in made[AttackKind.MULTI_HOP_TEMPORAL]:
        (members,) = attack.evidence_sets
        mine, theirs = (
            [f for f in world.facts[unit] if f[1] in YEARS and str(f[3]) in world.corpus.text(unit)]
            for unit in members[-2:]
        )
        pages = [world.corpus.page(split_sentence_id(unit)[0]).title for unit in members[-2:]]
        (first,) = {f[3] for f in mine if f[0] == pages[0]}
        (second,) = {f[3] for f in theirs if f[0] == pages[1]}
        said = re.search(r" (before|after|earlier|later) ", attack.text)[1]
        assert first != second
        assert (attack.label is Label.SUPPORTS) == ((said in ("before", "earlier")) == (first < second)), attack
        assert len(set(pages)) == 2
    assert {attack.label for attack in made[AttackKind.MULTI_HOP_TEMPORAL]} == {Label.SUPPORTS, Label.REFUTES}


def test_disambiguation(world, made):
    copied = 0
    for attack in made[AttackKind.DISAMBIGUATION]:
        (members,) = attack.evidence_sets
        (page,) = {world.corpus.page(split_sentence_id(unit)[0]) for unit in members}
        name = unqualified(page.title)[0]
        assert attack.label is Label.SUPPORTS and name in attack.text
        assert name in world.claims[attack.source[0]].text and len(world.corpus.pages_named(name)) > 1
        assert all(page.title in (fact[0], fact[4]) for fact in world.known(members))
        copied += any(attack.text.rstrip(".") in world.corpus.text(unit) for unit in members)
    assert copied == 0


def test_unverifiable(world, made):
    """What is added is said of another page, and seldom of something that the subject has one of too."""
    told = {}
    for subject, relation, *_ in all_facts(world):
        told.setdefault(subject, set()).add(relation)
    decided, used = 0, Counter()
    for attack in made[AttackKind.UNVERIFIABLE]:
        source = world.claims[attack.source[0]]
        assert source.label is Label.SUPPORTS
        assert attack.label is Label.NOT_ENOUGH_INFO and not attack.evidence_sets
        phrase, page = re.match(r'"(.+)" is said of (.+?);', attack.reason).groups()
        assert attack.text.endswith(f" {phrase}.")
        subject = split_sentence_id(source.evidence_sets[0][0])[0]
        assert phrase not in " ".join(line.text for line in world.corpus.page(subject).sentences)
        said = [
            fact[1]
            for unit, facts in world.facts.items()
            if split_sentence_id(unit)[0] == page and phrase in world.corpus.text(unit)
            for fact in facts
        ]
        decided += any(relation in told[world.corpus.page(subject).title] for relation in said)
        used[phrase] += 1
    assert len(used) >= 10 and max(used.values()) <= len(world.claims) / 100
    assert decided <= len(made[AttackKind.UNVERIFIABLE]) / 8


def test_synonyms_of_the_corpus_are_those_of_the_facts(world):
    """A phrase is exchanged only for one of the same relation."""
    from lisax.world.phrases import RELATIONS

    claims = list(world.claims.values())
    lexicon = CorpusLexicon(world.corpus, claims)
    texts = (line.text for page in world.corpus.documents() for line in page.sentences)
    search = LexicalSearch(world.corpus, lexicon, Fluency(texts), fluency_bound=9)
    phrases = [
        {phrase.replace(" {o}", "").split(" {o}")[0] for phrase in (*relation.page, *relation.claim)}
        for relations in RELATIONS.values()
        for relation in relations
    ]
    found = [attack for _, attack in search.attacks(claims) if "(synonym)" in attack.edit]
    assert len(found) >= 5
    for attack in found:
        old, new = re.fullmatch(r"(.+) -> (.+) \(synonym\)", attack.edit).groups()
        of_old = [i for i, of in enumerate(phrases) if any(p.startswith(old) for p in of)]
        assert any(any(p.startswith(new) for p in phrases[i]) for i in of_old), attack.edit
        assert attack.label is world.claims[attack.source[0]].label


def test_the_same_seed_gives_the_same_attacks(world):
    claims = list(world.claims.values())[:200]
    once, again, other = (list(attacks(claims, world.corpus, seed=seed)) for seed in (1, 1, 2))
    assert once == again != other
    ids, texts = zip(*((id, attack.text) for id, attack in once))
    assert len(set(ids)) == len(ids) and len(set(texts)) == len(texts)
