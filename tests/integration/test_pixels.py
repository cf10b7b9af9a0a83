"""The embedded judge: what it says at each turn, and that larger faults never earn higher scores."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage, stats

from lmmscore.conversation import Conversation
from lmmscore.dialog import load_dialog
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.pixels import Pixels
from lmmscore.parsing import read_overall, read_reply
from lmmscore.resources import bundled

FOX = Path(__file__).parents[2].parent / "shared" / "data" / "editeval" / "fox"
DEMO = bundled("media") / "demo"
PICTURES = Pictures(Recipe())

Pixel = NDArray[np.float64]


def scene() -> Pixel:
    """A disc on a gradient with some texture: enough edges to lose, enough surface to spoil."""
    y, x = np.mgrid[0:160, 0:160] / 160
    picture = np.stack([0.3 + 0.4 * y, 0.5 + 0.2 * x, 0.8 - 0.3 * y], axis=2)
    picture += 0.04 * np.sin(x * 60)[..., None] * np.sin(y * 50)[..., None]
    picture[np.hypot(x - 0.5, y - 0.5) < 0.2] = (0.8, 0.2, 0.15)
    return picture


def edited() -> Pixel:
    """The same scene with the disc turned blue."""
    picture = scene()
    y, x = np.mgrid[0:160, 0:160] / 160
    picture[np.hypot(x - 0.5, y - 0.5) < 0.2] = (0.15, 0.25, 0.8)
    return picture


def shot(folder: Path, name: str, pixels: Pixel) -> Picture:
    """The pixels as a picture a judge can be shown."""
    path = folder / f"{name}.png"
    Image.fromarray(np.round(np.clip(pixels, 0, 1) * 255).astype(np.uint8)).save(path)
    return PICTURES.get(path)


def play(judge: Pixels, source: Picture, edits: Sequence[Picture]) -> list[tuple[str, str]]:
    """Play the bundled staged dialogue; return its turns by name, each with the reply."""

    async def talk() -> list[tuple[str, str]]:
        conversation, replies = Conversation(), []
        for turn in load_dialog("lmm-score").turns:
            shows = [(edit,) for edit in edits] if turn.each else [(source,) if turn.show else ()]
            for images in shows:
                text = turn.say.replace("{{n}}", str(len(edits)))
                conversation = conversation.say(text, images)
                reply = await judge.ask(conversation)
                assert reply.model == "pixels-1"
                conversation = conversation.hear(reply.text)
                replies.append((turn.name, reply.text))
        return replies

    return asyncio.run(talk())


def scores(source: Picture, edits: Sequence[Picture]) -> dict[tuple[int, str], Fraction]:
    """The scores that our own reading finds in the scoring reply; none may be missing."""
    return scores_of(dict(play(Pixels(), source, edits))["scores"], len(edits))


def scores_of(text: str, n: int) -> dict[tuple[int, str], Fraction]:
    """Read a scoring reply as a run would."""
    from lmmscore.records import Reply

    reading = read_reply(Reply(text), load_dialog("lmm-score").factors, n)
    assert not reading.faults
    return reading.scores


def ask(text: str, *images: Picture) -> str:
    """Say one thing to a fresh judge."""
    return asyncio.run(Pixels().ask(Conversation().say(text, images))).text


def test_it_speaks_at_every_turn(tmp_path: Path) -> None:
    """Every turn of the staged dialogue gets words that fit it, and the edits are told apart by number."""
    source = shot(tmp_path, "source", scene())
    replies = play(Pixels(), source, [source, shot(tmp_path, "edit", edited())])
    by_turn = dict(replies)
    assert all(text.strip() for _, text in replies)
    assert "160 by 160 pixels" in by_turn["source"]
    for heading in (
        "Editing Accuracy",
        "Contextual Preservation",
        "Visual Quality",
        "Logical Realism",
    ):
        assert heading in by_turn["step-2"]
        assert heading in by_turn["edit"]
    assert [text.split(",")[0] for name, text in replies if name == "edit"] == [
        "Edited image 1",
        "Edited image 2",
    ]
    assert "No visible change" in replies[4][1]
    assert "middle centre" in replies[5][1]


@pytest.mark.parametrize("n", [1, 3, 20])
def test_its_sums_agree_with_its_scores(tmp_path: Path, n: int) -> None:
    """For any number of edits there are four scores each, and the stated sums are exactly theirs."""
    source = shot(tmp_path, "source", scene())
    weak = [
        shot(tmp_path, f"edit{k}", scene() + (edited() - scene()) * (k + 1) / n) for k in range(n)
    ]
    replies = dict(play(Pixels(), source, weak))
    found = scores_of(replies["scores"], n)
    weights = {
        factor.key: Fraction(str(factor.weight)) for factor in load_dialog("lmm-score").factors
    }
    sums = {k: sum(weights[key] * found[k, key] for key in weights) for k in range(1, n + 1)}
    assert read_overall(replies["overall"], n) == sums
    assert all(1 <= score <= 10 for score in found.values())


def test_an_untouched_picture_is_inaccurate_and_perfectly_preserved(tmp_path: Path) -> None:
    """Handing back the source gets the lowest accuracy and the highest of everything else."""
    source = shot(tmp_path, "source", scene())
    found = scores(source, [source])
    assert found == {(1, "acc"): 1, (1, "pre"): 10, (1, "qua"): 10, (1, "real"): 10}


def blurred(size: float) -> Pixel:
    """The edit out of focus."""
    return np.asarray(ndimage.gaussian_filter(edited(), (size, size, 0)))


def grainy(size: float) -> Pixel:
    """The edit with grain."""
    return edited() + size * np.random.RandomState(3).standard_normal((160, 160, 1))


def tinted(size: float) -> Pixel:
    """The edit under a cast."""
    return edited() + size * np.array([1.0, 0.0, -1.0])


def faint(size: float) -> Pixel:
    """The edit, less and less of it."""
    return edited() + size * (scene() - edited())


def rimmed(size: float) -> Pixel:
    """The edit with a pale rim around what was edited."""
    y, x = np.mgrid[0:160, 0:160] / 160
    rim = np.abs(np.hypot(x - 0.5, y - 0.5) - 0.2) < 0.012
    return np.asarray(edited() + size * rim[..., None] * (1 - edited()))


@pytest.mark.parametrize(
    ("fault", "sizes", "factor"),
    [
        (blurred, (0.01, 0.5, 1, 2, 4), "qua"),
        (grainy, (0, 0.01, 0.03, 0.06, 0.12), "qua"),
        (tinted, (0, 0.03, 0.06, 0.12, 0.2), "pre"),
        (faint, (0, 0.4, 0.7, 0.9, 0.97), "acc"),
        (rimmed, (0, 0.3, 0.6, 0.9), "real"),
    ],
)
def test_a_larger_fault_never_scores_higher(
    tmp_path: Path, fault: Callable[[float], Pixel], sizes: tuple[float, ...], factor: str
) -> None:
    """The factor a fault belongs to falls with its size, all the way."""
    source = shot(tmp_path, "source", scene())
    found = scores(source, [shot(tmp_path, f"edit{size}", fault(size)) for size in sizes])
    falling = [found[position, factor] for position in range(1, len(sizes) + 1)]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] < falling[0] - 2


def test_the_same_conversation_gets_the_same_words(tmp_path: Path) -> None:
    """Two judges agree to the letter, whatever each has seen before."""
    source, edit = shot(tmp_path, "source", scene()), shot(tmp_path, "edit", edited())
    used = Pixels()
    play(used, edit, [source])
    assert play(used, source, [edit]) == play(Pixels(), source, [edit])


def test_a_repair_turn_gets_the_complete_scores_again(tmp_path: Path) -> None:
    """Asked for one missing score, it writes all of them once more."""
    source, edit = shot(tmp_path, "source", scene()), shot(tmp_path, "edit", edited())
    repair = load_dialog("lmm-score").repair.say.replace("{{problems}}", "image 2, S_pre: missing")

    async def talk() -> tuple[str, str]:
        judge, before = Pixels(), Conversation().say("The source.", (source,)).hear("…")
        before = before.say("The first.", (edit,)).hear("…").say("The last.", (source,)).hear("…")
        first = (await judge.ask(before.say("Scores, please: S_acc, S_pre, S_qua, S_real."))).text
        again = (await judge.ask(before.say("Scores, please.").hear("no idea").say(repair))).text
        return first, again

    first, again = asyncio.run(talk())
    assert scores_of(first, 2) == scores_of(again, 2)


FORM = """Compare the {other} with the edited image. Rate each factor from 1 to 7, whole numbers only, with a
justification of 15-25 words. Answer in JSON:
```json
{{
  "results": {{
    "unchanged_regions": {{"score": <integer from 1 to 7>, "justification": "<15-25 words>"}},
    "image_quality": {{"score": <integer from 1 to 7>, "justification": "<15-25 words>"}},
    "alignment": {{"score": <integer from 1 to 7>, "justification": "<15-25 words>"}}
  }}
}}
```"""


def test_json_is_filled_in_as_asked(tmp_path: Path) -> None:
    """A JSON form comes back with exactly its keys, whole numbers on its scale and a justification each."""
    answer = json.loads(
        ask(
            FORM.format(other="original"),
            shot(tmp_path, "source", scene()),
            shot(tmp_path, "edit", edited()),
        )
    )
    assert list(answer) == ["results"]
    assert list(answer["results"]) == ["unchanged_regions", "image_quality", "alignment"]
    for entry in answer["results"].values():
        assert list(entry) == ["score", "justification"]
        assert type(entry["score"]) is int
        assert 1 <= entry["score"] <= 7
        assert 12 <= len(entry["justification"].split()) <= 30


def test_beside_the_wanted_result_nearness_counts(tmp_path: Path) -> None:
    """Compared with a ground truth, the edit that equals it is aligned and the untouched source is not."""
    source, truth = shot(tmp_path, "source", scene()), shot(tmp_path, "truth", edited())
    same, other = (
        json.loads(ask(FORM.format(other="ground truth"), truth, picture))["results"]["alignment"][
            "score"
        ]
        for picture in (truth, source)
    )
    assert same == 7
    assert other <= 2


MARKS = """The first image is the original, the second has marks drawn on it, the third is the result. Judge:

