"""What leaves the house: keys never, content only as it was asked for."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from steer_nb import frames as f
from steer_nb.errors import InvalidInput, UnknownColumn
from steer_nb.frames.export import redaction
from steer_nb.frames.export.content import CONTENT, kind_of, place_of
from steer_nb.frames.export.otel_names import ATTRIBUTES, OPT_IN
from steer_nb.frames.export.pieces import masked_pieces
from steer_nb.frames.export.tables import columns_of
from tests.frames.export.marks import MARK, NUMBER, ODD, everything_in, holds, marked
from tests.frames.export.played import played
from tests.frames.test_schema import full
from tests.frames.walks import WALKS
from tests.support.traces import TraceBuilder, call, message, response

EVERY = {name: table.all for name, table in f.TABLES.items()}
ALL = {**EVERY, **dict.fromkeys(set(f.FRAME_NAMES) - set(f.TABLES))}
KEY = "sk-proj-0123456789abcdefghij"


def export_all(trace, folder, redact):
    """Every export there is, with all that it can hold."""
    trace.export.parquet(folder / "parquet", tables=ALL, redact=redact)
    trace.export.parquet(folder / "dataset", tables="steers", redact=redact, partitioned=True)
    trace.export.csv(folder / "csv", tables=ALL, redact=redact)
    for lane in trace.ledger.lanes.values():
        for shape in ("responses", "chat"):
            made = trace.export.messages(lane.name, shape=shape, redact=redact)
            made.save(folder / f"{lane.name}-{shape}.json")
    trace.export.otel(file=folder / "spans.jsonl", content=True, redact=redact)


class TestClassification:
    @pytest.mark.parametrize("name", f.FRAME_NAMES)
    def test_of_every_column_it_is_said_what_it_holds(self, name):
        for column in columns_of(name):
            kind = kind_of(name, column.name)
            free = str(column.dtype) == "string" or column.open
            assert (kind != "value") == free or name == "summary", (name, column.name)

    def test_it_names_no_column_that_there_is_not(self):
        for name, columns in CONTENT.items():
            if name in f.FRAME_NAMES:
                assert set(columns) <= set(columns_of(name).names), name

    def test_of_every_attribute_of_spans_too(self):
        assert set(CONTENT["otel"]) == set(ATTRIBUTES)
        content = {name for name in ATTRIBUTES if kind_of("otel", name) in ("text", "data", "item")}
        assert content == OPT_IN

    def test_a_new_column_is_refused_until_somebody_says_what_it_holds(self):
        frame = full().frames.steers.assign(new_text="secret")
        with pytest.raises(UnknownColumn, match="'new_text' of 'steers' holds content"):
            redaction(True).frame(frame, "steers")

    def test_an_unknown_field_is_content(self):
        assert place_of("", "from_the_future") == "content"
        assert place_of("content", "from_the_future") == "content"


class TestLengths:
    @settings(
        deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.sampled_from(["seven", "planner", "failures", "agents"]), ODD)
    @example("gallery", {})
    @example("agents", {"note": MARK})
    def test_nothing_that_anybody_wrote_is_in_any_byte(self, tmp_path_factory, scenario, more):
        folder = tmp_path_factory.mktemp("marks")
        trace = marked(played(scenario), more)
        export_all(trace, folder, redact=True)
        found = everything_in(folder)
        assert not holds(found)
        assert str(NUMBER) not in found

    def test_the_marks_would_be_found(self, tmp_path):
        export_all(marked(played("gallery"), {}), tmp_path, redact=None)
        for path in (tmp_path / "parquet", tmp_path / "csv", tmp_path):
            found = everything_in(path)
            assert holds(found)
        assert str(NUMBER) in found

    def test_structure_ids_times_counts_and_tokens_stay(self):
        trace = played("seven")
        hidden = redaction(True)
        for name in f.FRAME_NAMES:
            frame = trace.frame(name)
            new = hidden.frame(frame, name)
            assert list(new) == list(frame)
            assert len(new) == len(frame)
            for column in frame:
                if kind_of(name, column) in ("value", "id", "word", "name", "url"):
                    pd.testing.assert_series_equal(new[column], frame[column])
                else:
                    assert (new[column].isna() == frame[column].isna()).all()
                    assert new[column].dtype == frame[column].dtype

    def test_texts_become_their_length(self):
        steers = redaction(True).frame(full().frames.steers, "steers")
        assert list(steers["input_text"]) == ["[7 characters]"]
        assert redaction(True).text("x", ("steers", "input_text")) == "[1 character]"

    def test_structure_in_json_stays(self):
        item = call(arguments='{"city": "Lisbon"}')
        frame = TraceBuilder().create().created("r1").done(item).trace.frames.items
        (text,) = redaction(True).frame(frame, "items")["content_json"]
        assert json.loads(text) == {**item, "arguments": "[18 characters]"}

    def test_a_name_that_is_none_is_hidden(self):
        odd = call(name="my secret is 42")
        trace = TraceBuilder().create().created("r1").done(odd).ended("r1", output=[odd]).trace
        (name,) = redaction(True).frame(trace.frames.tool_calls, "tool_calls")["name"]
        assert name == "[15 characters]"

    def test_a_field_that_comes_twice_hides_nothing(self):
        raw = '{"type": "secret words", "type": "x.new", "text": "a"}'
        trace = TraceBuilder().in_(raw).trace
        frame = trace.frames.table("events", "raw_json")
        assert "secret" not in redaction(True).frame(frame, "events")["raw_json"][0]


class TestRawMessages:
    def test_they_are_written_only_where_that_column_is_asked_for(self, tmp_path):
        trace = played("planner")
        trace.export.parquet(tmp_path / "usual")
        trace.export.csv(tmp_path / "usual")
        for path in (tmp_path / "usual").iterdir():
            assert "raw_json" not in everything_in(tmp_path / "usual"), path
        trace.export.csv(tmp_path, tables={"events": "EventRaw"})
        assert "raw_json" in (tmp_path / "events.csv").read_text("utf-8")


class TestOwnFunction:
    def test_it_gets_each_text_with_its_place(self):
        seen = []

        def mine(value, *, table, column):
            seen.append((table, column, value))
            return value.upper()

        trace = full()
        frame = redaction(mine).frame(trace.frames.steers, "steers")
        assert frame["input_text"][0] == "SHORTER"
        assert json.loads(frame["input_json"][0]) == "SHORTER"
        assert ("steers", "input_text", "shorter") in seen
        assert trace.export.messages("a", redact=mine)[0]["content"] == "GO"

    def test_what_is_no_text_is_refused(self):
        with pytest.raises(InvalidInput, match=r"gave int for steers\.input_text"):
            redaction(lambda value, *, table, column: 7).frame(full().frames.steers, "steers")


class TestMasks:
    @pytest.mark.parametrize("redact", ["Lisbon", ["Lisbon"], [re.compile("Lis.on")]])
    def test_only_what_matches_is_hidden(self, redact, tmp_path):
        trace = full()
        export_all(trace, tmp_path, redact=redact)
        found = everything_in(tmp_path)
        assert "Lisbon" not in found
        assert "[redacted]" in found
        assert "shorter" in found

    def test_names_are_looked_through_and_ids_are_not(self):
        trace = TraceBuilder().create(lane="bob").created("r-bob", lane="bob").trace
        frame = redaction("bob").frame(trace.frames.responses, "responses")
        assert frame["lane_id"][0].endswith("[redacted]")
        assert frame["response_id"][0] == "r-bob"

    def test_a_text_in_pieces_is_looked_through_as_a_whole(self, tmp_path):
        builder = TraceBuilder().create().created("r1").added(message(""))
        for piece in ("My sec", "r", "et1 is safe"):
            builder.delta(piece)
        trace = builder.trace
        columns = "EventCore + EventDelta + EventRaw"
        trace.export.csv(tmp_path, tables={"events": columns}, redact=["secret1"])
        frame = pd.read_csv(tmp_path / "events.csv")
        assert list(frame["delta_text"].dropna()) == ["My [redacted]", " is safe"]
        raw = [json.loads(text)["delta"] for text in frame["raw_json"] if '"delta"' in text]
        assert raw == ["My [redacted]", "", " is safe"]
        # The same where only some of the columns are asked for.
        trace.export.csv(tmp_path, tables={"events": ["delta_text"]}, redact=["secret1"])
        assert "sec" not in (tmp_path / "events.csv").read_text("utf-8")
        trace.export.csv(tmp_path, tables={"events": ["raw_json"]}, redact=["secret1"])
        assert "sec" not in (tmp_path / "events.csv").read_text("utf-8")

    @given(st.lists(st.text("ab-", max_size=4), max_size=6))
    def test_pieces_together_are_the_masked_whole(self, pieces):
        hidden = redaction(["ab", "b-"])
        whole = "".join(pieces)
        made = masked_pieces(hidden, pieces)
        assert len(made) == len(pieces)
        assert "ab" not in "".join(made).replace("[redacted]", "|")
        if not hidden.spans(whole):
            assert made == pieces

    def test_the_same_in_other_letters_of_json(self):
        text = '{"name": "J\\u00fcrgen"}'
        assert "fcrgen" not in redaction("Jürgen").text(text, ("tool_calls", "arguments_text"))

    def test_token_probabilities_are_left_out(self):
        part = {"type": "output_text", "text": "secret1", "annotations": []}
        part["logprobs"] = [{"token": t, "logprob": -1.0, "bytes": [], "top_logprobs": []}
                            for t in ("sec", "ret1")]  # fmt: skip
        item = {**message(""), "content": [part]}
        frame = TraceBuilder().create().created("r1").done(item).trace.frames.items
        (text,) = redaction("secret1").frame(frame, "items")["content_json"]
        assert "sec" not in text

    @pytest.mark.parametrize("wrong", [7, [7], "", [re.compile("x*")], [re.compile(b"x")]])
    def test_what_is_no_pattern_is_refused(self, wrong):
        with pytest.raises(InvalidInput, match="redact"):
            redaction(wrong)


class TestKeys:
    """They are in no export, whatever is asked for."""

    def trace(self):
        tool = {
            "type": "mcp", "server_label": "x", "authorization": "t0p-secret",
            "headers": {"X-Key": "t0p-secret"},
        }  # fmt: skip
        body = {"type": "response.create", "model": "m", "input": f"My key is {KEY}."}
        told = message(f"Never share {KEY}!")
        builder = TraceBuilder().connect(f"ws://me:t0p-secret@host:1/v1?key={KEY}")
        builder.out({**body, "tools": [tool]}).created("r1").added(message(""))
        for piece in ("Never share ", KEY[:9], KEY[9:], "!"):
            builder.delta(piece)
        return builder.done(told).ended("r1", output=[told]).trace

    @pytest.mark.parametrize(
        "redact", [None, False, True, "xyz", lambda value, *, table, column: value]
    )
    def test_in_none_of_them(self, redact, tmp_path):
        export_all(self.trace(), tmp_path, redact=redact)
        found = everything_in(tmp_path)
        assert "t0p-secret" not in found
        assert KEY not in found
        assert KEY[3:12] not in found or callable(redact)

    def test_addresses_keep_their_place(self):
        frame = redaction(None).frame(self.trace().frames.connections, "connections")
        assert list(frame["url"]) == ["ws://host:1/v1"]

    def test_what_looks_like_none_stays(self):
        text = "The sk-learn package, and a Basic idea."
        assert redaction(None).text(text, ("steers", "input_text")) == text


@settings(deadline=None, max_examples=6)
@given(WALKS)
def test_without_redact_every_table_stays_as_it_is(builder):
    for name in f.FRAME_NAMES:
        columns = f.TABLES[name].all if name in f.TABLES else None
        frame = builder.trace.frame(name, columns)
        pd.testing.assert_frame_equal(redaction(None).frame(frame, name), frame)


def test_an_old_form_of_an_error_keeps_its_code(tmp_path):
    builder = TraceBuilder().create().created("r1")
    error = {"code": "rate_limit_exceeded", "message": "secret words"}
    body = {**response("r1", status="failed"), "error": error}
    trace = builder.event("response.failed", response=body).trace
    frame = redaction(True).frame(trace.frames.responses, "responses")
    assert list(frame["error_code"]) == ["rate_limit_exceeded"]
    assert list(frame["error_message"]) == ["[12 characters]"]


def test_marks_are_told_apart():
    assert holds(json.dumps(json.dumps(MARK)))
    assert not holds("Zq7")
