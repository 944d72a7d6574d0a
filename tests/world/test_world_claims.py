"""Labels and evidence of claims against an oracle that searches all sentences of the world."""

import collections
import dataclasses
import itertools

import pytest

from lisax.records import LABELS, Label
from lisax.retrieval import bm25
from lisax.world.claims import COMPARE, JOINT, ONE_HOP, TWO_HOP, ClaimWriter
from lisax.world.facts import KINDS, SIZE
from lisax.world.phrases import PROFESSIONS, RELATIONS
from lisax.world.tables import edges_of, tables_of
from lisax.world.writing import neighbourhoods, split_of
from tests.adversary.known_world import decide, told
from tests.world.bayes import share_right

PAGES = 500  # the last neighbourhood is cut


@pytest.fixture(scope="module")
def world():
    """(every sentence id -> what it states, all claims written, (subject, relation) -> the true object)"""
    sentences, stated, true = {}, [], {}
    for geography, place, pages in neighbourhoods(PAGES, seed=11):
        for page in pages:
            for number, (_text, facts) in enumerate(page.sentences):
                sentences[f"{page.entity.page}_{number}"] = list(map(told, facts))
        for facts in place.facts:
            true |= {(fact.subject.title, fact.relation.name): fact.text for fact in facts.values()}
        writer = ClaimWriter(geography, place, pages, geography.rng(place.number, "claims"))
        for page in pages:
            stated += writer.claims(page.entity, 6)
    return sentences, stated, true


def test_oracle_agrees(world):
    sentences, stated, _ = world
    stating = collections.defaultdict(list)
    for unit, facts in sentences.items():
        for subject, relation, *_ in facts:
            stating[subject, relation].append(unit)
    for claim in stated:
        relevant = sorted({unit for step in claim.form.steps for unit in stating[step]})
        minimal, labels = set(), set()
        for size in (1, 2):
            for chosen in itertools.combinations(relevant, size):
                label = decide(claim.form, [fact for unit in chosen for fact in sentences[unit]])
                if label is not None:
                    labels.add(label)
                    if not any(smaller < set(chosen) for smaller in map(set, minimal)):
                        minimal.add(chosen)
        assert labels <= {claim.claim.label}, claim
        assert (claim.claim.label is Label.NOT_ENOUGH_INFO) == (not minimal), claim
        assert {frozenset(s) for s in claim.claim.evidence_sets} == {frozenset(s) for s in minimal}, claim
        # Undecided even by all sentences of the world together.
        everything = [fact for unit in relevant for fact in sentences[unit]]
        assert (decide(claim.form, everything) or Label.NOT_ENOUGH_INFO) == claim.claim.label


def test_edges_and_rows_stand_in_for_sentences_and_change_no_claim():
    rows, alone = 0, 0
    for geography, place, pages in neighbourhoods(150, seed=3):
        tables = tables_of(place, pages, geography.rng(place.number, "tables"))
        known = collections.defaultdict(list)
        for facts in place.facts:
            for fact in facts.values():
                for table in tables:
                    for cell in table.cells.get(id(fact), ()):
                        known[cell.rpartition("c")[0]].append(told(fact))
        for page in pages:
            for fact, edge in edges_of(place, page):
                known[edge].append(told(fact))
        writers = [
            ClaimWriter(geography, place, pages, geography.rng(place.number, "claims"), tables=given)
            for given in (None, tables)
        ]
        for page in pages:
            for plain, more in zip(*(writer.claims(page.entity, 6) for writer in writers), strict=True):
                assert dataclasses.replace(more.claim, mixed_sets=()) == plain.claim
                assert all(not known.keys().isdisjoint(s) for s in more.claim.mixed_sets)
                of_structures = [s for s in more.claim.mixed_sets if known.keys() >= set(s)]
                assert all(
                    decide(more.form, [stated for unit in s for stated in known[unit]]) is more.claim.label
                    for s in of_structures
                )
                assert bool(of_structures) == bool(more.claim.evidence_sets)
                rows += sum("#r" in unit for s in of_structures for unit in s)
                alone += len(of_structures)
    assert alone > 400 and rows > 100


