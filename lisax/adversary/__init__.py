"""Claims that break fact checkers: the seven kinds of DeSePtion's section 4, made, reviewed, and written."""
