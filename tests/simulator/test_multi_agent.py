"""Several agents write one response, and injects resume those that wait (chapter 7)."""

from __future__ import annotations

import asyncio

import pytest
from websockets.exceptions import ConnectionClosed

from steer_nb.simulator import (
    CallFunction,
    ErrorEvent,
    Say,
    SendMessage,
    Spawn,
    WaitAgents,
    scenario,
)
from tests.support.simulated import answer, calls_of, text_of, wire

TEAM = {"multi_agent": {"enabled": True}}


def agent_of(thing):
    return (thing.get("agent") or {}).get("agent_name")


async def begin(w, text="Compare the weather in Rome and Paris.", **fields):
    await w.create(text, **{**TEAM, **fields})
    return (await w.until("response.created"))["response"]["id"]


async def next_call(w):
    while True:
        item = (await w.until("response.output_item.done"))["item"]
        if item["type"] == "function_call":
            return item


def result(call, output):
    return answer(call, output=output)


def entries(simulator, kind="inject"):
    return [entry for entry in simulator.account if entry["kind"] == kind]


async def test_injects_resume_agents_while_the_others_write(simulate):
    simulator = simulate("agents")
    async with wire(simulator, beta=True) as w:
        response_id = await begin(w)
        for value in ("18 °C", "12 °C"):
            call = await next_call(w)
            assert agent_of(call) == f"/root/{call['arguments'][9:-2].lower()}"
            await w.inject(response_id, result(call, value))
        final = await w.end()
        assert final["status"] == "completed"
        last = final["output"][-1]
        assert (agent_of(last), last["phase"]) == ("/root", "final_answer")
        text = last["content"][0]["text"]
        assert "Rome: “18 °C”" in text
        assert "Paris: “12 °C”" in text
        acks = w.of("response.inject.created")
        assert [ack["response_id"] for ack in acks] == [response_id] * 2
        assert all("agent" not in ack for ack in acks)
        # The root's words came while a scout waited, in pieces between those of the scouts.
        writers = [agent_of(e) for e in w.of("response.output_text.delta")]
        assert set(writers) == {"/root", "/root/rome", "/root/paris"}
    created = [(e["fate"], [i["output"] for i in e["input"]]) for e in entries(simulator)]
    assert created == [("created", ["18 °C"]), ("created", ["12 °C"])]


async def test_a_call_can_be_answered_as_soon_as_it_is_seen(simulate):
    """Others write between a call's last event and whatever its agent does next."""

    def talk(turn):
        yield Say("word " * 300)

    @scenario("busy", "Calls much while others talk.")
    def busy(turn):
        if turn.results:
            yield Say(f"{len(turn.results)} answers.")
            return
        for n in range(3):
            yield Spawn(f"talker{n}", "Talk.", talk)
        for n in range(12):
            yield CallFunction("f", {"n": n})

    simulator = simulate(busy)
    async with wire(simulator, beta=True) as w:
        response_id = await begin(w)
        for n in range(12):
            await w.inject(response_id, result(await next_call(w), str(n)))
        assert "12 answers." in text_of(await w.end())
        assert w.of("error") == []
    assert {entry["fate"] for entry in entries(simulator)} == {"created"}


async def test_every_event_and_item_names_its_agent(simulate):
    async with wire(simulate("agents"), beta=True) as w:
        response_id = await begin(w)
        for _ in range(2):
            await w.inject(response_id, result(await next_call(w), "18"))
        final = await w.end()
        for event in w.events:
            assert agent_of(event) or event["type"] == "response.inject.created", event
            if "item" in event:
                assert agent_of(event) == agent_of(event["item"])
        # Finished in any order, they stand in the order in which they began.
        begun = [e["item"]["id"] for e in w.of("response.output_item.added")]
        assert [item["id"] for item in final["output"]] == begun
        assert [e["output_index"] for e in w.of("response.output_item.added")] == list(
            range(len(begun))
        )
        numbers = [event["sequence_number"] for event in w.events]
        assert numbers == list(range(len(numbers)))
        kinds = {item["type"] for item in final["output"]}
        assert {"multi_agent_call", "multi_agent_call_output", "agent_message"} <= kinds
        for item in final["output"]:
            if item["type"] == "agent_message":
                assert {part["type"] for part in item["content"]} == {"encrypted_content"}
        assert final["usage"]["output_tokens"] > 0


