"""The example files and tasks of a user's claims over sentences, for `lisax.tasks.register`: candidates, passages,
lists.

Without the user's own run, a claim's own `candidates` are taken, or else BM25 finds sentences.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lisax.errors import DataError
from lisax.records import Claim
from lisax.sampling import examples, files

from . import example_tasks, pairs, pretraining
from .claim_dataset import ClaimDataset, check_ids, checked_claims, with_evidence
from .example_tasks import Options, saying
from .sentences import TASKS, stem_of

STEMS = {variant: [stem_of(variant)] for variant in TASKS}
INFUSED = "label_listwise_infused"
DEFAULTS = (INFUSED, INFUSED)
SHIPPED = "minilm-text"
LISTS = 4  # of each claim, where a dataset says how many `sentences` are read
CANDIDATES = 200  # sentences a claim, where BM25 has to find them
DEV_PAGES = 0.02  # of the corpus, held out of span corruption

read = checked_claims


def build(dataset: ClaimDataset, claims: Mapping[str, list[Claim]], skipped: Counter) -> dict[str, dict[str, int]]:
    """Writes `{variant}.{split}.jsonl` for every variant of `files.write_all`; returns {split: {variant: examples}}."""
    check_ids(dataset, claims)
    out = dataset.out_folder
    candidates = _candidates(dataset, [claim for of_split in claims.values() for claim in of_split])
    reranked = _ranked(dataset.reranked) if dataset.reranked else candidates
    wanted = {unit for run in (candidates, reranked) for units in run.values() for unit in units}
    wanted.update(unit for of_split in claims.values() for claim in of_split for unit in claim.gold_ids)
    present = {
        sentence.id: examples.Passage(sentence.id, page.title, sentence.text)
        for page in dataset.read_pages()
        for sentence in page.sentences
        if sentence.id in wanted
    }
    claims = with_evidence(dataset, claims, wanted - present.keys(), "a sentence of the corpus")
    # Gaps that the owner's corpus has are left out of the examples, and counted.
    passages = {unit: passage for unit, passage in present.items() if passage.text}
    for run, path in ((candidates, dataset.run), (reranked, dataset.reranked)):
        if path and passages.keys().isdisjoint(unit for units in run.values() for unit in units):
            raise DataError("none of its ids is a sentence of the corpus ({page}_{n})", path=path)
    draws = files.Draws(dataset.seed, contrasts=dataset.contrasts)
    if dataset.sentences is not None:
        draws = dataclasses.replace(draws, lists=LISTS, length=dataset.sentences)
    counts = {
        split: files.write_all(
            out,
            split,
            of_split,
            candidates,
            reranked,
            passages.get,
            draws=draws,
            training=split == "train",
            skipped=skipped,
        )
        for split, of_split in claims.items()
    }
    files.write_texts(out, dataset.read_pages(), DEV_PAGES)
    return counts


def texts(dataset: ClaimDataset, claims: Iterable[Claim]) -> Iterator[str]:
    """The training texts of a vocabulary."""
    yield from (claim.text for claim in claims)
    for page in dataset.read_pages():
        yield f"{page.title} . {page.text}"


def add(dataset: ClaimDataset, options: Options, on_encoder: bool) -> None:
    for variant, text_format in TASKS.items():
        (stem,), register = STEMS[variant], pairs.add if on_encoder else example_tasks.add
        task = register(f"{dataset.name}_{variant}", text_format, dataset.file_of(stem), options)
        if dataset.sentences is not None and variant == INFUSED:
            task.model_card = saying(task.model_card, sentences=dataset.sentences)
    if not on_encoder:
        pretraining.add(f"{dataset.name}_span_corruption", dataset.file_of("text"), options.vocabulary)


def _ranked(path: str | os.PathLike) -> dict[str, list[str]]:
    from lisax.retrieval import runs

    return examples.ranked_ids(runs.read_run(path))


def _candidates(dataset: ClaimDataset, claims: list[Claim]) -> dict[str, list[str]]:
    """Sentence ids for each claim: the user's run, or the claim's own candidates, or BM25 over sentences."""
    if dataset.run is not None:
        return _ranked(dataset.run)
    found = {claim.id: list(claim.candidates) for claim in claims if claim.candidates}
    rest = [claim for claim in claims if not claim.candidates]
    if rest:
        from lisax.retrieval import bm25

        sentences = (
            (sentence.id, f"{page.title} {sentence.text}")
            for page in dataset.read_pages()
            for sentence in page.sentences
            if sentence.text
        )
        index = bm25.build(sentences, dataset.out_folder / "sentences.bm25")
        hits = index.search([claim.text for claim in rest], CANDIDATES)
        found |= {claim.id: [unit for unit, _ in of_claim] for claim, of_claim in zip(rest, hits, strict=True)}
    return found
