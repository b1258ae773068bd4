"""The recordings of a Letta server beside the checkout: every one in the right tables.

What stands here as a number or a text is what the protocol notes on Letta say of that recording;
chapters are named.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import steer_nb
from steer_nb.wire import letta
from tests.trace.test_corpus import LETTA, load, rows

if TYPE_CHECKING:
    from steer_nb.trace import Trace, TraceSet

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not LETTA.is_dir(), reason=f"no recordings at {LETTA}"),
]
DENIED = "Error: request to call tool denied. User reason: "
ASKED = "RequiredInputCore + RequiredInputLetta"


def of(name: str) -> Trace:
    return load(LETTA / name)


def together(*names: str) -> TraceSet:
    return steer_nb.load([LETTA / name for name in names], progress=False)


def asked(name: str) -> list[dict[str, Any]]:
    return rows(of(name), "required_inputs", columns=ASKED)


def messages_of(trace: Trace) -> list[letta.Message]:
    """Every message of a recording."""
    return [letta.decode(entry.raw or "").message for entry in trace if entry.kind == "in"]


@pytest.fixture(scope="module")
def everything() -> TraceSet:
    return steer_nb.load(LETTA, progress=False)


# -- what holds for every recording ----------------------------------------------------------------


def test_nothing_stands_twice_and_every_call_that_waits_is_there(everything):
    n_requests = 0
    for trace in everything:
        if trace.header.dialect != "letta":
            continue
        assert all("as" not in (entry.data or {}) for entry in trace)
        no_doubles(trace.frames.items)
        stubs, calls = trace.frames.required_inputs, trace.frames.tool_calls
        for message in messages_of(trace):
            if not isinstance(message, letta.ApprovalRequestMessage):
                continue
            n_requests += 1
            run = trace.ledger.responses[message.run_id]
            waited = run.status_raw == "requires_approval" or run.listed
            for call in message.calls:
                key = [run.id, call.tool_call_id]
                assert (calls[["response_id", "call_key"]] == key).all(axis=1).sum() == 1
                ours = stubs[["parent_response_id", "stub_key"]] == key
                assert ours.all(axis=1).sum() == waited
        assert set(stubs["stub_type"]) <= {"letta_approval", "letta_tool_return"}
        assert set(stubs["source"]) <= {"letta_stream", "letta_history", "letta_409"}
        assert set(calls["kind"]) <= {"letta"}
        # Nothing that only OpenAI has is invented.
        assert trace.frames.steers.empty
        for column in ("model", "service_tier", "reasoning_effort", "store", "created_at"):
            assert trace.frames.responses[column].isna().all(), column
    assert n_requests > 80


def no_doubles(items: pd.DataFrame) -> None:
    keys = items["item_id"].fillna(items["call_id"].astype("string"))
    assert not items.assign(key=keys)[["response_id", "type", "key"]].duplicated().any()


def test_all_recordings_together_show_each_run_once(everything):
    frames = everything.frames
    runs = frames.responses
    assert len(runs) == 91
    assert not runs["response_id"].duplicated().any()
    no_doubles(frames.items)
    assert not frames.required_inputs[["parent_response_id", "stub_key"]].duplicated().any()
    assert runs["n_events"].sum() + frames.events["response_id"].isna().sum() == len(frames.events)
    assert set(frames.events["response_id"].dropna()) <= set(runs["response_id"])


def test_texts_are_those_of_the_histories(everything):
    """A text that was put together from a stream is the one that the server stored (2.1)."""
    items = everything.frames.items
    texts = items[items["text"].notna()].set_index(["response_id", "item_id"])["text"]
    compared = 0
    for trace in everything:
        if trace.header.dialect != "letta":
            continue
        for entry in trace:
            if (entry.data or {}).get("from") != "history":
                continue
            message = letta.decode(entry.raw or "").message
            if isinstance(message, letta.AssistantMessage | letta.ReasoningMessage):
                assert texts[message.run_id, message.otid] == message.text
                compared += 1
    assert compared > 30


def test_what_was_streamed_is_marked_as_such(everything):
    items = everything.frames.items
    assert (items[items["source"] == "history"]["n_deltas"] == 0).all()
    assert (items[items["n_deltas"] > 0]["source"] != "history").all()
    # The client's own answer is never echoed (3.3): only histories have it.
    answers = items[items["type"] == "letta_approval_response"]
    assert len(answers) == 18
    assert set(answers["source"]) == {"history"}


# -- what waits (3) --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("10_approval_req_steps.sse", ["/srv/a.txt"]),
        ("14_approval_req_tokens.sse", ["/srv/a.txt"]),
        ("17_approval_req_json.json", ["/srv/a.txt"]),
        ("20_parallel2_req_steps.sse", ["/srv/a.txt", "/srv/b.txt"]),
        ("25_parallel2_req_tokens.sse", ["/srv/a.txt", "/srv/b.txt"]),
        ("65_bg_approval_req.sse", ["/srv/a.txt"]),
        ("94_reasoning_approval_tokens.sse", ["/srv/r"]),
        ("96_reasoning_approval_steps.sse", ["/srv/r"]),
    ],
)
def test_calls_that_wait(name, calls):
    trace = of(name)
    found = asked(name)
    assert [row["stub_type"] for row in found] == ["letta_approval"] * len(calls)
    assert {(row["state"], row["source"], row["name"]) for row in found} == {
        ("open", "letta_stream", "delete_file")
    }
    made = rows(trace, "tool_calls")
    assert [json.loads(call["arguments_json"])["path"] for call in made] == calls
    (run,) = rows(trace)
    assert (run["status"], run["status_raw"]) == ("completed", "requires_approval")
    assert rows(trace, "lanes")[0]["state"] == "waiting_input"
    for row in found:
        assert row["run_id"] == row["parent_response_id"] == run["response_id"]
        assert row["message_id"] == row["otid"]  # (2.1)
        assert row["step_id"].startswith("step-")


def test_in_token_mode_the_request_has_an_id_one_lower():
    (stub,) = asked("14_approval_req_tokens.sse")
    streamed = messages_of(of("14_approval_req_tokens.sse"))
    text = next(m for m in streamed if isinstance(m, letta.AssistantMessage))
    assert (stub["message_id"][-2:], text.id[-2:]) == ("d7", "d8")
    stored = messages_of(of("16_history_after_deny.json"))
    (again,) = [m for m in stored if getattr(m, "otid", None) == text.otid]
    assert again.id == stub["message_id"]


def test_calls_of_a_clients_own_tools_are_told_by_name():
    """By the tools that the request declares; the wire has no other word (3.1)."""
    found = asked("46_client2_req_steps.meta.json")
    assert [(row["name"], row["stub_type"]) for row in found] == [
        ("read_cell", "letta_tool_return"),
        ("delete_file", "letta_approval"),
    ]
    assert {row["agent_id"] for row in found} == {"agent-221a7901-ba18-4c16-a6f7-5da75264a214"}
    # Without the request nobody can tell.
    assert {row["stub_type"] for row in asked("46_client2_req_steps.sse")} == {"letta_approval"}


def test_only_gated_calls_wait_and_the_others_run_with_the_continuation():
    trace = together("30_mixed_req_steps.sse", "31_mixed_deny_steps.sse", "32_mixed_history.json")
    weather, delete = rows(trace, "tool_calls")
    assert (weather["name"], weather["owner"], weather["result_kind"]) == (
        "get_weather",
        "server",
        "value",
    )
    assert weather["result_text"] == "sunny in Oslo"
    assert (delete["name"], delete["owner"], delete["result_kind"]) == (
        "delete_file",
        "server",
        "denied",
    )
    assert delete["result_text"] == f"{DENIED}nope"
    (stub,) = rows(trace, "required_inputs")
    assert (stub["stub_key"], stub["reason"]) == (delete["call_key"], "nope")


def test_a_pending_request_that_was_asked_for():
    (stub,) = asked("11_agent_with_pending_approval.json")
    assert (stub["state"], stub["source"]) == ("open", "letta_history")
    (newest,) = asked("a2_conv_pending_discovery.json")  # newest first, and only three
    assert newest["state"] == "open"
    assert [r["origin"] for r in rows(of("a2_conv_pending_discovery.json"))] == ["unknown"] * 2
    (named,) = rows(
        together("50_user_while_pending_json.json", "56_legacy_history.json"), "required_inputs"
    )
    assert (named["source"], named["state"]) == ("letta_409", "confirmed")


# -- answers ---------------------------------------------------------------------------------------


def test_an_approval_and_its_continuation():
    trace = together("10_approval_req_steps.sse", "12_approve_steps.sse")
    first, second = rows(trace)
    assert second["previous_response_id"] == first["response_id"]
    (call,) = rows(trace, "tool_calls")
    assert (call["result_kind"], call["result_text"]) == ("value", "deleted /srv/a.txt")
    assert call["answered_in_response_id"] == second["response_id"]
    (stub,) = rows(trace, "required_inputs")
    assert (stub["state"], stub["continuation_response_id"]) == (
        "confirmed",
        second["response_id"],
    )
    assert pd.isna(stub["approve"])  # neither stream holds the decision


def test_a_denial_in_token_mode_stands_only_in_the_history():
    streams = ("14_approval_req_tokens.sse", "15_deny_reason_tokens.sse")
    (open_call,) = rows(together(*streams), "tool_calls")
    assert open_call["result_kind"] == "none"
    trace = together(*streams, "16_history_after_deny.json")
    (call,) = rows(trace, "tool_calls")
    assert (call["result_kind"], call["result_text"]) == ("denied", f"{DENIED}wrong file")
    (stub,) = rows(trace, "required_inputs")
    assert (stub["approve"], stub["reason"], stub["state"]) == (False, "wrong file", "confirmed")
    items = trace.frames.items
    # Each stands where the history has it, though that was read later.
    assert items["type"].tolist() == [
        "message",
        "message",
        "letta_approval_call",
        "letta_approval_response",
        "letta_tool_call_output",
        "message",
    ]
    assert items["source"].tolist() == [
        "history",
        "done",
        "terminal",
        "history",
        "history",
        "terminal",
    ]


def test_a_denial_without_a_reason_says_none():
    (call,) = rows(together("17_approval_req_json.json", "18_deny_noreason_json.json"),
                   "tool_calls")  # fmt: skip
    assert call["result_text"] == f"{DENIED}None"
    assert (call["result_kind"], call["answered_by"]) == ("denied", "unknown")


def test_several_decisions_of_both_kinds():
    trace = together("46_client2_req_steps.meta.json", "47_client2_mix_return_approve.meta.json")
    read, delete = rows(trace, "required_inputs")
    assert json.loads(read["value_json"])["tool_return"] == "x=1"
    assert (delete["approve"], delete["state"], read["state"]) == (True, "confirmed", "confirmed")
    calls = rows(trace, "tool_calls")
    assert [call["result_text"] for call in calls] == ["x=1", "deleted /srv/c.txt"]
    assert rows(trace)[1]["origin"] == "tool_continuation"
    assert pd.isna(calls[0]["wait_s"])  # the two files have no clock in common


def test_results_of_a_clients_own():
    trace = together("43_client1_req_steps.sse", "45_client1_toolreturn_history.json")
    (call,) = rows(trace, "tool_calls")
    assert (call["result_kind"], call["result_text"]) == ("error", "boom")
    (stub,) = rows(trace, "required_inputs")
    assert json.loads(stub["value_json"])["stderr"] == ["Traceback\n"]
    assert pd.isna(stub["approve"])
    # In token mode no stream shows the result (3.3).
    streams = ("40_client1_req_tokens.sse", "41_client1_return_approval_tokens.sse")
    (call,) = rows(together(*streams, "42_client1_history.json"), "tool_calls")
    assert (call["result_kind"], call["result_text"]) == ("value", "x = 1")


def test_a_clients_tool_that_was_only_approved():
    (call,) = rows(of("4a_client_tool_approved_not_returned.meta.json"), "tool_calls")
    assert (call["result_kind"], call["result_text"], call["orphan"]) == (
        "error",
        "Tool not found",
        True,
    )


def test_old_clients_named_the_request():
    """Deprecated fields (8): what they call a request's id is, in the history, what was sent."""
    (stub,) = asked("5c_replay_history.json")
    assert (stub["approve"], stub["state"]) == (True, "confirmed")
    (denied,) = rows(of("5d_legacy_deny_notype_json.json"), "tool_calls")
    assert (denied["result_kind"], denied["result_text"]) == ("denied", f"{DENIED}legacy no")
    (run,) = rows(of("5e_legacy_deny_by_message_id_json.json"))
    assert (run["status"], run["status_raw"]) == ("failed", "invalid_tool_call")


