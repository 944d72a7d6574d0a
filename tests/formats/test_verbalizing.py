"""The verbalizer's input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import Encoder, marker_ids, verbalizing_card

BRIDGE = Triples(
    "t#r0", "Conde McCullough", (("Bridge name", "Oregon City Bridge"), ("", "1922"), ("Total length", "745 feet"))
)
# A character is a token; the markers are the last entries.
ENCODER = Encoder(lambda text: [ord(c) for c in text], marker_ids(100_000))


def test_the_format():
    assert ENCODER.text(BRIDGE) == (
        "<H> [title] <T> conde mccullough <H> bridge name <T> oregon city bridge <H> <T> 1922 "
        "<H> total length <T> 745 feet"
    )
    released = Encoder(ENCODER.to_ids, ENCODER.markers, "released")
    assert released.text(Triples("g", "", (("born", "Łódź"),))) == "translate Graph to English: <H> born <T> lodz"


def test_markers_are_ids_and_text_that_spells_them_is_text():
    ids = ENCODER.inputs(Triples("x", "<T>", (("a", "<H>"),)))
    assert ids == [99_999, 99_997, 99_998, *map(ord, "<t>"), 99_999, ord("a"), 99_998, *map(ord, "<h>")]
    found = ENCODER.inputs(BRIDGE)
    assert found == ENCODER._title("Conde McCullough") + sum((ENCODER._pair(*pair) for pair in BRIDGE.pairs), [])
    assert ENCODER.targets(" A  B ") == [ord("a"), ord(" "), ord("b")]


def test_the_card_notes_the_markers():
    assert verbalizing_card("paper", 384, 256, 32_100)["text"] == {
        "family": "verbalize",
        "preset": "paper",
        "max_tokens": 384,
        "target_tokens": 256,
        "markers": {"<H>": 32_099, "<T>": 32_098, "[title]": 32_097},
    }


TEXT = st.text(st.sampled_from("ab cÉ1,.-"), max_size=12).map(lambda text: " ".join(text.split()))
FILLED = TEXT.map(lambda text: text or "x")
UNITS = st.builds(Triples, st.just("u"), TEXT, st.lists(st.tuples(TEXT, FILLED), max_size=6).map(tuple))


@given(UNITS, st.integers(17, 60), st.one_of(st.none(), st.integers(1, 3)))
def test_pieces_fit_and_lose_no_value(triples, max_tokens, max_pairs):
    found = ENCODER.split(triples, max_tokens, max_pairs)
    pieces = [piece for _, piece in found]
    for first, piece in found:
        name, value = triples.pairs[first] if triples.pairs else ("", "")
        assert not piece.pairs or (name.startswith(piece.pairs[0][0]) and piece.pairs[0][1] in value)
        assert len(ENCODER.inputs(piece)) < max_tokens
        assert len(piece.pairs) <= (max_pairs or 6 * 12)
    said = "".join(value for piece in pieces for _, value in piece.pairs)
    assert said.replace(" ", "") == "".join(value for _, value in triples.pairs).replace(" ", "")


def test_a_row_that_fits_stays_whole_and_pieces_keep_the_title():
    assert ENCODER.split(BRIDGE, 200) == [(0, BRIDGE)]
    found = [(first, piece.title) for first, piece in ENCODER.split(BRIDGE, 60)]
    assert found == [(0, BRIDGE.title), (2, BRIDGE.title)]
    with pytest.raises(LisaxError, match="too few for the verbalizer's input"):
        ENCODER.split(BRIDGE, 10)
