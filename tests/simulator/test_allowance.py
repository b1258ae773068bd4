"""`max_output_tokens` and `max_tool_calls`: what a request allows, for each response anew (5.4)."""

from __future__ import annotations

import pytest

from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    Compact,
    FindTools,
    ListMcpTools,
    RunCode,
    RunShell,
    Say,
    SearchWeb,
    Think,
    scenario,
)
from tests.simulator.scripts import started
from tests.support.simulated import calls_of, text_of, wire

LONG = "word " * 200


@scenario("long", "Writes more than anybody allows, and again for each steer.")
def long(turn):
    yield Say(f"{len(turn.steers)} steers. {LONG}")
    if not turn.steers:
        yield AwaitSteer(10)
        yield Say("never said")


async def test_a_message_is_cut_where_the_tokens_end(simulate):
    async with wire(simulate(long)) as line:
        response = await line.ask(max_output_tokens=80)
        assert response["status"] == "incomplete"
        assert response["incomplete_details"] == {"reason": "max_output_tokens"}
        (message,) = response["output"]
        assert message["status"] == "incomplete"
        assert response["usage"]["output_tokens"] == 80
        text = text_of(response)
        assert f"0 steers. {LONG}".startswith(text)
        assert 0 < len(text) < len(LONG)
        # told like a whole item: its events agree with what remains of it
        assert "".join(e["delta"] for e in line.of("response.output_text.delta")) == text
        assert line.of("response.output_text.done")[0]["text"] == text
        assert line.of("response.output_item.done")[0]["item"] == message
        on = await line.ask(previous_response_id=response["id"], max_output_tokens=80)
        assert on["previous_response_id"] == response["id"]


@pytest.mark.parametrize("room", [0, 1, 20])
async def test_where_not_even_its_beginning_fits_nothing_is_written(simulate, room):
    async with wire(simulate(long)) as line:
        response = await line.ask(max_output_tokens=room)
        assert response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert response["output"] == []
        assert response["usage"]["output_tokens"] == 0


async def test_other_items_come_whole_or_not_at_all(simulate):
    @scenario("call", "Thinks, calls, and says a second part.")
    def calling(turn):
        yield Think("Hm.")
        yield CallFunction("look", {"what": LONG})

    async with wire(simulate(calling)) as line:
        cut = await line.ask(max_output_tokens=100)
        assert [item["type"] for item in cut["output"]] == ["reasoning"]
        assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
        whole = await line.ask(max_output_tokens=1000)
        assert whole["status"] == "completed"
        assert len(calls_of(whole)) == 1


async def test_parts_of_a_message_end_one_after_the_other(simulate):
    @scenario("parts", "Says three parts.")
    def parts(turn):
        yield Say("one " * 20, "two " * 20, "three " * 20)

    async with wire(simulate(parts)) as line:
        whole = await line.ask()
        room = whole["usage"]["output_tokens"] - 40
        (message,) = (await line.ask(max_output_tokens=room))["output"]
        texts = [part["text"] for part in message["content"]]
        assert texts[0] == "one " * 20
        assert ("two " * 20).startswith(texts[1])
        assert len(texts) == 2
        exact = await line.ask(max_output_tokens=whole["usage"]["output_tokens"])
        assert exact["status"] == "completed"


async def test_each_successor_has_the_tokens_anew(simulate):
    async with wire(simulate(long)) as line:
        parent = await started(line, max_output_tokens=400)
        await line.steer(parent, "On.")
        ended = await line.end()
        assert ended["incomplete_details"] == {"reason": "steered"}
        assert ended["usage"]["output_tokens"] > 200
        successor = await line.end()
        assert successor["max_output_tokens"] == 400
        assert successor["status"] == "completed"
        assert successor["usage"]["output_tokens"] > 200


@scenario("tools", "Uses hosted tools, and again for each steer.")
def hosted(turn):
    yield SearchWeb("one", seconds=0)
    yield RunCode("two", seconds=0)
    yield SearchWeb("three", seconds=0)
    yield CallFunction("not_hosted")
    yield Say("Done.")


@pytest.mark.parametrize("most", [0, 1, 2, 3, None])
async def test_calls_of_hosted_tools_beyond_the_limit_are_ignored(simulate, most):
    """SDK: "any further attempts to call a tool by the model will be ignored"."""
    async with wire(simulate(hosted)) as line:
        response = await line.ask(max_tool_calls=most)
        assert response["status"] == "completed"
        assert response["max_tool_calls"] == most
        assert [item["type"] for item in response["output"]] == [
            *["web_search_call", "code_interpreter_call", "web_search_call"][:most],
            "function_call",
            "message",
        ]


async def test_each_successor_has_the_calls_anew(simulate):
    @scenario("again", "Searches twice, and again for each steer.")
    def again(turn):
        yield SearchWeb("one", seconds=0)
        yield SearchWeb("two", seconds=0)
        if not turn.steers:
            yield AwaitSteer(10)
        yield Say("Done.")

    async with wire(simulate(again)) as line:
        parent = await started(line, max_tool_calls=1)
        await line.until("response.output_item.done")
        await line.steer(parent)
        ended, successor = await line.end(), await line.end()
        kinds = [[item["type"] for item in one["output"]] for one in (ended, successor)]
        assert kinds == [["web_search_call"], ["web_search_call", "message"]]


async def test_only_calls_of_tools_count(simulate):
    """What a tool's call makes is one call; listing tools and compacting are none."""

    @scenario("hosted", "Uses what the service runs.")
    def hosted(turn):
        yield ListMcpTools("calendar", [])
        yield Compact()
        yield RunShell("ls", seconds=0)
        yield FindTools("events", ["find_events"])
        yield Say("Done.")

    async with wire(simulate(hosted)) as line:
        response = await line.ask(max_tool_calls=1)
        kinds = [item["type"] for item in response["output"]]
        assert kinds == [
            "mcp_list_tools",
            "compaction",
            "shell_call",
            "shell_call_output",
            "message",
        ]


async def test_what_belongs_together_ends_where_the_tokens_do(simulate):
    @scenario("shell", "Runs a shell with much output.")
    def shell(turn):
        yield RunShell("ls", stdout="x" * 4000, seconds=0)
        yield Say("never said")

    async with wire(simulate(shell)) as line:
        response = await line.ask(max_output_tokens=200)
        assert response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert [item["type"] for item in response["output"]] == ["shell_call"]
