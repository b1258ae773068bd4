"""The full sweep: ``python -m tests.crash``.

Without arguments every message of every plan is tried as a crash point, before and after it, with
the connection killed and with the process killed. That takes a while; it ends with a number.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.crash.person import POLICIES
from tests.crash.plans import PLANS
from tests.crash.proxy import Cut
from tests.crash.sweep import (
    SIDES,
    Point,
    count_messages,
    crash_twice,
    points_of,
    pool_of,
    run_point,
    today,
    workers,
)

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from tests.crash.proxy import Kill

KILLS: tuple[Kill, ...] = ("connection", "process") if os.name == "posix" else ("connection",)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--plan", action="append", help=f"among: {', '.join(PLANS)}")
    parser.add_argument("--kill", choices=KILLS)
    parser.add_argument(
        "--side", choices=(*SIDES, "turns"), help="turns: before, after, by messages and days"
    )
    parser.add_argument("--policy", choices=tuple(POLICIES), help="by default they take turns")
    parser.add_argument("--fine", action="store_true", help="one delta for each word, not two each")
    parser.add_argument("--twice", action="store_true", help="a second crash after each, by chance")
    parser.add_argument("--seed", type=int, default=today(), help="of that chance; default: today")
    parser.add_argument("--every", type=int, default=1, help="every so many-th, by days in turn")
    parser.add_argument("--workers", type=int, default=workers())
    parser.add_argument("--point", type=int, help="only this message; 0 is no crash at all")
    parser.add_argument("--then", type=_cut, help="with --point: as 5-after-process")
    parser.add_argument("--repeat", type=int, default=1, help="with --point: so many times")
    given = parser.parse_args(argv)
    if given.point is not None:
        return _one(given)
    with pool_of(given.workers) as pool:
        return _all(given, pool)


def _cut(text: str) -> Cut:
    found = re.fullmatch(rf"(\d+)-({'|'.join(SIDES)})-({'|'.join(KILLS)})", text)
    if found is None:
        msg = f"{text!r} is not like 5-after-process"
        raise argparse.ArgumentTypeError(msg)
    return Cut(int(found[1]), found[2], found[3])  # type: ignore[arg-type]


def _one(given: argparse.Namespace) -> int:
    point = Point(
        (given.plan or list(PLANS))[0],
        given.point,
        given.side if given.side in SIDES else "before",
        given.kill or "connection",
        given.policy or "first-again",
        given.then,
        given.fine,
    )
    failed = 0
    for _ in range(given.repeat):
        outcome = run_point(point)
        failed += bool(outcome.faults)
        reached = "" if outcome.reached else " (not reached)"
        print(f"{point.command}{reached}: {outcome.messages} messages, {outcome.seconds:.2f} s")
        for line in (*outcome.log, *(f"FAULT {fault}" for fault in outcome.faults)):
            print(f"    {line}")
    return 1 if failed else 0


def _has_turn(point: Point) -> bool:
    """Whether a message is tried from this side today: each is from one, and tomorrow from both.

    After one message is nearly before the next: together they still pass every state there is.
    """
    return SIDES[(point.number + today()) % len(SIDES)] == point.side


def _all(given: argparse.Namespace, pool: ProcessPoolExecutor) -> int:
    began = time.monotonic()
    kills = (given.kill,) if given.kill else KILLS
    messages = count_messages(given.plan or PLANS, pool, fine=given.fine)
    print(f"{len(messages)} plans, {sum(messages.values())} messages", flush=True)
    points = [
        point
        for plan, count in messages.items()
        for kill in kills
        for point in points_of(plan, count, kill, given.policy, fine=given.fine)
        if given.side in (None, point.side) or (given.side == "turns" and _has_turn(point))
    ]
    points = points[today() % given.every :: given.every]
    if given.twice:
        points = crash_twice(points, messages, kills, given.seed)
    # Mixed: some plans wait for seconds, and all processes at once would wait for them.
    random.Random(given.seed).shuffle(points)
    failed = []
    reached: Counter[str] = Counter()
    for number, outcome in enumerate(pool.map(run_point, points), start=1):
        if outcome.reached:
            reached.update(cut.kill for cut in outcome.point.cuts)
        if outcome.faults:
            failed.append(outcome)
            print(
                f"FAILED {outcome.point.command}\n    " + "\n    ".join(outcome.faults), flush=True
            )
        if number % 500 == 0:
            rate = number / (time.monotonic() - began)
            print(f"{number} of {len(points)}, {len(failed)} failed, {rate:.0f}/s", flush=True)
    print(
        f"{len(points)} points tried in {time.monotonic() - began:.0f} s; crashed: "
        f"{reached['connection']} connections, {reached['process']} processes; "
        f"{len(failed)} failed."
    )
    for outcome in failed:
        print(f"    {outcome.point.command}  # {outcome.faults[0][:120]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
