from lisax.report.published import LIST5_VERDICTS
from lisax.report.report import Report, SelectionRow, VerdictRow
from lisax.report.text_table import text_tables

REPORT = Report(
    "r",
    selection_rows=[SelectionRow("BM25", 0.18, 0.5, None, 0.4123)],
    verdict_rows=[
        VerdictRow("majority", 1 / 3, 0.0),
        VerdictRow("listwise", 0.8, float("nan"), best=True),
        LIST5_VERDICTS[-1],
    ],
)


def test_as_it_stands_in_a_terminal():
    assert (
        text_tables(REPORT)
        == """\
Label prediction  Label accuracy  FEVER score
---------------------------------------------
majority                   33.33         0.00
listwise *                 80.00            -
----------------- published -----------------
oracle labels                  -        94.74

Sentence selection     P@5     R@5   MAP@5
------------------------------------------
BM25                 18.00   50.00   41.23

* the variant that the report continues with, by the paper or held-out claims; another may have higher figures here"""
    )


def test_without_the_published_rows():
    assert "published" not in text_tables(REPORT, published=False)
    assert text_tables(Report("empty")) == ""
