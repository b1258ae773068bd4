"""The trace, in memory and on disk."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steer_nb
from steer_nb.errors import TraceError
from steer_nb.trace import (
    SCHEMA,
    Entry,
    Header,
    Journal,
    Trace,
    journal_path,
    load,
    load_trace,
    newest_journal,
)
from tests.support.traces import TraceBuilder, message

HEADER = Header(steer_nb=SCHEMA, trace_id="a" * 32, started_at=1_700_000_000.25)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3
        )
    ),
    max_leaves=8,
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
entries = st.builds(
    Entry,
    seq=st.integers(0, 2**40),
    at=st.none() | st.floats(0, 4e9),
    t=st.none() | st.floats(0, 1e6),
    kind=st.sampled_from(["in", "out", "note"]),
    connection=st.integers(0, 9),
    raw=st.none() | texts,
    note=st.none() | texts,
    data=st.none()
    | st.dictionaries(st.text(max_size=5), json_values, max_size=3).filter(
        lambda d: all(k.isprintable() for k in d)
    ),
)


def small_trace() -> Trace:
    return (
        TraceBuilder()
        .connect()
        .create("Olá\u2028there 🎈", lane="a", key="create-1")
        .created("r1", lane="a")
        .done(message("hello"), lane="a")
        .ended("r1", lane="a", output=[message("hello")])
        .close(1000, by="client")
        .trace
    )


def test_saved_and_loaded_is_equal(tmp_path):
    trace = small_trace()
    path = trace.save(tmp_path / "run.jsonl")
    again = steer_nb.load(path)
    assert again == trace
    assert again.problems == ()
    assert again.file == path
    assert [e.raw for e in again] == [e.raw for e in trace]


def test_raw_messages_are_verbatim(tmp_path):
    odd = '{"type" :  "x",\t"n": 1.50, "s": "\\u00e9\\ud83d"}'
    trace = TraceBuilder().connect().in_(odd).in_("not json \u2028 at all").trace
    again = load(trace.save(tmp_path / "t.jsonl"))
    assert [e.raw for e in again if e.kind == "in"] == [odd, "not json \u2028 at all"]


@given(st.lists(entries, max_size=20))
@settings(max_examples=60, deadline=None)
def test_any_entries_round_trip(tmp_path_factory, found):
    directory = tmp_path_factory.mktemp("trips")
    trace = Trace(HEADER, found)
    assert load(trace.save(directory / "t.jsonl")) == trace
    journal = Journal(directory / "j.jsonl", HEADER)
    for entry in found:
        journal.write(entry)
    journal.close()
    assert load(directory / "j.jsonl") == trace
    assert (directory / "j.jsonl").read_bytes() == (directory / "t.jsonl").read_bytes()


def test_empty_trace_round_trips(tmp_path):
    trace = Trace(HEADER)
    assert load(trace.save(tmp_path / "t.jsonl")) == trace
    assert repr(trace) == "<Trace aaaaaaaa: 0 events, 0 requests, 0 notes>"


def test_traces_that_differ_are_not_equal():
    assert small_trace() == small_trace()
    assert small_trace() != Trace(HEADER)
    assert small_trace() != "trace"


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_journal_is_private_and_ignored_by_git(tmp_path):
    path = journal_path(tmp_path / ".steer", "my session!", "b" * 32, 1_700_000_000)
    assert path.name == "20231114-221320-my_session_-bbbbbbbb.jsonl"
    journal = Journal(path, HEADER)
    journal.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_directory_of_the_person_gets_no_gitignore(tmp_path):
    Journal(tmp_path / "j.jsonl", HEADER).close()
    assert not (tmp_path / ".gitignore").exists()


def test_two_journals_never_share_a_file(tmp_path):
    first = Journal(tmp_path / "j.jsonl", HEADER)
    for again in (lambda: Journal(first.path, HEADER), lambda: Journal.take_up(first.path)):
        with pytest.raises(TraceError, match="being written by another"):
            again()
    first.close()
    with pytest.raises(TraceError, match="cannot be made"):
        Journal(first.path, HEADER)


def test_a_journal_is_taken_up_where_it_ended(tmp_path):
    first = Journal(tmp_path / "j.jsonl", HEADER)
    first.write(Entry(0, 1.0, 0.0, "note", note="session"))
    first.close()
    with first.path.open("ab") as file:
        file.write(b'{"seq":1,"at":2.0,"t":1.')
    second = Journal.take_up(first.path)
    assert second.torn == b'{"seq":1,"at":2.0,"t":1.'
    second.write(Entry(1, 3.0, 2.0, "note", note="recovered"))
    second.close()
    trace = load(first.path)
    assert [e.note for e in trace] == ["session", "recovered"]
    assert trace.problems == ()


def test_a_journal_that_is_not_there_cannot_be_taken_up(tmp_path):
    with pytest.raises(TraceError, match="cannot be taken up"):
        Journal.take_up(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="no journal in"):
        newest_journal(tmp_path)


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    code = (
        "import os, sys; from steer_nb.trace import Header, Journal; "
        "j = Journal(sys.argv[1], Header(steer_nb=1, trace_id='c' * 32)); "
        "print('there', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "j.jsonl"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with writer:
        assert writer.stdout.readline().strip() == b"there"
        with pytest.raises(TraceError, match="being written by another process"):
            Journal.take_up(path)
        writer.kill()
    Journal.take_up(path).close()


def test_sync_reaches_the_disk_before_it_returns(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j.jsonl", HEADER)
    seen = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: seen.append(journal.path.read_bytes()) or real(fd))
    journal.write(Entry(0, 1.0, 0.0, "note", note="session"))
    journal.sync()
    assert len(seen) == 1
    assert json.loads(seen[0].splitlines()[1])["note"] == "session"
    journal.close()
    journal.close()


def test_a_full_disk_loses_nothing_and_says_so(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j.jsonl", HEADER)
    real = os.write

    def partial(fd, data):
        if len(data) > 10:
            return real(fd, bytes(data[:10]))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", partial)
    journal.write(Entry(0, 1.0, 0.0, "note", note="session"))
    with pytest.raises(TraceError, match="No space left"):
        journal.sync()
    monkeypatch.setattr(os, "write", real)
    journal.write(Entry(1, 2.0, 1.0, "note", note="lane"))
    journal.close()
    assert [e.note for e in load(journal.path)] == ["session", "lane"]


def test_a_torn_last_line_is_reported_and_the_rest_kept(tmp_path):
    path = tmp_path / "j.jsonl"
    small_trace().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-25])
    trace = load(path)
    assert len(trace) == len(small_trace()) - 1
    (problem,) = trace.problems
    assert problem.kind == "truncated"
    assert problem.line == len(whole.splitlines())
    with pytest.raises(TraceError, match="torn last line"):
        load(path, strict=True)


def test_a_bad_line_in_the_middle_is_a_problem(tmp_path):
    path = tmp_path / "j.jsonl"
    small_trace().save(path)
    lines = path.read_bytes().split(b"\n")
    lines.insert(3, b'{"seq": "three"}')
    path.write_bytes(b"\n".join(lines))
    trace = load(path)
    assert trace == small_trace()
    assert [(p.kind, p.line) for p in trace.problems] == [("bad_json", 4)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no steer_nb trace"),
        (b"hello\n", "no steer_nb trace"),
        (b'{"type":"conversation.created"}\n', "no steer_nb trace"),
        (b'{"steer_nb":99,"trace_id":"x"}\n', "newer steer_nb"),
        (b"\xff\xfe\n", "no steer_nb trace"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path, content, says):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    trace = load(path)
    assert len(trace) == 0
    (problem,) = trace.problems
    assert problem.kind == ("newer" if "newer" in says else "unknown_kind")
    assert says in problem.detail
    assert problem.file == str(path)
    assert list(trace.frames.problems["file"]) == [str(path)]
    for refusing in (lambda: load(path, strict=True), lambda: load_trace(path)):
        with pytest.raises(TraceError, match=says) as caught:
            refusing()
        assert caught.value.path == str(path)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(TraceError, match="cannot be read"):
        load(tmp_path / "none.jsonl")


def test_saving_replaces_in_one_step(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("precious")
    with pytest.raises(TraceError, match="cannot be saved"):
        small_trace().save(tmp_path / "no" / "such" / "run.jsonl")
    small_trace().save(path)
    assert load(path) == small_trace()
    assert [p.name for p in tmp_path.iterdir()] == ["run.jsonl"]


def test_the_ledger_of_a_trace_folds_only_what_is_new():
    builder = TraceBuilder().connect().create("hi").created("r1")
    ledger = builder.trace.ledger
    assert ledger.responses["r1"].status == "in_progress"
    builder.ended("r1")
    assert builder.trace.ledger is ledger
    assert ledger.responses["r1"].status == "completed"


def test_threads_that_ask_at_once_fold_each_entry_once():
    builder = TraceBuilder().connect().create("go").created("r1").added(message(""))
    for _ in range(3000):
        builder.delta("x")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        barrier = threading.Barrier(4)

        def ask() -> None:
            barrier.wait()
            assert builder.trace.ledger is not None

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert builder.trace.ledger.responses["r1"].n_deltas == 3000


def test_a_trace_can_be_copied_and_pickled_after_it_was_folded(tmp_path):
    trace = load(small_trace().save(tmp_path / "x.jsonl"))
    assert trace.ledger.lanes is not None
    for other in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert other == trace
        assert other.file == trace.file
        assert list(other.ledger.responses) == list(trace.ledger.responses)


def test_an_entry_that_cannot_be_encoded_takes_no_other_with_it(tmp_path):
    journal = Journal(tmp_path / "x.jsonl", HEADER)
    journal.write(Entry(0, 0.0, 0.0, "note", note="session", data={"name": "good"}))
    journal.write(Entry(1, 0.0, 0.0, "note", note="session", data={"name": "\ud800"}))
    with pytest.raises(UnicodeEncodeError):
        journal.flush()
    journal._waiting.pop()
    journal.close()
    assert [e.data["name"] for e in load(tmp_path / "x.jsonl")] == ["good"]
