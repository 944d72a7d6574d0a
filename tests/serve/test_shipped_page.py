"""The page without a model named: the checker that ships."""

from __future__ import annotations

import pytest
from small_page import Browser, open_page

from lisax import Index
from lisax.runtime.pretrained import MODELS
from lisax.serve import training
from lisax.serve.answering import LABELLER, RANKER, Models

PAGES = [{"title": "Mara Velin", "text": "Mara Velin is a painter. She was born in Tarn in 1951."}]


@pytest.mark.skipif(not MODELS["minilm"].is_there, reason="needs MiniLM's weights: lisax models get minilm")
def test_it_checks_claims_with_the_shipped_models(tmp_path):
    index = tmp_path / "index"
    Index.build(PAGES, index)
    models = Models.open(())
    assert RANKER in models and LABELLER in models
    assert not any(training.is_trainable(models[role]) for role in (RANKER, LABELLER))
    browser = Browser(open_page(tmp_path, index, models))
    answer = browser.ask("Mara Velin was born in Tarn.", "claim").text
    assert "Supports" in answer and "She was born in Tarn in 1951." in answer
    assert browser.fill("/training", role=LABELLER, steps=1).status_code == 400
