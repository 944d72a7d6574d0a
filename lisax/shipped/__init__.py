"""The checker that LisaX ships: what checks claims where no model is named.

Evidence is ranked by BM25 and the vectors of all-MiniLM-L6-v2 (`RANKER`), and labelled by a small adapter of the same
encoder (`labeller`), whose model card stands beside it. The encoder itself is fetched once, see `lisax models get`.
"""

from __future__ import annotations

from pathlib import Path

RANKER = "minilm"


def labeller() -> Path:
    """The bundle of the labeller over text: an adapter of MiniLM, trained on FEVER's claims."""
    return Path(__file__).parent / "text"
