from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmmscore.dialog import Dialog, dialog_names, load, load_dialog
from lmmscore.errors import DialogError
from lmmscore.plan import load_protocol
from lmmscore.resources import bundled
from lmmscore.session import script

MINIMAL: dict[str, Any] = {
    "dialog": "mine",
    "version": 1,
    "title": "Mine",
    "covers": "edit",
    "factors": [{"key": "look", "scale": {"min": 1, "max": 5}}],
    "turns": [
        {"name": "judge", "show": ["edit"], "say": "Look: {{instruction}}", "read": "scores"}
    ],
    "repair": {"say": "{{problems}}"},
}


def written(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**MINIMAL, **changes}))
    return str(path)


def test_the_bundled_protocols_are_all_there() -> None:
    """Five protocols and the suite, each loads strictly."""
    expected = {
        "lmm-score",
        "factors-12",
        "preservation-3",
        "visual-context",
        "visual-adherence",
        "visual",
    }
    assert expected <= set(dialog_names())
    for name in expected:
        assert load(name).name == name


def test_lmm_score_has_the_published_factors_scales_and_weights() -> None:
    """Four factors from 1 to 10, weighted 0.4, 0.3, 0.2 and 0.1."""
    dialog = load_dialog("lmm-score")
    assert [(f.key, str(f.weight), str(f.scale)) for f in dialog.factors] == [
        ("acc", "0.4", "1–10"),
        ("pre", "0.3", "1–10"),
        ("qua", "0.2", "1–10"),
        ("real", "0.1", "1–10"),
    ]
    assert dialog.avoid_ties
    assert dialog.calls(8) == 14


def test_the_weights_said_are_the_weights_used() -> None:
    """The formula in the words of the dialog is the one the overall is computed by."""
    dialog = load_dialog("lmm-score")
    said = next(turn.say for turn in dialog.turns if turn.read == "overall")
    stated = {key: weight for weight, key in re.findall(r"(0\.\d) S_(\w+)", said)}
    assert stated == {factor.key: str(factor.weight) for factor in dialog.factors}


@pytest.mark.parametrize(
    ("name", "shows", "scales"),
    [
        ("factors-12", ("reference", "edit"), ["1–7 (whole numbers)"] * 12),
        ("preservation-3", ("reference", "edit"), ["1–7 (whole numbers)"] * 3),
        ("visual-context", ("marked", "edit"), ["0 / 1"]),
        ("visual-adherence", ("source", "marked", "edit"), ["0 / 1", "0 / 0.5 / 1", "0 / 1"]),
    ],
)
def test_what_each_protocol_shows_and_reads(
    name: str, shows: tuple[str, ...], scales: list[str]
) -> None:
    """Images in the published order; exact scales."""
    dialog = load_dialog(name)
    assert dialog.images_shown({}) == shows
    assert [str(factor.scale) for factor in dialog.factors] == scales
    assert dialog.overall == "mean"


def test_the_ground_truth_judges_can_compare_with_the_original() -> None:
    """One dialog with a setting: offline against the reference, online against the source."""
    for name in ("factors-12", "preservation-3"):
        dialog = load_dialog(name)
        assert dialog.images_shown({"against": "source"}) == ("source", "edit")
        offline, online = (
            str(script(dialog, 1, "t", "Do", {"against": choice})[0]["say"])
            for choice in ("reference", "source")
        )
        assert "offline_factor_results" in offline
        assert "online_factor_results" in online
        assert "Ground Truth" not in online


def test_json_keys_asked_for_are_the_factors() -> None:
    """Every factor's key stands in the JSON block the judge is asked to fill."""
    for name in ("factors-12", "preservation-3", "visual-context", "visual-adherence"):
        dialog = load_dialog(name)
        said = str(script(dialog, 1, "t", "Do", {})[0]["say"])
        assert all(f'"{factor.key}":' in said for factor in dialog.factors)
        assert all(turn.form is not None for turn in dialog.turns if turn.read)


FACTS = {
    "lmm-score": [
        "tip",
        "task indicator",
        "1 to 10",
        "physics",
        "Avoid equal scores",
        "one at a time",
    ],
    "factors-12": [
        "10 to 25 words",
        "Do not use decimals",
        "integers from 1 to 7",
        "image_id",
    ],
    "preservation-3": [
        "15 to 30 words",
        "light, shadows",
        "colour of a shirt",
        "every entity",
        "each factor on its own",
        "image_id",
    ],
    "visual-context": [
        "cropped",
        "IN_TARGET",
        "OUT_OF_TARGET",
        "unsure",
        "## Differences",
        "## Target",
        "## Classification",
        "## Decision",
    ],
    "visual-adherence": [
        "hour hand",
        "minute hand",
        "pointers",
        "unsure",
        "Partial compliance",
        "0.5",
        "merely redrew",
    ],
}


