"""The LisT5 paper's own rows (its Tables 1 and 2, FEVER development set), to stand beside ours for orientation."""

from __future__ import annotations

from lisax.page.report import SelectionRow, VerdictRow

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
