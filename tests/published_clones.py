"""Folders that look like clones of published benchmarks, made from the words kept beside the project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

VIBE_FILES = {
    "instruction_adherence": "Instruction_Adherence.txt",
    "contextual_preservation": "Contextual_Preservation.txt",
    "visual_coherence": "Visual_Coherence.txt",
    "billiards-billiards": "Billiards/Billiards.txt",
    "draft_instantiation-instruction_adherence": "Draft_Instantiation/Instruction_Adherence.txt",
    "draft_instantiation-contextual_preservation": "Draft_Instantiation/Contextual_Preservation.txt",
    "draft_instantiation-visual_coherence": "Draft_Instantiation/Visual_Coherence.txt",
    "flow_simulation-wind_contextual_preservation": (
        "Flow_Simulation/Wind_Contextual_Preservation.txt"
    ),
    "flow_simulation-wind_direction_consistency": "Flow_Simulation/Wind_Direction_Consistency.txt",
    "light_control-contextual_preservation": "Light_Control/Contextual_Preservation.txt",
    "light_control-light_direction_consistency": "Light_Control/Light_Direction_Consistency.txt",
    "pose_control-bii_cic_cp": "Pose_Control/BII_CIC_CP.txt",
    "pose_control-pose_consistency": "Pose_Control/Pose_Consistency.txt",
    "reorientation-orientation_alignment": "Reorientation/Orientation_Alignment.txt",
    "reorientation-reorientation_contextual_preservation": (
        "Reorientation/Reorientation_Contextual_Preservation.txt"
    ),
}


def prompts_of(shared: Path, family: str) -> dict[str, str]:
    """Return the published words of a family by name."""
    folder = shared / "protocols" / "prompts"
    if not folder.is_dir():
        pytest.skip("the published prompts are not beside this checkout (../shared/protocols)")
    found = {}
    for path in sorted(folder.glob(f"{family}-*.txt")):
        found[path.stem.removeprefix(f"{family}-")] = path.read_text(encoding="utf-8")
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _constants(names: dict[str, str]) -> str:
    return "".join(f"{name} = {text!r}\n\n" for name, text in names.items())


def _viescore(shared: Path, clone: Path) -> None:
    questions = shared / "data" / "viescore" / "questions"
    if not questions.is_dir():
        pytest.skip("VIEScore's questions are not beside this checkout (../shared/data)")
    shutil.copytree(questions, clone / "viescore" / "prompts_raw")


def _gedit(shared: Path, clone: Path) -> None:
    questions = shared / "data" / "viescore" / "questions"
    if not questions.is_dir():
        pytest.skip("VIEScore's questions are not beside this checkout (../shared/data)")
    names = {"_context_no_delimit": (questions / "context.txt").read_text()}
    for path in sorted((questions / "prompts_0shot").glob("*.txt")):
        names[f"_prompts_0shot_{path.stem}"] = path.read_text()
    _write(clone / "GEdit-Bench" / "viescore" / "vie_prompts.py", _constants(names))


def _imgedit(shared: Path, clone: Path) -> None:
    prompts = prompts_of(shared, "imgedit")
    uge = prompts.pop("uge")
    _write(clone / "Benchmark" / "Basic" / "prompts.json", json.dumps(prompts))
    _write(clone / "Benchmark" / "UGE" / "UGE_bench.py", _constants({"prompt": uge}))


def _rise(shared: Path, clone: Path) -> None:
    prompts = prompts_of(shared, "rise")
    named = {f"prompt_{name}": text for name, text in prompts.items()}
    # The code around the words must not be run: it would raise.
    _write(clone / "utils.py", _constants(named) + "raise SystemExit('imported')\n")


def _kris(shared: Path, clone: Path) -> None:
    prompts = prompts_of(shared, "kris")
    named = {f"prompt_{name}": text for name, text in prompts.items()}
    _write(clone / "utils" / "prompts.py", _constants(named))


def _vibe(shared: Path, clone: Path) -> None:
    for name, text in prompts_of(shared, "vibe").items():
        _write(clone / "prompt" / VIBE_FILES[name], text)


def _genai(_: Path, clone: Path) -> None:
    """Words of our own with the placeholders of the published template."""
    _write(
        clone / "genaibench" / "templates" / "image_edition" / "pairwise.txt",
        "Was: <source_prompt>\nBecomes: <target_prompt>\nDo: <instruct_prompt>\n"
        "Given <source_image>\nA <left_output_image>\nB <right_output_image>\n"
        "Say [[A>B]], [[B>A]], [[A=B=Good]] or [[A=B=Bad]].\n",
    )


def _genarena(_: Path, clone: Path) -> None:
    text = 'Which is better? {"better_response": "A" or "B", "score": <int 1-6>}'
    _write(clone / "genarena" / "prompts" / "mmrb2.py", _constants({"PROMPT_TEXT": text}))


def _gedit_v2(_: Path, clone: Path) -> None:
    """Prompts of our own in the published form: texts and pictures in turn."""
    for dimension in ("instruction_following", "visual_consistency", "visual_quality"):
        pictures = [("input_image", "First of all, {{ instruction }}:\n")]
        pictures += [("edited_images", "One:\n"), ("edited_images", "Other:\n")]
        parts: list[dict[str, object]] = []
        for source, text in pictures[dimension == "visual_quality" :]:
            parts += [{"text": text}, {"image": {"source": source}}]
        body = {"system_prompt": f"You judge {dimension}.", "user_prompt": parts}
        folder = clone / "src" / "prompts" / "assets" / "vlm" / "assessment" / dimension
        _write(folder / "pairwise" / "v1.yaml", json.dumps(body))


MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "viescore": _viescore,
    "viescore-subject": _viescore,
    "gedit-bench": _gedit,
    "imgedit": _imgedit,
    "imgedit-uge": _imgedit,
    "risebench": _rise,
    "kris-bench": _kris,
    "vibe": _vibe,
    "genai-bench": _genai,
    "genarena": _genarena,
    "geditbench-v2-instruction": _gedit_v2,
    "geditbench-v2-consistency": _gedit_v2,
    "geditbench-v2-quality": _gedit_v2,
}


def make_clone(recipe: str, shared: Path, folder: Path) -> Path:
    """Write a folder that looks like a clone of the recipe's benchmark, and return it."""
    clone = folder / f"clone-of-{recipe}"
    MAKERS[recipe](shared, clone)
    return clone
