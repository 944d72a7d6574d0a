"""Words that evidence shares with a claim, as they are marked."""

from lisax.serve.matching import Matching


def test_a_part_of_another_number_is_not_marked():
    matching = Matching("Torimoor has 12,000 residents.")
    assert matching.marked("4,000 of 12,000 came") == "4,000 of <mark>12,000</mark> came"
