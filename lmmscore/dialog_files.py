"""Dialogs by name or file, and suites: several dialogs as one protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from lmmscore.dialog import Dialog
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.resources import bundled
from lmmscore.rules import Formula, Overall, RulePart, faults_of, formula
from lmmscore.yaml_files import StrictModel, line_at, parse_model, parse_yaml, read_text


class Suite(StrictModel):
    """Several dialogs about the same edits, combined into one overall score."""

    suite: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="The name.")
    version: int = Field(ge=1, description="Raised whenever the members or the rules change.")
    title: str = Field(description="What it is, in a line.")
    about: str = Field("", description="What it does, in a few sentences.")
    format: Literal[1, 2] = Field(1, description="Which version of this language it is written in.")
    members: tuple[str, ...] = Field(
        min_length=1,
        description="Dialogs, in the order they are played. Format 2: suites too.",
    )
    combine: Literal["mean", "geometric"] | None = Field(
        None, description="How the members' overalls become one; format 2 has `overall` for it."
    )
    overall: Overall | None = Field(
        None, description="Format 2: the rule by which the members' overalls become one."
    )
    gate: bool = Field(
        False, description="Where a member's overall is 0, later members are not asked and count 0."
    )

    @model_validator(mode="after")
    def _one_rule(self) -> Suite:
        if self.format == 1 and self.overall is not None:
            raise ValueError("overall needs `format: 2`; format 1 has `combine`")

        if (self.combine is None) == (self.overall is None):
            raise ValueError(f"give {'combine' if self.format == 1 else 'overall'}, and just that")

        if self.overall in ("none", "weighted", "bradley-terry"):
            raise ValueError(
                f"overall: {self.overall} has no place in a suite; spell out another rule"
            )

        return self

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite

    @property
    def rule(self) -> Overall:
        """How the members' overalls become one."""
        return self.overall or self.combine or "none"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A suite with what its members are, which may be suites in turn."""

    suite: Suite
    members: tuple[Dialog | Ensemble, ...]

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite.name

    @property
    def dialogs(self) -> tuple[Dialog, ...]:
        """All dialogs, in the order they are played."""
        found: list[Dialog] = []
        for member in self.members:
            found += [member] if isinstance(member, Dialog) else member.dialogs

        return tuple(found)

    def kept_in(self, folder: Path) -> Ensemble:
        """Return the suite with its dialogs' own pictures in folders of this one."""
        return Ensemble(self.suite, tuple(member.kept_in(folder) for member in self.members))

    @property
    def formula(self) -> Formula:
        """The overall as a function of the members' overalls. Raises where a member has none."""
        parts = []
        for member in self.members:
            inner = member.formula
            if inner is None:
                raise DialogError(
                    f"suite {self.name}: {member.name} gives no overall; give it an `overall`"
                )

            parts.append(RulePart(member.name, inner.ends))

        for fault in faults_of(self.suite.rule, parts):
            raise DialogError(f"suite {self.name}: {fault}")

        found = formula(self.suite.rule, parts)
        assert found is not None, "a suite always has a rule"
        return found


def ensemble_of(suite: Suite, inner: Sequence[Suite], dialogs: Sequence[Dialog]) -> Ensemble:
    """Return a suite put together from its parts, which are known by their names."""
    found: dict[str, Dialog | Suite] = {dialog.name: dialog for dialog in dialogs}
    found |= {each.name: each for each in inner}
    members: list[Dialog | Ensemble] = []
    for name in suite.members:
        member = found[name]
        if isinstance(member, Dialog):
            members.append(member)
        else:
            members.append(ensemble_of(member, inner, dialogs))

    return Ensemble(suite, tuple(members))


def dialog_folders() -> list[Path]:
    """Return where dialogs are looked for by name: the working folder's dialogs/,
    then the bundled ones."""
    return [folder for folder in (Path("dialogs"), bundled("dialogs")) if folder.is_dir()]


def dialog_names() -> list[str]:
    """Return the names of all dialogs and suites at hand."""
    return sorted({path.stem for folder in dialog_folders() for path in folder.glob("*.yaml")})


def find_dialog(name: str, beside: Path | None = None) -> Path:
    """Return the file of a dialog given by name or path; a suite's members may lie beside it."""
    if name.endswith((".yaml", ".yml")):
        near = beside / name if beside else None
        return near if near is not None and near.is_file() else Path(name)

    folders = dialog_folders() if beside is None else [beside, *dialog_folders()]
    for folder in folders:
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"

    known = dialog_names()
    raise DialogError(
        f"no dialog {name!r}{nearest(name, known)} (there are: {', '.join(known)}; or give a file)"
    )


def is_bundled(name: str) -> bool:
    """Tell whether a name means a dialog that comes with lmmscore."""
    try:
        return find_dialog(name).parent == bundled("dialogs")
    except DialogError:
        return False


def load(name: str) -> Dialog | Suite:
    """Return the dialog or suite given by name or path."""
    return _load_file(find_dialog(name))


def _load_file(path: Path) -> Dialog | Suite:
    text = read_text(path)
    data = parse_yaml(text, str(path))
    try:
        if isinstance(data, dict) and "suite" in data:
            return parse_model(Suite, text, str(path))

        return parse_model(Dialog, text, str(path)).beside(path.parent)
    except FileProblem as error:
        raise DialogError(str(error)) from error


def load_dialog(name: str) -> Dialog:
    """Return the dialog given by name or path; a suite is refused."""
    loaded = load(name)
    if isinstance(loaded, Suite):
        raise DialogError(
            f"{name} is a suite of {', '.join(loaded.members)}; name one of these here"
        )

    return loaded


def load_members(name: str) -> Dialog | Ensemble:
    """Return what to play for a name: a dialog, or a suite with all its members."""
    return _load_members(find_dialog(name), ())


def _load_members(path: Path, inside: tuple[Path, ...]) -> Dialog | Ensemble:
    loaded = _load_file(path)
    if isinstance(loaded, Dialog):
        return loaded

    if path.resolve() in inside:
        raise DialogError(f"{path}: the suite holds itself; take it out of its members")

    # Where a suite of format 1 finds its members stays what it was.
    beside = path.parent if loaded.format == 2 else None
    found = []
    for number, name in enumerate(loaded.members):
        try:
            member_path = find_dialog(name, beside)
        except DialogError as error:
            where = line_at(path, "members", number)
            raise DialogError(f"{where}: members: {error}") from error

        member = _load_members(member_path, (*inside, path.resolve()))
        if loaded.format == 1 and isinstance(member, Ensemble):
            raise DialogError(f"{path}: {name} is a suite; a suite of suites needs `format: 2`")

        found.append(member)

    # From here on members go by their names, wherever their files were.
    named = loaded.model_copy(update={"members": tuple(member.name for member in found)})
    return Ensemble(named, tuple(found))