def test_a_double_click_ran_the_tool_twice_and_the_call_has_one_answer():
    """Without a lock (5.5): two continuations of one request."""
    trace = of("c1_double_approve_agents_history.json")
    (call,) = rows(trace, "tool_calls")
    first, second, third = rows(trace)
    assert second["previous_response_id"] == third["previous_response_id"] == first["response_id"]
    assert call["answered_in_response_id"] == second["response_id"]
    items = trace.frames.items
    assert (items["type"] == "letta_tool_call_output").sum() == 2


def test_cancelled():
    """The server answers in the run that asked, for gated and other calls (3.4)."""
    calls = rows(of("87_cancel_mixed_history.json"), "tool_calls")
    assert [call["result_kind"] for call in calls] == ["cancelled", "cancelled"]
    (stub,) = asked("87_cancel_mixed_history.json")
    assert (stub["state"], stub["approve"]) == ("cancelled", False)
    assert pd.isna(stub["continuation_response_id"])
    (run,) = rows(of("87_cancel_mixed_history.json"))
    assert run["status"] == "cancelled"


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "status", "reason", "code"),
    [
        ("02_plain_stream_steps.sse", "completed", "end_turn", None),
        ("22_partial_approval_stream_error.sse", "failed", "error", "internal_error"),
        ("51_user_while_pending_stream_nopings.sse", "failed", "error", "internal_error"),
        ("52_user_while_pending_stream_pings.sse", "failed", "error", "internal_error"),
        ("67_bg_user_while_pending.sse", "failed", "error", "internal_error"),
        ("88_cancel_midstream_fg.sse", "cancelled", "cancelled", None),
        ("8d_llm_429_stream.sse", "failed", "llm_api_error", "llm_rate_limit"),
        ("91_midstream_llm_error_bg.sse", "failed", "llm_api_error", "internal_error"),
    ],
)
def test_how_runs_end(name, status, reason, code):
    (run,) = rows(of(name))
    assert (run["status"], run["status_raw"]) == (status, reason)
    assert run["error_code"] == code or (pd.isna(run["error_code"]) and code is None)
    if reason == "error":
        assert run["error_message"].startswith(("CONFLICT: ", "Invalid tool call IDs. "))


