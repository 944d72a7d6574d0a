"""Every text format, by its name in tasks, files and `model.json`: to add one is to add it here."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping

from lisax.errors import LisaxError
from lisax.formats.format import Format
from lisax.formats.labelling import CLAIM_ONLY, LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.parts import TABLE_OPERATION, TABLE_PARTS
from lisax.formats.pointing import POINT_DOCUMENTS, POINT_SENTENCES
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


# Pickled by name, so that a copy in another process is the entry there.
copyreg.pickle(Format, lambda entry: (format_named, (entry.name,)))
