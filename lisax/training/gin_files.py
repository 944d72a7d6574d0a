"""gin: T5X's macros and flags over this engine's dataclasses.

gin's state is global; here it lives only from parsing to the end of a run and is cleared on both sides.

A gin file is code: it imports modules and calls registered functions. Values from elsewhere, from a bundle above all,
are written into one only as checked literals.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import dataclasses
import difflib
import functools
import inspect
import logging
import os
import re
import types
import typing
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.errors import LisaxError, shown
from lisax.files.places import local
from lisax.progress import say
from lisax.training.data import import_task_module, task_modules

if TYPE_CHECKING:
    from lisax.models.architectures import Model

# Where `models/t5_1_1_small.gin` and `runs/finetune.gin` are found, whatever the current folder is.
# In a checkout `lisax/gin_configs` is a link to the folder at the top.
GIN_CONFIGS = (Path(__file__).parents[1] / "gin_configs").resolve()
# The text before all files, so that runs/eval.gin and runs/infer.gin keep the settings of the files before them.
DEFAULTS = "MIXTURE_OR_TASK_MODULE = None\nTASK_FEATURE_LENGTHS = None\n"
# Macros of T5X's files that are taken and not used.
WITHOUT_EFFECT = {
    "USE_HARDWARE_RNG": "random numbers are drawn by JAX's default generator, the same on every device",
    "EVALUATOR_NUM_EXAMPLES": "lisax eval reads the whole split, and EVAL_STEPS limits evaluation while training",
    "JSON_WRITE_N_RESULTS": "lisax infer writes a line for every example",
}
_folders: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("folders", default=())

STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def rewrite_gin_flags(arguments: Sequence[str]) -> list[str]:
    """T5X's `--gin.NAME=value` as `--gin_bindings=NAME=value`, which is an option like any other.

    A value that is not a gin literal, macro or reference is a string: quotes may be left out."""
    rewritten = []
    for argument in arguments:
        name, separator, value = argument.removeprefix("--gin.").partition("=")
        if argument.startswith("--gin.") and separator:
            argument = f"--gin_bindings={name.strip()}={_literal(value.strip())}"
        rewritten.append(argument)
    return rewritten


def _literal(value: str) -> str:
    if value[:1] in "@%":
        return value
    try:
        ast.literal_eval(value)
    except (SyntaxError, ValueError):
        # A list or dict may hold references that are not Python literals; gin reads those.
        return value if value[:1] in "[({" else repr(value)
    return value


@contextlib.contextmanager
def searching(folders: Sequence[str | os.PathLike]) -> Iterator[None]:
    """While it is open gin files are looked for in these folders too: files that a recipe names are read long after
    it."""
    token = _folders.set((*map(str, folders), *_folders.get()))
    try:
        yield
    finally:
        _folders.reset(token)


def find(path: str | os.PathLike, search_paths: Sequence[str] = ()) -> Path:
    """The file that a gin file's name means: from here, from a folder that is searched, or from `gin_configs/`."""
    folders = _searched(search_paths)
    for folder in folders:
        if (found := Path(folder) / path).is_file():
            return found
    raise LisaxError(f"there is no gin file '{path}' here, " + ", ".join(f"in {folder}" for folder in folders[:0:-1]))


def _searched(search_paths: Sequence[str]) -> list[str]:
    return ["", *(str(local(path)) for path in (*search_paths, *_folders.get())), str(GIN_CONFIGS)]


@contextlib.contextmanager
def parsed(
    gin_files: Sequence[str | os.PathLike],
    bindings: Sequence[str] = (),
    search_paths: Sequence[str] = (),
    *,
    required: bool = True,
    verb: str | None = None,
) -> Iterator[Any]:
    """gin with the files and bindings read; with `required` it is an error if a macro still has to be given, of the
    macros that the `verb` reads if one is named."""
    import gin

    register_configurables()
    # gin also looks for `models/x.gin` as a resource of a Python package `models`, and fails where sys.path
    # merely has a folder of that name. Files are all that is meant here.
    gin.config._FILE_READERS[:] = [(open, os.path.isfile)]
    # gin can add folders to its own and take none away.
    folders, gin.config._LOCATION_PREFIXES[:] = list(gin.config._LOCATION_PREFIXES), _searched(search_paths)
    gin.clear_config()
    try:
        for path in gin_files:
            find(path, search_paths)
        # gin logs as errors the places where it looked for a file before it found it.
        disabled = logging.root.manager.disable
        logging.disable(logging.ERROR)
        try:
            _parse(gin, [str(path) for path in gin_files], list(bindings), search_paths)
        finally:
            logging.disable(disabled)
        _check_macros(gin)
        if required:
            _check_required(gin, verb)
        yield gin
    finally:
        gin.clear_config()
        gin.config._LOCATION_PREFIXES[:] = folders


