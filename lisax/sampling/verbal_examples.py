"""Examples for the verbalizer (UDT-QA, section 3.2): pairs of a unit and its text; the filter; a sample of outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lisax.faithful.overlap import Overlap
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VerbalExample
from lisax.records import DataText
from lisax.sampling.files import hashed_share

T, T_F, T_F_ID_T = STEMS = ("verbalize_t", "verbalize_t_f", "verbalize_t_f_id_t")
CURVE = tuple(i / 20 for i in range(21))


def training_examples(records: Iterable[DataText]) -> Iterator[VerbalExample]:
    """One example per text of every record."""
    for record in records:
        triples = Triples(record.id, record.title, record.pairs)
        yield from (VerbalExample(triples, text, (text,)) for text in record.texts)


def dev_examples(records: Iterable[DataText]) -> Iterator[VerbalExample]:
    """One example per record that has texts; all of them are references."""
    for record in records:
        if record.texts:
            yield VerbalExample(Triples(record.id, record.title, record.pairs), record.texts[0], record.texts)


def rouge_of(example: VerbalExample) -> float:
    """ROUGE-1 between an example's input and its text."""
    return Overlap.with_cells(example.triples).rouge1(example.text)


def kept_curve(scores: Sequence[float], thresholds: Sequence[float] = CURVE) -> list[dict[str, float | int]]:
    """How many examples each threshold keeps: {"threshold", "kept", "share"}."""
    return [
        {"threshold": threshold, "kept": kept, "share": kept / max(len(scores), 1)}
        for threshold in thresholds
        for kept in [sum(score >= threshold for score in scores)]
    ]


def sample(examples: Sequence[VerbalExample], size: int, seed: int) -> list[VerbalExample]:
    """At most `size` of the examples, in their order; deterministic for a seed."""
    drawn = sorted(range(len(examples)), key=lambda i: hashed_share(f"{seed}:{examples[i].triples.id}"))[:size]
    return [examples[i] for i in sorted(drawn)]
