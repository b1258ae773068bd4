"""Whatever a trace holds, an export gives what there is, or says why not."""

from __future__ import annotations

import contextlib
import itertools
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from steer_nb import frames as f
from steer_nb.errors import ExportFailed
from steer_nb.trace import SCHEMA, Header, Trace
from tests.frames.walks import STEPS, entries, walk

EVERY = {name: table.all for name, table in f.TABLES.items()}


@settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    st.lists(entries(), max_size=14),
    st.lists(STEPS, max_size=14),
    st.sampled_from([None, True, ["a", "1"], "input"]),
)
def test_nothing_else_is_raised(tmp_path_factory, odd, steps, redact):
    trace = Trace(Header(SCHEMA, "t"), [*walk(steps).trace, *odd])
    with allowing("no receive times"):
        spans = trace.export.spans(content=True, redact=redact)
        encode_spans(spans).SerializeToString()
        ids = [span.context.span_id for span in spans]
        assert len(set(ids)) == len(ids)
        assert all(0 < span.start_time <= span.end_time for span in spans)
    for lane, shape in itertools.product(trace.ledger.lanes.values(), ("responses", "chat")):
        with allowing("began before this trace"):
            json.dumps(trace.export.messages(lane.name, shape=shape, redact=redact)).encode()
    folder = tmp_path_factory.mktemp("odd")
    trace.export.csv(folder, tables=EVERY, redact=redact)
    trace.export.parquet(folder, tables=EVERY, redact=redact)
    for name, frame in f.read_parquet(folder).items():
        assert len(frame) == len(trace.frames[name])


@contextlib.contextmanager
def allowing(reason):
    """Let an export say that it cannot be, for this reason alone."""
    try:
        yield
    except ExportFailed as error:
        if reason not in str(error):
            raise
