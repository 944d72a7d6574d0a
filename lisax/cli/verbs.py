"""Builds the click commands of the command line from typed functions.

click starts fastest of the libraries with groups of verbs (milliseconds of processor time that the import adds to
Python's own: click 20, typer 45, cyclopts 65, tyro 70, simple-parsing 100), and its errors name the option and the
valid values. It cannot read options from a function's annotations; `Verb.of` does that. The types below check the
values.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import click

from lisax.devices.workers import Workers
from lisax.files.places import fetched, index_at, local, place, target

# The groups of `lisax --help` with their verbs. Each verb is the module of that name, imported when it is used.
GROUPS = {
    "Use trained models": ("check", "ask", "serve", "probe", "models"),
    "Build, step by step": ("index", "retrieve", "rerank", "verify", "answer", "verbalize"),
    "Train": ("train", "eval", "infer", "plan", "export", "checkpoint"),
    "Papers": ("demo", "run", "reproduce", "attack"),
    "Data and figures": ("data", "cache", "feedback", "score"),
}
NAMES = tuple(name for names in GROUPS.values() for name in names)
METAVARS = {"integer": "N", "integer range": "N", "float": "X", "float range": "P", "text": "TEXT"}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Built(click.ParamType):
    """A value that a function builds from its text."""

    def __init__(self, name: str, made: Callable[[str], Any]):
        self.name, self.made = name, made

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.made(value)


class PathAt(Built):
    """A path, built by one of the functions of `lisax.files.places`, which define its allowed locations. `writes`: the
    file is replaced, and no other parameter may name it."""

    def __init__(self, made: Callable[[str], Path], writes: bool = False):
        super().__init__("path", made)
        self.writes = writes


Local = Annotated[Path, PathAt(local)]  # on this machine
Indexed = Annotated[Any, PathAt(index_at)]  # a folder on this machine, or an address of a cluster
Fetched = Annotated[Path, PathAt(fetched)]  # read; may be in a bucket
IndexRead = Annotated[Any, PathAt(functools.partial(index_at, read=fetched))]  # as `Indexed`; may be in a bucket
Place = Annotated[Path, PathAt(place)]  # to read and write; may be in a bucket
Target = Annotated[Path, PathAt(target, writes=True)]  # a new file
TargetPlace = Annotated[Path, PathAt(functools.partial(target, at=place), writes=True)]  # the same, or in a bucket
STREAM = Path("-")  # standard input or output
Count = Annotated[int, click.IntRange(min=1)]
Port = Annotated[int, click.IntRange(0, 65535)]
Probability = Annotated[float, click.FloatRange(0, 1)]
Rate = Annotated[float, click.FloatRange(min=0, min_open=True)]  # a second


@dataclasses.dataclass(frozen=True)
class Option:
    """The help of an option, annotated with its type. `default` is the default to show where the function computes it;
    `names` are the flags if they differ from the parameter's name with dashes (T5X's flags do)."""

    help: str
    metavar: str | None = None
    default: str | None = None
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Argument:
    """The help of an argument, which is given without a name."""

    help: str
    metavar: str


AtWorkers = Annotated[
    Workers | None,
    Built("workers", Workers.of),
    Option(
        "Use the workers of a Ray cluster: HOST:6379, ray://HOST:10001, or `ray`, which joins the cluster of this machine "
        "or starts one for the command; `ray,4` for four workers. The output is the same.",
        "ADDRESS",
        "this process",
    ),
]
SkipBad = Annotated[
    bool, Option("Skip bad lines of the claims, name them on standard error and print their number; else an error.")
]


class Verb(click.Command):
    """A command built from a function: its parameters are the options; its docstring is the help and ends with the
    examples. A dataclass parameter expands to its fields, which several verbs share."""

    @classmethod
    def of(cls, function: Callable[..., int | None], name: str) -> Verb:
        groups = {}

        def called(**given: Any) -> int | None:
            for group, (kind, fields) in groups.items():
                given[group] = kind(**{field: given.pop(field) for field in fields})
            return function(**given)

        parameters = []
        for parameter, hint, default in _annotated(function):
            if dataclasses.is_dataclass(hint):
                shared = list(_annotated(hint))
                groups[parameter] = hint, [field for field, *_ in shared]
                parameters += [_parameter(*field) for field in shared]
            else:
                parameters.append(_parameter(parameter, hint, default))
        text, examples = _described(function)
        return cls(
            name, callback=called, params=parameters, help=text, epilog=examples, context_settings=dict(SETTINGS)
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_gin = any(parameter.name == "gin_bindings" for parameter in self.params)
        if takes_gin and any(word.startswith("--gin.") for word in args):
            from lisax.training.gin_files import rewrite_gin_flags

            args = rewrite_gin_flags(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        from lisax.devices.platforms import choose_platforms

        self._check_written(ctx)
        choose_platforms()
        try:
            return super().invoke(ctx) or 0
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # so that the message shows this verb's usage
            raise

    def _check_written(self, ctx: click.Context) -> None:
        """Raises UsageError if a file that is written is that of another parameter."""
        named: dict[str, click.Parameter] = {}
        paths = [parameter for parameter in self.params if isinstance(parameter.type, PathAt)]
        for parameter in sorted(paths, key=lambda one: one.type.writes):
            given = ctx.params[parameter.name]
            for path in given if isinstance(given, tuple) else [given]:
                if not isinstance(path, Path) or path == STREAM:
                    continue
                other = named.setdefault(os.path.realpath(path), parameter)
                if parameter.type.writes and other is not parameter:
                    raise click.BadParameter(f"{path} is the file of {other.get_error_hint(ctx)}", ctx, parameter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples" if "\nlisax " in self.epilog else "Example"):
            shown = re.sub(r"(\\\n) *", r"\1    ", self.epilog)  # continuation lines are indented
            formatter.write(textwrap.indent(f"{shown}\n", " " * formatter.current_indent))


class Group(click.Group):
    """Verbs, listed in `sections`, {heading: their names}."""

    sections: Mapping[str, Sequence[str]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in self.sections.values() for name in names]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list]:
        """Raises an error that suggests the nearest verb, if the arguments begin with an unknown one."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], names, n=1)
            there = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
            raise click.UsageError(f"there is no verb '{args[0]}'; {there}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the verbs, each with its first example on a second line."""
        for heading, names in self.sections.items():
            with formatter.section(heading):
                indent, width = " " * formatter.current_indent, max(map(len, names))
                for name in names:
                    verb = self.get_command(ctx, name)
                    purpose = verb.help.partition("\n\n")[0].replace("\n", " ").removesuffix(".")
                    example = re.sub(r"\s*\\$", " …", verb.epilog.splitlines()[0])
                    formatter.write(f"{indent}{name:{width}}  {purpose}\n{indent}{'':{width}}    $ {example}\n")


class VerbGroup(Group):
    """The verbs of a module: the functions in its `VERBS`, by their names."""

    @classmethod
    def of(cls, module: types.ModuleType, name: str) -> VerbGroup:
        text, examples = _described(module)
        verbs = [Verb.of(function, _dashed(function.__name__)) for function in module.VERBS]
        made = cls(
            name,
            commands={verb.name: verb for verb in verbs},
            help=text,
            epilog=examples,
            context_settings=dict(SETTINGS),
            subcommand_metavar="VERB …",
        )
        made.sections = {"Verbs": list(made.commands)}
        return made

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes nothing: the group's verbs are already listed with an example each."""


class Root(Group):
    """`lisax` itself: the verbs of `GROUPS`, each imported when it is used."""

    sections = GROUPS

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in NAMES:
            return None
        module = importlib.import_module(f"lisax.cli.{name}")
        return VerbGroup.of(module, name) if hasattr(module, "VERBS") else Verb.of(getattr(module, name), name)


# --- Parameters ---------------------------------------------------------------------------------------------------


def _annotated(what: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields (name, annotation, default) of each parameter of a function or a dataclass."""
    hints = typing.get_type_hints(what, include_extras=True)
    for parameter in inspect.signature(what).parameters.values():
        yield parameter.name, hints[parameter.name], parameter.default


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    said = next(given for given in hint.__metadata__ if isinstance(given, Option | Argument))
    kind, repeats = _value_type(hint)
    is_needed = default is inspect.Parameter.empty
    if isinstance(said, Argument):
        metavar = said.metavar if is_needed else f"[{said.metavar}]"
        return click.Argument(
            [name], type=kind, metavar=metavar, nargs=-1 if repeats else 1, required=is_needed, help=said.help
        )
    flags = said.names or ("--" + name.replace("_", "-"),)
    if kind is click.BOOL:
        if default is True:
            flags = [f"{flag}/--no-{flag.removeprefix('--')}" for flag in flags]
        return click.Option([*flags, name], is_flag=True, default=bool(default), help=said.help)
    has_default = not is_needed and default not in (None, ())
    help = [said.help]
    if said.metavar and isinstance(kind, click.Choice):
        help.append(f"One of {', '.join(kind.choices)}.")
    if repeats:
        help.append("Repeatable.")
    if said.default:
        help.append(f" [default: {said.default}]")
    return click.Option(
        [*flags, name],
        type=kind,
        metavar=said.metavar or METAVARS.get(kind.name),
        multiple=repeats,
        required=is_needed,
        show_default=has_default and not said.default and default != "",
        help=" ".join(help),
        **({"default": default} if has_default else {}),  # a default of None would make a required option optional
    )


def _value_type(hint: Any) -> tuple[click.ParamType, bool]:
    """A parameter's value type, and whether it takes several values, from its annotation."""
    for given in getattr(hint, "__metadata__", ()):
        if isinstance(given, click.ParamType):
            return given, False
    if get_origin(hint) is Annotated:
        return _value_type(get_args(hint)[0])
    if get_origin(hint) in (types.UnionType, typing.Union):  # T | None
        return _value_type(next(part for part in get_args(hint) if part is not type(None)))
    if get_origin(hint) is tuple:  # tuple[T, ...]
        return _value_type(get_args(hint)[0])[0], True
    if get_origin(hint) is Literal:
        return click.Choice(get_args(hint)), False
    return click.types.convert_type(hint), False


# --- Help -----------------------------------------------------------------------------------------------------------


def _dashed(name: str) -> str:
    """`udt_qa` as `udt-qa`; `import_` and `list_` as `import` and `list`."""
    return name.rstrip("_").replace("_", "-")


def _described(what: Any) -> tuple[str, str]:
    """Splits a docstring into text and examples. The examples are its last paragraph, which begins with `lisax`."""
    text, *examples = re.split(r"\n\n *(?=lisax )", inspect.cleandoc(what.__doc__))
    return text, inspect.cleandoc("\n\n".join(examples))
