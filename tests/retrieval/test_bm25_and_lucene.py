"""Terms, scores and ranks beside the real Lucene's; `python -m benchmarks.lucene` compares more, and times both."""

import shutil
from pathlib import Path

import pytest

from benchmarks.lucene import K, Lucene, Ours, compare_ranks, compare_terms, jar_path
from lisax.corpora import open_folder
from lisax.retrieval.documents import indexed_text
from lisax.retrieval.terms import stems

JAR = jar_path()  # where it is before a test has a cache of its own
FEVER = Path(__file__).parents[3] / "shared/data/fever"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK"),
    pytest.mark.skipif(not JAR.is_file(), reason="no jar of Lucene: `python -m benchmarks.lucene` fetches it"),
    pytest.mark.skipif(not FEVER.is_dir(), reason="no ../shared/data/fever"),
]


def test_the_analyzer_and_its_scores_are_lucenes(tmp_path):
    data = open_folder(FEVER)
    texts = [indexed_text(page) for page in data.documents()]
    claims = [claim.text for claim in data.claims("dev")]
    with Lucene(JAR) as peer:
        expected = peer.terms(texts + claims)
        assert stems(texts + claims, "lucene") == expected
        shared, same = compare_terms(expected, stems(texts + claims))
        assert 0.9 < shared < 1 and same < 1  # which a comparison with ours would show
        for k1, b in ((0.6, 0.5), (0.9, 0.4)):
            peer.index(tmp_path / f"lucene-{k1}", texts, k1, b)
            theirs, _ = peer.search(claims, K)
            ours, _ = Ours(tmp_path / f"ours-{k1}", texts, k1, b, "lucene").search(claims, K)
            figures = compare_ranks(theirs, ours)
            assert figures["same first"] == figures["shared of 10"] == 1 and figures["largest"] < 1e-6
            assert figures["same first 10 in order"] > 0.999  # sums of another order may swap what is almost equal
