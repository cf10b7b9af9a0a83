"""The exception tree. Each message says where the problem is and what to do next.

The command line prints such an error as one line and exits with 1; anything else that escapes is a
bug of ours.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Literal

Scope = Literal["session", "run"]


class LmmscoreError(Exception):
    """Something the user can fix."""


class FileProblem(LmmscoreError):
    """A file that cannot be read or written, or whose content is invalid."""


class BenchmarkError(LmmscoreError):
    """A benchmark that cannot be judged as it stands."""


class DialogError(LmmscoreError):
    """A dialog that cannot be run as it stands."""


class LedgerError(LmmscoreError):
    """A ledger that cannot be read or written."""


class LedgerDamaged(LedgerError):
    """A ledger whose file is no longer one; `says` leaves out what to do, as a run knows better."""

    def __init__(self, says: str, remedy: str) -> None:
        super().__init__(f"{says}; {remedy}")
        self.says = says


class ImageProblem(LmmscoreError):
    """A picture that cannot be shown to a judge."""


class JudgeError(LmmscoreError):
    """A judge did not answer.

    `scope` says what it ends: the session, unscored and with this reason, or the whole run. A judge
    error is never recorded as a reply.
    """

    scope: Scope = "session"


class FatalJudgeError(JudgeError):
    """A judge error that ends the run: every further question would meet it too, or be lost."""

    scope: Scope = "run"


class ContentFiltered(JudgeError):
    """The provider's content filter withheld the question or the answer."""


class NoRecordedReply(FatalJudgeError):
    """A replayed ledger or transcript holds no answer to this question."""


class JudgeFileError(LmmscoreError):
    """An invalid judges.yaml, or a judge that cannot be set up as named."""


class JudgeUnavailable(JudgeError):
    """The server did not answer, after every retry."""


class ServerUnreachable(FatalJudgeError):
    """No server at this address: nothing listens there, or the host is unknown."""


class AnswerTooLarge(JudgeError):
    """The server sent more bytes than any reply could have."""


class ImagesRefused(FatalJudgeError):
    """The model takes no images; every further question would fail in the same way."""


class ServerAway(FatalJudgeError):
    """The server asks for a pause longer than a run should wait."""


class RequestRefused(JudgeError):
    """The server will not answer this question as it stands: too long,
    too many images, malformed."""


class PayloadTooLarge(JudgeError):
    """The question is more bytes than the server takes."""


class ParameterRefused(FatalJudgeError):
    """The server refuses one of the parameters; every further question would fail in the same
    way."""


class NotAuthorised(FatalJudgeError):
    """No key, a wrong key, or one that may not do this."""


class ModelNotFound(FatalJudgeError):
    """The server has no such model, or no such address."""


class AddressNotFound(ModelNotFound):
    """The server has nothing at this address: a wrong base URL, or an API it does not offer."""


class StateLost(RequestRefused):
    """The server no longer has a conversation or a file that it kept; it must be sent again."""


class NotTrusted(FatalJudgeError):
    """No secure connection to the server: its certificate is not trusted, or it speaks no TLS."""


class QuotaExhausted(FatalJudgeError):
    """The account has no money or no quota left; waiting a minute will not help."""


class BudgetExhausted(FatalJudgeError):
    """The next question might cost more than is left of the budget."""


class LedgerUnreadable(FatalJudgeError):
    """The ledger cannot be read, so it is unknown what was answered.

    No question may be asked again that might be on record.
    """


class NotRecorded(FatalJudgeError):
    """A reply came but could not be recorded.

    Nothing more may be asked: it would be paid for and lost.
    """


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the known word nearest to `word`, or nothing."""
    # Above the 0.6 of difflib, by which `nope` is near `openai`; `rmp` is still near `rpm`.
    match = get_close_matches(word, list(known), n=1, cutoff=0.65)
    return f" (did you mean {match[0]}?)" if match else ""


def alternatives(
    word: str, known: Iterable[str], listed_as: str = "known", most: int | None = None
) -> str:
    """Return ` (did you mean X?); known: X, Y` for a word that is not among the known ones.

    `most` shortens the list; what is meant is looked for in all of it.
    """
    names = list(dict.fromkeys(known))
    shown = ", ".join(names[:most]) or "none"
    if most is not None and len(names) > most:
        shown += f" and {len(names) - most} more"

    return f"{nearest(word, names)}; {listed_as}: {shown}"


def typed(flag: str, *words: str) -> str:
    """Return an option as it can be pasted into a shell: `--rename 'Visual Quality=qua'`."""
    return shlex.join([flag, *words])


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return `1 item`, `2 items`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(names) - most + 1} others"]
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def refuse_unless_whole(least: int, **given: Any) -> None:
    """Raise for the first value that is not a whole number of at least `least`."""
    for name, value in given.items():
        if not isinstance(value, Integral) or value < least:
            raise LmmscoreError(f"{name}={value!r}: it must be a whole number of at least {least}")
