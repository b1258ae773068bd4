"""A trace as OpenTelemetry spans: one for each response, one for each call that a client ran."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from steer_nb._version import __version__
from steer_nb.errors import InvalidInput
from steer_nb.frames.arrays import clean
from steer_nb.frames.export.clock import Clock
from steer_nb.frames.export.facts import (
    call_facts,
    error_type,
    finish_reason,
    input_events,
    refused_facts,
    response_facts,
    steer_events,
)
from steer_nb.frames.export.otel_content import call_content, response_content
from steer_nb.frames.export.otel_names import ATTRIBUTES, EVENTS, OPT_IN
from steer_nb.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.frames.export.redaction import Redaction
    from steer_nb.ledger import ResponseState
    from steer_nb.trace import Trace
    from steer_nb.trace.entries import Entry

__all__ = ["SpanBuilder"]

_SCOPE: Final = InstrumentationScope("steer_nb", __version__)
_PARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_FAILED: Final = ("failed", "error", "truncated")


class SpanBuilder:
    """Makes the spans of a trace, always the same ones.

    Parameters
    ----------
    trace : Trace
        With receive times.
    redaction : Redaction
        What is put in the place of content.
    content : bool
        Whether texts are written at all.
    parent : str, optional
        The caller's span, as a W3C ``traceparent``.
    resource : mapping
        Attributes of the resource, ``service.name`` among them.

    Attributes
    ----------
    left_out : Counter of str
        What has no span, and why, with how often.
    """

    def __init__(
        self,
        trace: Trace,
        redaction: Redaction,
        *,
        content: bool,
        parent: str | None,
        resource: Mapping[str, Any],
    ) -> None:
        self._trace = trace
        self._redaction = redaction
        self._content = content
        self._clock = Clock(trace)
        self._entries = [*trace]
        self._moments = [at for at in map(self._clock.at, self._entries) if at is not None]
        self._resource = Resource({key: self._own(key, value) for key, value in resource.items()})
        self._parent = None if parent is None else _context_of(parent)
        found = self._parent
        self._trace_number = _trace_number(trace.trace_id) if found is None else found.trace_id
        self.left_out: Counter[str] = Counter()

    @property
    def timeless(self) -> bool:
        """Whether nothing that was recorded has a time."""
        return bool(self._entries) and not self._moments

    def spans(self) -> list[ReadableSpan]:
        """Make them: the root first, then in the order in which things began."""
        entries, times = self._entries, self._moments
        ledger = Ledger(dialect=self._trace.header.dialect)
        for entry in entries:
            ledger.apply(entry)
        self._timed = {response.id: self._times(response) for response in ledger.responses.values()}
        loose = self._loose_events(ledger)
        made = [
            self._response(ledger, response)
            for response in ledger.responses.values()
            if self._timed[response.id] is not None
        ]
        made += self._refused(ledger)
        made += self._calls(ledger)
        made.sort(key=lambda span: (span.start_time or 0, span.name))
        if self._parent is None and times:
            ends = [span.end_time for span in made if span.end_time is not None]
            made.insert(0, self._root(min(times), max(times + ends), loose))
        elif loose:
            self.left_out["steers or inputs of a response without a span"] += len(loose)
        return made

    # -- what a span is made of --------------------------------------------------------------

    def _context(self, kind: str, key: str) -> SpanContext:
        name = f"{self._trace.trace_id}\n{kind}\n{key}".encode("utf-8", "replace")
        number = int.from_bytes(hashlib.sha256(name).digest()[:8]) or 1
        flags = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(self._trace_number, number, is_remote=False, trace_flags=flags)

    def _own(self, name: str, value: Any) -> Any:
        """One attribute, redacted; None where it is not written."""
        if name not in ATTRIBUTES:  # a resource attribute of the person's own
            return value
        if value is None or (name in OPT_IN and not self._content):
            return None
        if isinstance(value, str):
            return clean(self._redaction.value(value, ("otel", name)))
        return [self._own(name, one) for one in value] if isinstance(value, list) else value

    def _attributes(self, facts: Mapping[str, Any]) -> BoundedAttributes:
        written = {name: self._own(name, value) for name, value in facts.items()}
        known = {name: value for name, value in written.items() if value is not None}
        return BoundedAttributes(attributes=known)

    def _status(self, code: StatusCode, message: str | None = None) -> Status:
        if code is not StatusCode.ERROR:
            return Status(code)
        return Status(code, self._own("status.description", message))

    def _span(
        self,
        name: str,
        context: SpanContext,
        times: tuple[int, int],
        facts: Mapping[str, Any],
        **more: Any,
    ) -> ReadableSpan:
        more.setdefault("parent", self._parent or self._context("trace", ""))
        return ReadableSpan(
            name=clean(name),
            context=context,
            resource=self._resource,
            attributes=self._attributes(facts),
            start_time=times[0],
            end_time=max(times),
            instrumentation_scope=_SCOPE,
            **more,
        )

    def _event(self, name: str, entry: Entry | None, facts: Mapping[str, Any]) -> list[Event]:
        assert name in EVENTS
        at = self._clock.at(entry)
        return [] if at is None else [Event(name, self._attributes(facts), at)]

    def _named(self, operation: str, attribute: str, value: str | None) -> str:
        target = self._own(attribute, value)
        return operation if target is None else f"{operation} {target}"

    # -- spans -------------------------------------------------------------------------------

    def _root(self, start: int, end: int, events: list[Event]) -> ReadableSpan:
        facts = {
            "steer_nb.trace.id": self._trace.trace_id,
            "steer_nb.source": self._trace.header.source or None,
        }
        context = self._context("trace", "")
        return self._span(
            "steer_nb.trace", context, (start, end), facts, events=events, parent=None
        )

    def _times(self, response: ResponseState) -> tuple[int, int] | None:
        """When a response was asked for, or began, and when it ended."""
        request = response.request
        start = self._clock.at(None if request is None else request.sent)
        start = self._clock.at(response.started) if start is None else start
        if response.is_live:
            self.left_out["responses that have not ended"] += 1
            return None
        end = self._clock.at(response.ended)
        if start is None or end is None:
            self.left_out["responses without times"] += 1
            return None
        return start, end

    def _response(self, ledger: Ledger, response: ResponseState) -> ReadableSpan:
        times = self._timed[response.id]
        assert times is not None
        facts = response_facts(ledger, response, self._trace.header.dialect)
        if self._content:
            facts |= response_content(response, finish_reason(response))
        code, message = StatusCode.UNSET, None
        if response.status in _FAILED:
            code, message = StatusCode.ERROR, response.error_message
            facts["error.type"] = error_type(response)
        elif response.incomplete_reason == "steered":
            code = StatusCode.OK  # it ended as it was asked to
        links = []
        if self._timed.get(response.previous_response_id or "") is not None:
            told = {"gen_ai.request.previous_response.id": response.previous_response_id}
            context = self._context("response", str(response.previous_response_id))
            links.append(Link(context, self._attributes(told)))
        model = facts["gen_ai.request.model"]
        return self._span(
            self._named("chat", "gen_ai.request.model", model),
            self._context("response", response.id),
            times,
            facts,
            kind=SpanKind.CLIENT,
            status=self._status(code, message),
            links=links,
            events=self._events_of(response),
        )

    def _refused(self, ledger: Ledger) -> list[ReadableSpan]:
        """Requests that were refused: no response came of them."""
        made = []
        for request in ledger.requests.values():
            if request.state != "failed" or request.response_id is not None:
                continue
            start, end = self._clock.at(request.sent), self._clock.at(request.ended)
            if start is None or end is None:
                self.left_out["refused requests without times"] += 1
                continue
            facts = refused_facts(ledger, request, self._trace.header.dialect)
            made.append(
                self._span(
                    self._named("chat", "gen_ai.request.model", facts["gen_ai.request.model"]),
                    self._context("request", request.key),
                    (start, end),
                    facts,
                    kind=SpanKind.CLIENT,
                    status=self._status(StatusCode.ERROR, request.error_message),
                )
            )
        return made

    def _calls(self, ledger: Ledger) -> list[ReadableSpan]:
        """Calls that a client ran, where they began and ended in this trace."""
        made = []
        rows = self._trace.frames.tool_calls
        values = rows.astype(object).where(rows.notna(), None).to_numpy()
        for row in (dict(zip(rows.columns, one, strict=True)) for one in values):
            if row["owner"] != "client" or row["kind"] == "mcp_approval" or row["orphan"]:
                continue  # to approve something is no run of a tool
            response = ledger.responses.get(row["response_id"])
            stub = None if response is None else response.required.get(row["call_key"])
            run = None if stub is None else stub.tool
            if run is not None and run.finished is not None:
                start, end = self._clock.at(run.started), self._clock.at(run.finished)
            else:
                start = self._clock.after(row["requested_s"])
                end = self._clock.after(row["answered_s"])
            if start is None or end is None or start > end:
                self.left_out["calls without an answer after them"] += 1
                continue
            facts = call_facts(row)
            if self._content:
                facts |= call_content(row)
            failed = row["result_kind"] == "error"
            more: dict[str, Any] = {}
            if self._timed.get(row["response_id"]) is not None:
                more["parent"] = self._context("response", row["response_id"])
            made.append(
                self._span(
                    self._named("execute_tool", "gen_ai.tool.name", facts["gen_ai.tool.name"]),
                    self._context("call", f"{row['response_id']}\n{row['call_key']}"),
                    (start, end),
                    facts,
                    kind=SpanKind.INTERNAL,
                    status=self._status(StatusCode.ERROR if failed else StatusCode.UNSET),
                    **more,
                )
            )
        return made

    # -- events ------------------------------------------------------------------------------

    def _events_of(self, response: ResponseState) -> list[Event]:
        told = [one for steer in response.steers for one in steer_events(steer)]
        told += [one for state in response.required.values() for one in input_events(state)]
        return self._made(told)

    def _loose_events(self, ledger: Ledger) -> list[Event]:
        """Of steers, and inputs, whose response has no span: they stand on the root."""
        told = []
        for steer in ledger.steers.values():
            if steer.parent is None or self._timed.get(steer.parent.id) is None:
                told += steer_events(steer)
        for response in ledger.responses.values():
            if self._timed[response.id] is None:
                told += [o for state in response.required.values() for o in input_events(state)]
        return self._made(told)

    def _made(self, told: list[tuple[str, Entry | None, dict[str, Any]]]) -> list[Event]:
        events = [event for one in told for event in self._event(*one)]
        return sorted(events, key=lambda event: event.timestamp)


def _trace_number(trace_id: str) -> int:
    """Our own id, where it is one that OpenTelemetry can have."""
    if re.fullmatch(r"[0-9a-f]{32}", trace_id) and int(trace_id, 16):
        return int(trace_id, 16)
    digest = hashlib.sha256(trace_id.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:16]) or 1


def _context_of(parent: str) -> SpanContext:
    found = _PARENT.fullmatch(parent) if isinstance(parent, str) else None
    if found is None or not int(found[1], 16) or not int(found[2], 16):
        rule = "a W3C traceparent: 00-<32 hex digits>-<16 hex digits>-01"
        msg = f"parent is {parent!r}: it must be {rule}."
        raise InvalidInput(msg, field="parent", value=parent, rule=rule)
    flags = TraceFlags(int(found[3], 16))
    return SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
