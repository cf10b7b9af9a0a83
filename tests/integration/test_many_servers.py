"""One judge, several servers: sessions stay where their pictures are, and a server that fails loses
none.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lmmscore
from lmmscore import errors
from lmmscore.cli import lmmscore as command
from lmmscore.conversation import Conversation
from lmmscore.errors import JudgeUnavailable
from lmmscore.images import Pictures, Recipe
from lmmscore.judges.client import FIRST_REST_S, Replicas
from lmmscore.judges.config import JudgeOptions, find_judge, mask, parse_address
from lmmscore.judges.faults import Trouble
from lmmscore.judges.openai import OpenAIJudge, make
from tests.conftest import picture
from tests.loopback import Server, playing, serving

Maker = Callable[..., Path]
TURNS = 4


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@contextlib.contextmanager
def several(number: int, **behaviour: Any) -> Iterator[list[Server]]:
    """So many servers at once."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(serving(Server(**behaviour))) for _ in range(number)]


def judge_at(servers: list[Server], **options: Any) -> OpenAIJudge:
    urls = ",".join(server.url for server in servers)
    return make(f"tiny@{urls}", options=JudgeOptions(**options), rng=random.Random(1))


async def session(judge: OpenAIJudge, number: int) -> list[str]:
    """Play a session whose every message names it; all sessions open with the same words."""
    talk = Conversation().say("Hello.")
    talk = talk.hear((await judge.ask(talk)).text)
    for turn in range(1, TURNS):
        talk = talk.say(f"Session {number}, turn {turn}.")
        talk = talk.hear((await judge.ask(talk)).text)
    return [message.text for message in talk.messages]


async def play(judge: OpenAIJudge, sessions: int, at_once: int = 12) -> list[list[str]]:
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> list[str]:
        async with gate:
            return await session(judge, number)

    try:
        return await asyncio.gather(*map(one, range(sessions)))
    finally:
        await judge.close()


def sessions_at(server: Server) -> set[int]:
    """The sessions whose later turns came to a server."""
    asked = [str(one.body) for one in server.served]
    return {int(found) for body in asked for found in re.findall(r"Session (\d+), turn", body)}


# Balance and constancy.


def test_sessions_spread_over_the_servers_and_each_stays_at_one() -> None:
    """Its prefix cache holds what was said and shown there."""
    with several(3, delay_s=0.01) as servers:
        judge = judge_at(servers)
        heard = asyncio.run(play(judge, 30))
    assert len(heard) == 30
    places = [sessions_at(server) for server in servers]
    assert sum(map(len, places)) == 30, "no session was at two servers"
    assert all(len(place) >= 6 for place in places)
    assert sum(judge.meter.servers.values()) == 30 * TURNS
    assert set(judge.meter.servers) == {server.url for server in servers}
    assert judge.meter.moves == 0


def test_a_faster_server_gets_more_sessions() -> None:
    """The least loaded is the one that would answer soonest."""
    with several(1, delay_s=0.01) as fast, several(1, delay_s=0.1) as slow:
        asyncio.run(play(judge_at(fast + slow), 60))
        assert len(sessions_at(fast[0])) > 2 * len(sessions_at(slow[0]))


def test_limits_hold_for_each_server() -> None:
    """Eight nodes take eight times what one takes."""
    with several(2, delay_s=0.02) as servers:
        asyncio.run(play(judge_at(servers, concurrency=2), 12))
    assert [server.most_in_flight for server in servers] == [2, 2]


# A server that fails.


def test_the_sessions_of_a_server_that_dies_move_once_each_and_visibly() -> None:
    """Replies are the same as ever; whoever was there goes on elsewhere, and it is said."""
    with several(1) as calm:
        expected = asyncio.run(play(judge_at(calm), 24))
    with several(2, delay_s=0.02) as servers:
        dying = servers[0]

        async def work() -> tuple[list[list[str]], OpenAIJudge]:
            judge = judge_at(servers)
            replica = judge._client.replicas.of(Conversation().say("first"))
            assert replica.url == dying.url
            post, asked = replica.connection.post, iter(range(20))

            async def dead(*given: Any) -> Any:
                if next(asked, None) is None:
                    from lmmscore.judges.faults import NoAnswer

                    raise NoAnswer("cannot connect: Connection refused", reached=False)
                return await post(*given)

            replica.connection.post = dead  # type: ignore[method-assign]
            return await play(judge, 24), judge

        heard, judge = asyncio.run(work())
    assert heard == expected
    stayed, joined = sessions_at(dying), sessions_at(servers[1])
    assert len(stayed & joined) <= judge.meter.moves <= 12
    (notice,) = judge.meter.notices
    assert notice.startswith(f"{dying.url} fails (cannot connect") and "30 s" in notice


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time_s = 100.0

    def now(self) -> float:
        return self.time_s

    def wall(self) -> float:
        return self.time_s

    async def sleep(self, seconds: float) -> None:
        self.time_s += seconds


