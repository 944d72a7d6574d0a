"""T5X's names in gin files, as far as LisaX's own files do not have them, with their meaning here.

`docs/gin.md` lists them from these tables, and errors point there. A file of T5X's is read as gin's static files are:
its imports of T5X only name configurables, which `gin_files` registers.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lisax.errors import LisaxError, shown
from lisax.models.architectures import T5Config
from lisax.models.decoding import Decoding
from lisax.training.data import VocabularyFile
from lisax.training.losses import Loss
from lisax.training.optimizers import Adafactor, Optimizer
from lisax.training.task_metrics import Evaluator

DOCS = "docs/gin.md lists T5X's names"
ANY = object()
STANDARD = "standard"  # the value of `@adafactor.standard_logical_factor_rules()`

# Configurable -> T5X's field -> ours.
SAME: Mapping[str, Mapping[str, str]] = {
    "train": {
        "train_dataset_cfg": "train_data",
        "train_eval_dataset_cfg": "dev_data",
        "infer_eval_dataset_cfg": "infer_data",
        "checkpoint_cfg": "checkpoint",
        "trainer_cls": "trainer",
        "stats_period": "log_period",
        "inference_evaluator_cls": "evaluator",
    },
    "eval": {
        "dataset_cfg": "dataset",
        "restore_checkpoint_cfg": "restore",
        "inference_evaluator_cls": "evaluator",
    },
    "infer": {"dataset_cfg": "dataset", "restore_checkpoint_cfg": "restore"},
    "T5Config": {"remat_policy": "remat"},
}
# T5X's values of fields that a file leaves open; the network of `scalable_t5` is scanned too.
NETWORK: Mapping[str, Any] = {
    "num_heads": 8,
    "num_encoder_layers": 6,
    "num_decoder_layers": 6,
    "mlp_dim": 2048,
    "mlp_activations": ("relu",),
    "dropout_rate": 0.1,
}
# T5X's field or macro -> the values that change nothing here, and why. Others are an error.
NO_EFFECT: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "train.summarize_config_fn": ((ANY,), "the gin of a run is always in MODEL_DIR/config.gin"),
    "train.use_orbax": ((True,), "checkpoints are Orbax's; `lisax checkpoint export` writes the native layout"),
    "train.concurrent_metrics": ((ANY,), "metrics are the same, gathered by another thread or not"),
    "train.gc_period": ((ANY,), "Python's garbage is collected as usual"),
    "train.run_eval_before_training": ((False,), "`lisax eval` evaluates a checkpoint"),
    "eval.summarize_config_fn": ((ANY,), "the command has the settings"),
    "eval.use_orbax": ((ANY,), "the layout of a checkpoint is read from its files"),
    "eval.fallback_init_rng": ((None,), "fresh parameters predict nothing"),
    "infer.summarize_config_fn": ((ANY,), "the command has the settings"),
    "infer.use_orbax": ((ANY,), "the layout of a checkpoint is read from its files"),
    "infer.fallback_init_rng": ((None,), "fresh parameters predict nothing"),
    "infer.checkpoint_period": ((ANY,), "lines are kept as they are written, and the same call resumes after them"),
    "infer.checkpoint_ds_iter": ((ANY,), "the same call resumes after the written lines"),
    "infer.merge_chunked_results": ((True,), "the lines of a shard are one file"),
    "infer.file_extension": (("jsonl",), "lines are JSON"),
    "infer.output_vocab_feature_name": (("targets",), "outputs have the vocabulary of the targets"),
    "infer.keep_aux_as_numpy": ((False,), "lines are JSON"),
    "EncoderDecoderModel.feature_converter_cls": (
        (None,),
        "examples are converted as seqio's EncDecFeatureConverter does",
    ),
    "EncoderDecoderModel.default_decoder_params": ((None,), "`EncoderDecoderModel.decode_fn` has the way to decode"),
    "predict_batch_with_aux.return_all_decodes": ((ANY,), "lines have all hypotheses"),
    "T5Config.param_scan_axis": ((1,), "layers are the second dimension"),
    "Adafactor.logical_factor_rules": (
        (STANDARD, None),
        "matrices are factored by the standard rules, which give T5X's slots",
    ),
    "Adafactor.learning_rate": ((None,), "`Trainer.learning_rate_fn` has the schedule"),
    "PjitPartitioner.params_on_devices": ((True,), "parameters are on the devices"),
    "PjitPartitioner.backend": ((None,), "a run takes the devices that JAX finds"),
    "PjitPartitioner.ici_mesh_shape": ((None,), "`model_parallel_submesh` has the shape"),
    "PjitPartitioner.dcn_mesh_shape": ((None,), "a run has one slice"),
    "SaveCheckpointConfig.save_dataset": (
        (ANY,),
        "a resumed run always continues at its place in the data, without a file",
    ),
    "SaveCheckpointConfig.keep_dataset_checkpoints": ((ANY,), "as `save_dataset`"),
    "SaveCheckpointConfig.checkpoint_steps": ((None,), "`period` has the steps"),
    "SaveCheckpointConfig.state_transformation_fns": ((None, (), []), "states are saved as they are"),
    "RestoreCheckpointConfig.restore_dataset": ((ANY,), "as `SaveCheckpointConfig.save_dataset`"),
    "RestoreCheckpointConfig.state_transformation_fns": ((None, (), []), "`assignment_map` maps names"),
    "DatasetConfig.use_custom_packing_ops": ((ANY,), "packed examples are the same"),
    "DatasetConfig.use_memory_cache": ((ANY,), "the examples of evaluation are read once and kept"),
    "Evaluator.use_memory_cache": ((ANY,), "the examples of evaluation are read once and kept"),
    "EVALUATOR_USE_MEMORY_CACHE": ((ANY,), "the examples of evaluation are read once and kept"),
}
# T5X's names that are errors: fields, configurables and packages.
REFUSED: Mapping[str, str] = {
    "train.actions": "a loss that is not a number always ends training, with an error",
    "train.get_dataset_fn": "data are read as a seqio task or mixture",
    "train.train_eval_get_dataset_fn": "dev data are read as a seqio task or mixture",
    "train.train_state_initializer_cls": "a run starts from `CheckpointConfig.restore`",
    "train.verify_matching_vocabs_fn": "vocabularies are always compared; VOCABULARY=None gives none to compare",
    "eval.training_evaluator_cls": "loss and accuracies are always computed",
    "eval.train_state_initializer_cls": "the checkpoint is the model",
    "eval.train_eval_get_dataset_fn": "data are read as a seqio task or mixture",
    "infer.write_fn": "lines are JSON",
    "infer.merge_fn": "lines are JSON",
    "infer.train_state_initializer_cls": "the checkpoint is the model",
    "infer.verify_matching_vocabs_fn": "vocabularies are always compared; VOCABULARY=None gives none to compare",
    "Trainer.weight_metrics_computer": "the log has the norms of gradients only",
    "Trainer.accum_dtype": "gradients of microbatches are summed in float32",
    "DatasetConfig.runtime_preprocessors": "AirIO is not read, seqio is",
    "DatasetConfig.num_prefetch_threads": "AirIO is not read, seqio is",
    "DatasetConfig.num_workers": "AirIO is not read, seqio is",
    "SaveCheckpointConfig.checkpointer_cls": "checkpoints are Orbax's",
    "SaveCheckpointConfig.checkpoint_manager_cls": "checkpoints are Orbax's",
    "RestoreCheckpointConfig.checkpointer_cls": "the layout of a checkpoint is read from its files",
    "RestoreCheckpointConfig.checkpoint_manager_cls": "the layout of a checkpoint is read from its files",
    "precompile": "`lisax plan` compiles a run without its devices",
    "export_lib": "`lisax export` writes a model for use, from a checkpoint and without gin",
    "create_task_from_tfexample_file": "`register` makes tasks of a file",
    "TerminateOnNanAction": "a loss that is not a number always ends training, with an error",
    "chain": "of optax's optimizers there is `@optimizers.AdamW()`, with its clipping; its schedule is the trainer's",
    "PrefixLanguageModel": "models are encoders with a decoder; there is no network of a decoder only",
    "DecoderOnlyModel": "models are encoders with a decoder; there is no network of a decoder only",
    "t5x.examples.decoder_only": "models are encoders with a decoder; there is no network of a decoder only",
    "t5x.contrib": "T5X's core is read, its additions are not",
}


# --- Text ----------------------------------------------------------------------------------

_IMPORT = re.compile(r"[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?")
_SCRIPT = re.compile(r"^([ \t]*(?:\w+/)*)(?:\w+\.)?evaluate(?=[ \t]*[.:])", re.MULTILINE)


def as_static(text: str, strings: re.Pattern[str]) -> str:
    """A gin file without its imports of T5X, line by line: with names that `gin_files` registers, whatever alias the file
    has given to their modules. Raises for a module that LisaX has nothing of. `strings` matches a quoted one."""
    lines, aliases = [], {}
    for line in text.split("\n"):
        match = _IMPORT.fullmatch(line)
        package, module, alias = match.groups() if match else (None, "", None)
        name = f"{package}.{module}" if package else module
        if name.split(".")[0] not in ("__gin__", "__main__", "t5x", "seqio"):
            lines.append(line)
            continue
        for refused in ("t5x.examples.decoder_only", "t5x.contrib"):
            if f"{name}.".startswith(f"{refused}."):
                raise LisaxError(f"{line.strip()}: {REFUSED[refused]}. {DOCS}")
        aliases[alias or (name if package is None else module)] = "" if name == "__main__" else name.split(".")[-1]
        # Its layers have a bias of their own each.
        scalable = name == "t5x.examples.scalable_t5.network"
        lines.append("network.T5Config.relative_bias_per_layer = True" if scalable else "")
    read = "\n".join(lines)
    for alias, standard in aliases.items():
        if alias != standard:
            used = re.compile(rf"(?<![\w.%]){re.escape(alias)}\.(?=\w)")
            read = _outside(strings, read, functools.partial(used.sub, f"{standard}." if standard else ""))
    return _SCRIPT.sub(r"\1eval", read)


def _outside(strings: re.Pattern[str], text: str, change: Any) -> str:
    """`change` of the parts of a text that are not quoted."""
    parts, end = [], 0
    for match in strings.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


# --- Values --------------------------------------------------------------------------------


def as_ours(name: str, fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """The fields of a configurable under our names, which of T5X's names each one had, and the names without effect."""
    ours, called, idle = dict(fields), {}, []
    for theirs, field in SAME.get(name, {}).items():
        if theirs in ours:
            if field in fields:
                raise LisaxError(f"{name}.{theirs} is T5X's name of {name}.{field}: set one of the two")
            value = ours.pop(theirs)
            # T5X's `_cls` are classes to call; None is T5X's way to leave a choice.
            if theirs.endswith("_cls") and callable(value) and not dataclasses.is_dataclass(value):
                value = value()
            if value is not None or theirs.endswith("_dataset_cfg"):
                ours[field], called[field] = value, theirs
    for key, (values, why) in NO_EFFECT.items():
        of, _, field = key.rpartition(".")
        if of == name and field in ours:
            value = ours.pop(field)
            if ANY not in values and value not in values:
                raise LisaxError(
                    f"{key} must be {' or '.join(map(shown, values))}, found {shown(value)}: {why}. {DOCS}"
                )
            idle.append(key)
    return ours, called, idle


