"""`lisax demo --serve`: a world is indexed once and served, with its claims and questions as examples."""

from __future__ import annotations

import pytest
from small_page import Browser, models, open_page, shown, words

from lisax.cli import main
from lisax.retrieval.folder import read_components
from lisax.serve import demo


def test_a_world_is_indexed_once_and_served_with_examples(tmp_path, monkeypatch):
    served, encoded = [], []
    monkeypatch.setattr(demo, "serve", served.append)
    monkeypatch.setattr("lisax.predict.retriever.open_encoder", lambda name: name)
    monkeypatch.setattr("lisax.predict.retriever.add_vectors", lambda index, encoder: encoded.append((index, encoder)))
    command = ["demo", "--serve", "--pages", "40", "--out", str(tmp_path / "out"), "--port", "0"]
    assert main(command) == 0
    (settings,) = served
    (index,) = settings.indexes
    assert settings.models == () and settings.port == 0 and encoded == [(index, "minilm")]
    assert {"pages", "titles", "table_text", "tables"} <= set(read_components(index))
    assert [kind for kind, *_ in settings.examples] == ["claim"] * 3 + ["question"] * 2
    page = open_page(tmp_path / "state", index, models(tmp_path / "models"))
    page.examples = list(settings.examples)
    assert settings.examples[0][2] in words(shown(Browser(page).get("/")))
    assert {corpus for _, corpus, _ in settings.examples} == {corpus.id for corpus in page.library}
    page.close()
    monkeypatch.setattr(demo, "_index", lambda *_: 1 / 0)
    assert main(command) == 0 and served[1] == settings  # it is there already
    with pytest.raises(
        ZeroDivisionError
    ):  # another world is indexed, and an interruption leaves nothing to be taken for it
        main([*command, "--seed", "1"])
    assert not (tmp_path / "out" / "page" / demo.MADE).exists()