def trouble(*, reached: bool = False) -> Trouble:
    return Trouble("no", JudgeUnavailable("no"), reached=reached)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def replicas(clock: Clock) -> Replicas:
    judge = make("tiny@http://a/v1,http://b/v1,http://c/v1", clock=clock)
    return judge._client.replicas


def new() -> Conversation:
    return Conversation().say("Hello.")


def test_a_server_that_failed_is_left_alone_then_tried_by_one_then_back(
    replicas: Replicas, clock: Clock
) -> None:
    """It comes back by itself, and not with a crowd of sessions that all find it dead."""
    first, *others = replicas
    assert replicas.failed(first, trouble())
    talks = [new() for _ in range(9)]
    assert first not in {replicas.of(talk) for talk in talks}
    clock.time_s += FIRST_REST_S
    for each in others:
        each.asking = 5
    moving = new()
    assert replicas.of(moving) is first, "one tries it"
    tried = [new() for _ in range(6)]
    places = [replicas.of(talk) for talk in tried]
    assert first not in places, "and only one"
    assert replicas.of(moving) is first, "the one that tries it stays"
    replicas.succeeded(first, clock.now() + 1)
    assert first in {replicas.of(new()) for _ in range(5)}


def test_a_session_that_moves_goes_where_it_is_safe(replicas: Replicas, clock: Clock) -> None:
    """Not to a server that is only about to be tried again: it would move twice."""
    first, second, third = replicas
    talk = new()
    second.asking = third.asking = 1
    replicas.failed(second, trouble())
    clock.time_s += FIRST_REST_S
    pinned = replicas.of(talk)
    assert pinned is second, "a session that begins tries it"
    replicas.failed(second, trouble())
    clock.time_s += 0.5
    replicas.failed(third, trouble())
    clock.time_s += FIRST_REST_S
    assert replicas.of(talk) is first


def test_a_server_that_fails_twice_is_named_twice(replicas: Replicas, clock: Clock) -> None:
    """Each time that it fails and each time that it is back, in whatever words."""
    first = next(iter(replicas))
    for _ in range(2):
        replicas.failed(first, trouble())
        clock.time_s += FIRST_REST_S
        replicas.of(new())
        replicas.succeeded(first, clock.now() + 1)
    said = [notice.split(" ")[1] for notice in replicas._meter.notices]
    assert said == ["fails", "answers", "fails", "answers"]


def test_a_server_that_fails_again_is_left_alone_for_longer(
    replicas: Replicas, clock: Clock
) -> None:
    """Twice as long each time."""
    first, *others = replicas
    for each in others:
        replicas.failed(each, trouble())
        each.rests_until_s = float("inf")
    replicas.failed(first, trouble())
    clock.time_s += FIRST_REST_S
    trier = new()
    assert replicas.of(trier) is first
    replicas.failed(first, trouble())
    assert first.rests_until_s == clock.time_s + 2 * FIRST_REST_S


def test_an_answer_that_was_on_its_way_brings_no_server_back(
    replicas: Replicas, clock: Clock
) -> None:
    """It was asked for before the server failed."""
    first = next(iter(replicas))
    replicas.failed(first, trouble())
    replicas.succeeded(first, clock.now() - 1)
    assert first.down


def test_one_lost_answer_is_no_failed_server(replicas: Replicas) -> None:
    """Three in a row are; an answer between them begins the count again."""
    first = next(iter(replicas))
    assert not replicas.failed(first, trouble(reached=True))
    assert not replicas.failed(first, trouble(reached=True))
    replicas.succeeded(first, 0.0)
    assert not replicas.failed(first, trouble(reached=True))
    assert not first.down


def test_where_every_server_is_gone_the_run_stops_at_once() -> None:
    """All of them are named."""
    judge = make("tiny@http://127.0.0.1:1/v1,http://127.0.0.1:2/v1")

    async def work() -> None:
        try:
            await judge.ask(new())
        finally:
            await judge.close()

    with pytest.raises(errors.ServerUnreachable, match=r"127.0.0.1:1/v1, http://127.0.0.1:2/v1"):
        asyncio.run(work())


