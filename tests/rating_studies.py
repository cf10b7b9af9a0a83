"""Rating studies of the drawn pictures, and the page of one on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmmscore.benchmark import load_benchmark
from lmmscore.plan import load_protocol
from lmmscore.web.pages import Doors, PictureFolder, RatingPage, RatingStudy, hosted
from lmmscore.web.study import Assignment, Rater, StudyOptions, make_study, open_study
from tests.loopback import beside

DEMO = Path(__file__).parents[1] / "media" / "demo"
METHODS = ("CleanEdit", "FaintTouch", "GrainFill", "SeamPatch", "SoftBrush", "TintLeak")


def rating_study(
    folder: Path,
    dialog: str = "lmm-score",
    *,
    benchmark: Path = DEMO,
    items: tuple[str, ...] = (),
    covers: str = "",
    **options: Any,
) -> RatingStudy:
    """A study begun in a folder; `covers` turns its dialog into one about pairs."""
    whole = load_benchmark(benchmark)
    chosen = whole.select(items=items)
    study = make_study(chosen, load_protocol(dialog, {}), StudyOptions(**options))
    if covers:
        study = study.model_copy(update={"covers": covers})
    return RatingStudy(open_study(folder, study), whole, chosen)


def new_rater(rating: RatingStudy) -> Rater:
    """A rater who has agreed to take part."""
    rater = rating.database.add_rater(90)
    rating.database.consent(rater)
    return rating.rater(rater.token)


def give(rating: RatingStudy, rater: Rater, screen: dict[str, Any], score: Any) -> None:
    """Answer a whole screen: `score(letter, factor)` says what."""
    for slot in screen["slots"]:
        for factor in rating.study.factors:
            value = score(slot["letter"], factor.key)
            sent = {"screen": screen["id"], "kind": "score", "slot": slot["letter"]}
            nonce = f"{slot['letter']}-{factor.key}-{value}-nonce"
            rating.answer(rater, {**sent, "factor": factor.key, "value": value, "nonce": nonce})
    rating.advance(rater, {"screen": screen["id"], "seconds": 30})


def rate_everything(rating: RatingStudy, rater: Rater, score: Any) -> int:
    """Answer screen after screen until nothing is left; return how many there were."""
    for count in range(1000):
        state = rating.state(rater)
        open_ones = [screen for screen in state["screens"] if not screen["done"]]
        if not open_ones:
            return count
        screen = open_ones[0]
        given = assignment_of(rating, rater, screen["id"])
        give(rating, rater, screen, lambda letter, key, given=given: score(given, letter, key))
    raise AssertionError("the study never ends")


def assignment_of(rating: RatingStudy, rater: Rater, name: str) -> Assignment:
    """What a screen really shows, which the rater is not told."""
    return next(each for each in rating.database.assignments(rater) if each.id == name)


@contextmanager
def served(
    rating: RatingStudy, folder: Path, doors: Doors | None = None, port: int = 0
) -> Iterator[str]:
    """The page of a study on loopback, in a thread; gives its address."""
    pictures = PictureFolder(folder / "pictures", rating.study.max_side_px)
    page = RatingPage(rating, pictures, doors or Doors())
    with beside(lambda: hosted(page.app(), "127.0.0.1", port)) as address:
        yield address
