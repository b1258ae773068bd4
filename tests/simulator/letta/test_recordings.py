"""Each recorded exchange with a real Letta server, asked of the simulator again: the same answer.

Ids, times and the machine's own words aside: the frames in their order, the fields in theirs, the
nulls, the texts; ids are equal where they were, and follow from each other as they did. What was
sent without being recorded stands in `BEFORE`. No exchange is left out. What is not held against
the recording: pings but a stream's first, which depend on how long a model took; the settings of
models and providers, of which types are compared; whose message came first where two runs raced.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time

import httpx
import pytest

from steer_nb.simulator import letta
from tests.simulator.letta.model import recorded
from tests.simulator.letta.recordings import (
    FOLDER,
    UUID,
    Likeness,
    distances,
    frames_in,
    is_ping,
    load,
    without_late_pings,
)

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings are not beside the checkout"),
]

EXCHANGES = load() if FOLDER.is_dir() else []
SDK = {"X-Stainless-Package-Version": "1.12.1"}
NOBODY = "run-00000000-0000-4000-8000-000000000000"

# Recordings of one run whose path names no agent: whose they are.
OWNERS = {
    "02d": "02c", "02e": "02c", "02f": "02c", "62": "60", "61": "60", "63b": "60", "67b": "67",
    "6b": "6a", "6c": "6a", "68": "68", "69": "69", "70": "70", "71": "70", "9d": "9d", "a3": "a1",
    "75": "73", "a2": "a0",
}  # fmt: skip


def say(script, **more):
    return {"messages": [{"role": "user", "content": f"SCRIPT:{script}"}], **more}


def decide(approve, *calls, **more):
    given = [{"type": "approval", "tool_call_id": one, "approve": approve} for one in calls]
    return {"messages": [{"type": "approval", "approvals": given}], **more}


# What was done before an exchange and not recorded: a script's name to send, or a function.
BEFORE = {
    "29": ["approve1"], "35": ["approve1"], "4a": ["client1"], "4c": ["approve1"],
    "4d": ["client1"], "50": ["approve1"], "5c": [False], "5d": ["approve1"],
    "5e": ["approve1_notext"], "5f": ["parallel2"], "67_": ["approve1_notext"], "68": ["plain"],
    "70_resume_after_10": ["background"], "86": ["mixed"], "93": ["apboom", True],
    "9d": ["async"], "a0": ["approve1_notext", True, "approve1_notext"],
    "a1": ["talk", "approve1_notext"], "a4": ["approve1"], "c0": ["approve1_notext"],
    "c2": ["approve1_notext"], "c4": ["approve1_notext"], "c6": ["approve1_notext"],
    "c8": ["approve1"], "cc": ["approve1"],
}  # fmt: skip
RACES = ("c0", "c2", "c4", "c6")
"""Two requests at once."""


class Stage:
    """A simulator, and recorded requests in its own ids."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.http = httpx.Client(base_url=simulator.base_url, timeout=20)
        self.like = Likeness()
        self.tools = {one["name"]: one["id"] for one in self.http.get("/v1/tools/").json()}
        self.run_id = None
        self.call_ids = []
        self.place = None

    # Ids

    def prepare(self, exchange):
        """Make what an exchange is about: its agent, its conversation."""
        for kind, found in re.findall(rf"\b(agent|conv|tool)-({UUID.pattern})", whole(exchange)):
            if found not in self.like.ours:
                self.like.pair(found, self._made(kind, exchange), exchange.name)

    def _made(self, kind, exchange):
        if kind == "tool":
            return self._tool(exchange.answer)
        if kind == "agent":
            made = {"name": agent_name(exchange), "tool_ids": list(self.tools.values())}
            answer = exchange.answer
            if isinstance(answer, dict) and answer.get("tools"):
                made["tool_ids"] = [f"tool-{self._tool(one)}" for one in answer["tools"]]
                made["memory_blocks"] = answer["blocks"]
            return bare(self.http.post("/v1/agents/", json=made).json()["id"])
        agent = self._made("agent", exchange)
        made = self.http.post("/v1/conversations/", params={"agent_id": f"agent-{agent}"}, json={})
        return bare(made.json()["id"])

    def _tool(self, theirs):
        body = {"source_code": theirs["source_code"], "json_schema": theirs["json_schema"]}
        return bare(self.http.put("/v1/tools/", json=body).json()["id"])

    def ours(self, value):
        """Put our ids into a request; those never seen are those of what goes on now."""
        text = self.like.translate(json.dumps(value))
        text = re.sub(r"call_fake\d+_(\d+)", lambda found: self.call_ids[int(found[1])], text)
        text = re.sub(rf"message-{UUID.pattern}", self._message, text)
        return json.loads(text)

    def _message(self, found):
        if bare(found.group()) in self.like.theirs:
            return found.group()
        newest = self.http.get(f"{self.place}/messages", params={"order": "desc", "limit": 1})
        return newest.json()[0]["id"]

    # Sending

    def before(self, exchange):
        for prefix, given in BEFORE.items():
            if exchange.name.startswith(prefix):
                for what in given:
                    self._do(what, exchange)
        self._note()

    def _do(self, what, exchange):
        if what == "talk":
            agent = {"agent_id": self.place.rpartition("/")[2]}
            made = self.http.post("/v1/conversations/", params=agent, json={}).json()
            self.place = f"/v1/conversations/{made['id']}"
            return
        if isinstance(what, bool):
            self._note()
            body = decide(what, *self.call_ids)
        elif what in ("async", "background"):
            body = say("approve1" if what == "async" else "plain")
        else:
            body = say(what, client_tools=[{"name": "read_cell"}])
        path = f"{self.place}/messages"
        if what == "async":
            path += "/async"
        elif what == "background":
            body |= {"streaming": True, "background": True, "stream_tokens": True}
            body["include_pings"] = False
        elif "/conversations/" in path:
            body["streaming"] = False
        if exchange.name.startswith("cc"):
            off = self.place + "/tools/approval/delete_file"
        answer = self.http.post(path, json=body, headers=SDK)
        assert answer.status_code in (200, 500), answer.text
        if exchange.name.startswith("cc"):
            assert self.http.patch(off, json={"requires_approval": False}).json() is None
        if what == "async":
            run = answer.json()["id"]
            until(lambda: self.http.get(f"/v1/runs/{run}").json()["completed_at"])

    def _note(self):
        """Note which calls and which run are the newest."""
        if self.place is None:
            return
        found = self.http.get(f"{self.place}/messages", params={"order": "desc"}).json()
        called = [one for one in found if one.get("tool_calls")]
        if called:
            step = called[0]["step_id"]
            own = [one for one in reversed(called) if one["step_id"] == step]
            self.call_ids = [c["tool_call_id"] for one in own for c in one["tool_calls"]]
        runs = [one["run_id"] for one in found if one["run_id"]]
        self.run_id = runs[0] if runs else self.run_id

    def ask(self, exchange):
        """Send a recorded request; gives status, frames and body."""
        path = self.like.translate(exchange.path)
        unknown = re.search(rf"run-({UUID.pattern})", path)
        if unknown and unknown.group() != NOBODY and unknown[1] not in self.like.theirs:
            self.like.pair(unknown[1], bare(self.run_id), exchange.name)
            path = self.like.translate(exchange.path)
        path = re.sub(rf"message-{UUID.pattern}", self._message, path)
        body = None if exchange.body is None else self.ours(exchange.body)
        if isinstance(body, dict):
            for at, run in enumerate(body.get("run_ids") or ()):
                if bare(run) not in self.like.theirs:
                    self.like.pair(bare(run), bare(self.run_id), exchange.name)
                    body["run_ids"][at] = self.run_id
        headers = {} if exchange.name.startswith("9e") else SDK
        return self.send(exchange.method, path, body, headers)

    def send(self, method, path, body, headers=SDK, *, stop_after=None):
        frames = None
        with self.http.stream(method, path, json=body, headers=headers) as answer:
            if answer.headers["content-type"].startswith("text/event-stream"):
                text = ""
                for piece in answer.iter_text():
                    text += piece
                    if stop_after is not None and text.count("\n\n") >= stop_after:
                        break
                frames = frames_in(text)
            else:
                answer.read()
        return answer.status_code, frames, None if frames is not None else answer.json()

    # Comparing

    def compare(self, exchange):
        status, frames, body = self.ask(exchange)
        self.hold(exchange, status, frames, body)

    def hold(self, exchange, status, frames, body):
        assert status == exchange.status
        if exchange.frames is None:
            assert frames is None
            self.like.check(exchange.answer, body)
            return
        theirs, ours = without_late_pings(exchange.frames), without_late_pings(frames)
        assert [kind(one) for one in ours] == [kind(one) for one in theirs]
        for at, ((event, data), (other_event, other)) in enumerate(zip(theirs, ours, strict=True)):
            assert event == other_event
            self.like.check(data, other, f"[{at}]")
        assert distances(ours) == distances(theirs)


