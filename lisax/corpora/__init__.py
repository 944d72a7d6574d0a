"""Readers of the owners' layouts; `open_folder` recognises a folder, `read_claims` a single file of claims."""

from lisax.corpora.layout import Dataset, open_folder, read_claims

__all__ = ["Dataset", "open_folder", "read_claims"]
