"""Figures and tables by kind of attack, for the reports of the pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lisax.adversary.attack import AttackKind
from lisax.metrics.fever import claim_scores, fever_score
from lisax.metrics.potency import potency
from lisax.metrics.significance import Scores
from lisax.papers.base import REPORT
from lisax.papers.over_pages import ATTACKED, PagePipeline
from lisax.records import Claim, Prediction
from lisax.report.report import ResultTable

CLEAN, ALL = "clean", "all attacks"
KIND_NAMES = {
    AttackKind.CONJUNCTION: "conjunction",
    AttackKind.MULTI_HOP: "multi-hop",
    AttackKind.UNVERIFIABLE: "unverifiable addition",
    AttackKind.DATE: "date manipulation",
    AttackKind.MULTI_HOP_TEMPORAL: "multi-hop temporal",
    AttackKind.DISAMBIGUATION: "entity disambiguation",
    AttackKind.LEXICAL: "lexical substitution",
}


def attack_figures(run: PagePipeline, variants: Sequence[str]) -> dict | None:
    """{"by_kind": {group: {"claims", "variants": {variant: FEVER figures}}}, "potency"}, where the groups are "clean",
    each kind and "all attacks"; None if nothing was attacked."""
    if not run.recipe.attacks:
        return None
    verdicts = {variant: {role: run.verdicts(variant, role) for role in (REPORT, ATTACKED)} for variant in variants}
    by_kind = {}
    for name, claims in groups(run).items():
        role = REPORT if name == CLEAN else ATTACKED
        by_kind[name] = {
            "claims": len(claims),
            "variants": {
                variant: fever_score(claims, {i: found[role][i] for i in claims}) for variant, found in verdicts.items()
            },
        }
    systems: dict[str, Mapping[str, Prediction]] = {variant: found[ATTACKED] for variant, found in verdicts.items()}
    return {"by_kind": by_kind, "potency": potency(run.labelled_claims(ATTACKED), systems)}


def verdict_scores(
    run: PagePipeline, claims: Mapping[str, Claim], variants: Sequence[str], best: str | None
) -> dict[str, tuple[str | None, dict[str, Scores]]]:
    """The scores of the variants' verdicts for `reporting.differences`: the FEVER score and the label accuracy of each
    reported claim, and the FEVER score of each attacked one. `best`: the variant that the others are compared with."""
    scores = {variant: claim_scores(claims, run.verdicts(variant, REPORT)) for variant in variants}
    of_attacked = {}
    if run.recipe.attacks:
        attacked = run.labelled_claims(ATTACKED)
        of_attacked = {variant: claim_scores(attacked, run.verdicts(variant, ATTACKED)) for variant in variants}
    return {
        "fever_score": (best, {variant: of["fever_score"] for variant, of in scores.items()}),
        "label_accuracy": (best, {variant: of["label_accuracy"] for variant, of in scores.items()}),
        "attacked_fever_score": (best, {variant: of["fever_score"] for variant, of in of_attacked.items()}),
    }


def groups(run: PagePipeline) -> dict[str, dict[str, Claim]]:
    """Labelled claims by id: "clean", those of each kind of attack, and "all attacks"."""
    attacked = run.labelled_claims(ATTACKED)
    by_kind = {str(kind): {i: claim for i, claim in attacked.items() if claim.kind == kind} for kind in AttackKind}
    return {CLEAN: run.labelled_claims(REPORT)} | {kind: of for kind, of in by_kind.items() if of} | {ALL: attacked}


def attack_tables(figures: Mapping | None, names: Mapping[str, str]) -> list[ResultTable]:
    """FEVER score and label accuracy per kind of attack, one column per variant, headed by `names`."""
    if figures is None:
        return []
    by_kind = figures["by_kind"]
    rows = {f"{KIND_NAMES.get(kind, kind)} ({of['claims']:,})": of["variants"] for kind, of in by_kind.items()}
    return [
        ResultTable.of(
            f"{title} by attack",
            [(names.get(variant, variant), variant, measure) for variant in by_kind[CLEAN]["variants"]],
            rows,
        )
        for title, measure in (
            ("FEVER score", "fever_score"),
            ("Label accuracy", "label_accuracy"),
            ("Evidence recall", "evidence_recall"),
        )
    ]
