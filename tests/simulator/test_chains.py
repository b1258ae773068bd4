"""What continues what: the connection's cache, what is inherited, and usage (2, 4.1, 5.4)."""

from __future__ import annotations

import pytest

from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    ErrorEvent,
    Fail,
    Incomplete,
    Reject,
    Say,
    scenario,
)
from tests.simulator.scripts import started, waits
from tests.support.simulated import answer, calls_of, text_of, wire

NOT_FOUND = "previous_response_not_found"


@scenario("told", "Does what it is told, in a word.")
def told(turn):
    words = turn.prompt.split()
    if "reject" in words:
        yield Reject("server_error" if "500" in words else "bad", "No.", int(words[-1]))
    yield Say(f"To {turn.prompt}, after {len(turn.asked)}.")
    if "hold" in words and not turn.steers:
        yield AwaitSteer(20)
        yield Say("Released.")
    if "fail" in words:
        yield Fail()
    if "cut" in words:
        yield Incomplete()
    if "break" in words:
        yield ErrorEvent("credit_balance_exhausted", "Pay.")


async def refused(line, *args, **fields):
    """Create something that is refused, and give the code."""
    await line.create(*args, **fields)
    return (await line.until("error"))["error"]["code"]


# The cache (2.3), with `store` false throughout


async def test_each_lane_keeps_its_newest_response_and_no_other(simulate):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", stream_id="a", store=False)
        two = await line.ask("2", stream_id="b", store=False)
        new = await line.ask("3", stream_id="a", store=False)  # a new conversation of that lane
        fields = {"store": False, "stream_id": "c"}
        assert await refused(line, previous_response_id=one["id"], **fields) == NOT_FOUND
        for parent in (two, new):
            forked = await line.ask("on", previous_response_id=parent["id"], **fields)
            assert forked["previous_response_id"] == parent["id"]


async def test_a_response_is_in_the_cache_from_its_end_and_only_to_the_next_beginning(simulate):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", stream_id="a", store=False)
        two = await started(line, "hold", stream_id="a", store=False)
        fields = {"store": False, "stream_id": "b"}
        assert await refused(line, previous_response_id=one["id"], **fields) == NOT_FOUND
        assert await refused(line, previous_response_id=two, **fields) == NOT_FOUND
        await line.steer(two)
        await line.end()
        successor = await line.end()
        assert await refused(line, previous_response_id=two, **fields) == NOT_FOUND
        forked = await line.ask("on", previous_response_id=successor["id"], **fields)
        assert forked["previous_response_id"] == successor["id"]


@pytest.mark.parametrize("word", ["fail", "break"])
async def test_what_failed_is_never_in_it_nor_what_it_continued(simulate, word):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", store=False)
        await line.create(word, store=False, previous_response_id=one["id"])
        failed = (await line.until("response.created"))["response"]["id"]
        await line.until("response.failed", "error")
        for parent in (failed, one["id"]):
            assert await refused(line, store=False, previous_response_id=parent) == NOT_FOUND


async def test_what_is_incomplete_is_in_it(simulate):
    async with wire(simulate(told)) as line:
        cut = await line.ask("cut", store=False)
        assert cut["status"] == "incomplete"
        on = await line.ask("on", store=False, previous_response_id=cut["id"])
        assert on["previous_response_id"] == cut["id"]


@pytest.mark.parametrize("status", [400, 404, 429, 500])
@pytest.mark.parametrize("generate", [True, False])
async def test_any_error_on_its_own_lane_evicts(simulate, status, generate):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", stream_id="a", store=False)
        fields = {"store": False, "stream_id": "a", "previous_response_id": one["id"]}
        if generate:
            await refused(line, f"reject {status}", **fields)
        else:
            await refused(line, generate=False, temperature="hot", **fields)
        assert line.events[-1]["status"] == (status if generate else 400)
        assert await refused(line, "on", **fields) == NOT_FOUND


@pytest.mark.parametrize("how", ["refused", "failed", "broken"])
async def test_an_error_of_a_fork_evicts_nothing(simulate, how):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", stream_id="a", store=False)
        fields = {"store": False, "previous_response_id": one["id"]}
        word = {"refused": "reject 500", "failed": "fail", "broken": "break"}[how]
        await line.create(word, stream_id="b", **fields)
        await line.until("error", "response.failed")
        for lane in ("b", "a"):
            on = await line.ask("on", stream_id=lane, **fields)
            assert on["previous_response_id"] == one["id"]


