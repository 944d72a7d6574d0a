"""Checkpoints of any kind to a new folder of another: checked whole before the folder is made, all or nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError
from lisax.files.places import COMMIT_NAME, exists, fetched, is_remote, place, send_folder
from lisax.files.writing import naming, write_json
from lisax.formats.vocabulary import EXTRA_IDS, own_sentinels
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.models.architectures import Model, describe
from lisax.models.stacking import stack
from lisax.progress import say
from lisax.weights.checkpoints import GIN_NAME, MODEL_JSON, flatten, nested
from lisax.weights.heads_apart import apart_shape, heads_in, split
from lisax.weights.interop.architecture import infer, parameter_shapes
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.huggingface_tokenizer import write_tokenizer
from lisax.weights.interop.kinds import (
    KINDS,
    STATE_NAME,
    TOKENIZER_NAME,
    VOCABULARY_NAME,
    Kind,
    digest,
    vocabulary_name,
)
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import Checkpoint, Piece, Stored, shapes_of, whole
from lisax.weights.interop.safetensors_files import write_arrays
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.interop.t5x_orbax import write_orbax
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import shape_tree
from lisax.weights.shapes import check_parameters
from lisax.weights.stacked_slots import stack_slots
from lisax.weights.vocabulary_check import check_padding, check_size


def import_checkpoint(
    source: ModelFolder,
    out: str | os.PathLike,
    *,
    vocabulary: str | os.PathLike | None = None,
    architecture: Model | None = None,
) -> Path:
    """Writes `out/checkpoint_{step}` in our Orbax layout with `model.json`; returns it. Layers stay stacked.

    `architecture` is given if the source does not have it, or has a wrong one."""
    checkpoint, architecture = opened(source, architecture)
    if checkpoint.scanned:
        checkpoint, architecture = _stacked(checkpoint), architecture.replaced(scan_layers=True)
    if vocabulary is not None:
        checkpoint = dataclasses.replace(checkpoint, vocabulary=fetched(vocabulary))
    card = card_of(checkpoint, architecture)
    return _write_steps(out, checkpoint, card, write_orbax)


def export_checkpoint(source: ModelFolder, out: str | os.PathLike, kind: Kind, layers: str | None = None) -> Path:
    """Writes the checkpoint as `kind`: T5X's layouts to `out/checkpoint_{step}`, Hugging Face's to `out` itself.

    `layers` of T5X's layouts: "separate", as `t5x.examples.t5` has them; "stacked", as `t5x.examples.scalable_t5` does
    with `scan_layers`, for models with a relative bias a layer; None: as the source has them, where T5X has such a
    model."""
    checkpoint, architecture = opened(source)
    if layers is not None:
        stacks = layers == "stacked"
    else:
        stacks = checkpoint.scanned and kind is not Kind.HUGGINGFACE and architecture.backbone.layers_stand_alone
    if stacks and kind is Kind.HUGGINGFACE:
        raise LisaxError("Hugging Face's layout has a name for each layer: leave out --layers stacked")
    if stacks and not architecture.backbone.layers_stand_alone:
        raise LisaxError(
            f"{checkpoint.folder} has one relative bias for all layers of a stack, and T5X has no model of "
            "stacked layers that share one: use --layers separate"
        )
    if stacks:
        checkpoint, architecture = _stacked(checkpoint), architecture.replaced(scan_layers=True)
    elif kind is not Kind.HUGGINGFACE and getattr(architecture.backbone, "relative_bias_per_layer", False):
        say(
            "note: no example network of T5X reads separate layers with a relative bias each; scalable_t5 reads "
            "--layers stacked"
        )
    card = card_of(checkpoint, architecture)
    if kind is Kind.HUGGINGFACE:
        with new_folder(out) as folder:
            write_huggingface(folder, checkpoint, architecture)
            _copy_beside(checkpoint, folder, ())
            if (model := folder / VOCABULARY_NAME).is_file():
                write_tokenizer(folder, model, card["vocabulary"]["extra_ids"])
        return place(out)
    return _write_steps(out, checkpoint, card, write_orbax if kind is Kind.ORBAX else write_native)


def opened(source: ModelFolder, architecture: Model | None = None) -> tuple[Checkpoint, Model]:
    """The checkpoint with `architecture`, or else the architecture that the source itself or its shapes give.

    Parameters that are not, name for name and shape for shape, those of that architecture are an error."""
    checkpoint = open_checkpoint(source)
    architecture = architecture or checkpoint.architecture or infer(shapes_of(checkpoint.parameters), checkpoint.folder)
    # Pieces have a name for each layer, whatever the file has.
    separate = architecture.replaced(scan_layers=False)
    check_parameters(parameter_shapes(separate), shape_tree(checkpoint.parameters), checkpoint.folder)
    return checkpoint, separate


def _stacked(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with the layers of a stack in one array, heads apart as T5X has them. Of a source that has a name
    for each layer, all of it is in memory."""
    if checkpoint.scanned:
        checkpoint = checkpoint.as_stacked()
    else:
        parameters = nested(dict(checkpoint.read(checkpoint.parameters)))
        slots = stack_slots(nested(dict(checkpoint.read(checkpoint.slots))), parameters) if checkpoint.slots else {}
        checkpoint = dataclasses.replace(checkpoint, parameters=_pieces(stack(parameters)), slots=_pieces(slots))
    heads = heads_in(shapes_of(checkpoint.parameters))
    return dataclasses.replace(
        checkpoint,
        parameters=tuple(_apart(piece, heads) for piece in checkpoint.parameters),
        slots=tuple(_apart(piece, heads) for piece in checkpoint.slots),
    )


