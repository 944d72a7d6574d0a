"""Checks claims against a folder of pages with the checker that ships.

    python examples/check_folder.py

`examples/pages` holds three short pages, as text and as Markdown; any folder of .txt, .md and .html files takes its
place. The checker's encoder, MiniLM, is fetched the first time (91 MB).
"""

from __future__ import annotations

from pathlib import Path

from lisax import Checker, Index

PAGES = Path(__file__).parent / "pages"
CLAIMS = [
    "The Tarn Bridge was opened in 1884.",
    "The Tarn Bridge is 90 metres long.",
    "The River Orm reaches the sea at Ostra.",
    "Mara Velin had two children.",
]

checker = Checker(Index.build(PAGES))
for verdict in checker.check_many(CLAIMS):
    print(f"{verdict.label} {verdict.probabilities[verdict.label]:.2f}  {verdict.claim}")
    print(f"    {verdict.evidence[0].where}: {verdict.evidence[0].text}")
