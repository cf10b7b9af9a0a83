"""judges.yaml: judges by name, with their address, parameters, limits and dated prices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from lmmscore.errors import JudgeFileError, LmmscoreError, nearest
from lmmscore.judges.base import Judge
from lmmscore.judges.image_tokens import formula_name
from lmmscore.judges.options import OPENAI_URL, Address, OpenAIOptions, Prices, mask, parse_address
from lmmscore.yaml_files import complaints, load_yaml, parse_yaml

FILE_NAME = "judges.yaml"
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PricesEntry(_Strict):
    """US dollars per million tokens, and the day on which they held."""

    input: Dollars = Field(description="For what is sent.")
    output: Dollars = Field(description="For what comes back, reasoning included.")
    cached_input: Dollars | None = Field(
        None, description="For a repeated prefix that the provider cached."
    )
    as_of: date = Field(description="The day on which these prices held.")


class ParametersEntry(_Strict):
    """What changes the answers."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="Sampling temperature; the server's own if absent."
    )
    seed: int | None = Field(None, description="Sampling seed, where the server takes one.")
    max_tokens: Annotated[int, Field(gt=0)] | None = Field(
        None, description="Longest reply, in tokens."
    )
    reasoning_effort: str | None = Field(None, description="How long a reasoning model thinks.")
    image_detail: Literal["low", "high", "auto"] | None = Field(
        None, description="How closely images are looked at."
    )
    extra: dict[str, JsonValue] = Field(
        {}, description="Further fields of the request, as the server names them."
    )


class LimitsEntry(_Strict):
    """How fast the server may be asked, and how long an answer may take."""

    rpm: Positive | None = Field(None, description="Requests a minute.")
    tpm: Positive | None = Field(None, description="Tokens a minute.")
    concurrency: Annotated[int, Field(gt=0)] | None = Field(
        None, description="Questions open at once."
    )
    timeout_s: Positive = Field(300.0, description="Seconds to wait for one reply.")
    stall_s: Positive = Field(
        60.0, description="Seconds of silence after which a connection is given up."
    )
    attempts: Annotated[int, Field(gt=0, le=50)] = Field(
        10, description="How often a question is sent at most."
    )


class JudgeEntry(_Strict):
    """One judge of a judges.yaml."""

    model: Annotated[str, Field(min_length=1)] = Field(
        description="The model, as the server names it."
    )
    base_url: Annotated[str, Field(pattern=r"^(https?://.+)?$")] = Field(
        "", description="The server's address, up to /v1; OpenAI if absent."
    )
    api: Literal["chat", "responses"] = Field("chat", description="Chat Completions or Responses.")
    stream: bool = Field(False, description="For proxies that cut silent connections.")
    key_env: str = Field("", description="The environment variable that holds the key.")
    key_header: str = Field(
        "", description="Send the key under this header instead of Authorization."
    )
    headers: dict[str, Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]] = Field(
        {}, description="Further headers, in ASCII."
    )
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = Field(
        "", description="How the server calls the limit on a reply; found out if absent."
    )
    parameters: ParametersEntry = Field(ParametersEntry(), description="What changes the answers.")
    limits: LimitsEntry = Field(LimitsEntry(), description="How fast the server may be asked.")
    prices: PricesEntry | None = Field(None, description="For plan and --budget.")
    image_tokens: str = Field(
        "", description="The formula by which plan counts the tokens of an image."
    )


