"""What a tool prints and where it fails stays with its call, whoever prints at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import sys
import threading

import pytest

from steer_nb import load, tool
from steer_nb.client.run_log import PRINTED_LIMIT, Printed, own_traceback, printed
from tests.client.stage import function_call
from tests.client.test_runner import ask


def run(stage, session, *functions, wait=True):
    """Let each function answer a call of its name; the calls as they are then."""
    lane = session.lane("a", tools=list(functions))
    names = [tool(function).name for function in functions]
    calls = [function_call(f"call_{name}", name=name, arguments="{}") for name in names]
    ask(stage, lane, *calls)
    lane.wait(10)
    return lane, [lane.run_tool(f"call_{name}") for name in names] if wait else calls


def test_what_a_tool_prints_is_kept_with_its_call_and_not_sent(stage, session, tmp_path, capsys):
    def look():
        print("asking the station")
        print("it is slow", file=sys.stderr)
        return "18 C"

    lane, (asked,) = run(stage, session, look)
    assert asked.tool["printed"] == "asking the station\nit is slow\n"
    assert asked.tool["traceback"] is None
    assert asked.item["output"] == "18 C"
    assert capsys.readouterr().out == "asking the station\n", "a terminal shows it as ever"
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"] == "18 C"
    session.trace.save(tmp_path / "run.jsonl")
    loaded = load(tmp_path / "run.jsonl").ledger.responses["resp_1"].required["call_look"].tool
    assert loaded.printed == asked.tool["printed"]


def test_where_a_tool_failed_is_kept_and_begins_with_its_own_code(stage, session, tmp_path):
    def sky():
        raise ValueError("no <b>sky</b>")

    def look():
        print("before it fails")
        try:
            sky()
        except ValueError as error:
            raise RuntimeError("no weather") from error

    _, (asked,) = run(stage, session, look)
    assert asked.item["output"] == "Error: look raised RuntimeError: no weather"
    assert asked.tool["printed"] == "before it fails\n"
    written = asked.tool["traceback"]
    assert written.endswith("RuntimeError: no weather")
    assert "ValueError: no <b>sky</b>" in written
    assert "sky()" in written
    assert "tools.py" not in written
    session.trace.save(tmp_path / "run.jsonl")
    loaded = load(tmp_path / "run.jsonl").ledger.responses["resp_1"].required["call_look"].tool
    assert loaded.traceback == written


def test_arguments_that_do_not_fit_have_no_traceback(stage, session):
    def look(city: str):
        return city

    _, (asked,) = run(stage, session, look)
    assert not asked.tool["ok"]
    assert asked.tool["traceback"] is None


def test_two_tools_and_a_cell_print_at_the_same_time(stage, session, capsys):
    meet = threading.Barrier(3, timeout=10)

    def one():
        meet.wait()
        for _ in range(50):
            print("one")
        meet.wait()

    def two():
        meet.wait()
        for _ in range(50):
            print("two")
        meet.wait()

    before = sys.stdout, sys.stderr
    lane, _ = run(stage, session, one, two, wait=False)
    runs = [threading.Thread(target=lane.run_tool, args=(key,)) for key in ("call_one", "call_two")]
    for thread in runs:
        thread.start()
    meet.wait()
    for _ in range(50):
        print("cell")
    meet.wait()
    for thread in runs:
        thread.join(10)
    kept = {asked.key: asked.tool["printed"] for asked in lane.required_input}
    assert kept == {"call_one": "one\n" * 50, "call_two": "two\n" * 50}
    assert capsys.readouterr().out.count("cell\n") == 50
    assert (sys.stdout, sys.stderr) == before


class CellStream(io.StringIO):
    """A stream as a kernel has one: it writes to some cell."""

    def set_parent(self, parent):
        raise AssertionError("nobody asked for that")


def test_in_a_kernel_nothing_of_it_reaches_a_cell():
    stream = CellStream()
    with contextlib.redirect_stdout(stream):
        with printed() as kept:
            print("from the tool")
            thread = threading.Thread(target=print, args=("from another thread",))
            thread.start()
            thread.join(10)
        print("from the cell")
        assert sys.stdout is stream
    assert kept.text == "from the tool\n"
    assert stream.getvalue() == "from another thread\nfrom the cell\n"


def test_what_a_tool_awaits_and_hands_to_threads_is_its_own(stage, session):
    async def look():
        print("awaiting")
        await asyncio.to_thread(print, "in a thread")
        await asyncio.gather(*(asyncio.to_thread(print, "more") for _ in range(2)))
        return ""

    _, (asked,) = run(stage, session, look)
    told = asked.tool["printed"]
    assert told.startswith("awaiting\nin a thread\n")
    # `print` writes its words, then the end of its line, and two threads do so at once.
    assert sorted(told.removeprefix("awaiting\nin a thread\n")) == sorted("more\nmore\n")


def test_a_stream_that_somebody_puts_in_meanwhile_is_left_to_him():
    before = sys.stdout
    own = io.StringIO()
    with printed() as kept:
        divided = sys.stdout
        sys.stdout = own
    assert sys.stdout is own
    sys.stdout = divided  # taken away again after the run
    print("passed on")
    with printed() as again:
        print("kept")
    assert (kept.text, again.text, own.getvalue()) == ("", "kept\n", "")
    assert sys.stdout is before


def test_a_log_handler_made_during_a_run_works_afterwards(capsys):
    with printed() as kept:
        handler = logging.StreamHandler()
        handler.stream.writelines(["in the run\n"])
    handler.stream.write("after the run\n")
    assert kept.text == "in the run\n"
    assert capsys.readouterr().err == "in the run\nafter the run\n"


@pytest.mark.parametrize("piece", [1, 999, PRINTED_LIMIT, 5 * PRINTED_LIMIT])
def test_an_endless_print_keeps_its_end_and_says_so(piece):
    kept = Printed()
    total = 0
    while total < 4 * PRINTED_LIMIT:
        total += kept.write("x" * piece)
    kept.write("the end")
    note, _, text = kept.text.partition("\n")
    assert note == f"… ({total + 7 - PRINTED_LIMIT:,} characters before this are not kept)"
    assert len(text) == PRINTED_LIMIT
    assert text.endswith("xthe end")
    assert sum(map(len, kept._pieces)) < 2 * PRINTED_LIMIT


def test_a_deep_failure_shows_its_last_frames():
    def deep(levels, other):
        if not levels:
            raise KeyError("far down")
        other(levels - 1, deep)

    def deeper(levels, other):
        other(levels - 1, deeper)

    with pytest.raises(KeyError) as raised:
        deep(200, deeper)
    written = own_traceback(raised.value)
    assert written.endswith("KeyError: 'far down'")
    assert written.count("File ") == 20


class Unspeakable(Exception):
    def __str__(self):
        raise self


def test_an_exception_that_cannot_be_written_out_is_none_the_less_a_traceback():
    with pytest.raises(Unspeakable) as raised:
        raise Unspeakable
    assert "<exception str() failed>" in own_traceback(raised.value)
