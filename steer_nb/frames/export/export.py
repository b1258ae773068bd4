"""A trace in the forms that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from steer_nb.errors import ExportFailed
from steer_nb.frames.export.messages import Messages, messages_of
from steer_nb.frames.export.otel import SentSpans, hand_over, spans_of
from steer_nb.frames.export.parquet import write_left_out, write_parquet
from steer_nb.frames.export.redaction import redaction
from steer_nb.frames.export.separated import write_csv
from steer_nb.ledger import Ledger
from steer_nb.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from steer_nb.frames.export.messages import Shape
    from steer_nb.frames.export.redaction import Redact
    from steer_nb.frames.export.tables import Wanted
    from steer_nb.trace import TraceSet
    from steer_nb.trace.answers import HasFrames

__all__ = ["Export"]


class Export:
    """A trace in the forms that other programs read: Parquet, CSV, messages, spans.

    Each takes `redact`. Keys are in none of them, whatever is asked for: credentials of tools, and
    what looks like a key in a text. The verbatim messages (`raw_json`) are written only where that
    column is asked for.

    Parameters
    ----------
    source : Trace or TraceSet
        Live or loaded; what it holds so far is exported.

    Notes
    -----
    `redact` is one of

    - None: texts stay as they are;
    - True: texts, arguments, results, instructions, names of files and messages of errors are
      replaced by their length (``[12 characters]``). Structure, ids, types, times, counts and
      tokens stay, and so do names that are identifiers: of lanes, tools, models and agents;
    - strings and compiled patterns: what matches is replaced by ``[redacted]``, also where it came
      in pieces. Ids of the service are left;
    - a function ``f(value, *, table, column)``: gets each text and gives what stands in its place.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> export = Trace(Header(steer_nb=1, trace_id="0" * 32)).export
    >>> export
    <Export of trace 00000000: parquet, csv, messages, spans, otel>
    """

    def __init__(self, source: HasFrames) -> None:
        self._source = source
        self._traces = (source,) if isinstance(source, Trace) else tuple(cast("TraceSet", source))

    def parquet(
        self,
        folder: str | PathLike[str],
        *,
        tables: Wanted = None,
        redact: Redact = None,
        partitioned: bool | None = None,
    ) -> list[str]:
        """Write Parquet files, one for each table.

        Parameters
        ----------
        folder : str or path-like
            Made where it is not there; or a file that ends in ``.parquet``, for one table. A file
            that is there is replaced once the new one is complete.
        tables : str, iterable of str, or mapping, optional
            Names (``trace.frame`` has the same ones), or a dict of names and columns; by default
            every table with its usual columns.
        redact : optional
            See `Export`.
        partitioned : bool, optional
            Write ``TABLE/trace_id=…/part.parquet``, so that many traces can be added to one folder
            and read as one dataset; those of other traces are not touched. By default so for a set
            of traces, and not for one. The problems of files that became no trace of the set are a
            part of their own, whose `trace_id` is null.

        Returns
        -------
        list of str
            The files. Each says in its metadata ``steer_nb.table``, ``steer_nb.schema_version``
            and ``trace_id``; `steer_nb.frames.read_parquet` reads them back.

        Raises
        ------
        UnknownFrame, UnknownColumn
            No such table or column.
        InvalidInput
            `tables` or `redact` is none.
        MissingExtra
            pyarrow is not installed.
        ExportFailed
            A file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from steer_nb.trace import Header, Trace
        >>> trace = Trace(Header(steer_nb=1, trace_id="0" * 32))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = trace.export.parquet(folder, tables={"events": "EventCore + EventDelta"})
        >>> len(files)
        1
        """
        asked = redaction(redact)
        if partitioned is None:
            partitioned = not isinstance(self._source, Trace)
        sources: tuple[HasFrames, ...] = self._traces if partitioned else (self._source,)
        written: list[str] = []
        if partitioned and not isinstance(self._source, Trace):
            written += write_left_out(cast("TraceSet", self._source), folder, tables, asked)
        for one in sources:
            trace_id = one.trace_id if isinstance(one, Trace) else None
            written += write_parquet(
                one.frames, trace_id, folder, tables, asked, partitioned=partitioned
            )
        return written

    def csv(
        self,
        path: str | PathLike[str],
        *,
        tables: Wanted = None,
        redact: Redact = None,
    ) -> list[str]:
        """Write CSV files, in UTF-8, one for each table.

        A cell without a value and an empty text are the same in CSV. Texts stand as they were
        written, also those that a spreadsheet would take for a formula.

        Parameters
        ----------
        path : str or path-like
            A folder; or a file that ends in ``.csv``, for one table.
        tables, redact : optional
            As for `parquet`.

        Returns
        -------
        list of str
            The files.

        Raises
        ------
        UnknownFrame, UnknownColumn
            No such table or column.
        InvalidInput
            `tables` or `redact` is none, or one file is given for several tables.
        ExportFailed
            A file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from steer_nb.trace import Header, Trace
        >>> trace = Trace(Header(steer_nb=1, trace_id="0" * 32))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = trace.export.csv(folder, tables=["steers", "summary"])
        >>> len(files)
        2
        """
        return write_csv(self._source.frames, path, tables, redaction(redact))

    def messages(
        self, lane: str | None = None, *, shape: Shape = "responses", redact: Redact = None
    ) -> Messages:
        """Give a lane's conversation as the `openai` SDK takes it.

        Calls that nobody has answered yet are answered as cancelled, for a list with an open call
        is refused; `cancelled` names them. Thoughts without their encrypted content, and what the
        service keeps to itself, cannot be said again; `left_out` names them.

        Parameters
        ----------
        lane : str, optional
            Which; not needed where there is one. The default lane is called ``(default)``.
        shape : {"responses", "chat"}, default "responses"
            Items for ``input=`` of ``client.responses.create``; or messages for ``messages=`` of
            ``client.chat.completions.create``, whose first says the instructions.
        redact : optional
            See `Export`.

        Returns
        -------
        Messages
            A list of dicts, oldest first; empty where nothing was said.

        Raises
        ------
        UnknownLane
            No such lane, or several and none was named.
        InvalidInput
            `shape` or `redact` is none.
        ExportFailed
            The conversation began before this trace; or these are several traces.

        Examples
        --------
        >>> from steer_nb.trace import Entry, Header, Trace
        >>> raw = [
        ...     ("out", '{"type": "response.create", "model": "m", "input": "Hi."}'),
        ...     ("in", '{"type": "response.created", "response": {"id": "resp_1"}}'),
        ... ]
        >>> trace = Trace(Header(1, "0" * 32))
        >>> for number, (kind, text) in enumerate(raw):
        ...     trace.append(Entry(number, None, None, kind, 1, raw=text))
        >>> trace.export.messages()
        [{'type': 'message', 'role': 'user', 'content': 'Hi.'}]
        """
        if len(self._traces) != 1:
            msg = (
                f"A conversation is of one trace, and these are {len(self._traces)}: take one of "
                "them, as in runs[0].export.messages()."
            )
            raise ExportFailed(msg)
        ledger = Ledger(dialect=self._traces[0].header.dialect)
        for entry in self._traces[0]:
            ledger.apply(entry)
        return messages_of(ledger, lane, redaction(redact), shape=shape)

    def spans(
        self,
        *,
        content: bool = False,
        redact: Redact = None,
        service_name: str | None = None,
        resource: Mapping[str, Any] | None = None,
        parent: str | None = None,
    ) -> list[ReadableSpan]:
        """Give OpenTelemetry spans, as its SDK has them; see `otel`.

        Raises
        ------
        InvalidInput
            `redact` or `parent` is none.
        MissingExtra
            The SDK is not installed.
        ExportFailed
            The trace has no receive times.
        """
        return self._spans(content, redact, service_name, resource, parent)[0]

    def otel(
        self,
        endpoint: str | None = None,
        *,
        file: str | PathLike[str] | None = None,
        exporter: SpanExporter | None = None,
        content: bool = False,
        redact: Redact = None,
        service_name: str | None = None,
        resource: Mapping[str, Any] | None = None,
        parent: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> SentSpans:
        """Hand over OpenTelemetry spans, by the conventions for generative AI.

        Each response is a span, and each call that was run here a child of it; steers and required
        input are events on the span of their response, and a successor links to what it continues.
        `steer_nb.frames.export.otel_names` has every name, with its source. Ids are made of ours:
        the same trace gives the same spans, whenever it is exported.

        Parameters
        ----------
        endpoint : str, optional
            An OTLP endpoint over HTTP: ``http://localhost:4318``.
        file : str or path-like, optional
            A file of OTLP JSON lines, as a collector's file exporter writes it.
        exporter : SpanExporter, optional
            Any exporter of the SDK.
        content : bool, default False
            Whether texts are written: messages, instructions, arguments, results, what steers say.
        redact : optional
            See `Export`; for what `content` lets through.
        service_name : str, optional
            By default ``OTEL_SERVICE_NAME``, else ``steer-nb``.
        resource : mapping, optional
            Further attributes of the resource.
        parent : str, optional
            The caller's span, as a W3C ``traceparent``; by default the trace has a root of its own.
        headers : mapping, optional
            For `endpoint`, such as its key.
        timeout : float, default 10.0
            Seconds to wait for the endpoint, tries again among them.

        Returns
        -------
        SentSpans
            How many spans, where to, and what has none: a response that has not ended, say.

        Raises
        ------
        InvalidInput
            Not one of `endpoint`, `file` and `exporter`; or an argument is none.
        MissingExtra
            The SDK is not installed.
        ExportFailed
            No trace has receive times, or nobody took the spans.

        Examples
        --------
        >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        >>> from steer_nb.trace import Header, Trace
        >>> memory = InMemorySpanExporter()
        >>> Trace(Header(steer_nb=1, trace_id="0" * 32)).export.otel(exporter=memory).spans
        0
        """
        spans, left_out = self._spans(content, redact, service_name, resource, parent)
        where = hand_over(
            spans,
            endpoint=endpoint,
            file=file,
            exporter=exporter,
            headers=headers,
            timeout=timeout,
        )
        return SentSpans(len(spans), where, left_out)

    def _spans(
        self,
        content: bool,
        redact: Redact,
        service_name: str | None,
        resource: Mapping[str, Any] | None,
        parent: str | None,
    ) -> tuple[list[ReadableSpan], dict[str, int]]:
        return spans_of(
            self._traces,
            redaction(redact),
            content=content,
            parent=parent,
            service_name=service_name,
            resource=resource,
        )

    def __repr__(self) -> str:
        one = self._traces[0].trace_id[:8] if isinstance(self._source, Trace) else None
        what = f"trace {one}" if one is not None else f"{len(self._traces)} traces"
        return f"<Export of {what}: parquet, csv, messages, spans, otel>"
