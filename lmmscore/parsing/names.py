"""The names by which a reply refers to factors and images, in whatever language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lmmscore.conversation import cardinal, ordinal
from lmmscore.parsing.text import lowered
from lmmscore.scales import Factor

_LARGEST_IN_WORDS = 20
_WORDS = {cardinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}
_ORDINALS = {ordinal(i): i for i in range(1, _LARGEST_IN_WORDS + 1)}
_FOREIGN_ORDINALS = {
    **dict.fromkeys(("erste", "erstes", "ersten", "primera", "primer", "première", "premiere"), 1),
    **dict.fromkeys(("premier", "prima", "primo", "primeira", "первое", "eerste", "首"), 1),
    **dict.fromkeys(("zweite", "zweites", "zweiten", "segunda", "segundo", "deuxième"), 2),
    **dict.fromkeys(("seconde", "seconda", "secondo", "второе", "tweede"), 2),
    **dict.fromkeys(("dritte", "drittes", "dritten", "tercera", "tercer", "troisième"), 3),
    **dict.fromkeys(("terza", "terzo", "terceira", "третье", "derde"), 3),
    **dict.fromkeys(("vierte", "viertes", "vierten", "cuarta", "cuarto", "quatrième"), 4),
    **dict.fromkeys(("quarta", "quarto", "четвертое", "vierde"), 4),
    **dict.fromkeys(("fünfte", "fünftes", "quinta", "quinto", "cinquième"), 5),
    **dict.fromkeys(("sechste", "sechstes", "sexta", "sexto", "sixième", "sesta"), 6),
}
_CHINESE = {sign: i for i, sign in enumerate("一二三四五六七八九十", 1)}
_KOREAN = {"첫": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8}
_ROMAN = {sign: i for i, sign in enumerate("I II III IV V VI VII VIII IX X XI XII".split(), 1)}
_LETTERS = {sign: i for letters in ("ABCDEFGH", "αβγδεζηθ") for i, sign in enumerate(letters, 1)}
_LAST = frozenset(("last", "letzte", "letztes", "última", "ultima", "dernière", "derniere", "最后"))

# Every run of spaces is bounded: a reply of nothing but spaces must not keep us busy.
_ENGLISH = (
    r"images?|imgs?\.?|pictures?|pics?|photos?|photographs?|edits?|results?|methods?|candidates?"
    r"|outputs?|versions?|options?|samples?|variants?|variations?|figures?|figs?\.?|models?"
    r"|entry|entries|submissions?|renditions?|attempts?|systems?|approach(?:es)?|alternatives?"
    r"|generations?|renders?|renderings?|proposals?|contestants?|contenders?|frames?|panels?"
    r"|retouch(?:es)?|editors?|designs?|algorithms?|techniques?|modifications?|items?|assistants?"
)
_FOREIGN = (
    r"bild(?:er)?|bearbeitung|ergebnis|variante|imagen|imágenes|imagem|immagine|résultat|resultado"
    r"|resultat|afbeelding|obraz(?:u|ie|em)?|kuva|изображени[еяюи]|картинк[аеиу]|фото|рисун(?:ок|ка|ке)"
    r"|görsel|resim"
    r"|编辑图像|编辑图|图像|图片|图|照片|影像|圖像|圖片|圖|方法|画像|写真|編集画像|編集結果|結果|结果"
    r"|이미지|사진|그림|결과"
)
NOUN = rf"(?:{_ENGLISH}|{_FOREIGN})"
_WHICH = r"(?:edited|output|result|resulting|generated|modified|bearbeitete[sn]?|edit|editada)"
_CARDINAL = "|".join(sorted(_WORDS, key=len, reverse=True))
_ORDINAL = "|".join(sorted([*_ORDINALS, *_FOREIGN_ORDINALS], key=len, reverse=True))
_SPACE = r"[ _-]{0,3}"
# Behind "Edit (a)", which heads something; in "the edit (a) adds a boat and (b) …" it names none.
_HEADS = r"[ *]*(?:[:=|–—]|-[ ]|\n|\Z)"
_NUMBERED = rf"""
    (?:{_WHICH}{_SPACE})?{NOUN}{_SPACE}
    (?:(?:no|nr|núm|num|number|n[°º])\.?|\#|№)?{_SPACE}[\#(\[]?[ ]?
    (?:(?P<number>[0-9]{{1,3}})(?![0-9]|[.,][0-9])
      | (?P<word>{_CARDINAL})(?![A-Za-z0-9])
      | (?P<chinese>[一二三四五六七八九十])
      | (?P<sign>(?-i:[A-H]|[α-θ]|(?<=[(\[])[a-h](?=[)\]]{_HEADS})
          |(?!I[ ]+[a-z])(?=[IVX])X?(?:IX|IV|V?I{{0,3}})))(?![A-Za-z0-9'’]))
    (?:[ ]?[)\]](?<=[(\[#0-9 ][0-9)\]]))?
"""
_ORDERED = rf"""
    (?:the[ ]{{1,3}}|die[ ]|das[ ]|la[ ]|el[ ]|le[ ])?
    (?:
      (?:(?P<ordinal>{_ORDINAL})|(?P<last>last|final|letzte[sn]?|[uú]ltima|derni[eè]re)
        |(?P<nth>[0-9]{{1,3}})(?:st|nd|rd|th|er|re|e|ème|a|ª
          |\.(?=[ ](?:Bild|Ergebnis|Variante)\b(?![ ]?[0-9]))))[ _-]{{1,3}}
      (?:{_WHICH}[ _-]{{1,3}}|of[ ]the[ ](?:{_WHICH}[ ])?(?=\w+s\b))?  # "third of the picture"
      (?:{NOUN}|one)(?![A-Za-z])
    | (?P<subject>{_ORDINAL})(?=[ ](?:gets|receives|earns)\b)
    | 第[ ]?(?:(?P<cnumber>[0-9]{{1,3}})|(?P<cword>[一二三四五六七八九十]))[ ]?
      (?:张|幅|个|枚|枚目|番目|장|幅图|副|項|个编辑)?(?:的|の)?(?:编辑|編集)?(?:图像|图片|图|照片|画像|結果|结果|방법)?
    | (?P<clast>最后一[张幅个](?:图像|图片|图|照片)?)
    | (?P<jnumber>[0-9]{{1,3}})(?:枚目|番目)(?:の画像|の写真|の編集画像)?
    | (?P<knumber>[0-9]{{1,3}})[ ]?번(?:째)?[ ]?(?:이미지|사진|그림)
    | (?P<kword>첫|두|세|네|다섯|여섯|일곱|여덟)[ ]?번째[ ]?(?:이미지|사진|그림|결과)
    )
"""
_HASHED = r"\#(?P<bare>[0-9]{1,3})(?![\w.])"
_PICTURE_FILE = r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)\b"
_FILE = rf"(?:{_WHICH}{_SPACE})?(?P<file>[0-9]{{1,3}})(?={_PICTURE_FILE})"
_TOGETHER = rf"""
    (?P<all>(?:for[ ])?(?:(?:all|each|every)(?:[ ]of)?(?:[ ]the)?|alle|todas[ ]las
      |toutes[ ]les|所有)
      (?:[ ](?P<allcount>[0-9]{{1,2}}|{_CARDINAL}))?(?:[ ]edited)?[ ]?{NOUN})(?![A-Za-z])
  | (?P<both>(?:both|beide|ambas)(?:[ ]edited)?(?:[ ]of[ ]the)?[ ]{NOUN})(?![A-Za-z])
"""


def _openings(words: Iterable[str]) -> str:
    """Return a pattern for how any of these words begins: most places are passed over by it."""
    seconds: dict[str, set[str]] = {}
    for word in words:
        seconds.setdefault(word[0], set()).add(word[1:2])

    return "|".join(
        re.escape(first) + ("" if "" in second else f"[{re.escape(''.join(sorted(second)))}]")
        for first, second in sorted(seconds.items())
    )


_IMAGE = re.compile(
    rf"(?<![A-Za-z0-9_])(?:{_TOGETHER}|{_NUMBERED}|{_ORDERED}|{_HASHED}|{_FILE})",
    re.VERBOSE | re.IGNORECASE,
)
# How every name of an image begins, in lower case: to look for names only where one can stand.
_NUMBERING_WORD = rf"{_ORDINAL}|last|final|letzte|ultima|última|derniere|dernière"
_IN_ASIA = "第|最后一|첫|두|세|네|다섯|여섯|일곱|여덟"
_ARTICLE = "the|die|das|la|el|le"
_EVERY = "all|each|every|alle|todas|toutes|所有"
_FIRST_WORDS = re.findall(
    r"[^\W\d_]+",
    rf"{NOUN}|{_WHICH}|{_NUMBERING_WORD}|{_IN_ASIA}|{_ARTICLE}|for|{_EVERY}|both|beide|ambas",
)
_BEGINS = re.compile(
    rf"""
    (?<![A-Za-z0-9_])(?=[\#0-9]|{_openings(_FIRST_WORDS)})
    (?:{NOUN}|{_WHICH}|{_NUMBERING_WORD}|\#
      |(?:{_ARTICLE})[ ]{{1,3}}(?:{_NUMBERING_WORD}|[0-9]|{_IN_ASIA})
      |(?:for[ ])?(?:{_EVERY})|both|beide|ambas|[0-9]{{1,3}}[ ]?[a-zª.枚番번]|{_IN_ASIA})
    """,
    re.VERBOSE,
)
_FILE_ENDING = re.compile(_PICTURE_FILE, re.IGNORECASE)

_BRACKETED = re.compile(r"([^()\[\]]*)[(\[]([^()\[\]]*)[)\]][: ]*")
_ENDS_IN_SCORE = re.compile(r"(?:final)?(?:score|rating|grade|value|points|mark)s?$")
_RUNNING_NUMBER = re.compile(
    r"^\s*(?:(?:factor|criterion|metric|dimension|aspect|item|q)[\s_-]*)?"
    r"\(?[0-9]{1,2}(?:\s*[.):]|\s*[–—-]|_|\s*,|\s)\s*_?",
    re.IGNORECASE,
)
# "Sub-score S_acc", "score of realism"
_CALLED_A_SCORE = re.compile(
    r"^\W*(?:sub-?)?(?:scores?|ratings?)[ ](?:(?:of|for)[ ])?", re.IGNORECASE
)
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")
_ONLY_SCORE = ("score", "rating", "final score", "final rating", "overall score", "overall rating")

UNKNOWN = -1
"""The position of an image that is named in a way that is not understood."""


@dataclass(frozen=True, slots=True)
class ImageName:
    """Images named in a text."""

    positions: tuple[int, ...]
    """Which; several where they are named together, (UNKNOWN,) where it cannot be said."""
    start: int
    end: int
    by_sign: bool = False
    """Whether by a letter or a Roman numeral."""


@dataclass(frozen=True, slots=True)
class FactorName:
    """A factor named in a text."""

    key: str
    start: int
    end: int
    in_words: bool
    """Named in words rather than by its symbol."""
    position: int | None = None
    """The image, where an index to the symbol says it: `S_acc(2)`."""
    modified: bool = False
    """Whether a word before it makes it another's: "texture quality", "overall quality"."""


_MOST_LABELS = 4096
_LONGEST_LABEL = 60


_CUT_SHORT = re.compile(r"\s*(?:[^\W\d_]{3,20}\s+)?[^\W\d_]{3,20}\.(?:\s+[^\W\d_]{3,20}\.?)?\s*")


def _shortens(words: Sequence[str], name: Sequence[str]) -> bool:
    """Tell whether words are those of a name, each whole or cut short with a full stop."""
    return len(words) == len(name) and all(
        whole.startswith(word[:-1]) if word.endswith(".") else word == whole
        for word, whole in zip(words, name, strict=True)
    )


_FEW_FACTORS = 4
"""Who scores more puts them into groups."""


class Names:
    """Finds factors and images by name, for one question: these factors, n images."""

    def __init__(self, factors: Sequence[Factor], n: int) -> None:
        self.factors = tuple(factors)
        self.n = n
        self.only = self.factors[0] if len(self.factors) == 1 else None
        self._by_key = {factor.key: factor for factor in factors}
        self._labels: dict[str, int | None] = {}
        self._order = {factor.key: number for number, factor in enumerate(factors, 1)}
        self._known = _known_names(self.factors)
        listed = r"[ ]*[,/|-][ ]*".join(_loosely(factor.key) for factor in factors)
        self._keys = re.compile(rf"(?<![\w-]){listed}(?![\w-])") if len(self.factors) > 2 else None
        self._symbols = {normal(factor.symbol) for factor in factors}
        self._pattern = _factor_pattern(
            tuple((factor.key, _all_names(factor)) for factor in self.factors)
        )

    def factor(self, key: str) -> Factor:
        """Return the factor of that key."""
        return self._by_key[key]

    def number_of(self, key: str) -> int:
        """Return which of the factors has that key, counted from 1."""
        return self._order[key]

    def factor_named(self, label: str) -> Factor | None:
        """Return the factor that a table's heading or a JSON key names.

        Case, spaces and underscores do not matter: `Editing Accuracy (S_acc)`, `$S_{acc}$`,
        `editing_accuracy_score` and `1. Editing Accuracy` name it too.
        """
        label = label[:120]
        if label.isdecimal():
            # Most cells of a table hold a number and no name.
            return None

        tries = [label]
        bracketed = _BRACKETED.fullmatch(label)
        if bracketed:
            outer, inner = bracketed.groups()
            numbered = re.search(r"[0-9]", _RUNNING_NUMBER.sub("", outer)) is not None
            tries += [outer] if numbered else [outer, inner]

        tries += [_CALLED_A_SCORE.sub("", _RUNNING_NUMBER.sub("", each)) for each in tries]
        for wanted in map(normal, tries):
            factor = self._known.get(wanted) or self._known.get(_ENDS_IN_SCORE.sub("", wanted))
            if factor is not None:
                return factor

        return self.abbreviated(label)

    def abbreviated(self, label: str) -> Factor | None:
        """Return the one factor that a label names with words cut short: `Acc.`, `Visual Qual.`"""
        if "." not in label or not _CUT_SHORT.fullmatch(label):
            return None

        words = label.casefold().split()
        found = {
            factor.key
            for factor in self.factors
            for name in factor.names
            if _shortens(words, name.casefold().split())
        }
        return self._by_key[found.pop()] if len(found) == 1 else None

    def keys_listed(self, text: str, start: int, end: int) -> bool:
        """Tell whether all keys stand here in their order: `(acc, pre, qua, real)`."""
        return self._keys is not None and self._keys.search(lowered(text), start, end) is not None

    def groups_factors(self, words: str) -> bool:
        """Tell whether a heading is of words that factors' names are made of: "Realism", above
        "Scale Realism" and others."""
        heading = set(re.findall(r"[^\W\d_]+", words.lower())) - {"and", "of"}
        if not heading or len(self.factors) <= _FEW_FACTORS:
            return False

        named = {word for factor in self.factors for word in factor.name.lower().split()}
        return heading <= named

    def is_name(self, label: str) -> bool:
        """Tell whether a label is a factor's name and nothing else."""
        return normal(label) in self._known or self.abbreviated(label) is not None

    def factors_in(self, text: str, start: int, end: int) -> list[FactorName]:
        """Return every place where a factor is named; `Editing Accuracy (S_acc)` is one name."""
        found: list[FactorName] = []
        for name in self._factors_in(text, start, end):
            last = found[-1] if found else None
            between = text[last.end : name.start].strip() if last else ""
            if last is not None and last.key == name.key and between in {"(", "[", "/", ",", ""}:
                found[-1] = FactorName(
                    last.key, last.start, name.end, last.in_words, name.position, last.modified
                )
            else:
                found.append(name)

        return found

    def _factors_in(self, text: str, start: int, end: int) -> Iterator[FactorName]:
        for match in self._pattern.finditer(lowered(text), start, end):
            written = text[match.start() : match.end()]
            modified = " " not in written and _modified(text, written, match.start(), start)
            if modified and self.only is not None and _OVERALL.search(text, start, match.start()):
                modified = False

            name = normal(written)
            key = self._known[name].key
            in_words = name not in self._symbols
            place, position = self._indexed(text, match.end(), end, key, in_words=in_words)
            yield FactorName(key, match.start(), place, in_words, position, modified)

    def _indexed(
        self, text: str, place: int, end: int, key: str, *, in_words: bool
    ) -> tuple[int, int | None]:
        """Return where a factor's name ends, with the index it has, and the image that says:
        `S_acc(2)`. The only image needs none; there `Accuracy (1): 6` numbers the factors."""
        if self.n > 1:
            index = (_INDEX if in_words else _SUBSCRIPT).match(text, place, end)
            if index is not None and int(index["index"]) <= self.n:
                return index.end(), int(index["index"])
            return place, None

        index = _NUMBERING.match(text, place, end)
        if index is not None and int(index["index"]) == self._order[key]:
            return index.end(), None
        return place, None

    def images_in(self, text: str, start: int, end: int) -> Iterator[ImageName]:
        """Yield every place where images are named by a noun or a number sign."""
        lower = lowered(text)
        place = start

        while (begins := _BEGINS.search(lower, place, end)) is not None:
            match = _IMAGE.match(text, begins.start(), end)
            place = match.end() if match is not None else begins.start() + 1
            if match is None:
                continue

            positions = self._positions(match)
            if not positions:
                continue

            image = ImageName(positions, match.start(), match.end(), bool(match["sign"]))
            if match["all"] is None and match["both"] is None:
                image = _with_more(text, image, end, self.n)

            place = image.end
            yield image

    def _positions(self, match: re.Match[str]) -> tuple[int, ...]:
        if match["both"]:
            return (1, 2) if self.n == 2 else (UNKNOWN,)

        if match["all"]:
            counted = match["allcount"]
            count = self.n
            if counted:
                count = _WORDS.get(counted.lower(), 0) or int(counted)

            every = tuple(range(1, self.n + 1))
            return every if count == self.n else (UNKNOWN,)

        position = self._position(match)
        return () if position is None else (position,)

    def _position(self, match: re.Match[str]) -> int | None:
        if match["number"]:
            return int(match["number"])

        groups = match.groupdict()

        for group in ("nth", "cnumber", "jnumber", "knumber", "bare", "file"):
            if groups[group]:
                return int(groups[group])

        if groups["word"]:
            return _WORDS[groups["word"].lower()]

        if groups["ordinal"] or groups["subject"]:
            word = (groups["ordinal"] or groups["subject"]).lower()
            return _ORDINALS.get(word) or _FOREIGN_ORDINALS[word]

        if groups["chinese"] or groups["cword"]:
            return _CHINESE[groups["chinese"] or groups["cword"]]

        if groups["kword"]:
            return _KOREAN[groups["kword"]]

        if groups["last"] or groups["clast"]:
            return self.n

        return self._by_sign(groups["sign"] or "")

    def _by_sign(self, sign: str) -> int | None:
        """Return the image that a letter or a Roman numeral stands for."""
        if not sign:
            return None
        if sign == "I" and self.n > max(_LETTERS.values()):
            return UNKNOWN
        return _ROMAN.get(sign) or _LETTERS.get(sign) or _LETTERS.get(sign.upper())

    def image_named(self, label: str) -> int | None:
        """Return the one image a label names by a noun: `Image 3`, `the third image`, `#3`."""
        label = _FILE_ENDING.sub("", label.strip(" :.()[]_*\"'")).replace("_", " ")[:120]
        image = next(self.images_in(label, 0, len(label)), None)
        if image is None or image.start > 0 or len(image.positions) > 1:
            return None

        tail = label[image.end :].strip(" _").lower()
        ends = not tail or tail[0] in "(:-–—[,·|"
        if ends or tail in {"score", "scores", "ratings"}:
            return image.positions[0]
        return None

    def image_labelled(self, label: str) -> int | None:
        """Return the image a table cell or a JSON key names, a bare number or letter included."""
        if len(label) > _LONGEST_LABEL:
            return self._image_labelled(label)

        # Every rule about a table asks this of its labels, and replies share most of theirs.
        if label not in self._labels:
            if len(self._labels) >= _MOST_LABELS:
                self._labels.clear()

            self._labels[label] = self._image_labelled(label)

        return self._labels[label]

    def _image_labelled(self, label: str) -> int | None:
        bare = label.strip(" :.#()[]_*\"'")
        if re.fullmatch(r"[0-9]{1,3}", bare):
            return int(bare)
        if of_all := re.fullmatch(r"([0-9]{1,3})[ ]?(?:of|/)[ ]?[0-9]{1,3}", bare):
            return int(of_all[1])

        lower = bare.lower()
        if lower in _LAST:
            return self.n

        for words in (_ORDINALS, _WORDS, _FOREIGN_ORDINALS, _CHINESE):
            if lower in words:
                return words[lower]

        if nth := re.fullmatch(r"([0-9]{1,3})(?:st|nd|rd|th|\.)", lower):
            return int(nth[1])
        if self.n > 1 and bare in _LETTERS | _ROMAN:
            return self._by_sign(bare)
        if short := re.fullmatch(r"(?:[IEMPVRO]|img|im|pic|ed)[_-]?([0-9]{1,2})", bare):
            return int(short[1])
        return self.image_named(label)


# --- Images named together ---

_OF_ALL = re.compile(
    r"[ ]?(?P<of>/|of|von|de)[ ]?(?:the[ ])?(?:(?P<count>[0-9]{1,3})(?![0-9])"
    rf"|(?P<word>{_CARDINAL})(?![A-Za-z]))",
    re.IGNORECASE,
)
_MORE = re.compile(
    rf"""
    [ ]{{0,3}}(?P<joint>,|&|/|[–—-]|and|und|y|et|to|through|bis|、|和|与|vs\.?|versus)[ ]{{0,3}}
    (?P<noun>(?:the[ ])?{NOUN}[ ]{{0,3}})?(?:\#)?(?P<number>[0-9]{{1,3}})(?![0-9A-Za-z]
      |[.,:/][0-9]|[ ]?[/=])
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _with_more(text: str, image: ImageName, end: int, n: int) -> ImageName:
    """Return the name with what is named together with it: `1 and 2`, `1-3`; but `1/4` is one."""
    if ending := _FILE_ENDING.match(text, image.end, end):
        return replace(image, end=ending.end())

    of_all = _OF_ALL.match(text, image.end, end)
    if of_all is not None and (of_all["of"] != "/" or of_all["count"] == str(n)):
        return replace(image, end=of_all.end())

    positions = list(image.positions)
    place = image.end
    while (more := _MORE.match(text, place, end)) is not None:
        name = text[image.start : image.end]
        if not more["noun"] and not _may_list_numbers(name, more["joint"]):
            break
        if more["noun"] and name.startswith("#"):
            # "#1 – Image 2": a rank, and what has it.
            break

        positions += _positions_added(text, positions[-1], more, end)
        place = more.end()

    if place == image.end:
        return image
    if UNKNOWN in positions:
        positions = [UNKNOWN]

    return replace(image, positions=tuple(dict.fromkeys(positions)), end=place)


_PLURAL = re.compile(r"(?:s|bilder|[^\x00-\u024f])[ #_-]{0,3}[0-9]", re.IGNORECASE)


def _may_list_numbers(name: str, joint: str) -> bool:
    """Tell whether bare numbers may follow a name: "images 1, 2"."""
    if joint == "," and not name.isascii():
        # "图像2, 7 (S_acc)": a comma may as well end the name.
        return False
    return _PLURAL.search(name) is not None


_RANGES = frozenset(("-", "–", "—", "to", "through", "bis"))
_GETS_A_NUMBER = re.compile(
    r"[ ]*(?:[=–—-]|→|gets|scores|receives|has|earns|is)?[ ]*[(\[]?[ ]*[0-9]"
)


def _positions_added(text: str, last: int, more: re.Match[str], end: int) -> Sequence[int]:
    """Return what one more name adds to those up to the last: `and 3`, `to 5`, `, image 2`."""
    joint, number = more["joint"].lower(), int(more["number"])
    if joint in _RANGES:
        return range(last + 1, number + 1) or [UNKNOWN]
    if joint == "/" or joint.startswith("v"):
        return [UNKNOWN]

    # "Image 2 , Image 3: 5" may leave the score of image 2 out; "Image 1 5 and Image 2 and Image
    # 3 7", too.
    if more["noun"] and (joint in {",", "、"} or _GETS_A_NUMBER.match(text, more.end(), end)):
        return [UNKNOWN]
    return [number]


# --- Factors ---

# Words that may stand before a name of one word: "the quality", but "overall quality" is another.
_BEFORE_A_NAME = frozenset(
    """a an and are as at but for from give gives giving has have i in is its it of on or per score
    scores scored scoring get gets got receives receive rate rates rated the their this to und with
    while whose plus both then my s de la el le il der die das den dem für en points pts where image
    edit images put puts factor factors assign breakdown order output outputs""".split()
)
# Where one thing is scored, the overall is that one.
_OVERALL = re.compile(r"\b(?:overall|final)[ ]\Z", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)[ ]{1,2}$")


def _modified(text: str, name: str, place: int, start: int) -> bool:
    """Tell whether the word before makes a name another's: "texture quality", "overall quality"."""
    if "_" in name or name.isupper():
        return False
    before = _WORD_BEFORE.search(text, max(start, place - 30), place)
    return before is not None and before["word"].lower() not in _BEFORE_A_NAME


_AT_INDEX = r"(?P<index>[0-9]{1,2})[)\]]{0,2}(?<=[)\]0-9])(?=[ ]{0,3}[:=])"
_INDEX = re.compile(rf"(?:\^\(?|\(|\[|\^?\(?){_AT_INDEX}")
# Behind a symbol, a comma does as well: `S_{acc,1}`.
_SUBSCRIPT = re.compile(rf"(?:\^\(?|\(|\[|,|\^?\(?){_AT_INDEX}")
_NUMBERING = re.compile(r"[ ]?\((?P<index>[1-9][0-9]?)\)(?=[ ]{0,3}[:=])")


@lru_cache(maxsize=64)
def names_of(factors: tuple[Factor, ...], n: int) -> Names:
    """Return the names of these factors and n images."""
    return Names(factors, n)


def _all_names(factor: Factor) -> tuple[str, ...]:
    """Return every name, the ones in words also with the symbol's first part before them, and in
    the singular: "an artifact score of 3"."""
    names = [*factor.names, *filter(None, map(_singular, factor.names))]
    lead, _, tail = factor.symbol.partition("_")
    if tail:
        short = [name for name in factor.names if name != factor.symbol and " " not in name]
        names += [f"{lead}_{name}" for name in short]

    return tuple(dict.fromkeys(names))


def _singular(name: str) -> str:
    """Return a name in words without the s of its plural."""
    plural = re.fullmatch(r"([A-Za-z ]*[a-z]{3,}[^aiousAIOUS\W\d_])s", name)
    return plural[1] if plural else ""


def _known_names(factors: Sequence[Factor]) -> dict[str, Factor]:
    """Return the factors by every name they go by, without case, spaces and underscores."""
    known: dict[str, Factor] = {}
    for factor in reversed(factors):
        for name in _all_names(factor):
            known[normal(name)] = factor

    if len(factors) == 1:
        for name in _ONLY_SCORE:
            known.setdefault(normal(name), factors[0])

    known.pop("", None)
    return known


@lru_cache(maxsize=64)
def _factor_pattern(names: tuple[tuple[str, tuple[str, ...]], ...]) -> re.Pattern[str]:
    alternatives: list[tuple[int, str]] = []
    for key, all_names in names:
        words = {name for name in all_names if name != key}
        if len(names) == 1:
            words |= set(_ONLY_SCORE)

        alternatives += [(len(word), _loosely(word)) for word in words]
        # A key such as "real" is also an English word: it names the factor only before a sign.
        bracket = r"(?:\([^()\n]{0,80}\)[ ]*)?"
        alternatives.append((len(key), rf"{_loosely(key)}(?=[ ]*{bracket}[:=→])"))
        alternatives.append((len(key), rf"(?<=\(){_loosely(key)}(?=\))"))
        alternatives.append((len(key), rf"{_loosely(key)}(?=\([0-9]{{1,3}}(?:/[0-9]+)?\))"))

    if len(names) > 1:
        keys = [lowered(key) for key, _ in names]
        for key, all_names in names:
            # A key that is a name as well is found anywhere.
            if normal(key) not in map(normal, set(all_names) - {key}):
                alternatives.append((len(key), _listed(key, keys)))

    longest_first = [pattern for _, pattern in sorted(alternatives, key=lambda entry: -entry[0])]
    every = {*_ONLY_SCORE, *(name for key, all_names in names for name in (key, *all_names))}
    opens = _openings(word for name in every for word in _first_words(name))
    return re.compile(
        rf"(?<![A-Za-z0-9_])(?={opens})(?:{'|'.join(longest_first)})"
        r"(?![A-Za-z0-9]|_[A-Za-z0-9]|-(?:free|less)\b)"
    )


def _first_words(name: str) -> Sequence[str]:
    """Return the words that a name in text in lower case may begin with."""
    words = list(filter(None, re.split(r"[\s_-]+", lowered(name))))
    return ("and", "&", "und") if words[0] in {"and", "&"} else words[:1]


def _listed(key: str, keys: Sequence[str]) -> str:
    """Return a pattern for a key in a list of keys with their scores: `acc 6, pre - , real 7`."""
    value = r"(?:[0-9]{1,3}(?:\.[0-9]{1,2})?(?:[ ]?/[ ]?[0-9]{1,3})?|n/?a|[-–—?])"
    follows = rf"[ ]*(?:[,;|/.)·•]|[ ](?:{'|'.join(map(_loosely, keys))})[ ]|$)"
    alone = rf"(?={_loosely(key)})(?<![a-z][ ]){_loosely(key)}"
    behind = rf"{alone}(?=(?:[ ]is)?[ ]*[–—-]?[ ]*{value}{follows})"
    # "8 and 7 for acc and pre"
    joined = "|".join(rf"(?<=[ ]for[ ]{re.escape(each)}[ ]and[ ])" for each in keys)
    led = rf"(?:(?<=[0-9][ ]for[ ])|(?<=/10[ ])|{joined})"
    # The key first: what stands before it is looked at only where it stands.
    before = rf"(?={_loosely(key)}){led}{_loosely(key)}(?=[ ]*(?:[,;|/.)·•]|and\b|$))"
    return f"{behind}|{before}"


def _loosely(name: str) -> str:
    """Return a pattern for a name in text in lower case, however its words are joined."""
    parts = re.split(r"[\s_-]+", lowered(name))
    known = {"and": "(?:and|&|und)", "&": "(?:and|&|und)"}
    return r"[ _-]{0,3}".join(known.get(part, re.escape(part)) for part in parts if part)


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Return a key without anything but its letters and digits, in lower case."""
    return _NEITHER_LETTER_NOR_DIGIT.sub("", name.replace("&", "and").casefold())
