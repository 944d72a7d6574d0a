"""Counters of tokens for tests of budgets, special tokens included, that differ in what they do at seams and inside
words."""

from pathlib import Path

from lisax.formats.vocabulary import SentencePieceVocabulary

SPIECE = Path(__file__).parents[2] / "../shared/data/t5vocab/spiece.model"

COUNTERS = {
    "words": lambda text: len(text.split()) + 1,
    "words between two special tokens": lambda text: len(text.split()) + 2,
    "bytes": lambda text: len(text.encode()) + 1,
    "four letters": lambda text: sum(-(-len(word) // 4) for word in text.split()) + 1,
}
if SPIECE.exists():
    COUNTERS["T5"] = SentencePieceVocabulary(SPIECE).count
