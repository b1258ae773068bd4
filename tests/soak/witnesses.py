"""Whether anything was lost or doubled: the service's account and line against the trace."""

from __future__ import annotations

import itertools
import json
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from tests.crash.invariants import Check
from tests.crash.person import Policy
from tests.crash.plans import Plan
from tests.soak.script import everything
from tests.soak.service import checksum

if TYPE_CHECKING:
    from pathlib import Path

    from steer_nb import Ledger, Trace

__all__ = ["Line", "lost_or_doubled"]

# A connection's age is refused, and the scripts refuse nothing.
REFUSALS = frozenset({"websocket_connection_limit_reached"})
MOST = 20
Messages = dict[int, tuple["array[int]", "array[int]"]]


class Line:
    """Holds what the client recorded against what passed on the line, as both grow.

    Parameters
    ----------
    trace : Trace
        The client's.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._read = 0
        self._mine: Messages = defaultdict(lambda: (array("L"), array("L")))
        self._ends: dict[int, str] = {}
        self._done: set[int] = set()

    def differs(self, theirs: Messages) -> list[str]:
        """Say on which connection something else was sent than received, either way.

        A connection that was cut, or ended in the middle of work because of its age, may have lost
        the end of what was on its way. On one that was replaced while nobody worked, and on the one
        that is open, all has arrived.
        """
        for entry in itertools.islice(self._trace.entries, self._read, None):
            self._read += 1
            if entry.raw is not None:
                self._mine[entry.connection][entry.kind == "in"].append(checksum(entry.raw))
            elif entry.note == "closed":
                self._ends[entry.connection] = (entry.data or {})["by"]
        faults: list[str] = []
        for number in sorted({*self._mine, *theirs} - self._done):
            mine, other = self._mine[number], theirs.get(number, (array("L"), array("L")))
            end = self._ends.get(number)
            faults += _compare(f"connection {number}", mine, other, end)
            if end is not None:
                self._done.add(number)
                del self._mine[number]
        return faults


def _compare(
    where: str,
    mine: tuple[array[int], array[int]],
    theirs: tuple[array[int], array[int]],
    end: str | None,
) -> list[str]:
    faults = []
    sent, came = mine
    received, written = theirs
    if received != sent[: len(received)]:
        faults.append(f"{where}: something else was received than sent")
    elif end in (None, "client") and len(received) != len(sent):
        faults.append(f"{where}: {len(sent)} messages were sent, {len(received)} were received")
    if came != written[: len(came)]:
        faults.append(f"{where}: something else is recorded than was written")
    elif end in (None, "client") and len(came) != len(written):
        faults.append(f"{where}: {len(written)} events were written, {len(came)} are recorded")
    return faults


def lost_or_doubled(
    ledger: Ledger, trace: Trace, account: list[dict[str, Any]], directory: Path
) -> list[str]:
    """Say what was lost, doubled, or has no final state; nothing may be going on.

    Parameters
    ----------
    directory : Path
        Where the tools wrote down that they ran.
    """
    plan = Plan("soak", everything, (), refusals=REFUSALS)
    check = Check(plan, Policy(), account, [], trace, ledger)
    check.nothing_filled_is_lost()
    check.no_tool_runs_twice(directory)
    check.steers_are_true()
    check.one_continuation_for_a_parent()
    check.nothing_is_refused()
    check.requests_are_true()
    check.nothing_is_odd()
    faults = [*check.faults, *_words(ledger, account)]
    if len(faults) > MOST:
        faults = [*faults[:MOST], f"and {len(faults) - MOST} more"]
    return faults


def _words(ledger: Ledger, account: list[dict[str, Any]]) -> list[str]:
    """Each text was received as often as it was sent and is not unknown, or came too late."""
    sent: Counter[str] = Counter()
    may: Counter[str] = Counter()
    for one in (*ledger.requests.values(), *ledger.steers.values()):
        body = one.body.get("input") if hasattr(one, "body") else one.input
        text = json.dumps(body)
        sent[text] += 1
        # What the service refuses without a name, and what is unknown, may not be in its account.
        may[text] += one.state in ("unknown", "unsent", "failed")
    received = Counter(
        json.dumps(entry["body"].get("input") if entry["kind"] == "request" else entry["input"])
        for entry in account
        if entry["kind"] in ("request", "steer")
    )
    faults = [
        f"{text[:80]} was sent {sent[text]} times and received {count} times"
        for text, count in received.items()
        if count > sent[text]
    ]
    faults += [
        f"{text[:80]} was sent {count} times and received {received[text]} times"
        for text, count in sent.items()
        if received[text] < count - may[text]
    ]
    return faults
