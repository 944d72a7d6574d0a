"""Generates a closed, fictional encyclopedia: pages, tables, graphs, claims and questions from one seed."""

from lisax.world.writing import iterate_documents, write

__all__ = ["iterate_documents", "write"]
