"""The full sweep: ``python -m tests.crash``.

Without arguments every message of every plan is tried as a crash point, before and after it, with
the connection killed and with the process killed. That takes a while; it ends with a number.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.crash.person import POLICIES
from tests.crash.plans import PLANS
from tests.crash.sweep import Point, count_messages, points_of, run_point, sweep


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--plan", action="append", help=f"among: {', '.join(PLANS)}")
    parser.add_argument("--point", type=int, help="only this message; 0 is no crash at all")
    parser.add_argument("--side", choices=("before", "after"))
    parser.add_argument("--kill", choices=("connection", "process"))
    parser.add_argument("--policy", choices=tuple(POLICIES), help="by default they take turns")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th point")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=int, default=1, help="with --point: so many times")
    given = parser.parse_args(argv)
    plans = given.plan or list(PLANS)
    kills = [given.kill] if given.kill else ["connection"]
    if not given.kill and os.name == "posix":
        kills.append("process")
    if given.point is not None:
        return _one(given, plans[0])
    return _all(given, plans, kills)


def _one(given: argparse.Namespace, plan: str) -> int:
    point = Point(
        plan,
        given.point,
        given.side or "before",
        given.kill or "connection",
        given.policy or "first-again",
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


def _all(given: argparse.Namespace, plans: list[str], kills: list[str]) -> int:
    began = time.monotonic()
    points: list[Point] = []
    for plan in plans:
        messages = count_messages(plan)
        print(f"{plan}: {messages} messages", flush=True)
        for kill in kills:
            points += points_of(plan, messages, kill, given.policy)  # type: ignore[arg-type]
    points = [point for point in points[:: given.every] if given.side in (None, point.side)]
    failed = []
    reached: Counter[str] = Counter()
    for number, outcome in enumerate(sweep(points, given.workers), start=1):
        reached[outcome.point.kill] += outcome.reached
        if outcome.faults:
            failed.append(outcome)
            print(
                f"FAILED {outcome.point.command}\n    " + "\n    ".join(outcome.faults), flush=True
            )
        if number % 200 == 0:
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
