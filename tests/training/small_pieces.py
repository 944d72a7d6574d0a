"""SentencePiece models whose pieces are written here, with the special ids and the sentinels of mT5's and umT5's."""

import string
from pathlib import Path

from sentencepiece import sentencepiece_model_pb2 as proto

WORDS = ("▁yes", "▁no", "▁maybe", "▁never", "▁often", "▁1", "▁", "é", "本")
# mT5's file has its hundred sentinels as its last pieces; umT5's has BOS before UNK, and sentinels are added to it.
SPECIAL = {"mt5": ("<pad>", "</s>", "<unk>"), "umt5": ("<pad>", "</s>", "<s>", "<unk>")}


def write(path: Path, kind: str) -> Path:
    types = proto.ModelProto.SentencePiece.Type
    model, special = proto.ModelProto(), SPECIAL[kind]

    def add(piece: str, score: float, type_: int) -> None:
        model.pieces.add(piece=piece, score=score, type=type_)

    for piece in special:
        add(piece, 0, types.UNKNOWN if piece == "<unk>" else types.CONTROL)
    for i, piece in enumerate([*WORDS, *string.ascii_lowercase, *string.digits]):
        add(piece, -1.0 - i / 100, types.NORMAL)
    for i in reversed(range(100)) if kind == "mt5" else ():
        add(f"▁<extra_id_{i}>", 0, types.USER_DEFINED)
    trainer = model.trainer_spec
    trainer.model_type = proto.TrainerSpec.UNIGRAM
    trainer.vocab_size = len(model.pieces)
    trainer.pad_id, trainer.eos_id, trainer.unk_id = 0, 1, special.index("<unk>")
    trainer.bos_id = special.index("<s>") if "<s>" in special else -1
    model.normalizer_spec.name = "identity"
    path.write_bytes(model.SerializeToString())
    return path
