"""Restricts the settings that a stage's work may read to those declared by the stage or by the stages before it.

If a stage's digest lacked a setting that its work reads, the stage would count as done after that setting changes. So
the work reads the recipe through `View`, and cached properties of the run through `kept` and `fact`: reading an
undeclared setting is an error, on the first run and on every later one.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lisax.papers.staged import Staged


class UndeclaredSetting(Exception):
    """A stage's work read a setting that the stage does not declare: a bug in the program."""


class View:
    """A recipe that records in `seen` which settings are read, and refuses settings that are not in `declared`.

    `declared` None allows all. Properties and methods of the recipe get the view as `self`, so that the settings they
    read are recorded too; a property that is declared by its own name is not traced further."""

    def __init__(self, recipe: Any, declared: Collection[str] | None = None, stage: str = ""):
        self._recipe, self._stage = recipe, stage
        self._declared = None if declared is None else frozenset(declared)
        self._fields = frozenset(field.name for field in dataclasses.fields(recipe))
        self.seen: set[str] = set()

    def inner(self) -> View:
        """Another view of the same stage with its own record."""
        return View(self._recipe, self._declared, self._stage)

    def see(self, setting: str) -> None:
        """Records that a setting is read; raises `UndeclaredSetting` where the stage does not declare it.

        An entry of a mapping is declared by the mapping (`train`) or by itself (`train.rank`)."""
        declared = self._declared
        if declared is not None and setting not in declared and setting.partition(".")[0] not in declared:
            raise UndeclaredSetting(
                f"stage {self._stage} reads the setting '{setting}' and does not declare it: name it in the stage's "
                "`reads`, or the stage is not made again when it changes"
            )
        self.seen.add(setting)

    def __getattr__(self, name: str) -> Any:
        recipe = self._recipe
        if name in self._fields:
            value = getattr(recipe, name)
            if isinstance(value, Mapping):
                return _Entries(self, name, value)
            self.see(name)
            return value
        found = inspect.getattr_static(type(recipe), name, None)
        if isinstance(found, property):
            if self._declared is not None and name in self._declared:
                self.seen.add(name)
                return getattr(recipe, name)
            return found.fget(self)
        return MethodType(found, self) if isinstance(found, FunctionType) else getattr(recipe, name)


class _Entries(Mapping):
    """A mapping in a recipe. Reading an entry records that entry; iterating over it records the whole mapping."""

    def __init__(self, view: View, field: str, entries: Mapping[str, Any]):
        self._view, self._field, self._entries = view, field, entries

    def __getitem__(self, key: str) -> Any:
        self._view.see(f"{self._field}.{key}")
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        self._view.see(self._field)
        return iter(self._entries)

    def __len__(self) -> int:
        self._view.see(self._field)
        return len(self._entries)


class kept:
    """A property of a run that is computed once. Reading it counts as reading the settings it was computed from."""

    def __init__(self, compute: Callable[[Any], Any]):
        self._compute = compute
        functools.update_wrapper(self, compute)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, run: Staged | None, owner: type | None = None) -> Any:
        if run is None:
            return self
        if self._name not in run.__dict__:
            with run.seeing() as view:
                value = self._compute(run)
            run.__dict__[self._name] = value, frozenset(view.seen)
        value, seen = run.__dict__[self._name]
        for setting in seen:
            run.see(setting)
        return value

    def __set__(self, run: Staged, value: Any) -> None:
        run.__dict__[self._name] = value, frozenset()


class fact:
    """A property of a run that counts as a setting itself, like the files of its data: stages declare its name in
    `reads`, not the settings it is derived from."""

    def __init__(self, derive: Callable[[Any], Any]):
        self._derive = derive
        functools.update_wrapper(self, derive)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, run: Staged | None, owner: type | None = None) -> Any:
        if run is None:
            return self
        run.see(self._name)
        with run.seeing(all_settings=True):
            return self._derive(run)
