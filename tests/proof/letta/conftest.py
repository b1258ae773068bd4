from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys

import httpx
import pytest

from tests.proof.letta.sdk import FORMS, Sdk


@pytest.fixture(scope="session")
def served():
    """Start the command for a scenario, once; gives its URL."""
    urls = {}
    with contextlib.ExitStack() as stack:

        def start(scenario):
            if scenario not in urls:
                command = [sys.executable, "-m", "steer_nb", "simulate", "--dialect", "letta"]
                command += ["--scenario", scenario, "--speed", "0"]
                process = subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                )
                stack.callback(ended, process)
                assert process.stdout is not None
                urls[scenario] = process.stdout.readline().strip()
            return urls[scenario]

        yield start


def ended(process):
    """End it as Ctrl-C does: without a word about errors."""
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, ""), out + err


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


class Scene:
    """A client, and an agent of its own."""

    def __init__(self, sdk, url, agent_id):
        self.sdk, self.url, self.agent_id = sdk, url, agent_id

    def arm(self, *faults):
        for fault in faults:
            answer = httpx.post(f"{self.url}/simulator/faults", json=fault)
            assert answer.status_code == 201, answer.text

    def disarm(self):
        httpx.delete(f"{self.url}/simulator/faults")

    def account(self, kind):
        found = httpx.get(f"{self.url}/simulator/account", params={"kind": kind}).json()
        return [one for one in found["entries"] if one.get("agent") in (None, self.agent_id)]

    async def send(self, text="Go on.", **more):
        """Send by way of the agent; a stream."""
        messages = [{"role": "user", "content": text}]
        return await self.stream(messages, **more)

    async def stream(self, messages, **more):
        fields = {"messages": messages, "streaming": True, "include_pings": False, **more}
        return await self.sdk.stream("agents.messages.create", self.agent_id, **fields)

    async def pending(self):
        """The request that waits, as Letta's documents say one finds it."""
        agent = await self.sdk("agents.retrieve", self.agent_id, include=["agent.pending_approval"])
        return agent.pending_approval

    async def history(self):
        return await self.sdk("agents.messages.list", self.agent_id, order="asc", limit=200)


@pytest.fixture
async def scene(form, served):
    """Set up a scene with a scenario: an agent with all its tools."""
    made = []

    async def make(scenario="parallel"):
        url = served(scenario)
        sdk = Sdk(form, url)
        tools = await sdk("tools.list")
        ids = [tool.id for tool in tools]
        agent = await sdk("agents.create", name=f"of {form}", tool_ids=ids, model="any/model")
        made.append(Scene(sdk, url, agent.id))
        return made[-1]

    yield make
    for one in made:
        one.disarm()
        await one.sdk.close()


async def until(condition):
    """Wait for what happens in the other process."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


def kinds(messages):
    """The types of messages, each run of one type once."""
    found = []
    for one in messages:
        if not found or found[-1] != one.message_type:
            found.append(one.message_type)
    return found
