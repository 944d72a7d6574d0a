"""The example files and tasks of a user's claims over tables, for `lisax.tasks.register`: retrieval, columns, gold
tables.

Without the user's own run, tables are found by entity-to-cell retrieval with only the spans of the claim, as if no gold
table were known. The same index weighs the columns that a claim keeps of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lisax.errors import DataError
from lisax.formats.tables import header_text, row_text
from lisax.records import Claim
from lisax.sampling import examples, table_examples

from . import example_tasks, pairs, tables
from .claim_dataset import ClaimDataset, check_ids, checked_claims, with_evidence
from .example_tasks import Options, saying

STEMS = {variant: [stem] for variant, stem in (tables.TEXT_TASKS | tables.FUSION_TASKS).items()}
DEFAULTS = ("tables_top5", "tables_closed")
SHIPPED = "minilm-tables"

read = checked_claims


def build(dataset: ClaimDataset, claims: Mapping[str, list[Claim]], skipped: Counter) -> dict[str, dict[str, int]]:
    """Writes `{stem}.{split}.jsonl` for every stem of `table_examples.write_all`; returns {split: {stem: examples}}."""
    from lisax.retrieval import cells, linking, runs

    check_ids(dataset, claims)
    out, depth = dataset.out_folder, max(table_examples.DEPTHS)
    every = [claim for of_split in claims.values() for claim in of_split]
    index = cells.build(dataset.read_tables(), out / "tables.cells", cells.Strategy.ENTITY_CHAR_23)
    entities = {claim.id: linking.spans(claim) for claim in every}
    if dataset.run is not None:
        run = examples.ranked_ids(runs.read_run(dataset.run))
    else:
        best = index.search([entities[claim.id] for claim in every], depth)
        run = {claim.id: [table for table, _ in hits] for claim, hits in zip(every, best, strict=True)}
    gold = {table for claim in every for table in claim.gold_ids}
    wanted = gold.union(*(ranked[:depth] for ranked in run.values()))
    found = {table.id: table for table in dataset.read_tables() if table.id in wanted}
    claims = with_evidence(dataset, claims, gold - found.keys(), "a table of the collection")
    if dataset.run is not None and found.keys().isdisjoint(table for ranked in run.values() for table in ranked):
        raise DataError("none of its ids is a table of the collection", path=dataset.run)
    return {
        split: table_examples.write_all(
            out,
            split,
            of_split,
            run,
            found.get,
            lambda table, claim: index.columns(table, entities[claim.id], dataset.columns),
            in_training=split == "train",
            skipped=skipped,
        )
        for split, of_split in claims.items()
    }


def texts(dataset: ClaimDataset, claims: Iterable[Claim]) -> Iterator[str]:
    """The training texts of a vocabulary: the claims, and the tables as the model reads them."""
    yield from (claim.text for claim in claims)
    for table in dataset.read_tables():
        yield f"{table.caption or table.title} . {header_text(table.header)}"
        yield from (row_text(i, table.header, row) for i, row in enumerate(table.rows, start=1))


def add(dataset: ClaimDataset, options: Options, on_encoder: bool) -> None:
    for variant, (stem,) in STEMS.items():
        name, file_of = f"{dataset.name}_{variant}", dataset.file_of(stem)
        if variant in tables.FUSION_TASKS:
            task = tables.add_fusion(name, file_of, options)
        else:
            task = tables.add_text(name, file_of, options, add=pairs.add if on_encoder else example_tasks.add)
        task.model_card = saying(task.model_card, columns=dataset.columns)
