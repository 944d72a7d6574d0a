"""The figures, `metrics.json` and the report of a run of open-domain table verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from lisax.corpora.table_predictions import TablePrediction
from lisax.metrics import fever as fever_metrics
from lisax.metrics import tables as figures
from lisax.metrics.claim_words import claim_words_verdicts
from lisax.models import table_truth
from lisax.papers import reporting
from lisax.papers.base import REPORT, TRAIN
from lisax.papers.open_tables.recipe import depth_of, is_fusion
from lisax.papers.open_tables.run import NO_UNDECIDED, ORACLE, RETRIEVED, OpenTables
from lisax.predict import calibrating
from lisax.predict.table_verifier import ONE_BY_ONE
from lisax.records import LABELS, Claim, Hit, Label, Prediction
from lisax.report import charts
from lisax.report.report import ClaimView, GridView, Heatmap, Report, ResultTable, published
from lisax.retrieval.cells import Strategy
from lisax.retrieval.runs import as_found, read_run
from lisax.sampling import table_examples
from lisax.weights.model_folder import ModelFolder

CLAIMS_SHOWN, ROWS_SHOWN, MARKED_ROWS = 400, 30, 2
STRATEGIES = {
    Strategy.QUERY_WORD: "query, words",
    Strategy.QUERY_CHAR_23: "query, characters 2-3",
    Strategy.ENTITY_EXACT: "entity, exact",
    Strategy.ENTITY_WORD: "entity, words",
    Strategy.ENTITY_CHAR_23: "entity, characters 2-3",
    Strategy.ENTITY_CHAR_123: "entity, characters 1-3",
}
CUTOFFS = figures.CUTOFFS
RERANKED = (1, 3, 5)
OPEN_COLUMNS = (
    ("accuracy", "open", "accuracy"),
    ("never NEI", "open", "never_nei"),
    ("always NEI", "open", "always_nei"),
    ("NEI precision", "at_threshold", "precision"),
    ("NEI recall", "at_threshold", "recall"),
    ("AP found", "sufficiency", "found", "average_precision"),
    ("AP missing", "sufficiency", "missing", "average_precision"),
)


def finish(run: OpenTables) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    found = _figures(run)
    return reporting.write(run.out, found, _report(run, found))


def finish_early(run: OpenTables) -> str:
    """For a run that stopped before its models: writes the retrieval's figures to `metrics.json`, unless that has a
    whole run's, and returns their table. Empty if nothing is retrieved yet or no claim has a gold table."""
    reported = {claim.id: claim for claim in run.read_claims(run.reported_split)}
    if not run.main_run.exists() or not any(claim.gold_ids for claim in reported.values()):
        return ""
    found = {
        "retrieval": _retrieval(run, reported),
        "claims": {"retrieval": len(reported)},
        "reported_split": run.reported_split,
        "entities": run.recipe.entities,
        **reporting.facts(run),
    }
    return reporting.write_early(run.out, found, _retrieval_table(run, found))


def _retrieval(run: OpenTables, reported: Mapping[str, Claim]) -> dict[str, dict]:
    """The figures of all runs over the reported claims that there are, by strategy and entities."""
    retrieval: dict[str, dict] = {}
    for strategy, mode in run.compared_pairs:
        if (file := run.run_file(f"{strategy}.{mode}", REPORT)).exists():
            hits = read_run(file)
            found = {query: as_found(of_query) for query, of_query in hits.items()}
            retrieval.setdefault(str(strategy), {})[mode] = figures.hits(reported, hits) | {
                "among_equals": figures.hits_among_equals(reported, found)
            }
    return retrieval


def _figures(run: OpenTables) -> dict:
    recipe = run.recipe
    reported = {claim.id: claim for claim in run.read_claims(run.reported_split)}
    claims = run.labelled_claims(REPORT)
    right: dict[str, dict[str, float]] = {}  # of each claim, by model
    hits = read_run(run.main_run)
    models = {}
    read_as_well = [*([ORACLE] if recipe.fusion else []), *([RETRIEVED] if recipe.reads_singly else [])]
    for model in (*recipe.train, *read_as_well):
        verdicts = {i: found.verdict for i, found in run.verdicts(model).items() if i in claims}
        # Claims without a gold table cannot be evaluated here: the rows "on the gold table" cover the others. Nor can
        # fusion detect that a single table decides nothing.
        if model == ORACLE:
            verdicts = {i: verdict for i, verdict in verdicts.items() if claims[i].label is not Label.NOT_ENOUGH_INFO}
        judged = {i: claims[i] for i in verdicts}
        models[model] = figures.evaluate(judged, verdicts, hits)
        right[model] = fever_metrics.claim_scores(judged, verdicts)["label_accuracy"]
    return {
        "retrieval": _retrieval(run, reported),
        "tables": models.get(recipe.main),
        "best_model": recipe.main,
        "models": models,
        "claim_words": figures.evaluate(claims, claim_words_verdicts(run.claims[TRAIN].values(), claims)),
        "differences": reporting.differences({"accuracy": (recipe.main, right)}),
        "fusion": {model: _fusion(run, model) for model in recipe.fusion},
        "calibration": {model: _calibration(run, model, claims) for model in recipe.train},
        "claims": {role: len(found) for role, found in run.claims.items()} | {"retrieval": len(reported)},
        "reported_split": run.reported_split,
        "entities": recipe.entities,
        **reporting.facts(run),
    }


