"""How judges behind an API are configured: address, options, prices, entries of judges.yaml.

An option is declared once, as a field of `JudgeOptions`. The keys of judges.yaml, the flags of the
command line, the `judge_options` of Python and the reference all derive from that declaration.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit, urlunsplit

from lmmscore.errors import JudgeFileError, LmmscoreError, NotAuthorised, nearest
from lmmscore.judges.limits import Prices, formula_name
from lmmscore.options import ANSWERS, COST, Declared, declared, option

if TYPE_CHECKING:
    from pydantic import BaseModel

OPENAI_URL = "https://api.openai.com/v1"
FILE_NAME = "judges.yaml"
Api = Literal["chat", "responses"]


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Everything about a judge but its name.

    None means: not sent, the server's own default applies.
    """

    # These change the answers, so they are part of every key in the ledger.
    temperature: float | None = option(
        None,
        "Sampling temperature; the server's own if absent.",
        section="parameters",
        flag="--temperature",
        group=ANSWERS,
        at_least=0,
    )
    seed: int | None = option(
        None,
        "Sampling seed of the judge, where the server takes one.",
        section="parameters",
        flag="--judge-seed",
        group=ANSWERS,
    )
    max_tokens: int | None = option(
        None,
        "Longest reply, in tokens.",
        section="parameters",
        flag="--max-tokens",
        group=ANSWERS,
        at_least=1,
    )
    reasoning_effort: str | None = option(
        None,
        "How long a reasoning model thinks, in the provider's words.",
        section="parameters",
        flag="--reasoning-effort",
        group=ANSWERS,
    )
    image_detail: str | None = option(
        None,
        "How closely images are looked at: low, high or auto, where the provider knows it.",
        section="parameters",
        flag="--image-detail",
        group=ANSWERS,
    )
    extra: Mapping[str, Any] = option(
        {}, "Further fields of the request, as the server names them.", section="parameters"
    )
    logprobs: bool = option(
        False,
        "Ask for the probabilities of score tokens, for expected scores beside the stated ones.",
        section="parameters",
        flag="--logprobs",
        group=ANSWERS,
    )
    structured: bool = option(
        False,
        "Ask for output that follows the dialog's JSON schema.",
        flag="--structured",
        group=ANSWERS,
    )

    # These say how a question travels; answers do not depend on them.
    api: Api = option(
        "chat",
        "Chat Completions (chat, the default) or Responses.",
        section="",
        flag="--api",
        group=ANSWERS,
    )
    rpm: float | None = option(
        None,
        "Maximum requests per minute, per server.",
        section="limits",
        flag="--rpm",
        group=COST,
        above=0,
    )
    tpm: float | None = option(
        None,
        "Maximum tokens per minute, per server.",
        section="limits",
        flag="--tpm",
        group=COST,
        above=0,
    )
    concurrency: int | None = option(
        None,
        "Questions open at once per server; as many as there are sessions if absent.",
        section="limits",
        at_least=1,
    )
    timeout_s: float = option(
        300.0,
        "Seconds to wait for one reply.",
        section="limits",
        flag="--timeout",
        group=COST,
        above=0,
    )
    stall_s: float = option(
        60.0, "Seconds for which a streamed reply may fall silent.", section="limits", above=0
    )
    attempts: int = option(
        10, "How often a question is sent at most.", section="limits", at_least=1, at_most=50
    )
    max_response_mb: float = option(
        8.0, "Largest response that is read, in MB, unpacked.", section="limits", above=0
    )
    stream: bool = option(
        False, "Stream replies: for proxies that cut silent connections.", section=""
    )
    headers: Mapping[str, str] = option(
        {}, "Further headers, in ASCII.", section="", pattern=r"^[\x20-\x7e]*$"
    )
    key_env: str = option("", "The environment variable that holds the key.", section="")
    key_header: str = option(
        "", "Send the key under this header instead of Authorization.", section=""
    )
    session_header: str = option(
        "",
        "Send a random id per session under this header, for routers that keep sessions together.",
        section="",
        pattern=r"^[A-Za-z0-9-]*$",
    )
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = option(
        "", "How the server calls the limit on a reply; chosen by address if absent.", section=""
    )

    # These say what it may cost.
    prices: Prices | None = option(None, "For plan and --budget.", section="")
    image_tokens: str = option(
        "", "The formula by which the tokens of an image are estimated.", section=""
    )
    budget_usd: float | None = option(
        None,
        "Stop before the estimated cost exceeds this, in US dollars.",
        flag="--budget",
        group=COST,
        at_least=0,
    )
    judge_name: str = option(
        "", "Whose answers to replay, where a ledger holds those of several.", flag="--judge-name"
    )
    spent_usd: float = 0.0
    """What the budget has already been charged, for something else that it is to cover as well."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's base URL. What is secret in it is sent to that server and shown nowhere."""

    url: SplitResult = field(repr=False)

    @property
    def masked_url(self) -> str:
        """The base URL without credentials, query or fragment."""
        netloc = self.url.netloc.rpartition("@")[2]
        return urlunsplit((self.url.scheme, netloc, self.url.path.rstrip("/"), "", ""))

    @property
    def host(self) -> str:
        """The server's host name, in lower case."""
        return self.url.hostname or ""

    @property
    def query(self) -> str:
        """The query of the base URL (`api-version=…`), sent with every request."""
        return self.url.query

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI itself."""
        return self.masked_url == OPENAI_URL

    @property
    def is_azure(self) -> bool:
        """Whether this is Azure OpenAI."""
        return self.host.endswith(".azure.com")

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password written into the URL, for servers behind a gate."""
        if self.url.username is None and self.url.password is None:
            return None
        return unquote(self.url.username or ""), unquote(self.url.password or "")

    @property
    def secrets(self) -> list[str]:
        """The password and the values of the query."""
        public = {"api-version", "version"}
        found = [value for name, value in parse_qsl(self.query) if name not in public]
        if self.credentials is not None:
            found.append(self.credentials[1])
        return found


