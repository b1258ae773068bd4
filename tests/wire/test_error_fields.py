"""One set of error fields from every shape that services send (1.5, hard cases 3 and 19)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steer_nb.wire import ErrorFields, decode
from tests.support.strict import assert_server_event

OFFICIAL = [
    (
        '{"type":"error","status":400,"stream_id":"main","error":{"type":"invalid_request_error",'
        '"code":"previous_response_not_found","message":"Previous response with id \'resp_abc\' '
        'not found.","param":"previous_response_id"}}'
    ),
    (
        '{"type":"error","status":400,"error":{"type":"invalid_request_error",'
        '"code":"invalid_stream_id","message":"The \'stream_id\' field …","param":"stream_id"}}'
    ),
    (
        '{"type":"error","status":400,"stream_id":"agent_33","error":{"type":"invalid_request_error",'
        '"code":"websocket_stream_limit_reached","message":"… (32) …","param":"stream_id"}}'
    ),
    (
        '{"type":"error","status":400,"error":{"type":"invalid_request_error",'
        '"code":"websocket_connection_limit_reached","message":"… (60 minutes) …","param":null}}'
    ),
]


@pytest.mark.parametrize("raw", OFFICIAL)
def test_the_four_official_shapes(raw: str) -> None:
    body = json.loads(raw)
    assert_server_event(body)
    fields = decode(raw).error_fields
    error = body["error"]
    assert fields == ErrorFields(
        code=error["code"],
        message=error["message"],
        param=error["param"],
        type="invalid_request_error",
        status=400,
    )


def test_the_flat_shape() -> None:
    body = {"type": "error", "code": "x", "message": "no", "param": "input", "sequence_number": 3}
    assert decode(json.dumps(body)).error_fields == ErrorFields("x", "no", "input")


def test_a_failed_response() -> None:
    body = {
        "type": "response.failed",
        "response": {"status": "failed", "error": {"code": "server_error", "message": "oops"}},
    }
    assert decode(json.dumps(body)).error_fields == ErrorFields("server_error", "oops")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "response.completed", "response": {"error": None}},
        {"type": "response.failed", "response": {"error": None}},
        {"type": "response.failed", "response": None},
        {"type": "error"},
        {"type": "error", "error": None},
        {"type": "x", "data": {"code": "not an error"}, "code": "neither"},
    ],
)
def test_no_error_gives_empty_fields(body: dict[str, Any]) -> None:
    assert decode(json.dumps(body)).error_fields == ErrorFields()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "x", "message": "no"}},
        {"error": {"error": {"code": "x", "message": "no"}}},
        {"error": {"type": "error", "error": {"code": "x", "message": "no", "type": "t"}}},
        {"error": {"message": "upstream failed", "cause": {"code": "x", "message": "no"}}},
        {"response": {"error": {"code": "x", "message": "no"}}},
        {"error": {"message": '{"error":{"code":"x","message":"no"}}'}},
        {"error": '{"error":{"code":"x","message":"no"}}'},
        {"message": '{"code":"x","message":"no"}'},
        {"error": {"code": "x"}, "message": "no"},
    ],
)
def test_the_code_is_found_wherever_it_is_nested(body: dict[str, Any]) -> None:
    fields = decode(json.dumps({"type": "error", **body})).error_fields
    assert (fields.code, fields.message) == ("x", "no")


def test_an_error_that_is_only_a_text() -> None:
    assert decode('{"type":"error","error":"it broke"}').error_fields.message == "it broke"
    odd = '{"type":"error","message":"{not json"}'
    assert decode(odd).error_fields.message == "{not json"


@pytest.mark.parametrize(
    "body",
    [
        {"status": 429, "error": {"code": "x"}, "headers": {"retry-after": "3"}},
        {"status_code": 429, "error": {"code": "x", "headers": {"retry-after": "3"}}},
        {"error": {"code": "x", "status": 429, "headers": {"retry-after": 3}}},
    ],
)
def test_status_and_headers_in_both_places(body: dict[str, Any]) -> None:
    fields = decode(json.dumps({"type": "error", **body})).error_fields
    assert (fields.status, fields.headers) == (429, {"retry-after": "3"})


def test_codes_that_are_numbers_become_words() -> None:
    assert decode('{"type":"error","code":404,"message":"no"}').error_fields.code == "404"


def test_endless_wrapping_ends() -> None:
    body: dict[str, Any] = {"code": "deep"}
    for _ in range(50):
        body = {"error": body}
    assert decode(json.dumps({"type": "error", **body})).error_fields.code is None
