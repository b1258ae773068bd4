"""What has to hold after every crash of a Letta session, by independent witnesses.

The server's account and its conversations say what it received and did. The proxy's record says
what passed on the line. The trace says what the person said and decided, and what the client knows.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from steer_nb.ledger import rules
from steer_nb.simulator.letta.stored import letta_messages, text_of
from steer_nb.simulator.letta.turn import KEEP_ALIVE

if TYPE_CHECKING:
    from pathlib import Path

    from steer_nb import Trace
    from steer_nb.simulator.letta import LettaSimulator
    from tests.crash.letta.plans import LettaPlan
    from tests.crash.proxy import Passed

__all__ = ["letta_broken", "messages_sent"]

SERIOUS = frozenset({"local", "orphan_output", "id_unstable", "odd_field"})
"""Of a ledger's problems, those that say that the client misunderstood something, or gave up."""
CLIENTS = frozenset({"approval_response_message", "user_message", "system_message"})
"""What no stream shows: the history says it, and is not read where nothing hangs on it."""


def letta_broken(
    plan: LettaPlan, simulator: LettaSimulator, passed: list[Passed], trace: Trace, directory: Path
) -> list[str]:
    """Say which invariants do not hold; nothing where all do."""
    check = _Check(plan, simulator, passed, trace)
    check.tools_run_once(directory)
    check.answers_are_given_once()
    check.one_otid_is_one_text()
    check.nothing_said_is_lost_or_doubled()
    check.what_is_decided_is_what_happens()
    check.the_trace_has_the_history()
    check.all_is_settled()
    return check.faults


def messages_sent(passed: list[Passed]) -> list[dict[str, Any]]:
    """The bodies of all sends that came to the proxy."""
    bodies = []
    for one in passed:
        if one.direction != "up":
            continue
        head, _, body = one.text.partition("\r\n\r\n")
        method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
        if method == "POST" and target.endswith("/messages"):
            bodies.append(json.loads(body))
    return bodies


