"""The events of a response, kind by kind, and steers between them: chapters 4 to 6."""

from __future__ import annotations

import re

import pytest

from steer_nb.simulator import (
    AskApproval,
    AwaitSteer,
    CallApplyPatch,
    CallComputer,
    CallCustom,
    CallFunction,
    CallMcp,
    CallShell,
    Refuse,
    RunCode,
    Say,
    SearchFiles,
    SearchTools,
    SearchWeb,
    Think,
    scenario,
)
from tests.simulator.scripts import started, waits
from tests.support.simulated import ENDS, answer, calls_of, text_of, wire

EVERYTHING = (
    Think("Some thought.", "Another thought."),
    Say("Some words.", "A second part."),
    Refuse("Not that."),
    SearchWeb("trams", seconds=0),
    SearchFiles(("fares",), seconds=0),
    RunCode("print(1)", "1", seconds=0),
    CallMcp("calendar", "list_events", {"day": 1}, "none", seconds=0),
    CallFunction("look", {"city": "Lisbon"}),
    CallCustom("note", "Some words."),
    CallComputer(),
    CallShell("ls trips", "pwd"),
    CallApplyPatch("a.txt", "@@"),
    SearchTools({"query": "events"}),
    AskApproval("calendar", "delete_event", {"event": 1}),
)


@scenario("everything", "Makes one item of each kind.")
def everything(turn):
    yield from EVERYTHING


TEXT = (
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
)


async def test_a_text_turn_in_its_order(simulate):
    @scenario("text", "Says one thing.")
    def says(turn):
        yield Say("Some words more.")

    async with wire(simulate(says)) as line:
        await line.ask()
        kinds = [event["type"].removeprefix("response.") for event in line.events]
        assert kinds == [
            "created",
            "in_progress",
            *TEXT[:2],
            *[TEXT[2]] * 3,
            *TEXT[3:],
            "completed",
        ]


PARTS = ["summary_part.added", "summary_text.delta", "summary_text.done", "summary_part.done"]
SEARCH = ["in_progress", "searching", "completed"]
KINDS = {
    "reasoning": [f"reasoning_{word}" for word in PARTS] * 2,
    "message": [*TEXT[1:5], *TEXT[1:5]],
    "web_search_call": [f"web_search_call.{word}" for word in SEARCH],
    "file_search_call": [f"file_search_call.{word}" for word in SEARCH],
    "code_interpreter_call": [
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
    ],
    "mcp_call": [
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
    ],
    "function_call": ["function_call_arguments.delta", "function_call_arguments.done"],
    "custom_tool_call": ["custom_tool_call_input.delta", "custom_tool_call_input.done"],
    "shell_call": [f"shell_call_command.{word}" for word in ("added", "delta", "done")] * 2,
    "computer_call": [],
    "apply_patch_call": [],
    "tool_search_call": [],
    "mcp_approval_request": [],
}
IDS = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "mcp_call": "mcp",
    "mcp_approval_request": "mcpr",
}


async def test_each_kind_of_item_has_its_own_events(simulate):
    async with wire(simulate(everything)) as line:
        response = await line.ask()
        assert response["id"].startswith("resp_")
        told = []
        for index, item in enumerate(response["output"]):
            mine = [e for e in line.events if e.get("output_index") == index]
            kinds = [event["type"].removeprefix("response.") for event in mine]
            assert kinds[0] == "output_item.added"
            assert kinds[-1] == "output_item.done"
            between = [k for at, k in enumerate(kinds) if k != kinds[at - 1]][1:-1]
            if item["type"] == "message" and item["content"][0]["type"] == "refusal":
                assert between == [TEXT[1], "refusal.delta", "refusal.done", TEXT[4]]
            else:
                assert between == KINDS[item["type"]], item["type"]
            for event in mine[1:-1]:
                named = not event["type"].startswith("response.shell_call_command.")
                assert event.get("item_id") == (item["id"] if named else None)
            assert re.match(rf"{IDS.get(item['type'], '[a-z]+')}_[0-9a-f]+$", item["id"])
            assert item.get("call_id") is None or item["call_id"].startswith("call_")
            told.append(item["type"])
        assert set(told) == set(KINDS)


async def test_deltas_join_to_what_their_end_says(simulate):
    async with wire(simulate(everything)) as line:
        await line.ask()
        parts = {}
        names = ("output_index", "content_index", "summary_index", "command_index")
        for event in line.events:
            place = (event["type"].rpartition(".")[0], *(event.get(name) for name in names))
            if event["type"].endswith(".delta"):
                parts[place] = parts.get(place, "") + event["delta"]
            elif place in parts:
                told = ("text", "refusal", "arguments", "input", "command", "code")
                assert parts.pop(place) == next(event[name] for name in told if name in event)
        assert parts == {}


