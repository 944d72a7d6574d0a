"""The papers' own rows, to stand beside ours for orientation."""

from __future__ import annotations

from lisax.page.report import ResultRow, SelectionRow, VerdictRow

# LisT5: its Tables 1 and 2, FEVER development set.
LIST5_SELECTION = (
    SelectionRow("monoT5 with entities", 0.2566, 0.9054, 0.3717, 0.8562, published=True),
    SelectionRow("monoT5 without entities", 0.2550, 0.9008, 0.3694, 0.8487, published=True),
    SelectionRow("monoT5, zero-shot", 0.2270, 0.8539, 0.3386, 0.7687, published=True),
)

# The accuracy on claims of two sentences or more is over those with a whole set selected (its footnote 4).
LIST5_VERDICTS = (
    VerdictRow("pointwise, sum", 0.6319, 0.5945, published=True),
    VerdictRow("pointwise, max", 0.7031, 0.6615, published=True),
    VerdictRow("listwise", 0.7066, 0.6718, published=True),
    VerdictRow("listwise, noise infused", 0.8126, 0.7775, multi_accuracy=0.7802, published=True),
    VerdictRow("oracle labels", None, 0.9474, published=True),
)

# Open-domain table verification. Hits at 1, 3, 5 and 10 on TabFact's validation claims, entities linked.
TABLE_RETRIEVAL = tuple(ResultRow(name, values, published=True) for name, values in (
    ("query, words", (.417, .542, .590, .653)),
    ("query, characters 2-3", (.347, .455, .502, .568)),
    ("entity, exact", (.482, .579, .642, .673)),
    ("entity, words", (.560, .656, .741, .812)),
    ("entity, characters 2-3", (.696, .788, .823, .866)),
    ("entity, characters 1-3", (.623, .752, .801, .861)),
))
# Accuracy on its test claims, of RoBERTa large.
TABLE_VERDICTS = tuple(ResultRow(name, (value,), published=True) for name, value in (
    ("gold table", .776), ("one table", .732), ("joint, 3 tables", .738), ("joint, 5 tables", .751),
    ("joint, 10 tables", .738), ("ternary, 3 tables", .735), ("ternary, 5 tables", .737), ("ternary, 10 tables", .731),
    ("joint, 5 tables, no attention", .736), ("uniform, 5 tables", .729), ("uniform, 5 tables, no attention", .712),
))
TABLE_RERANKING = (ResultRow("joint, 5 tables", (.709, .794, .823), published=True),)

# DeSePtion: accuracy, evidence recall and FEVER score (Tables 4, 6 and 7), and accuracy by attack (Table 8).
DESEPTION_FEVER1 = tuple(ResultRow(name, values, published=True) for name, values in (
    ("joint pointer, FEVER 1.0 dev", (.7674, .9084, .7317)), ("joint pointer, FEVER 1.0 test", (.7247, .8839, .6880)),
    ("pointer, then labels, FEVER 1.0 dev", (.746, .861, .686)), ("oracle, FEVER 1.0 dev", (.842, .947, None)),
))
DESEPTION_FEVER2 = tuple(ResultRow(name, values, published=True) for name, values in (
    ("joint pointer, dates", (.4813, .6328, .4336)), ("joint pointer", (.4514, .6328, .4191)),
    ("joint pointer, no document ranking", (.4429, .5832, .3986)),
))
DESEPTION_ATTACKS = tuple(ResultRow(name, (value,), published=True) for name, value in (
    ("conjunction", .4068), ("multi-hop", .3372), ("unverifiable addition", .80), ("date manipulation", .5352),
    ("multi-hop temporal", .0333), ("entity disambiguation", .7917), ("lexical substitution", .2976),
))
# CLTR: its tables 2 and 3. P@5, P@10, NDCG@5, @10, @20 and MAP of tables; MRR and Hit@1 of answers.
CLTR_RETRIEVAL = tuple(ResultRow(name, values, published=True) for name, values in (
    ("E2E_WTQ: BM25", (.5938, .6587, .5228, .5356, .5359, .4704)),
    ("E2E_WTQ: CLTR", (.7437, .8735, .6915, .7119, .7321, .5971)),
    ("E2E_GNQ: BM25", (.0413, .0242, .1650, .1764, .1852, .1601)),
    ("E2E_GNQ: MTR, pointwise", (.1460, .0767, .6227, .6349, .6359, .5920)),
    ("E2E_GNQ: MTR, pairwise", (.1826, .0990, .6945, .7198, .7220, .6328)),
    ("E2E_GNQ: CLTR", (.2203, .1660, .7235, .7402, .7458, .7176)),
))
CLTR_ANSWERS = tuple(ResultRow(name, values, published=True) for name, values in (
    ("E2E_WTQ: CLTR", (.5503, .4675)), ("E2E_GNQ: CLTR", (.4067, .2699)),
    ("gold table, WikiTableQuestions", (.776, .702)), ("gold table, WikiSQL", (.973, .958)),
    ("gold table, TabMCQ", (.741, .661)),
))
# UDT-QA. Its Table 1: BLEU, METEOR, TER on DART's test set, answer coverage on NQ-table-Q, of T5 large.
VERBALIZER = tuple(ResultRow(name, values, published=True) for name, values in (
    ("T (DART)", (.5105, .40, .43, .954)), ("T-F (filtered)", (.5104, .41, .43, .960)),
    ("T-F + ID-T (iterated)", (.5059, .41, .44, .984)),
))
# Answer coverage on WebQ-KB-Q (section 5).
VERBALIZED_GRAPHS = tuple(ResultRow(name, values, published=True) for name, values in (
    ("T-F + ID-T", (.996,)), ("KELM's verbalizer", (.978,))))
# Its Table 8: R@20, R@100 and exact match on NQ's test set, models trained on each index.
MIXED_NQ = tuple(ResultRow(name, values, published=True) for name, values in (
    ("text", (.813, .873, .518)),
    ("+ NQ-tables, raw", (.860, .912, .548)), ("+ NQ-tables, verbalized", (.862, .910, .542)),
    ("+ all tables, raw", (.869, .919, .547)), ("+ all tables, verbalized", (.870, .917, .552)),
))
MIXED_WEBQ = tuple(ResultRow(name, values, published=True) for name, values in (
    ("text", (.732, .814, .480)), ("+ WD-graphs of WebQ, raw", (.802, .858, .515)),
    ("+ WD-graphs of WebQ, verbalized", (.797, .853, .526)), ("+ WD-graphs, raw", (.788, .851, .514)),
    ("+ WD-graphs, verbalized", (.785, .855, .520)),
))
# Hot-swap: exact match on NQ of models trained on text, tables added to the index.
HOT_SWAP_NQ = (ResultRow("+ tables, raw", (.517,), published=True),
               ResultRow("+ tables, verbalized", (.527,), published=True))
