"""What LisaX ships: small adapters of all-MiniLM-L6-v2 that are used where no model is named, each with its model card.

`TEXT` labels claims from sentences, `TABLES` from tables; `PARTS` finds the rows and columns of tables that answer
questions. Sentences are ranked by BM25 and the vectors of the same encoder (`ENCODER`), which is fetched once, see `lisax
models get`.
"""

from __future__ import annotations

from pathlib import Path

ENCODER = "minilm"
TEXT, TABLES, PARTS = (Path(__file__).parent / name for name in ("text", "tables", "parts"))
