"""Figures of one task during training: plain functions of targets and predictions.

They see only the examples of a task's file; the paper's figures come from `lisax.metrics` on whole runs.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from lisax.records import Label

CUTOFF = 5


def accuracy(targets: Sequence[Mapping[str, str]], predictions: Sequence[str]) -> dict[str, float]:
    """Share of examples whose predicted word is the target word."""
    pairs = zip(targets, predictions, strict=True)
    right = sum(target["target"] == prediction.strip() for target, prediction in pairs)
    return {"accuracy": right / max(len(targets), 1)}


def label_accuracy(targets: Sequence[Mapping[str, str]], predictions: Sequence[str]) -> dict[str, float]:
    """Accuracy, and its mean over the labels, which a model that always predicts one label cannot raise."""
    by_label: dict[str, list[bool]] = defaultdict(list)
    for target, prediction in zip(targets, predictions, strict=True):
        by_label[target["target"]].append(target["target"] == prediction.strip())
    balanced = sum(sum(right) / len(right) for right in by_label.values()) / max(len(by_label), 1)
    return {"label_accuracy": accuracy(targets, predictions)["accuracy"], "balanced_accuracy": balanced}


def dropped_rows(targets: Sequence[Mapping], predictions: Sequence) -> dict[str, int]:
    """Rows of tables for which the inputs had no room, over the whole split."""
    return {"dropped_rows": sum(target["dropped_rows"] for target in targets)}


def fusion_accuracy(targets: Sequence[Mapping], predictions: Sequence[np.ndarray]) -> dict[str, float]:
    """Figures of the fusion model from its probabilities [tables, classes] of each claim, the last two classes
    true and false, places without a table zero.

    `label_accuracy`: the truth that has more probability over all tables, on claims that are true or false.
    `table_accuracy`: the table with the most probability of truth and falsehood together is a gold one, on those of
    them whose gold table is among theirs.
    """
    labels, tables = [], []
    for target, prediction in zip(targets, predictions, strict=True):
        decided = np.asarray(prediction)[:, -2:]
        if target["label"] not in (Label.SUPPORTS, Label.REFUTES):
            continue
        true, false = decided.sum(axis=0)
        labels.append((true > false) == (target["label"] == Label.SUPPORTS))
        if any(target["gold"]):
            best = int(np.argmax(decided.sum(axis=1)))
            tables.append(best < len(target["gold"]) and target["gold"][best])
    return {"label_accuracy": sum(labels) / max(len(labels), 1), "table_accuracy": sum(tables) / max(len(tables), 1)}


def pointed_recall(targets: Sequence[Mapping], predictions: Sequence[Sequence[int]]) -> dict[str, float]:
    """Share of the claims with an evidence set among their candidates for which a whole one was pointed to."""
    found = [
        any(places <= set(pointers) for places in target["sets"])
        for target, pointers in zip(targets, predictions, strict=True)
        if target["sets"]
    ]
    return {"pointed_recall": sum(found) / max(len(found), 1)}


def ranking_figures(
    claim_ids: Sequence[str], relevant: Sequence[bool], scores: Sequence[float], cutoff: int = CUTOFF
) -> dict[str, float]:
    """Precision, recall, F1 and average precision at `cutoff`, means over claims with a relevant example.

    Examples of a claim are ranked by falling score, ties in file order. Recall and average precision are
    over all relevant examples of the claim.
    """
    by_claim: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for claim, is_relevant, score in zip(claim_ids, relevant, scores, strict=True):
        by_claim[claim].append((-float(score), bool(is_relevant)))
    sums = [0.0] * 4
    claims = 0
    for ranked in by_claim.values():
        total = sum(is_relevant for _, is_relevant in ranked)
        if not total:
            continue
        claims += 1
        top = [is_relevant for _, is_relevant in sorted(ranked, key=lambda pair: pair[0])[:cutoff]]
        found = sum(top)
        average = sum(sum(top[: i + 1]) / (i + 1) for i in range(len(top)) if top[i]) / total
        figures = (found / cutoff, found / total, 2 * found / (cutoff + total), average)
        sums = [a + b for a, b in zip(sums, figures)]
    names = (f"precision@{cutoff}", f"recall@{cutoff}", f"f1@{cutoff}", f"map@{cutoff}")
    return {name: value / max(claims, 1) for name, value in zip(names, sums)}


def ranking_scores(targets: Sequence[Mapping[str, str]], scores: Sequence[float]) -> dict[str, float]:
    """`ranking_figures` from a model's log-likelihood of each target, as seqio's score mode gives it."""
    return ranking_figures(*_of_words(targets, scores))


def _of_words(targets: Sequence[Mapping], scores: Sequence[float]) -> tuple[list[str], list[bool], list[float]]:
    """The arguments of both figures: the likelihood p of the word `false` stands for a relevance of 1 - p."""
    ids = [target["claim_id"] for target in targets]
    relevant = [target["relevant"] for target in targets]
    likelihood = [math.exp(min(float(score), 0.0)) for score in scores]
    return ids, relevant, [p if is_relevant else 1 - p for p, is_relevant in zip(likelihood, relevant)]


def part_figures(question_ids: Sequence[str], relevant: Sequence[bool], scores: Sequence[float]) -> dict[str, float]:
    """`mrr` and `hit@1` of the first relevant row (or column) of each question by falling score, means over questions
    that have one. It ranks after every other part of its score, so that a model that scores all alike gains nothing.
    """
    best: dict[str, float] = {}
    for question, is_relevant, score in zip(question_ids, relevant, scores, strict=True):
        if is_relevant:
            best[question] = max(float(score), best.get(question, -math.inf))
    before = Counter(
        question
        for question, is_relevant, score in zip(question_ids, relevant, scores)
        if not is_relevant and question in best and float(score) >= best[question]
    )
    questions = max(len(best), 1)
    return {
        "mrr": sum(1 / (1 + before[question]) for question in best) / questions,
        "hit@1": sum(not before[question] for question in best) / questions,
    }


def part_scores(targets: Sequence[Mapping[str, str]], scores: Sequence[float]) -> dict[str, float]:
    """`part_figures` from a model's log-likelihood of each target."""
    return part_figures(*_of_words(targets, scores))


def pair_accuracy(targets: Sequence[Mapping], predictions: Sequence[Sequence[float]]) -> dict[str, float]:
    """`label_accuracy` and `balanced_accuracy` of a pair scorer's likeliest classes."""
    wanted = [{"target": str(target["class"])} for target in targets]
    return label_accuracy(wanted, [str(int(np.argmax(prediction))) for prediction in predictions])


def pair_ranking(targets: Sequence[Mapping], predictions: Sequence[Sequence[float]]) -> dict[str, float]:
    """`ranking_figures` by the probability of the first class, relevant."""
    return ranking_figures(*_of_pairs(targets, predictions))


def pair_parts(targets: Sequence[Mapping], predictions: Sequence[Sequence[float]]) -> dict[str, float]:
    """`part_figures` by the probability of the first class, relevant."""
    return part_figures(*_of_pairs(targets, predictions))


def _of_pairs(targets: Sequence[Mapping], predictions: Sequence) -> tuple[list[str], list[bool], list[float]]:
    ids, relevant = [target["claim_id"] for target in targets], [not target["class"] for target in targets]
    return ids, relevant, [prediction[0] for prediction in predictions]
