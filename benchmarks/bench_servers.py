"""How well several servers of different speed are kept busy, beside what they could deliver together.

Each server answers so many questions at a time, each after a delay of its own; sessions of six turns are played against
all of them at once, and each stays at one server. What they could deliver is their slots over their delays.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from benchmarks.loopback import serving

TURNS, SESSIONS, AT_ONCE, ROUNDS = 6, 600, 64, 5
SERVERS = {"fast": (0.1, 8), "medium": (0.2, 8), "slow": (0.4, 8)}
"""Seconds for an answer, and answers at a time."""
QUESTION = "Analyse this edit along the four factors, with care. " * 6


async def play(urls: list[str]) -> tuple[float, dict[str, int]]:
    """Play all sessions; return the wall time and how many answers each server gave."""
    from lmmscore.conversation import Conversation
    from lmmscore.judges.openai import make

    judge = make(f"tiny@{','.join(urls)}")
    gate = asyncio.Semaphore(AT_ONCE)

    async def session(number: int) -> None:
        async with gate:
            talk = Conversation().say(f"Session {number}. {QUESTION}")
            for _ in range(TURNS - 1):
                talk = talk.hear((await judge.ask(talk)).text).say(QUESTION)
            await judge.ask(talk)

    began_s = time.perf_counter()
    await asyncio.gather(*map(session, range(SESSIONS)))
    wall_s = time.perf_counter() - began_s
    await judge.close()
    return wall_s, dict(judge.meter.servers)


def main() -> None:
    """Print the share of what the servers could deliver, and of each server its part."""
    rates = {name: slots / delay_s for name, (delay_s, slots) in SERVERS.items()}
    together = sum(rates.values())
    ideal_s = SESSIONS * TURNS / together
    rounds: list[tuple[float, dict[str, int]]] = []
    for _ in range(ROUNDS):
        with contextlib.ExitStack() as stack:
            urls = [stack.enter_context(serving(*about)) for about in SERVERS.values()]
            wall_s, answers = asyncio.run(play(urls))
        counts = dict(zip(SERVERS, (answers.get(url, 0) for url in urls), strict=True))
        rounds.append((ideal_s / wall_s, counts))
        print(f"{SESSIONS} sessions of {TURNS} turns, {AT_ONCE} at once: {rounds[-1][0]:.2f}")
    # The median: one round in which the machine was busy with something else decides nothing.
    rounds.sort(key=lambda each: each[0])
    share, counts = rounds[ROUNDS // 2]
    low, high = rounds[0][0], rounds[-1][0]
    print(
        f"\nmedian of {ROUNDS} rounds: {share:.2f} of what the servers could deliver (≥ 0.90), "
        f"from {low:.2f} to {high:.2f}"
    )
    for name, count in counts.items():
        could = SESSIONS * TURNS * rates[name] / together
        print(f"{name:<8} {count:>6} answers, {count / could:.2f} of its share")


if __name__ == "__main__":
    main()
