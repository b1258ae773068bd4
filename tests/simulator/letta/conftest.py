from __future__ import annotations

import contextlib
import json

import httpx
import pytest

from steer_nb.simulator import letta
from tests.simulator.letta.recordings import frames_in

SDK = {"X-Stainless-Package-Version": "1.12.1"}


class Client:
    """A plain HTTP client of one simulator, and its agent."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.agent_id = simulator.agent_id
        self.place = f"/v1/agents/{self.agent_id}"
        self.http = httpx.Client(base_url=simulator.base_url, headers=SDK, timeout=20)

    def talk(self):
        made = self.http.post("/v1/conversations/", params={"agent_id": self.agent_id}, json={})
        return f"/v1/conversations/{made.json()['id']}"

    def body(self, text="Hello.", **more):
        messages = [{"role": "user", "content": text}]
        return {"messages": messages, "streaming": True, "include_pings": False, **more}

    def send(self, text="Hello.", place=None, **more):
        """Send; gives the data of the frames, or the answer where it is no stream."""
        answer = self.http.post(f"{place or self.place}/messages", json=self.body(text, **more))
        return self.read(answer)

    def answer(self, given, place=None, **more):
        body = {**self.body(), "messages": [{"type": "approval", "approvals": given}], **more}
        return self.read(self.http.post(f"{place or self.place}/messages", json=body))

    def approve(self, place=None, **more):
        """Approve all that waits."""
        found = self.history(place, limit=1, order="desc")
        calls = found[0]["tool_calls"]
        given = [
            {"type": "approval", "tool_call_id": one["tool_call_id"], "approve": True}
            for one in calls
        ]
        return self.answer(given, place, **more)

    def read(self, answer):
        if answer.status_code != 200:
            return answer
        if not answer.headers["content-type"].startswith("text/event-stream"):
            return answer.json()
        return [data for _, data in frames_in(answer.text)]

    def history(self, place=None, **params):
        params = {"order": "asc", **params}
        return self.http.get(f"{place or self.place}/messages", params=params).json()

    def pending(self):
        include = {"include": "agent.pending_approval"}
        return self.http.get(self.place, params=include).json()["pending_approval"]

    @contextlib.contextmanager
    def stream(self, place=None, text="Hello.", **more):
        """Open a stream; gives an iterator of its frames' data."""
        place = f"{place or self.place}/messages"
        with self.http.stream("POST", place, json=self.body(text, **more)) as answer:
            yield frames(answer)

    def account(self, kind):
        return [one for one in self.simulator.account if one["kind"] == kind]


def frames(answer):
    for line in answer.iter_lines():
        data = line.removeprefix("data: ")
        if data != line:
            yield data if data == "[DONE]" else json.loads(data)


def kinds(found):
    return [one if isinstance(one, str) else one["message_type"] for one in found]


@pytest.fixture
def simulate():
    """Start simulators; as fast as they go unless told."""
    with contextlib.ExitStack() as stack:

        def start(scenario="files", **options):
            simulator = letta.LettaSimulator(scenario, **{"speed": 0, **options})
            client = Client(stack.enter_context(simulator))
            stack.callback(client.http.close)
            return client

        yield start
