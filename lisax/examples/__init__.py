"""Five small pages about people and places that do not exist, for first tries and for the examples in docstrings."""

from __future__ import annotations

from pathlib import Path


def example_pages() -> Path:
    """The folder of the five pages.

    >>> from lisax import example_pages
    >>> sorted(path.stem for path in example_pages().iterdir())
    ['Mara_Velin', 'Olin_Doker', 'River_Orm', 'Tarn', 'The_Glass_Harbour']
    """
    return Path(__file__).parent / "pages"