def _calibration(run: OpenTables, model: str, claims: Mapping[str, Claim]) -> dict:
    """`calibrating.figures` of a model's verdicts."""
    fitted = ModelFolder.find(run.model_dir(model)).card.calibration
    made = {i: found.verdict for i, found in run.verdicts(model).items()}
    plain = calibrating.before(made, fitted, LABELS[:2] if is_fusion(model) else LABELS)
    return calibrating.figures(fitted, claims, plain, made)


def _fusion(run: OpenTables, model: str) -> dict:
    """Figures of fusion models only: sufficiency, open verdicts at the threshold, and the ranking of tables."""
    decided, scores = run.decided(model, REPORT), run.scores(model, REPORT)
    examples = run.examples_of(model, REPORT)
    decision, sufficiency = run.decision(model), scores["sufficiency"]
    threshold = decision and decision.threshold
    truth = table_truth.truth(scores["probabilities"])
    open_label = truth.argmax(1) if threshold is None else np.where(sufficiency <= threshold, 2, truth.argmax(1))
    gold = np.array(
        [
            {Label.SUPPORTS: 0, Label.REFUTES: 1}.get(example.label, 2) if there else 2
            for example, there in zip(examples, decided)
        ]
    )
    known = run.labelled(model, REPORT)
    relevance = table_truth.relevance(scores["probabilities"])
    claims, retrieved = run.claims[REPORT], read_run(run.main_run)
    reranked = {
        example.claim_id: [
            Hit(example.claim_id, example.unit_ids[j], rank, float(relevance[i, j]))
            for rank, j in enumerate(np.argsort(-relevance[i, : len(example.tables)], kind="stable"), 1)
        ]
        for i, example in enumerate(examples)
    }
    judged = {i: claims[i] for i in reranked if claims[i].gold_ids}
    return {
        "sufficiency": figures.sufficiency_figures(sufficiency[known], decided[known]),
        "at_threshold": {"threshold": threshold}
        | figures.at_threshold(-sufficiency[known], ~decided[known], np.inf if threshold is None else -threshold),
        "open": {
            "accuracy": float((open_label == gold)[known].mean()),
            "never_nei": float((truth.argmax(1) == gold)[known].mean()),
            "always_nei": float((gold == 2)[known].mean()),
        },
        "reranking": figures.hits(judged, reranked, RERANKED) if judged else None,
        "before_reranking": figures.hits(judged, retrieved, RERANKED) if judged else None,
    }


def _report(run: OpenTables, found: Mapping) -> Report:
    main = found["best_model"]
    claims = run.labelled_claims(REPORT)
    verdicts = run.verdicts(main) if main else {}
    chosen = {i: verdicts[i].verdict for i in claims if i in verdicts}
    evaluated = found["models"]
    line_charts, heatmaps = {}, []
    for model in run.recipe.fusion:
        if model == main or model.startswith("ternary"):
            line_charts[f"Is the gold table there? {_name(model)}"] = _curve_chart(run, model)
    if main and is_fusion(main):
        heatmaps = _attention(run, main)
    tiles = {}
    if main:
        tiles = {"Accuracy": evaluated[main]["accuracy"], "Majority": evaluated[main]["majority"]}
        if ORACLE in evaluated:
            tiles["On the gold table"] = evaluated[ORACLE]["accuracy"]
    tiles["Gold table among five"] = found["retrieval"][run.recipe.strategy][run.recipe.entities]["hits@5"]
    return reporting.report(
        run,
        found,
        "Open-domain table verification",
        f"{len(claims):,} claims",
        f"{len(run.tables):,} tables",
        notes=[
            f"Tables are retrieved with entities of the mode '{run.recipe.entities}'. Linked entities are found in the "
            "claim's own gold table, as in the paper; a system in use has only the claim.",
            *([] if run.undecided_claims else [f"{NO_UNDECIDED[0].upper()}{NO_UNDECIDED[1:]}."]),
        ],
        tiles=tiles,
        tiles_of=_name(main) if main else "",
        result_tables=[
            _retrieval_table(run, found),
            _split_table(found),
            *_verdict_tables(run, found),
            reporting.calibration_table(found["calibration"], {model: _name(model) for model in evaluated}),
            *reporting.difference_tables(found["differences"], lambda _, model: _name(model)),
        ],
        line_charts=line_charts,
        heatmaps=heatmaps,
        claims=[_view(run, claims[i], verdicts[i]) for i in list(chosen)[:CLAIMS_SHOWN]],
        **reporting.on_claims(claims, chosen),
    )


