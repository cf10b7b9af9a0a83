"""Where a judge's key comes from: the environment, or a keyring. It goes to the server and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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
    "services.ai.azure.com": "AZURE_OPENAI_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and the name of the place it came from. Only the place is ever shown."""

    secret: str = field(repr=False)
    source: str
    others: tuple[str, ...] = field(default=(), repr=False)
    """What else goes to this server and nowhere else: a password, a secret query."""

    def hide(self, text: str) -> str:
        """Return the text with the secrets, should a server repeat them, taken out."""
        for secret in sorted((self.secret, *self.others), key=len, reverse=True):
            if len(secret) >= 6:
                text = text.replace(secret, "…")
        return text


def find_key(
    address: Address,
    named: str = "",
    environ: Mapping[str, str] | None = None,
    others: Iterable[str] = (),
) -> Key:
    """Return the key for a server. One that nobody knows may need none; there, a stand-in is sent.

    A provider with a variable of its own gets that key and no other: OpenAI's is none of its business.
    """
    environ = os.environ if environ is None else environ
    names = [named] if named else _host_names(address.host) or [USUAL]
    hidden = (*address.secrets, *others)
    for name in names:
        if environ.get(name):
            return _sound(Key(environ[name].strip(), name, hidden), address)
    for name in names:
        stored = _from_keyring(name)
        if stored:
            return _sound(Key(stored.strip(), f"{name} in the keyring", hidden), address)
    if named or names != [USUAL] or address.masked_url == OPENAI_URL:
        raise NotAuthorised(f"{address.name}: no key; set the environment variable {names[0]}")
    return Key("none", f"{USUAL}, which is not set", hidden)


def _sound(key: Key, address: Address) -> Key:
    if not (key.secret.isascii() and key.secret.isprintable()):
        raise NotAuthorised(
            f"{address.name}: {key.source} holds a character that no key has; copy the key anew"
        )
    return key


def _host_names(host: str) -> list[str]:
    return [
        name for suffix, name in _BY_HOST.items() if host == suffix or host.endswith("." + suffix)
    ]


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
