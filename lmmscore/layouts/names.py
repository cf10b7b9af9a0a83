"""The names people give to folders and files of sources, references and marked pictures."""

from __future__ import annotations

import re

_ROLES = {
    "source": "source src srcs srcimg source_image input inputs input_image input_images original originals orig "
    "original_images before raw source_images images_source gedit_asset",
    "reference": "reference references ref refs gt gts ground_truth groundtruth target targets target_image truth "
    "reference_images expected",
    "marked": "marked visual visuals visual_instruction visual_instructions marks annotated sketch sketches drawn",
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names.split()}

CONTAINERS = frozenset(
    "edits edited edited_images outputs output results result methods models generated generations predictions "
    "images imgs image".split()
)
"""Folders that hold other folders or pictures without being a method themselves."""

PLAIN_NAMES = frozenset("images imgs image pictures photos dataset data".split())
"""Folders that hold the sources where nothing else says so, beside folders called after methods."""


def role_of(name: str) -> str | None:
    """Return source, reference or marked where a folder or a suffix is named like one."""
    plain = re.sub(r"[\s.-]+", "_", name.strip().lower()).strip("_")
    plain = re.sub(r"(?<=.)s$", "", plain) if plain not in _ROLE_OF else plain
    return _ROLE_OF.get(plain)


def is_container(name: str) -> bool:
    """Whether a folder so named says nothing about what is in it."""
    return name.lower() in CONTAINERS


def role_names(role: str) -> str:
    """Return some names for a role, for messages."""
    return ", ".join(_ROLES[role].split()[:6])
