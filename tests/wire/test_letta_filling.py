"""What fills the input that a Letta agent waits for: both kinds, and what breaks a rule."""

from __future__ import annotations

import pytest

from steer_nb.errors import InvalidInput
from steer_nb.wire import cancelled_fields, fill_stub, kind_of
from steer_nb.wire.letta import input_of
from steer_nb.wire.letta.content import content_of, messages_of

GATED = {"type": "letta_approval", "tool_call_id": "call_1", "name": "delete_file"}
OWN = {"type": "letta_tool_return", "tool_call_id": "call_2", "name": "weather"}


@pytest.mark.parametrize(
    ("stub", "fields", "filled"),
    [
        (GATED, {"approve": True}, {"type": "approval", "approve": True}),
        (GATED, {"approve": True, "reason": None}, {"type": "approval", "approve": True}),
        (
            OWN,
            {"approve": False, "reason": "no"},
            {"type": "approval", "approve": False, "reason": "no"},
        ),
        (
            GATED,
            {"output": "done"},
            {"type": "tool", "tool_return": "done", "status": "success"},
        ),
        (
            OWN,
            {"output": {"sat": 18}, "status": "error", "stdout": "a", "stderr": ["b", "c"]},
            {
                "type": "tool", "tool_return": '{"sat":18}', "status": "error",
                "stdout": ["a"], "stderr": ["b", "c"],
            },
        ),
        (OWN, {"output": None}, {"type": "tool", "tool_return": "null", "status": "success"}),
        (
            OWN,
            {"output": [{"type": "input_text", "text": "x"}]},
            {
                "type": "tool", "status": "success",
                "tool_return": [{"type": "text", "text": "x"}],
            },
        ),
    ],
)  # fmt: skip
def test_it_is_as_the_wire_has_it(stub, fields, filled):
    made = fill_stub(stub, **fields)
    assert made == {"tool_call_id": stub["tool_call_id"], **filled}
    input_of({"type": "approval", "approvals": [made]})  # what the service would take


@pytest.mark.parametrize(
    ("stub", "fields", "field"),
    [
        (GATED, {}, "approve"),
        (OWN, {}, "output"),
        (GATED, {"approve": "yes"}, "approve"),
        (OWN, {"approve": True}, "approve"),
        (OWN, {"status": "error"}, "output"),
        (OWN, {"output": "x", "status": "completed"}, "status"),
        (OWN, {"output": "x", "stdout": 3}, "stdout"),
        (GATED, {"approve": True, "output": "x"}, "output"),
        (GATED, {"approve": True, "tools": []}, "tools"),
        (OWN, {"output": [{"type": "input_text", "text": "x"}], "status": "error"}, "output"),
        (OWN, {"output": [{"type": "input_file", "file_id": "f"}]}, "output[0]"),
        (OWN, {"output": float("nan")}, "output"),
    ],
)
def test_what_breaks_a_rule_is_named(stub, fields, field):
    with pytest.raises(InvalidInput) as caught:
        fill_stub(stub, **fields)
    assert caught.value.field == field


@pytest.mark.parametrize("stub", [GATED, OWN])
def test_it_can_be_cancelled(stub):
    made = fill_stub(stub, **cancelled_fields(stub))
    assert (made["type"], made["approve"]) == ("approval", False)
    assert kind_of(stub).type == stub["type"]


def test_pictures_become_letta_s():
    picture = {"type": "input_image", "image_url": "data:image/gif;base64,R0lGODlh"}
    source = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}
    assert content_of([picture], "input") == [{"type": "image", "source": source}]
    elsewhere = {"type": "input_image", "image_url": "https://example.org/a.png"}
    assert content_of([elsewhere], "x")[0]["source"]["type"] == "url"
    said = messages_of([{"type": "message", "role": "user", "content": [picture]}])
    assert said[0]["content"][0]["type"] == "image"
    with pytest.raises(InvalidInput, match="a message of the role"):
        messages_of([{"type": "function_call_output", "call_id": "c", "output": "x"}])
