from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from lmmscore.errors import FileProblem
from lmmscore.yaml_files import load_yaml, parse_yaml, validate, yaml_text


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    weight: float = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    parts: list[Inner] = []


def test_broken_yaml_names_file_line_and_column() -> None:
    """A file that is no YAML is refused with the place of the trouble."""
    with pytest.raises(FileProblem, match=r"b\.yaml, line 2, column \d+: not valid YAML"):
        parse_yaml("name: [1,\nother: }", "b.yaml")


def test_alias_bomb_is_refused_at_once() -> None:
    """A few bytes of YAML cannot unfold to gigabytes: aliases are not allowed at all."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join('*' + chr(97 + i) for _ in range(9))}]"
        for i in range(12)
    )
    with pytest.raises(FileProblem, match="aliases"):
        parse_yaml(bomb, "bomb.yaml")


def test_doubled_key_is_refused() -> None:
    """A key that stands twice would silently lose one of its values."""
    with pytest.raises(FileProblem, match="duplicate key 'name'"):
        parse_yaml("name: a\nname: b", "d.yaml")


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    """A million brackets are an error message, not a crash."""
    with pytest.raises(FileProblem, match="nested more than"):
        parse_yaml("[" * 1_000_000 + "]" * 1_000_000, "deep.yaml")


def test_unknown_key_names_the_nearest_known_one() -> None:
    """A typing mistake is answered with the key that was meant, inside lists too."""
    with pytest.raises(FileProblem, match=r"parts\.1\.wieght: unknown key \(did you mean weight\?"):
        validate(Outer, {"name": "x", "parts": [{"wieght": 2}]}, "o.yaml")


def test_every_complaint_is_listed() -> None:
    """One reading shows everything there is to mend."""
    with pytest.raises(FileProblem) as caught:
        validate(Outer, {"nmae": "x", "parts": [{"weight": "heavy"}]}, "o.yaml")
    assert "nmae" in str(caught.value)
    assert "name: missing" in str(caught.value)
    assert "parts.1.weight" in str(caught.value)


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    """Bytes that are no text are named as such."""
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: caf\xe9")
    with pytest.raises(FileProblem, match="not UTF-8"):
        load_yaml(path)


def test_tags_that_would_run_code_are_refused() -> None:
    """YAML is data: a tag that would construct a Python object is an error."""
    with pytest.raises(FileProblem, match="not valid YAML"):
        parse_yaml("!!python/object/apply:os.system ['true']", "evil.yaml")


@pytest.mark.parametrize("text", ["", "no", "1.0", "Größe 画 😀", "a: b # c\n  d\t", "x" * 500])
def test_what_is_written_is_read_back(text: str) -> None:
    """Whatever a run's texts are, its run.yaml gives them back, the keys in their order."""
    data = {"z": text, "a": [text, {"k": None}]}
    again = parse_yaml(yaml_text(data), "run.yaml")
    assert again == data and list(again) == ["z", "a"]
