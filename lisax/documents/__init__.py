"""Files of every type as documents: blocks of text and tables, each with its place."""
