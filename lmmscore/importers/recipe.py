"""Recipes: the whole protocol of a published benchmark, its words read from the user's own clone.

A recipe is data, one file each in `recipes/`: where the words lie in the clone, and the dialog
around them. The words belong to their authors and are not part of lmmscore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from lmmscore.conversation import escape
from lmmscore.errors import DialogError, FileProblem, nearest
from lmmscore.importers.document import REPAIR, dialog_name, dump_dialog, read_words
from lmmscore.yaml_files import StrictModel, load_yaml, validate

_FOLDER = Path(__file__).with_name("recipes")


class PublishedWords(StrictModel):
    """Words of the clone as a turn says them."""

    words: tuple[str, ...] = Field(min_length=1, description="Texts by name, joined by new lines.")
    fill: dict[str, str] = Field(
        default_factory=dict, description="The slot that takes the place of each placeholder."
    )
    without: str = Field("", description="The name of a text that is cut out, where it is there.")
    python: bool = Field(
        False, description="The words went through str.format: {{ and }} mean single braces."
    )
    strip: bool = Field(False, description="White space at both ends goes, as in their code.")
    then: str = Field("", description="What follows the words: pictures, and labels between them.")


class ProtocolRecipe(StrictModel):
    """The protocol of a published benchmark, without its words."""

    recipe: str = Field(description="The name.")
    aliases: tuple[str, ...] = Field((), description="Other names it is asked for by.")
    title: str = Field(description="What it is, in a line.")
    code: str = Field(description="Where the code is published.")
    reproduces: str = Field(description="What of the published protocol is the same.")
    differs: str = Field(description="What is not.")
    needs: tuple[str, ...] = Field((), description="What the benchmark must have.")
    files: dict[str, str] = Field(
        description="Texts by name: FILE, FILE.py:NAME or FILE.json:key, relative to the clone."
    )
    optional: tuple[str, ...] = Field((), description="Texts that the clone may lack.")
    dialog: dict[str, Any] = Field(
        description="The dialog; `say` and `system` hold words by name, or a list of such."
    )

    def described(self) -> dict[str, Any]:
        """Return what a program may want to know of it."""
        return self.model_dump(
            include={"recipe", "title", "code", "reproduces", "differs", "needs"}
        )


@dataclass(frozen=True, slots=True)
class Followed:
    """The dialog a recipe gave."""

    name: str
    text: str
    notes: tuple[str, ...]


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load_recipe(name: str) -> ProtocolRecipe:
    """Return the recipe of that name; neither capitals nor hyphens matter."""
    wanted = _plain(name)
    for known in recipe_names():
        path = _FOLDER / f"{known}.yaml"
        recipe = validate(ProtocolRecipe, load_yaml(path), path.name)
        if wanted in {_plain(each) for each in (recipe.recipe, *recipe.aliases)}:
            return recipe

    names = recipe_names()
    hint = nearest(name.lower(), names)
    raise DialogError(f"no recipe {name!r}{hint}; there are: {', '.join(names)}")


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def follow(recipe: ProtocolRecipe, clone: Path, name: str | None = None) -> Followed:
    """Return the dialog of a recipe with the words of the clone. Raises where words are missing."""
    if not clone.is_dir():
        raise FileProblem(f"{clone}: no such folder; clone {recipe.code} and name its folder")

    texts = _read_texts(recipe, clone)
    words = _RecipeWords(recipe, texts)
    dialog = dialog_name(name or recipe.recipe)
    head = {
        "dialog": dialog,
        "version": 1,
        "title": recipe.title,
        "origin": recipe.code,
        "format": 2,
    }
    body = {key: value for key, value in recipe.dialog.items() if key != "turns"}
    if "system" in body:
        body["system"] = words.said(body["system"], "system")

    turns = [words.turn(turn) for turn in recipe.dialog["turns"]]
    data = {**head, **body, "turns": turns, "repair": {"say": REPAIR}}

    comments = [
        f"# Made by the recipe {recipe.recipe} from a clone of {recipe.code}.",
        "# The words are its authors'.",
        f"# Reproduces: {recipe.reproduces}",
        f"# Does not reproduce: {recipe.differs}",
    ]
    text = "\n".join(comments) + "\n" + dump_dialog(data)
    return Followed(dialog, text, tuple(f"it needs {need}" for need in recipe.needs))


def _read_texts(recipe: ProtocolRecipe, clone: Path) -> dict[str, str]:
    """Return the texts of the clone by name; every missing file is named at once."""
    texts: dict[str, str] = {}
    missing: list[str] = []
    root = clone.resolve()
    for name, spec in recipe.files.items():
        path = clone / spec.partition(":")[0]
        # A clone is the work of others; its links may lead to private files.
        if not path.resolve().is_relative_to(root):
            raise FileProblem(f"{path}: a link that leads out of {clone}; its text is not read")

        if not path.is_file():
            if name not in recipe.optional:
                missing.append(spec.partition(":")[0])

            continue

        texts[name] = read_words(f"{clone / spec}").text

    if missing:
        files = ", ".join(dict.fromkeys(missing))
        raise FileProblem(
            f"{clone}: not there: {files}; is it a clone of {recipe.code}, and were files moved?"
        )

    return texts


class _RecipeWords:
    """Puts the words of the clone into the turns of the recipe."""

    def __init__(self, recipe: ProtocolRecipe, texts: Mapping[str, str]) -> None:
        self.recipe = recipe
        self.texts = texts

    def turn(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        """Return a turn of the dialog, its words filled in."""
        made = dict(turn)
        made["say"] = self.said(turn["say"], f"turn {turn['name']}")
        if "say_for" in turn:
            made["say_for"] = {}
            for task, said in turn["say_for"].items():
                made["say_for"][task] = self.said(said, f"turn {turn['name']}, {task}")

        return made

    def said(self, said: Mapping[str, Any] | Sequence[Mapping[str, Any]], where: str) -> str:
        """Return the words that a recipe names, one piece or several in a row."""
        pieces = [said] if isinstance(said, Mapping) else said
        return "".join(self._piece(each, where) for each in pieces)

    def _piece(self, said: Mapping[str, Any], where: str) -> str:
        """Return one piece of words as the dialog says it. Raises where a placeholder is gone."""
        place = f"recipe {self.recipe.recipe}, {where}"
        words = validate(PublishedWords, said, place)
        text = "\n".join(self.texts[name] for name in words.words)
        if words.without and words.without in self.texts:
            text = text.replace(self.texts[words.without], "")

        if words.strip:
            text = text.strip()

        # Otherwise a changed clone would be used without its instruction, unnoticed.
        for placeholder in words.fill:
            if placeholder not in text:
                files = ", ".join(self.recipe.files[name] for name in words.words)
                raise DialogError(
                    f"{place}: no {placeholder} in {files}; the published words have changed"
                )

        return _filled(text, words) + words.then


def _filled(text: str, words: PublishedWords) -> str:
    """Return the text with slots for its placeholders, and everything else to the letter."""
    # Placeholders are set apart first: what is escaped must not touch the slots. Splitting at a
    # group keeps the placeholders, so that every second piece is one.
    pieces = [text]
    if words.fill:
        pieces = re.split("(" + "|".join(map(re.escape, words.fill)) + ")", text)

    made = []
    for number, piece in enumerate(pieces):
        if number % 2:
            made.append("{{" + words.fill[piece] + "}}")
            continue

        plain = piece.replace("{{", "{").replace("}}", "}") if words.python else piece
        made.append(escape(plain))

    return "".join(made)
