"""Files of every type as documents: blocks of text and tables, each with its place.

>>> from lisax import example_pages
>>> from lisax.documents import read
>>> page = sorted(example_pages().iterdir())[0]
>>> read(page).page("tarn").sentences[0].id
'tarn_0'
"""

from lisax.documents.blocks import Block, Document, Kind, Unread
from lisax.documents.bounded import Reader
from lisax.documents.reading import read

VERSION = 7  # of the readers, in the names of cached documents: raise it when a reader changes its output

__all__ = ["VERSION", "Block", "Document", "Kind", "Reader", "Unread", "read"]