Place Correctness of Localization: score 1 if the marked place was edited, score 0 otherwise.
Sketch Match: 0, 0.5 or 1.
Action: 0 or 1.

{"Place_Correctness_of_Localization": {"reason": "one sentence", "score": 0},
 "Sketch_Match": {"reason": "one sentence", "score": 0},
 "Action": {"reason": "one sentence", "score": 0}}"""


@pytest.mark.parametrize(("share", "allowed"), [(1.0, {1}), (0.12, {0.5}), (0.0, {0})])
def test_marks_tell_where_to_look(tmp_path: Path, share: float, allowed: set[float]) -> None:
    """With source, marked image and edit in one turn, an edit inside the marks passes and none fails."""
    source = shot(tmp_path, "source", scene())
    framed = scene()
    framed[35:125, 35:125] = (1, 0, 0)
    framed[40:120, 40:120] = scene()[40:120, 40:120]
    edit = shot(tmp_path, "edit", faint(1 - share))
    answer = json.loads(ask(MARKS, source, shot(tmp_path, "marked", framed), edit))
    assert answer["Place_Correctness_of_Localization"]["score"] in {0, 1}
    assert answer["Sketch_Match"]["score"] in allowed
    assert answer["Action"]["score"] in {0, 1}


def test_an_edit_outside_the_marks_is_in_the_wrong_place(tmp_path: Path) -> None:
    """A plain change that leaves the marked box alone is not localised correctly."""
    framed, elsewhere = scene(), scene()
    framed[5:40, 5:40] = (1, 0, 0)
    framed[8:37, 8:37] = scene()[8:37, 8:37]
    elsewhere[110:150, 110:150] = (0.9, 0.9, 0.1)
    pictures = [
        shot(tmp_path, name, p) for name, p in (("s", scene()), ("m", framed), ("e", elsewhere))
    ]
    answer = json.loads(ask(MARKS, *pictures))
    assert answer["Place_Correctness_of_Localization"]["score"] == 0


def test_everything_in_one_turn_gets_analysis_and_scores(tmp_path: Path) -> None:
    """Where both pictures come with the request to score, on whatever scale, no second turn is needed."""
    pictures = shot(tmp_path, "source", scene()), shot(tmp_path, "edit", edited())
    text = ask("Here are the original and the edit. Score S_acc and S_pre from 1 to 5.", *pictures)
    assert "Editing Accuracy" in text
    assert "* S_acc: 5 " in text or "* S_acc: 4." in text
    assert "S_qua" not in text


def test_an_edit_of_another_size_is_compared_all_the_same(tmp_path: Path) -> None:
    """A method that returns a larger picture is not punished for the size alone."""
    large = np.asarray(ndimage.zoom(scene(), (2, 2, 1), order=1))
    found = scores(shot(tmp_path, "source", scene()), [shot(tmp_path, "large", large)])
    assert found[1, "pre"] > 9


class Watched(Picture):
    """A picture that knows which threads asked for its bytes."""

    __slots__ = ("threads",)

    def __init__(self, picture: Picture) -> None:
        super().__init__(picture.path, picture.recipe, picture.digest)
        self.threads: list[int] = []

    def data(self) -> bytes:
        """Note the thread and return the bytes."""
        self.threads.append(threading.get_ident())
        return super().data()


def test_every_picture_is_measured_once_and_never_on_the_event_loop(tmp_path: Path) -> None:
    """A session decodes each picture a single time, in another thread than the one that talks."""
    pictures = [Watched(shot(tmp_path, f"p{k}", faint(k / 4))) for k in range(4)]
    play(Pixels(), pictures[0], pictures[1:])
    assert [len(picture.threads) for picture in pictures] == [1, 1, 1, 1]
    assert threading.get_ident() not in {
        thread for picture in pictures for thread in picture.threads
    }


def test_it_says_what_it_is() -> None:
    """Its caution and its first words say that it cannot read and that accuracy means change."""
    greeting = ask("Shall we begin?")
    for words in ("baseline", "cannot read instructions", "something changed"):
        assert words in Pixels().caution
        assert words in greeting


@pytest.fixture(scope="module")
def demo_means() -> tuple[list[str], dict[str, float], str]:
    """The constructed order of the demo, the mean overall of each method, and everything that was said."""
    order = yaml.safe_load((DEMO / "constructed.yaml").read_text(encoding="utf-8"))["order"]
    overalls: dict[str, list[Fraction]] = {method: [] for method in order}
    words, judge = [], Pixels()
    for source in sorted((DEMO / "source").iterdir()):
        edits = [PICTURES.get(DEMO / "edits" / method / source.name) for method in order]
        replies = play(judge, PICTURES.get(source), edits)
        words += [text for _, text in replies]
        for position, overall in read_overall(replies[-1][1], len(order)).items():
            overalls[order[position - 1]].append(overall)
    return (
        order,
        {method: float(sum(v) / len(v)) for method, v in overalls.items()},
        "\n".join(words),
    )


def test_it_mostly_ranks_the_demo_as_constructed(
    demo_means: tuple[list[str], dict[str, float], str],
) -> None:
    """Best and worst of the drawn benchmark come out as constructed, and the order between mostly does."""
    order, means, _ = demo_means
    assert len(means) == 6
    assert max(means, key=lambda method: means[method]) == order[0]
    assert min(means, key=lambda method: means[method]) == order[-1]
    assert (
        stats.spearmanr([means[method] for method in order], range(len(order), 0, -1)).statistic
        >= 0.8
    )


def test_it_never_names_a_method(demo_means: tuple[list[str], dict[str, float], str]) -> None:
    """Nothing it says holds the name of a method or of a file: it sees pictures only."""
    order, _, words = demo_means
    for name in (*order, ".jpg", "edits/", str(DEMO)):
        assert name.lower() not in words.lower()


@pytest.mark.skipif(not FOX.exists(), reason="the EditEval example is not here")
def test_real_edits_are_seen_as_edits() -> None:
    """On a real photograph every method's edit shows as a change, and none as a perfect copy outside it."""
    edits = [PICTURES.get(path) for path in sorted(FOX.glob("*.png"))]
    found = scores(PICTURES.get(FOX / "6_src.jpg"), edits)
    assert (
        len({tuple(found[k, f] for f in ("acc", "pre", "qua", "real")) for k in range(1, 9)}) == 8
    )
    assert all(found[k, "acc"] > 4 and 3 < found[k, "pre"] < 9 for k in range(1, 9))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 7), (40, 30)])
@pytest.mark.parametrize("colours", [("red", "blue"), ("red", "red")])
def test_pictures_of_one_colour_and_of_a_few_pixels_are_judged(
    tmp_path: Path, size: tuple[int, int], colours: tuple[str, str]
) -> None:
    """Where there is nothing to measure it still answers, with scores on the scale."""
    shown = []
    for number, colour in enumerate(colours):
        Image.new("RGB", size, colour).save(tmp_path / f"{number}.png")
        shown.append(PICTURES.get(tmp_path / f"{number}.png"))
    judge, talk = Pixels(), Conversation()
    for line, images in [
        ("Here is the source image.", shown[:1]),
        ("The only edited image.", shown[1:]),
    ]:
        talk = talk.say(line, tuple(images))
        talk = talk.hear(asyncio.run(judge.ask(talk)).text)
    reply = asyncio.run(
        judge.ask(talk.say("Now give your scores for every image: S_acc, S_pre, S_qua and S_real."))
    )
    assert read_reply(reply, load_dialog("lmm-score").factors, 1).complete
