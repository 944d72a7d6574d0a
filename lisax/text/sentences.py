"""Splits paragraphs of any language into sentences: pages, claims and chunks.

A full stop ends a sentence if white space follows and then no small letter. An abbreviation, an initial or an ordinal
before the stop can prevent the end: `abbreviations.py` lists them. Closing brackets, quotation marks and footnote marks
after the stop belong to the sentence. Unambiguous marks (`。`, `।`, `؟`) need no white space. Thai and Lao do not mark the
end of a sentence, so their paragraphs are split only at `?` and `!`.
"""

# The share of tests/text/sentences.txt that each library splits correctly with its English rules: yasbd 72%, blingfire
# 72%, sentencex 70%, nupunkt 66%, syntok 62%, pysbd 58%, ICU 55%. Other rules need the language of the text. This module
# splits 99% correctly; of the 238 cases that were written after its rules it split 89% correctly before they were fixed.

from __future__ import annotations

import itertools
import re
import unicodedata

from lisax.text import abbreviations as short

_OPEN = r"(?:[\"'“‘«»„‚‹›(\[{¿¡$€£¥#]|[–—•*-]\s)*+"  # before the first word
_START = r"(?:[^\Wa-z_]|[a-z]{1,5}[A-Z]|[a-z]\)\s)"  # `iPhone`, and `b) The mill`
_NOTE = r"\s?\[(?:\.\.\.|…)\]|\[[^\[\]]{1,24}\]|[†‡*¹²³⁰-⁹]"
_CLOSE = rf"(?:[\"'”’“‘)\]}}»«›‹]|\s[»›](?=\s)|{_NOTE})*+"
_GLUED = r"(?:The|It|He|She|In|They|This|A|On|At|However|But|After)\s"  # `a lamb.The lamb`
# The time is linear: quantifiers are possessive, and a match begins only at the first mark of a run. The lookbehind
# follows the first mark because a search is fast when the pattern begins with a set of characters.
_STOP = rf"(?P<run>[.!?…](?<![.!?…][.!?…])[.!?…]*+)(?P<after>{_CLOSE}(?:\d{{1,3}})?+)"
_COMMON = re.compile(rf"{_STOP}(?:(?=\s++{_OPEN}{_START})|(?<=[a-z0-9][.!?])(?={_GLUED}))")
_MARKS = "।॥؟۔։።፧။។៕"
_WIDE = "」』）】》〉〕”’\"'）)\\]"
_KANA_OR_HAN = r"\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_ALL = re.compile(
    rf"{_STOP}(?:(?=\s++{_OPEN}{_START})|(?<=[a-z0-9][.!?])(?={_GLUED})|(?<=[!?])(?=[{_KANA_OR_HAN}]))"
    rf"|(?P<wide>[。！？｡．]++)(?P<closed>[{_WIDE}]*+)(?:{_NOTE})*+"
    rf"|(?P<mark>[{_MARKS}]++){_CLOSE}"
    rf"|(?P<colon>:(?<=[Ա-և]:)(?=\s)|;(?<=[\u0370-\u03ff\u1f00-\u1fff];)(?=\s++{_OPEN}{_START}))"
)
# The search for these is fast, and most texts have none of them.
_OTHER_MARKS = re.compile(rf"[。！？｡．{_MARKS}\u0370-\u03ff\u0530-\u058f\u1f00-\u1fff{_KANA_OR_HAN}]")
_FIRST_WORD = re.compile(rf"\s*+{_OPEN}(\w++\.?)")  # `No.` is another abbreviation, `No` a beginning
_SAID = re.compile(r"(?:\w++\s){0,2}(\w++)")
_NUMBERING = re.compile(r"[(\[]?(?:\d{1,3}(?:\.\d{1,2})*+|[ivxlc]{1,5}|[IVXLC]{1,5}|[A-Za-z])")
_ROMAN = re.compile(r"[IVXLC]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}|ph|chr|eks|sig)(?:[.-]+(?:[^\W\d_]{1,2}|chr|eks|sc))+", re.IGNORECASE)
_NO_VOWEL = re.compile(r"[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]{1,4}")  # `Rm. 5`
_CONSONANTS = re.compile(r"(?![ckm][gm]$|[mh]l$)[b-df-hj-np-tv-xzбвгджзклмнпрстфхцчшщ]{2,5}")  # `mrt. 2024`
_ORDINAL_NEXT = re.compile(r"\s+\d{1,2}\.")
_VERSE = re.compile(r"\s\d{1,3}:\d")  # `Phil. 4:8`
_NUMBER_ENDS = re.compile(r"\s\d{1,4}(?:[,;]|\.?$)")  # `ext. 12, room 3`
_PLAIN = re.compile(r"[^(][a-z]{4}\.\s[A-Z]")
_TAILS = frozenset(word[-4:] for word in short.ALL)  # and of `Mühlstr.`, which are three letters
_LONGEST = 32  # characters that are looked at before a full stop
_OPENERS = "\"'“‘«»„‚‹›([{¿¡"
_FIRST_NUMBERS = frozenset("1aAiI")
_BRACKETS = ("(", "[", "{")
_QUOTES = frozenset("\"'”’“‘»«›‹")
# Abbreviations of words that end a sentence: `и т. д.`, `до н. э.`, `př. n. l.`
_LAST_LETTERS = {("т.", "д"), ("т.", "п"), ("н.", "э"), ("н.", "е"), ("n.", "l"), ("m.", "m"), ("m.", "n")}
_YEARS, _PREPOSITIONS = frozenset("гrр"), frozenset("в у к с до по от около w od do na dnia v ve до през".split())
_UNITS = frozenset("mgltwм")
_WIDE_SAID = re.compile(r"[^。！？]{0,12}?[说說道问問答喊叫言聞]")
# Particles and marks after which the sentence continues: after a closing mark, and after `。` as in `モーニング娘。は歌う`.
_WIDE_GOES_ON = re.compile(r"[、，,；：。」』とはがをのにもでや]|って|など")
_PARTICLE = re.compile(r"[はがをの][\u4e00-\u9fff]")


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph, in order.

    >>> split_sentences("Dr. Velin was born on Jan. 5, 1851.[1] She sang.")
    ['Dr. Velin was born on Jan. 5, 1851.[1]', 'She sang.']
    """
    found, start = [], 0
    ends = _ALL if not text.isascii() and _OTHER_MARKS.search(text) else _COMMON
    for match in ends.finditer(text):
        if _is_end(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def split_paragraphs(text: str) -> list[str]:
    """The sentences of a text whose paragraphs are separated by blank lines, in order and in NFC.

    >>> split_paragraphs("Velin was born\\nin Tarn. She sang.\\n\\nHer sister too")
    ['Velin was born in Tarn.', 'She sang.', 'Her sister too']
    """
    lines = map(str.split, unicodedata.normalize("NFC", text).splitlines())
    blocks = (itertools.chain.from_iterable(block) for is_filled, block in itertools.groupby(lines, bool) if is_filled)
    return [sentence for block in blocks for sentence in split_sentences(" ".join(block))]


def _is_end(text: str, start: int, match: re.Match) -> bool:
    """Whether a mark ends the sentence that begins at `start`."""
    at, end = match.span()
    if _PLAIN.match(text, at - 5) and text[at - 4 : at] not in _TAILS:  # the most frequent end, for speed
        return True
    run = match["run"]
    if run is None and match["wide"]:
        return _is_wide_end(text, start, match)
    following = _FIRST_WORD.match(text, end)
    next_word = following[1] if following else ""
    if run is None:
        return match["mark"] is not None or not _goes_on(next_word)
    after = match["after"]
    if _goes_on(next_word) or (after and text[at - 1 : at] in _BRACKETS):  # `[...]`, `(?)`
        return False
    if run == "." and (not after or after[0] in ")1234567890"):
        return _is_stop(text, start, match, next_word)
    if after and after[-1].isdecimal():
        return "." not in run and after[0] in _QUOTES
    if "." in run or "…" in run or next_word in short.STARTING:
        return True
    if after and after[-1] in _QUOTES and (said := _SAID.match(text, following.start(1))):
        return said[1] not in short.SAYING
    word = text[max(start, at - _LONGEST) : at].rsplit(None, 1)[-1:]
    name = word[0].lstrip(_OPENERS) if word and run == "!" else None
    return not (name and (name == next_word or name.lower() in short.EXCLAIMING))


def _goes_on(word: str) -> bool:
    """Whether a word has a small letter where a sentence would begin with a capital. Georgian has no capitals there."""
    first = word[:1]
    return first.islower() and not first.isascii() and not "\u10d0" <= first <= "\u10ff"


def _is_stop(text: str, start: int, match: re.Match, next_word: str) -> bool:
    """Whether a full stop ends a sentence, by the words around it."""
    at, end, after = match.start(), match.end(), match["after"]
    before = text[max(start, at - _LONGEST) : at].split()
    if not before or text[at - 1].isspace():
        return not after
    if text[end + 1 : end + 2] in "–—-•*":  # `BROOKINGS, S.D. — The`
        next_word = ""
    word = before[-1].lstrip(_OPENERS)
    low = word.replace("’", "'").rpartition("'")[2].lower()  # `l'art. 5`
    if after and after[-1].isdecimal():  # `work.1 Later`, `in 2026.1 The mill`
        if word.isdecimal():
            year = len(word) == 4 and next_word in short.STARTING
            return year or (next_word in short.OPENING and before[-2:-1] != [] and before[-2].islower())
        return len(word) > 2 and word.isalpha() and low == word and low not in short.NUMBERED | short.INNER
    is_first = len(before) == 1
    if _NUMBERING.fullmatch(before[-1]) if is_first else before[-1] in _FIRST_NUMBERS and before[-2][-1] == ":":
        return False
    number_next = next_word[:1].isdecimal()
    if word.isdecimal():
        return not _is_ordinal(text, before, end, next_word)
    if before[-1][0] in _BRACKETS and len(before) > 1 and word.isalpha() and len(word) < 7:  # `(est. 1850)`
        return next_word in short.OPENING
    if len(word) == 1 and word.isalpha():
        return _ends_after_letter(word, before, next_word, at - start < _LONGEST)
    if word.isupper() and word.isalpha() and low not in short.SHOUTED:
        low = ""  # an acronym
    if low in short.LEADING:
        return False
    if number_next and (
        (word.istitle() and _VERSE.match(text, end)) or (len(word) < 5 and _NUMBER_ENDS.match(text, end))
    ):
        return False
    if word in short.CALENDAR:
        return not (number_next or next_word.rstrip(".") in short.CALENDAR)
    if low in short.NUMBERED or low.endswith("str") or (number_next and _CONSONANTS.fullmatch(low)):
        return not (number_next or _ROMAN.fullmatch(next_word.rstrip(".")))
    if low in short.INNER or word in short.INNER_NAMES or (low == "al" and before[-2:-1] == ["et"]):
        return next_word in short.STARTING
    if _DOTTED.fullmatch(word) or _NO_VOWEL.fullmatch(word):
        return next_word in short.STARTING
    if _ROMAN.fullmatch(word) and len(before) > 1:
        return not (before[-2].lower() in short.BEFORE_ORDINAL and next_word not in short.STARTING)
    return True


def _ends_after_letter(word: str, before: list[str], next_word: str, is_start: bool) -> bool:
    """Whether a sentence ends after `C.`, `г.` or `m.`: an initial, an abbreviation, a grade or a unit. `before` has
    its last words, all of them if `is_start`."""
    last = before[-2] if len(before) > 1 else ""
    if not word.islower():
        return next_word in short.OPENING and last != "z."
    if (last, word) in _LAST_LETTERS or next_word in short.STARTING:
        return True
    if word in _YEARS and last.isdecimal() and not next_word[:1].isdecimal():  # `В 1851 г. Иван родился`
        return not (is_start and len(before) < 6 and before[0].lower() in _PREPOSITIONS)
    return word in _UNITS and last[-1:].isdecimal()


def _is_ordinal(text: str, before: list[str], end: int, next_word: str) -> bool:
    """Whether the number before a full stop is an ordinal, as in `am 3. Mai` and `5. 1. 1851`."""
    if len(before[-1].lstrip(_OPENERS)) > 3 or next_word in short.STARTING:
        return False
    if next_word in short.MONTHS or _ORDINAL_NEXT.match(text, end):
        return True
    last = before[-2] if len(before) > 1 else ""
    if next_word[:1].isdecimal():
        return last.endswith(".") and last[:-1].isdecimal()
    return last.lower() in short.BEFORE_ORDINAL and before[-3:-2] != ["I"]


def _is_wide_end(text: str, start: int, match: re.Match) -> bool:
    """Whether a full-width mark with its closing marks ends a sentence."""
    at, end, closed = match.start("wide"), match.end(), match["closed"]
    if match["wide"] == "．" and text[at - 1 : at].isdecimal() and text[end : end + 1].isdecimal():
        return False
    if not closed:
        return not _PARTICLE.match(text, end)
    if closed[-1] in "）)】〕":
        return text[start : start + 1] in ("（", "(", "【", "〔")
    if _WIDE_GOES_ON.match(text, end):
        return False
    opens = text[start : start + 1] in ("“", "「", "『", '"')
    return not (opens and _WIDE_SAID.match(text, end))
