"""Answering everything as cancelled must always be possible (hard case 32)."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest

from steer_nb.wire import CANCELLED, cancelled_fields, fill_stub
from tests.support.strict import assert_input_item
from tests.wire.samples import CALLS, STUBS


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", sorted(STUBS))
def test_every_kind_can_be_cancelled(kind: str, known: bool) -> None:
    call = CALLS[kind] if known else None
    assert_input_item(fill_stub(STUBS[kind], call, **cancelled_fields(STUBS[kind], call)))


def test_unknown_kinds_too() -> None:
    stub = {"type": "dream_output", "call_id": "call_9"}
    assert fill_stub(stub, **cancelled_fields(stub)) == stub | {"output": CANCELLED}


def test_what_the_model_is_told() -> None:
    assert cancelled_fields(STUBS["function_call_output"]) == {"output": CANCELLED}
    assert cancelled_fields(STUBS["tool_search_output"]) == {"tools": []}
    assert cancelled_fields(STUBS["mcp_approval_response"])["approve"] is False
    assert cancelled_fields(STUBS["apply_patch_call_output"])["status"] == "failed"


@pytest.mark.parametrize(
    ("call", "count"),
    [(CALLS["shell_call_output"], 2), (None, 1), ({"action": {"commands": []}}, 0)],
)
def test_no_shell_command_is_said_to_have_worked(call: dict[str, Any] | None, count: int) -> None:
    outputs = cancelled_fields(STUBS["shell_call_output"], call)["output"]
    assert len(outputs) == count
    assert all(output["outcome"]["exit_code"] != 0 for output in outputs)
    assert all(output["stderr"] == CANCELLED for output in outputs)


def test_pending_safety_checks_are_copied_as_the_schema_has_them() -> None:
    pending = [{"id": "sc_1", "code": None, "message": "m", "zz_new": 1}, {"id": "sc_2"}, "odd"]
    call = CALLS["computer_call_output"] | {"pending_safety_checks": pending}
    fields = cancelled_fields(STUBS["computer_call_output"], call)
    assert fields["acknowledged_safety_checks"] == [{"id": "sc_1", "message": "m"}, {"id": "sc_2"}]
    assert_input_item(fill_stub(STUBS["computer_call_output"], call, **fields))
    assert "acknowledged_safety_checks" not in cancelled_fields(STUBS["computer_call_output"])


def test_the_placeholder_is_a_whole_png() -> None:
    url = cancelled_fields(STUBS["computer_call_output"])["output"]["image_url"]
    head, data = url.split(",")
    assert head == "data:image/png;base64"
    png = base64.b64decode(data, validate=True)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        name, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + size
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    assert (width, height) == (32, 32)
    assert len(zlib.decompress(chunks[b"IDAT"])) == height * (width + 1)
    assert b"IEND" in chunks