async def test_an_error_that_names_another_response_evicts_nothing(simulate):
    async with wire(simulate(told)) as line:
        one = await line.ask("1", store=False)
        assert await refused(line, store=False, previous_response_id="resp_x") == NOT_FOUND
        assert await refused(line, store=False, temperature="hot") == "invalid_type"
        on = await line.ask("on", store=False, previous_response_id=one["id"])
        assert on["previous_response_id"] == one["id"]


async def test_a_fork_that_is_too_slow_comes_to_nothing_and_one_in_time_is_safe(simulate):
    """The source lane may go on from the fork's `response.in_progress`, and not before."""
    async with wire(simulate(told, fork_start_s=0.05)) as line:
        one = await line.ask("1", stream_id="a", store=False)
        fields = {"store": False, "previous_response_id": one["id"]}
        await line.create("fork", stream_id="b", **fields)
        await line.create("on", stream_id="a", **fields)
        two = await line.end()
        assert (await line.until("error"))["stream_id"] == "b"
        assert line.events[-1]["error"]["code"] == NOT_FOUND
        # the documented way out: everything once more, and nothing to continue
        whole = [{"role": "user", "content": "1"}, *one["output"]]
        again = await line.ask(whole, stream_id="b", store=False, previous_response_id=None)
        assert again["previous_response_id"] is None

        fields["previous_response_id"] = two["id"]
        await line.create("fork", stream_id="c", **fields)
        await line.until("response.in_progress")
        await line.create("on", stream_id="a", **fields)
        parents = {(await line.end())["previous_response_id"] for _ in range(2)}
        assert parents == {two["id"]}


async def test_what_is_stored_needs_no_place_in_the_cache(simulate):
    simulator = simulate(told)
    async with wire(simulator) as line:
        one = await line.ask("1")
        two = await line.ask("2", previous_response_id=one["id"])
        await refused(line, "reject 400", previous_response_id=two["id"])
        # evicted, older, of another connection: all hydrated from what is stored, at full price
        slow = [await line.ask("on", previous_response_id=p["id"]) for p in (two, one)]
    async with wire(simulator) as line:
        slow.append(await line.ask("on", previous_response_id=two["id"]))
        fast = await line.ask("on", previous_response_id=slow[-1]["id"])
        fork = await line.ask("on", previous_response_id=fast["id"], stream_id="b")
    for response in slow:
        assert response["usage"]["input_tokens_details"]["cached_tokens"] == 0
    for response in (fast, fork):
        cached = response["usage"]["input_tokens_details"]["cached_tokens"]
        assert 0 < cached < response["usage"]["input_tokens"]


async def test_a_warm_up_may_be_continued_later_in_the_chain_too(simulate):
    async with wire(simulate(told)) as line:
        warm = await line.ask("Context.", generate=False)
        assert [event["type"] for event in line.events] == [
            "response.created",
            "response.completed",
        ]
        one = await line.ask("1", previous_response_id=warm["id"])
        rewarmed = await line.ask("More.", previous_response_id=one["id"], generate=False)
        two = await line.ask("2", previous_response_id=rewarmed["id"])
        again = await line.ask("3", previous_response_id=warm["id"])
        assert [text_of(r) for r in (one, two, again)] == [
            "To 1, after 1.",
            "To 2, after 3.",
            "To 3, after 1.",
        ]


async def test_a_warm_up_holds_nothing_of_what_was_steered(simulate):
    @scenario("calls", "Calls, and says all that it was told.")
    def calls(turn):
        if not turn.called():
            yield CallFunction("look")
        else:
            yield Say(" / ".join([*turn.asked, *turn.steers]))

    async with wire(simulate(calls)) as line:
        ended = await line.ask("One.")
        await line.steer(ended["id"], "Steer.")
        await line.until("response.steer.pending")
        warm = await line.ask("Warm.", previous_response_id=ended["id"], generate=False)
        results = [answer(call) for call in calls_of(ended)]
        aside = await line.ask(results, previous_response_id=warm["id"], stream_id="b")
        assert text_of(aside) == "One. / Warm."
        await line.steer(ended["id"], "More.")  # its parent was not continued by it
        await line.until("response.steer.pending")
        taken = await line.ask(results, previous_response_id=ended["id"])
        assert text_of(taken) == "One. / Steer. / More."


