"""The examples in the docstrings of everything that `lisax` exports."""

import doctest
import importlib

import pytest

import lisax
from lisax import documents
from lisax.text import sentences

NAMES = sorted({*lisax.__all__} - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, bundles, tmp_path, monkeypatch):
    """An example uses only names of `lisax` and those that it defines; of trained models it opens the folders of a run."""
    public = getattr(lisax, name)
    module = importlib.import_module(public.__module__)
    (tmp_path / "OUT/models").mkdir(parents=True)
    for folder, kind in {"reader_text": "reader", "verbalize_t_f_id_t": "verbalizer"}.items():
        (tmp_path / "OUT/models" / folder).symlink_to(bundles[kind])
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    tests = doctest.DocTestFinder(recurse=False).find(public, name, module, {one: getattr(lisax, one) for one in NAMES})
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        runner.run(test)
    assert not runner.summarize(verbose=False).failed


@pytest.mark.parametrize("module", [documents, sentences])
def test_examples_of_modules_run(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