def network_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the `T5Config` of T5X's `Transformer`."""
    return {**NETWORK, "scan_layers": fields.get("relative_bias_per_layer", False), **fields}


def fields_of(name: str) -> list[str]:
    """T5X's further fields of a configurable."""
    return [*SAME.get(name, {}), *(key.rpartition(".")[2] for key in NO_EFFECT if key.rpartition(".")[0] == name)]


def refusal(name: str) -> str | None:
    """Why a name of T5X's, "train.actions" or "export_lib.save", is an error; None if it is none of T5X's."""
    parts = name.split(".")
    for known in (name, ".".join(parts[-2:]), *parts):
        if known in REFUSED:
            return f"{name} is T5X's, and LisaX does not read it: {REFUSED[known]}. {DOCS}"
    return None


@dataclasses.dataclass(frozen=True)
class EncoderDecoderModel:
    """T5X's MODEL: a network with its optimizer, loss and vocabularies, which a run of ours has apart.

    `num_decodes` is that of `predict_batch_with_aux`: hypotheses of beam search."""

    module: T5Config
    optimizer_def: Optimizer = Adafactor()
    input_vocabulary: Any = None
    output_vocabulary: Any = None
    z_loss: float = 0.0
    label_smoothing: float = 0.0
    loss_normalizing_factor: float | str | None = None
    decode_fn: Decoding | None = None
    num_decodes: int = 1

    @property
    def loss(self) -> Loss:
        return Loss(self.z_loss, self.label_smoothing, self.loss_normalizing_factor)

    @property
    def vocabulary(self) -> Any:
        if self.input_vocabulary != self.output_vocabulary:
            raise LisaxError(
                "EncoderDecoderModel.input_vocabulary and output_vocabulary must be the same: a T5 has one embedding"
            )
        return self.input_vocabulary

    @property
    def decoding(self) -> Decoding:
        """T5X's own is a beam search, also of one beam."""
        return dataclasses.replace(self.decode_fn or beam_search(), beam_size=self.num_decodes)


