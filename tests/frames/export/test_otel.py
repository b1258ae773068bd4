"""Spans: made by the SDK's own classes, and received over HTTP by those of OTLP."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from steer_nb.errors import ExportFailed, InvalidInput, MissingExtra
from steer_nb.frames.export.otel_names import ATTRIBUTES, EVENTS, OPT_IN, SOURCES
from steer_nb.trace import SCHEMA, Header, Trace, TraceSet
from tests.frames.export.played import played
from tests.frames.recordings import stream
from tests.frames.test_schema import empty, full
from tests.support.traces import TRACE_ID, TraceBuilder, call, message, stub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
START = 1_700_000_000_000_000_000


def in_memory(trace: Trace, **options: Any) -> list[ReadableSpan]:
    memory = InMemorySpanExporter()
    done = trace.export.otel(exporter=memory, **options)
    spans = list(memory.get_finished_spans())
    assert done.spans == len(spans)
    return spans


def named(spans: list[ReadableSpan], start: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name.startswith(start)]


def steered() -> TraceBuilder:
    """A response that was steered, and its successor."""
    builder = TraceBuilder().connect("wss://api.openai.com/v1/responses")
    builder.create("go", lane="a").created("r1", lane="a").added(message(""), lane="a")
    builder.delta("One", lane="a").steer("r1", "shorter").accepted("s1", "r1", lane="a")
    builder.ended("r1", "incomplete", reason="steered", lane="a", output=[message("One")])
    builder.created("r2", previous="r1", lane="a")
    usage = {
        "input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 3},
    }  # fmt: skip
    return builder.ended("r2", lane="a", previous="r1", output=[message("1")], usage=usage)


class Collector:
    """An OTLP endpoint: it reads what comes with OTLP's own classes, and refuses all else."""

    def __init__(self, status: int = 200) -> None:
        outer = self
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.headers["Content-Type"] == "application/x-protobuf"
                request = ExportTraceServiceRequest()
                request.ParseFromString(body)
                outer.requests.append(request)
                outer.headers.append(dict(self.headers))
                outer.paths.append(self.path)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Collector:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as one:
        yield one