def model_class_of(gin_file: str | os.PathLike) -> type[Model]:
    """The architecture that a gin file's macro MODEL names, whatever else is still to be given."""
    with parsed([gin_file], required=False) as gin:
        return gin.query_parameter("%MODEL").configurable.wrapped.__wrapped__  # the class given to `register`


def run_gin(
    gin_files: Sequence[str | os.PathLike],
    bindings: Sequence[str] = (),
    *,
    search_paths: Sequence[str] = (),
    **fields: Any,
) -> Any:
    """Trains by the gin files; `fields` replace those of the `TrainConfig` (`evaluate`, `card`, `files`...).

    Bindings are gin statements: `"TRAIN_STEPS = 100"`. Returns the `TrainResult`."""
    from lisax.training.train import train

    with configured("train", gin_files, bindings, search_paths) as config:
        return train(dataclasses.replace(config, **fields))


@contextlib.contextmanager
def configured(
    verb: str, gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), search_paths: Sequence[str] = ()
) -> Iterator[Any]:
    """The `train`, `eval` or `infer` configuration of gin files; gin stays set up while it is used, because
    task modules may read it."""
    with parsed(gin_files, bindings, search_paths, verb=verb) as gin:
        try:
            config = gin.get_configurable(verb)()
        except (LisaxError, ValueError, TypeError, RuntimeError) as error:
            told = str(error).partition("\n  In call to configurable")[0].strip()  # gin's, once for each call around it
            raise LisaxError(told if isinstance(error, LisaxError) else f"gin: {told}") from error
        if verb == "train":
            config = dataclasses.replace(config, gin=gin.operative_config_str())
        yield config


def architecture_of(gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = ()) -> Any:
    """The `T5Config` of gin files, for inference."""
    with parsed(gin_files, ["DROPOUT_RATE = 0.0", *bindings]) as gin:
        return gin.get_configurable("T5Config")()


def bindings_of(values: Mapping[str, Any]) -> list[str]:
    """{"TRAIN_STEPS": 100, "MODEL_DIR": path} as gin bindings; paths become strings."""
    return [f"{name} = {(str(value) if isinstance(value, os.PathLike) else value)!r}" for name, value in values.items()]


def _parse(gin: Any, gin_files: list[str], bindings: list[str], search_paths: Sequence[str]) -> None:
    module = _task_module(gin_files, bindings, search_paths)
    untried = task_modules(module) if module else []
    while True:
        try:
            gin.parse_config(DEFAULTS)
            gin.parse_config_files_and_bindings(gin_files, bindings, finalize_config=False)
            return
        except (ValueError, SyntaxError, OSError, ImportError, AttributeError, TypeError) as error:
            if not untried or "No configurable matching" not in str(error):
                raise LisaxError(f"gin: {str(error).strip()}") from error
            # The name may be one that the task module registers, which is slow to import and so comes second.
            import_task_module(untried.pop(0))
            gin.clear_config()


def _task_module(gin_files: list[str], bindings: list[str], search_paths: Sequence[str]) -> str | None:
    texts = [find(path, search_paths).read_text(encoding="utf-8") for path in gin_files] + bindings
    named = re.findall(r"^\s*MIXTURE_OR_TASK_MODULE\s*=\s*['\"]([^'\"]+)['\"]", "\n".join(texts), re.MULTILINE)
    return named[-1] if named else None


def _bindings(gin: Any) -> dict[str, str]:
    """The value of each name, in any scope, as text: `%MACRO`, or the last part of a configurable's name."""
    bound: dict[str, str] = defaultdict(str)
    # gin has no public way to list bindings; references are in their texts as `%MACRO` and `@scope/module.Name()`.
    for (scope, selector), values in gin.config._CONFIG.items():
        bound[f"%{scope}" if selector == "gin.macro" else selector.rpartition(".")[2]] += repr(values)
    return bound


def _check_macros(gin: Any) -> None:
    """Raises for a macro that nothing reads, unless a file of `gin_configs/` sets it for other runs; logs the macros of
    T5X that change nothing here."""
    bound = _bindings(gin)
    read = set(re.findall(r"%\w+", " ".join(bound.values())))
    unread = [name[1:] for name in bound if name.startswith("%") and name not in read and name != "%gin.REQUIRED"]
    for name in unread:
        if name in WITHOUT_EFFECT:
            say(f"note: {name} changes nothing: {WITHOUT_EFFECT[name]}")
        elif name not in (known := shipped_macros()):
            near = difflib.get_close_matches(name, {*known, *(macro[1:] for macro in read)}, 1)
            raise LisaxError(
                f"gin: the macro {name} is set and nothing reads it." + (f" Did you mean {near[0]}?" if near else "")
            )


