"""A small world in an index of passages, and bundles of a reader and a retriever with parameters as they begin.

What they answer is arbitrary; that it is shown as it is, is not."""

from pathlib import Path
from typing import Any

from lisax.files.writing import write_json
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import DualEncoderConfig, SpanReaderConfig, T5Config, describe
from lisax.models.t5 import initialize
from lisax.records import Document, Graph, Sentence, Table
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source
from lisax.weights.checkpoints import MODEL_JSON, flatten
from lisax.weights.interop.kinds import VOCABULARY_NAME
from lisax.weights.interop.safetensors_files import write_arrays

PASSAGES, ROOM = 3, 128
T5 = T5Config(
    vocab_size=384, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=16
)


def build_mixed(folder: Path, title: str = "Tarn", said: str = "It has an inn.") -> Path:
    """Two sentences, two raw rows and two raw edges of one town; `said` is a sentence, a cell and an edge's end too."""
    page = Document("Tarn_1", title, (Sentence("Tarn_1", 0, "Tarn is a town."), Sentence("Tarn_1", 1, said)))
    table = Table("Tarn_1:seasons", title, ("year", "points"), (("1971", "18"), ("1972", said)), "Tarn by year")
    graph = Graph("Tarn_1:graph", title, (("mayor", "Mara Velin"), ("known for", said)))
    sources = {
        Source.TEXT: passages.of_document(page),
        Source.TABLE: passages.of_table(table),
        Source.GRAPH: passages.of_graph(graph),
    }
    mixed.build_index(sources, folder)
    return folder


def reader_bundle(folder: Path) -> Path:
    """A reader that points."""
    return _bundle(
        folder, SpanReaderConfig(T5, PASSAGES), {"family": "point", "max_tokens": ROOM, "passages": PASSAGES}
    )


def retriever_bundle(folder: Path) -> Path:
    return _bundle(
        folder, DualEncoderConfig(T5), {"family": "retrieve", "max_tokens": 2 * ROOM, "question_tokens": ROOM}
    )


def _bundle(folder: Path, model: Any, text: dict[str, Any]) -> Path:
    folder.mkdir()
    texts = [
        "question: title: context:",
        "Tarn is a town. It has an inn.",
        "year, points | 1971, 18 | 1972, 20",
        "mayor, Mara Velin | known for, its inn",
        "What is the name of the mayor of Tarn?",
    ]
    train_vocabulary(texts, folder / VOCABULARY_NAME, 200)
    arrays = flatten(initialize(model))
    write_arrays(folder, {name: array.shape for name, array in arrays.items()}, arrays.items(), shard_bytes=None)
    write_json(folder / MODEL_JSON, {"architecture": describe(model), "text": text})
    return folder