@pytest.mark.parametrize("wanted", [True, False])
async def test_obfuscation_is_on_every_delta_or_on_none_and_is_inherited(simulate, wanted):
    @scenario("twice", "Makes one item of each kind, once it was steered.")
    def twice(turn):
        yield from EVERYTHING[:7]
        if turn.number == 1 and not turn.steers:
            yield AwaitSteer(10)
        yield from EVERYTHING

    async with wire(simulate(twice)) as line:
        options = {} if wanted else {"stream_options": {"include_obfuscation": False}}
        parent = await started(line, **options)
        await line.until("response.output_item.done")
        await line.steer(parent)
        await line.end()
        n_before = len(line.events)
        successor = await line.end()
        for events, n_kinds in ((line.events[:n_before], 1), (line.events[n_before:], 8)):
            deltas = [e for e in events if e["type"].endswith(".delta")]
            assert len({e["type"] for e in deltas}) >= n_kinds
            assert all(("obfuscation" in event) is wanted for event in deltas)
            assert all(event["obfuscation"] for event in deltas if wanted)
            assert not any("obfuscation" in e for e in events if e not in deltas)
        line.events.clear()  # an explicit create does not inherit that it was off
        results = [answer(call) for call in calls_of(successor)[-7:]]
        await line.ask(results, previous_response_id=successor["id"])
        deltas = [e for e in line.events if e["type"].endswith(".delta")]
        assert all("obfuscation" in event for event in deltas)


async def test_encrypted_reasoning_only_where_it_is_asked_for(simulate):
    async with wire(simulate(everything)) as line:
        for include in ([], ["reasoning.encrypted_content"]):
            thought = (await line.ask(include=include))["output"][0]
            assert ("encrypted_content" in thought) is bool(include)


# Steers and hosted tools (5.4, rule 3)


@pytest.mark.parametrize("index", [3, 4, 5, 6])
async def test_hosted_work_ends_before_a_steer_takes_effect(simulate, index):
    @scenario("work", "Works for a moment, and says what it found.")
    def work(turn):
        if turn.steers:
            yield Say("Heard.")
            return
        step = EVERYTHING[index]
        yield type(step)(**{**vars(step), "seconds": 0.6})
        yield Say("never said")

    async with wire(simulate(work, speed=1)) as line:
        parent = await started(line)
        begun = (await line.until("response.output_item.added"))["item"]
        await line.steer(parent, "Stop that.")
        await line.until("response.steer.accepted")
        # accepted in the midst of the work, which goes on to its end
        assert line.of("response.output_item.done") == []
        ended = await line.end()
        (item,) = ended["output"]
        assert (item["id"], item["status"]) == (begun["id"], "completed")
        assert line.of(f"response.{item['type']}.completed")
        assert ended["incomplete_details"] == {"reason": "steered"}
        assert text_of(await line.end()) == "Heard."


@pytest.mark.parametrize("number", range(4))
async def test_no_item_is_cut_in_the_middle(simulate, number):
    """A steer in the midst of any item of the model waits for its end, too."""
    words = "some words " * 12
    step = (Think(words), Say(words), Refuse(words), RunCode(words))[number]

    @scenario("slow", "Makes one item after another.")
    def slow(turn):
        if turn.steers:
            yield Say("Heard.")
            return
        yield step
        yield Say("never said")

    async with wire(simulate(slow, speed=1)) as line:
        parent = await started(line)
        while not line.events[-1]["type"].endswith(".delta"):
            await line.recv()
        await line.steer(parent)
        (item,) = (await line.end())["output"]
        assert line.of("response.output_item.done")[0]["item"] == item
        await line.end()


# What is late (5.5)


async def test_who_can_still_be_steered(simulate):
    async with wire(simulate(waits)) as line:
        parent = await started(line, stream_id="a")
        await line.create(stream_id="a", generate=False)  # queued: it has no id to steer yet
        await line.steer(parent, "One.")
        await line.end()
        successor = (await line.until("response.created"))["response"]["id"]
        await line.until("response.completed")
        for target, code in (
            (parent, "response_not_active"),  # incomplete, and succeeded
            (successor, "response_already_completed"),
        ):
            await line.steer(target, "Late.")
            failed = await line.until("response.steer.failed")
            assert failed["error"]["code"] == code
            assert failed["stream_id"] == "a"
            assert failed["steer"] == {"previous_response_id": target, "input": "Late."}


async def test_each_further_steer_names_the_continuation(simulate):
    """5.2: what is steered next is the successor, which can be steered as its parent was."""

    @scenario("chain", "Can be steered twice.")
    def chain(turn):
        yield Say(f"{turn.number}: {' '.join(turn.steers)}.")
        if turn.number < 3:
            yield AwaitSteer(10)
            yield Say("never said")

    async with wire(simulate(chain)) as line:
        target = await started(line)
        for word in ("one", "two"):
            await line.steer(target, word)
            assert (await line.end())["incomplete_details"] == {"reason": "steered"}
            created = (await line.until("response.created"))["response"]
            assert created["previous_response_id"] == target
            target = created["id"]
        assert text_of(await line.end()) == "3: two."