class TestSpans:
    def test_each_response_is_one(self):
        root, first, second = in_memory(steered().trace)
        assert (root.name, first.name, second.name) == ("steer_nb.trace", "chat m", "chat m")
        assert first.kind is second.kind is SpanKind.CLIENT
        assert first.attributes["gen_ai.response.id"] == "r1"
        assert first.parent.span_id == second.parent.span_id == root.context.span_id
        assert f"{root.context.trace_id:032x}" == TRACE_ID
        wanted = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.response.model": "m",
            "gen_ai.response.id": "r2",
            "gen_ai.request.previous_response.id": "r1",
            "gen_ai.response.finish_reasons": ("stop",),
            "gen_ai.usage.input_tokens": 9,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.usage.cache_read.input_tokens": 4,
            "gen_ai.usage.cache_write.input_tokens": 2,
            "gen_ai.usage.reasoning.output_tokens": 3,
            "openai.api.type": "responses",
            "server.address": "api.openai.com",
            "server.port": 443,
            "steer.lane": "a",
            "steer_nb.response.status": "completed",
            "steer_nb.response.origin": "steer_auto",
        }
        found = dict(second.attributes)
        # Nothing was asked for to bring a steered successor about.
        wanted["gen_ai.request.stream"] = True
        assert found == wanted

    def test_what_was_asked_for(self):
        body = {
            "type": "response.create", "model": "m", "input": "x", "temperature": 1,
            "top_p": 0.5, "max_output_tokens": 9, "reasoning": {"effort": "low"},
            "service_tier": "flex", "conversation": {"id": "conv_1"},
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
        }  # fmt: skip
        trace = TraceBuilder().out(body).created("r1").ended("r1").trace
        attributes = in_memory(trace)[1].attributes
        assert attributes["gen_ai.request.temperature"] == 1.0
        assert attributes["gen_ai.request.top_p"] == 0.5
        assert attributes["gen_ai.request.max_tokens"] == 9
        assert attributes["gen_ai.request.reasoning.level"] == "low"
        assert attributes["openai.request.service_tier"] == "flex"
        assert attributes["gen_ai.conversation.id"] == "conv_1"
        assert attributes["gen_ai.output.type"] == "json"

    def test_times_are_those_of_the_trace(self):
        root, first, second = in_memory(steered().trace)
        trace = steered().trace
        request, created, end = trace[1], trace[8], trace[9]
        assert first.start_time == START + round(request.t * 1e9)
        assert second.start_time == START + round(created.t * 1e9)
        assert second.end_time == START + round(end.t * 1e9) == root.end_time
        assert root.start_time == START

    def test_a_successor_links_to_what_it_continues(self):
        _, first, second = in_memory(steered().trace)
        (link,) = second.links
        assert link.context == first.context
        assert not first.links

    def test_a_steered_response_is_no_error(self):
        _, first, second = in_memory(steered().trace)
        assert first.status.status_code is StatusCode.OK
        assert first.attributes["gen_ai.response.finish_reasons"] == ("steered",)
        assert second.status.status_code is StatusCode.UNSET

    def test_steers_are_events_of_what_they_steer(self):
        _, first, _ = in_memory(steered().trace)
        assert [event.name for event in first.events] == [
            "steer.sent", "steer.accepted", "steer.committed",
        ]  # fmt: skip
        sent, accepted, committed = first.events
        assert sent.attributes["steer.lane"] == "a"
        assert [e.attributes["steer.state"] for e in first.events] == [
            "sent", "accepted", "committed",
        ]  # fmt: skip
        assert {e.attributes["steer.id"] for e in first.events} == {"s1"}
        assert committed.attributes["steer.successor.response.id"] == "r2"
        assert sent.timestamp < accepted.timestamp < committed.timestamp

    def test_steers_that_wait_or_fail(self):
        spans = in_memory(full())
        names = [event.name for span in spans for event in span.events]
        assert "steer.pending" in names
        builder = TraceBuilder().create().created("r1").steer("r1", "more").ended("r1")
        trace = builder.failed("r1", "more", "response_not_in_progress").trace
        (failed,) = [e for s in in_memory(trace) for e in s.events if e.name == "steer.failed"]
        assert failed.attributes["steer.failure.code"] == "response_not_in_progress"

    def test_a_steer_of_nothing_stands_on_the_root(self):
        trace = TraceBuilder().steer("gone", "more").failed("gone", "more", "x").trace
        (root,) = in_memory(trace)
        assert [event.name for event in root.events] == ["steer.sent", "steer.failed"]

    def test_required_input_is_asked_for_and_supplied(self):
        spans = in_memory(played("approval"))
        events = [e for span in spans for e in span.events if e.name.startswith("input.")]
        assert [event.name for event in events] == ["input.required", "input.supplied"]
        asked, given = events
        assert asked.attributes["input.type"] == "mcp_approval_response"
        assert given.attributes["input.approve"] is False
        assert given.timestamp > asked.timestamp
        assert not named(spans, "execute_tool")  # to decline is no run of a tool

    def test_calls_that_a_client_ran_are_children(self):
        spans = in_memory(played("seven"))
        tools = named(spans, "execute_tool")
        assert {span.name for span in tools} >= {"execute_tool shell", "execute_tool computer"}
        responses = {span.context.span_id: span for span in named(spans, "chat")}
        for span in tools:
            assert span.kind is SpanKind.INTERNAL
            assert span.attributes["gen_ai.operation.name"] == "execute_tool"
            assert span.attributes["gen_ai.tool.call.id"]
            assert span.attributes["gen_ai.tool.type"] == "function"
            parent = responses[span.parent.span_id]
            assert parent.start_time <= span.start_time <= span.end_time

    def test_a_run_of_a_function_has_its_own_times_and_its_error(self):
        builder = TraceBuilder().create().created("r1").done(call()).ended("r1", output=[call()])
        builder.note("tool_started", parent="r1", key="call_1", name="get_weather", by="user")
        told = {"ok": False, "error": "ValueError: no", "output": "ValueError: no"}
        builder.note("tool_finished", parent="r1", key="call_1", duration_s=0.1, **told)
        builder.create([{**stub(), "output": "ValueError: no"}], previous="r1")
        trace = builder.trace
        (tool,) = named(in_memory(trace), "execute_tool")
        assert tool.start_time == START + 400_000_000
        assert tool.end_time == START + 500_000_000
        assert tool.status.status_code is StatusCode.ERROR
        assert tool.attributes["error.type"] == "tool_error"

    @pytest.mark.parametrize(
        ("status", "reason", "code", "finished"),
        [
            ("completed", None, StatusCode.UNSET, "stop"),
            ("incomplete", "max_output_tokens", StatusCode.UNSET, "length"),
            ("incomplete", "content_filter", StatusCode.UNSET, "content_filter"),
            ("incomplete", "new_reason", StatusCode.UNSET, "new_reason"),
            ("failed", None, StatusCode.ERROR, "error"),
        ],
    )
    def test_how_it_ended(self, status, reason, code, finished):
        trace = TraceBuilder().create().created("r1").ended("r1", status, reason=reason).trace
        span = in_memory(trace)[1]
        assert span.status.status_code is code
        assert span.attributes["gen_ai.response.finish_reasons"] == (finished,)
        assert ("error.type" in span.attributes) == (code is StatusCode.ERROR)

    def test_a_lost_connection_is_an_error(self):
        trace = TraceBuilder().connect().create().created("r1").close().trace
        span = in_memory(trace)[1]
        assert span.attributes["error.type"] == "connection_lost"
        assert span.end_time == START + 300_000_000

    def test_a_refused_request_is_one_too(self):
        error = {"code": "model_not_found", "message": "There is none."}
        trace = TraceBuilder().create(lane="a").event("error", lane="a", error=error).trace
        _, refused = in_memory(trace)
        assert refused.attributes["error.type"] == "model_not_found"
        assert refused.status.status_code is StatusCode.ERROR
        assert refused.status.description is None
        assert in_memory(trace, content=True)[1].status.description == "There is none."

    def test_what_has_no_end_is_left_out_and_named(self):
        trace = TraceBuilder().create().created("r1").steer("r1", "more").trace
        memory = InMemorySpanExporter()
        done = trace.export.otel(exporter=memory)
        assert done.left_out == {"responses that have not ended": 1}
        (root,) = memory.get_finished_spans()
        assert [event.name for event in root.events] == ["steer.sent"]
        assert "left out: responses that have not ended (1)" in str(done)

    def test_the_same_trace_gives_the_same_spans(self):
        trace = played("seven")
        one, two = (encode_spans(trace.export.spans(content=True)) for _ in range(2))
        assert one == two
        again = Trace(trace.header, trace.entries)
        assert encode_spans(again.export.spans(content=True)) == one
        ids = [span.context.span_id for span in trace.export.spans()]
        assert len(set(ids)) == len(ids)

    @pytest.mark.parametrize("trace_id", ["0" * 32, "t", "", "AB" * 16])
    def test_an_id_that_is_none_of_opentelemetry(self, trace_id):
        trace = Trace(Header(SCHEMA, trace_id, 0.0), steered().trace.entries)
        spans = in_memory(trace)
        assert len({span.context.trace_id for span in spans}) == 1
        assert all(span.context.is_valid for span in spans)
        assert spans[0].attributes.get("steer_nb.trace.id", "") == trace_id

    def test_a_callers_span_is_the_parent(self):
        spans = in_memory(steered().trace, parent=PARENT)
        assert [span.name for span in spans] == ["chat m", "chat m"]
        for span in spans:
            assert f"{span.context.trace_id:032x}" == PARENT[3:35]
            assert f"{span.parent.span_id:016x}" == PARENT[36:52]

    def test_the_resource_names_the_service(self, monkeypatch):
        trace = steered().trace
        assert in_memory(trace)[0].resource.attributes == {"service.name": "steer-nb"}
        monkeypatch.setenv("OTEL_SERVICE_NAME", "from-env")
        more = {"deployment.environment.name": "test"}
        found = in_memory(trace, resource=more)[0].resource.attributes
        assert found == {"service.name": "from-env", **more}
        found = in_memory(trace, service_name="mine")[0].resource.attributes
        assert found == {"service.name": "mine"}

    def test_a_set_has_those_of_each_trace(self):
        untimed = [e for e in steered().trace if e.raw]
        untimed = [type(e)(e.seq, None, None, e.kind, 1, raw=e.raw) for e in untimed]
        runs = TraceSet(
            [steered().trace, Trace(Header(SCHEMA, "b" * 32), untimed), played("seven")]
        )
        memory = InMemorySpanExporter()
        done = runs.export.otel(exporter=memory)
        assert done.left_out == {"traces without receive times": 1}
        assert len({span.context.trace_id for span in memory.get_finished_spans()}) == 2

    def test_an_empty_trace_has_none(self):
        assert in_memory(empty()) == []


