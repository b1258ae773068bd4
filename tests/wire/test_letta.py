"""Letta's messages, answers and errors as values a person can use."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb.errors import InvalidInput
from steer_nb.wire import letta
from tests.wire.letta_samples import (
    APPROVED,
    CALL,
    DENIED,
    EVERY,
    OTHER,
    RETURNED,
    SAMPLES,
    letta_message,
)

JSON = st.sampled_from(
    [None, True, 0, 7, 1.5, "", "x", "call_1", "success", "approval_request_message", [], [None],
     ["x"], [7], {}, [{}], {"type": "text", "text": "t"}, [{"type": "text"}],
     [{"type": "approval"}], [APPROVED], [DENIED, {**RETURNED, "status": 1}], [RETURNED], CALL,
     [CALL], [OTHER, {"name": 1}], {"name": None}, {"arguments": "{", "tool_call_id": "call_1"}]
)  # fmt: skip
"""Values to put where others belong."""


def test_there_is_a_sample_of_every_kind() -> None:
    assert SAMPLES.keys() == letta.MESSAGE_TYPES.keys()


@pytest.mark.parametrize(("kind", "sample"), EVERY)
def test_a_message_gives_back_what_came(kind: str, sample: dict[str, Any]) -> None:
    found = letta.decode(json.dumps(sample))
    message = found.message
    assert (found.problem, found.faults, found.detail) == (None, (), "")
    assert type(message) is letta.MESSAGE_TYPES[kind]
    assert message.message_type == kind
    for name, value in sample.items():
        if isinstance(value, str | int | None):
            assert getattr(message, name) == value
    written = message.to_dict()
    assert {k: v for k, v in written.items() if k in sample} == _with_nulls(sample, written)
    assert letta.message_of(written) == message
    assert pickle.loads(pickle.dumps(message)) == message
    assert eval(repr(message), dict(vars(letta))) == message


def _with_nulls(sample: Any, written: Any) -> Any:
    """A sample with the nulls that its server writes and it left out."""
    if isinstance(sample, dict) and isinstance(written, dict):
        missing = {k: v for k, v in written.items() if v is None and k not in sample}
        own = {k: _with_nulls(v, written.get(k)) for k, v in sample.items()}
        return own if "message_type" in sample else {**missing, **own}
    if isinstance(sample, list) and isinstance(written, list):
        return [_with_nulls(*pair) for pair in zip(sample, written, strict=True)]
    return sample


@pytest.mark.parametrize(("kind", "sample"), EVERY)
def test_unknown_fields_are_kept(kind: str, sample: dict[str, Any]) -> None:
    given = {**sample, "mood": ["good"], "(extra)": 1, "(note)": 2}
    message = letta.message_of(given)
    assert message.extra == {"mood": ["good"], "(extra)": 1, "(note)": 2}
    assert message.to_dict()["mood"] == ["good"]
    assert letta.message_of(message.to_dict()) == message


def test_unknown_fields_of_pieces_are_kept() -> None:
    sample = letta_message("approval_response_message", approvals=[{**DENIED, "mood": 1}])
    message = letta.message_of(sample)
    assert isinstance(message, letta.ApprovalResponseMessage)
    assert message.decisions[0].extra == {"mood": 1}
    assert message.to_dict()["approvals"] == [{**DENIED, "mood": 1}]


def test_unknown_types_are_kept() -> None:
    found = letta.decode('{"message_type":"telepathy","id":"message-1","thought":{"of":"you"}}')
    assert isinstance(found.message, letta.UnknownMessage)
    assert found.message.kind == "telepathy"
    assert found.message.to_dict()["thought"] == {"of": "you"}
    assert found.problem is None


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("{", "bad_json"),
        (b"\xff{}", "bad_json"),
        ("[]", "not_object"),
        ("null", "not_object"),
        ("[" * 100_000, "too_deep"),
        ("{}", "odd_field"),
        ('{"message_type":7}', "odd_field"),
        ('{"message_type":"ping"}', "odd_field"),
    ],
)
def test_what_is_no_message_is_said(raw: str | bytes, problem: str) -> None:
    found = letta.decode(raw)
    assert found.problem == problem
    assert found.detail


def test_lone_surrogates_and_nan_are_read() -> None:
    raw = json.dumps(letta_message("assistant_message", content="\ud83d"))
    assert letta.decode(raw).message.text == "\ud83d"  # type: ignore[attr-defined]


# -- calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["approval_request_message", "tool_call_message"])
@pytest.mark.parametrize(
    ("fields", "ids", "delta"),
    [
        ({"tool_call": CALL, "tool_calls": [CALL, OTHER]}, ["call_1", "call_2"], False),
        ({"tool_call": CALL, "tool_calls": {**CALL, "name": None}}, ["call_1"], True),
        ({"tool_call": CALL, "tool_calls": None}, ["call_1"], False),
        ({"tool_call": CALL}, ["call_1"], False),
        ({"tool_call": {"arguments": "{", "tool_call_id": "call_1"}}, ["call_1"], True),
        ({"tool_call": CALL, "tool_calls": []}, ["call_1"], False),
        ({"tool_calls": [OTHER]}, ["call_2"], False),
    ],
)
def test_calls_come_in_every_shape(
    kind: str, fields: dict[str, Any], ids: list[str], delta: bool
) -> None:
    message = letta.message_of(letta_message(kind, **fields))
    assert isinstance(message, letta.ApprovalRequestMessage | letta.ToolCallMessage)
    assert [call.tool_call_id for call in message.calls] == ids
    assert message.is_delta is delta


def test_pieces_of_a_tool_call_are_written_without_nulls() -> None:
    piece = letta.ToolCall(arguments='{"c', tool_call_id="call_1")
    shared = letta_message("tool_call_message", tool_call={}, tool_calls={})
    message = letta.ToolCallMessage.from_dict(shared | {"tool_call": piece.to_dict()})
    assert message.to_dict(nulls=False)["tool_call"] == {
        "arguments": '{"c',
        "tool_call_id": "call_1",
    }
    assert piece.to_dict() == {"name": None, "arguments": '{"c', "tool_call_id": "call_1"}


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"approvals": [APPROVED, RETURNED]}, [APPROVED, RETURNED]),
        # The deprecated fields say the first decision once more, and are not counted twice.
        ({"approvals": [DENIED], "approve": True, "approval_request_id": "call_9"}, [DENIED]),
        ({"approvals": None, "approve": False, "approval_request_id": "call_1",
          "reason": "wrong file"}, [DENIED]),
        ({"approvals": [], "approve": True, "approval_request_id": "call_1"}, [APPROVED]),
        ({"approve": True, "approval_request_id": "call_1"}, [APPROVED]),
        # Where one of the two is missing, nothing was decided.
        ({"approve": True}, []),
        ({"approval_request_id": "call_1", "reason": "?"}, []),
        ({}, []),
        # Elements without their word are told by what they hold.
        ({"approvals": [{"tool_call_id": "call_1", "approve": True}]}, [APPROVED]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False])
def test_decisions_are_normalised(
    fields: dict[str, Any], found: list[dict[str, Any]], named: bool
) -> None:
    told = letta_message("approval_response_message", **fields)
    if not named:  # the schema has a default for the type
        del told["message_type"]
    message = letta.ApprovalResponseMessage.from_dict(told)
    assert [one.to_dict(nulls=True) for one in message.decisions] == found
    create = letta.ApprovalCreate.from_dict(fields)
    assert create.decisions == message.decisions


def test_results_are_read_from_either_place() -> None:
    listed, alone = (letta.message_of(one) for one in SAMPLES["tool_return_message"])
    assert isinstance(listed, letta.ToolReturnMessage)
    assert isinstance(alone, letta.ToolReturnMessage)
    assert [(one.tool_call_id, one.text) for one in listed.returns] == [
        ("call_2", "x = 1"),
        ("call_3", "Hello"),
    ]
    assert [(one.tool_call_id, one.status, one.stderr) for one in alone.returns] == [
        ("call_2", "error", ("Traceback\n",))
    ]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("approval_response_message", {"approve": "no"}, "approve"),
        ("approval_response_message", {"approvals": "none"}, "approvals"),
        ("approval_response_message", {"approvals": [APPROVED, 7]}, "approvals[1]"),
        ("approval_response_message", {"approvals": [{**APPROVED, "approve": 1}]},
         "approvals[0].approve"),
        ("approval_response_message", {"approvals": [{"type": "approval", "approve": True}]},
         "approvals[0].tool_call_id"),
        ("approval_response_message", {"approvals": [{"type": "approval", "tool_call_id": "c"}]},
         "approvals[0].approve"),
        ("approval_response_message", {"approvals": [{**APPROVED, "type": "vote"}]},
         "approvals[0].type"),
        ("approval_response_message", {"approvals": [{**RETURNED, "status": "fine"}]},
         "approvals[0].status"),
        ("approval_response_message", {"approvals": [{**RETURNED, "stdout": [1]}]},
         "approvals[0].stdout[0]"),
        ("approval_response_message", {"id": None}, "id"),
        ("approval_response_message", {"date": "yesterday"}, "date"),
        ("approval_response_message", {"message_type": "assistant_message"}, "message_type"),
        ("approval_response_message", {"seq_id": "4"}, "seq_id"),
        ("approval_request_message", {"tool_call": CALL, "tool_calls": [{"name": "f"}]},
         "tool_calls[0].arguments"),
        ("approval_request_message", {}, "tool_call"),
        ("approval_request_message", {"tool_call": "f"}, "tool_call"),
        ("assistant_message", {}, "content"),
        ("assistant_message", {"content": [7]}, "content[0]"),
        ("reasoning_message", {"reasoning": "", "source": "me"}, "source"),
        ("hidden_reasoning_message", {"state": "gone"}, "state"),
        ("tool_return_message", {"tool_return": "", "tool_call_id": "c"}, "status"),
        ("event_message", {"event_type": "compaction", "event_data": []}, "event_data"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind: str, fields: dict[str, Any], field: str) -> None:
    told = letta_message(kind) | fields
    with pytest.raises(InvalidInput) as caught:
        letta.MESSAGE_TYPES[kind].from_dict(told)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field} of a")
    assert "\n" not in str(caught.value)
    if told["message_type"] == kind:
        with pytest.raises(InvalidInput, match="^" + str(caught.value)[:4]):
            letta.message_of(told)
    found = letta.decoded_of(told)  # which takes all that can be taken
    if told["message_type"] == kind:
        assert found.problem == "odd_field"
        assert field in [fault.field for fault in found.faults]


def test_what_cannot_be_read_is_kept_as_it_came() -> None:
    told = letta_message("assistant_message", content="Hi", otid=7, is_err="?")
    message = letta.decoded_of(told).message
    assert isinstance(message, letta.AssistantMessage)
    assert (message.content, message.otid, message.is_err) == ("Hi", None, None)
    assert message.extra == {"otid": 7, "is_err": "?"}
    assert message.to_dict() == told


def test_a_decision_that_cannot_be_read_decides_nothing() -> None:
    approvals = [APPROVED, {"type": "approval", "tool_call_id": "call_2", "approve": "maybe"}]
    told = letta_message("approval_response_message", approvals=approvals)
    message = letta.decoded_of(told).message
    assert isinstance(message, letta.ApprovalResponseMessage)
    assert [one.tool_call_id for one in message.decisions] == ["call_1"]


@settings(deadline=None)
@given(kind=st.sampled_from(sorted(SAMPLES)), data=st.data())
def test_any_damage_is_read_or_said(kind: str, data: st.DataObject) -> None:
    sample = copy.deepcopy(data.draw(st.sampled_from(SAMPLES[kind])))
    for name in data.draw(st.lists(st.sampled_from(sorted(sample)), max_size=3)):
        sample[name] = data.draw(JSON)
    found = letta.decode(json.dumps(sample))
    assert (found.problem is None) == (not found.faults)
    named = letta.MESSAGE_TYPES.get(sample["message_type"]) if _is_word(sample) else None
    if found.problem is None and named is not None:
        assert named.from_dict(sample) == found.message
    elif named is not None:
        with pytest.raises(InvalidInput):
            named.from_dict(sample)


def _is_word(sample: dict[str, Any]) -> bool:
    return isinstance(sample["message_type"], str)


# -- what is sent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"role": "user", "content": "Hi"}, letta.MessageCreate),
        ({"type": None, "role": "user", "content": "Hi"}, letta.MessageCreate),
        ({"type": "message", "role": "system", "content": [{"type": "text", "text": "Hi"}]},
         letta.MessageCreate),
        ({"type": "approval", "approvals": [APPROVED, RETURNED]}, letta.ApprovalCreate),
        ({"approve": False, "approval_request_id": "call_1"}, letta.ApprovalCreate),
        ({"type": "tool_return", "tool_returns": [RETURNED], "otid": "o"}, letta.ToolReturnCreate),
    ],
)  # fmt: skip
def test_inputs_are_read_as_the_service_reads_them(given: dict[str, Any], kind: type) -> None:
    found = letta.input_of(given)
    assert type(found) is kind
    assert letta.input_of(found.to_dict()) == found


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"type": "approval", "approvals": [{"tool_call_id": "c", "approve": True}]},
         "approvals[0].type"),
        ({"approvals": [APPROVED]}, "role"),  # without its type it is taken for a message
        ({"type": "approval", "approvals": [{**RETURNED, "status": None}]}, "approvals[0].status"),
        ({"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "c"}]},
         "approvals[0].approve"),
        ({"type": "tool_return"}, "tool_returns"),
        ({"type": "vote"}, "type"),
        ({"role": "tool", "content": "x"}, "role"),
        ("Hi", ""),
    ],
)  # fmt: skip
def test_inputs_that_the_service_refuses(given: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        letta.input_of(given)
    assert caught.value.field == field


def test_client_tools() -> None:
    tool = letta.ClientTool(name="read_cell", parameters={"type": "object"})
    assert tool.to_dict() == {"name": "read_cell", "parameters": {"type": "object"}}
    assert letta.ClientTool.from_dict(tool.to_dict()) == tool
    for bad in ({"description": "x"}, {"name": ""}, {"name": 7}):
        with pytest.raises(InvalidInput, match=r"^name of a ClientTool"):
            letta.ClientTool.from_dict(bad)


# -- runs and errors -------------------------------------------------------------------------------


def test_every_reason_to_stop_has_a_status() -> None:
    by_status: dict[str, list[str]] = {}
    for reason in (*letta.STOP_REASONS, "a_new_one"):
        by_status.setdefault(letta.run_status(reason), []).append(reason)
    assert by_status["completed"] == ["end_turn", "max_steps", "tool_rule", "requires_approval"]
    assert by_status["cancelled"] == ["cancelled"]
    assert len(by_status["failed"]) == len(letta.STOP_REASONS) - 5 + 1


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        ({"detail": {"code": "PENDING_APPROVAL", "message": "x", "pending_request_id": "m"}},
         "pending_approval", "PENDING_APPROVAL"),
        ({"detail": "CONFLICT: The agent is waiting for approval on a tool call."},
         "pending_approval", None),
        ({"detail": "Invalid tool call IDs. Expected '['a']', but received '['b']'."},
         "invalid_tool_call_ids", None),
        ({"detail": "No tool call is currently awaiting approval."}, "nothing_pending", None),
        ({"detail": "CONFLICT: Another request (run_id=r) is currently being processed",
          "run_id": "r"}, "busy", None),
        ({"error": {"type": "llm_error", "message": "m", "detail": "d"}}, None, "llm_error"),
        ({"trace_id": "", "detail": "[{'type': 'missing'}]"}, None, None),
        (SAMPLES["error_message"][0], "nothing_pending", "internal_error"),
        ("<html>", None, None),
        ([1], None, None),
        (None, None, None),
    ],
)  # fmt: skip
def test_errors_in_every_shape(body: Any, kind: str | None, code: str | None) -> None:
    found = letta.read_refusal(body, 409)
    assert (found.kind, found.code, found.status) == (kind, code, 409)
    assert found.message or body is None
    assert kind is None or kind in letta.FAULT_KINDS


def test_a_run_is_read() -> None:
    told = {"id": "run-12345678", "agent_id": "agent-1", "status": "completed",
            "stop_reason": "requires_approval", "new": 1}  # fmt: skip
    run = letta.Run.from_dict(told)
    assert (run.status, run.stop_reason, run.extra) == (
        "completed",
        "requires_approval",
        {"new": 1},
    )
    with pytest.raises(InvalidInput, match=r"^status of a Run is 'done'"):
        letta.Run.from_dict({**told, "status": "done"})
