"""Whatever clients do, in whatever order: the rules of chapters 2, 3 and 5 hold.

The core runs without a socket and without time. Runs are generators, and the machine decides which
goes on next: requests meet in all the ways in which they could meet on a network.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from steer_nb.simulator import CallFunction, Say, Think, letta
from steer_nb.simulator.letta.api import ask
from steer_nb.simulator.letta.asked import Answer, Asked
from steer_nb.simulator.letta.loop import work
from steer_nb.simulator.letta.sending import Follow, Started
from steer_nb.simulator.letta.service import LettaService
from steer_nb.simulator.letta.trouble import Refused
from tests.simulator.letta.model import TOOLS
from tests.simulator.letta.recordings import frames_in, relation

CLIENT = [{"name": "read_cell"}]
SDK = {"x-stainless-package-version": "1"}


@letta.scenario("moods", "Does one thing or another, as its dice say.", tools=TOOLS)
def moods(turn):
    if turn.random.random() < 0.3:
        yield Think("Hm.")
    if turn.random.random() < 0.7:
        yield Say("Some words.")
    if turn.results and turn.random.random() < 0.8:
        return
    for name in ("get_weather", "delete_file", "delete_file", "read_cell"):
        if turn.random.random() < 0.4:
            yield CallFunction(name, {"city" if name == "get_weather" else "path": "x"})


MODES = {name: st.booleans() for name in ("tokens", "background", "client", "whole")}


class Letta(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        options = letta.LettaOptions(keepalive_s=1.0)
        self.service = LettaService(moods, seed=0, speed=0, options=options)
        (self.agent,) = self.service.agents.values()
        self.talks = [self.service.add_conversation(self.agent) for _ in range(2)]
        self.work = {}
        self.ends = {}
        self.overlapped = set()
        self.n_otids = 0

    # Words

    def ask(self, method, path, body=None):
        """Give what a request gets, or how it was refused."""
        raw = b"" if body is None else json.dumps(body).encode()
        try:
            return ask(Asked(self.service, method, path, SDK, raw))
        except Refused as refused:
            return refused

    def place(self, number):
        """An agent's own conversation in both its ways, and two of their own."""
        if number == 0:
            return f"/v1/agents/{self.agent.id}/messages", {}, self.agent.own
        if number == 1:
            return "/v1/conversations/default/messages", {"agent_id": self.agent.id}, self.agent.own
        talk = self.talks[number - 2]
        return f"/v1/conversations/{talk.id}/messages", {}, talk

    def begin(self, number, messages, *, tokens, background, client, whole):
        path, more, talk = self.place(number)
        body = {"messages": messages, "streaming": True, "stream_tokens": tokens, **more}
        body |= {"background": background, "include_pings": False}
        if client:
            body["client_tools"] = CLIENT
        active = [run for run in talk.runs if run.active]
        keeper = self.service.keeper(talk)
        reply = self.ask("POST", path, body)
        if isinstance(reply, Refused):
            assert (reply.status, number > 0) == (409, True)
            assert keeper is not None
            assert reply.body["run_id"] == keeper.id
            return None
        if isinstance(reply, Follow):
            return reply
        assert isinstance(reply, Started)
        assert number == 0 or keeper is None  # where there is a lock, it keeps others out
        if active:
            self.overlapped |= {reply.run.id, *(run.id for run in active)}
        self.work[reply.run.id] = work(self.service, reply.run)
        while whole and reply.run.id in self.work:
            self.go_on(reply.run.id)
        return reply

    def go_on(self, run_id):
        try:
            next(self.work[run_id])
        except StopIteration:
            del self.work[run_id]
            run = self.service.runs[run_id]
            assert run.ended
            self.ends[run_id] = "".join(frame.text for frame in run.frames)

    # What clients do

    @rule(number=st.integers(0, 3), **MODES)
    def say(self, number, **modes):
        self.n_otids += 1
        messages = [{"role": "user", "content": "Go on.", "otid": f"o-{self.n_otids}"}]
        self.begin(number, messages, **modes)

    @precondition(lambda self: self.n_otids)
    @rule(number=st.integers(1, 3), back=st.integers(0, 3), **MODES)
    def say_again(self, number, back, **modes):
        otid = f"o-{max(1, self.n_otids - back)}"
        messages = [{"role": "user", "content": "Go on.", "otid": otid}]
        n_runs = len(self.service.runs)
        reply = self.begin(number, messages, **modes)
        if isinstance(reply, Follow):  # attached to the run that it is; no second one
            assert len(self.service.runs) == n_runs
            assert reply.run.background
            assert otid in reply.run.sent.otids

    @rule(
        number=st.integers(0, 3),
        choices=st.lists(st.sampled_from("adr"), min_size=4, max_size=4),
        wrong=st.sampled_from(["", "", "", "few", "other"]),
        **MODES,
    )
    def answer(self, number, choices, wrong, **modes):
        pending = self.place(number)[2].pending
        ids = pending.call_ids if pending is not None else ["call_nobody"]
        if wrong == "few":
            ids = ids[1:]
        elif wrong == "other":
            ids = [*ids, "call_other"]
        given = [answer(one, choice) for one, choice in zip(ids, choices, strict=False)]
        if len(given) < len(ids):
            return
        self.begin(number, [{"type": "approval", "approvals": given}], **modes)

    @precondition(lambda self: self.work)
    @rule(data=st.data(), n=st.integers(1, 6))
    def go(self, data, n):
        run_id = data.draw(st.sampled_from(sorted(self.work)))
        for _ in range(n):
            if run_id in self.work:
                self.go_on(run_id)

    @rule()
    def settle(self):
        while self.work:
            for run_id in sorted(self.work):
                self.go_on(run_id)

    @precondition(lambda self: self.service.runs)
    @rule(data=st.data())
    def cancel_a_run(self, data):
        run_id = data.draw(st.sampled_from(sorted(self.service.runs)))
        run = self.service.runs[run_id]
        pending = run.conversation.pending
        path = f"/v1/agents/{self.agent.id}/messages/cancel"
        done = self.ask("POST", path, {"run_ids": [run_id]})
        assert done.value == {run_id: "cancelled"}
        if pending is not None and pending.run_id == run_id:
            assert (run.conversation.pending is None) is (run.conversation.id is None)
            assert run.status == "cancelled"

    @rule(number=st.integers(0, 1))
    def cancel_a_conversation(self, number):
        talk = self.talks[number]
        active = [run.id for run in talk.runs if run.active]
        pending = talk.pending
        done = self.ask("POST", f"/v1/conversations/{talk.id}/cancel")
        if isinstance(done, Refused):
            assert (done.status, active) == (409, [])
        else:
            assert sorted(done.value) == sorted(active)
        assert talk.pending is pending

    @precondition(lambda self: self.work)
    @rule(data=st.data())
    def lose_a_reader(self, data):
        run = self.service.runs[data.draw(st.sampled_from(sorted(self.work)))]
        if not run.background:
            run.lost = True

    @precondition(lambda self: self.ends)
    @rule(data=st.data(), after=st.integers(0, 30))
    def resume(self, data, after):
        run_id = data.draw(st.sampled_from(sorted(self.ends)))
        run = self.service.runs[run_id]
        reply = self.ask("POST", f"/v1/runs/{run_id}/stream", {"starting_after": after})
        if isinstance(reply, Refused):
            assert (reply.status, run.background) == (400, False)
            return
        assert run.background
        assert (reply.run, reply.after) == (run, after)
        rest = "".join(frame.text for frame in run.frames[after:])
        assert self.ends[run_id].endswith(rest)

    # What always holds

    @invariant()
    def a_request_is_pending_while_it_is_the_last(self):
        for talk in self.agent.everything:
            last = talk.messages[-1].role if talk.messages else "system"
            assert (talk.pending is not None) is (last == "approval")
            for before, after in pairwise(talk.messages):
                if before.role == "approval" and talk.id is not None:
                    assert after.role == "approval_response"
                if after.role == "tool" and talk.id is not None:
                    assert before.role in ("assistant", "approval_response")
        shown = self.ask("GET", f"/v1/agents/{self.agent.id}?include=agent.pending_approval")
        pending = self.agent.own.pending
        own = shown.value["pending_approval"]
        assert (own and own["id"]) == (pending and pending.id)

    @invariant()
    def a_call_runs_once_where_locks_hold(self):
        account = [one for one in self.service.account.entries() if one["kind"] == "tool"]
        apart = [one for one in account if one["run"] not in self.overlapped]
        for one, many in Counter(call["tool_call_id"] for call in apart).items():
            assert many == 1, one
        named = [one for one in account if one["conversation"] != "default"]
        assert all(n == 1 for n in Counter(call["tool_call_id"] for call in named).values())

    @invariant()
    def each_call_of_a_conversation_has_one_result(self):
        for talk in self.talks:
            made = [call.tool_call_id for one in talk.messages for call in one.calls]
            told = [i for one in talk.messages if one.role == "tool" for i in one.call_ids]
            waiting = []
            if talk.pending is not None:
                waiting = [*talk.pending.call_ids]
                waiting += [call.tool_call_id for call in talk.open_calls(talk.pending)]
            assert Counter(made) == Counter([*told, *waiting])

    @invariant()
    def a_stream_and_the_history_agree(self):
        for run_id, text in self.ends.items():
            run = self.service.runs[run_id]
            frames = frames_in(text)
            data = [one for _, one in frames if one != "[DONE]"]
            messages = [one for one in data if "otid" in one]
            assert data[len(messages)]["message_type"] == "stop_reason"
            numbers = [one["seq_id"] for one in messages]
            expected = list(range(1, len(numbers) + 1)) if run.background else [None] * len(numbers)
            assert numbers == expected
            if run.trouble is not None or run.stop_reason == "cancelled":
                continue
            assert frames[-1][1] == "[DONE]"
            kept = self.ask("GET", f"/v1/runs/{run_id}/messages").value
            shown = {}
            for one in messages:
                shown[one["otid"]] = shown.get(one["otid"], "") + words_of(one)
            mine = {
                one["otid"]: words_of(one)
                for one in kept
                if one["message_type"] not in ("user_message", "approval_response_message")
            }
            silent = [
                one["otid"] for one in kept
                if one["message_type"] == "tool_return_message" and one["name"] is None
            ]  # fmt: skip
            if run.sent.tokens:
                mine = {otid: text for otid, text in mine.items() if otid not in silent}
            assert shown == mine
            assert all(relation(one) != "the client's" for one in messages)

    @invariant()
    def a_run_ends_as_its_stop_reason_says(self):
        fine = {"end_turn", "max_steps", "requires_approval"}
        for run in self.service.runs.values():
            assert (run.stop_reason is None) is (run.completed is None)
            if run.stop_reason is not None:
                wanted = "completed" if run.stop_reason in fine else "failed"
                assert run.status == ("cancelled" if run.stop_reason == "cancelled" else wanted)
            listed = self.ask("GET", f"/v1/runs/{run.id}")
            assert isinstance(listed, Answer)
            assert listed.value["stop_reason"] == run.stop_reason


def answer(tool_call_id, choice):
    if choice == "r":
        return {
            "type": "tool",
            "tool_call_id": tool_call_id,
            "tool_return": "done",
            "status": "success",
        }
    return {"type": "approval", "tool_call_id": tool_call_id, "approve": choice == "a"}


def words_of(message):
    """What a message says, so that pieces add up: its text, or its calls."""
    calls = message.get("tool_calls")
    if calls is not None:
        calls = calls if isinstance(calls, list) else [calls]
        return "".join((one.get("name") or "") + (one.get("arguments") or "") for one in calls)
    if message["message_type"] == "tool_return_message":
        return json.dumps(message["tool_returns"])
    return str(message.get("content", message.get("reasoning")))


TestLetta = Letta.TestCase
TestLetta.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