class TestNames:
    def test_only_names_of_the_table_are_written(self):
        for scenario in ("seven", "planner", "failures", "gallery"):
            for span in in_memory(played(scenario), content=True):
                assert set(span.attributes) <= set(ATTRIBUTES)
                for event in span.events:
                    assert event.name in EVENTS
                    assert set(event.attributes) <= set(ATTRIBUTES)

    def test_each_has_a_source(self):
        for one in ATTRIBUTES.values():
            assert one.source in SOURCES
            own = one.name.startswith(("steer", "input.", "status."))
            assert (one.source == "own") == own, one.name

    def test_they_are_those_of_the_sdk_where_it_has_them(self):
        listed = pytest.importorskip("opentelemetry.semconv._incubating.attributes")
        __import__(f"{listed.__name__}.gen_ai_attributes")
        known = {v for k, v in vars(listed.gen_ai_attributes).items() if k.isupper()}
        newer = {
            # Newer than the SDK's own list, from the conventions' repository.
            "gen_ai.request.previous_response.id",
            "gen_ai.request.reasoning.level",
            "gen_ai.usage.cache_write.input_tokens",
        }
        ours = {name for name in ATTRIBUTES if name.startswith("gen_ai.")}
        assert ours - known <= newer


class TestContent:
    def test_texts_are_written_only_where_asked_for(self):
        for scenario in ("seven", "planner"):
            for span in in_memory(played(scenario)):
                assert not OPT_IN & set(span.attributes)
                assert not any(OPT_IN & set(event.attributes) for event in span.events)
        first = in_memory(steered().trace, content=True)[1]
        assert json.loads(first.attributes["gen_ai.input.messages"]) == [
            {"role": "user", "parts": [{"type": "text", "content": "go"}]}
        ]
        assert json.loads(first.attributes["gen_ai.output.messages"]) == [
            {
                "role": "assistant",
                "parts": [{"type": "text", "content": "One"}],
                "finish_reason": "steered",
            }
        ]
        assert first.events[0].attributes["steer.input"] == "shorter"

    def test_a_steered_successor_was_told_what_the_steer_says(self):
        second = in_memory(steered().trace, content=True)[2]
        (told,) = json.loads(second.attributes["gen_ai.input.messages"])
        assert told["parts"] == [{"type": "text", "content": "shorter"}]

    def test_calls_and_their_results(self):
        spans = in_memory(played("weather"), content=True)
        (tool,) = named(spans, "execute_tool")
        assert "Lisbon" in tool.attributes["gen_ai.tool.call.arguments"]
        assert tool.attributes["gen_ai.tool.call.result"]
        asked, answered = named(spans, "chat")
        (said,) = json.loads(asked.attributes["gen_ai.output.messages"])
        kinds = {part["type"] for part in said["parts"]}
        assert "tool_call" in kinds
        assert said["finish_reason"] == "tool_call"
        (heard,) = json.loads(answered.attributes["gen_ai.input.messages"])
        assert heard["role"] == "tool"
        assert heard["parts"][0]["type"] == "tool_call_response"
        system = json.loads(asked.attributes["gen_ai.system_instructions"])
        assert system == [{"type": "text", "content": "Be brief."}]
        (tool,) = json.loads(asked.attributes["gen_ai.tool.definitions"])
        assert tool["name"] == "get_weather"

    def test_redact_goes_over_it(self):
        first = in_memory(steered().trace, content=True, redact=True)[1]
        (said,) = json.loads(first.attributes["gen_ai.output.messages"])
        assert said["parts"] == [{"type": "text", "content": "[3 characters]"}]
        assert first.events[0].attributes["steer.input"] == "[7 characters]"