@dataclass(frozen=True, slots=True)
class Address:
    """A model and the servers that offer it."""

    model: str
    endpoints: tuple[Endpoint, ...]

    @property
    def name(self) -> str:
        """The judge's identity. Where its servers are is no part of it."""
        return f"openai/{self.model}"

    @property
    def places(self) -> str:
        """The servers, for messages."""
        return ", ".join(endpoint.masked_url for endpoint in self.endpoints)

    def is_same(self, other: Address) -> bool:
        """Whether this is the same model at the same servers, in whatever order."""
        ours = {endpoint.masked_url for endpoint in self.endpoints}
        theirs = {endpoint.masked_url for endpoint in other.endpoints}
        return self.model == other.model and ours == theirs


_BARE_HOST = re.compile(
    r"@(localhost|[0-9]+(?:\.[0-9]+){3}|(?:[a-z0-9][a-z0-9-]*\.)+[a-z]{2,})$", re.IGNORECASE
)
"""A server without scheme and port, as no version in the name of a model looks: `@20250101`."""


def parse_address(spec: str, default_url: str = OPENAI_URL) -> Address:
    """Read `MODEL[@BASE_URL[,BASE_URL…]]`.

    Only `@http://` or `@https://` starts an address: a model may hold an `@` itself.
    """
    model, found, rest = spec.partition("@http")
    if not model:
        raise _address_error(spec, "no model named; write openai/MODEL[@BASE_URL]")

    if not found and re.search(r"@(\S*[:/]\S*)$", model):
        says = "the base URL must begin with http:// or https://"
        raise _address_error(spec, f"{says}, as in openai/MODEL@http://127.0.0.1:8000/v1")

    host = _BARE_HOST.search(model)
    if not found and host is not None:
        says = f"{host[1]} looks like a server; write its base URL"
        raise _address_error(spec, f"{says}, as in openai/MODEL@http://{host[1]}:8000/v1")

    urls = "http" + rest if found else default_url or OPENAI_URL
    endpoints = [_endpoint(url, spec) for url in re.split(r",\s*(?=https?://)", urls)]
    by_url = {endpoint.masked_url: endpoint for endpoint in endpoints}
    return Address(model, tuple(by_url.values()))