def test_a_run_that_waits_outlives_a_refused_message():
    trace = together("7b_conv_approval_req.meta.json", "7d_conv_user_while_pending_json.json",
                     "7e_conv_user_while_pending_stream.meta.json")  # fmt: skip
    (stub,) = rows(trace, "required_inputs")
    assert stub["state"] == "open"
    assert sorted(run["status"] for run in rows(trace)) == ["completed", "failed"]


def test_usage_is_that_of_the_whole_run():
    (run,) = rows(of("04_autotool_stream_steps.sse"))
    assert (run["input_tokens"], run["output_tokens"], run["total_tokens"]) == (200, 40, 240)
    assert (run["cached_tokens"], run["reasoning_tokens"]) == (0, 0)  # step mode says 0 (4)
    (run,) = rows(of("03_plain_stream_tokens.sse"))
    assert run["total_tokens"] == 120
    assert pd.isna(run["cached_tokens"])  # token mode says null


def test_a_stream_that_was_read_again_is_read_once():
    """A background run (5.3): the same numbers again, and the ends, which show none."""
    names = ("60_bg_plain_tokens.sse", "61_bg_resume_from_0.sse", "62_bg_resume_from_5.sse")
    (run,) = rows(together(*names))
    assert run["output_text"] == rows(of(names[0]))[0]["output_text"]
    assert run["n_deltas"] == 8
    assert not run["sequence_gap"]
    (broken,) = rows(of("6a_bg_slow_disconnect.sse"))
    assert (broken["status"], broken["n_deltas"]) == ("truncated", 8)
    both = together("6a_bg_slow_disconnect.sse", "6b_bg_slow_resumed.sse", "6c_run_messages.json")
    (run,) = rows(both)
    assert (run["status"], run["n_deltas"]) == ("completed", 40)
    assert run["output_text"].split()[-1] == "word39"


