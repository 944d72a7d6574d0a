"""Retrieves documents for claims on CPU: BM25, title search, their merge, entities. An index is a memory-mapped
folder."""