class TestEndpoint:
    def test_it_gets_the_spans_over_http(self, collector):
        trace = played("seven")
        done = trace.export.otel(collector.url, content=True, headers={"x-key": "k"})
        assert done.where == f"{collector.url}/v1/traces"
        assert collector.paths == ["/v1/traces"]
        assert collector.headers[0]["x-key"] == "k"
        assert collector.requests == [encode_spans(trace.export.spans(content=True))]

    def test_a_path_of_its_own_is_left(self, collector):
        steered().trace.export.otel(f"{collector.url}/otlp/v1/traces")
        assert collector.paths == ["/otlp/v1/traces"]

    def test_many_spans_go_in_several_messages(self, collector):
        builder = TraceBuilder()
        for number in range(600):
            builder.create().created(f"r{number}").ended(f"r{number}")
        assert builder.trace.export.otel(collector.url).spans == 601
        sizes = [
            len(scope.spans)
            for request in collector.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
        ]
        assert sizes == [512, 89]

    def test_who_refuses_is_named_and_no_key_of_its_address(self):
        with Collector(status=400) as refusing:
            url = refusing.url.replace("//", "//me:pass-word@")
            with pytest.raises(ExportFailed, match="did not take the spans") as caught:
                steered().trace.export.otel(url, timeout=2)
        assert "400" in str(caught.value)
        assert "pass-word" not in str(caught.value)

    def test_nobody_listens(self):
        with pytest.raises(ExportFailed, match="Is a collector listening there"):
            steered().trace.export.otel("http://127.0.0.1:9", timeout=0.5)

    def test_a_collector_passes_them_on_as_they_are(self, collector):
        """Skipped where there is none: ``pip install rotel``."""
        rotel = pytest.importorskip("rotel", reason="no OpenTelemetry collector (rotel)")
        places = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        command = [
            Path(rotel.__file__).with_name("rotel-agent"), "start",
            "--otlp-http-endpoint", places[0], "--otlp-grpc-endpoint", places[1],
            "--exporter", "otlp", "--otlp-exporter-protocol", "http",
            "--otlp-exporter-endpoint", collector.url,
        ]  # fmt: skip
        trace = played("seven")
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        ) as agent:
            try:
                # The exporter tries again until the collector listens.
                trace.export.otel(f"http://{places[0]}", content=True, timeout=20)
                deadline = time.monotonic() + 20
                while not collector.requests and time.monotonic() < deadline:
                    time.sleep(0.05)
            finally:
                agent.terminate()
        (request,) = collector.requests
        expected = encode_spans(trace.export.spans(content=True))
        passed_on = request.resource_spans[0].scope_spans[0].spans
        assert list(passed_on) == list(expected.resource_spans[0].scope_spans[0].spans)


