"""Things that are found by name, each registered by the module that defines it.

A registry knows the package its members live in. A name that is not registered yet is looked for in
the module of that name, so that nothing heavy is imported before it is asked for; other installed
packages add members by an entry point.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from lmmscore.errors import LmmscoreError, nearest

Member = TypeVar("Member")


class Registry(Generic[Member]):
    """Members of one kind, by name."""

    def __init__(self, kind: str, package: str, *, group: str = "") -> None:
        self.kind = kind
        """What a member is called in messages: `engine`, `format`."""
        self._package = package
        self._group = group
        self._members: dict[str, Member] = {}

    def register(self, name: str) -> Callable[[Member], Member]:
        """Return a decorator that adds its subject under a name."""

        def add(member: Member) -> Member:
            self._members[name] = member
            return member

        return add

    def find(self, name: str) -> Member | None:
        """Return the member of that name, or None."""
        if name not in self._members:
            self._import(name)
        return self._members.get(name)

    def get(self, name: str) -> Member:
        """Return the member of that name. Raises LmmscoreError, with the names there are."""
        member = self.find(name)
        if member is None:
            known = ", ".join(self.names())
            raise LmmscoreError(
                f"no {self.kind} {name!r}{nearest(name, self.names())}; known: {known}"
            )
        return member

    def names(self) -> list[str]:
        """Return every name there is; imports all modules of the package."""
        for module in self._modules():
            self._import(module)
        return sorted({*self._members, *(point.name for point in self._points())})

    def _import(self, name: str) -> None:
        module = name.replace("-", "_")
        if module in self._modules():
            importlib.import_module(f"{self._package}.{module}")
            return
        for point in self._points():
            if point.name == name:
                self._members[name] = self._load(point)

    def _load(self, point: importlib.metadata.EntryPoint) -> Member:
        try:
            member: Member = point.load()
        except Exception as error:
            raise LmmscoreError(
                f"the {self.kind} {point.name} of {point.value} cannot be loaded ({error!r}); "
                "update or uninstall the package that brings it"
            ) from error
        return member

    def _modules(self) -> set[str]:
        path = importlib.import_module(self._package).__path__
        return {module.name for module in pkgutil.iter_modules(path)}

    def _points(self) -> Iterator[importlib.metadata.EntryPoint]:
        if self._group:
            yield from entry_points(group=self._group)
