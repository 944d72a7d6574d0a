"""A small encoder of the BERT family with its tokenizer, and a paper's run on it: recipe, models and world."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import small_tokenizers
from checkpoint_files import in_memory

from lisax import world
from lisax.corpora import open_folder
from lisax.models.architectures import EncoderConfig
from lisax.models.t5 import initialize
from lisax.papers.base import Pipeline
from lisax.papers.recipe import BaseRecipe
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.huggingface import write_huggingface

SIZE = {
    "vocab_size": 220,
    "emb_dim": 32,
    "num_heads": 2,
    "num_encoder_layers": 1,
    "mlp_dim": 32,
    "max_positions": 128,
    "separator_id": 3,
}
ENCODER = EncoderConfig(**SIZE)
STEPS = "TRAIN_STEPS = 4\nBATCH_SIZE = 8\nEVAL_PERIOD = 4\nEVAL_STEPS = 1\nencoder.EncoderConfig:\n" + "".join(
    f"  {name} = {value}\n" for name, value in SIZE.items()
)


def write(folder: Path) -> Path:
    """Writes `encoder/` into a folder and returns it."""
    (folder / "encoder").mkdir()
    write_huggingface(folder / "encoder", in_memory(flatten(initialize(ENCODER, 4))), ENCODER)
    small_tokenizers.wordpiece(folder / "encoder/tokenizer.json")
    return folder / "encoder"


def write_model(folder: Path, name: str, of: str, *lines: str) -> Path:
    """A gin file that trains the experiment `of` for a few steps at this size."""
    path = folder / f"{name}.gin"
    path.write_text("\n".join([f"include 'experiments/{of}.gin'", STEPS, *lines]))
    return path


def prepare(folder: Path, recipe: str, pages: int, models: Mapping[str, Sequence[str]]) -> Path:
    """Writes a world, the encoder, gin files of models (name: experiment, further lines), and `recipe.gin`, in which
    their names stand for their paths."""
    world.write(folder / "world", pages, seed=1)
    paths = {name: write_model(folder, name, *given) for name, given in models.items()}
    (folder / "recipe.gin").write_text(recipe.format(encoder=write(folder), **paths))
    return folder


def finished(
    paper: type[Pipeline], recipe: type[BaseRecipe], finish: Callable[[Pipeline], str], folder: Path
) -> Pipeline:
    """A paper's run on a prepared folder, with its report."""
    run = paper(open_folder(folder / "world"), folder / "out", recipe.read([folder / "recipe.gin"]))
    run.run()
    print(finish(run))
    return run
