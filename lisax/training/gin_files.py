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
import io
import logging
import os
import re
import typing
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.errors import LisaxError, shown
from lisax.files.places import local
from lisax.files.reading import decoded
from lisax.progress import say
from lisax.training import t5x_names
from lisax.training.data import import_task_module, task_modules
from lisax.training.gin_text import STRING, check_closed, names_set
from lisax.training.gin_types import is_a, named

if TYPE_CHECKING:
    from lisax.models.architectures import Model

# Where `models/t5_1_1_small.gin` and `runs/finetune.gin` are found, whatever the current folder is.
# In a checkout `lisax/gin_configs` is a link to the folder at the top.
GIN_CONFIGS = (Path(__file__).parents[1] / "gin_configs").resolve()
# The text before all files, so that runs/eval.gin and runs/infer.gin keep the settings of the files before them.
DEFAULTS = "MIXTURE_OR_TASK_MODULE = None\nTASK_FEATURE_LENGTHS = None\nLOSS = None\nVOCABULARY = None\n"
# The fields that T5X's run files leave to its models, which ours have as macros.
LEFT_TO_MODELS = {"train": {"optimizer": "OPTIMIZER", "loss": "LOSS"}, "eval": {"loss": "LOSS"}}
# Scopes that a file may set for runs that do not read them.
SCOPES = ("train", "train_eval", "infer_eval")
# "%MACRO" or "scope/Name.field" -> the last file that sets it and its line; of the files being read.
_places: dict[str, tuple[str, int]] = {}
# T5X's fields that the files set and that change nothing.
_idle: set[str] = set()
_folders: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("folders", default=())


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
    typed: bool = False,
) -> Iterator[Any]:
    """gin with the files and bindings read; with `required` it is an error if a macro still has to be given, of the
    macros that the `verb` reads if one is named. Bindings that a user has `typed` for this run are all to be read by it;
    others may hold settings of several runs."""
    import gin

    register_configurables()
    # gin also looks for `models/x.gin` as a resource of a Python package `models`, and fails where sys.path
    # merely has a folder of that name. Files are all that is meant here.
    gin.config._FILE_READERS[:] = [(_opened, os.path.isfile)]
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
        _check_macros(gin, bindings if typed else ())
        _check_scopes(gin)
        if required:
            _check_required(gin, verb)
        yield gin
    finally:
        gin.clear_config()
        gin.config._LOCATION_PREFIXES[:] = folders


def model_class_of(gin_file: str | os.PathLike) -> type[Model]:
    """The architecture that a gin file's macro MODEL names, whatever else is still to be given."""
    with parsed([gin_file], required=False) as gin:
        return gin.query_parameter("%MODEL").configurable.wrapped.made


def run_gin(gin_files: Sequence[str | os.PathLike], bindings: Sequence[str] = (), **fields: Any) -> Any:
    """Trains by the gin files; `fields` replace those of the `TrainConfig` (`evaluate`, `card`, `files`...).

    Bindings are gin statements: `"TRAIN_STEPS = 100"`. Returns the `TrainResult`."""
    from lisax.training.train import train

    with configured("train", gin_files, bindings) as config:
        return train(dataclasses.replace(config, **fields))


@contextlib.contextmanager
def configured(
    verb: str,
    gin_files: Sequence[str | os.PathLike],
    bindings: Sequence[str] = (),
    search_paths: Sequence[str] = (),
    *,
    typed: bool = False,
) -> Iterator[Any]:
    """The `train`, `eval` or `infer` configuration of gin files; gin stays set up while it is used, because
    task modules may read it. `typed` as in `parsed`."""
    with parsed(gin_files, bindings, search_paths, verb=verb, typed=typed) as gin:
        try:
            config = gin.get_configurable(verb)()
        except (LisaxError, ValueError, TypeError, RuntimeError) as error:
            raise LisaxError(called_message(error)) from error
        if _idle:
            say(f"note: of T5X's names these change nothing here: {', '.join(sorted(_idle))}. {t5x_names.DOCS}")
        if verb == "train":
            config = dataclasses.replace(config, gin=gin.operative_config_str())
        yield config


