"""The scripts in examples/ print what stands beside them."""

import pytest

from lisax.weights.pretrained import MODELS
from tests.shown import Shown, scripts

ON_MINILM = ("check_folder", "table_question")


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.stem)
def test_an_example_prints_what_stands_beside_it(script, tmp_path):
    if script.stem in ON_MINILM and not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    words = (str(script), "heatmaps.html") if script.stem == "table_question" else (str(script),)
    assert Shown(words, "", 0).run(tmp_path) == script.with_suffix(".txt").read_text(encoding="utf-8")
    if script.stem == "table_question":
        html = (tmp_path / "heatmaps.html").read_text(encoding="utf-8")
        assert html.count("<table") == 3 and "When was Ostra Athletic founded?" in html