class JudgesFile(_Strict):
    """A whole judges.yaml."""

    judges: dict[str, JudgeEntry] = Field(description="The judges by the names they are asked for.")


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A judge as asked for: what follows `openai/`, and its options."""

    spec: str
    options: OpenAIOptions


def load_judges(path: Path | None = None) -> dict[str, JudgeEntry]:
    """Return the judges by name: those that come with lmmscore, overridden by those of the user's file.

    The user's file is `path`, or the one named by LMMSCORE_JUDGES, or judges.yaml in the current folder, if any.
    """
    bundled = resources.files("lmmscore.judges").joinpath(FILE_NAME).read_text(encoding="utf-8")
    known = dict(_read(parse_yaml(bundled, FILE_NAME), FILE_NAME))
    named = path or (
        Path(os.environ["LMMSCORE_JUDGES"]) if os.environ.get("LMMSCORE_JUDGES") else None
    )
    own = named or (Path(FILE_NAME) if Path(FILE_NAME).is_file() else None)
    if own is not None:
        known |= _read(load_yaml(own), str(own))
    return known


def find_judge(name: str, path: Path | None = None, **overrides: Any) -> NamedJudge:
    """Return the judge called `name`: a name in judges.yaml, or `openai/MODEL[@BASE_URL]`.

    `overrides` are options given elsewhere, such as on the command line; None means not given. An
    `openai/…` judge takes prices, limits and parameters from the entry with the same model and address, if any.
    """
    judges = load_judges(path)
    entry = judges.get(name)
    spec = name.removeprefix("openai/")
    if entry is None and not name.startswith("openai/"):
        known = [*judges, "openai/MODEL[@BASE_URL]"]
        raise JudgeFileError(
            f"no judge {mask(name)!r}{nearest(name, judges)}; known: {', '.join(known)}"
        )
    if entry is None:
        entry = _entry_at(parse_address(spec, os.environ.get("OPENAI_BASE_URL", "")), judges)
    else:
        # An entry without an address is OpenAI's, with OpenAI's prices, wherever OPENAI_BASE_URL points.
        spec = f"{entry.model}@{entry.base_url or OPENAI_URL}"
    options = _options(entry) if entry is not None else OpenAIOptions()
    given = {key: value for key, value in overrides.items() if value is not None}
    return NamedJudge(spec, replace(options, **given))


def judge_named(name: str, options: Mapping[str, Any], path: Path | None = None) -> Judge | None:
    """Return the API judge a string names, with the options given elsewhere; None when it names none."""
    from lmmscore.judges.openai_api import make

    if not name.startswith("openai/") and name not in load_judges(path):
        return None
    judge = find_judge(name, path, **options)
    return make(judge.spec, options=judge.options)


def _entry_at(address: Address, judges: Mapping[str, JudgeEntry]) -> JudgeEntry | None:
    """Return the entry for the same model at the same address; the user's own stand last, and win."""
    found = None
    for entry in judges.values():
        if entry.model == address.model:
            there = parse_address(f"{entry.model}@{entry.base_url or OPENAI_URL}")
            found = entry if there.masked_url == address.masked_url else found
    return found


def _read(data: Any, where: str) -> dict[str, JudgeEntry]:
    result = complaints(JudgesFile, data)
    if not isinstance(result, JudgesFile):
        raise JudgeFileError(f"{where}: " + "\n  ".join(_nearer(problem) for problem in result))
    for name, entry in result.judges.items():
        try:
            formula_name(entry.model, entry.image_tokens)
            parse_address(f"{entry.model}@{entry.base_url}" if entry.base_url else entry.model)
        except LmmscoreError as error:
            raise JudgeFileError(f"{where}, judges.{name}: {error}") from error
    return result.judges


def _nearer(problem: str) -> str:
    """Suggest the key meant: the shared complaint cannot see into a mapping whose keys are names."""
    place, found, _ = problem.partition(": unknown key")
    if not found or "did you mean" in problem:
        return problem
    models: dict[str, type[BaseModel]] = {
        "parameters": ParametersEntry,
        "limits": LimitsEntry,
        "prices": PricesEntry,
    }
    *above, key = place.split(".")
    fields = list(models.get(above[-1] if above else "", JudgeEntry).model_fields)
    return f"{place}: unknown key{nearest(key, fields) or '; known: ' + ', '.join(fields)}"


def _options(entry: JudgeEntry) -> OpenAIOptions:
    prices = entry.prices
    return OpenAIOptions(
        **entry.parameters.model_dump(),
        api=entry.api,
        stream=entry.stream,
        stall_s=entry.limits.stall_s,
        concurrency=entry.limits.concurrency,
        rpm=entry.limits.rpm,
        tpm=entry.limits.tpm,
        timeout_s=entry.limits.timeout_s,
        attempts=entry.limits.attempts,
        headers=entry.headers,
        key_env=entry.key_env,
        key_header=entry.key_header,
        max_tokens_field=entry.max_tokens_field,
        prices=Prices(**prices.model_dump()) if prices else None,
        image_tokens=entry.image_tokens,
    )
