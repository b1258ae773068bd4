"""An hour of work in minutes: ``python -m tests.soak``.

Many people on many lanes of one session create, steer, answer, continue, fork and close, while the
connection is replaced, cut, and ended for its age, again and again. Nothing may be lost or doubled,
and nothing may grow but the trace. It exits with 1 and says what was lost or what grew, otherwise.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from steer_nb.wire import MAX_STREAM_IDS
from tests.soak.run import FORKS, MB, Options, Report, Row, soak

if TYPE_CHECKING:
    from collections import Counter

MOST_LANES = MAX_STREAM_IDS - FORKS
LEAST_ROUNDS = 4
HEADINGS = (
    " minutes  lane-min   events  connections  responses  steers  RSS MB  B/entry  else MB  objects"
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    usual = Options()
    parser.add_argument(
        "--minutes", type=float, default=usual.minutes, help="simulated ones (default: %(default)g)"
    )
    parser.add_argument(
        "--lanes", type=int, default=usual.lanes, help="open all the time (default: %(default)d)"
    )
    parser.add_argument("--seed", type=int, default=usual.seed, help="(default: %(default)d)")
    parser.add_argument(
        "--speed",
        type=float,
        default=usual.speed,
        help="how much faster than in life (default: %(default)g)",
    )
    given = parser.parse_args(argv)
    if not 1 <= given.lanes <= MOST_LANES:
        parser.error(f"--lanes: a connection takes {MOST_LANES} beside those that are forked")
    whole = given.minutes * 60 / given.speed
    options = Options(**vars(given), round_s=min(usual.round_s, whole / LEAST_ROUNDS))
    print(
        f"{options.minutes:g} minutes in the life of {options.lanes} lanes, "
        f"{options.speed:g} times as fast, seed {options.seed}\n{HEADINGS}",
        flush=True,
    )
    report = soak(options, lambda row: print(_line(row), flush=True))
    print(_summary(report))
    return 0 if report.passed else 1


def _line(row: Row) -> str:
    census = row.census
    size = "-" if row.resident is None else f"{row.resident / MB:.0f}"
    line = (
        f"{row.minutes:8.1f}{row.work_minutes:10.0f}{row.events:9}{row.connections:13}"
        f"{row.responses:11}{row.steers:8}{size:>8}"
    )
    if census is not None:
        objects = sum(census.others.values())
        line += f"{census.bytes_per_entry:9.0f}{census.other_bytes / MB:9.1f}{objects:9}"
    return line


def _summary(report: Report) -> str:
    rows = report.rows
    lines = []
    if rows:
        last = rows[-1]
        lived = (
            f"lived: {last.minutes:.1f} simulated minutes in {report.seconds:.0f} s; the scripts "
            f"waited {last.work_minutes:.0f} minutes on all lanes, and kept "
            f"{report.keeps_up:.0%} of their pace at the worst"
        )
        lines += [
            lived,
            f"done: {_counted(report.did)}",
            f"refused, and tried again: {_counted(report.refused)}",
            f"became: {_counted(report.states)}",
            f"connections: {report.ends.total()}; ended by {_counted(report.ends)}",
        ]
    counted = [row for row in rows if row.census is not None]
    if len(counted) > 1:
        lines += _growth(counted[0], counted[-1])
    lines += [f"LOST  {what}" for what in report.lost]
    lines += [f"GREW  {what}" for what in report.grew]
    if report.passed:
        lines.append("Nothing was lost, nothing was doubled, and nothing grew but the trace.")
    return "\n".join(lines)


def _growth(first: Row, last: Row) -> list[str]:
    a, b = first.census, last.census
    assert a is not None
    assert b is not None
    trace = (
        f"trace: {a.entries} to {b.entries} entries; {b.trace_bytes / b.entries:.0f} bytes each "
        f"and {b.ledger_bytes / b.entries:.0f} for what is folded from it (together "
        f"{a.bytes_per_entry:.0f} at first, {b.bytes_per_entry:.0f} in the end)"
    )
    lines = [trace]
    if first.resident is not None and last.resident is not None:
        grown = b.kept - a.kept
        lines.append(
            f"resident: {first.resident / MB:.0f} MB to {last.resident / MB:.0f} MB, of which the "
            f"trace and its fold grew by {grown / MB:.0f} MB"
        )
    lines.append(
        f"all else: {a.other_bytes / MB:.2f} MB to {b.other_bytes / MB:.2f} MB, "
        f"{sum(a.others.values())} to {sum(b.others.values())} objects; "
        + ", ".join(f"{name} {first.handles[name]} to {n}" for name, n in last.handles.items())
    )
    return lines


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in words.most_common()) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
