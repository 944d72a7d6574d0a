"""Copies of pairs with other names and numbers: text and data change alike, and only what both say."""

from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VerbalExample
from lisax.sampling.swapping import Swapper

POOL = Triples("pool", "Zor", (("height", "77"), ("built in", "7 May 1999")))


def example(text, title="Tarn", pairs=(("mayor", "Mara Velin"), ("area", "12"))):
    return VerbalExample(Triples("x", title, pairs), text, (text,))


def test_text_and_data_change_alike_by_kind():
    (copy,) = Swapper([POOL]).copies(example("mara velin, mayor of Tarn (area of 12.5, 12 in all)."), 1, 0)
    assert copy.triples.title == "Zor" and copy.triples.pairs[0][1] == "Zor" and copy.triples.pairs[1][1] == "77"
    (mayor, _), (area, _) = copy.triples.pairs
    assert {mayor, area} <= {"height", "built in"}
    assert copy.text == f"Zor, {mayor} of Zor ({area} of 12.5, 77 in all)."
    assert copy.triples.id == "x~0" and copy.texts == (copy.text,)


def test_what_the_text_does_not_say_word_for_word_gives_no_copy():
    swapper = Swapper([POOL])
    for text in ("Mara Velin leads Tarn.", "Mara Velin leads Tarnia over 12.", "Mara Velin leads Tarn over 12.5."):
        assert swapper.copies(example(text), 3, 0) == []
    assert len(swapper.copies(example("Mara Velin leads Tarn over 12."), 3, 0)) == 3


def test_a_kind_without_anything_to_put_in_stays():
    (copy,) = Swapper([Triples("p", "Zor", ())]).copies(example("Mara Velin leads Tarn over 12."), 1, 0)
    assert copy.triples.pairs == (("mayor", "Zor"), ("area", "12")) and copy.text == "Zor leads Zor over 12."


def test_the_longer_of_two_that_overlap_goes_first_and_nothing_is_exchanged_twice():
    pool = Triples("p", "Tarn", (("c", "Tarn Hall"),))
    unit = example("Tarn Hall is in Tarn.", "Tarn Hall", (("place", "Tarn"),))
    for copy in Swapper([pool]).copies(unit, 8, 1):
        assert copy.text == f"{copy.triples.title} is in {copy.triples.pairs[0][1]}."


@given(st.lists(st.text("abCD 12.(", min_size=1, max_size=6), min_size=1, max_size=4), st.integers(0, 3))
def test_a_copy_says_its_title_and_values_again(values, seed):
    values = [" ".join(value.split()) for value in values if value.strip()]
    unit = VerbalExample(Triples("x", "Tarn", tuple(("c", value) for value in values)), "", ())
    text = "; ".join(["Tarn", *values])
    swapper = Swapper([POOL, Triples("p", "Mount Hel", (("c", "3 of 4"), ("d", "1,200")))])
    made = swapper.copies(VerbalExample(unit.triples, text, (text,)), 2, seed)
    assert made == swapper.copies(VerbalExample(unit.triples, text, (text,)), 2, seed)
    for copy in made:
        assert all(said in copy.text for said in (copy.triples.title, *(value for _, value in copy.triples.pairs)))
