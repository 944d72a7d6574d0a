"""The world is hard enough: claims alone say nothing, and a small trained ranker clearly beats BM25."""

import collections
import itertools
import math
import random
import re

import pytest

from lisax.records import LABELS
from lisax.world.claims import ClaimWriter
from lisax.world.facts import SIZE
from lisax.world.writing import neighbourhoods, split_of

STOP = set("a an and are as at be by for from has had in into is it its of on or that the to was with".split())


def words(text):
    return re.findall(r"[\w,]*\w", text)


@pytest.fixture(scope="module")
def world():
    """1,500 pages: (unit id -> (title, text), split -> claims)."""
    units, claims = {}, {"train": [], "dev": [], "test": []}
    for geography, place, pages in neighbourhoods(1500, seed=5):
        writer = ClaimWriter(geography, place, pages, geography.rng(place.number, "claims"))
        for i, page in enumerate(pages):
            for sentence in page.document().sentences:
                units[sentence.id] = (page.entity.title, sentence.text)
            split = split_of(place.number * SIZE + i, 5)
            claims[split] += [stated.claim for stated in writer.claims(page.entity, 3)]
    return units, claims


def test_claims_alone_are_near_chance(world):
    """Naive Bayes over words and word pairs, trained on train: a third is chance."""

    def features(claim):
        tokens = words(claim.text.lower())
        return {*tokens, *itertools.pairwise(tokens)}

    counts = {label: collections.Counter() for label in LABELS}
    for claim in world[1]["train"]:
        counts[claim.label].update(features(claim))
    vocabulary = len(set().union(*counts.values()))
    totals = {label: sum(count.values()) for label, count in counts.items()}
    held_out = world[1]["dev"] + world[1]["test"]
    correct = sum(
        claim.label
        == max(
            LABELS,
            key=lambda label: sum(
                math.log((counts[label][f] + 1) / (totals[label] + vocabulary)) for f in features(claim)
            ),
        )
        for claim in held_out
    )
    assert correct / len(held_out) < 0.40


class Bm25:
    """k1 = 0.6, b = 0.5 over title and sentence, with stop words and a plural stripped."""

    def __init__(self, units):
        self.ids = list(units)
        tokens = [self.tokens(" ".join(units[i])) for i in self.ids]
        mean = sum(map(len, tokens)) / len(tokens)
        self.postings = collections.defaultdict(list)
        for n, text in enumerate(tokens):
            for token, count in collections.Counter(text).items():
                self.postings[token].append((n, count / (count + 0.6 * (0.5 + 0.5 * len(text) / mean))))

    @staticmethod
    def tokens(text):
        return [re.sub(r"(?<=\w{3})(ed|s)$", "", w) for w in words(text.lower()) if w not in STOP]

    def search(self, text, k):
        scores = collections.Counter()
        for token in dict.fromkeys(self.tokens(text)):
            postings = self.postings.get(token, ())
            idf = math.log(1 + (len(self.ids) - len(postings) + 0.5) / (len(postings) + 0.5))
            for n, score in postings:
                scores[n] += idf * score
        return [(self.ids[n], score) for n, score in scores.most_common(k)]


def names_and_words(text):
    tokens = words(text)
    return {w for w in tokens[1:] if not w.islower()} | {tokens[0]}, {w.lower() for w in tokens if w.islower()}


def pair_features(claim, title, text, score):
    """Names that match, by how many; every word of the claim with every word of the sentence."""
    claim_names, claim_words = names_and_words(claim)
    names, said = names_and_words(text)
    title_names = set(words(title))
    mentioned = len(claim_names & (names | title_names))
    features = {
        "bias": 1.0,
        "score": score / 10,
        f"names {mentioned}": 1.0,
        f"title {len(claim_names & title_names)} of {len(title_names)}": 1.0,
        f"others {bool(names - title_names - claim_names)}": 1.0,
    }
    for pair in itertools.product(claim_words - STOP, said - STOP):
        features[pair] = 0.5
    return features


def test_a_trained_ranker_beats_bm25(world):
    """Recall of a whole evidence set within the first five sentences, on dev and test together."""
    units, claims = world
    bm25 = Bm25(units)
    weights = collections.defaultdict(float)

    def candidates(claim):
        return [(unit, pair_features(claim.text, *units[unit], score)) for unit, score in bm25.search(claim.text, 40)]

    def score(features):
        return sum(weights[f] * value for f, value in features.items())

    rng = random.Random(0)
    training = rng.sample([claim for claim in claims["train"] if claim.evidence_sets], 1500)
    lists = [(set(claim.gold_ids), candidates(claim)) for claim in training]
    for _ in range(4):
        rng.shuffle(lists)
        for gold, listed in lists:
            for unit, features in listed:
                error = (unit in gold) - 1 / (1 + math.exp(-max(-30.0, min(30.0, score(features)))))
                for feature, value in features.items():
                    weights[feature] += 0.1 * error * value

    found = collections.Counter()
    judged = [claim for claim in claims["dev"] + claims["test"] if claim.evidence_sets]
    for claim in judged:
        listed = candidates(claim)
        by_model = sorted(listed, key=lambda pair: -score(pair[1]))
        for name, ranked in (("bm25", listed), ("ranker", by_model)):
            top = {unit for unit, _ in ranked[:5]}
            found[name] += any(set(s) <= top for s in claim.evidence_sets)
    bm25_recall, ranker_recall = found["bm25"] / len(judged), found["ranker"] / len(judged)
    print(f"recall@5: bm25 {bm25_recall:.3f}, ranker {ranker_recall:.3f}")
    assert 0.4 < bm25_recall < 0.75
    assert ranker_recall > bm25_recall + 0.08