@pytest.mark.parametrize("empty", ["", " ", [{"type": "message", "role": "user", "content": []}]])
@pytest.mark.parametrize("wanted", ["refuse", "accept"])
async def test_an_empty_steer_is_an_option(simulate, empty, wanted):
    @scenario("any", "Waits for a steer, whatever it says.")
    def any_steer(turn):
        yield Say("First.")
        if turn.origin == "create":
            yield AwaitSteer(10)
        yield Say("Second.")

    async with wire(simulate(any_steer, empty_steer=wanted)) as line:
        await line.steer(await started(line), empty)
        if wanted == "accept":
            assert (await line.end())["incomplete_details"] == {"reason": "steered"}
            assert (await line.end())["status"] == "completed"
        else:
            failed = await line.until("response.steer.failed")
            assert failed["error"]["code"] == "invalid_input"


# The seven stubs (6)


async def test_the_stubs_hold_what_identifies_them_and_nothing_else(simulate):
    @scenario("asks", "Asks for everything.")
    def asks(turn):
        if turn.results:
            yield Say(" ".join(turn.results))
        else:
            yield from EVERYTHING

    async with wire(simulate(asks)) as line:
        ended = await line.ask()
        await line.steer(ended["id"])
        pending = await line.until("response.steer.pending")
        calls = calls_of(ended)[-7:]
        ids = [call.get("call_id") or call["id"] for call in calls]
        assert pending["required_input"] == [
            {"type": "function_call_output", "call_id": ids[0], "name": "look"},
            {"type": "custom_tool_call_output", "call_id": ids[1]},
            {"type": "computer_call_output", "call_id": ids[2]},
            {"type": "shell_call_output", "call_id": ids[3]},
            {"type": "apply_patch_call_output", "call_id": ids[4]},
            {"type": "tool_search_output", "call_id": ids[5], "execution": "client"},
            {"type": "mcp_approval_response", "approval_request_id": ids[6]},
        ]
        # a result may repeat the stub, its name too, in any order among the others
        results = [
            {**stub, **answer(call)}
            for stub, call in zip(pending["required_input"], calls, strict=True)
        ]
        told = await line.ask(results[::-1], previous_response_id=ended["id"])
        assert sorted(text_of(told).split()) == sorted(ids)
        assert [e["response"]["status"] for e in line.of(*ENDS)] == ["completed"] * 2


async def test_local_shell_is_no_stub_and_hosted_tools_ask_for_nothing(simulate):
    @scenario("hosted", "Uses hosted tools only.")
    def hosted(turn):
        yield from EVERYTHING[3:7]

    async with wire(simulate(hosted)) as line:
        ended = await line.ask()
        await line.steer(ended["id"])
        assert (await line.recv())["error"]["code"] == "response_already_completed"
        on = await line.ask("On.", previous_response_id=ended["id"])
        assert on["status"] == "completed"


# Asynchronous calls (5.7)


@pytest.mark.parametrize("kind", [CallFunction, CallCustom])
async def test_the_result_of_an_asynchronous_call_may_come_turns_later(simulate, kind):
    @scenario("later", "Calls without waiting.")
    def later(turn):
        if not turn.called():
            yield kind("report", "{}", asynchronous=True)
        yield Say(" ".join(r.text for r in turn.results.values()) or "Meanwhile.")

    async with wire(simulate(later)) as line:
        ended = await line.ask()
        (call,) = calls_of(ended)
        assert call["async"] is True
        second = await line.ask("And?", previous_response_id=ended["id"])
        result = answer(call, output="the report")
        third = await line.ask([result], previous_response_id=second["id"])
        assert [text_of(r) for r in (second, third)] == ["Meanwhile.", "the report"]
        await line.create([result], previous_response_id=third["id"])
        assert "No tool call found" in (await line.until("error"))["error"]["message"]


async def test_where_they_block_a_continuation_needs_their_results(simulate):
    @scenario("later", "Calls without waiting.")
    def later(turn):
        if not turn.called():
            yield CallFunction("report", asynchronous=True)
        yield Say("Meanwhile.")

    async with wire(simulate(later, async_calls="block")) as line:
        ended = await line.ask()
        await line.create("And?", previous_response_id=ended["id"])
        assert "No tool output found" in (await line.recv())["error"]["message"]
        results = [answer(call) for call in calls_of(ended)]
        on = await line.ask(results, previous_response_id=ended["id"])
        assert on["status"] == "completed"
