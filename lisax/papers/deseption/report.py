"""The figures and the report of a DeSePtion run: `metrics.json`, `report.html` and the tables in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from lisax.metrics import calibration
from lisax.metrics import fever as fever_metrics
from lisax.papers import reporting
from lisax.papers.attack_report import attack_figures, attack_tables, attacked_scores
from lisax.papers.base import REPORT, TRAIN
from lisax.papers.deseption.run import Deseption
from lisax.papers.list5.report import claim_view
from lisax.papers.over_pages import ATTACKED
from lisax.records import Claim
from lisax.report.published import DESEPTION_ATTACKS, DESEPTION_FEVER1, DESEPTION_FEVER2
from lisax.report.report import Report, ResultRow, ResultTable
from lisax.retrieval.runs import read_run
from lisax.sampling.examples import Ranked, ranked_ids
from lisax.sampling.pointer_examples import EvidenceSets, page_sets, sentence_sets

SHOWN_OF_A_KIND = 200
ROWS = {
    "joint_temporal": "joint pointer, dates",
    "joint": "joint pointer",
    "joint_hops": "joint pointer, second hop",
    "joint_hops_temporal": "joint pointer, second hop, dates",
    "joint_without_ranking": "joint pointer, no document ranking",
    "set": "pointer, then labels",
    "reinforced": "pointer rewarded by the FEVER score",
    "oracle": "oracle: five sentences with the evidence",
}

PAGES = {
    "candidates": "candidates",
    "first_candidates": "first",
    "documents": "pointed to",
    "hops": "second hop",
    "sentences": "sentences",
}


def finish(run: Deseption) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    figures = _figures(run)
    return reporting.write(run.out, figures, _report(run, figures))


def _figures(run: Deseption) -> dict:
    claims = {i: claim for i, claim in run.claims[REPORT].items() if claim.label is not None}
    evaluated = {variant: fever_metrics.evaluate(claims, run.verdicts(variant, REPORT)) for variant in run.variants}
    train = [claim for claim in run.claims[TRAIN].values() if claim.label]
    best = next(iter(run.variants))
    return {
        "retrieval": {role: _recalls(run, role) for role in run.reported_roles},
        "fever": evaluated[best],
        "best_variant": best,
        "variants": evaluated,
        "majority": fever_metrics.evaluate(claims, fever_metrics.majority_verdicts(train, claims)),
        "calibration": {
            name: found
            for name, variant in run.variants.items()
            if (found := run.calibration_figures(claims, name, variant.model))
        },
        "attacks": attack_figures(run, list(run.variants)),
        "differences": _differences(run, claims, best),
        "claims": {role: len(found) for role, found in run.claims.items()},
        "reported_split": run.reported_split,
        **reporting.facts(run),
    }


def _differences(run: Deseption, claims: Mapping[str, Claim], best: str) -> dict:
    scores = {variant: fever_metrics.claim_scores(claims, run.verdicts(variant, REPORT)) for variant in run.variants}
    return reporting.differences(
        {
            "fever_score": (best, {variant: of["fever_score"] for variant, of in scores.items()}),
            "label_accuracy": (best, {variant: of["label_accuracy"] for variant, of in scores.items()}),
            "attacked_fever_score": (best, attacked_scores(run, list(run.variants))),
        }
    )


def _recalls(run: Deseption, role: str) -> dict[str, float]:
    """Recall of complete evidence sets, as shares of the claims with evidence. Pages: among all candidates, among the
    first D candidates, among the D pages pointed to, and after a second hop. Sentences: among those read from the pages
    pointed to."""
    claims, d = run.claims[role].values(), run.recipe.documents
    found = {
        which: ranked_ids(read_run(run.pages_file(which, role)))
        for which in ("candidates", "documents", "hops")
        if run.pages_file(which, role).exists()
    }
    found["first_candidates"] = {i: pages[:d] for i, pages in found["candidates"].items()}
    return {which: _recall(claims, pages, page_sets) for which, pages in found.items()} | {
        "sentences": _recall(claims, run.sentence_candidates(role), sentence_sets)
    }


def _recall(claims: Iterable[Claim], ranked: Ranked, sets: EvidenceSets) -> float:
    provable = [claim for claim in claims if claim.evidence_sets]
    whole = sum(any(set(units) <= set(ranked.get(claim.id, ())) for units in sets(claim)) for claim in provable)
    return whole / max(len(provable), 1)


def _report(run: Deseption, figures: Mapping) -> Report:
    best, claims = figures["best_variant"], run.claims
    chosen = run.verdicts(best, REPORT)
    labelled = {i: claims[REPORT][i] for i in chosen}

    def row(name: str, found: Mapping, best: bool = False) -> ResultRow:
        return ResultRow(name, (found["label_accuracy"], found["evidence_recall"], found["fever_score"]), best=best)

    verdicts = ResultTable(
        "Verdicts",
        ("accuracy", "recall", "FEVER"),
        (
            row("majority label", figures["majority"]),
            *(row(ROWS[name], found, name == best) for name, found in figures["variants"].items()),
            *DESEPTION_FEVER1,
        ),
    )
    documents = ResultTable(
        "Documents",
        tuple(PAGES.values()),
        tuple(
            ResultRow("attacked claims" if role == ATTACKED else "claims", tuple(map(found.get, PAGES)))
            for role, found in figures["retrieval"].items()
        ),
        explanation=f"Share of claims of which all pages of an evidence set are among the {run.recipe.candidates} "
        f"candidates, and among {run.recipe.documents} pages: the first candidates, those pointed to, and "
        f"those with a second hop; a whole set among the {run.recipe.sentences} sentences that are read "
        "of those pointed to.",
    )
    calibrations = reporting.calibration_tables(figures["calibration"], ROWS)
    differences = reporting.difference_tables(figures["differences"], lambda _, variant: ROWS[variant])
    tables = [verdicts, documents, *attack_tables(figures["attacks"], ROWS), *differences, *calibrations]
    if figures["attacks"] is not None:
        measures = ("accuracy", "recall", "FEVER")
        tables += [
            ResultTable("FEVER 2.0 development set, published", measures, DESEPTION_FEVER2),
            ResultTable("Label accuracy by attack, published", ("joint pointer, dates",), DESEPTION_ATTACKS),
        ]
    return Report(
        title="DeSePtion",
        subtitle=f"{run.data.folder} · {run.reported_split} · {len(labelled):,} claims",
        result_tables=tables,
        tiles=[(name, found["fever_score"]) for name, found in _tiles(figures)],
        tiles_of="FEVER score",
        curves=reporting.training_curves(run, run.recipe.train),
        confusion=fever_metrics.confusion(labelled, chosen),
        reliability=calibration.reliability(labelled, chosen),
        risk_coverage=calibration.risk_coverage(labelled, chosen),
        overridden=calibration.overridden(chosen.values()),
        claims=_views(run, best),
        facts={"seed": run.recipe.seed, "seconds": figures["seconds"], "versions": figures["versions"]},
    )


def _tiles(figures: Mapping) -> list[tuple[str, Mapping]]:
    best = figures["best_variant"]
    attacked = figures["attacks"] and figures["attacks"]["by_kind"]
    return [("clean claims", figures["fever"])] + (
        [("attacked claims", attacked["all attacks"]["variants"][best])] if attacked else []
    )


def _views(run: Deseption, best: str) -> list:
    """Claims of every kind with the best variant's verdicts, each attacked claim after its clean one."""
    views = []
    for role in run.reported_roles:
        by_kind: dict[str | None, list] = {}
        for i, verdict in run.verdicts(best, role).items():
            by_kind.setdefault(run.claims[role][i].kind, []).append((run.claims[role][i], verdict))
        shown = itertools.chain.from_iterable(of_kind[:SHOWN_OF_A_KIND] for of_kind in by_kind.values())
        views += [
            claim_view(run.lookup, claim, verdict, dict(zip(verdict.evidence, verdict.evidence_scores)))
            for claim, verdict in shown
        ]
    return views