def test_a_request_sent_twice_got_one_run():
    """The same `otid` on a conversation in the background (5.4)."""
    trace = of("c6_double_approve_conv_bg_same_otid.json")
    assert len(rows(trace)) == 1
    assert {request.state for request in trace.ledger.requests.values()} == {"started"}
    assert rows(trace, "lanes")[0]["state"] == "idle"


def test_a_run_without_a_stream():
    trace = together("53_user_while_pending_async.json", "9d_async_run_messages.json")
    found = {row["response_id"][:12]: row["status"] for row in rows(trace)}
    assert found == {"run-bf963c43": "in_progress", "run-674a6c6a": "completed"}


def test_a_history_does_not_say_how_its_last_run_failed():
    """The tool ran, then the model failed (5.6): the history ends with the tool's return."""
    last = rows(of("93_approve_then_llm_error_history.json"))[-1]
    assert last["status"] == "truncated"
    assert pd.isna(last["status_raw"])


def test_the_default_conversation_is_called_after_its_agent():
    (lane,) = rows(of("82_default_conv_approval.meta.json"), "lanes")
    body = json.loads((LETTA / "82_default_conv_approval.meta.json").read_text())["request"]["body"]
    assert lane["stream_id"] == body["agent_id"]
    found = asked("82_default_conv_approval.meta.json")
    assert [stub["agent_id"] for stub in found] == [body["agent_id"]] * 2
