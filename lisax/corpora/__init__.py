"""Reads datasets in their owners' layouts: `open_folder` recognises a folder, `read_claims` and `read_questions` a
single file."""

from lisax.corpora.layout import Dataset, open_folder, read_claims, read_question_split, read_questions

__all__ = ["Dataset", "open_folder", "read_claims", "read_question_split", "read_questions"]
