from lisax.report.report import Report, ResultTable, published
from lisax.report.text_table import text_tables

REPORT = Report(
    "r",
    result_tables=[
        ResultTable.of(
            "Label prediction",
            [("Label accuracy", "labels", "accuracy"), ("FEVER score", "fever"), ("2+ sentences", "multi")],
            {
                "majority": {"labels": {"accuracy": 1 / 3}, "fever": 0.0},
                "listwise": {"labels": {"accuracy": 0.8}, "fever": float("nan")},
            },
            best="listwise",
            published=published("LisT5 verdicts")[-1:],
        ),
        ResultTable("Nothing", ("P@5",), ()),
        ResultTable.of(
            "Sentence selection",
            [(name, name) for name in ("P@5", "R@5", "F1@5", "MAP@5")],
            {"BM25": {"P@5": 0.18, "R@5": 0.5, "MAP@5": 0.4123}},
        ),
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


def test_nothing_is_printed_of_a_report_without_tables():
    assert text_tables(Report("empty")) == ""