def _endpoint(url: str, spec: str) -> Endpoint:
    """Return a server's address. Raises JudgeFileError, with what is secret in it masked."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False

    if not usable:
        raise _address_error(spec, "not a base URL; write http://HOST[:PORT]/v1")
    if "@" in parts.path:
        # The password of https://user:12/3@host would become a part of the path, and be shown.
        raise _address_error(
            spec, "an @ in the path; write / as %2F in a password, and @ as %40 elsewhere"
        )

    if "," in parts.netloc + parts.path:
        says = "a comma in an address; each of several servers begins with http:// or https://"
        raise _address_error(spec, says)

    return Endpoint(parts)


def _address_error(spec: str, says: str) -> JudgeFileError:
    return JudgeFileError(f"judge openai/{mask(spec)}: {says}")


def mask(text: str) -> str:
    """Return the text without what may be secret in an address: user, password and query."""
    # It may be no valid URL, so everything up to the last @ goes, and everything behind the first
    # question mark; a comma with http behind it begins the next address.
    bare = re.sub(r"(://[^\s?]*?)\?\S+?(?=,\s*https?://|\s|$)", r"\1?…", text)
    return re.sub(r"(?<=://)(?:(?!,\s*https?://)\S)*@", "…@", bare)


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A judge as asked for, or as an entry of judges.yaml describes it."""

    spec: str
    """How it would be written after `openai/`."""
    options: JudgeOptions

    @property
    def address(self) -> Address:
        """The model and its servers."""
        return parse_address(self.spec, os.environ.get("OPENAI_BASE_URL", ""))


def load_judges(path: Path | None = None) -> dict[str, NamedJudge]:
    """Return the judges by name; those of the user's file override those of lmmscore.

    The user's file is `path`, or the one named by LMMSCORE_JUDGES, or judges.yaml in the current
    folder, if any.
    """
    from lmmscore.yaml_files import load_yaml, parse_yaml

    bundled = resources.files("lmmscore.judges").joinpath(FILE_NAME).read_text(encoding="utf-8")
    known = dict(_read(parse_yaml(bundled, FILE_NAME), FILE_NAME))
    own = path or _own_file()
    if own is not None:
        known |= _read(load_yaml(own), str(own))

    return known


def _own_file() -> Path | None:
    named = os.environ.get("LMMSCORE_JUDGES")
    if named:
        return Path(named)
    return Path(FILE_NAME) if Path(FILE_NAME).is_file() else None


def find_judge(name: str, path: Path | None = None, **overrides: Any) -> NamedJudge:
    """Return the judge called `name`: a name in judges.yaml, or `openai/MODEL[@BASE_URL…]`.

    `overrides` are options given elsewhere, such as on the command line; None means not given. An
    `openai/…` judge takes prices, limits and parameters from the entry with the same model and
    address, if any.
    """
    judges = load_judges(path)
    entry = judges.get(name)
    if entry is not None:
        return NamedJudge(entry.spec, overridden(entry.options, overrides))

    if not name.startswith("openai/"):
        known = [*judges, "openai/MODEL[@BASE_URL]"]
        raise JudgeFileError(
            f"no judge {mask(name)!r}{nearest(name, judges)}; known: {', '.join(known)}"
        )

    judge = NamedJudge(name.removeprefix("openai/"), JudgeOptions())
    # The user's own entries stand last, and win.
    for entry in judges.values():
        if entry.address.is_same(judge.address):
            judge = replace(judge, options=entry.options)

    return replace(judge, options=overridden(judge.options, overrides))


def overridden(options: JudgeOptions, given: Mapping[str, Any]) -> JudgeOptions:
    """Return the options with those given in their place, held to the same rules as judges.yaml."""
    from lmmscore.yaml_files import complaints

    wanted = {name: value for name, value in given.items() if value is not None}
    made: dict[str, Any] = {
        name: value for name, value in wanted.items() if isinstance(value, Prices)
    }
    plain = {name: value for name, value in wanted.items() if name not in made}
    checked = complaints(
        _model("JudgeOption", "An option.", _fields(declared(JudgeOptions))), plain
    )
    if isinstance(checked, list):
        raise JudgeFileError("judge option " + "\n  ".join(checked))

    made |= {name: getattr(checked, name) for name in plain}
    if "prices" in plain:
        made["prices"] = Prices(**made["prices"].model_dump())

    return replace(options, **made)


_SECTIONS = {
    "parameters": "What changes the answers.",
    "limits": "How fast each server may be asked.",
}
"""The sections of an entry of judges.yaml."""


