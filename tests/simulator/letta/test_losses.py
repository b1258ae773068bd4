"""Connections are lost wherever they can be: nothing is missing afterwards, and nothing twice.

Random clients speak with a simulator whose connections break before and after any frame, again and
again, and with one of the same seed whose connections hold. What the first have put together, and
what is kept of it, is what the others saw: ids, numbers and texts. A run in the foreground ends
with its reader; of it, what is kept are whole steps.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from itertools import pairwise

import httpx
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from steer_nb.simulator import letta
from tests.simulator.letta.conftest import SDK
from tests.simulator.letta.test_invariants import CLIENT, answer, moods

LOSSES = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["before", "after"])), max_size=4)
"""Of one exchange: behind how many frames of each connection it is lost, and on which side."""
HIDDEN = ("stop_reason", "usage_statistics", "[DONE]")


class Peer:
    """A simulator and its client, who knows how far each of its streams has come."""

    def __init__(self):
        self.simulator = letta.LettaSimulator(moods, speed=0).start()
        self.http = httpx.Client(base_url=self.simulator.base_url, headers=SDK, timeout=20)
        self.talks = []

    def close(self):
        self.http.close()
        self.simulator.stop()

    def talk(self):
        agent = {"agent_id": self.simulator.agent_id}
        made = self.http.post("/v1/conversations/", params=agent, json={}).json()
        self.talks.append(f"/v1/conversations/{made['id']}")

    def history(self, number):
        query = {"order": "asc", "limit": 1_000}
        return self.http.get(f"{self.talks[number]}/messages", params=query).json()

    def read(self, path, body, loss, seen):
        """Read a stream into `seen`, to its end or its loss; says whether it ended."""
        self.simulator.faults.clear()
        if loss is not None:
            self.simulator.faults.add(f"drop at={loss[0]} side={loss[1]}")
        with (
            contextlib.suppress(httpx.TransportError),
            self.http.stream("POST", path, json=body) as reply,
        ):
            assert reply.status_code == 200, reply.read()
            for line in reply.iter_lines():
                data = line.removeprefix("data: ")
                if data != line:
                    seen.append(data if data == "[DONE]" else json.loads(data))
            return True
        return False

    def through(self, number, body, losses, ways):
        """Send in the background, whatever is lost, and give all that was read, one by one."""
        place, frames = self.talks[number], []
        ended = self.read(f"{place}/messages", body, losses.pop(0) if losses else None, frames)
        while not ended:
            loss = losses.pop(0) if losses else None
            visible = [one for one in frames if kind(one) not in HIDDEN]
            frames, way = visible, ways.pop(0) if ways else "resume"
            if not visible:
                wanted = {"otid": body["messages"][0]["otid"], "include_pings": False}
                by_otid = way == "otid" and self.simulator.service.by_otid
                path, again = ("stream", wanted) if by_otid else ("messages", body)
                ended = self.read(f"{place}/{path}", again, loss, frames)
                continue
            after = visible[-1]["seq_id"]
            more = {"starting_after": after, "include_pings": False}
            if way == "resume":
                path = f"/v1/runs/{visible[-1]['run_id']}/stream"
            else:
                more["run_id"] = visible[-1]["run_id"]
                path = f"{place}/stream"
            ended = self.read(path, more, loss, frames)
        self.simulator.faults.clear()
        return frames


def kind(frame):
    return frame if isinstance(frame, str) else frame["message_type"]


class Losses(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.lossy, self.calm = Peer(), Peer()
        self.peers = (self.lossy, self.calm)
        self.n_otids = 0
        self.live = []
        self.bodies = {}
        for _ in range(2):
            self.open()

    def teardown(self):
        for peer in self.peers:
            peer.close()

    def open(self):
        for peer in self.peers:
            peer.talk()
        self.live.append(len(self.lossy.talks) - 1)

    def body(self, messages, *, tokens, background, client, pings=False):
        for one in messages:
            self.n_otids += 1
            one["otid"] = f"o-{self.n_otids}"
        body = {"messages": messages, "stream_tokens": tokens, "background": background}
        body |= {"streaming": True, "include_pings": pings}
        return {**body, "client_tools": CLIENT} if client else body

    def exchange(self, number, body, losses, ways):
        undisturbed = self.calm.through(number, body, [], [])
        found = self.lossy.through(number, body, losses, ways)
        assert found == undisturbed
        numbers = [one["seq_id"] for one in found if "seq_id" in one]
        assert numbers == list(range(1, len(numbers) + 1))
        self.bodies[number] = (body, undisturbed)
        self.same(number)

    def same(self, number):
        kept = self.lossy.history(number)
        assert kept == self.calm.history(number)
        assert all(a["id"] != b["id"] or a["otid"] != b["otid"] for a, b in pairwise(kept))
        account = [one for one in self.lossy.simulator.account if one["kind"] == "tool"]
        assert all(n == 1 for n in Counter(one["tool_call_id"] for one in account).values())
        runs = [len(peer.simulator.service.runs) for peer in self.peers]
        assert runs[0] == runs[1]

    def messages(self, number, choices):
        """What can be said now: an answer where one is waited for."""
        pending = [one for one in self.calm.history(number)[-1:] if "tool_calls" in one]
        waiting = [one for one in pending if one["message_type"] == "approval_request_message"]
        if not waiting:
            return [{"role": "user", "content": "Go on."}]
        calls = waiting[0]["tool_calls"]
        given = [
            answer(call["tool_call_id"], one) for call, one in zip(calls, choices, strict=False)
        ]
        return [{"type": "approval", "approvals": given}]

    @rule(
        data=st.data(),
        losses=LOSSES,
        ways=st.lists(st.sampled_from(["resume", "otid"]), max_size=4),
        choices=st.lists(st.sampled_from("adr"), min_size=4, max_size=4),
        tokens=st.booleans(),
        client=st.booleans(),
        pings=st.booleans(),
    )
    def in_the_background(self, data, losses, ways, choices, **modes):
        number = data.draw(st.sampled_from(self.live))
        body = self.body(self.messages(number, choices), background=True, **modes)
        self.exchange(number, body, losses, ways)

    @precondition(lambda self: self.bodies)
    @rule(data=st.data(), losses=LOSSES)
    def once_more(self, data, losses):
        """The same request is the same run, to the byte, however it is lost on the way."""
        number = data.draw(st.sampled_from(sorted(self.bodies)))
        body, undisturbed = self.bodies[number]
        assert self.lossy.through(number, body, losses, []) == undisturbed
        self.same(number)

    @rule(
        data=st.data(),
        loss=st.tuples(st.integers(1, 8), st.sampled_from(["before", "after"])),
        choices=st.lists(st.sampled_from("adr"), min_size=4, max_size=4),
        tokens=st.booleans(),
        client=st.booleans(),
    )
    def in_the_foreground(self, data, loss, choices, **modes):
        number = data.draw(st.sampled_from(self.live))
        body = self.body(self.messages(number, choices), background=False, **modes)
        path, whole, seen = f"{self.calm.talks[number]}/messages", [], []
        assert self.calm.read(path, body, None, whole)
        ended = self.lossy.read(path, body, loss, seen)
        assert whole[: len(seen)] == seen
        assert not ended or seen == whole
        self.bodies.pop(number, None)
        if seen == whole:
            self.same(number)
            return
        (run,) = self.lossy.http.get("/v1/runs/", params={"limit": 1}).json()
        until_over(self.lossy, run["id"])
        run = self.lossy.http.get(f"/v1/runs/{run['id']}").json()
        kept, all_of = self.lossy.history(number), self.calm.history(number)
        assert all_of[: len(kept)] == kept  # whole steps of it, or all
        assert run["status"] == "failed" or kept == all_of
        self.live.remove(number)  # from here on they differ
        self.open()

    @rule()
    def while_nothing_goes_on(self):
        self.lossy.simulator.drop()


def until_over(peer, run_id):
    """Wait for the end of a run that lost its reader: the server notices it in its own time."""
    run = peer.simulator.service.runs[run_id]
    while run.active:
        peer.http.get("/v1/health/")


TestLosses = Losses.TestCase
# Nothing is made smaller: each step is dozens of requests on real sockets.
TestLosses.settings = settings(
    max_examples=8, stateful_step_count=12, deadline=None, phases=[Phase.reuse, Phase.generate]
)