async def test_without_the_header_the_beta_does_not_exist(simulate):
    simulator = simulate("agents")
    async with wire(simulator) as w:
        refused = await w.refused({"type": "response.create", "input": "x", **TEAM})
        assert refused["error"]["param"] == "multi_agent"
        assert "responses_multi_agent=v1" in refused["error"]["message"]
        inject = {"type": "response.inject", "response_id": "resp_1", "input": []}
        refused = await w.refused(inject)
        assert "'response.create' and 'response.steer'." in refused["error"]["message"]
        off = await w.ask("Hello.", multi_agent={"enabled": False})
        assert off["status"] == "completed"
        assert "agent" not in w.events[-1]
    assert entries(simulator) == []


async def test_only_the_first_beta_header_is_read(simulate):
    headers = [("OpenAI-Beta", "responses_websockets=2026-02-06, responses_multi_agent=v1")]
    async with wire(simulate("agents"), additional_headers=headers) as w:
        w.beta = True
        await begin(w)
    headers = [("OpenAI-Beta", "assistants=v2"), ("OpenAI-Beta", "responses_multi_agent=v1")]
    async with wire(simulate("agents"), additional_headers=headers) as w:
        refused = await w.refused({"type": "response.create", "input": "x", **TEAM})
        assert refused["error"]["param"] == "multi_agent"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tool_calls": 3}, "max_tool_calls"),
        ({"reasoning": {"summary": "auto"}}, "reasoning.summary"),
        ({"multi_agent": {}}, "multi_agent.enabled"),
        ({"multi_agent": {"enabled": True, "depth": 2}}, "multi_agent.depth"),
        (
            {"multi_agent": {"enabled": True, "max_concurrent_subagents": 0}},
            "multi_agent.max_concurrent_subagents",
        ),
    ],
)
async def test_the_limits_of_the_beta(simulate, fields, param):
    async with wire(simulate("agents"), beta=True) as w:
        refused = await w.refused({"type": "response.create", "input": "x", **TEAM, **fields})
        assert refused["error"]["param"] == param


async def test_several_agents_cannot_be_steered(simulate):
    async with wire(simulate("agents"), beta=True) as w:
        response_id = await begin(w)
        await w.steer(response_id)
        failed = await w.until("response.steer.failed")
        assert failed["error"]["code"] == "steering_not_supported"


async def test_an_inject_into_what_is_not_there_gives_its_input_back(simulate):
    simulator = simulate("agents")
    item = {"type": "function_call_output", "call_id": "call_x", "output": "18", "id": None}
    async with wire(simulator, beta=True) as w:
        await w.inject("resp_nowhere", item)
        failed = await w.until("response.inject.failed")
        assert failed["error"]["code"] == "response_not_found"
        assert (failed["response_id"], failed["input"]) == ("resp_nowhere", [item])
        response_id = await begin(w, stream_id="team")
        for _ in range(2):
            await w.inject(response_id, result(await next_call(w), "18"))
        await w.end()
        await w.inject(response_id, item)
        failed = await w.until("response.inject.failed")
        assert failed["error"]["code"] == "response_already_completed"
        assert (failed["stream_id"], failed["input"]) == ("team", [item])
    assert [e["code"] for e in entries(simulator) if e["fate"] == "failed"] == [
        "response_not_found",
        "response_already_completed",
    ]


async def test_all_items_are_committed_or_none(simulate):
    simulator = simulate("agents")
    async with wire(simulator, beta=True) as w:
        response_id = await begin(w)
        calls = [await next_call(w), await next_call(w)]
        wrong = {"type": "function_call_output", "call_id": "call_unknown", "output": "x"}
        await w.inject(response_id, result(calls[0], "lost"), wrong)
        error = await w.until("error")
        assert "No tool call found" in error["error"]["message"]
        assert "sequence_number" not in error
        await w.inject(response_id, *(result(call, "kept") for call in calls))
        final = await w.end()
        assert "kept" in text_of(final)
        assert "lost" not in text_of(final)
        # A second answer for a call is one for no call.
        assert len(w.of("response.inject.created")) == 1
    assert [e["fate"] for e in entries(simulator)] == ["refused", "created"]