class TestFile:
    def test_it_holds_what_otlp_has_in_json(self, tmp_path):
        trace = played("seven")
        done = trace.export.otel(file=tmp_path / "spans.jsonl", content=True)
        (line,) = (tmp_path / "spans.jsonl").read_text("utf-8").splitlines()
        found = json.loads(line)
        (resource,) = found["resourceSpans"]
        spans = resource["scopeSpans"][0]["spans"]
        assert len(spans) == done.spans
        expected = trace.export.spans(content=True)
        for span, own in zip(spans, expected, strict=True):
            assert span["traceId"] == f"{own.context.trace_id:032x}"
            assert span["spanId"] == f"{own.context.span_id:016x}"
            assert span["startTimeUnixNano"] == str(own.start_time)
            assert span["kind"] in (1, 3)
        # Ids aside, it is protobuf's JSON, which OTLP's own classes read.
        for span in spans:
            for key in ("traceId", "spanId", "parentSpanId"):
                span.pop(key, None)
            for link in span.get("links", ()):
                link.pop("traceId"), link.pop("spanId")
        request = json_format.ParseDict(found, ExportTraceServiceRequest())
        names = [span.name for span in request.resource_spans[0].scope_spans[0].spans]
        assert names == [span.name for span in expected]

    def test_an_old_file_is_replaced(self, tmp_path):
        for _ in range(2):
            steered().trace.export.otel(file=tmp_path / "spans.jsonl")
        assert len((tmp_path / "spans.jsonl").read_text("utf-8").splitlines()) == 1


