"""A generated, closed, fictional encyclopedia: pages, tables, graphs, claims and questions from one seed."""

from lisax.world.write import iterate_documents, write

__all__ = ["iterate_documents", "write"]