@pytest.mark.parametrize(
    "body",
    [
        {"response_id": "R", "input": []},
        {"response_id": "R", "input": "18"},
        {"response_id": "R", "input": [{"type": "message", "role": "user", "content": "x"}]},
        {"response_id": "R", "input": [{"type": "function_call_output", "call_id": "c"}]},
        {"response_id": "R", "stream_id": "team", "input": [answer_item := {"type": "x"}]},
        {"input": [answer_item]},
    ],
)
async def test_what_is_malformed_gets_an_error_event(simulate, body):
    simulator = simulate("agents")
    async with wire(simulator, beta=True) as w:
        response_id = await begin(w)
        if "response_id" in body:
            body = {**body, "response_id": response_id}
        await w.send({"type": "response.inject", **body})
        error = await w.until("error")
        assert error["status"] == 400
        for _ in range(2):  # and the response goes on
            await w.inject(response_id, result(await next_call(w), "18"))
        assert (await w.end())["status"] == "completed"


async def test_a_malformed_inject_may_cost_the_socket(simulate):
    async with wire(simulate("agents", malformed_inject_close=1008), beta=True) as w:
        await w.inject(await begin(w))
        await w.until("error")
        with pytest.raises(ConnectionClosed) as closing:
            await w.until("nothing more")
        assert closing.value.rcvd.code == 1008


async def test_acknowledgements_may_come_after_the_end(simulate):
    async with wire(simulate("agents", inject_acknowledge="after_terminal"), beta=True) as w:
        response_id = await begin(w)
        for _ in range(2):
            await w.inject(response_id, result(await next_call(w), "18"))
        await w.end()
        assert w.of("response.inject.created") == []
        assert (await w.recv())["type"] == (await w.recv())["type"] == "response.inject.created"


async def test_a_response_waits_for_its_agents(simulate):
    async with wire(simulate("agents"), beta=True) as w:
        await begin(w)
        await next_call(w), await next_call(w)
        await w.until("response.output_text.done")
        await w.until("response.output_item.done")
        item = (await w.until("response.output_item.done"))["item"]
        assert item["action"] == "wait_agent"
        await w.silence(0.1)


async def test_or_ends_with_their_calls_for_a_continuation(simulate):
    simulator = simulate("agents", agents_waiting="complete")
    async with wire(simulator, beta=True) as w:
        await begin(w)
        first = await w.end()
        assert first["status"] == "completed"
        calls = [call for call in calls_of(first) if call["type"] == "function_call"]
        assert [agent_of(call) for call in calls] == ["/root/rome", "/root/paris"]
        second = await w.ask(
            [answer(call) for call in calls], previous_response_id=first["id"], **TEAM
        )
        assert "“18 °C and dry”" in text_of(second)
    assert len(entries(simulator, "continuation")) == 1


async def test_so_many_subagents_at_once_as_the_request_says(simulate):
    async with wire(simulate("agents"), beta=True) as w:
        asked = {"enabled": True, "max_concurrent_subagents": 1}
        response_id = await begin(w, multi_agent=asked)
        first = await next_call(w)
        await w.until("response.output_text.done")  # the root goes on, the second scout does not
        assert not any(agent_of(e) == "/root/paris" for e in w.events)
        await w.inject(response_id, result(first, "18"))
        second = await next_call(w)
        assert agent_of(second) == "/root/paris"
        await w.inject(response_id, result(second, "12"))
        assert (await w.end())["status"] == "completed"


async def test_three_at_once_where_the_request_does_not_say(simulate):
    def scout(turn):
        if turn.results:
            yield Say("Done.")
        else:
            yield CallFunction("look", {"what": turn.prompt})

    @scenario("four", "Sends four scouts.")
    def four(turn):
        for name in ("one", "two", "three", "four"):
            yield Spawn(name, name, scout)
        yield WaitAgents()
        yield Say(" ".join(turn.reports))

    async with wire(simulate(four), beta=True) as w:
        response_id = await begin(w)
        done = []
        while sum(item["type"] == "function_call" for item in done) < 3 or not any(
            item.get("action") == "wait_agent" for item in done
        ):
            done.append((await w.until("response.output_item.done"))["item"])
        await w.silence()  # the root listens, three scouts wait, and the fourth has no place
        calls = [item for item in done if item["type"] == "function_call"]
        assert {agent_of(call) for call in calls} == {"/root/one", "/root/two", "/root/three"}
        await w.inject(response_id, result(calls[0], "18"))
        last = await next_call(w)
        assert agent_of(last) == "/root/four"
        await w.inject(response_id, *(result(call, "18") for call in (*calls[1:], last)))
        assert text_of(await w.end()).endswith("one two three four")


