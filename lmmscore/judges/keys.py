"""Where a judge's key comes from: the environment, or a keyring. It goes to the server and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmmscore.errors import NotAuthorised
from lmmscore.judges.options import OPENAI_URL, Address

USUAL = "OPENAI_API_KEY"
_BY_HOST = {
    "openrouter.ai": "OPENROUTER_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openai.azure.com": "AZURE_OPENAI_API_KEY",
    "cognitiveservices.azure.com": "AZURE_OPENAI_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and the name of the place it came from. Only the place is ever shown."""

    secret: str = field(repr=False)
    source: str

    def hide(self, text: str) -> str:
        """Return the text with the secret, should a server repeat it, taken out."""
        return text.replace(self.secret, "…") if len(self.secret) >= 6 else text


def find_key(address: Address, named: str = "", environ: Mapping[str, str] | None = None) -> Key:
    """Return the key for a server. A server other than OpenAI's may need none; there, a stand-in is sent."""
    environ = os.environ if environ is None else environ
    names = [named] if named else [*_host_names(address.host), USUAL]
    for name in names:
        if environ.get(name):
            return Key(environ[name].strip(), name)
    for name in names:
        stored = _from_keyring(name)
        if stored:
            return Key(stored, f"{name} in the keyring")
    if named or address.masked_url == OPENAI_URL:
        raise NotAuthorised(f"{address.name}: no key; set the environment variable {names[0]}")
    return Key("none", f"{USUAL}, which is not set")


def _host_names(host: str) -> list[str]:
    return [name for suffix, name in _BY_HOST.items() if host == suffix or host.endswith("." + suffix)]


def _from_keyring(name: str) -> str | None:
    """Return what the keyring holds for lmmscore under this name; None without the `keyring` extra."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        stored = keyring.get_password("lmmscore", name)
    except keyring.errors.KeyringError:
        return None
    return stored if isinstance(stored, str) else None
