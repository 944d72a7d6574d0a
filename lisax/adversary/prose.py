"""Small rules of English for writing attacks: full stops, commas, and detokenising text.

These are rules rather than a parser, because attacks run offline, ten thousand in a minute, and skip cases that the
rules do not cover rather than guess.
"""

from __future__ import annotations

import re

from lisax.text.articles import capitalised

_BEFORE_BLANK = re.compile(r"(?<! ) ++(?=[,.;:!?)\]%]|'s\b|'s?(?= |$)|n't\b|'(?:re|ve|ll|d|m)\b)")
_AFTER_BLANK = re.compile(r"(?<=[(\[$£]) +")
_QUOTED = re.compile(r"(?:``|\") ?(.*?) ?(?:''|\")")
_ARTICLE = re.compile(r"(?:the|an?) ")
_PARENTHESES = re.compile(r" ?\([^()]*\)")
_ABBREVIATED = re.compile(r"(?:\b(?:Jr|Sr|Inc|Ltd|Co|Corp|Bros)|(?<!\w)(?:[A-Z]\.)+[A-Z])$")

LONGEST_END, DEEPEST = 400, 50

NEGATIONS = frozenset(
    """not no never none nobody nothing neither nor only without failed fails cannot unable incapable refused refuses
    avoided rejected lacks lacked zero few hardly barely solely exclusively just except least unless either almost
    nearly""".split()
)


def sentence(text: str) -> str:
    """`text` with one full stop at its end, or its own `?` or `!`. A leading article is capitalised; a leading name may
    stay in lower case (`iPhone`)."""
    text = " ".join(text.split()).rstrip(" ,;.")
    text = capitalised(text) if _ARTICLE.match(text) else text
    return text if text.endswith(("?", "!", '?"', '!"')) else f"{text}."


def body(claim: str) -> str:
    """A claim without its final stop, so that text can be appended; `Jr.` and `U.S.` keep theirs."""
    text = claim.rstrip(" .")
    return f"{text}." if at_end(_ABBREVIATED, text) else text


def at_end(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The match of a pattern that ends with `$`; it has at most `LONGEST_END` characters. A search from the start would
    go to the end again from each place where the pattern may begin."""
    return pattern.search(text, max(0, len(text) - LONGEST_END))


def readable(text: str) -> str:
    """Detokenises text: `( born 1 May 1950 ) , the band 's` -> `(born 1 May 1950), the band's`."""
    lines = []
    for line in text.split("\n"):
        end = max(line.rfind("''"), line.rfind('"')) + 2  # no quote ends after it
        lines.append(_QUOTED.sub(r'"\1"', line[:end]) + line[end:])
    text = "\n".join(lines)
    text = _AFTER_BLANK.sub("", _BEFORE_BLANK.sub("", text)).replace(" -- ", " – ")
    return " ".join(text.split())


def without_parentheses(text: str) -> str:
    """`text` without its parentheses, including those nested less than `DEEPEST`."""
    for _ in range(DEEPEST):
        before, text = text, _PARENTHESES.sub("", text)
        if before == text:
            break
    return " ".join(text.split()).replace(" ,", ",")


def is_negated(text: str) -> bool:
    """Whether a word reverses monotonicity (`not`, `only`), so that a weaker phrase does not make a weaker claim."""
    words = re.findall(r"[a-z']+", text.casefold())
    return any(word in NEGATIONS or word.endswith("n't") for word in words)
