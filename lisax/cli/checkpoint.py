"""Show checkpoints of T5X, Hugging Face and LisaX, and convert between them.

A checkpoint is in T5X's Orbax or native layout (scanned or not), a MODEL_DIR of such checkpoints, a Hugging Face folder
(config.json and safetensors), or a bundle.

    lisax checkpoint show out
    lisax checkpoint import t5-base/ --out model
"""

from __future__ import annotations

from typing import Annotated, Literal

from lisax.cli.gin import GinBindings, GinFiles
from lisax.cli.verbs import Argument, Fetched, Option, Place

Source = Annotated[str, Argument("A checkpoint, local or in a bucket.", "PATH")]
Out = Annotated[Place, Option("A folder that does not exist yet.", "DIR")]


def show(source: Source) -> None:
    """Print kind, step, parameters, vocabulary and optimizer slots.

    lisax checkpoint show out
    """
    from lisax.weights.interop.opening import described
    from lisax.weights.model_folder import ModelFolder

    print(described(ModelFolder.find(source)))


def import_(
    source: Source,
    *,
    out: Out,
    vocabulary: Annotated[
        Fetched | None,
        Option("The SentencePiece model that the checkpoint was trained with.", "FILE", "the one next to it"),
    ] = None,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
) -> None:
    """Write a checkpoint in LisaX's own layout, with model.json. Layers that are stacked stay so.

    The gin files give the architecture if it cannot be read from the source.

        lisax checkpoint import t5-base/ --out model
    """
    from lisax.weights.interop.convert import import_checkpoint
    from lisax.weights.model_folder import ModelFolder

    architecture = None
    if gin_file:
        from lisax.training.gin_files import architecture_of

        architecture = architecture_of(gin_file, gin_bindings)
    print(import_checkpoint(ModelFolder.find(source), out, vocabulary=vocabulary, architecture=architecture))


def export(
    source: Source,
    *,
    out: Out,
    format: Annotated[Literal["t5x-native", "t5x-orbax", "huggingface"], Option("Layout to write.")],
    layers: Annotated[
        Literal["separate", "stacked"] | None,
        Option(
            "For T5X's layouts: an array for each layer, as in t5x.examples.t5, or one for all layers of a stack, "
            "as in t5x.examples.scalable_t5.",
            default="as the source has them, where T5X has such a model",
        ),
    ] = None,
) -> None:
    """Write a checkpoint in the layout of another program.

    lisax checkpoint export out --format huggingface --out hf
    """
    from lisax.weights.interop.convert import export_checkpoint
    from lisax.weights.interop.kinds import Kind
    from lisax.weights.model_folder import ModelFolder

    print(export_checkpoint(ModelFolder.find(source), out, Kind(format), layers))


VERBS = (show, import_, export)
