"""Mutations of the files of sound bundles, as bad intentions or a bad disk make them."""

from __future__ import annotations

import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

from lisax.files.writing import write_json
from lisax.formats import examples as formats
from lisax.formats import presets
from lisax.formats.examples import Example
from lisax.formats.pointing import POINT_SENTENCES, PointerExample
from lisax.formats.ranking import RANK
from lisax.formats.reading import POINT, READ, RETRIEVE
from lisax.formats.tables import TABLE_FUSION, TableExample, view
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import VERBALIZE, verbalizing_card
from lisax.formats.vocabulary import train_vocabulary
from lisax.models import architectures
from lisax.models.architectures import (
    DualEncoderConfig,
    FusionConfig,
    PointerConfig,
    ReaderConfig,
    SpanReaderConfig,
    T5Config,
    describe,
)
from lisax.models.t5 import initialize
from lisax.predict.model import Model
from lisax.predict.opening import find_model, open_model
from lisax.records import Table
from lisax.retrieval.passages import Passage
from lisax.weights.checkpoints import MODEL_JSON, flatten
from lisax.weights.interop.kinds import SAFETENSORS, VOCABULARY_NAME
from lisax.weights.interop.safetensors_files import write_arrays

T5 = T5Config(vocab_size=256, emb_dim=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=4, mlp_dim=8)
TEXTS = ["Mara Velin wrote three books in Tarn, true or false, weak.", "question: title: context: relevant: a town"]
MODELS: dict[str, tuple[architectures.Model, dict[str, Any]]] = {
    "ranker": (T5, RANK.card(presets.PAPER, 64)),
    "fusion": (FusionConfig(T5), TABLE_FUSION.card(presets.PAPER, 64, 2)),
    "pointer": (PointerConfig(T5, steps=2, hidden=4, hops=1, beam_size=2), POINT_SENTENCES.card(presets.PAPER, 64, 2)),
    "verbalizer": (T5, verbalizing_card("paper", 64, 8, 256)),
    "retriever": (DualEncoderConfig(T5), {"text": {"family": "retrieve", "max_tokens": 64, "question_tokens": 32}}),
    "reader": (ReaderConfig(T5, 2), {"text": {"family": "read", "max_tokens": 64, "passages": 2, "answer_tokens": 4}}),
    "span reader": (SpanReaderConfig(T5, 2), {"text": {"family": "point", "max_tokens": 64, "passages": 2}}),
}
TABLE = Table("t", "Books", ("writer", "books"), (("Mara Velin", "three"),))
SENTENCE = formats.Passage("p_0", "Tarn", "Tarn is a town.")
PASSAGE = Passage("text:p:0", "Tarn", "Tarn is a town.", ("p_0",), (0,))
ODD_VALUES = (
    *(None, True, -1, 0, 1, 2.5, 3, 10**6, 10**12, -(10**300), 1e300, float("nan"), float("inf")),
    *("", "x", "\0", "gelu", "float64", "Module", "é" * 2000),
    *([], {}, [[]], ["gelu"] * 100_000, {"a": {}}, [None], "../../etc/passwd"),
)


def build(folder: Path) -> dict[str, Path]:
    """A sound bundle of each kind, by name."""
    vocabulary, built = train_vocabulary(TEXTS, folder / VOCABULARY_NAME, 150), {}
    for name, (model, card) in MODELS.items():
        built[name] = folder / name
        built[name].mkdir()
        arrays = flatten(initialize(model))
        write_arrays(
            built[name], {name: array.shape for name, array in arrays.items()}, arrays.items(), shard_bytes=None
        )
        write_json(built[name] / MODEL_JSON, {"architecture": describe(model), "step": 0, **card})
        shutil.copyfile(vocabulary.path, built[name] / VOCABULARY_NAME)
    return built


def load(folder: Path) -> Any:
    """As whoever the bundle is for opens it."""
    model = find_model(folder)
    found = model.format
    if found is RETRIEVE:
        from lisax.predict.retriever import Retriever

        return Retriever(model)
    if found is VERBALIZE:
        from lisax.predict.verbalizer import Verbalizer

        return Verbalizer.open(model)
    if found in (READ, POINT):
        from lisax.predict.reader import Reader

        return Reader(model)
    return open_model(model)


