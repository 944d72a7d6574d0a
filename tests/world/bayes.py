"""Naive Bayes over words and pairs of words: what the words of claims tell of their labels."""

import collections
import itertools
import math
import re

from lisax.records import Claim


def share_right(learned: list[Claim], judged: list[Claim]) -> float:
    """The share of `judged` claims whose label the words of `learned` ones tell."""
    counts = collections.defaultdict(collections.Counter)
    for claim in learned:
        counts[claim.label].update(_features(claim))
    size = len(set().union(*counts.values()))
    totals = {label: count.total() + size for label, count in counts.items()}

    def likely(label, features) -> float:
        return sum(math.log((counts[label][feature] + 1) / totals[label]) for feature in features)

    said = [max(counts, key=lambda label: likely(label, features)) for features in map(_features, judged)]
    return sum(label == claim.label for label, claim in zip(said, judged)) / len(judged)


def _features(claim: Claim) -> set:
    words = re.findall(r"[\w,]*\w", claim.text.lower())
    return {*words, *itertools.pairwise(words)}
