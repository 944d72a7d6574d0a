"""The examples in the docstrings of everything that `lisax` exports."""

import doctest
import importlib

import pytest

import lisax
from lisax import documents
from lisax.text import sentences

NAMES = sorted({*lisax.__all__} - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, bundles):
    public = getattr(lisax, name)
    module = importlib.import_module(public.__module__)
    models = {"VERIFIER": bundles["pointwise"], "READER": bundles["reader"], "VERBALIZER": bundles["verbalizer"]}
    names = dict(vars(module)) | models
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    tests = doctest.DocTestFinder(recurse=False).find(public, name, module, names)
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        runner.run(test)
    assert not runner.summarize(verbose=False).failed


@pytest.mark.parametrize("module", [documents, sentences])
def test_examples_of_modules_run(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