def use(model: Any) -> None:
    """One answer."""
    if isinstance(model, Model):
        examples = {
            POINT_SENTENCES: PointerExample("c", "Mara wrote.", (SENTENCE,)),
            TABLE_FUSION: TableExample("c", "Mara wrote.", (view(TABLE, (0, 1)),)),
        }
        model.probabilities([examples.get(model.format, Example("c", "Who wrote?", (SENTENCE,)))])
    elif hasattr(model, "read"):
        model.read([("Who wrote?", [PASSAGE])])
    elif hasattr(model, "verbalize"):
        model.verbalize([Triples("t", "Tarn", (("kind", "town"),))])
    elif hasattr(model, "questions"):
        model.questions(["Who wrote?"])


def mutate(folder: Path, draw: random.Random) -> str:
    """Changes one or two files of a bundle; says how."""
    return " and ".join(_mutate_one(folder, draw) for _ in range(draw.choice((1, 1, 2))))


def _mutate_one(folder: Path, draw: random.Random) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    path = draw.choice([*files, folder / MODEL_JSON, folder / SAFETENSORS])
    content = path.read_bytes() if path.is_file() else b""
    if not content or draw.random() < 0.1:
        path.unlink(missing_ok=True)
        return f"no {path.name}"
    header = path.suffix == ".safetensors"
    if (path.suffix == ".json" or header) and draw.random() < 0.8:
        text = content[8 : 8 + struct.unpack("<Q", content[:8])[0]] if header else content
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):  # of a mutation before
            value = {}
        said, value = _changed(value, draw)
        made = json.dumps(value).encode()
        if draw.random() < 0.05:
            said, made = "nested", b"[" * 100_000 + b"]" * 100_000
        path.write_bytes(struct.pack("<Q", len(made)) + made + content[8 + len(text) :] if header else made)
        return f"{path.name}: {said}"
    damaged = bytearray(content)
    kind = draw.choice(("cut", "garbage", "bytes", "run", "longer", "numbers"))
    if kind == "cut":
        del damaged[draw.randrange(len(damaged)) :]
    elif kind == "garbage":
        damaged = bytearray(draw.randbytes(draw.choice((1, 8, 100, 10_000))))
    elif kind == "longer":
        damaged += draw.randbytes(100)
    elif kind == "numbers" and header:
        start, number = len(damaged) // 2 & ~3, draw.choice((float("nan"), float("inf"), -float("inf"), 1e38))
        damaged[start:] = struct.pack("<f", number) * ((len(damaged) - start) // 4)
    else:
        for _ in range(draw.choice((1, 3, 30))):
            at = draw.randrange(len(damaged))
            damaged[at : at + (1 if kind == "bytes" else 8)] = draw.randbytes(1 if kind == "bytes" else 8)
    path.write_bytes(bytes(damaged))
    return f"{path.name}: {kind}"


def _changed(value: Any, draw: random.Random) -> tuple[str, Any]:
    """A JSON value with one place in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        name = draw.choice(sorted(value))
        how = draw.choice(("deeper", "deeper", "deeper", "gone", "renamed"))
        rest = {key: inner for key, inner in value.items() if key != name}
        if how == "gone":
            return f"no {name}", rest
        if how == "renamed":
            new = draw.choice(("kind", "backbone", "x", f"{name}/x", "a\nb", ""))
            return f"{name} is {new!r}", rest | {new: value[name]}
        said, inner = _changed(value[name], draw)
        return f"{name}.{said}", value | {name: inner}
    if isinstance(value, list) and value and draw.random() < 0.7:
        place = draw.randrange(len(value))
        said, inner = _changed(value[place], draw)
        return f"{place}.{said}", [*value[:place], inner, *value[place + 1 :]]
    odd = draw.choice(ODD_VALUES)
    return f"= {str(odd)[:30]}", odd
