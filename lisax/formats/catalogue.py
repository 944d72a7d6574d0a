"""Every text format, by its name in tasks, files and `model.json`: to add one is to add it here."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping

from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.format import Format
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS
from lisax.formats.pointing import POINT_DOCUMENTS, POINT_SENTENCES
from lisax.formats.presets import Preset
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.formats.reading import POINT, READ, RETRIEVE
from lisax.formats.tables import TABLE_FUSION, TABLES
from lisax.formats.verbalizing import VERBALIZE

FORMATS: Mapping[str, Format] = {
    entry.name: entry
    for entry in (
        RANK,
        RANK_ENTITIES,
        LABEL_POINTWISE,
        LABEL_LISTWISE,
        CLAIM_ONLY,
        TABLES,
        TABLE_FUSION,
        TABLE_PARTS,
        TABLE_OPERATION,
        VERBALIZE,
        POINT_DOCUMENTS,
        POINT_SENTENCES,
        RETRIEVE,
        READ,
        POINT,
    )
}


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise LisaxError(f"there is no format '{name}'; there are {', '.join(FORMATS)}")
    return FORMATS[name]


# A listwise input has any number of sentences: two show how they follow each other.
_SENTENCES = {CLAIM_ONLY: 0, LABEL_LISTWISE: 2}


def template(text_format: Format, preset: Preset, *, pairs: bool) -> list[str] | None:
    """The wording of an input for programs that do not use LisaX: its text or, with `pairs`, its two texts, with the
    placeholders {claim}, {title1}, {sentence1} and {entity1}. A sentence without a title has no separator either. The
    wording leaves out the facts that labellers of pairs read (`number_facts`). None for formats of tables, whose wording
    depends on the cells."""
    if text_format.example is not Example:
        return None
    sentences = (
        Passage(f"{n}", f"{{title{n}}}", f"{{sentence{n}}}") for n in range(1, _SENTENCES.get(text_format, 1) + 1)
    )
    example = Example("", "{claim}", tuple(sentences), ("{entity1}",))
    if pairs:
        return list(text_format.pair(example, preset=preset))
    return [text_format.encode(example, preset=preset, count_tokens=len).inputs]


# Pickled by name, so that a copy in another process is the entry there.
copyreg.pickle(Format, lambda entry: (format_named, (entry.name,)))
