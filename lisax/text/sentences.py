"""The sentences of a text: one segmenter for pages, claims and chunks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

# A full stop after these does not end a sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“‘])(?:[A-Z]|e\.g|i\.e|U\.S|U\.K|(?i:mr|mrs|ms|dr|prof|st|mt|ft|sr|jr|lt|col|gen|capt|rev|hon|vs|no|"
    r"vol|pp|ca|approx))\.$"
)
_LONGEST = len(" approx.") + 1  # one more than the longest, so that `^` is the start of the sentence
# Possessive, and only where a run of marks begins: nothing is looked at twice.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s++[\"'“‘(\[]*+[A-Z0-9\u00c0-\u024f])")


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph, in order.

    >>> split_sentences("Dr. Velin was born in Tarn. She sang.")
    ['Dr. Velin was born in Tarn.', 'She sang.']
    """
    found, start = [], 0
    for match in _END.finditer(text):
        if match[0] == "." and _ABBREVIATION.search(text[max(start, match.end() - _LONGEST) : match.end()]):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def split_paragraphs(text: str) -> list[str]:
    """The sentences of a text whose paragraphs are separated by blank lines, in order and in NFC.

    >>> split_paragraphs("Velin was born\\nin Tarn. She sang.\\n\\nHer sister too")
    ['Velin was born in Tarn.', 'She sang.', 'Her sister too']
    """
    blocks = paragraphs(unicodedata.normalize("NFC", text).splitlines())
    return [sentence for block in blocks for sentence in split_sentences(" ".join(block.split()))]


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Runs of lines between blank lines."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
