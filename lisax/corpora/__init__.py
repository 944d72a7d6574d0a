"""Readers of the owners' layouts; `open_folder` recognises a folder and gives its claims and documents."""

from lisax.corpora.layout import Dataset, open_folder

__all__ = ["Dataset", "open_folder"]
