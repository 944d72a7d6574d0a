"""The figures and the report of a DeSePtion run: `metrics.json`, `report.html` and the tables in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from lisax.metrics import fever as fever_metrics
from lisax.papers import reporting
from lisax.papers.attack_report import ALL, attack_figures, attack_tables, verdict_scores
from lisax.papers.base import REPORT
from lisax.papers.deseption.run import Deseption
from lisax.papers.list5.report import claim_view
from lisax.papers.over_pages import ATTACKED
from lisax.records import Claim
from lisax.report.report import Report, ResultTable, published
from lisax.sampling.examples import Ranked
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
VERDICT_COLUMNS = (("accuracy", "label_accuracy"), ("recall", "evidence_recall"), ("FEVER", "fever_score"))


def finish(run: Deseption) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    figures = _figures(run)
    return reporting.write(run.out, figures, _report(run, figures))


def _figures(run: Deseption) -> dict:
    claims = run.labelled_claims(REPORT)
    evaluated = {variant: fever_metrics.evaluate(claims, run.verdicts(variant, REPORT)) for variant in run.variants}
    best = next(iter(run.variants))
    return {
        "retrieval": {role: _recalls(run, role) for role in run.reported_roles},
        "fever": evaluated[best],
        "best_variant": best,
        "variants": evaluated,
        **reporting.baselines(run, claims),
        "calibration": {
            name: found
            for name, variant in run.variants.items()
            if (found := run.calibration_figures(claims, name, variant.model))
        },
        "attacks": attack_figures(run, list(run.variants)),
        "differences": reporting.differences(verdict_scores(run, claims, list(run.variants), best)),
        "claims": {role: len(found) for role, found in run.claims.items()},
        "reported_split": run.reported_split,
        **reporting.facts(run),
    }


def _recalls(run: Deseption, role: str) -> dict[str, float]:
    """Recall of complete evidence sets, as shares of the claims with evidence. Pages: among all candidates, the first D
    candidates, the D pages pointed to, and after a second hop. Sentences: among those read of the pages pointed to."""
    claims, d = run.claims[role].values(), run.recipe.documents
    found = {
        which: run.ranked(which, role)
        for which in ("candidates", "documents", "hops")
        if run.run_file(which, role).exists()
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
    best, attacks = figures["best_variant"], figures["attacks"]
    chosen = run.verdicts(best, REPORT)
    verdicts = {"majority label": figures["majority"], "words of the claim": figures["claim_words"]}
    verdicts |= {ROWS[name]: found for name, found in figures["variants"].items()}
    tables = [
        ResultTable.of(
            "Verdicts", VERDICT_COLUMNS, verdicts, best=ROWS[best], published=published("DeSePtion FEVER 1.0")
        ),
        ResultTable.of(
            "Documents",
            [(name, key) for key, name in PAGES.items()],
            {
                ("attacked claims" if role == ATTACKED else "claims"): found
                for role, found in figures["retrieval"].items()
            },
            f"Share of claims of which all pages of an evidence set are among the {run.recipe.candidates} "
            f"candidates, and among {run.recipe.documents} pages: the first candidates, those pointed to, and "
            f"those with a second hop; a whole set among the {run.recipe.sentences} sentences that are read "
            "of those pointed to.",
        ),
        *attack_tables(attacks, ROWS),
        *reporting.difference_tables(figures["differences"], lambda _, variant: ROWS[variant]),
        reporting.calibration_table(figures["calibration"], ROWS),
    ]
    tiles = {"clean claims": figures["fever"]["fever_score"]}
    if attacks is not None:
        tiles["attacked claims"] = attacks["by_kind"][ALL]["variants"][best]["fever_score"]
        tables += [
            ResultTable(title, columns, published(f"DeSePtion {table}"))
            for title, columns, table in (
                ("FEVER 2.0 development set, published", ("accuracy", "recall", "FEVER"), "FEVER 2.0"),
                ("Label accuracy by attack, published", ("joint pointer, dates",), "attacks"),
            )
        ]
    return reporting.report(
        run,
        figures,
        "DeSePtion",
        f"{len(chosen):,} claims",
        result_tables=tables,
        tiles=tiles,
        tiles_of="FEVER score",
        claims=_views(run, best),
        **reporting.on_claims(run.claims[REPORT], chosen),
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
