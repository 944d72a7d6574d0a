"""Page titles and the escapes of FEVER's dump: one normal form for both sides of every comparison.

FEVER writes a page as `Moana_-LRB-2016_film-RRB-`: brackets and colons are escaped, blanks become underscores, and
accented letters are sometimes composed, sometimes decomposed. Our ids stay escaped, but are always NFC and without
white space, so that claims and pages match; our titles are prose, as a reader writes them.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "-COLON-": ":"}
_ESCAPED = re.compile("|".join(_ESCAPES))
_ESCAPE = str.maketrans({character: escape for escape, character in _ESCAPES.items()})
_WHITE_SPACE = re.compile(r"\s")


def normal_form(text: str) -> str:
    """`text` in Unicode's composed form (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def page_id(original: str) -> str:
    """Our id for an owner's id: NFC, each white-space character an underscore, escapes kept."""
    return _WHITE_SPACE.sub("_", normal_form(original))


def title_to_id(title: str) -> str:
    """A prose title as FEVER would write its page: `Gandhi (film)` -> `Gandhi_-LRB-film-RRB-`."""
    return page_id(title.strip()).translate(_ESCAPE)


def id_to_title(page: str) -> str:
    """A page id as prose: `Gandhi_-LRB-film-RRB-` -> `Gandhi (film)`."""
    return unescape(page).replace("_", " ").strip()


def unescape(text: str) -> str:
    """Running text with FEVER's bracket and colon escapes written out, in NFC."""
    text = normal_form(text)
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text) if "-" in text else text


def one_line(text: str) -> str:
    """`text` in NFC with every run of white space (tabs and line ends too) as one blank."""
    return " ".join(normal_form(text).split())
