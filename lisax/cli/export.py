"""`lisax export`."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from lisax.cli.verbs import Option, Place


def export(
    *,
    model: Annotated[Place, Option("A MODEL_DIR or one of its checkpoints.", "DIR")],
    out: Annotated[Place, Option("A folder that does not exist yet.", "DIR")],
    format: Annotated[
        tuple[Literal["bundle", "stablehlo", "savedmodel", "onnx"], ...],
        Option(
            "bundle is always written; stablehlo adds scorer.jax_export, to be read by jax.export.deserialize; "
            "savedmodel adds saved_model/, for TensorFlow; onnx adds scorer.onnx, for onnxruntime, and of a T5 its "
            "encoder and decoder.",
            "FORMAT",
        ),
    ] = ("bundle",),
    adapter: Annotated[
        bool, Option("Write only a trained adapter, a small file: its backbone is read when it is used.")
    ] = False,
) -> None:
    """Write a trained model as a bundle for inference: safetensors, model.json and vocabulary.

    lisax export --model OUT/models/label_listwise_infused --out verifier
    """
    from lisax.training import export as exporting
    from lisax.weights.model_folder import ModelFolder

    if adapter and format != ("bundle",):
        raise click.UsageError("--adapter writes no program: leave --format out, or --adapter")
    found = ModelFolder.find(model)
    print(exporting.export_adapter(found, out) if adapter else exporting.export(found, out, format))