def _pieces(tree: dict[str, Any]) -> tuple[Piece, ...]:
    return tuple(whole(name, Stored(array.shape, lambda array=array: array)) for name, array in flatten(tree).items())


def _apart(piece: Piece, heads: int | None) -> Piece:
    """A piece of one array with its heads apart."""
    ((name, shape),) = piece.shapes.items()
    return dataclasses.replace(
        piece,
        shapes={name: apart_shape(name, shape, heads)},
        convert=lambda stored: {name: split(name, piece.convert(stored)[name], heads)},
    )


def card_of(checkpoint: Checkpoint, architecture: Model) -> dict[str, Any]:
    """The content of `model.json`: the source's own, completed."""
    step = checkpoint.step or 0
    card = dict(
        checkpoint.card
        or {
            "format": 1,
            "training": {
                "first_step": step,
                "slots_first_step": 0 if checkpoint.slots else step,
                "random_seed": None,
                "data": None,
            },
        }
    )
    return card | {
        "architecture": describe(architecture),
        "step": step,
        "vocabulary": _describe(checkpoint, architecture) or card.get("vocabulary"),
    }


def _describe(checkpoint: Checkpoint, architecture: Model) -> dict[str, Any] | None:
    """The entry of the vocabulary file in `model.json`; one of more pieces than the embedding has rows is refused."""
    if checkpoint.vocabulary is None:
        return None
    path, backbone = checkpoint.vocabulary, architecture.backbone
    if vocabulary_name(path) == TOKENIZER_NAME:
        vocabulary = TokenizerVocabulary(path)
        check_padding(vocabulary, backbone, checkpoint.folder)
        pieces, extra_ids = vocabulary.size, 0
    else:
        said = ((checkpoint.card or {}).get("vocabulary") or {}).get("extra_ids", EXTRA_IDS)
        pieces, extra_ids = _sentencepieces(path, said)
    check_size(pieces, extra_ids, path, backbone, checkpoint.folder)
    return {
        "kind": KINDS[vocabulary_name(path)],
        "pieces": pieces,
        "extra_ids": extra_ids,
        "file": vocabulary_name(path),
        "sha256": digest(path),
    }


def _sentencepieces(path: Path, extra_ids: int) -> tuple[int, int]:
    """(Pieces with sentinels, how many of these) of a model whose special tokens may have any ids."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(path.read_bytes())
    except RuntimeError:
        raise LisaxError(f"{path} is not a SentencePiece model") from None
    own = own_sentinels(processor)
    return processor.GetPieceSize() + (0 if own else extra_ids), own or extra_ids


def write_bundle(folder: Path, checkpoint: Checkpoint, card: Mapping[str, Any]) -> None:
    """Writes `model.safetensors`, one array in memory at a time, and `model.json` to the existing `folder`."""
    write_arrays(folder, shapes_of(checkpoint.parameters), checkpoint.read(checkpoint.parameters), shard_bytes=None)
    write_json(folder / MODEL_JSON, dict(card))


def _write_steps(
    out: str | os.PathLike, checkpoint: Checkpoint, card: dict[str, Any], write: Callable[[Path, Checkpoint], None]
) -> Path:
    name = f"checkpoint_{checkpoint.step or 0}"
    with new_folder(out) as folder:
        (folder / name).mkdir()
        write_json(folder / name / MODEL_JSON, card)
        _copy_beside(checkpoint, folder / name, (GIN_NAME,))
        write(folder / name, checkpoint)
    return place(out) / name


def _copy_beside(checkpoint: Checkpoint, folder: Path, names: Sequence[str]) -> None:
    """Copies the vocabulary, and the files of these names that are there."""
    sources = {name: checkpoint.folder / name for name in names}
    if checkpoint.vocabulary is not None:
        sources[vocabulary_name(checkpoint.vocabulary)] = checkpoint.vocabulary
    for name, source in sources.items():
        if source.is_file():
            shutil.copyfile(fetched(source), folder / name)


@contextlib.contextmanager
def new_folder(out: str | os.PathLike) -> Iterator[Path]:
    """A neighbour of `out` that becomes `out` when all is written. In a bucket the file that marks it as whole is sent
    last."""
    out = place(out)
    if exists(out):
        raise LisaxError(f"{out} is there already: give a folder that does not exist yet")
    if is_remote(out):
        with tempfile.TemporaryDirectory(prefix="lisax-bucket-") as scratch:
            yield Path(scratch)
            for state in Path(scratch).glob(f"*/{STATE_NAME}"):
                (state / COMMIT_NAME).touch()
            send_folder(Path(scratch), out)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        with naming(out):
            yield building
        building.chmod(0o755)
        os.replace(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