def encoder_decoder_model(**fields: Any) -> dict[str, Any]:
    """The fields of an `EncoderDecoderModel`, with `predict_batch_with_aux` and `decode_fn` called."""
    import gin

    decodes = gin.get_configurable("models.EncoderDecoderModel.predict_batch_with_aux")()
    decode_fn = fields.get("decode_fn")
    if callable(decode_fn):
        fields["decode_fn"] = decode_fn()
    return fields | {"num_decodes": decodes}


def unpacked(fields: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `train`, `eval` or `infer`, whose `known` names a model of T5X's fills."""
    model = fields.get("model")
    fields = {name: value for name, value in fields.items() if (name, value) != ("loss", None)}
    if not isinstance(model, EncoderDecoderModel):
        return fields
    decoding = fields.get("decoding", model.decoding)
    if model.decoding != beam_search():
        if decoding not in (beam_search(), Decoding(), model.decoding):
            raise LisaxError(
                "EncoderDecoderModel.decode_fn and decoding.Decoding (BEAM_SIZE) differ: set one of the two"
            )
        decoding = model.decoding
    given = {"optimizer": model.optimizer_def, "loss": model.loss, "vocabulary": model.vocabulary}
    return (
        {name: value for name, value in given.items() if name in known}
        | {name: value for name, value in fields.items() if value is not None or name not in given}
        | {"model": model.module}
        | ({"decoding": decoding} if "decoding" in known else {})
    )


def predict_batch_with_aux(num_decodes: int = 1) -> int:
    if num_decodes < 1:
        raise LisaxError(
            f"EncoderDecoderModel.predict_batch_with_aux.num_decodes must be at least 1, found {num_decodes}"
        )
    return num_decodes


def beam_search(alpha: float = 0.6) -> Decoding:
    return Decoding(search="t5x", length_penalty=alpha)


def temperature_sample(temperature: float = 1.0, topk: int = 1, topp: float = 0.0) -> Decoding:
    return Decoding(temperature=temperature, top_k=topk, top_p=topp or 1.0)


def transformer(config: T5Config) -> T5Config:
    return config


def standard_logical_factor_rules() -> str:
    return STANDARD


def ignored() -> None:
    """A value of a field without effect."""


@dataclasses.dataclass(frozen=True)
class JsonLogger:
    write_n_results: int | None = None


def evaluator(
    num_examples: int | None = None, write_n_results: int | None = 0, logger_cls: Sequence[Any] = ()
) -> Evaluator:
    """An `Evaluator`; with T5X's JSONLogger among its loggers the results that this one writes are written."""
    for logger in (logger() if callable(logger) else logger for logger in logger_cls):
        if isinstance(logger, JsonLogger):
            write_n_results = logger.write_n_results
    return Evaluator(num_examples, write_n_results)


def sentence_piece_vocabulary(sentencepiece_model_file: str, extra_ids: int | None = None) -> VocabularyFile:
    return VocabularyFile(sentencepiece_model_file, extra_ids or 0)


def byte_vocabulary(extra_ids: int = 0) -> VocabularyFile:
    return VocabularyFile(None, extra_ids)
