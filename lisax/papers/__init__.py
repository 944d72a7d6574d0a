"""One file a paper: reading the file is reading the paper."""
