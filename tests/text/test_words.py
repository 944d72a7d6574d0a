"""The words of a text in every script, and English as it always was."""

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.text.words import word_spans, words

GOLDEN = Path(__file__).with_name("words.txt")


def golden():
    """(kind, text, words) of each line."""
    kind = None
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = line[3:].partition(":")[0]
        elif line and not line.startswith("#"):
            text, sign, right = re.fullmatch(r"(.+) ([>=]) (.+)", line).groups()
            text, right = (re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), part) for part in (text, right))
            yield kind, text, right.split(" ") if sign == ">" else words(right)


@pytest.mark.parametrize(("kind", "text", "expected"), list(golden()))
def test_the_golden_set(kind, text, expected):
    assert words(text) == expected and expected


def former_words(text):
    """Words as they were before scripts other than Latin were read, with the letters that are now spelled out."""
    found = []
    for word in re.findall(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*", unicodedata.normalize("NFC", text)):
        word = unicodedata.normalize("NFKD", word.casefold().replace("’", "'"))
        word = "".join(c for c in word if not unicodedata.combining(c)).casefold()
        found.append((word[:-2] if word.endswith("'s") else word).replace(".", ""))
    return found


@given(st.text(alphabet=[*map(chr, range(32, 127)), *"éüñçÅöâížš’“”–—…", *"'. s"]))
def test_english_is_as_it_always_was(text):
    assert words(text) == former_words(text)


@given(st.text())
def test_spans_are_the_words_of_any_text(text):
    text = unicodedata.normalize("NFC", text)
    spans = word_spans(text)
    assert [word for word, _, _ in spans] == words(text)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    assert [start for _, start, _ in spans] == sorted(start for _, start, _ in spans)


@given(st.text())
def test_folded_words_are_their_own_words(text):
    once = words(text)
    assert all(word == word.casefold() and word[-2:] != "'s" for word in once if word.isalpha())


def test_claims_find_pages_of_scripts_without_blanks():
    for page, claim in [
        ("塔恩是一座古老的城市", "塔恩有九百人。"),
        ("タルンは古い町です", "タルンの人口は900人"),
        ("ทาร์นเป็นเมืองเก่า", "ทาร์นมีประชากร 900 คน"),
        ("타른은 오래된 도시이다", "타른의 인구는 900명"),
        ("တာန်သည်မြို့ဟောင်း", "တာန်တွင်လူ၉၀၀"),
    ]:
        assert set(words(page)) & set(words(claim)), page
