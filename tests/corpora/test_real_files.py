"""Every dataset beside the project, whole: each line is read, and the evidence is in the corpus."""

from pathlib import Path

import pytest

from lisax.corpora import open_folder, read_claims, tabfact
from lisax.corpora.check import check

REAL = Path(__file__).parents[3] / "shared/data"
COUNTS = {
    "fever": {"claims in train": 5124, "claims in dev": 1292, "pages": 982, "sentences with text": 2534},
    "fm2": {"claims in dev": 1169, "pages": 209},
    "wice": {"claims in dev": 349, "pages": 349},
    "tabfact": {"claims in train": 29_303, "claims in dev": 12_792, "tables": 16_573},
    "infotabs": {"claims in train": 16_538, "claims in dev": 1_800, "tables": 2_719},
    "wtq": {"questions in dev": 3512 - 166, "questions in e2e_train": 851, "questions in e2e_dev": 124, "tables": 2108},
    "dart": {"records in dev": 2768, "texts in dev": 6815},
    "webnlg": {"records in train": 6940, "texts in train": 18102, "records in dev": 872, "texts in dev": 2268},
    "questions": {"questions in nq_dev": 3610, "questions in webquestions_train": 2834},
}
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="needs ../shared/data")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "wtq")) for name in COUNTS])
def test_they_are_sound(name):
    summary = check(REAL / name)
    assert summary.sound and summary.counts.items() >= COUNTS[name].items()
    if name == "wtq":
        assert summary.counts["questions in e2e_dev answered by cells"] >= 121
        assert summary.counts["questions in e2e_train answered by cells"] >= 838


@pytest.mark.parametrize("name", ["fever", "fm2", "wice"])
def test_a_file_alone_reads_as_in_its_folder(name):
    assert list(read_claims(REAL / name / "dev.jsonl")) == list(open_folder(REAL / name).claims("dev"))


def test_tabfacts_wordings_have_the_same_claims():
    lemmatised, written = (
        {claim.id: claim.label for claim in tabfact.TabFact(REAL / "tabfact", wording).claims("dev")}
        for wording in tabfact.WORDINGS
    )
    assert lemmatised == written