def called_message(error: Exception) -> str:
    """The message of an error in a configured call, without the calls around it, which gin adds."""
    message = str(error).partition("\n  In call to configurable")[0].strip()
    return message if isinstance(error, LisaxError) else f"gin: {message}"


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
    for binding in bindings:
        check_closed(binding)
    bindings = [t5x_names.as_static(binding, STRING) for binding in bindings]
    while True:
        _places.clear()
        _idle.clear()
        try:
            gin.parse_config(DEFAULTS)
            gin.parse_config_files_and_bindings(gin_files, bindings, finalize_config=False)
            for name, _ in names_set("\n".join(bindings)):
                _places.pop(name, None)  # no file has its value
            for name, fields in LEFT_TO_MODELS.items():
                bound = _fields(gin, name)
                for field, macro in fields.items():
                    if bound and field not in bound and _bindings(gin).get(f"%{macro}"):
                        gin.parse_config(f"{name}.{field} = %{macro}")
            return
        except (ValueError, SyntaxError, OSError, ImportError, AttributeError, TypeError) as error:
            if not untried or "No configurable matching" not in str(error):
                raise LisaxError(_parse_error(gin, error)) from error
            # The name may be one that the task module registers, which is slow to import and so comes second.
            import_task_module(untried.pop(0))
            gin.clear_config()


def _parse_error(gin: Any, error: Exception) -> str:
    """The file, the line and the sentence of gin's error; of an unknown name with the nearest one, or why it is not read."""
    message = str(error).strip()
    place = re.search(r'In file "(.+)", line (\d+)', message)
    field = re.search(r"Configurable '(?:[\w/]*/)?([\w.]+)' doesn't have a parameter named '(\w+)'", message)
    missing = re.search(r"Unable to open file: (.+?)\. Searched config paths", message)
    unknown = re.search(r"No configurable matching (?:reference )?'@?(?:[\w/]*/)?([\w.]+)", message)
    if field:
        configurable, last = field[1].rpartition(".")[2], field[2]
        name, wrong = f"{configurable}.{last}", f"{configurable} doesn't have a parameter named '{last}'"
        known = [*inspect.signature(gin.config._REGISTRY.get_match(field[1]).wrapper).parameters]
    elif unknown:
        name, last, wrong = unknown[1], unknown[1].rpartition(".")[2], f"there is no configurable '{unknown[1]}'"
        known = sorted({selector.rpartition(".")[2] for selector, _ in gin.config._REGISTRY.items()})
    elif missing:
        return f"gin: {f'{place[1]}:{place[2]}: ' if place else ''}there is no gin file '{missing[1]}'"
    else:
        return f"gin: {message}"
    near = difflib.get_close_matches(last, known, 1)
    sentence = t5x_names.refusal(name) or wrong + (f". Did you mean {near[0]}?" if near else "")
    return f"gin: {f'{place[1]}:{place[2]}: ' if place else ''}{sentence}"


def _opened(path: str) -> io.StringIO:
    """A gin file for gin to read, with T5X's static names. The line that sets a name is kept in `_places` when the file
    was read, after those of the files that it includes."""
    text = t5x_names.as_static(_text(Path(path)), STRING)
    check_closed(text, path)

    class Opened(io.StringIO):
        name = path

        def close(self) -> None:
            _places.update({name: (path, line) for name, line in names_set(text)})
            super().close()

    return Opened(text)


def _text(path: Path) -> str:
    return decoded(path.read_bytes(), path).replace("\r\n", "\n")


def unused(gin: Any, bindings: Sequence[str]) -> list[str]:
    """The names that bindings set and that no call has read so far, macros as %MACRO."""
    used = {
        f"%{scope}" if selector == "gin.macro" else selector.rpartition(".")[2]
        for scope, selector in gin.config._OPERATIVE_CONFIG
    }
    set_ = [name for name, _ in names_set("\n".join(bindings))]
    return [name for name in set_ if (name if name.startswith("%") else name.rpartition(".")[0]) not in used]


