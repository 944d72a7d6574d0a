"""Figures of open-domain question answering: exact match after SQuAD's normalisation, and recall by answer string.

Both are standard (Rajpurkar et al. 2016; Karpukhin et al. 2020). R@k is the share of questions with an answer in the
text of one of their first k passages, whether or not that passage is about the question.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterable, Mapping, Sequence

CUTOFFS = (1, 5, 20, 100)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize(answer: str) -> str:
    """Lower case, without punctuation, articles and repeated spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answers: Iterable[str]) -> bool:
    return normalize(prediction) in map(normalize, answers)


def answer_spans(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """(start, end) of every occurrence of an answer in a text as whole words, ignoring case and white space; of
    occurrences with the same start the longest."""
    pattern = _pattern(tuple(answers))
    return [] if pattern is None else [match.span() for match in pattern.finditer(text)]


@functools.lru_cache(1 << 14)
def _pattern(answers: tuple[str, ...]) -> re.Pattern | None:
    # Words and punctuation marks separately, so that "5,000 (approx.)" is found in "5 , 000 ( approx . )".
    parts = {r"\s*".join(map(re.escape, words)) for answer in answers if (words := re.findall(r"\w+|[^\w\s]", answer))}
    if not parts:
        return None
    ordered = sorted(parts, key=lambda part: (-len(part), part))
    return re.compile(rf"(?<!\w)(?:{'|'.join(ordered)})(?!\w)", re.IGNORECASE)


def recall(
    answers: Mapping[str, Sequence[str]], texts: Mapping[str, Sequence[str]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, float | int]:
    """`{"R@k": …, "questions": n}` from the answers and the retrieved texts of questions, best first."""
    ranks = [
        next((rank for rank, text in enumerate(texts.get(i, ()), start=1) if answer_spans(text, of_question)), None)
        for i, of_question in answers.items()
    ]
    return {f"R@{k}": sum(rank is not None and rank <= k for rank in ranks) / max(1, len(ranks)) for k in cutoffs} | {
        "questions": len(ranks)
    }


def answered(answers: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> dict[str, float | int]:
    """`{"exact_match": …, "questions": n}`; a question without a prediction is wrong."""
    right = question_scores(answers, predictions)
    return {"exact_match": sum(right.values()) / max(1, len(right)), "questions": len(right)}


def question_scores(answers: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> dict[str, float]:
    """The exact match of each question, 1 or 0."""
    return {
        i: float(i in predictions and exact_match(predictions[i], of_question)) for i, of_question in answers.items()
    }
