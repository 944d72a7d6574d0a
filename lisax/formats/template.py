"""The wording of a format's inputs with names in the place of their parts, for programs that do not use LisaX."""

from __future__ import annotations

from lisax.formats.examples import Example, Passage
from lisax.formats.format import Format
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE
from lisax.formats.presets import Preset

# A listwise input has any number of sentences: two show how they follow each other.
_SENTENCES = {CLAIM_ONLY: 0, LABEL_LISTWISE: 2}


def template(text_format: Format, preset: Preset, *, pairs: bool) -> list[str] | None:
    """The one text of an input or, with `pairs`, its two, in which {claim}, {title1}, {sentence1} and {entity1} stand
    for these; of a sentence without a title the title and its separator are left out. The facts that labellers of pairs
    read of numbers (`number_facts`) are left out. None for formats of tables, whose wording depends on the cells."""
    if text_format.example is not Example:
        return None
    sentences = (
        Passage(f"{n}", f"{{title{n}}}", f"{{sentence{n}}}") for n in range(1, _SENTENCES.get(text_format, 1) + 1)
    )
    example = Example("", "{claim}", tuple(sentences), ("{entity1}",))
    if pairs:
        return list(text_format.pair(example, preset=preset))
    return [text_format.encode(example, preset=preset, count_tokens=len).inputs]
