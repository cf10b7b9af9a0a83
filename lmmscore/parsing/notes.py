"""Notes and flags beside scores: what a key and its value say of them, in JSON, XML and YAML.

A key beside the images is harmless only if it is known. One that nobody has listed may say that
nothing was seen (`"image_access": "none"`), or that lower is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from fractions import Fraction

from lmmscore.parsing.lexicon import any_of, row_of
from lmmscore.parsing.names import Names
from lmmscore.parsing.numbers import is_upside_down, stated_tops
from lmmscore.parsing.remarks import (
    doubts_one,
    is_alarming,
    is_harmless,
    is_plain,
    makes_up,
    prefers_low,
    sees_nothing,
    unsettles,
)

_TALK = frozenset(
    """note notes disclaimer warning comment comments remark remarks caveat caveats info summary
    message limitation limitations reason reasons reasoning justification explanation rationale
    feedback analysis description observation observations evidence details strengths weaknesses
    purpose conclusion verdict overview why justifications explanations pros cons""".split()
)
_FAILURES = frozenset(("error", "status", "errors", "failure", "exception"))
_NO_FAILURE = frozenset(
    """ok okay success successful complete completed done none null false no final finished valid
    evaluated scored 200 0""".split()
) | {"", "no error", "no errors", "[]"}
_ORIGINS = frozenset("source origin by rater raters author annotator annotators from".split())
"""Keys that say whose scores they are."""
_FREE = frozenset(
    """name label title id index file filename path task category instruction instructions prompt
    question best worst winner preferred weakest strongest""".split()
)
"""Keys under which anything may stand."""
_NAMES = frozenset(
    """number no better date time timestamp created version schema seed language lang locale
    image images edit edits picture option candidate method turn step item session run type
    kind dialog object role url""".split()
)
_QUANTITIES = frozenset(
    """rank ranking ranks order total overall sum average mean confidence weight weights tokens
    count n all certainty weighted s""".split()
)
_SCALES = frozenset("scale range min max minimum maximum top out of direction bounds".split())
_TOPS = frozenset(("max", "maximum", "top"))
_GOOD_FLAGS = frozenset(
    """valid success ok okay done complete completed final real genuine finished usable reliable
    trustworthy grounded access vision""".split()
)
_OTHER_FLAGS = frozenset(
    """tie ties tied winner best same identical weighted json changed edited followed follows
    compliant correct match matches pass passed higher""".split()
)
_YES = frozenset(("true", "yes", "1"))
_NO = frozenset(("false", "no", "0", "none", "null", "", "n/a", "missing", "unavailable"))
_UNREAL = any_of("UNREAL", "DRAFT", "WITHDRAW", "ALTER", "BROKEN", "NOT", "NOTHING", "FAIL")
_SEEING = any_of("SEE", "ARRIVE", "REAL", "FINAL", "FILE")
_PEOPLE = any_of("RATER", "OTHER", "UNREAL")
_OWN_NAMES = frozenset(("judge", "model", "evaluator"))
"""Keys under which the judge may give its own name."""
_SMALL = frozenset("is are was has the a of by in on and for to s x factor factors".split())
_KNOWN = _FREE | _NAMES | _QUANTITIES | _SCALES | _OWN_NAMES | _ORIGINS | _SMALL
_FILE_NAME = re.compile(r"\.[a-z]{3,4}$|/")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?%?")
_GRADES = frozenset(
    """pass passed fail failed failure partial partially good bad poor fair excellent okay ok met
    unmet satisfied correct incorrect wrong high medium low""".split()
)
"""How a score is told in words."""
_TEMPLATE = re.compile(
    r"\.{3}|…|<[^<>]{2,60}>|\{\{?[^{}]{2,60}\}\}?|\[(?:insert|your)[^\[\]]{2,60}\]"
)
"""What is to be filled in."""
_FEW = 4
_NONE_OF = re.compile(r"(?:0|no|none|not)\b")


@dataclass(frozen=True, slots=True)
class Note:
    """A value beside scores, under a key in words, and the image it is said of, if it is of one."""

    image: int | None
    key: str
    text: str

    @property
    def _words(self) -> set[str]:
        return set(self.key.lower().split())

    @property
    def _value(self) -> str:
        return " ".join(self.text.lower().split())

    def casts_doubt(self) -> bool:
        """Tell whether the scores it stands beside may be none."""
        if self.key == "comment":
            return _voids(self.text) or is_alarming(self.text)

        words, value = self._words, self._value
        if not words:
            return value not in _YES | _NO and _voids(self.text)

        unexpected = self._is_unexpected()
        if unexpected is not None:
            return unexpected

        if _NUMBER.fullmatch(value):
            known = words <= _KNOWN or words & _QUANTITIES or is_plain(self.key)
            return self.image is None and not known

        if words & _FREE:
            return False

        said = f"{self.key}: {self.text}"
        if _voids(said) or is_alarming(said):
            return True

        known = words <= _KNOWN or (is_plain(self.key) and is_harmless(self.text))
        return self.image is None and not known

    def _is_unexpected(self) -> bool | None:
        """Tell whether a key of a known kind has a value that it should not have; None for any
        other key. The order matters: `status: none` is a state before it is a flag."""
        words, value = self._words, self._value
        if words & _TALK:
            return self._is_bad_talk()

        if words & _FAILURES:
            return value.strip(" .!") not in _NO_FAILURE

        if _NONE_OF.match(value) and _SEEING.intersection(row_of(self.key)):
            return True

        if value in _YES | _NO and not words & _SCALES:
            return self._is_a_bad_flag(words, denied=value in _NO)

        if words & _OWN_NAMES:
            return bool(_PEOPLE.intersection(row_of(value)))

        if words & _ORIGINS:
            return not _FILE_NAME.search(value) and not is_plain(value)

        return None

    def voids_a_score(self) -> bool:
        """Tell whether it may void the one score that it stands beside, in an object of its own.

        What explains a score may speak of anything; so only words that are nothing else count.
        """
        value = self._value
        if _TEMPLATE.fullmatch(value):
            return True
        if value in _YES | _NO:
            unreal = bool(_UNREAL.intersection(row_of(self.key))) or prefers_low(self.key)
            return unreal and value in _YES
        if self._words & _FAILURES:
            return value.strip(" .!") not in _NO_FAILURE | _GRADES
        if self._words & _ORIGINS:
            return bool(_PEOPLE.intersection(row_of(value)))
        return len(value.split()) < _FEW and value not in _GRADES and unsettles(self.text)

    def _is_bad_talk(self) -> bool:
        if _TEMPLATE.fullmatch(self.text.strip()):
            return True

        if self.image is None:
            return _voids(self.text) or not is_harmless(self.text)
        # What explains an image's scores may say of it what it likes, but that it was not seen.
        return sees_nothing(self.text) or doubts_one(self.text.partition(". ")[0])

    def states_another_scale(self, asked: Set[Fraction]) -> bool:
        """Tell whether it names the top of a scale, and none that was asked for."""
        if not self._words & _SCALES:
            return False
        tops = stated_tops(f"{self.key} {self.text}") | stated_tops(self.text)
        if self._words & _TOPS and _NUMBER.fullmatch(self.text.strip()):
            tops.add(Fraction(self.text.strip(" %")))

        return bool(tops) and not tops & asked

    def _is_a_bad_flag(self, words: set[str], *, denied: bool) -> bool:
        """Tell whether `is_placeholder: true` or `images_received: 0` says that there was nothing
        to judge; whatever else a flag says, it may say so."""
        row = row_of(self.key)
        if prefers_low(self.key):
            return not denied
        if _UNREAL.intersection(row):
            return not denied
        if words & _GOOD_FLAGS or _SEEING.intersection(row):
            return denied
        return not words <= _KNOWN | _OTHER_FLAGS


def _voids(text: str) -> bool:
    """Tell whether a text beside scores says that they are none."""
    return (
        sees_nothing(text)
        or makes_up(text)
        or doubts_one(text)
        or is_upside_down(text)
        or prefers_low(text)
    )


_TAG = re.compile(r"<[A-Za-z][\w-]*((?:\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))+)\s*/?>")
_COMMENT = re.compile(r"<!--(.{1,300}?)-->", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*[\"']([^\"'<>]*)[\"']")


_LINE = re.compile(r"\W*(?P<key>[a-z]+(?:_[a-z]+)+)[ ]*[:=][ ]*(?P<value>\S.{0,80})")


def flag_in(line: str) -> Note | None:
    """Return the note that a line of YAML is: `images_seen: 0`."""
    found = _LINE.fullmatch(line.strip())
    return Note(None, found["key"].replace("_", " "), found["value"]) if found else None


def attributes(text: str, names: Names) -> Iterator[Note]:
    """Yield the attributes of tags, and comments: `<scores rater="human">`, `<!-- dummy -->`.

    Those that name a factor hold its score.
    """
    for comment in _COMMENT.findall(text):
        yield Note(None, "comment", comment.strip())

    for tag in _TAG.finditer(text):
        for key, value in _ATTRIBUTE.findall(tag[1]):
            if names.factor_named(key) is None:
                yield Note(None, re.sub(r"[_-]", " ", key), value)