def until(condition):
    """Wait for what happens on the server's thread."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def kind(frame):
    event, data = frame
    return event, data if isinstance(data, str) else data["message_type"]


def whole(exchange):
    return f"{exchange.path} {json.dumps(exchange.body)}"


def bare(given):
    return UUID.search(given).group()


def agent_name(exchange):
    """Call an agent as it was called, where an answer of its group says how."""
    members = next(group for group in GROUPS.values() if exchange in group)
    answers = [one.answer for one in members if isinstance(one.answer, dict)]
    named = [one["name"] for one in answers if "agent_type" in one]
    return named[0] if named else f"for {exchange.name}"


def group_of(exchange):
    for prefix, other in OWNERS.items():
        if exchange.name.startswith(prefix):
            return next(one.owner or one.name for one in EXCHANGES if one.name.startswith(other))
    return exchange.owner or exchange.name


def groups():
    found = {}
    for one in EXCHANGES:
        found.setdefault(group_of(one), []).append(one)
    return {members[0].name: members for members in found.values()}


GROUPS = groups()


@contextlib.contextmanager
def about(exchange):
    try:
        yield
    except Exception as error:
        error.add_note(f"in {exchange.name}: {exchange.method} {exchange.path}")
        raise


@pytest.fixture
def stage_for(request):
    """Start a simulator as fast as it goes, for one group of exchanges."""
    with contextlib.ExitStack() as stack:

        def start(members, **options):
            options = {"speed": 0, "keepalive_s": 5.0, **options}
            simulator = stack.enter_context(letta.LettaSimulator(recorded, **options))
            stage = Stage(simulator)
            stack.callback(stage.http.close)
            stage.prepare(members[0])
            path = stage.like.translate(members[0].path)
            found = re.match(r"/v1/(agents|conversations)/(agent|conv)-[^/?]+", path)
            if found is None:  # conversations/default, or a run
                agent = f"agent-{stage.like.ours.get(bare_agent(members[0]), '')}"
                if agent == "agent-":
                    agent = f"agent-{stage._made('agent', members[0])}"
                stage.place = f"/v1/agents/{agent}"
            else:
                stage.place = found.group()
            return stage

        yield start


def bare_agent(exchange):
    found = re.search(rf"agent-({UUID.pattern})", whole(exchange))
    return found[1] if found else None


SPECIAL = ("73", "88", "89", "b0", "b2", "c0", "c2", "c4", "c6")


@pytest.mark.parametrize("first", [name for name in GROUPS if not name.startswith(SPECIAL)])
def test_a_recorded_exchange_is_answered_alike(first, stage_for):
    stage = stage_for(GROUPS[first])
    for exchange in GROUPS[first]:
        with about(exchange):
            stage.prepare(exchange)
            stage.before(exchange)
            if exchange.name.startswith("6a"):  # its client left after eight frames
                path = stage.like.translate(exchange.path)
                answer = stage.send("POST", path, stage.ours(exchange.body), stop_after=8)
                stage.hold(exchange, answer[0], answer[1][:8], None)
            elif exchange.status == "ReadTimeout" or exchange.name.startswith("71"):
                hangs(stage, exchange)
            else:
                stage.compare(exchange)


def hangs(stage, exchange):
    """A resume behind the end gives nothing, or pings only."""
    path = stage.like.translate(exchange.path)
    pings = exchange.body["include_pings"]
    found = []
    stage.simulator.service.options.__dict__["keepalive_s"] = 0.02
    with (
        contextlib.suppress(httpx.ReadTimeout),
        stage.http.stream("POST", path, json=exchange.body, timeout=0.3) as answer,
    ):
        for line in answer.iter_lines():
            found += [json.loads(line.removeprefix("data: "))] if line else []
            if len(found) == 3:
                break
    assert len(found) == (3 if pings else 0)
    for (_, theirs), ours in zip(exchange.frames, found, strict=True):
        assert is_ping(ours)
        stage.like.check(theirs, ours)


@pytest.mark.parametrize("name", ["88", "89"])
def test_a_run_is_cancelled_within_its_stream(name, stage_for):
    exchange = next(one for one in EXCHANGES if one.name.startswith(name))
    stage = stage_for([exchange], speed=1, token_s=0.0, first_token_s=0.0, flush_s=0.0)
    body = stage.ours(exchange.body)
    body["messages"][0]["content"] = "SCRIPT:stopped"
    text, run_id = "", None
    path = stage.like.translate(exchange.path)
    with stage.http.stream("POST", path, json=body, headers=SDK) as answer:
        for line in answer.iter_lines():
            text += line + "\n"
            if '"word14 "' in line:
                run_id = json.loads(line.removeprefix("data: "))["run_id"]
                place = f"{stage.place}/messages/cancel"
                done = httpx.post(stage.simulator.base_url + place, json={"run_ids": [run_id]})
                assert done.json() == {run_id: "cancelled"}
    stage.hold(exchange, answer.status_code, frames_in(text), None)
    kept = stage.http.get(f"{stage.place}/messages").json()
    assert [one["message_type"] for one in kept] == ["system_message"]
    assert stage.http.get(f"/v1/runs/{run_id}").json()["status"] == "cancelled"


def test_a_busy_conversation_and_the_same_otid(stage_for):
    members = GROUPS["73_conv_bg_first"]
    stage = stage_for(members)
    by_name = {one.name.split("_")[0]: one for one in members}
    stage.simulator.faults.add("hold_model")
    waiting, answers = {}, {}

    def send(name):
        one = by_name[name]
        path = stage.like.translate(one.path)
        answers[name] = stage.send("POST", path, stage.ours(one.body))

    for name in ("73", "75"):
        waiting[name] = threading.Thread(target=send, args=(name,))
        waiting[name].start()
        until(lambda: stage.http.get("/v1/runs/active").json())
        if name == "73":
            (run,) = stage.http.get("/v1/runs/active").json()
            for busy in ("74", "74b"):
                with about(by_name[busy]):
                    stage.compare(by_name[busy])
    until(lambda: any(one["kind"] == "replay" for one in stage.simulator.account))
    stage.simulator.faults.clear()
    for thread in waiting.values():
        thread.join(timeout=20)
    for name in ("73", "75"):
        with about(by_name[name]):
            stage.hold(by_name[name], *answers[name])
    assert answers["73"] == answers["75"]
    assert stage.http.get(f"/v1/runs/{run['id']}").json()["status"] == "completed"
    for exchange in members[4:]:
        with about(exchange):
            stage._note()
            stage.compare(exchange)


@pytest.mark.parametrize("first", ["b0", "b2"])
def test_without_redis(first, stage_for):
    members = next(group for name, group in GROUPS.items() if name.startswith(first))
    stage = stage_for(members, faults=["no_redis"])
    for exchange in members:
        with about(exchange):
            stage.prepare(exchange)
            stage.compare(exchange)


@pytest.mark.parametrize("first", RACES)
def test_one_approval_twice_at_once(first, stage_for):
    twice, history = next(group for name, group in GROUPS.items() if name.startswith(first))
    stage = stage_for([twice, history])
    stage.before(twice)
    stage.simulator.faults.add("hold_tool times=none")
    body, path = stage.ours(twice.body), stage.like.translate(twice.path)
    answers, before = [], n_asked(stage)

    def send():
        answers.append(stage.send("POST", path, body))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: n_asked(stage) == before + 2)  # the tool that both are about has not begun
    stage.simulator.faults.clear()
    for thread in threads:
        thread.join(timeout=20)
    ran = [one for one in stage.simulator.account if one["kind"] == "tool"]
    assert len(ran) == (2 if first in ("c0", "c4") else 1)
    theirs = sorted(twice.answer, key=lambda one: one["status"])
    ours = sorted(answers, key=lambda one: one[0])
    for one, (status, frames, found) in zip(theirs, ours, strict=True):
        assert status == one["status"]
        if frames is None:
            stage.like.check(one["body"], found)
        else:
            stage.like.check([d for _, d in frames_in(one["body"])], [d for _, d in frames])
    kept = stage.http.get(stage.like.translate(history.path)).json()
    found = history.answer
    if first in ("c0", "c4"):  # whose message is stored first is chance
        racing = [one["messages"][0]["run_id"] for _, _, one in answers]
        found, kept = by_run(found, racing, stage.like.ours), by_run(kept, racing)
    stage.like.check(found, kept)


def n_asked(stage):
    return sum(1 for one in stage.simulator.account if one["kind"] == "request")


def by_run(messages, racing, ours=None):
    """Sort what two racing runs left by the run, behind what was there before."""

    def key(one):
        run = one["run_id"] and bare(one["run_id"])
        run = f"run-{(ours or {}).get(run, run)}"
        return racing.index(run) + 1 if run in racing else 0

    return sorted(messages, key=key)


def test_every_recorded_exchange_is_compared():
    compared = {one.name for group in GROUPS.values() for one in group}
    assert compared == {one.name for one in EXCHANGES}
    assert len(compared) > 150
