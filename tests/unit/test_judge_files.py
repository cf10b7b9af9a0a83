from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from lmmscore.errors import JudgeFileError, LmmscoreError
from lmmscore.judges.config import find_judge, load_judges, parse_address

OWN = """
judges:
  mine:
    model: llava
    base_url: http://127.0.0.1:8000/v1
    api: responses
    key_env: MY_KEY
    parameters: {temperature: 0, max_tokens: 800, image_detail: high}
    limits: {rpm: 60, tpm: 90000, concurrency: 4, timeout_s: 60}
    prices: {input: 1, output: 2, as_of: 2026-01-31}
    image_tokens: llava
  gpt-4o:
    model: gpt-4o
    prices: {input: 9, output: 99, as_of: 2026-11-01}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    path = tmp_path / "judges.yaml"
    path.write_text(OWN)
    return path


def test_a_name_stands_for_address_parameters_limits_and_prices(own: Path) -> None:
    """A long command is not needed: one name says it all."""
    judge = find_judge("mine")
    assert (judge.spec, judge.options.concurrency) == ("llava@http://127.0.0.1:8000/v1", 4)
    options = judge.options
    assert (options.temperature, options.max_tokens, options.image_detail) == (0, 800, "high")
    assert (options.rpm, options.tpm, options.timeout_s, options.key_env) == (
        60,
        90000,
        60,
        "MY_KEY",
    )
    assert options.prices is not None and options.prices.as_of == date(2026, 1, 31)


def test_the_command_line_overrides_the_file(own: Path) -> None:
    """What is typed wins; what is not typed stays."""
    options = find_judge("mine", temperature=0.7, rpm=None).options
    assert (options.temperature, options.rpm) == (0.7, 60)


def test_a_judge_named_in_full_finds_its_prices_by_model_and_address(own: Path) -> None:
    """Prices belong to a model at a server; the same model elsewhere has none."""
    known = find_judge("openai/gpt-4o").options.prices
    assert known is not None and known.input == 9
    assert find_judge("openai/gpt-4o@http://127.0.0.1:1/v1").options.prices is None
    assert find_judge("openai/llava@http://127.0.0.1:8000/v1").options.rpm == 60


def test_an_unknown_judge_is_answered_with_the_nearest(own: Path) -> None:
    """A typing error costs no search."""
    with pytest.raises(JudgeFileError, match="did you mean mine"):
        find_judge("mime")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("judges: {a: {model: m, modle: x}}", "judges.a.modle: unknown key .did you mean model"),
        ("judges: {a: {model: m, parameters: {temprature: 0}}}", "did you mean temperature"),
        ("judges: {a: {model: m, limits: {rmp: 1}}}", "did you mean rpm"),
        ("judges: {a: {model: m, prices: {input: 1, output: 1}}}", "as_of: missing"),
        ("judges: {a: {model: m, prices: {input: -1, output: 1, as_of: 2026-01-01}}}", "input"),
        ("judges: {a: {model: m, base_url: localhost}}", "judges.a"),
        ("judges: {a: {model: m, image_tokens: lava}}", "did you mean llava"),
        ("judge: {}", "did you mean judges"),
        ("- a", "mapping"),
    ],
)
def test_a_judges_file_is_strict(own: Path, text: str, words: str) -> None:
    """What is not understood is refused, by name, with the nearest known key."""
    own.write_text(text)
    with pytest.raises(LmmscoreError, match=words):
        load_judges()


def test_the_bundled_prices_are_dated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file of one's own, the common judges are known, each with prices and their day."""
    monkeypatch.chdir(tmp_path)
    judges = load_judges()
    assert {"gpt-4o", "gpt-5", "gemini-2.5-pro"} <= set(judges)
    for entry in judges.values():
        prices = entry.options.prices
        assert prices is not None and prices.as_of is not None and prices.as_of.year >= 2025


def test_a_named_judge_without_an_address_is_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its prices are OpenAI's, so it does not follow OPENAI_BASE_URL elsewhere; openai/MODEL does."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    named = find_judge("gpt-4o")
    assert named.options.prices is not None
    assert parse_address(named.spec, "http://127.0.0.1:9/v1").name == "openai/gpt-4o"
    assert find_judge("openai/gpt-4o").options.prices is None
