"""Words that evidence shares with a claim, as they are marked."""

from lisax.records import Table
from lisax.serve.matching import Matching


def test_a_part_of_another_number_is_not_marked():
    matching = Matching("Torimoor has 12,000 residents.")
    assert matching.marked("4,000 of 12,000 came") == "4,000 of <mark>12,000</mark> came"


def test_rows_with_most_words_of_the_claim_and_what_is_computed_from_all():
    table = Table("t", "Clubs", ("club", "land"), (("A", "<Varn>"), ("B", "Sel"), ("C", "<Varn>")))
    rows = Matching("Two clubs are from <Varn>.").rows(table)
    assert [number for number, _ in rows.shown] == [1, 2, 3] and rows.total == 3
    assert rows.computed == ["land is &lt;<mark>Varn</mark>&gt; in 2 rows"]