def _place(*names: str) -> str:
    """ "file:line: " of the first of the names that a file sets, in any scope."""
    for name in names:
        for known, (path, line) in reversed(_places.items()):
            if known == name or known.endswith(f"/{name}"):
                return f"{path}:{line}: "
    return ""


def _fields(gin: Any, name: str) -> set[str]:
    """The fields of a configurable that are bound, in any scope, by our names."""
    bound = {
        field
        for (_, selector), values in gin.config._CONFIG.items()
        for field in values
        if selector.rpartition(".")[2] == name
    }
    return {t5x_names.SAME.get(name, {}).get(field, field) for field in bound}


def _task_module(gin_files: list[str], bindings: list[str], search_paths: Sequence[str]) -> str | None:
    texts = [_text(find(path, search_paths)) for path in gin_files] + bindings
    named = re.findall(r"^\s*MIXTURE_OR_TASK_MODULE\s*=\s*['\"]([^'\"]+)['\"]", "\n".join(texts), re.MULTILINE)
    return named[-1] if named else None


def _bindings(gin: Any) -> dict[str, str]:
    """The value of each name, in any scope, as text: `%MACRO`, or the last part of a configurable's name."""
    bound: dict[str, str] = defaultdict(str)
    # gin has no public way to list bindings; references are in their texts as `%MACRO` and `@scope/module.Name()`.
    for (scope, selector), values in gin.config._CONFIG.items():
        bound[f"%{scope}" if selector == "gin.macro" else selector.rpartition(".")[2]] += repr(values)
    return bound


def _check_macros(gin: Any, bindings: Sequence[str]) -> None:
    """Raises for a macro that nothing reads, unless a file of `gin_configs/` sets it for other runs, which the bindings of
    this one do not; logs the macros of T5X that change nothing here."""
    given = {match[1] for binding in bindings if (match := re.match(r"\s*([A-Z]\w*)\s*=", binding))}
    bound = _bindings(gin)
    read = set(re.findall(r"%\w+", " ".join(bound.values())))
    unread = [name[1:] for name in bound if name.startswith("%") and name not in read and name != "%gin.REQUIRED"]
    for name in unread:
        if name in t5x_names.NO_EFFECT:
            say(f"note: {name} changes nothing: {t5x_names.NO_EFFECT[name][1]}")
        elif name not in (known := shipped_macros()) or name in given:
            names = {macro[1:] for macro in read} or {*known}
            near = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(name, {*known} - {name}, 1)
            raise LisaxError(
                f"gin: {_place(f'%{name}')}the macro {name} is set and nothing reads it."
                + (f" Did you mean {near[0]}?" if near else "")
            )