class TestRefusals:
    def test_a_trace_without_times_is_not_given_any(self, tmp_path):
        entries = [
            type(entry)(entry.seq, None, None, entry.kind, 1, raw=entry.raw)
            for entry in steered().trace
            if entry.raw
        ]
        trace = Trace(Header(SCHEMA, "a" * 32, source="jsonl"), entries)
        with pytest.raises(ExportFailed, match="no receive times"):
            trace.export.otel(file=tmp_path / "spans.jsonl")
        assert not (tmp_path / "spans.jsonl").exists()

    def test_nor_is_a_recording(self, tmp_path):
        from tests.frames.recordings import STREAMS

        name = next(iter(STREAMS), "")
        with pytest.raises(ExportFailed, match="no receive times"):
            stream(name).export.spans()

    @pytest.mark.parametrize("options", [{}, {"endpoint": "http://x", "file": "a"}])
    def test_one_place(self, options):
        with pytest.raises(InvalidInput, match="one of endpoint=, file= and exporter="):
            steered().trace.export.otel(**options)

    @pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://x", "http://"])
    def test_an_address_that_is_none(self, endpoint):
        with pytest.raises(InvalidInput, match="http or https address"):
            steered().trace.export.otel(endpoint)

    @pytest.mark.parametrize(
        "parent", ["", "00-1-2-3", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", 7]
    )
    def test_a_parent_that_is_none(self, parent):
        with pytest.raises(InvalidInput, match="traceparent"):
            steered().trace.export.spans(parent=parent)

    def test_an_exporter_that_fails(self):
        class Failing(SpanExporter):
            def export(self, spans: Any) -> SpanExportResult:
                return SpanExportResult.FAILURE

        with pytest.raises(ExportFailed, match="Failing did not take"):
            steered().trace.export.otel(exporter=Failing())

    def test_without_the_sdk_the_extra_is_named(self, monkeypatch):
        import sys

        for name in [n for n in sys.modules if n.startswith("opentelemetry")]:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, "steer_nb.frames.export.spans", raising=False)
        with pytest.raises(MissingExtra, match=r'pip install "steer-nb\[otel\]"'):
            steered().trace.export.spans()
