"""Claims to documents, on CPU: BM25, title search, their merge, entities; an index is a memory-mapped folder."""
