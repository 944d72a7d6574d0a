"""Guesses the encoding of a text that does not declare it."""

from __future__ import annotations

import re
import unicodedata

SAMPLE = 1 << 18  # bytes that a guess is made from
# The encodings other than UTF-8 that spreadsheets and editors save. The first of equally good ones counts: a few
# accented letters do not distinguish the encodings of Windows.
COMMON = tuple("cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 shift_jis gb18030 big5 euc_kr".split())
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")
MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def marked(content: bytes) -> str | None:
    """The encoding that a byte order mark at the start names, but for that of UTF-8, or UTF-16 that shows without a mark
    by its zero bytes; None if neither is there."""
    return next((name for mark, name in MARKS.items() if content.startswith(mark)), None) or _utf_16(content[:SAMPLE])


def _utf_16(sample: bytes) -> str | None:
    """The byte order of UTF-16 without a mark; None for other content. Every other byte of blanks and Latin letters is
    zero, and of the letters of other alphabets a control character."""
    sample = sample[: len(sample) // 2 * 2]
    if len(sample) < 4 or not _CONTROL.search(sample):
        return None
    halves = {"utf-16-le": sample[1::2], "utf-16-be": sample[::2]}  # the bytes that name a letter's alphabet
    name, other = sorted(halves, key=lambda order: halves[order].count(0), reverse=True)
    zeros = halves[name].count(0)
    if not zeros or zeros < 4 * halves[other].count(0):
        name, other = sorted(halves, key=lambda order: len(set(halves[order])))
        if 2 * len(set(halves[name])) > len(set(halves[other])):
            return None
    text = sample.decode(name, errors="replace")  # the last character may be half of a pair
    return name if all(map(_is_of_text, text)) else None


def _is_of_text(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) not in ("Cc", "Cn", "Co", "Cs")


def guess(content: bytes) -> str | None:
    """The encoding that a text which is not UTF-8 is most likely in; None for content that does not look like text."""
    from charset_normalizer import from_bytes  # imported here: most texts are UTF-8

    sample = content[:SAMPLE]
    if b"\0" in sample:
        return None
    found = from_bytes(sample, cp_isolation=list(COMMON), preemptive_behaviour=False, enable_fallback=False)
    best = found.best()
    if best is None:
        return None
    # Western European if it is as free of oddities as the best.
    western = next((one for one in found if "cp1252" in one.could_be_from_charset), None)
    return "cp1252" if western is not None and western.chaos <= best.chaos else best.encoding


def decoded(content: bytes) -> tuple[str, str | None]:
    """(text, encoding): UTF-8, or by its byte order mark (encoding None), or as it is most likely. Raises
    UnicodeDecodeError for content that does not look like text."""
    if (encoding := marked(content)) is not None:
        return content.decode(encoding), None
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        encoding = guess(content)
        if encoding is None:
            raise
        return content.decode(encoding, errors="replace"), encoding