async def test_what_belongs_to_a_named_lane_names_it(simulate):
    """Events of all agents, both answers to an inject, and the error of a malformed one."""
    async with wire(simulate("agents"), beta=True) as w:
        response_id = await begin(w, stream_id="team")
        await w.inject(response_id)
        assert (await w.until("error"))["stream_id"] == "team"
        for _ in range(2):
            await w.inject(response_id, result(await next_call(w), "18"))
        await w.end()
        await w.inject(response_id, {"type": "function_call_output", "call_id": "c", "output": ""})
        await w.until("response.inject.failed")
        assert {event["stream_id"] for event in w.events} == {"team"}
        assert len(w.of("response.inject.created")) == 2


async def test_an_error_may_break_off_what_several_agents_write(simulate):
    @scenario("broke", "Breaks off.")
    def broke(turn):
        yield Say("So.")
        yield ErrorEvent("credit_balance_exhausted", "Pay.", status=402)

    async with wire(simulate(broke), beta=True) as w:
        await begin(w)
        error = await w.until("error")
        assert error["sequence_number"] == len(w.events) - 1
        assert w.of("response.completed") == []
        await w.silence()


async def test_any_scenario_can_be_injected_into(simulate):
    async with wire(simulate("weather"), beta=True) as w:
        response_id = await begin(w, "What is the weather in Porto?")
        await w.inject(response_id, result(await next_call(w), "19 °C"))
        final = await w.end()
        assert "“19 °C”" in text_of(final)
        following = await w.ask("And now?", previous_response_id=final["id"], **TEAM)
        assert following["status"] == "completed"  # nothing of it has to be answered again


async def test_the_same_seed_gives_the_same_messages(simulate):
    async def messages():
        async with wire(simulate("agents", agents_waiting="complete"), beta=True) as w:
            await begin(w)
            await w.end()
            return w.events

    assert await messages() == await messages()


async def test_agents_below_agents_and_messages_between_them(simulate):
    def leaf(turn):
        yield Say(f"leaf of {turn.agent}: {turn.prompt}")

    def branch(turn):
        yield Spawn("leaf", "grow", leaf)
        yield SendMessage("leaf", "Hurry.")
        yield WaitAgents()
        yield Say(f"branch has {turn.reports['leaf']}")

    @scenario("tree", "Spawns a tree.")
    def tree(turn):
        yield Spawn("branch", "branch off", branch)
        yield WaitAgents()
        yield Say(f"root has: {turn.reports['branch']}")

    async with wire(simulate(tree), beta=True) as w:
        # One slot, which the branch gives up while it only waits for its leaf.
        await begin(w, multi_agent={"enabled": True, "max_concurrent_subagents": 1})
        final = await asyncio.wait_for(w.end(), 10)
        last = final["output"][-1]["content"][0]["text"]
        assert last == "root has: branch has leaf of /root/branch/leaf: grow"
        sent = [(i["author"], i["recipient"]) for i in final["output"] if "author" in i]
        assert ("/root/branch", "/root/branch/leaf") in sent
        assert ("/root/branch/leaf", "/root/branch") in sent


@pytest.mark.parametrize("where", ["root", "sub"])
async def test_a_script_that_fails_fails_the_response(simulate, where):
    def broken(turn):
        yield Say("so far")
        raise ValueError("no more")

    def patient(turn):
        yield CallFunction("f")

    @scenario("broken", "Breaks.")
    def team(turn):
        yield Spawn("patient", "wait", patient)
        if where == "sub":
            yield Spawn("broken", "break", broken)
        else:
            yield Spawn("patient", "twice the same name", patient)
        yield WaitAgents()

    async with wire(simulate(team), beta=True) as w:
        await begin(w)
        final = await w.end()
        assert final["status"] == "failed"
        said = "no more" if where == "sub" else "there is an agent /root/patient already"
        assert said in final["error"]["message"]
