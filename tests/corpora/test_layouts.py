"""Each layout overrides the readers of its kind, so that a misspelled method is an error and not an empty corpus."""

import pytest

from lisax.corpora import layout
from lisax.corpora.dataset import Dataset, StructureDataset, TableDataset

KINDS = (Dataset, TableDataset, StructureDataset)
CLASSES = [made for kind in KINDS for made in kind.__subclasses__() if made.__module__.startswith("lisax.corpora.")]
CLASSES = [made for made in CLASSES if made not in KINDS]


def test_the_layouts_are_all_here():
    assert {made for _, made in layout.LAYOUTS} <= {*CLASSES}


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_a_layout_overrides_what_its_kind_has(made):
    wanted = {Dataset: {"_claims", "_documents"}, TableDataset: {"_tables"}, StructureDataset: set()}[made.__base__]
    own = {name for name in vars(made) if callable(getattr(made, name)) and name.startswith("_")}
    assert wanted <= own
    assert own & {"_claims", "_questions", "_data_texts", "_documents", "_tables", "_graphs"}


def test_claims_and_questions_without_a_reader_are_an_error(tmp_path):
    class Misspelled(Dataset):
        table_claim_splits = ("dev",)

        def _claim(self, split, watch):
            return ()

    data = Misspelled(tmp_path, {"dev": tmp_path}, {"dev": tmp_path})
    for read in (data.claims, data.table_claims, data.questions):
        with pytest.raises(NotImplementedError):
            list(read("dev"))
