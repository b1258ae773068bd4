"""Many files at once: folders, patterns, progress, and traces that do not mix."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest

import steer_nb
from steer_nb.errors import TraceError, UnknownLane
from steer_nb.frames import TABLES
from steer_nb.trace import Problem, Trace, TraceSet
from tests.support.traces import TraceBuilder, message
from tests.trace.dumps import as_sse
from tests.trace.test_kinds import WHOLE, completed, created


def small(text="hi", trace_id=None) -> Trace:
    builder = TraceBuilder().connect().create(text, lane="a").created("r1", lane="a")
    builder.done(message(text), lane="a").ended("r1", lane="a", output=[message(text)])
    if trace_id is not None:
        header = builder.trace.header
        builder.trace.header = type(header)(header.steer_nb, trace_id, header.started_at)
    return builder.trace


@pytest.fixture
def folder(tmp_path):
    runs = tmp_path / "runs"
    (runs / "deep" / "er").mkdir(parents=True)
    (runs / ".hidden").mkdir()
    small("one", "1" * 32).save(runs / "b.jsonl")
    small("two", "2" * 32).save(runs / "deep" / "a.jsonl")
    (runs / "deep" / "er" / "c.sse").write_bytes(as_sse(WHOLE))
    (runs / "notes.txt").write_text("Not a trace.")
    (runs / ".hidden" / "x.jsonl").write_text("\n".join(WHOLE))
    (runs / ".gitignore").write_text("*")
    (runs / "b.jsonl.lock").write_text("")
    return runs


def names(traces: TraceSet) -> list[str]:
    return [file.rsplit("/", 1)[-1] for file in traces.files]


def test_a_folder_is_read_with_the_folders_in_it(folder):
    traces = steer_nb.load(folder)
    assert isinstance(traces, TraceSet)
    assert names(traces) == ["b.jsonl", "a.jsonl", "c.sse"]
    assert [(p.kind, p.file) for p in traces.problems] == [
        ("unknown_kind", str(folder / "notes.txt"))
    ]
    assert repr(traces) == f"<TraceSet from {folder}: 3 traces, 15 entries, 1 files left out>"
    assert [trace.frames.responses["output_text"][0] for trace in traces] == ["one", "two", "Hi"]
    assert traces[0] == small("one", "1" * 32)
    assert len(traces[1:]) == 2


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.jsonl", ["b.jsonl"]),
        ("**/*.jsonl", ["b.jsonl", "a.jsonl"]),
        ("deep/?.jsonl", ["a.jsonl"]),
        ("dee*", ["a.jsonl", "c.sse"]),
        ("[ab].jsonl", ["b.jsonl"]),
    ],
)
def test_patterns(folder, pattern, found):
    traces = steer_nb.load(str(folder / pattern))
    assert isinstance(traces, TraceSet)
    assert names(traces) == found


def test_several_paths(folder):
    traces = steer_nb.load([folder / "deep", folder / "b.jsonl", folder / "deep" / "a.jsonl"])
    assert names(traces) == ["a.jsonl", "c.sse", "b.jsonl"]


def test_a_name_with_the_signs_of_a_pattern_is_a_file(tmp_path):
    path = tmp_path / "run[1].jsonl"
    small().save(path)
    assert steer_nb.load(path) == small()


@pytest.mark.parametrize("missing", ["none.jsonl", "none*.jsonl", "empty"])
def test_what_is_not_there_raises(tmp_path, missing):
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match=r"cannot be read|No file matches|holds no files"):
        steer_nb.load(tmp_path / missing)


def test_every_frame_is_that_of_the_traces(folder):
    traces = steer_nb.load(folder)
    for name, table in TABLES.items():
        whole = traces.frames.table(name, table.all)
        parts = [trace.frames.table(name, table.all) for trace in traces]
        assert list(whole.columns) == list(table.all.names)
        assert len(whole) == sum(map(len, parts)) + (name == "problems")
        for part in parts:
            mine = whole[whole["trace_id"].isin(part["trace_id"])].reset_index(drop=True)
            pd.testing.assert_frame_equal(mine, part, obj=name, check_categorical=False)
        empty = TraceSet([]).frames.table(name, table.all)
        for column, dtype in empty.dtypes.items():
            if not isinstance(dtype, pd.CategoricalDtype):
                assert whole.dtypes[column] == dtype
    assert len(traces.frame("responses", columns="status")) == 3
    assert len(traces.frame("metrics.responses")) == 3
    wide = traces.frames.wide()
    assert len(wide) == len(traces.frames.events)
    attrs = traces.frames.events.attrs
    assert (attrs["table"], attrs["n_traces"], attrs["dropped"]) == ("events", 3, 0)
    assert "Frames of 3 traces" in repr(traces.frames)
    assert "Frames of 3 traces" in traces.frames._repr_html_()


def test_lanes_of_one_name_do_not_mix(folder):
    frames = steer_nb.load(folder).frames
    lanes = frames.lanes[frames.lanes["stream_id"] == "a"]
    assert lanes["lane_id"].is_unique
    assert len(lanes) == 2
    of_a = frames.table("responses", lane="a")
    assert of_a["output_text"].tolist() == ["one", "two"]
    assert of_a["lane_id"].nunique() == 2
    assert frames.table("responses", columns="response_id", lane="c")["response_id"].tolist() == [
        "r1"
    ]
    with pytest.raises(UnknownLane, match=r"No trace of this set has a lane 'z'\. Lanes: a, c"):
        frames.table("responses", lane="z")
    with pytest.raises(UnknownLane, match="is not about lanes"):
        frames.table("traces", lane="a")


def test_responses_of_one_id_do_not_mix(tmp_path):
    for name, text in (("a", "one"), ("b", "two")):
        told = as_sse([created(), *WHOLE[1:2], completed(text=text)])
        (tmp_path / f"{name}.sse").write_bytes(told)
    frames = steer_nb.load(tmp_path).frames
    assert frames.responses["output_text"].tolist() == ["one", "two"]
    assert len(frames.wide()) == len(frames.events) == 6


def test_a_journal_and_its_saved_copy_count_once(tmp_path):
    trace = small()
    trace.save(tmp_path / "b.jsonl")
    longer = Trace(trace.header, [*trace.entries, trace.entries[-1]])
    longer.save(tmp_path / "c.jsonl")
    trace.save(tmp_path / "a.jsonl")
    traces = steer_nb.load(tmp_path)
    assert names(traces) == ["c.jsonl"]
    assert [(p.kind, p.file.rsplit("/", 1)[1]) for p in traces.problems[:2]] == [
        ("same_trace", "b.jsonl"),
        ("same_trace", "a.jsonl"),
    ]
    with pytest.raises(TraceError, match="same trace as"):
        steer_nb.load(tmp_path, strict=True)


def test_two_files_of_one_id_that_differ_are_both_kept(tmp_path):
    small("one").save(tmp_path / "a.jsonl")
    small("two").save(tmp_path / "b.jsonl")
    (tmp_path / "c.sse").write_bytes(as_sse(WHOLE))
    (tmp_path / "d.sse").write_bytes(as_sse(WHOLE))
    traces = steer_nb.load(tmp_path)
    assert len({trace.trace_id for trace in traces}) == 4
    assert [p.kind for p in traces.problems] == ["same_trace"] * 2
    assert traces.frames.responses["output_text"].tolist() == ["one", "two", "Hi", "Hi"]
    assert steer_nb.load(tmp_path).frames.responses.equals(traces.frames.responses)


def test_strict_raises_for_the_first_file_that_is_odd(folder):
    with pytest.raises(TraceError, match=r"notes\.txt: is no steer_nb trace.*\(unknown_kind\)"):
        steer_nb.load(folder, strict=True)
    assert len(steer_nb.load(str(folder / "**/*.jsonl"), strict=True)) == 2


def test_a_file_that_cannot_be_opened_is_a_problem_of_the_set(folder, monkeypatch):
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    small("x", "3" * 32).save(folder / "refused.jsonl")
    real = type(folder).open

    def refuse(path, *args, **kwargs):
        if path.name == "refused.jsonl":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(type(folder), "open", refuse)  # a root user may read everything
    traces = steer_nb.load(folder)
    assert ("unreadable", str(folder / "refused.jsonl")) in [
        (p.kind, p.file) for p in traces.problems
    ]
    assert len(traces) == 3


def test_progress_is_a_line_and_nothing_for_little(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    steer_nb.load(folder)
    steer_nb.load(folder / "b.jsonl")
    assert capsys.readouterr() == ("", "")
    for number in range(60):
        (folder / f"{number}.sse").write_bytes(as_sse([created(f"r{number}"), completed()]))
    assert len(steer_nb.load(folder)) == 63
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[-1].startswith("Loading: 64 of 64 files, ")
    assert len(lines) == 10
    steer_nb.load(folder, progress=False)
    assert capsys.readouterr() == ("", "")


def test_progress_within_one_large_file(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    path = folder / "large.jsonl"
    path.write_text("\n".join([WHOLE[0], *[WHOLE[2]] * 30_000, WHOLE[3]]))
    trace = steer_nb.load(path, progress=True)
    assert len(trace) == 30_003
    lines = capsys.readouterr().err.splitlines()
    assert 2 < len(lines) <= 10
    assert all(line.startswith("Loading: ") for line in lines)


def test_progress_with_tqdm(folder):
    pytest.importorskip("tqdm")
    # In a process of its own: `tqdm.auto` looks once, when imported, whether it is in a kernel, and
    # another test may have made a shell in this one.
    code = "import steer_nb, sys; steer_nb.load(sys.argv[1], progress=True)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert "Loading: 100%" in done.stderr


def test_a_large_log_costs_little_beyond_its_trace(tmp_path):
    import tracemalloc

    path = tmp_path / "large.jsonl"
    event = json.loads(WHOLE[2])
    with path.open("w") as file:
        file.write(WHOLE[0] + "\n")
        for number in range(60_000):
            file.write(json.dumps({**event, "sequence_number": number}) + "\n")
    tracemalloc.start()
    try:
        trace = steer_nb.load(path)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(trace) == 60_002
    assert most - kept < 0.25 * kept


def test_the_set_says_where_problems_are(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join([*WHOLE, "oh"]))
    traces = steer_nb.load(tmp_path)
    (problem,) = traces.problems
    path = str(tmp_path / "a.jsonl")
    assert problem == Problem("truncated", problem.detail, line=5, file=path)
    (row,) = traces.frames.problems.to_dict("records")
    assert (row["file"], row["line"], row["kind"]) == (path, 5, "truncated")


def test_metrics_are_of_all_traces_and_count_a_response_once():
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    builder = TraceBuilder(step=1.0).connect().create(lane="a").created("r1", lane="a")
    builder.delta("x", lane="a").delta("y", lane="a").ended("r1", lane="a", usage=usage)
    one, copy = builder.trace, small("hi", "2" * 32)
    copy.entries[:] = one.entries
    both = TraceSet([one, copy])
    summary = both.summary().set_index("metric")["value"]
    assert (summary["responses"], summary["output tokens"]) == (2, 7)
    assert summary["span"] == 2 * 4.0
    assert len(both.metrics.gaps) == 2
    assert both.diff(both).same
    assert not both.diff(one).same
    assert both.frame("metrics.responses", lane="a")["trace_id"].nunique() == 2