def _at(cutoffs: Iterable[int]) -> list[tuple[str, str]]:
    """The columns of hits among the first k tables."""
    return [(f"H@{k}", f"hits@{k}") for k in cutoffs]


def _retrieval_table(run: OpenTables, found: Mapping) -> ResultTable:
    return ResultTable.of(
        "Table retrieval",
        _at(CUTOFFS),
        {
            _searched(strategy, mode): hits
            for strategy, modes in found["retrieval"].items()
            for mode, hits in modes.items()
        },
        "Gold table among the first k, in percent. Of equal scores those tables come first that share more words "
        "with the claim, then the smallest; " + _among_equals(found, run.recipe.strategy, run.recipe.entities),
        "The paper's own figures, TabFact's validation claims with linked entities: for orientation.",
        published=published("tables retrieval"),
    )


def _split_table(found: Mapping) -> ResultTable:
    """Retrieval by kind of claim and strategy; it has rows if the data has kinds."""
    rows = {
        f"{_searched(strategy, mode)} · {kind}": hits
        for strategy, modes in found["retrieval"].items()
        for mode, figure in modes.items()
        for kind, hits in figure["by_kind"].items()
    }
    return ResultTable.of("Table retrieval by kind of claim", _at(CUTOFFS), rows)


def _among_equals(found: Mapping, strategy: str, mode: str) -> str:
    """How much the order among equally scored tables matters, for the strategy that verification reads from."""
    bounds = found["retrieval"][strategy][mode]["among_equals"]
    return "H@1 of {} is {:.1f} with the gold table last among its equals and {:.1f} with it first.".format(
        _searched(strategy, mode), *(100 * bounds[place]["hits@1"] for place in ("last", "first"))
    )


def _searched(strategy: str, mode: str) -> str:
    named = Strategy(strategy)
    return STRATEGIES[named] + ("" if named.whole_query else f" · {mode}")


def _verdict_tables(run: OpenTables, found: Mapping) -> list[ResultTable]:
    if not found["models"]:
        return []
    evaluated, main = found["models"], found["best_model"]
    kinds = sorted({kind for model in evaluated.values() for kind in model["by_kind"]})
    groups = [*figures.RANK_GROUPS, figures.MISSING]
    majority = next(iter(evaluated.values()))["majority"]
    left_out = ""
    if ORACLE in evaluated and run.undecided_claims:
        left_out = (
            f" '{_name(ORACLE)}' is of the {evaluated[ORACLE]['claims']:,} claims that a gold table decides: it "
            "leaves out those without enough information."
        )
    fusion = {_name(model): figure for model, figure in found["fusion"].items()}
    joint = [model for model, figure in found["fusion"].items() if figure["reranking"] and depth_of(model) > 1]
    reranked = {_name(model): found["fusion"][model]["reranking"] for model in joint}
    if reranked:  # before, of the same claims: the same for all models
        reranked = {"as retrieved": next(iter(fusion.values()))["before_reranking"], **reranked}
    best = main and _name(main)
    return [
        ResultTable.of(
            "Verification",
            [
                ("accuracy", "accuracy"),
                *((kind, "by_kind", kind, "accuracy") for kind in kinds),
                *((f"gold rank {group}", "by_gold_rank", group, "accuracy") for group in groups),
            ],
            {"most frequent label": {"accuracy": majority}, "words of the claim": found["claim_words"]}
            | {_name(model): figure for model, figure in evaluated.items()},
            "Share of right verdicts, by kind of claim and by where retrieval ranked the gold table." + left_out,
            "The paper's own figures, RoBERTa large on TabFact's test claims: for orientation.",
            best=best,
            published=published("tables verdicts"),
        ),
        ResultTable.of(
            "Not enough information",
            OPEN_COLUMNS,
            fusion,
            "True, false, or no table here decides this: right where the gold table is read, else NEI. The threshold is "
            "chosen on dev. AP: area under the precision-recall curve.",
            best=best,
        ),
        ResultTable.of(
            "Tables reranked by p(s)",
            _at(RERANKED),
            reranked,
            best=best,
            published=published("tables reranking") if reranked else (),
        ),
    ]


