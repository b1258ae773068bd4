"""Whole answers, many in a file: responses that were dumped, and what the Batch API gives back.

Each line is a response object, as ``response.model_dump_json()`` of the `openai` SDK writes it
(also with ``indent``), or one line of a batch's output or error file. A response that continues the
newest of a lane stays on that lane; a line of a batch has a lane of its own, named by its
`custom_id`. A request that failed becomes an ``error`` event, and a problem with its line.

Source: ``BatchRequestOutput`` of the OpenAPI description (``POST /v1/batches``, output file), and
`openai.types.responses.Response`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.trace.readers.exchanges import body_message
from steer_nb.trace.readers.objects import first_objects, is_spread, spread, value_of
from steer_nb.trace.readers.recording import excerpt
from steer_nb.trace.readers.source import HEAD
from steer_nb.trace.readers.sse import other_service
from steer_nb.wire.jsonio import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["holds_bodies", "read", "read_list", "recognise"]

_SCANNED: Final = 20
_BEGIN: Final = re.compile(rb'\s*\{\s*"id"\s*:\s*"(?:resp|batch_req)_')
_NOT_LANE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def recognise(head: bytes) -> bool:
    """Say whether one of the first lines, or objects, is one of many answers.

    A file that holds one response object and nothing else is a document. One that is too large to
    be seen whole, as pictures make it, is known by how it begins.
    """
    if len(head) >= HEAD and _BEGIN.match(head):
        return True
    values = [value_of(text) for text in first_objects(head, 2 if is_spread(head) else _SCANNED)]
    return any(_is_batch(one) or (len(values) > 1 and _is_answer(one)) for one in values)


def _is_answer(value: Any) -> bool:
    """Say whether a value is a response object, or a line of a batch."""
    return _is_batch(value) or (isinstance(value, dict) and value.get("object") == "response")


def _is_batch(value: Any) -> bool:
    if not isinstance(value, dict) or not {"custom_id", "response"} <= value.keys():
        return False
    answer, error = value["response"], value.get("error")
    if isinstance(answer, dict):
        return "body" in answer and "status_code" in answer
    return answer is None and isinstance(error, dict)


def holds_bodies(value: Any) -> bool:
    """Say whether a document is a list of answers; the API calls one `data` of a ``list``."""
    listed = _listed(value)
    return bool(listed) and _is_answer(listed[0])


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict) and value.get("object") == "list":
        value = value.get("data")
    return value if isinstance(value, list) else []


def read(source: Source, found: Recording) -> None:
    """Read answers, one a line or one below the other."""
    answers = _Answers(found)
    lines = spread(source) if is_spread(source.head) else _lines(source)
    for number, line, torn in lines:
        taken = found.line(line.strip(), number, torn=torn) if line.strip() else None
        if taken is not None:
            answers.take(taken[0], number)
    if source.broken is not None:
        found.odd("truncated", f"the file breaks off: {source.broken}", None)


def _lines(source: Source) -> Iterator[tuple[int, bytes, bool]]:
    for number, line in source.lines():
        yield number, line, source.torn


def read_list(text: str, value: Any, found: Recording) -> None:
    """Read a list of answers, in its order."""
    answers = _Answers(found)
    for number, one in enumerate(_parts(text, value), start=1):
        answers.take(one, number)


def _parts(text: str, value: Any) -> list[str]:
    """Each of a list's values as it stands in the file."""
    try:
        if isinstance(value, dict):
            text = bytes(_fields(text)["data"]).decode()
        return [bytes(part).decode() for part in msgspec.json.decode(text, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return [json.dumps(one, ensure_ascii=False) for one in _listed(value)]  # NaN and its like


class _Answers:
    """Takes answers in the order in which they stand."""

    def __init__(self, found: Recording) -> None:
        self._found = found
        self._lane_of: dict[str, str] = {}
        self._tips: dict[str, str | None] = {}
        self._counts: Counter[str] = Counter()
        found.connected()

    def take(self, text: str, place: int) -> None:
        """Take one answer, or note why it is left out."""
        value = value_of(text.encode("utf-8", "replace"))
        if _is_batch(value):
            self._batch(text, value, place)
        elif isinstance(value, dict) and value.get("object") == "response":
            lane = self._lane(value)
            raw = body_message(text, value, None)
            self._found.message("in", raw, place, data=self._found.on_lane(lane))
        else:
            other = other_service(value) if isinstance(value, dict) else None
            why = "no response object" if other is None else f"an answer of {other}"
            self._found.odd("skipped", f"{why}, not of the Responses API", place, text)

    def _batch(self, text: str, line: dict[str, Any], place: int) -> None:
        found = self._found
        answer = line["response"] if isinstance(line["response"], dict) else {}
        status, body = answer.get("status_code"), answer.get("body")
        status = status if isinstance(status, int) else None
        name = line["custom_id"] if isinstance(line["custom_id"], str) else ""
        other = other_service(body) if isinstance(body, dict) else None
        if other is not None:
            why = f"{shown(name)}: an answer of {other}, not of the Responses API"
            found.odd("skipped", why, place)
            return
        data = found.on_lane(self._named(name), custom_id=name)
        if isinstance(answer.get("request_id"), str):
            data["request_id"] = answer["request_id"]
        if isinstance(body, dict) and body.get("object") == "response":
            found.message("in", body_message(_body(text, body), body, status), place, data=data)
            return
        # What failed before it was run has no answer; what a proxy says may be no JSON.
        failed = line.get("error") if body is None else body
        if isinstance(failed, dict) and isinstance(failed.get("error"), dict):
            failed = failed["error"]
        elif not isinstance(failed, dict):
            failed = {"message": excerpt(str(failed))}
        found.message("in", body_message("", {"error": failed}, status), place, data=data)
        said = str(failed.get("message") or failed.get("code") or "no reason is given")
        coded = "" if status is None else f" with status {status}"
        found.odd("failed", f"the request {shown(name)} failed{coded}: {excerpt(said)}", place)

    def _lane(self, response: dict[str, Any]) -> str:
        """The lane of a response: that of what it continues, or repeats; else a new one."""
        own, previous = str(response.get("id")), response.get("previous_response_id")
        lane = self._lane_of.get(own)
        if lane is None and isinstance(previous, str):
            known = self._lane_of.get(previous)
            lane = known if known is not None and self._tips.get(known) == previous else None
        if lane is None:
            lane = self._named(self._found.lane)
        self._lane_of[own] = lane
        self._tips[lane] = own
        return lane

    def _named(self, wanted: str) -> str:
        """Name a new lane."""
        wanted = _NOT_LANE.sub("_", wanted)[:200] or self._found.lane
        name = wanted
        while name in self._tips:
            self._counts[wanted] += 1
            name = f"{wanted}-{self._counts[wanted] + 1}"
        self._tips[name] = None
        return name


def _body(text: str, body: dict[str, Any]) -> str:
    """The response object of a batch's line, as it stands there."""
    try:
        return bytes(_fields(_fields(text)["response"])["body"]).decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return json.dumps(body, ensure_ascii=False)  # NaN and its like
