from __future__ import annotations

import base64
import io
import json
import re
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from lmmscore.cli import lmmscore
from lmmscore.judges.checkup import COLOURS, WORDS
from tests.loopback import Server, serving


def colour_of(url: str) -> str:
    """Look at a picture the way a judge would."""
    data = base64.b64decode(url.partition("base64,")[2])
    pixel = Image.open(io.BytesIO(data)).convert("RGB").getpixel((40, 40))
    return next(name for name, value in COLOURS.items() if value == pixel)


def seeing(messages: list[dict[str, Any]]) -> str:
    """A judge that really looks, remembers, and writes JSON when asked to."""
    last = messages[-1]["content"]
    if isinstance(last, list):
        shown = [part["image_url"]["url"] for part in last if part["type"] == "image_url"]
        return " ".join(map(colour_of, shown)) or "red"
    if "keep in mind" in last:
        return re.search("|".join(WORDS), json.dumps(messages))[0]  # type: ignore[index]
    return '{"score": 7}'


def check(*words: str) -> Any:
    return CliRunner().invoke(lmmscore, ["judge", "check", *words], catch_exceptions=False)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden-in-the-test")


def test_a_judge_that_sees_and_remembers_passes() -> None:
    """The check says what works, with the exact model that answered."""
    with serving(Server(reply=seeing, apis=frozenset({"chat"}))) as server:
        result = check(f"openai/tiny@{server.url}")
    assert result.exit_code == 0, result.output
    lines = {re.split(r"  +", line)[0]: line for line in result.stdout.splitlines()}
    assert " yes " in lines["sees images"] and " yes " in lines["remembers"]
    assert "tiny-2025-01-01" in lines["model"] and "fp_1" in lines["fingerprint"]
    assert "1000 in, 50 out" in lines["reports usage"]
    assert " yes " in lines["structured output"]
    assert " NO " in lines["Responses API"]
    assert "sk-hidden" not in result.output


def test_a_blind_judge_is_found_out() -> None:
    """A judge that cannot see would score edits all the same; the check asks for a colour it can verify."""
    with serving(Server(reply=lambda _: "Purple and orange, I believe.")) as server:
        result = check(f"openai/tiny@{server.url}", "--json")
    assert result.exit_code == 1
    findings = {row["what"]: row for row in json.loads(result.stdout)["findings"]}
    assert findings["sees images"]["works"] is False and findings["remembers"]["works"] is False
    assert findings["Responses API"]["works"] is True
    assert "not fit to judge images" in result.stderr