def _check_scopes(gin: Any) -> None:
    """Raises for a scope that nothing reads, `trian/utils.DatasetConfig`."""
    texts = " ".join(_bindings(gin).values())
    read = {*SCOPES, *(scope for scopes in re.findall(r"@((?:\w+/)+)", texts) for scope in scopes.split("/"))}
    for scopes, selector in gin.config._CONFIG:
        for scope in scopes.split("/") if scopes and selector != "gin.macro" else ():
            if scope not in read:
                near = difflib.get_close_matches(scope, read, 1)
                name = f"{scopes}/{selector.rpartition('.')[2]}"
                raise LisaxError(
                    f"gin: {_place(*(key for key in _places if key.startswith(name)))}the scope {name} is set and nothing "
                    "reads it." + (f" Did you mean {near[0]}/?" if near else "")
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
    for name in sorted({*missing} - shipped_macros()):
        reader, place = _reader(gin, name)
        known = shipped_macros() | {one[1:] for one in bound if one.startswith("%")}
        near = difflib.get_close_matches(name, known - {name}, 1)
        raise LisaxError(
            f"gin: {place}the macro {name} is read and nothing sets it."
            + (f" Did you mean {near[0]}?" if near and near != [reader] else f" Give --gin.{name}=…")
        )
    if missing:
        raise LisaxError("these must be given: " + ", ".join(f"--gin.{name}=…" for name in sorted(missing)))


def _reader(gin: Any, macro: str) -> tuple[str, str]:
    """The name that is set to a macro, and the place where a file does that."""
    for (scope, selector), values in gin.config._CONFIG.items():
        for field, value in values.items():
            if re.search(rf"%{macro}\b", STRING.sub("''", repr(value))):
                if selector == "gin.macro":
                    return scope, _place(f"%{scope}")
                name = f"{selector.rpartition('.')[2]}.{field}"
                return name, _place(f"{scope}/{name}" if scope else name)
    return "", ""


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
    register("seqio", "Evaluator", t5x_names.evaluator)
    register("seqio", "JSONLogger", t5x_names.JsonLogger)
    register("seqio", "PyLoggingLogger", t5x_names.ignored)
    register("seqio", "TensorBoardLogger", t5x_names.ignored)
    register("seqio", "SentencePieceVocabulary", t5x_names.sentence_piece_vocabulary)
    register("seqio", "ByteVocabulary", t5x_names.byte_vocabulary)
    register("models", "EncoderDecoderModel", t5x_names.EncoderDecoderModel)
    register("models.EncoderDecoderModel", "predict_batch_with_aux", t5x_names.predict_batch_with_aux)
    register("network", "Transformer", t5x_names.transformer)
    register("decoding", "beam_search", t5x_names.beam_search)
    register("decoding", "temperature_sample", t5x_names.temperature_sample)
    register("gin_utils", "summarize_gin_config", t5x_names.ignored)
    register("adafactor", "standard_logical_factor_rules", t5x_names.standard_logical_factor_rules)
    register("partitioning", "standard_logical_axis_rules", partitioning.standard_logical_axis_rules)
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
def register(module: str, name: str, cls: Callable) -> None:
    """Lets gin files set the fields of a dataclass, or the arguments of a function, as `module.name.FIELD`, under T5X's
    names too."""
    import gin

    hints = typing.get_type_hints(cls)
    parameters = inspect.signature(cls).parameters

    # A function with its fields: gin would replace the class itself by a subclass.
    @functools.wraps(cls, updated=())
    def build(**given: Any) -> Any:
        try:
            fields, called, idle = t5x_names.as_ours(name, given)
            if name == "T5Config" and _bindings(gin)["Transformer"]:
                fields = t5x_names.network_fields(fields)
            if name == "EncoderDecoderModel":
                fields = t5x_names.encoder_decoder_model(**fields)
            if name in ("train", "eval", "infer"):
                fields = t5x_names.unpacked(fields, hints)
        except LisaxError as error:
            raise LisaxError(
                f"{_place(*(f'{name}.{field}' for field in given if field in str(error)))}{error}"
            ) from None
        _idle.update(idle)
        for field, value in fields.items():
            if not is_a(value, hints[field]):
                theirs = called.get(field, field)
                macros = re.findall(rf"'{theirs}': %(\w+)", _bindings(gin)[name])
                raise LisaxError(
                    f"{_place(f'%{macros[-1]}' if macros else f'{name}.{theirs}')}"
                    f"{name}.{theirs}{f' (set by {macros[-1]})' if macros else ''} must be "
                    f"{named(hints[field])}, found {shown(value)}"
                )
        return cls(**fields)

    # gin would look behind the wrapper for the parameters.
    del build.__wrapped__
    build.made = cls
    theirs = [field for field in t5x_names.fields_of(name) if field not in parameters]
    build.__signature__ = inspect.Signature(
        [*parameters.values(), *(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY) for field in theirs)]
    )
    gin.register(name, module=module)(build)
