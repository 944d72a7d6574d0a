"""`lisax demo --serve`: a world is indexed once and served, with its claims and questions as examples."""

import itertools
from types import SimpleNamespace

import pytest
from small_page import Browser, shown, words

from lisax import world
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.predict.reader import Answer
from lisax.records import Label
from lisax.retrieval.folder import read_components
from lisax.serve import demo
from lisax.serve.answering import Engine
from lisax.serve.library import Library
from lisax.serve.models import Models


def without_models(settings, uploads, limits):
    return Engine(Models({})), Library(settings.indexes, uploads, limits)


class Fixed(Engine):
    """Answers what it is given; all else it gets wrong."""

    def __init__(self, known):
        super().__init__(Models({}))
        self.known = known

    def kinds(self, corpus):
        return ("question", "claim", "search")

    def ask(self, corpus, kind, text):
        label = self.known.get(text, "REFUTES")
        return {"verdicts": [{"source": "text", "label": label, "probabilities": {}, "evidence": [], "scores": []}]}

    def answer_many(self, corpus, questions, answers):
        return [[Answer(self.known[text], 1.0)] if text in self.known else [] for text in questions]


def test_examples_are_those_that_the_models_get_right(tmp_path):
    world.write(tmp_path / "world", 40, 0)
    corpus = open_folder(tmp_path / "world")
    claims, questions = list(corpus.claims("dev")), list(itertools.islice(corpus.questions("dev"), demo.TRIED))
    served = SimpleNamespace(id="index")
    supported = [claim.text for claim in claims if claim.label is Label.SUPPORTS][1]
    known = {supported: "SUPPORTS", questions[3].text: questions[3].answers[0].upper() + "!"}
    chosen, tried = demo._choose(corpus, Fixed(known), served)
    refuted = next(claim.text for claim in claims if claim.label is Label.REFUTES)
    asked = [text for kind, _, text in chosen if kind == "question"]
    assert chosen[:2] == [("claim", "index", supported), ("claim", "index", refuted)]
    assert asked == [questions[3].text, questions[0].text]  # the second was wrong, but there is no other
    assert f"1 of {len(questions)} questions that were tried came out right" in tried and "2 of " in tried


def test_a_world_is_indexed_once_and_served_with_examples(tmp_path, opened, monkeypatch):
    served, encoded = [], []
    monkeypatch.setattr(demo, "serve", served.append)
    monkeypatch.setattr("lisax.predict.retriever.open_encoder", lambda name: name)
    monkeypatch.setattr("lisax.predict.retriever.add_vectors", lambda index, encoder: encoded.append((index, encoder)))
    monkeypatch.setattr(demo, "open_models", without_models)
    command = ["demo", "--serve", "--pages", "40", "--out", str(tmp_path / "out"), "--port", "0"]
    assert main(command) == 0
    (settings,) = served
    (index,) = settings.indexes
    assert settings.models == () and settings.port == 0 and encoded == [(index, "minilm")]
    assert {"pages", "titles", "table_text", "tables"} <= set(read_components(index))
    assert [kind for kind, *_ in settings.examples] == ["claim"] * 3 + ["question"] * 2
    page = opened(index)
    page.examples, page.tried = list(settings.examples), "3 of 9 claims that were tried came out right."
    home = words(shown(Browser(page).get("/")))
    assert settings.examples[0][2] in home and page.tried in home
    assert {corpus for _, corpus, _ in settings.examples} == {corpus.id for corpus in page.library}
    monkeypatch.setattr(demo, "_index", lambda *_: 1 / 0)
    assert main(command) == 0 and served[1] == settings  # it is there already
    with pytest.raises(ZeroDivisionError):  # another world is indexed, and an interruption leaves nothing of it
        main([*command, "--seed", "1"])
    assert not (tmp_path / "out" / "page" / demo.MADE).exists()
