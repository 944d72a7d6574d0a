"""Which settings the work of a stage may read: those that it declares, and those of the stages before it.

A stage whose digest lacked a setting that its work reads would be taken for done when that setting changes. So the work
sees the recipe through `View`, and what a run keeps of it through `kept` and `fact`: reading anything undeclared is an
error, on the first run and on every later one.
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
    """The work of a stage reads a setting that the stage does not declare: a mistake in the program."""


class View:
    """A recipe whose settings are noted in `seen` as they are read, and refused where `declared` has not got them.

    `declared` None allows all. Properties and methods of the recipe see the view in its place, so that what they read
    is noted too; a property that is declared by its own name is not looked into."""

    def __init__(self, recipe: Any, declared: Collection[str] | None = None, stage: str = ""):
        self._recipe, self._stage = recipe, stage
        self._declared = None if declared is None else frozenset(declared)
        self._fields = frozenset(field.name for field in dataclasses.fields(recipe))
        self.seen: set[str] = set()

    def inner(self) -> View:
        """Another view of the same stage, which notes by itself."""
        return View(self._recipe, self._declared, self._stage)

    def see(self, setting: str) -> None:
        """Notes that a setting is read; raises `UndeclaredSetting` where the stage does not declare it.

        An entry of a mapping is declared with the mapping (`train`) or by itself (`train.rank`)."""
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
    """A field of a recipe that is a mapping: an entry counts as read, or the whole where its names are asked for."""

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
    """A property of a run that is computed once. Who reads it reads the settings that it was computed from."""

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
    """A property of a run that is a setting itself, as the files of its data are: stages that use it name it in their
    `reads`, and not what it is derived from."""

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