def test_claims_alone_are_near_chance():
    """A third is chance."""
    claims = {"train": [], "dev": [], "test": []}
    for geography, place, pages in neighbourhoods(1500, seed=5):
        writer = ClaimWriter(geography, place, pages, geography.rng(place.number, "claims"))
        for i, page in enumerate(pages):
            found = claims[split_of(place.number * SIZE + i, 5)]
            found += [stated.claim for stated in writer.claims(page.entity, 3)]
    assert share_right(claims["train"], claims["dev"] + claims["test"]) < 0.40


def test_words_find_some_evidence_and_miss_some(tmp_path):
    """BM25 has a whole evidence set among its first five sentences for half of the claims or more, not for all."""
    texts, claims = {}, []
    for geography, place, pages in neighbourhoods(1500, seed=5):
        writer = ClaimWriter(geography, place, pages, geography.rng(place.number, "claims"))
        for page in pages:
            texts |= {one.id: f"{page.entity.title} {one.text}" for one in page.document().sentences}
            claims += [stated.claim for stated in writer.claims(page.entity, 1)]
    judged = [claim for claim in claims if claim.evidence_sets]
    found = bm25.build(texts.items(), tmp_path, k1=0.6, b=0.5).search([claim.text for claim in judged], 5)
    tops = [{unit for unit, _ in hits} for hits in found]
    recall = sum(any(set(s) <= top for s in claim.evidence_sets) for claim, top in zip(judged, tops)) / len(judged)
    assert 0.4 < recall < 0.75


def test_facts_never_disagree(world):
    objects = {}
    for facts in world[0].values():
        for subject, relation, text, _, _ in facts:
            assert objects.setdefault((subject, relation), text) == text


def test_claims_are_short_and_differ(world):
    texts = [stated.claim.text for stated in world[1]]
    assert len(texts) == len(set(texts)) and max(len(text.split()) for text in texts) <= 22


def test_labels_and_kinds_are_balanced(world):
    claims = [stated.claim for stated in world[1]]
    for kind, low, high in ((ONE_HOP, 0.6, 0.8), (TWO_HOP, 0.06, 0.16), (JOINT, 0.06, 0.16), (COMPARE, 0.05, 0.15)):
        assert low < sum(claim.kind == kind for claim in claims) / len(claims) < high
    counts = collections.Counter(claim.label for claim in claims)
    assert all(0.32 < counts[label] / len(claims) < 0.35 for label in LABELS)


@pytest.mark.parametrize("kind, most", [(ONE_HOP, 0.55), (TWO_HOP, 0.65)])
def test_half_of_the_undecidable_claims_have_a_false_object(world, kind, most):
    """As among decided claims: an object must not say that its claim is undecidable."""
    _, stated, true = world
    undecided = [
        one for one in stated if one.claim.kind == kind and one.claim.label is Label.NOT_ENOUGH_INFO and one.form.values
    ]
    false = sum(one.form.values[-1] != true[one.form.steps[-1]] for one in undecided)
    assert len(undecided) > 60 and 1 - most < false / len(undecided) < most


@pytest.mark.parametrize("kind", sorted(RELATIONS))
def test_no_phrase_says_two_relations(kind):
    """A phrase may serve two relations of a kind only where the objects tell them apart: a year, a place."""
    owners = {}
    for relation in RELATIONS[kind]:
        objects = "name" if relation.draw in {"town", *KINDS, *PROFESSIONS} else relation.draw
        for phrase in {*relation.page, *relation.claim}:
            unit = (phrase, relation.values if objects == "word" else objects)
            assert owners.setdefault(unit, relation.name) == relation.name
        assert all("{o}" in phrase for phrase in relation.page + relation.claim)
        assert all("{s}" in phrase for phrase in relation.inverse + (relation.question,))
        assert not set(relation.inverse) & set(relation.page)


def test_layout_adds_up():
    assert len(KINDS) == SIZE and len(PROFESSIONS) == KINDS.count("person")