def _curve_chart(run: OpenTables, model: str) -> charts.Chart | None:
    """Precision by recall of "the gold table is among those read"."""
    known = run.labelled(model, REPORT)
    decided, scores = run.decided(model, REPORT)[known], run.scores(model, REPORT)["sufficiency"][known]
    if not decided.any() or decided.all():
        return None
    curve = figures.precision_recall(scores, decided)
    share = figures.most_frequent(decided.tolist())["precision"]
    return charts.lines(
        {"by sufficiency": zip(curve.recall, curve.precision), "most frequent class": ((0, share), (1, share))},
        "recall",
        "precision, %",
        "Precision by recall of detecting that a table read decides the claim.",
        y_range=(share, 1),
        as_percent=True,
    )


def _attention(run: OpenTables, model: str) -> list[Heatmap]:
    """Mean attention from each table (rows) to each (columns), by the gold table's rank and by head."""
    attention, k = run.scores(model, REPORT)["attention"], depth_of(model)
    if not attention.shape[1] or k == 1:
        return []
    examples, claims = run.examples_of(model, REPORT), run.claims[REPORT]
    groups = np.array([figures.gold_rank(claims[example.claim_id], example.unit_ids) for example in examples])
    places = tuple(str(i) for i in range(1, k + 1))
    made = []
    for group in [*figures.RANK_GROUPS, figures.MISSING]:
        members = attention[groups == group]
        for head in range(attention.shape[1] if len(members) else 0):
            values = tuple(tuple(map(float, row)) for row in members[:, head].mean(0))
            made.append(
                Heatmap(
                    f"Head {head + 1}, gold table at {group}",
                    places,
                    places,
                    values,
                    f"Mean attention over {len(members):,} claims, of each retrieved table to each.",
                )
            )
    return made


def _view(run: OpenTables, claim: Claim, found: TablePrediction) -> ClaimView:
    verdict, gold = found.verdict, set(claim.gold_ids)
    scores = verdict.evidence_scores or (None,) * len(verdict.evidence)
    grids = [_grid(run, claim, table, score, table in gold) for table, score in zip(verdict.evidence, scores)]
    grids += [_grid(run, claim, table, None, True) for table in claim.gold_ids if table not in verdict.evidence]
    return ClaimView(
        claim.id,
        claim.text,
        claim.label,
        verdict.label,
        verdict.probabilities,
        kind=claim.kind,
        outcome=_outcome(claim, verdict),
        grids=tuple(grid for grid in grids if grid),
    )


def _grid(run: OpenTables, claim: Claim, table_id: str, score: float | None, is_gold: bool) -> GridView | None:
    """The table as the models read it, with the rows marked whose cells match the claim's entities best."""
    table = run.lookup(table_id)
    if table is None:
        return None
    view = table_examples.view(table, run.columns(table, claim))
    marked = run.rows(table, claim, MARKED_ROWS)
    shown = sorted({*range(min(len(view.rows), ROWS_SHOWN)), *marked})
    return GridView(
        table_id,
        view.caption,
        view.header,
        tuple(view.rows[i] for i in shown),
        frozenset(shown.index(i) for i in marked),
        score,
        is_gold,
    )


def _outcome(claim: Claim, verdict: Prediction) -> str:
    if verdict.label == claim.label:
        return "correct"
    if claim.gold_ids and not set(claim.gold_ids) & set(verdict.evidence):
        return "gold table not read"
    return "wrong verdict"


def _name(model: str) -> str:
    named = {
        ORACLE: "fusion on the gold table",
        RETRIEVED: f"labels of each of {ONE_BY_ONE} tables",
        "claim_only": "claim only, no table",
        "closed": "text and gold table",
        "one": "text and one table",
    }
    if model in named:
        return named[model]
    k = depth_of(model)
    tables = f"{k} table" + ("s" if k > 1 else "")
    if not is_fusion(model):
        return f"text and {tables}"
    return f"{model.split('_')[0]}, {tables}" + (", no attention" if model.endswith("no_attention") else "")
