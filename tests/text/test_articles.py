"""The article before a phrase, and the capital at its start."""

import pytest

from lisax.text.articles import article, capitalised
from tests.tables import table


@pytest.mark.parametrize(*table(__file__, "articles"))
def test_articles(phrase, expected):
    assert article(phrase) == expected


def test_capitals():
    assert [capitalised(text) for text in ("a town", "Tarn", "éclair", "")] == ["A town", "Tarn", "Éclair", ""]
