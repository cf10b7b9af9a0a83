"""What a factor means, in words for human raters."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lmmscore.dialog import Dialog, load_dialog
from lmmscore.resources import bundled

PATHS = sorted(bundled("dialogs").glob("*.yaml"))
DIALOGS = [path for path in PATHS if "dialog" in yaml.safe_load(path.read_text("utf-8"))]


def without_definitions(path) -> Dialog:
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    for factor in written["factors"]:
        del factor["definition"]
    return Dialog.model_validate(written)


@pytest.mark.parametrize("path", DIALOGS, ids=lambda path: path.stem)
def test_every_factor_of_a_bundled_dialog_is_defined(path):
    """A rater is told what each factor means, whichever bundled dialog is used."""
    dialog = load_dialog(str(path))

    assert all(factor.definition.strip() for factor in dialog.factors)


@pytest.mark.parametrize("path", DIALOGS, ids=lambda path: path.stem)
def test_a_definition_does_not_change_what_the_judge_is_asked(path):
    """A dialog without definitions still loads, and is the same to older runs and anchors."""
    plain = without_definitions(path)
    defined = load_dialog(str(path))

    assert plain.digest == defined.digest
    assert plain.turns == defined.turns


def test_a_digest_of_an_earlier_version_still_matches():
    """run.yaml of 0.1.0 names its dialog by a digest; the same dialog keeps it."""
    recorded = "f73ce4f013d0a7b623690037ac72a71c1688bbc6fc49f12eb1e686ae97754f25"
    earlier = Path(__file__).parents[1] / "fixtures/v0.1.0/dialogs/lmm-score.yaml"

    assert load_dialog(str(earlier)).digest == recorded
