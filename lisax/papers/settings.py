"""Records the settings that a stage's work reads.

A setting missing from a stage's digest could change, and the stage would still count as done. So the settings of a
stage are not listed by hand: its work reads the recipe through `View`, and cached properties of the run through `kept`
and `fact`, and each reports the settings it reads.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lisax.papers.staged import Staged

CONTENT = "content"  # metadata key of fields that hold paths: how to read the content of the path


class View:
    """A recipe that reports each setting that is read, by its name, to `see`.

    A setting is a field (`seed`); a property, for which its own value counts and not what it is made of; an entry of a
    mapping (`train.rank`), whether it exists (`train.rank?`), or the names of all (`train.*`); or a setting of a
    dataclass in a field (`sizes.width`). Methods of the recipe get the view as `self`."""

    def __init__(self, recipe: Any, see: Callable[[str], None], prefix: str = ""):
        self._recipe, self._see, self._prefix = recipe, see, prefix
        self._fields = frozenset(field.name for field in dataclasses.fields(recipe))

    def __getattr__(self, name: str) -> Any:
        recipe, found = self._recipe, inspect.getattr_static(type(self._recipe), name, None)
        if isinstance(found, FunctionType):
            return MethodType(found, self)
        value, setting = getattr(recipe, name), f"{self._prefix}{name}"
        if name not in self._fields and not isinstance(found, (property, functools.cached_property)):
            return value
        if isinstance(value, Mapping):
            return _Entries(value, self._see, setting)
        if dataclasses.is_dataclass(value):
            return View(value, self._see, f"{setting}.")
        self._see(setting)
        return value


class _Entries(Mapping):
    """A mapping in a recipe, which reports what is read of it."""

    def __init__(self, entries: Mapping[str, Any], see: Callable[[str], None], field: str):
        self._entries, self._see, self._field = entries, see, field

    def __getitem__(self, key: str) -> Any:
        self._see(f"{self._field}.{key}")
        return self._entries[key]

    def __contains__(self, key: object) -> bool:
        self._see(f"{self._field}.{key}?")
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        self._see(f"{self._field}.*")
        return iter(self._entries)

    def __len__(self) -> int:
        self._see(f"{self._field}.*")
        return len(self._entries)


def value_of(recipe: Any, setting: str) -> Any:
    """The value of a setting as `View` names it. For a gin file, a vocabulary or a model this is the content, not the
    path.

    None for an entry that does not exist; raises `AttributeError` for a field or property that does not."""
    name, _, entry = setting.partition(".")
    value = getattr(recipe, name)
    if dataclasses.is_dataclass(value):
        return value_of(value, entry)
    if entry == "*":
        return list(value)
    if entry.endswith("?"):
        return entry[:-1] in value
    if entry:
        value = value.get(entry)
    read = next((field.metadata.get(CONTENT) for field in dataclasses.fields(recipe) if field.name == name), None)
    return value if read is None or value is None else read(value)


class _Property:
    """A property of a run, computed by a method of its name."""

    def __init__(self, compute: Callable[[Any], Any]):
        self._compute = compute
        functools.update_wrapper(self, compute)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name


class kept(_Property):
    """A property of a run that is computed once. Reading it counts as reading the settings it was computed from."""

    def __get__(self, run: Staged | None, owner: type | None = None) -> Any:
        if run is None:
            return self
        if self._name not in run.__dict__:
            seen: dict[str, None] = {}
            with run.seen_by(seen.setdefault):
                value = self._compute(run)
            run.__dict__[self._name] = value, tuple(seen)
        value, seen = run.__dict__[self._name]
        for setting in seen:
            run.see(setting)
        return value

    def __set__(self, run: Staged, value: Any) -> None:
        run.__dict__[self._name] = value, ()


class fact(_Property):
    """A property of a run that counts as a setting itself, like the files of its data: its own value is noted."""

    def __get__(self, run: Staged | None, owner: type | None = None) -> Any:
        if run is None:
            return self
        run.see(self._name)
        with run.seen_by(None):
            return self._compute(run)
