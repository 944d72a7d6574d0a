"""The page over a small world with models that draw their scores from the tokens: no training, no waiting."""

import contextlib
import re
import socket
import threading
import zlib
from pathlib import Path

import numpy as np
from fastapi.testclient import TestClient
from markup import Page as Markup
from small_models import pages, questions
from small_models import tables as small_tables

from lisax.formats import presets
from lisax.formats.format import Format
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.tables import TABLES
from lisax.formats.vocabulary import train_vocabulary
from lisax.predict.model import Model
from lisax.retrieval import documents, table_text, tables
from lisax.serve.answering import Engine
from lisax.serve.app import Page, create
from lisax.serve.connections import server
from lisax.serve.guard import Rules
from lisax.serve.in_use import InUse
from lisax.serve.library import Library
from lisax.serve.limits import Limits
from lisax.serve.models import LABELLER, PARTS, TABLE_VERIFIER, Models
from lisax.serve.store import Store, StoredAnswer
from lisax.serve.training import Training
from lisax.weights.model_card import ModelCard


def shown(response) -> Markup:
    """The page of a response: in order, without scripts or styles of its own, nothing from outside."""
    found = Markup(response.text)
    assert found.balanced and response.headers["content-type"] == "text/html; charset=utf-8"
    for _, attributes in found.elements:
        assert "style" not in attributes and not any(name.startswith("on") for name in attributes)
        assert attributes.get("src", "/").startswith("/") and attributes.get("action", "/").startswith("/")
    labels = {attributes.get("for") for tag, attributes in found.elements if tag == "label"}
    for tag, attributes in found.elements:
        if tag in ("textarea", "select", "input") and attributes.get("type") in (None, "file") and "id" in attributes:
            assert attributes["id"] in labels
    return found


def words(found: Markup) -> str:
    return " ".join("".join(found.text).split())


SUMS = ("sums.csv", b"year,sum\n1990,12\n")  # a file to upload


class Hashing:
    """Stands in for `LabelScorer`."""

    def __init__(self, pieces, max_tokens):
        self.pieces = pieces

    def logits(self, tokens):
        draws = [zlib.crc32(np.asarray(ids, np.int32).tobytes()) for ids in tokens]
        return np.array(
            [[8 * (draw >> 8 * i & 255) / 255 - 4 for i in range(len(self.pieces))] for draw in draws], np.float32
        ).reshape(-1, len(self.pieces))


def build_index(folder: Path) -> Path:
    """Pages, tables and cells of the small world in one index."""
    table_text.build_index(small_tables(), folder)
    tables.build_index(small_tables(), folder, tables.Strategy.ENTITY_CHAR_23)
    documents.build_index(pages(small_tables()), folder)
    return folder


def models(folder: Path, **formats: Format) -> Models:
    """By role; those that answer questions, label and verify over tables where no formats are given."""
    texts = [question for question, _, _ in questions(small_tables())]
    vocabulary = train_vocabulary(texts, folder / "spiece.model", 300)

    def model(text_format: Format) -> Model:
        card = text_format.card(presets.PAPER, 64, 1) | {"architecture": {"vocab_size": vocabulary.size}}
        return Model.of_words(Hashing, vocabulary, ModelCard(folder, card))

    formats = formats or {PARTS: TABLE_PARTS, LABELLER: LABEL_POINTWISE, TABLE_VERIFIER: TABLES}
    return Models({role: model(text_format) for role, text_format in formats.items()})


def open_page(
    folder: Path, index: Path, made: Models, limits: Limits = Limits(), keep: float | None = None, **rules
) -> Page:
    return Page(
        Engine(made),
        Library([index], folder / "corpora", limits, keep),
        Store(folder),
        Training(folder / "training"),
        InUse(folder, dict.fromkeys(made, Path("/models/old"))),
        Rules(b"secret", limits=limits, **rules),
    )


def caller(page: Page, **options) -> TestClient:
    """A client of the API, by the name of this machine."""
    return TestClient(create(page), base_url="http://localhost", **options)


@contextlib.contextmanager
def served(app, limits: Limits, proxies=()):
    """The port of a server in a thread."""
    with socket.create_server(("0.0.0.0", 0)) as listener:
        running = server(app, limits, proxies=proxies)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join(20)


def last_answers(store: Store, count: int) -> list[StoredAnswer]:
    """The newest answers, newest first."""
    rows = store._read("SELECT id FROM answers ORDER BY created DESC LIMIT ?", (count,))
    return [store.answer(row["id"]) for row in rows]


class Browser(TestClient):
    """A client that fills in forms as a browser does: with the hidden key of the page it has open."""

    def __init__(self, page: Page, host: str = "127.0.0.1:8000", **fields):
        super().__init__(create(page), base_url=f"http://{host}", raise_server_exceptions=False, **fields)

    def key(self) -> str:
        return re.search(r'name="form_key" value="([0-9a-f]+)"', self.get("/corpora").text)[1]

    def fill(self, address: str, files=None, **fields):
        return self.post(address, data={"form_key": self.key(), **fields}, files=files)

    def load(self, name: str, *files: tuple[str, bytes], **fields):
        """Uploads files, each (name, content)."""
        return self.fill("/corpora", name=name, files=[("files", file) for file in files], **fields)

    def ask(self, text: str, kind: str = "question", corpus: str = "index"):
        return self.fill("/ask", text=text, kind=kind, corpus=corpus)
