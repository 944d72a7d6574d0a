"""The papers' own rows, shown next to ours for orientation."""

from __future__ import annotations

from lisax.report.report import ResultRow, SelectionRow, VerdictRow

# LisT5: its Tables 1 and 2, FEVER development set.
LIST5_SELECTION = (
    SelectionRow("monoT5 with entities", 0.2566, 0.9054, 0.3717, 0.8562, published=True),
    SelectionRow("monoT5 without entities", 0.2550, 0.9008, 0.3694, 0.8487, published=True),
    SelectionRow("monoT5, zero-shot", 0.2270, 0.8539, 0.3386, 0.7687, published=True),
)

# The accuracy on claims of two sentences or more covers those with a completely selected set (its footnote 4).
LIST5_VERDICTS = (
    VerdictRow("pointwise, sum", 0.6319, 0.5945, published=True),
    VerdictRow("pointwise, max", 0.7031, 0.6615, published=True),
    VerdictRow("listwise", 0.7066, 0.6718, published=True),
    VerdictRow("listwise, noise infused", 0.8126, 0.7775, multi_accuracy=0.7802, published=True),
    VerdictRow("oracle labels", None, 0.9474, published=True),
)

# Open-domain table verification. Hits at 1, 3, 5 and 10 on TabFact's validation claims, entities linked.
TABLE_RETRIEVAL = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("query, words", (0.417, 0.542, 0.590, 0.653)),
        ("query, characters 2-3", (0.347, 0.455, 0.502, 0.568)),
        ("entity, exact", (0.482, 0.579, 0.642, 0.673)),
        ("entity, words", (0.560, 0.656, 0.741, 0.812)),
        ("entity, characters 2-3", (0.696, 0.788, 0.823, 0.866)),
        ("entity, characters 1-3", (0.623, 0.752, 0.801, 0.861)),
    )
)
# Accuracy on its test claims, of RoBERTa large.
TABLE_VERDICTS = tuple(
    ResultRow(name, (value,), published=True)
    for name, value in (
        ("gold table", 0.776),
        ("one table", 0.732),
        ("joint, 3 tables", 0.738),
        ("joint, 5 tables", 0.751),
        ("joint, 10 tables", 0.738),
        ("ternary, 3 tables", 0.735),
        ("ternary, 5 tables", 0.737),
        ("ternary, 10 tables", 0.731),
        ("joint, 5 tables, no attention", 0.736),
        ("uniform, 5 tables", 0.729),
        ("uniform, 5 tables, no attention", 0.712),
    )
)
TABLE_RERANKING = (ResultRow("joint, 5 tables", (0.709, 0.794, 0.823), published=True),)

# DeSePtion: accuracy, evidence recall and FEVER score (Tables 4, 6 and 7), and accuracy by attack (Table 8).
DESEPTION_FEVER1 = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("joint pointer, FEVER 1.0 dev", (0.7674, 0.9084, 0.7317)),
        ("joint pointer, FEVER 1.0 test", (0.7247, 0.8839, 0.6880)),
        ("pointer, then labels, FEVER 1.0 dev", (0.746, 0.861, 0.686)),
        ("oracle, FEVER 1.0 dev", (0.842, 0.947, None)),
    )
)
DESEPTION_FEVER2 = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("joint pointer, dates", (0.4813, 0.6328, 0.4336)),
        ("joint pointer", (0.4514, 0.6328, 0.4191)),
        ("joint pointer, no document ranking", (0.4429, 0.5832, 0.3986)),
    )
)
DESEPTION_ATTACKS = tuple(
    ResultRow(name, (value,), published=True)
    for name, value in (
        ("conjunction", 0.4068),
        ("multi-hop", 0.3372),
        ("unverifiable addition", 0.80),
        ("date manipulation", 0.5352),
        ("multi-hop temporal", 0.0333),
        ("entity disambiguation", 0.7917),
        ("lexical substitution", 0.2976),
    )
)
# CLTR: its tables 2 and 3. P@5, P@10, NDCG@5, @10, @20 and MAP of tables; MRR and Hit@1 of answers.
CLTR_RETRIEVAL = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("E2E_WTQ: BM25", (0.5938, 0.6587, 0.5228, 0.5356, 0.5359, 0.4704)),
        ("E2E_WTQ: CLTR", (0.7437, 0.8735, 0.6915, 0.7119, 0.7321, 0.5971)),
        ("E2E_GNQ: BM25", (0.0413, 0.0242, 0.1650, 0.1764, 0.1852, 0.1601)),
        ("E2E_GNQ: MTR, pointwise", (0.1460, 0.0767, 0.6227, 0.6349, 0.6359, 0.5920)),
        ("E2E_GNQ: MTR, pairwise", (0.1826, 0.0990, 0.6945, 0.7198, 0.7220, 0.6328)),
        ("E2E_GNQ: CLTR", (0.2203, 0.1660, 0.7235, 0.7402, 0.7458, 0.7176)),
    )
)
CLTR_ANSWERS = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("E2E_WTQ: CLTR", (0.5503, 0.4675)),
        ("E2E_GNQ: CLTR", (0.4067, 0.2699)),
        ("gold table, WikiTableQuestions", (0.776, 0.702)),
        ("gold table, WikiSQL", (0.973, 0.958)),
        ("gold table, TabMCQ", (0.741, 0.661)),
    )
)
# UDT-QA. Its Table 8: R@20, R@100 and exact match on NQ's test set, models trained on each index.
MIXED_NQ = tuple(
    ResultRow(name, values, published=True)
    for name, values in (
        ("text", (0.813, 0.873, 0.518)),
        ("+ NQ-tables, raw", (0.860, 0.912, 0.548)),
        ("+ NQ-tables, verbalized", (0.862, 0.910, 0.542)),
        ("+ all tables, raw", (0.869, 0.919, 0.547)),
        ("+ all tables, verbalized", (0.870, 0.917, 0.552)),
    )
)
# Hot-swap: exact match on NQ of models trained on text, tables added to the index.
HOT_SWAP_NQ = (
    ResultRow("+ tables, raw", (0.517,), published=True),
    ResultRow("+ tables, verbalized", (0.527,), published=True),
)
