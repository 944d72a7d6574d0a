"""Character classes of the writing systems, for the words of a text.

The marks come from Unicode's own categories, in the version that Python has. They are collected on first use, which
takes a hundredth of a second: texts in English never need them.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata

# Format characters without width that occur within words: soft hyphen, joiners, directions. A zero-width space
# separates words.
INVISIBLE = "\u00ad\u034f\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
# Armenian marks of emphasis, exclamation and question, which are written within the word.
WITHIN = "\u055b\u055c\u055e"
# Written without blanks between words, or with endings that hide the word.
PAIRED = (
    "\u1100-\u11ff\u3005-\u3007\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9d\uffa0-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"  # Han, Kana, Hangul
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc"  # Burmese, Khmer
)
TRIPLED = "\u0e01-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u19de-\u19df"  # Thai, Lao: letters, not syllables


@functools.cache
def marks() -> str:
    """All combining marks (categories Mn, Mc, Me) as ranges of a regular expression's character set."""
    found = (code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M")
    ranges = []
    for _, run in itertools.groupby(enumerate(found), key=lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in run]
        ranges.append(f"{chr(codes[0])}-{chr(codes[-1])}")
    return "".join((*ranges, "\U000e0100-\U000e01ef", "\uff9e\uff9f"))  # with the half-width voicing marks of Kana
