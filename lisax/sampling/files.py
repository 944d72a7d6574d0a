"""Writes the files of example records that the tasks read: one per variant and split of a claim dataset."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lisax.files.writing import atomic_write
from lisax.formats.examples import Example, write_examples
from lisax.records import LABELS, Claim, Document
from lisax.sampling import contrasts, corpus_contrasts, examples, written
from lisax.sampling.examples import Draws, Lookup, Ranked

LABELLERS = ("label_pointwise", "label_listwise", "label_listwise_infused")
VARIANTS = ("rank", "label_pointwise", "label_listwise", "label_listwise_infused", "claim_only")
OF_SENTENCES = 8  # one contrast in eight at most is made from a training sentence


def file_name(variant: str, split: str) -> str:
    return f"{variant}.{split}.jsonl"


def build(
    variant: str,
    claims: Sequence[Claim],
    candidates: Ranked,
    reranked: Ranked,
    lookup: Lookup,
    *,
    draws: Draws = Draws(),
    training: bool = True,
    skipped: Counter | None = None,
) -> Iterator[Example]:
    """The examples of a variant.

    Claims without a label give none. `candidates` are sentences in retrieval order, `reranked` in the ranker's order
    (without a ranker: the same). Without `training`, listwise inputs are as in use: the first five reranked sentences
    of every claim, gold or not."""
    claims = [claim for claim in claims if claim.label in LABELS]
    if training and (draws.contrasts or draws.written) and variant in LABELLERS:
        without = dataclasses.replace(draws, contrasts=0, written=0)
        made = build(variant, claims, candidates, reranked, lookup, draws=without, skipped=skipped)
        return iter(with_curriculum(made, claims, lookup, draws))
    if variant == "rank":
        return examples.ranking(claims, candidates, lookup, draws, skipped)
    if variant == "label_pointwise":
        return examples.pointwise(claims, reranked, lookup, draws, skipped)
    if variant == "claim_only":
        return examples.claim_only(claims)
    if variant not in VARIANTS:
        raise ValueError(f"no variant '{variant}'; there are {', '.join(VARIANTS)}")
    if not training:
        return (
            Example(
                claim.id,
                claim.text,
                tuple(examples.first_found(reranked.get(claim.id, ()), lookup, draws.length)),
                label=claim.label,
            )
            for claim in claims
        )
    if variant == "label_listwise":
        return examples.listwise(claims, reranked, lookup, draws, skipped)
    return examples.infused(claims, reranked, lookup, draws, skipped)


def with_curriculum(made: Iterable[Example], claims: Iterable[Claim], lookup: Lookup, draws: Draws) -> list[Example]:
    """The examples, contrasts and examples of written documents in random order. Of the contrasts at most one in
    `OF_SENTENCES` is made from the claims' own sentences, the others from templates. The claims must be of a training
    split."""
    count, seed = draws.contrasts, draws.seed
    own = corpus_contrasts.of_sentences(corpus_contrasts.supported(claims, lookup), seed)
    added = list(itertools.islice(own, count // OF_SENTENCES))
    added += itertools.islice(contrasts.draw(count - len(added), seed), count - len(added))
    mixed = [*made, *added, *written.draw(draws.written, seed)]
    random.Random(f"lisax.contrasts:{seed}").shuffle(mixed)
    return mixed


def write_all(
    folder: str | os.PathLike,
    split: str,
    claims: Sequence[Claim],
    candidates: Ranked,
    reranked: Ranked,
    lookup: Lookup,
    *,
    draws: Draws = Draws(),
    training: bool = True,
    skipped: Counter | None = None,
) -> dict[str, int]:
    """Writes `{variant}.{split}.jsonl` for every variant. Returns the number of examples of each."""
    return {
        variant: write_examples(
            Path(folder) / file_name(variant, split),
            build(variant, claims, candidates, reranked, lookup, draws=draws, training=training, skipped=skipped),
        )
        for variant in VARIANTS
    }


def write_texts(folder: str | os.PathLike, pages: Iterable[Document], dev_share: float) -> dict[str, int]:
    """Writes `text.{train,dev}.jsonl` for span corruption, a line {"text"} per page. Returns the numbers of lines.

    Dev consists of the first page and a share of the others, by a hash of their ids."""
    counts = {"train": 0, "dev": 0}
    with (
        atomic_write(Path(folder) / file_name("text", "train")) as train,
        atomic_write(Path(folder) / file_name("text", "dev")) as dev,
    ):
        for first, page in zip(itertools.chain([True], itertools.repeat(False)), pages):
            split = "dev" if first or hashed_share(page.id) < dev_share else "train"
            counts[split] += 1
            line = json.dumps({"text": f"{page.title} . {page.text}"}, ensure_ascii=False) + "\n"
            (dev if split == "dev" else train).write(line)
    return counts


def hashed_share(text: str) -> float:
    """A number in [0, 1) that depends only on the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64
