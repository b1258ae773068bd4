"""The full sweep: ``python -m tests.crash``.

Without arguments every message of every plan is tried as a crash point, before and after it, with
the connection killed and with the process killed. That takes a while; it ends with a number.

``--letta`` does the same with the plans for Letta servers, at every HTTP message and every frame.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.crash.letta.person import POLICIES as LETTA_POLICIES
from tests.crash.letta.plans import PLANS as LETTA_PLANS
from tests.crash.letta.sweep import LettaPoint, count_letta, letta_points, run_letta
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
    parser.add_argument("--letta", action="store_true", help="lanes of Letta servers")
    parser.add_argument(
        "--plan",
        action="append",
        help=f"among: {', '.join(PLANS)}; with --letta: {', '.join(LETTA_PLANS)}",
    )
    parser.add_argument("--kill", choices=KILLS)
    parser.add_argument(
        "--side", choices=(*SIDES, "turns"), help="turns: before, after, by messages and days"
    )
    parser.add_argument(
        "--policy", choices=(*POLICIES, *LETTA_POLICIES), help="by default they take turns"
    )
    parser.add_argument("--fine", action="store_true", help="one delta for each word, not two each")
    parser.add_argument("--twice", action="store_true", help="a second crash after each, by chance")
    parser.add_argument("--seed", type=int, default=today(), help="of that chance; default: today")
    parser.add_argument("--every", type=int, default=1, help="every so many-th, by days in turn")
    parser.add_argument("--workers", type=int, default=workers())
    parser.add_argument("--point", type=int, help="only this message; 0 is no crash at all")
    parser.add_argument("--then", type=_cut, help="with --point: as 5-after-process")
    parser.add_argument("--repeat", type=int, default=1, help="with --point: so many times")
    given = parser.parse_args(argv)
    if given.letta and given.fine:
        parser.error("--fine: a Letta server has one delta for each token anyway")
    if given.policy is not None and given.policy not in _policies(given):
        parser.error(f"--policy: here one of {', '.join(_policies(given))}")
    if given.point is not None:
        return _one(given)
    with pool_of(given.workers) as pool:
        return _all(given, pool)


def _policies(given: argparse.Namespace) -> tuple[str, ...]:
    return LETTA_POLICIES if given.letta else tuple(POLICIES)


def _cut(text: str) -> Cut:
    found = re.fullmatch(rf"(\d+)-({'|'.join(SIDES)})-({'|'.join(KILLS)})", text)
    if found is None:
        msg = f"{text!r} is not like 5-after-process"
        raise argparse.ArgumentTypeError(msg)
    return Cut(int(found[1]), found[2], found[3])  # type: ignore[arg-type]


def _one(given: argparse.Namespace) -> int:
    plan = (given.plan or list(LETTA_PLANS if given.letta else PLANS))[0]
    side = given.side if given.side in SIDES else "before"
    kill, policy = given.kill or "connection", given.policy or _policies(given)[0]
    run, point = run_point, Point(plan, given.point, side, kill, policy, given.then, given.fine)
    if given.letta:
        run, point = run_letta, LettaPoint(plan, given.point, side, kill, policy, given.then)
    failed = 0
    for _ in range(given.repeat):
        outcome = run(point)
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


def _points(
    given: argparse.Namespace, pool: ProcessPoolExecutor
) -> tuple[dict[str, int], list[Any]]:
    """How many messages each plan has, and all the points that are asked for."""
    kills = (given.kill,) if given.kill else KILLS
    points: list[Any] = []
    if given.letta:
        messages = count_letta(given.plan or LETTA_PLANS, pool)
        for plan, count in messages.items():
            for kill in kills:
                points += letta_points(plan, count, kill, given.policy)
        return messages, points
    messages = count_messages(given.plan or PLANS, pool, fine=given.fine)
    for plan, count in messages.items():
        for kill in kills:
            points += points_of(plan, count, kill, given.policy, fine=given.fine)
    return messages, points


def _all(given: argparse.Namespace, pool: ProcessPoolExecutor) -> int:
    began = time.monotonic()
    kills = (given.kill,) if given.kill else KILLS
    messages, points = _points(given, pool)
    print(f"{len(messages)} plans, {sum(messages.values())} messages", flush=True)
    points = [
        point
        for point in points
        if given.side in (None, point.side) or (given.side == "turns" and _has_turn(point))
    ]
    points = points[today() % given.every :: given.every]
    if given.twice:
        points = crash_twice(points, pool, kills, given.seed)
    # Mixed: some plans wait for seconds, and all processes at once would wait for them.
    random.Random(given.seed).shuffle(points)
    run = run_letta if given.letta else run_point
    failed = []
    reached: Counter[str] = Counter()
    for number, outcome in enumerate(pool.map(run, points), start=1):
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
