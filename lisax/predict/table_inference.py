"""From what models say of claims and tables to verdicts: for the pipeline and for `lisax verify`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from lisax.corpora.table_predictions import TableVerdict
from lisax.formats.tables import TableExample
from lisax.models import table_truth
from lisax.papers.stages import say
from lisax.predict.fusion_model import Decision, FusionModel
from lisax.predict.text_model import TextModel
from lisax.records import LABELS, Claim, Label, Verdict
from lisax.sampling import table_examples
from lisax.sampling.examples import Ranked


def verify(
    model: FusionModel | TextModel,
    claims: Iterable[Claim],
    run: Ranked,
    lookup: table_examples.Lookup,
    columns: table_examples.Columns,
    *,
    depth: int,
    decision: Decision | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[TableVerdict]:
    """A verdict for each claim from its first `depth` tables of a run; `decision` as in `judged`."""
    examples = list(table_examples.retrieved(claims, run, lookup, columns, depth))
    if isinstance(model, FusionModel):
        probabilities = model.scores(examples, progress).probabilities
        return verdicts_of(examples, *judged(probabilities, model.sufficiency(examples, probabilities), decision))
    return verdicts_of(examples, model.probabilities(examples, progress).astype(np.float64))


def tell_dropped_rows(model: FusionModel | TextModel, of: str) -> None:
    """Says how many rows the last call's inputs had no room for, where there are any."""
    if model.dropped_rows:
        say(f"  {model.dropped_rows:,} rows of {of} had no room in {model.max_tokens} tokens")


def tell_open(model: FusionModel | TextModel, decision: Decision | None) -> None:
    """Says that table fusion will not write NOT ENOUGH INFO of a claim that has tables, and how it does."""
    if isinstance(model, FusionModel) and decision is None:
        chosen = (
            "none was chosen on dev for this model"
            if model.decision is None
            else (f"--threshold={model.decision.threshold!r} is the one that was chosen on dev, and that the page uses")
        )
        say(f"  without a threshold of sufficiency no claim that has a table is NOT ENOUGH INFO; {chosen}")


def verdicts_of(
    examples: Sequence[TableExample],
    shares: np.ndarray,
    sufficiency: np.ndarray | None = None,
    relevance: np.ndarray | None = None,
) -> Iterator[TableVerdict]:
    """Verdicts of label shares [claims, 3] in the order of `LABELS`, NaN where nothing is known but that there is not
    enough information; their evidence is the tables that were read, scored by `relevance` [claims, k]."""
    for i, example in enumerate(examples):
        scores = () if relevance is None else tuple(map(float, relevance[i, : len(example.tables)]))
        label = Label.NOT_ENOUGH_INFO if np.isnan(shares[i]).any() else LABELS[int(np.argmax(shares[i]))]
        verdict = Verdict(example.claim_id, label, tuple(map(float, shares[i])), tuple(example.unit_ids), scores)
        yield TableVerdict(verdict, None if sufficiency is None else float(sufficiency[i]))


def judged(
    probabilities: np.ndarray, sufficiency: np.ndarray | None, decision: Decision | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """(shares of the three labels [claims, 3], sufficiency, relevance [claims, k]) of probabilities [claims, k, classes].

    With a decision a claim at or below its threshold has not enough information, otherwise it is true or false. The
    probability of the former is how often that was right on dev; where this is not known the claim's shares are NaN."""
    shares = np.zeros((len(probabilities), 3))
    shares[:, :2] = table_truth.truth(probabilities)
    # Nothing was retrieved, or nothing that suffices.
    undecided = shares.sum(1) == 0
    if decision is not None:
        below = ~undecided & (sufficiency <= decision.threshold)
        precision = np.nan if decision.precision is None else decision.precision
        shares[below, :2] *= 1 - precision
        shares[below, 2] = precision
    shares[undecided] = 0.0, 0.0, 1.0
    return shares, sufficiency, table_truth.relevance(probabilities)