@pytest.mark.parametrize("name", FACTS)
def test_special_cases_of_the_source_are_kept(name: str) -> None:
    """Clocks and pointers, cropping, what counts as a difference, "if unsure, 0": nothing is left out."""
    said = " ".join(
        " ".join(str(line["say"]).split()) for line in script(load_dialog(name), 3, "t", "Do", {})
    )
    assert [fact for fact in FACTS[name] if fact not in said] == []


def test_no_sentence_of_the_published_prompts_is_copied(shared: Path) -> None:
    """Our words are ours: no run of nine words stands both in a bundled dialog and in its source."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9']+", text.lower())
        return {tuple(words[i : i + 9]) for i in range(len(words) - 8)}

    published = set().union(*(runs(path.read_text()) for path in (shared / "seeds").glob("*.txt")))
    for path in bundled("dialogs").glob("*.yaml"):
        assert not runs(path.read_text()) & published, path.name


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"facotrs": []}, "facotrs: unknown key .did you mean factors"),
        ({"covers": "all"}, "covers"),
        ({"overall": "weighted"}, "a factor has no weight"),
        ({"turns": [{"name": "a", "say": "Hi"}]}, "look is read by no turn"),
        ({"turns": [{**MINIMAL["turns"][0], "show": ["edits"]}]}, "did you mean edit"),
        (
            {"turns": [{**MINIMAL["turns"][0], "say": "{{rationale}}"}]},
            r"turn 1 \(judge\): unknown name \{\{rationale\}\}",
        ),
        ({"turns": [{**MINIMAL["turns"][0], "each": "edit"}]}, "makes no sense"),
        ({"covers": "item"}, "needs `each: edit`"),
        (
            {"covers": "item", "turns": [{**MINIMAL["turns"][0], "each": "edit"}]},
            r"turn 1 \(judge\): with `each: edit` nothing can be read",
        ),
        ({"factors": [{"key": "look", "scale": "?"}]}, "open question"),
        ({"version": 0}, "version"),
        ({"repair": {"say": "x", "at_most": 3}}, "at_most"),
    ],
)
def test_a_dialog_that_cannot_be_played_is_refused_with_its_place(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    """Unknown keys, slots and images, weights that are missing: each a clear line."""
    with pytest.raises(DialogError, match=says):
        load(written(tmp_path, **changes))


def test_unknown_dialog_suggests_one() -> None:
    """A mistyped name is answered with the nearest."""
    with pytest.raises(DialogError, match="did you mean lmm-score"):
        load("lmmscore")


def test_a_file_that_does_not_end_in_yaml_is_told_its_remedy(tmp_path: Path) -> None:
    """Whoever gave a file is not asked for one."""
    path = tmp_path / "dialog.txt"
    path.write_text("dialog: d\n")
    with pytest.raises(DialogError, match=r"dialog\.txt: a dialog's file must end in \.yaml"):
        load(str(path))


def test_a_dialog_without_settings_says_so(tmp_path: Path) -> None:
    """There is nothing to choose from, so no list is given."""
    with pytest.raises(DialogError, match=r"no setting 'against'; it has no settings$"):
        load_dialog(written(tmp_path)).setting_values({"against": "source"})


def test_unknown_setting_suggests_one() -> None:
    """A mistyped setting or choice is answered with what there is."""
    with pytest.raises(DialogError, match="did you mean against"):
        load_protocol("factors-12", {"agianst": "source"})
    with pytest.raises(DialogError, match="reference, source"):
        load_protocol("factors-12", {"against": "truth"})


def test_the_digest_follows_what_is_said_not_how_the_file_is_laid_out(tmp_path: Path) -> None:
    """Reformatting a dialog changes nothing; a changed word does."""
    one = load(written(tmp_path))
    assert isinstance(one, Dialog)
    other = Dialog.model_validate(dict(reversed(MINIMAL.items())))
    assert one.digest == other.digest
    assert Dialog.model_validate({**MINIMAL, "title": "Other"}).digest != one.digest