# What is inherited (2.3, 5.4 rules 6 and 8)

SETTINGS = {
    "instructions": "Be kind.",
    "tools": [{"type": "function", "name": "look", "parameters": {}, "strict": True}],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 0.5,
    "top_p": 0.25,
    "reasoning": {"effort": "high"},
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "metadata": {"k": "v"},
    "service_tier": "flex",
    "max_output_tokens": 5000,
    "max_tool_calls": 7,
    "model": "gpt-6-mini",
    "store": False,
    "truncation": "auto",
    "user": "me",
    "safety_identifier": "s",
    "prompt_cache_key": "p",
    "top_logprobs": 2,
}
OWN = {"id", "created_at", "completed_at", "status", "output", "usage", "error"}
OWN |= {"incomplete_details", "previous_response_id"}


def settings_of(response):
    return {name: value for name, value in response.items() if name not in OWN}


async def test_an_automatic_successor_inherits_every_setting(simulate):
    simulator = simulate(waits)
    async with wire(simulator) as line:
        plain = settings_of(await line.ask(generate=False))
        parent = await started(line, stream_id="a", **SETTINGS)
        await line.steer(parent)
        ended, successor = await line.end(), await line.end()
        assert settings_of(successor) == settings_of(ended)
        for name in SETTINGS:
            assert settings_of(ended)[name] != plain[name], name
        assert successor["previous_response_id"] == parent
    async with wire(simulator) as line:  # not stored either
        assert await refused(line, previous_response_id=successor["id"]) == NOT_FOUND


async def test_an_explicit_create_inherits_none_of_them(simulate):
    @scenario("call", "Calls, and answers.")
    def calling(turn):
        yield Say("So.") if turn.results or turn.steers else CallFunction("look")

    async with wire(simulate(calling)) as line:
        plain = settings_of(await line.ask(generate=False))
        ended = await line.ask(**{**SETTINGS, "store": True})
        await line.steer(ended["id"])
        await line.until("response.steer.pending")
        results = [answer(call) for call in calls_of(ended)]
        continued = await line.ask(results, previous_response_id=ended["id"])
        assert settings_of(continued) == plain
        forked = await line.ask("x", previous_response_id=continued["id"], stream_id="b")
        assert settings_of(forked) == plain


# Usage (4.1)


async def test_every_end_has_its_usage_and_no_other_event_has(simulate):
    async with wire(simulate(told)) as line:
        for word in ("so", "fail", "cut"):
            await line.ask(word)
        await line.ask("warm", generate=False)
        parent = await started(line, "hold")
        await line.steer(parent)
        await line.end()
        await line.end()
        ends = [e for e in line.events if e["type"] in ENDINGS]
        kinds = [e["response"]["incomplete_details"] or e["type"] for e in ends]
        assert kinds == [
            "response.completed",
            "response.failed",
            {"reason": "max_output_tokens"},
            "response.completed",
            {"reason": "steered"},
            "response.completed",
        ]
        for event in line.events:
            if "response" in event and event not in ends:
                assert event["response"]["usage"] is None
        for event in ends:
            usage = event["response"]["usage"]
            assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
            assert usage["input_tokens"] > 0
            assert (usage["output_tokens"] > 0) == bool(event["response"]["output"])


ENDINGS = ("response.completed", "response.failed", "response.incomplete")


async def test_parent_and_successor_are_billed_each_for_itself(simulate):
    """The successor reads the parent again, from the cache; the sum of both is what it cost."""
    async with wire(simulate(waits)) as line:
        whole = await line.ask("Begin.", store=False, generate=False)
        parent = await started(line, "Begin.", store=False)
        await line.steer(parent, "Shorter.")
        first, second = (await line.end())["usage"], (await line.end())["usage"]
        steered = second["input_tokens"] - first["total_tokens"]
        assert 0 < steered < 50  # nothing but the steer is new
        assert second["input_tokens_details"]["cached_tokens"] == first["total_tokens"]
        assert first["input_tokens"] == whole["usage"]["input_tokens"]
        assert first["input_tokens_details"]["cached_tokens"] == 0