@functools.cache
def shipped_macros() -> frozenset[str]:
    """Names of the macros that files of `gin_configs/` set."""
    texts = (path.read_text(encoding="utf-8") for path in GIN_CONFIGS.rglob("*.gin"))
    return frozenset(name for text in (*texts, DEFAULTS) for name in re.findall(r"^([A-Z]\w*) *=", text, re.MULTILINE))


def _check_required(gin: Any, verb: str | None) -> None:
    bound = _bindings(gin)
    waiting, read = [verb] if verb else [name for name in bound if name.startswith("%")], set()
    while waiting:
        read.add(name := waiting.pop())
        value = STRING.sub("''", bound[name])  # a folder's name may have % and @
        found = re.findall(r"(%(?!gin\.)\w+)|@(?:\w+/)*(?:\w+\.)*(\w+)", value)
        waiting += {macro or configurable for macro, configurable in found} - read
    missing = [
        name[1:] for name in read if name.startswith("%") and (not bound[name] or "%gin.REQUIRED" in bound[name])
    ]
    if missing:
        raise LisaxError("these must be given: " + ", ".join(f"--gin.{name}=…" for name in sorted(missing)))


@functools.cache
def register_configurables() -> None:
    """Names and fields that gin files may set: those of T5X if it has them."""
    from lisax.devices import partitioning
    from lisax.models.decoding import Decoding
    from lisax.models.lora import Lora
    from lisax.training import data, inference, losses, optimizers, schedules, train
    from lisax.training.model_kinds import MODEL_KINDS
    from lisax.weights import checkpoints

    register("train_script", "train", train.TrainConfig)
    register("eval_script", "eval", inference.EvalConfig)
    register("infer_script", "infer", inference.InferConfig)
    for model, kind in MODEL_KINDS.items():
        register(kind.gin_module or model.kind, model.__name__, model)
    register("decoding", "Decoding", Decoding)
    register("lora", "Lora", Lora)
    register("losses", "Loss", losses.Loss)
    register("utils", "DatasetConfig", data.DatasetConfig)
    register("utils", "CheckpointConfig", checkpoints.CheckpointConfig)
    register("utils", "SaveCheckpointConfig", checkpoints.SaveCheckpointConfig)
    register("utils", "RestoreCheckpointConfig", checkpoints.RestoreCheckpointConfig)
    register("utils", "create_learning_rate_scheduler", schedules.Schedule)
    register("trainer", "Trainer", train.Trainer)
    register("partitioning", "PjitPartitioner", partitioning.PjitPartitioner)
    register("adafactor", "Adafactor", optimizers.Adafactor)
    register("optimizers", "AdamW", optimizers.AdamW)
    register("optimizers", "Adagrad", optimizers.Adagrad)


@functools.cache
def register(module: str, name: str, cls: type) -> None:
    """Lets gin files set the fields of a dataclass as `module.name.FIELD`."""
    import gin

    hints = typing.get_type_hints(cls)

    # A function with its fields: gin would replace the class itself by a subclass.
    @functools.wraps(cls, updated=())
    def build(**fields: Any) -> Any:
        for field, value in fields.items():
            if not _is_a(value, hints[field]):
                macros = re.findall(rf"'{field}': %(\w+)", _bindings(gin)[name])
                raise LisaxError(
                    f"{name}.{field}{f' (set by {macros[-1]})' if macros else ''} must be "
                    f"{_named(hints[field])}, found {shown(value)}"
                )
        return cls(**fields)

    build.__signature__ = inspect.signature(cls)
    gin.register(name, module=module)(build)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value that gin set is of an annotated type: numbers may be whole, and lists stand for tuples."""
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_a(value, one) for one in inner)
    if origin in (Any, Callable) or getattr(origin, "_is_protocol", False):
        return origin is Any or callable(value) or dataclasses.is_dataclass(value)
    if origin in (int, float):
        return isinstance(value, (int, origin)) and not isinstance(value, bool)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_is_a(k, inner[0]) and _is_a(v, inner[1]) for k, v in value.items())
    if origin in (tuple, Sequence):
        if not isinstance(value, (list, tuple)):
            return False
        of_each = inner[:1] * len(value) if origin is Sequence or ... in inner else inner
        return len(value) == len(of_each) and all(map(_is_a, value, of_each))
    return isinstance(value, origin)


def _named(hint: Any) -> str:
    """An annotated type in a message."""
    names = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", types.NoneType: "None"}
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(map(_named, typing.get_args(hint)))
    return names.get(hint) or (hint.__name__ if isinstance(hint, type) else re.sub(r"[\w.]*\.", "", str(hint)))