@cache
def judges_file() -> type[BaseModel]:
    """Return the model of a whole judges.yaml, for validation and for the reference."""
    from pydantic import Field

    url = Annotated[str, Field(pattern=r"^(https?://.+)?$")]
    fields_of_entry: dict[str, Any] = {
        "model": (
            Annotated[str, Field(min_length=1)],
            Field(description="The model, as the server names it."),
        ),
        "base_url": (
            url,
            Field("", description="The server's address, up to /v1; OpenAI if absent."),
        ),
        "base_urls": (
            list[url],
            Field([], description="Several servers of the model; a session stays at one."),
        ),
        **_fields_of_section(""),
    }
    for section, says in _SECTIONS.items():
        inner = _model(f"{section.title()}Entry", says, _fields_of_section(section))
        fields_of_entry[section] = (inner, Field(inner(), description=says))

    entry = _model("JudgeEntry", "One judge of a judges.yaml.", fields_of_entry)
    judges = Field(description="The judges by the names they are asked for.")
    by_name: Any = dict[str, entry]  # type: ignore[valid-type]
    return _model("JudgesFile", "A whole judges.yaml.", {"judges": (by_name, judges)})


def _model(name: str, says: str, fields_of_model: Mapping[str, Any]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    strict = ConfigDict(extra="forbid", frozen=True)
    return create_model(name, __config__=strict, __doc__=says, **dict(fields_of_model))


def _fields_of_section(section: str) -> dict[str, Any]:
    return _fields(each for each in declared(JudgeOptions) if each.about.section == section)


def _fields(options: Iterable[Declared]) -> dict[str, Any]:
    """Return options as pydantic takes the fields of a model."""
    from pydantic import Field

    made = {}
    for each in options:
        default = ... if each.about.required else each.default
        made[each.name] = (_annotation(each), Field(default, description=each.about.help))

    return made


def _annotation(declared_option: Declared) -> Any:
    """Return an option's type with its bounds, as pydantic takes them."""
    from pydantic import Field, JsonValue

    about, kind = declared_option.about, declared_option.type
    if kind == Prices | None:
        says = "US dollars per million tokens, and the day on which they held."
        return _model("PricesEntry", says, _fields(declared(Prices))) | None

    if kind == date | None:
        return date
    if kind == Mapping[str, Any]:
        return dict[str, JsonValue]
    if kind == Mapping[str, str]:
        return dict[str, Annotated[str, Field(pattern=about.pattern)]]

    bounds = {"ge": about.at_least, "gt": about.above, "le": about.at_most}
    given: dict[str, Any] = {key: value for key, value in bounds.items() if value is not None}
    if about.pattern:
        given["pattern"] = about.pattern

    optional = type(None) in getattr(kind, "__args__", ())
    plain = kind.__args__[0] if optional else kind
    if plain is float:
        given["allow_inf_nan"] = False

    bounded = Annotated[plain, Field(**given)] if given else plain
    return bounded | None if optional else bounded


def _read(data: Any, where: str) -> dict[str, NamedJudge]:
    """Return the judges of a file by name. Raises JudgeFileError with every problem in it."""
    from lmmscore.yaml_files import complaints

    result: Any = complaints(judges_file(), data)
    if isinstance(result, list):
        problems = "\n  ".join(_nearer(problem) for problem in result)
        raise JudgeFileError(f"{where}: {problems}")

    return {name: _entry(entry, f"{where}, judges.{name}") for name, entry in result.judges.items()}


def _entry(entry: Any, where: str) -> NamedJudge:
    """Return one judge of a file. Raises JudgeFileError."""
    if entry.base_url and entry.base_urls:
        raise JudgeFileError(f"{where}: base_url and base_urls; keep one")

    # Without an address it is OpenAI's, with OpenAI's prices, wherever OPENAI_BASE_URL points.
    urls = ",".join(entry.base_urls) or entry.base_url or OPENAI_URL
    sections = {"": entry, **{section: getattr(entry, section) for section in _SECTIONS}}
    given = {
        each.name: getattr(sections[each.about.section], each.name)
        for each in declared(JudgeOptions)
        if each.about.section is not None
    }
    if entry.prices is not None:
        given["prices"] = Prices(**entry.prices.model_dump())

    made = NamedJudge(f"{entry.model}@{urls}", JudgeOptions(**given))
    try:
        formula_name(entry.model, entry.image_tokens)
        parse_address(made.spec)
    except LmmscoreError as error:
        raise JudgeFileError(f"{where}: {error}") from error

    return made


def _nearer(problem: str) -> str:
    """Suggest the key meant: the shared complaint cannot look into a mapping by name."""
    place, found, _ = problem.partition(": unknown key")
    if not found or "did you mean" in problem:
        return problem

    *above, key = place.split(".")
    section = above[-1] if above and above[-1] in {*_SECTIONS, "prices"} else ""
    options = [*declared(JudgeOptions), *declared(Prices)]
    known = [each.name for each in options if each.about.section == section]
    if not section:
        known = ["model", "base_url", "base_urls", *known, *_SECTIONS]

    return f"{place}: unknown key{nearest(key, known) or '; known: ' + ', '.join(known)}"


# --------------------------------------------------------------------------------------------------
# Keys, and whatever else is secret.
# --------------------------------------------------------------------------------------------------

USUAL_KEY = "OPENAI_API_KEY"
SHORTEST_SECRET = 6
"""What is shorter is no secret, and occurs in any text."""
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_URL_SAFE = str.maketrans("+/", "-_")
_KEY_BY_HOST = {
    "openrouter.ai": "OPENROUTER_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openai.azure.com": "AZURE_OPENAI_API_KEY",
    "cognitiveservices.azure.com": "AZURE_OPENAI_API_KEY",
    "services.ai.azure.com": "AZURE_OPENAI_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and the name of the place it came from. Only the place is ever shown."""

    secret: str = field(repr=False)
    source: str
    others: tuple[str, ...] = field(repr=False)
    """What else goes to this server and nowhere else: a password, a secret query or header."""

    @property
    def secrets(self) -> list[str]:
        """All that must not be shown, in every form that a server may repeat it in."""
        whole = [text for text in (self.secret, *self.others) if len(text) >= SHORTEST_SECRET]
        return [form for text in whole for form in _forms(text)]


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as it looks inside an address, in JSON and in base64."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    # In base64 it looks different at each of three places in what is encoded with it; characters
    # that depend on its neighbours are left out.
    data = secret.encode("utf-8", "replace")
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        certain = encoded[(8 * shift + 5) // 6 : (shift + len(data)) * 8 // 6]
        if len(certain) >= SHORTEST_SECRET:
            yield certain
            yield certain.translate(_URL_SAFE)


def hider(keys: Iterable[Key]) -> Callable[[str], str]:
    """Return what takes secrets out of a text, should a server repeat them in whatever case."""
    forms = {form.lower() for key in keys for form in key.secrets}
    # The longest first: one may be a part of another.
    secrets = sorted(forms, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, secrets)), re.IGNORECASE)

    def hide(text: str) -> str:
        lowered = text.lower()
        if any(secret in lowered for secret in secrets):
            return pattern.sub("…", text)
        return text

    return hide


def find_key(endpoint: Endpoint, judge: str, options: JudgeOptions) -> Key:
    """Return the key for a server, from the environment or a keyring.

    A provider with a variable of its own gets that key and no other: OpenAI's is none of its
    business. An unknown server may need none; there, a placeholder is sent.
    """
    name = options.key_env or _usual_key(endpoint.host)
    headers = [value for name, value in options.headers.items() if _SECRET_HEADER.search(name)]
    hidden = (*endpoint.secrets, *headers)
    given = os.environ.get(name)
    if given:
        return _checked(Key(given.strip(), name, hidden), judge)

    stored = _from_keyring(name)
    if stored:
        return _checked(Key(stored.strip(), f"{name} in the keyring", hidden), judge)
    if options.key_env or name != USUAL_KEY or endpoint.is_openai:
        raise NotAuthorised(f"{judge}: no key; set the environment variable {name}")
    return Key("none", f"{USUAL_KEY}, which is not set", hidden)


def _usual_key(host: str) -> str:
    for suffix, name in _KEY_BY_HOST.items():
        if host == suffix or host.endswith("." + suffix):
            return name
    return USUAL_KEY


def _checked(key: Key, judge: str) -> Key:
    """Return a key that a header can carry. Raises NotAuthorised."""
    if not (key.secret.isascii() and key.secret.isprintable()):
        raise NotAuthorised(
            f"{judge}: {key.source} holds a character that no key has; copy the key again"
        )
    return key


def _from_keyring(name: str) -> str | None:
    """Return what the keyring holds under this name; None without the `keyring` extra."""
    try:
        import keyring
    except ImportError:
        return None

    try:
        stored = keyring.get_password("lmmscore", name)
    except keyring.errors.KeyringError:
        return None

    return stored if isinstance(stored, str) else None
