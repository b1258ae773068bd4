"""What has to hold after every crash, by three independent witnesses.

The simulator's account says what the service received and applied. The proxy's record says what
passed on the line. The trace says what the person said and filled, and what the client knows.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import steer_nb
from steer_nb.ledger import rules
from tests.crash.injecting import injects_broken

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from steer_nb import Ledger, Trace
    from tests.crash.person import Policy
    from tests.crash.plans import Plan
    from tests.crash.proxy import Passed

__all__ = ["Check", "broken", "different", "summary"]

Account = list[dict[str, Any]]
# Of a ledger's problems, those that say that the client misunderstood something.
SERIOUS = frozenset({"orphan_output", "id_unstable", "odd_field", "sequence_gap", "local"})


def broken(
    plan: Plan,
    policy: Policy,
    account: Account,
    passed: list[Passed],
    trace: Trace,
    directory: Path,
    killed: Sequence[int] = (),
) -> list[str]:
    """Say which invariants do not hold; nothing where all do.

    Parameters
    ----------
    killed : sequence of int
        The connections whose process was killed: what it received last may be in no journal.
    """
    ledger = trace.ledger
    check = Check(plan, policy, account, passed, trace, ledger)
    check.nothing_filled_is_lost()
    check.no_tool_runs_twice(directory)
    check.steers_are_true()
    check.one_continuation_for_a_parent()
    check.nothing_said_is_lost_or_doubled()
    check.nothing_is_refused()
    check.requests_are_true()
    check.the_record_is_the_line(killed)
    check.nothing_is_odd()
    return [*check.faults, *injects_broken(account, ledger)]


class Check:
    """The invariants one by one; `faults` collects what does not hold."""

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        account: Account,
        passed: list[Passed],
        trace: Trace,
        ledger: Ledger,
    ) -> None:
        self.plan = plan
        self.policy = policy
        self.account = account
        self.passed = passed
        self.trace = trace
        self.ledger = ledger
        self.faults: list[str] = []

    def _notes(self, name: str) -> list[dict[str, Any]]:
        return [entry.data or {} for entry in self.trace if entry.note == name]

    def _of(self, kind: str) -> Account:
        return [entry for entry in self.account if entry["kind"] == kind]

    # -- filled values ---------------------------------------------------------------------------

    def nothing_filled_is_lost(self) -> None:
        """Each value that stands is received by the service, or is in the ledger and can be used.

        Stale values stay in the ledger where a person left the chain, or the service went on
        without them.
        """
        received = {
            json.dumps(item, sort_keys=True)
            for message in (*self._of("request"), *self._of("inject"))
            for item in _items(message.get("body", message))
        }
        left = {
            note.get("lane") for note in self._notes("lane_recovered") if note["choice"] == "leave"
        }
        standing: dict[tuple[str, str], dict[str, Any]] = {}
        for entry in self.trace:
            place = ((entry.data or {}).get("parent", ""), (entry.data or {}).get("key", ""))
            if entry.note == "filled":
                standing[place] = entry.data or {}
            elif entry.note == "cleared":
                standing.pop(place, None)
        for (parent, key), note in standing.items():
            stub = self.ledger.responses[parent].required[key]
            if json.dumps(note["item"], sort_keys=True) in received:
                continue
            if stub.item != note["item"]:
                self.faults.append(f"the value for {key} is nowhere: {stub.state}, {stub.item}")
            elif note.get("lane") not in left and stub.state not in ("stale", "cancelled"):
                self.faults.append(f"the value for {key} was never received, it is {stub.state}")
            elif note.get("lane") not in left and self._could_go_on(parent):
                self.faults.append(f"the value for {key} was set aside, {stub.state}, by nobody")

    def _could_go_on(self, parent: str) -> bool:
        response = self.ledger.responses[parent]
        if response.left:
            return False  # a person chose to go on from before it
        if response.status not in ("completed", "truncated"):
            return False  # failed, or cut short for a steer: the service asks no more
        return response.successor is None

    # -- tools -----------------------------------------------------------------------------------

    def no_tool_runs_twice(self, directory: Path) -> None:
        """A function begins once for a call, and never without a line in the journal before."""
        begun = Counter((note["parent"], note["key"]) for note in self._notes("tool_started"))
        self.faults += [f"{key} ran {n} times" for (_, key), n in begun.items() if n > 1]
        file = directory / "runs.txt"
        runs = len(file.read_text().splitlines()) if file.exists() else 0
        if runs > len(begun):
            self.faults.append(f"{runs} runs, but only {len(begun)} begun in the journal")

    # -- steers ----------------------------------------------------------------------------------

    def steers_are_true(self) -> None:
        """Every steer is in a final state that the service's account confirms."""
        by_id = {entry["id"]: entry for entry in self._of("steer") if entry["id"]}
        for steer in self.ledger.steers.values():
            truth = by_id.get(steer.steer_id) or self._unacknowledged(steer)
            what = f"{steer.key} ({steer.state})"
            if steer.state == "committed":
                if truth is None or truth["fate"] != "committed":
                    self.faults.append(f"{what} was not applied: {truth}")
                elif truth["successor_id"] != steer.successor_id and not self.plan.ambiguous:
                    self.faults.append(f"{what} went into another response: {truth}")
            elif steer.state == "failed":
                if truth is not None and truth["fate"] != "failed":
                    self.faults.append(f"{what} was {truth['fate']}")
            elif steer.state != "unknown":
                self.faults.append(f"{what} never got a final state")
            elif steer.decision is None:
                self.faults.append(f"{what} was left undecided")
        for entry in self._of("steer"):
            known = [s for s in self.ledger.steers.values() if s.input == entry["input"]]
            if entry["fate"] == "committed" and not any(
                s.state in ("committed", "unknown") for s in known
            ):
                self.faults.append(f"a steer that nobody knows was applied: {entry['input']}")

    def _unacknowledged(self, steer: Any) -> dict[str, Any] | None:
        """What the service says of a steer whose id never came: the line was lost before."""
        if steer.steer_id is not None:
            return None
        for entry in self._of("steer"):
            if entry["previous_response_id"] == steer.parent_id and entry["input"] == steer.input:
                return entry
        return None

    # -- continuations ---------------------------------------------------------------------------

    def one_continuation_for_a_parent(self) -> None:
        """One is applied; a second only where that failed, or a person said what becomes of it."""
        sent: dict[str, list[Any]] = defaultdict(list)
        for request in self.ledger.requests.values():
            if request.answers and request.previous_response_id:
                sent[request.previous_response_id].append(request)
        for parent, requests in sent.items():
            for before, after in itertools.pairwise(requests):
                if not self._allowed_again(before, after):
                    self.faults.append(
                        f"{after.key} continues {parent} again after {before.key} ({before.state})"
                    )
        applied: dict[tuple[str, int], list[str]] = defaultdict(list)
        ends = {entry["response_id"]: entry["status"] for entry in self._of("response")}
        for entry in (*self._of("continuation"), *self._of("successor")):
            if ends.get(entry["response_id"]) not in ("failed", "error"):
                place = entry["previous_response_id"], entry["connection"]
                applied[place].append(entry["response_id"])
        for (parent, number), responses in applied.items():
            if len(responses) > 1 and not self.plan.name.startswith("planner-queue"):
                self.faults.append(f"{parent} was continued {len(responses)} times on {number}")

    def _allowed_again(self, before: Any, after: Any) -> bool:
        if before.state in ("failed", "unsent") or self._broke(before.response_id):
            return True  # the service, or the client, said that it was not applied
        if before.decision == "dropped" or before.again_key == after.key:
            return True
        words = [
            entry
            for entry in self.trace
            if entry.note == "lane_recovered" and before.sent.seq < entry.seq < after.sent.seq
        ]
        return any((word.data or {}).get("choice") == "continue" for word in words)

    # -- what was said ---------------------------------------------------------------------------

    def nothing_said_is_lost_or_doubled(self) -> None:
        """In no conversation does a text stand more often than a person said it."""
        said: Counter[str] = Counter()
        unheard: set[str] = set()
        texts = self.plan.texts
        for message in (*self.ledger.requests.values(), *self.ledger.steers.values()):
            own = _own(message)
            for text in texts:
                if text in own:
                    said[text] += 1
                    if message.state in ("unknown", "failed", "unsent"):
                        unheard.add(text)
        everything = json.dumps([entry.get("body", entry.get("input")) for entry in self.account])
        for text in texts:
            if not said[text]:
                self.faults.append(f"{text!r} was never said")
            if text not in everything and text not in unheard:
                self.faults.append(f"{text!r} was lost")
            if text not in everything and self.policy.again:
                self.faults.append(f"{text!r} never reached the service")
        given, parents = self._conversations()
        for last in set(given) - {parent for parent in parents.values() if parent}:
            line = _line(last, given, parents)
            for text in texts:
                count = sum(text in item for item in line)
                if count > said[text]:
                    self.faults.append(
                        f"{text!r} stands {count} times in {last}, said {said[text]}"
                    )
        self._stands_where_it_was_said(given, parents)

    def _stands_where_it_was_said(
        self, given: dict[str, list[str]], parents: dict[str, str | None]
    ) -> None:
        """Who goes on, and sends again what was cut off, ends with a whole conversation."""
        queues = self.plan.name.startswith("planner-queue")  # goes on beside the steer's successor
        if not self.policy.again or self.policy.way == "leave" or queues:
            return
        left = {n.get("lane") for n in self._notes("lane_recovered") if n["choice"] == "leave"}
        broke = [
            _own(request)
            for request in self.ledger.requests.values()
            if request.state == "failed" or self._broke(request.response_id)
        ]
        broke += [
            _own(steer)
            for steer in self.ledger.steers.values()
            if steer.state == "failed" or self._broke(steer.successor_id)
        ]
        for plan in self.plan.lanes:
            lane = self.ledger.lanes[plan.name]
            tip = rules.chain_tip(lane)
            last = lane.responses[-1] if lane.responses else None
            if last is not None and self._broke(last.id) and last.request and last.request.repeated:
                tip = last  # it said all of it anew, and failed: what stands is from before that
            if plan.name in left or tip is None:
                continue
            line = _line(tip.id, given, parents)
            for text in plan.texts:
                if any(text in words for words in broke):
                    continue
                if not any(text in item for item in line):
                    self.faults.append(f"{text!r} is not in the conversation of {plan.name}")

    def _broke(self, response_id: str | None) -> bool:
        response = self.ledger.responses.get(response_id or "")
        if response is None:
            return False
        hung_up = self.plan.name == "failures-disconnect" and response.left
        return hung_up or response.status in ("failed", "error")

    def _conversations(self) -> tuple[dict[str, list[str]], dict[str, str | None]]:
        """What the user said to each response, and which response each continues."""
        given: dict[str, list[str]] = {}
        parents: dict[str, str | None] = {}
        steers = {entry["id"]: entry["input"] for entry in self._of("steer") if entry["id"]}
        for entry in self._of("request"):
            if entry["response_id"] is not None:
                given.setdefault(entry["response_id"], [])
                given[entry["response_id"]] += _said_in(entry["body"])
                parents[entry["response_id"]] = entry["body"].get("previous_response_id")
        for entry in (*self._of("successor"), *self._of("continuation")):
            given.setdefault(entry["response_id"], [])
            given[entry["response_id"]] += [json.dumps(steers[one]) for one in entry["steers"]]
            parents[entry["response_id"]] = entry["previous_response_id"]
        return given, parents

    # -- the service's view ----------------------------------------------------------------------

    def nothing_is_refused(self) -> None:
        """The client lets nothing out that the service has to refuse, after a loss too."""
        for entry in self.account:
            code = entry.get("error")
            message = entry.get("error_message")
            if entry["kind"] in ("request", "message") and (code or message):
                if code in self.plan.refusals:
                    continue
                if code == "previous_response_not_found" and self._not_stored():
                    continue
                self.faults.append(f"the service refused a {entry['kind']}: {code}, {message}")

    def _not_stored(self) -> bool:
        return any(lane.settings.get("store") is False for lane in self.plan.lanes)

    def requests_are_true(self) -> None:
        """What the client says of a request is what the service says of it."""
        received = Counter(entry["response_id"] for entry in self._of("request"))
        for request in self.ledger.requests.values():
            unheard = request.state == "started" and not received[request.response_id]
            if unheard and not self.plan.ambiguous:
                self.faults.append(f"{request.key} began {request.response_id}: nobody did that")
            if request.state == "sent":
                self.faults.append(f"{request.key} never got a final state")
            if request.state == "unknown" and request.decision is None:
                self.faults.append(f"{request.key} was left undecided")
        double = [one for one, n in received.items() if one is not None and n > 1]
        self.faults += [f"{one} answers two requests" for one in double]
        ends = {e["response_id"]: e["status"] for e in self._of("response")}
        for response in self.ledger.responses.values():
            truth = ends.get(response.id)
            if response.status == "in_progress":
                self.faults.append(f"{response.id} is in progress for ever")
            elif response.status not in ("truncated", truth):
                self.faults.append(f"{response.id} is {response.status}, in truth {truth}")

    def the_record_is_the_line(self, killed: Sequence[int]) -> None:
        """The trace holds what passed on the line, in its order, and nothing else."""
        by_line: dict[tuple[int, str], list[str]] = defaultdict(list)
        for one in self.passed:
            if one.arrived or one.direction == "up":
                by_line[one.connection, one.direction].append(one.text)
        traced: dict[tuple[int, str], list[str]] = defaultdict(list)
        for entry in self.trace:
            if entry.raw is not None:
                traced[entry.connection, "up" if entry.kind == "out" else "down"].append(entry.raw)
        numbers = self._numbers(killed)
        for (line, direction), texts in by_line.items():
            mine = traced[numbers.get(line, -1), direction]
            if direction == "up" and texts != mine[: len(texts)]:
                self.faults.append(f"connection {line}: something else was sent than recorded")
            if direction == "down" and mine != (texts[: len(mine)] if line in killed else texts):
                self.faults.append(
                    f"connection {line}: {len(texts)} events came, {len(mine)} are recorded"
                )

    def _numbers(self, killed: Sequence[int]) -> dict[int, int]:
        """The trace's number of each line.

        A process may be killed after it connected and before its journal knew: then the next
        process gives that number once more.
        """
        lives: list[list[int]] = [[]]
        for entry in self.trace:
            if entry.note == "recovered":
                lives.append([])
            elif entry.note == "connected":
                lives[-1].append(entry.connection)
        numbers: dict[int, int] = {}
        first = 1
        for life, last in itertools.zip_longest(lives, killed):
            if life is None:
                self.faults.append(f"{len(killed)} processes were killed, {len(lives)} are known")
                break
            numbers |= zip(range(first, first + len(life)), life, strict=True)
            first = first + len(life) if last is None else last + 1
        return numbers

    def nothing_is_odd(self) -> None:
        """The client had no trouble of its own."""
        for problem in self.ledger.problems:
            if problem.kind in SERIOUS:
                self.faults.append(f"problem {problem.kind}: {problem.detail}")
        for name, lane in self.ledger.lanes.items():
            if rules.lane_word(lane) not in ("idle", "failed", "detached"):
                self.faults.append(f"lane {name} ended {rules.lane_word(lane)}")


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    value = body.get("input")
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _said_in(body: dict[str, Any]) -> list[str]:
    value = body.get("input")
    if isinstance(value, str):
        return [value]
    return [json.dumps(item) for item in _items(body) if item.get("role") == "user"]