class _Check:
    def __init__(
        self, plan: LettaPlan, simulator: LettaSimulator, passed: list[Passed], trace: Trace
    ) -> None:
        self.plan = plan
        self.passed = passed
        self.trace = trace
        self.ledger = trace.ledger
        self.account = list(simulator.account)
        agents = simulator.service.agents.values()
        self.conversations = [one for agent in agents for one in agent.everything]
        self.faults: list[str] = []

    def _notes(self, name: str) -> list[dict[str, Any]]:
        return [entry.data or {} for entry in self.trace if entry.note == name]

    def tools_run_once(self, directory: Path) -> None:
        """The server ran each call at most once; so did the client, and never without a note."""
        ran = Counter(entry["tool_call_id"] for entry in self.account if entry["kind"] == "tool")
        self.faults += [f"the server ran {key} {n} times" for key, n in ran.items() if n > 1]
        begun = Counter((note["parent"], note["key"]) for note in self._notes("tool_started"))
        self.faults += [f"{key} ran {n} times here" for (_, key), n in begun.items() if n > 1]
        file = directory / "runs.txt"
        runs = len(file.read_text().splitlines()) if file.exists() else 0
        if runs > len(begun):
            self.faults.append(f"{runs} runs here, and {len(begun)} begun in the journal")
        results: defaultdict[str, set[str]] = defaultdict(set)
        for body in messages_sent(self.passed):
            for one in body["messages"][0].get("approvals") or ():
                results[one["tool_call_id"]].add(json.dumps(one, sort_keys=True))
        self.faults += [f"{key} was answered as {v}" for key, v in results.items() if len(v) > 1]

    def answers_are_given_once(self) -> None:
        """Each request for approval was answered once, and never again by a keep-alive turn."""
        for conversation in self.conversations:
            given = Counter(
                one["tool_call_id"]
                for message in conversation.messages
                if message.role == "approval_response"
                for one in message.answers
            )
            returned = Counter(
                one["tool_call_id"]
                for message in conversation.messages
                if message.role == "tool"
                for one in message.answers
            )
            for what, counted in (("answered", given), ("returned", returned)):
                self.faults += [f"{k} was {what} {n} times" for k, n in counted.items() if n > 1]
            if any(message.content == KEEP_ALIVE for message in conversation.messages):
                self.faults.append("an answered request was answered once more (5.6)")

    def one_otid_is_one_text(self) -> None:
        """Under an `otid` of ours the same bytes went out each time (5.4)."""
        texts: defaultdict[str, set[str]] = defaultdict(set)
        for body in messages_sent(self.passed):
            if not self.plan.background:
                body.pop("background")  # refused for that, and for nothing else (5.1)
            for one in body["messages"]:
                texts[one["otid"]].add(json.dumps(body))
        self.faults += [f"{k} went out as {sorted(v)}" for k, v in texts.items() if len(v) > 1]

    def nothing_said_is_lost_or_doubled(self) -> None:
        """The server has each text once, or somebody dropped what carried it."""
        heard = Counter(
            text_of(message.content)
            for conversation in self.conversations
            for message in conversation.messages
            if message.role == "user"
        )
        dropped = json.dumps(
            [self._words_of(note["key"]) for note in self._notes("dropped")], ensure_ascii=False
        )
        for steer in self.ledger.steers.values():
            text = str(steer.input)
            gone = not heard[text] and not self._left_by_the_server(text)
            if gone and steer.state == "committed":
                self.faults.append(f"{steer.key} is committed, and the server does not have it")
        for text in self.plan.texts:
            if heard[text] > 1:
                self.faults.append(f"{text!r} was said {heard[text]} times")
            if not heard[text] and text not in dropped and not self._left_by_the_server(text):
                self.faults.append(f"{text!r} never reached the server, and nobody dropped it")

    def _words_of(self, key: str) -> Any:
        ledger = self.ledger
        found = ledger.requests.get(key) or ledger.steers[key]
        return found.body.get("input") if hasattr(found, "body") else found.input

    def _left_by_the_server(self, text: str) -> bool:
        """Whether it arrived with a run that ended with its reader: that is not kept (4.1)."""
        if self.plan.background:
            return False
        return any(
            text in str(entry["said"]) for entry in self.account if entry["kind"] == "run"
        ) and any(
            response.status in ("truncated", "cancelled", "failed")
            for response in self.ledger.responses.values()
        )

    def what_is_decided_is_what_happens(self) -> None:
        """What the trace calls confirmed, the server did: it ran what was approved, and no more."""
        ran = {entry["tool_call_id"] for entry in self.account if entry["kind"] == "tool"}
        returned = {
            one["tool_call_id"]
            for conversation in self.conversations
            for message in conversation.messages
            if message.role == "tool"
            for one in message.answers
        }
        for response in self.ledger.responses.values():
            for stub in response.required.values():
                item = stub.item or {}
                if stub.state != "confirmed":
                    if stub.key in returned:
                        self.faults.append(f"{stub.key} was answered, and is {stub.state} here")
                    continue
                if stub.key not in returned:
                    self.faults.append(f"{stub.key} is confirmed, and the server has no answer")
                if item.get("type") == "approval" and item["approve"] != (stub.key in ran):
                    self.faults.append(f"{stub.key} was decided {item}, and ran: {stub.key in ran}")
                if item.get("type") == "tool" and stub.key in ran:
                    self.faults.append(f"{stub.key} was run here, and there")

    def the_trace_has_the_history(self) -> None:
        """Of each run that ended well the trace has every message once, under the same `otid`."""
        texts: defaultdict[str, list[str]] = defaultdict(list)
        seen: set[str] = set()
        for entry in self.trace:
            if entry.kind == "in" and (entry.raw or "").startswith("{"):
                seen.add(str(json.loads(entry.raw).get("otid")))
        for conversation in self.conversations:
            for message in conversation.messages:
                for one in letta_messages(message):
                    if one["message_type"] in CLIENTS or one["run_id"] is None:
                        continue
                    if one["otid"] not in seen:
                        self.faults.append(f"the trace has no {one['message_type']} {one['otid']}")
                    if one["message_type"] == "assistant_message":
                        texts[one["run_id"]].append(text_of(one["content"]))
        for run_id, said in texts.items():
            response = self.ledger.responses.get(run_id)
            if response is None:
                self.faults.append(f"{run_id} is in the history, and not in the trace")
            elif response.status == "completed" and response.text != "".join(said):
                self.faults.append(f"{run_id} says {response.text!r} here, and {said} there")

    def all_is_settled(self) -> None:
        """Every lane has come to its end, and nothing odd was noticed."""
        for lane in self.ledger.lanes.values():
            word = rules.lane_word(lane)
            if word not in ("idle", "failed"):
                self.faults.append(f"lane {lane.name} is {word}")
        self.faults += [f"undecided: {r.key}" for r in self.ledger.requests.values() if r.undecided]
        self.faults += [f"undecided: {s.key}" for s in self.ledger.steers.values() if s.undecided]
        self.faults += [
            f"{problem.kind}: {problem.detail}"
            for problem in self.ledger.problems
            if problem.kind in SERIOUS
        ]
