"""`tokenizer.json` of a SentencePiece model that merges (BPE), as `formats.vocabulary.train_vocabulary` makes.

transformers reads every `spiece.model` next to a T5 as a unigram model, which gives other ids. Models that are unigram
need no further file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.files.writing import write_json
from lisax.weights.interop.kinds import TOKENIZER_NAME

CONFIG = "tokenizer_config.json"


def write_tokenizer(folder: Path, model: Path, extra_ids: int) -> None:
    """Writes `tokenizer.json` and its configuration to `folder`, which give the ids of the SentencePiece `model` with
    `extra_ids` sentinels after its pieces; nothing for a model that does not merge."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model.read_bytes())
    if proto.trainer_spec.model_type != proto.trainer_spec.BPE:
        return
    _tokenizer(proto, extra_ids).save(str(folder / TOKENIZER_NAME))
    spec, pieces = proto.trainer_spec, proto.pieces
    write_json(
        folder / CONFIG,
        {
            # As the file has it: the class of T5 would build a unigram model of its pieces.
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": pieces[spec.pad_id].piece,
            "eos_token": pieces[spec.eos_id].piece,
            "unk_token": pieces[spec.unk_id].piece,
        },
    )


def _tokenizer(proto: Any, extra_ids: int) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from tokenizers import decoders as decoding

    spec, pieces = proto.trainer_spec, proto.pieces
    pad, eos, unknown = (pieces[i].piece for i in (spec.pad_id, spec.eos_id, spec.unk_id))
    scores = {one.piece: one.score for one in pieces if one.type == one.NORMAL}
    tokenizer = Tokenizer(
        models.BPE(
            {one.piece: i for i, one in enumerate(pieces)},
            list(_merges(scores)),
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=spec.byte_fallback,
        )
    )
    charsmap = proto.normalizer_spec.precompiled_charsmap
    tokenizer.normalizer = normalizers.Sequence(
        [
            *([normalizers.Precompiled(charsmap)] if charsmap else []),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    blanks: dict[str, Any] = {"prepend_scheme": "always"}
    # Pieces that the trainer was given, such as punctuation, are never merged with their neighbours.
    alone = "|".join(re.escape(one.piece) for one in pieces if one.type == one.USER_DEFINED)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(**blanks),
            *([pre_tokenizers.Split(Regex(alone), "isolated")] if alone else []),
        ]
    )
    tokenizer.decoder = decoding.Sequence([decoding.ByteFallback(), decoding.Metaspace(**blanks)])
    tokenizer.post_processor = processors.TemplateProcessing(f"$A {eos}", f"$A {eos} $B {eos}", [(eos, spec.eos_id)])
    sentinels = (f"<extra_id_{i}>" for i in reversed(range(extra_ids)))
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False) for name in (pad, eos, unknown, *sentinels)]
    )
    return tokenizer


def _merges(scores: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """The pairs of pieces that make a piece, first merges first."""
    for piece in sorted(scores, key=scores.get, reverse=True):
        for i in range(1, len(piece)):
            if piece[:i] in scores and piece[i:] in scores:
                yield piece[:i], piece[i:]
