"""Builds claims that break fact checkers: the seven kinds of attack of DeSePtion's section 4, with review and
writing."""
