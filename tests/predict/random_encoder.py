"""A small sentence encoder with random weights, as a Hugging Face folder."""

import small_tokenizers
from checkpoint_files import in_memory

from lisax.models.architectures import EncoderConfig
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.huggingface import write_huggingface
from tests.references import recorded

CONFIG = EncoderConfig(
    vocab_size=220, emb_dim=16, num_heads=2, num_encoder_layers=1, mlp_dim=24, max_positions=64, pooler=True
)


def write_encoder(folder, seed=0):
    folder.mkdir()
    arrays = flatten(recorded.drawn(CONFIG))
    arrays = {name: value * (1 + seed * 0.1) for name, value in arrays.items()}
    write_huggingface(folder, in_memory(arrays), CONFIG)
    small_tokenizers.wordpiece(folder / "tokenizer.json")
    return folder
