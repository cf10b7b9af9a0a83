"""Registries and options: what is found by name, and what a user may set."""

from __future__ import annotations

import importlib
import operator
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lmmscore.errors import LmmscoreError, alternatives, nearest

# --------------------------------------------------------------------------------------------------
# Things that are found by name, each registered by the module that defines it.
#
# A registry knows the package its members live in. A name that is not registered yet is looked
# for in the module of that name, so that nothing heavy is imported before it is asked for; other
# installed packages add members by an entry point.
# --------------------------------------------------------------------------------------------------

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
            raise LmmscoreError(f"no {self.kind} {name!r}{alternatives(name, self.names())}")

        return member

    def names(self) -> list[str]:
        """Return every name there is; imports all modules of the package."""
        for module in self._modules():
            self._import(module)
        return sorted({*self._members, *(point.name for point in self._points())})

    def _import(self, name: str) -> None:
        """Import the module a member lives in, or load it from the package that brings it."""
        module = name.replace("-", "_")
        if module in self._modules():
            importlib.import_module(f"{self._package}.{module}")
            return

        for point in self._points():
            if point.name == name:
                # Loading it may have registered it, as the modules of the package do.
                self._members.setdefault(name, self._load(point))

    def _load(self, point: importlib.metadata.EntryPoint) -> Member:
        """Return what another package registered; whatever it raises becomes an LmmscoreError."""
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


# --------------------------------------------------------------------------------------------------
# Options, each declared once: a field of a dataclass, with its description.
#
# The flags of the command line, the keys of judges.yaml, the arguments of Python and the
# reference all derive from such a declaration.
# --------------------------------------------------------------------------------------------------

# The groups in which the help of a command lists its options, the most needed first.
JUDGED = "What is judged, and by whom"
COST = "What it may cost"
ANSWERS = "How the judge answers"
PICTURES = "How pictures are sent"
MACHINES = "Many machines, or half the price"
GROUPS = (JUDGED, COST, ANSWERS, PICTURES, MACHINES)


@dataclass(frozen=True, slots=True)
class Option:
    """The description of an option besides its name, type and default."""

    help: str
    flag: str = ""
    """Its name on the command line, if it has one."""
    short: str = ""
    """A second, short name there."""
    metavar: str = ""
    """The placeholder for its value in the help."""
    group: str = ""
    """The group of the help that lists it; "" for the last one."""
    section: str | None = None
    """Its section of an entry of judges.yaml, "" for the top; None if it is not a key there."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    pattern: str = ""
    """What a text, or each value of a mapping, must match."""
    required: bool = False
    """Whether an entry of judges.yaml must have it, though Python need not."""


def option(default: Any, help: str, **about: Any) -> Any:
    """Declare a field of a class of options. A mapping as default is copied for each instance."""
    metadata = {"option": Option(help, **about)}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def same_as(options: type, name: str) -> Any:
    """Declare a field that another class of options has as well; only its type is repeated."""
    known = next(each for each in fields(options) if each.name == name)
    if callable(known.default_factory):
        return field(default_factory=known.default_factory, metadata=known.metadata)
    return field(default=known.default, metadata=known.metadata)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of a benchmark, and where its pictures are.

    Declared here and not with a run's other options: the commands that take only these start
    without loading judges.
    """

    tasks: tuple[str, ...] = option(
        (), "Only this task category; may be repeated.", flag="--task", group=JUDGED
    )
    items: tuple[str, ...] = option(
        (), "Only this item; may be repeated.", flag="--item", group=JUDGED
    )
    settings: Mapping[str, str] = option(
        {},
        "A setting of the dialog, for example against=source.",
        flag="--setting",
        metavar="NAME=CHOICE",
        group=JUDGED,
    )
    root: Path | None = option(
        None,
        "The folder the pictures are in, in place of `root:` in the file; needed where that "
        "leads outside the file's own folder.",
        flag="--root",
        metavar="FOLDER",
        group=JUDGED,
    )


@dataclass(frozen=True, slots=True)
class Declared:
    """An option with its name, type and default."""

    name: str
    type: Any
    default: Any
    about: Option

    @property
    def kinds(self) -> tuple[Any, ...]:
        """What a value may be, None aside: one type, several, or the texts to choose from."""
        found: list[Any] = []
        for kind in _alternatives(self.type):
            found += get_args(kind) if get_origin(kind) is Literal else [kind]
        return tuple(kind for kind in found if kind not in (type(None), ""))


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union; any other type by itself."""
    is_union = isinstance(kind, UnionType) or get_origin(kind) is Union
    return get_args(kind) if is_union else (kind,)


@cache
def declared(options: type) -> tuple[Declared, ...]:
    """Return the options that a class declares, in its order."""
    types = get_type_hints(options)
    found = []
    for each in fields(options):
        about = each.metadata.get("option")
        if about is not None:
            default = each.default_factory() if callable(each.default_factory) else each.default
            found.append(Declared(each.name, types[each.name], default, about))

    return tuple(found)


def taken(options: type, given: Mapping[str, Any], whose: str) -> dict[str, Any]:
    """Return values from Python as a class of options holds them: paths, tuples, copies.

    Raises TypeError, as Python does, for a name that is not among them, and LmmscoreError for a
    value that the command line would refuse.
    """
    known = {each.name: each for each in declared(options)}
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{whose} has no option {name!r}{nearest(name, known)}")

        # None says "not given" for any of them.
        if value is not None:
            made[name] = _as_held(known[name], value)

    return made


def _as_held(option: Declared, value: Any) -> Any:
    """Return a value from Python in the type of its field."""
    kinds = option.kinds
    if Path in kinds:
        # An empty path would be the folder one happens to be in.
        if value == "":
            raise LmmscoreError(f"{option.name} is empty; name a path, or leave it out")
        return Path(value)

    origin = get_origin(kinds[0]) if kinds else None
    if origin is tuple:
        # A text is a sequence of letters too, which nobody means.
        return (value,) if isinstance(value, str) else tuple(value)
    if kinds == (int,):
        return _whole_number(option, value)

    is_choice = all(isinstance(kind, str) for kind in kinds)
    if is_choice and value not in (*kinds, option.default):
        raise LmmscoreError(f"{option.name}={value!r}{alternatives(str(value), kinds)}")
    return dict(value) if isinstance(value, Mapping) else value


def _whole_number(option: Declared, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise LmmscoreError(f"{option.name}={value!r}: must be a whole number") from None

    least = option.about.at_least
    if least is not None and number < least:
        raise LmmscoreError(f"{option.name}={value!r}: must be at least {least:g}")
    return number