def _line(last: str, given: dict[str, list[str]], parents: dict[str, str | None]) -> list[str]:
    """Everything the user said up to a response."""
    line: list[str] = []
    current: str | None = last
    while current is not None:
        line += given.get(current, [])
        current = parents.get(current)
    return line


def _own(message: Any) -> str:
    """What a message says itself, without a repeated conversation."""
    value = message.body.get("input") if hasattr(message, "body") else message.input
    if isinstance(value, str):
        return value
    users = [item for item in value or () if isinstance(item, dict) and item.get("role") == "user"]
    # The newest words stand last; those before are repeated.
    return json.dumps(users[-1:])


# -- the same again from the file ------------------------------------------------------------------


def summary(ledger: Ledger) -> dict[str, Any]:
    """A ledger's states as plain values, to compare two."""
    return {
        "lanes": {
            str(name): (
                rules.lane_word(lane),
                None if lane.tip is None else lane.tip.id,
                lane.detached,
                lane.resume,
                lane.resume_from,
            )
            for name, lane in ledger.lanes.items()
        },
        "responses": {
            r.id: (
                r.status,
                r.text,
                r.origin,
                None if r.successor is None else r.successor.id,
                [(s.key, s.state, s.item, s.request_key) for s in r.required.values()],
                [s.key for s in r.steers],
            )
            for r in ledger.responses.values()
        },
        "requests": {
            r.key: (r.state, r.response_id, r.decision, r.again_key)
            for r in ledger.requests.values()
        },
        "steers": {
            s.key: (s.state, s.steer_id, s.successor_id, s.decision, s.again_key)
            for s in ledger.steers.values()
        },
        "injects": {
            i.key: (i.state, i.error_code, i.decision, i.again_key, i.left)
            for i in ledger.injects.values()
        },
        "problems": [(p.kind, p.detail) for p in ledger.problems],
    }


def different(live: Ledger, path: Path) -> list[str]:
    """How the ledger of a session differs from that of its file."""
    again = steer_nb.load(path).ledger
    mine, files = summary(live), summary(again)
    return [
        f"{part}: {mine[part]} is {files[part]} in the file"
        for part in mine
        if mine[part] != files[part]
    ]
