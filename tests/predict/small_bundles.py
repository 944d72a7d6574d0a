"""Bundles of every kind of model with parameters as they begin, in no time: what they say is arbitrary, not how it is used."""

from pathlib import Path
from typing import Any

import small_tokenizers

from lisax.examples import example_pages
from lisax.files.writing import write_json
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.presets import PAPER
from lisax.formats.ranking import RANK_ENTITIES
from lisax.formats.verbalizing import marker_ids
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import (
    EncoderConfig,
    FusionConfig,
    PairConfig,
    PointerConfig,
    SpanReaderConfig,
    T5Config,
    describe,
)
from lisax.models.t5 import initialize
from lisax.records import Table
from lisax.weights.checkpoints import MODEL_JSON, flatten
from lisax.weights.interop.kinds import TOKENIZER_NAME, VOCABULARY_NAME
from lisax.weights.interop.safetensors_files import write_arrays

T5 = T5Config(
    vocab_size=512, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=16
)
ENCODER = EncoderConfig(
    vocab_size=256, emb_dim=16, num_heads=2, num_encoder_layers=1, mlp_dim=16, max_positions=128, separator_id=3
)
RELATIVE = EncoderConfig(  # as MPNet's: its padding is 1
    vocab_size=400,
    emb_dim=16,
    num_heads=2,
    num_encoder_layers=1,
    mlp_dim=16,
    max_positions=128,
    position_offset=2,
    relative_bias=True,
    token_types=0,
    padding_id=1,
)
POINTER = PointerConfig(T5, steps=2, hidden=8, hops=1, beam_size=2)
MAX_TOKENS = 96
TOWNS = Table(
    "towns", "Towns on the Orm", ("town", "mayor", "people"), (("Torimoor", "Minell", "18,400"), ("Ostra", "Rask", "9"))
)
TABLES = [TOWNS, Table("songs", "Albums", ("album", "year"), (("The Glass Harbour", "1958"), ("The Red Mill", "1961")))]


def _words(family: str, words: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {"family": family, "preset": "paper", "max_tokens": MAX_TOKENS, "words": list(words)} | more


MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ranker": (T5, _words("rank", PAPER.ranking_words)),
    "entity ranker": (T5, _words("rank_entities", PAPER.ranking_words)),
    "pointwise": (T5, _words("label_pointwise", PAPER.label_words)),
    "listwise": (T5, _words("label_listwise", PAPER.label_words)),
    "text to text": (T5, _words("tables", PAPER.label_words, tables=2)),
    "parts": (T5, _words("table_parts", PAPER.ranking_words)),
    "fusion": (FusionConfig(T5), {"family": "table_fusion", "preset": "paper", "max_tokens": MAX_TOKENS, "tables": 2}),
    "pointer": (POINTER, {"family": "point_sentences", "preset": "paper", "max_tokens": MAX_TOKENS, "candidates": 8}),
    "page pointer": (
        PointerConfig(T5, relation="none", steps=2, hidden=8, hops=1, beam_size=2),
        {"family": "point_documents", "preset": "paper", "max_tokens": MAX_TOKENS, "candidates": 4},
    ),
    "verbalizer": (
        T5,
        {
            "family": "verbalize",
            "preset": "paper",
            "max_tokens": MAX_TOKENS,
            "target_tokens": 16,
            "markers": marker_ids(T5.vocab_size),
        },
    ),
    "pair ranker": (PairConfig(ENCODER, 2), RANK_ENTITIES.pair_card(PAPER, MAX_TOKENS)["text"]),
    "pair pointwise": (PairConfig(ENCODER), LABEL_POINTWISE.pair_card(PAPER, MAX_TOKENS)["text"]),
    "pair listwise": (PairConfig(ENCODER), LABEL_LISTWISE.pair_card(PAPER, MAX_TOKENS)["text"]),
    "pair relative": (PairConfig(RELATIVE), LABEL_POINTWISE.pair_card(PAPER, MAX_TOKENS)["text"]),
    "reader": (SpanReaderConfig(T5, 3), {"family": "point", "max_tokens": 128, "passages": 3}),
}


def bundle(folder: Path, kind: str, **more: Any) -> Path:
    """A bundle of `MODELS`; `more` goes into its `model.json`."""
    model, text = MODELS[kind]
    folder.mkdir(parents=True)
    texts = [path.read_text() for path in sorted(example_pages().iterdir())]
    texts += [" | ".join((*table.header, *(cell for row in table.rows for cell in row))) for table in TABLES]
    texts += [
        "query: document: entity: relevant: true false weak question: title: context: row: column: table: caption"
    ]
    if isinstance(model, PairConfig):
        made = small_tokenizers.bpe if model.backbone.padding_id else small_tokenizers.wordpiece
        made(folder / TOKENIZER_NAME)
    else:
        train_vocabulary(texts, folder / VOCABULARY_NAME, 300)
    arrays = flatten(initialize(model))
    write_arrays(folder, {name: array.shape for name, array in arrays.items()}, arrays.items(), shard_bytes=None)
    write_json(folder / MODEL_JSON, {"architecture": describe(model), "text": text} | more)
    return folder