def test_by_responses_a_session_that_moves_takes_its_history_along(tmp_path: Path) -> None:
    """What one server keeps, another does not know: conversation and files are sent there again."""
    pictures = Pictures(Recipe())
    shown = [pictures.get(picture(tmp_path / f"{n}.png", (n * 40, 9, 9))) for n in range(3)]
    with several(2, reply=lambda messages: str(len(messages))) as servers:

        async def work() -> tuple[list[str], OpenAIJudge]:
            judge = judge_at(servers, api="responses")
            talk, heard = Conversation(), []
            for number, each in enumerate(shown):
                talk = talk.say("Look.", (each,))
                if number == 2:
                    here = judge._client.replicas.of(talk.beginning)
                    judge._client.replicas.failed(here, trouble())
                heard.append((await judge.ask(talk)).text)
                talk = talk.hear(heard[-1])
            await judge.close()
            return heard, judge

        heard, judge = asyncio.run(work())
    assert heard == ["1", "3", "5"]
    assert judge.meter.moves == 1
    assert [len(server.files) for server in servers] == [2, 3]


# Routers.


def test_a_session_header_is_the_same_for_a_session_and_says_nothing() -> None:
    """A router that hashes it keeps the turns together and the sessions apart."""
    with several(1) as servers:
        asyncio.run(play(judge_at(servers, session_header="X-Session-ID"), 6))
        by_id: dict[str, set[str]] = {}
        for one in servers[0].served:
            name = re.search(r"Session (\d+)", str(one.body))
            known = by_id.setdefault(one.headers["X-Session-ID"], set())
            known |= {name[1]} if name else set()
    assert len(by_id) == 6
    assert all(len(names) == 1 for names in by_id.values())
    assert all(re.fullmatch(r"[0-9a-f]{32}", each) for each in by_id)


def test_without_a_session_header_none_is_sent() -> None:
    """Nothing is told that nobody asked for."""
    with several(1) as servers:
        asyncio.run(play(judge_at(servers), 2))
    assert not any("session" in name.lower() for one in servers[0].served for name in one.headers)


# Naming them.


def test_servers_are_listed_in_one_string_or_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`@URL1,URL2` and `base_urls:` mean the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges.yaml").write_text(
        "judges: {house: {model: tiny, base_urls: ['http://a:1/v1', 'http://b:2/v1'], "
        "limits: {rpm: 7}}}"
    )
    named = find_judge("house")
    typed = find_judge("openai/tiny@http://b:2/v1,http://a:1/v1/")
    assert named.options.rpm == typed.options.rpm == 7
    assert {one.masked_url for one in named.address.endpoints} == {"http://a:1/v1", "http://b:2/v1"}
    assert named.address.name == typed.address.name == "openai/tiny"


@pytest.mark.parametrize(
    "spec", ["tiny@http://a/v1,b:8000/v1", "tiny@http://a/v1,", "tiny@http://a/v1,http://"]
)
def test_a_list_that_cannot_be_read_is_refused(spec: str) -> None:
    """A second address without its scheme would be taken for a part of the first."""
    with pytest.raises(errors.JudgeFileError, match="openai/tiny@http://a/v1,"):
        parse_address(spec)


@pytest.mark.parametrize("host", ["localhost", "10.0.0.7", "judge.example.com"])
def test_a_server_without_a_scheme_is_no_part_of_a_models_name(host: str) -> None:
    """The question would go to OpenAI, with the key; versions of models stay what they are."""
    with pytest.raises(errors.JudgeFileError, match=f"openai/MODEL@http://{host}:8000/v1"):
        parse_address(f"tiny@{host}")

    for model in ("claude@20250101", "tiny@v1.2", "tiny@latest"):
        assert parse_address(model).model == model


def test_every_password_of_a_list_is_masked() -> None:
    """Not only the first."""
    spec = "openai/m@http://u:one@a/v1?k=two,http://v:three@b/v1?k=four"
    assert mask(spec) == "openai/m@http://…@a/v1?…,http://…@b/v1?…"


def test_a_run_over_several_servers_gives_the_same_scores(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """Which server answered is on record; the scores do not depend on it."""
    root = make_benchmark(items=6)
    with several(3, reply=playing) as servers:
        urls = ",".join(server.url for server in servers)
        one = lmmscore.run(root, judge=f"openai/tiny@{servers[0].url}", out=tmp_path / "one")
        all_ = lmmscore.run(root, judge=f"openai/tiny@{urls}", out=tmp_path / "all")
        asked = Counter(server.url for server in servers for _ in server.served)
    assert (one.path / "scores.csv").read_bytes() == (all_.path / "scores.csv").read_bytes()
    assert len(asked) == 3


def test_a_server_that_is_gone_is_named_once_on_the_terminal(
    make_benchmark: Maker, tmp_path: Path
) -> None:
    """By the display, for people; the log does not say it once more."""
    with several(1, reply=playing) as servers:
        judge = f"openai/tiny@{servers[0].url},http://127.0.0.1:9/v1"
        words = [
            "run",
            str(make_benchmark(items=3)),
            "--judge",
            judge,
            "--out",
            str(tmp_path / "r"),
        ]
        done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("http://127.0.0.1:9/v1 fails") == 1
