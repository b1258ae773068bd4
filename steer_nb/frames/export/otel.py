"""Handing spans over: to an OTLP endpoint, to a file of OTLP JSON lines, or to any exporter."""

from __future__ import annotations

import base64
import json
import logging
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from steer_nb.errors import ExportFailed, InvalidInput
from steer_nb.extras import extra
from steer_nb.frames.export.files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from steer_nb.frames.export.redaction import Redaction
    from steer_nb.trace import Trace

__all__ = ["SentSpans", "hand_over", "spans_of"]

_BATCH: Final = 512  # spans in one message, as the SDK's own processor has it
_PATH: Final = "/v1/traces"
_TIMELESS: Final = "traces without receive times"
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})


@dataclass(frozen=True)
class SentSpans:
    """What became of an export.

    Attributes
    ----------
    spans : int
        How many spans were handed over.
    where : str
        To whom, without user and password.
    left_out : dict of str to int
        What has no span, and why, with how often.
    """

    spans: int
    where: str
    left_out: dict[str, int]

    def __str__(self) -> str:
        spans = f"{self.spans} span{'' if self.spans == 1 else 's'}"
        left = [f"left out: {what} ({count})" for what, count in self.left_out.items()]
        return "; ".join([f"{self.where}: {spans}", *left])


def spans_of(
    traces: Sequence[Trace],
    redaction: Redaction,
    *,
    content: bool,
    parent: str | None,
    service_name: str | None,
    resource: Mapping[str, Any] | None,
) -> tuple[list[ReadableSpan], dict[str, int]]:
    """Make the spans of traces, and say what has none.

    Raises
    ------
    MissingExtra
        The SDK is not installed.
    ExportFailed
        None of the traces has receive times.
    """
    extra("opentelemetry.sdk.trace", "otel", "OpenTelemetry spans need its SDK")
    from steer_nb.frames.export.spans import SpanBuilder

    name = service_name or os.environ.get("OTEL_SERVICE_NAME") or "steer-nb"
    described = {**(resource or {}), "service.name": name}
    made: list[ReadableSpan] = []
    left_out: Counter[str] = Counter()
    for trace in traces:
        builder = SpanBuilder(trace, redaction, content=content, parent=parent, resource=described)
        if builder.timeless:
            left_out[_TIMELESS] += 1
            continue
        made += builder.spans()
        left_out += builder.left_out
    if not made and left_out[_TIMELESS]:
        msg = (
            "There are no receive times in what was recorded, and spans without times would be "
            "invented. trace.export.parquet and trace.export.messages need none."
        )
        raise ExportFailed(msg)
    return made, dict(left_out)


def hand_over(
    spans: Sequence[ReadableSpan],
    *,
    endpoint: str | None,
    file: str | PathLike[str] | None,
    exporter: SpanExporter | None,
    headers: Mapping[str, str] | None,
    timeout: float,
) -> str:
    """Give spans to one of the three, and say to whom."""
    if [endpoint, file, exporter].count(None) != 2:
        rule = "one of endpoint=, file= and exporter="
        msg = f"Spans go to one place: give {rule}."
        raise InvalidInput(msg, field="endpoint", value=endpoint, rule=rule)
    if file is not None:
        _write(spans, Path(file))
        return str(file)
    if exporter is not None:
        _export(spans, exporter, where := type(exporter).__name__)
        return where
    assert endpoint is not None
    url = _traces_url(endpoint)
    sender = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    exporters = extra(sender, "otel", "Sending spans needs the OTLP exporter")
    whole = None if headers is None else dict(headers)
    own = exporters.OTLPSpanExporter(endpoint=url, headers=whole, timeout=timeout)
    try:
        _export(spans, own, shown := _shown(url))
    finally:
        own.shutdown()
    return shown


def _traces_url(endpoint: str) -> str:
    """The address of traces: that of a collector alone is completed, as the SDK does."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        rule = "an http or https address, such as http://localhost:4318"
        msg = f"endpoint is {_shown(endpoint)!r}: it must be {rule}."
        raise InvalidInput(msg, field="endpoint", value=_shown(endpoint), rule=rule)
    path = _PATH if parts.path in ("", "/") else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Listening(logging.Handler):
    """Hears why an exporter failed: it logs the reason, and returns only that it did."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.said = record.getMessage()


def _export(spans: Sequence[ReadableSpan], exporter: SpanExporter, where: str) -> None:
    from opentelemetry.sdk.trace.export import SpanExportResult

    logger, ear = logging.getLogger("opentelemetry"), _Listening()
    logger.addHandler(ear)
    try:
        for batch in _batches(spans):
            try:
                taken = exporter.export(batch)
            except OSError as error:  # older exporters let what happened on the network through
                raise ExportFailed(_refused(where, type(error).__name__)) from error
            if taken is not SpanExportResult.SUCCESS:
                raise ExportFailed(_refused(where, ear.said))
    finally:
        logger.removeHandler(ear)


def _refused(where: str, why: str) -> str:
    shown = f" ({why.rstrip('.')})" if why else ""
    return f"{where} did not take the spans{shown}. Is a collector listening there?"


def _batches(spans: Sequence[ReadableSpan]) -> Iterator[Sequence[ReadableSpan]]:
    for start in range(0, len(spans), _BATCH):
        yield spans[start : start + _BATCH]


def _write(spans: Sequence[ReadableSpan], path: Path) -> None:
    why = "OTLP files need the OTLP exporter"
    encoder = "opentelemetry.exporter.otlp.proto.common.trace_encoder"
    encode_spans = extra(encoder, "otel", why).encode_spans
    as_dict = extra("google.protobuf.json_format", "otel", why).MessageToDict
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        for batch in _batches(spans):
            message = as_dict(encode_spans(batch), use_integers_for_enums=True)
            json.dump(_with_hex(message), file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")


def _with_hex(value: Any, key: str = "") -> Any:
    """OTLP's JSON is protobuf's, but for ids, which are hexadecimal (OTLP 1.x, JSON encoding)."""
    if isinstance(value, dict):
        return {name: _with_hex(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_hex(inner, key) for inner in value]
    return base64.b64decode(value).hex() if key in _IDS else value
