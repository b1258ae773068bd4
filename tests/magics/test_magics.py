"""The magics in a shell, against the real simulator."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.error import UsageError

import steer_nb
from steer_nb.errors import LaneBusy, SteerError, WaitTimeout
from steer_nb.wire.naming import short_id


def sent(session: steer_nb.Session) -> list[dict[str, Any]]:
    """What went out, oldest first."""
    return [json.loads(entry.raw or "") for entry in session.trace if entry.kind == "out"]


def line(shell: Any, text: str) -> Any:
    return shell.run_line_magic("steer", text)


def cell(shell: Any, text: str, body: str) -> Any:
    return shell.run_cell_magic("steer", text, body)


class TestConnect:
    def test_the_simulator_and_what_it_says(self, shell: Any, capsys: Any) -> None:
        session = line(shell, "connect --simulate weather --speed 0 --seed 5 --name two --model m")
        assert session is steer_nb.current_session("two")
        assert "simulator (scenario weather)" in capsys.readouterr().out
        assert session.simulator.scenario.name == "weather"
        assert session.status()["model"] == "m"
        assert Path(".steer").is_dir()

    def test_without_anything_it_is_the_simulator(self, shell: Any, capsys: Any) -> None:
        assert line(shell, "connect --no-journal").simulator is not None
        assert "OPENAI_API_KEY" in capsys.readouterr().out
        assert not Path(".steer").exists()

    def test_a_url_and_a_journal_folder(self, shell: Any, tmp_path: Path) -> None:
        with steer_nb.Simulator("planner", speed=0) as simulator:
            session = line(shell, f'connect {simulator.base_url} --journal "{tmp_path}/my log"')
            assert session.journal_path.parent == tmp_path / "my log"
            session.close()

    def test_again_replaces_and_closes(self, shell: Any) -> None:
        first = line(shell, "connect --simulate --no-journal")
        second = line(shell, "connect --simulate --no-journal")
        assert first.closed
        assert steer_nb.current_session() is second

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("connect --simulate plannr", "Did you mean 'planner'?"),
            ("connect nonsense://x", "nonsense"),
            ("connect planner", "a scenario, no URL: %steer connect --simulate planner"),
            ("connect ws://127.0.0.1:9/v1 --no-journal", "127.0.0.1:9"),
        ],
    )
    def test_failures_are_usage_errors_with_their_cause(
        self, shell: Any, text: str, said: str
    ) -> None:
        with pytest.raises(UsageError, match=said.replace("?", r"\?")) as caught:
            line(shell, text)
        assert isinstance(caught.value.__cause__, SteerError)


class TestOpen:
    def test_all_options(self, shell: Any, session: Any) -> None:
        shell.run_cell("def get_weather(city: str) -> str:\n    return city\n")
        lane = line(
            shell,
            "open trip --model m --instructions 'Be brief.' --tools get_weather "
            '--set text={"verbosity": "low"} --set temperature=0.2',
        )
        assert lane is session.lanes["trip"]
        settings = lane.settings
        assert settings["model"] == "m"
        assert settings["instructions"] == "Be brief."
        assert settings["text"] == {"verbosity": "low"}
        assert settings["temperature"] == 0.2
        assert list(lane.tools) == ["get_weather"]

    def test_tools_are_found_where_the_line_stands(self, shell: Any, session: Any) -> None:
        shell.run_cell(
            "def inside():\n"
            "    def helper(city: str) -> str:\n"
            "        return city\n"
            "    %steer open trip --tools helper\n"
            "inside()\n"
        ).raise_error()
        assert list(session.lanes["trip"].tools) == ["helper"]

    def test_an_option_that_is_given_empty_is_given(self, shell: Any, session: Any) -> None:
        line(shell, "open trip --instructions 'Be brief.'")
        line(shell, "open trip --instructions ''")
        assert session.lanes["trip"].settings["instructions"] == ""
        with pytest.raises(UsageError, match="model is ''"):
            line(shell, "open trip --model ''")

    def test_tool_objects_and_definitions(self, shell: Any, session: Any) -> None:
        shell.user_ns["search"] = {"type": "web_search"}
        shell.user_ns["add"] = steer_nb.tool(lambda a: a, name="add", description="Adds.")
        assert list(line(shell, "open trip --tools search,add").tools) == ["add"]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("open trip --tools get_wether", "Did you mean get_weather"),
            ("open trip --tools budget", "a tool is a function"),
            ('open trip --model m --set model="n"', "given twice"),
            ('open trip --set name="n"', "no such field"),
            ("open trip --set stream=true", "stream"),
            ("open trip --set nonsense=1", "nonsense"),
            ("open tr!p", "tr!p"),
            ("open trip --fork nowhere", "nowhere"),
        ],
    )
    def test_mistakes_open_nothing(self, shell: Any, session: Any, text: str, said: str) -> None:
        shell.user_ns.update(get_weather=len, budget=300)
        with pytest.raises(UsageError, match=said):
            line(shell, text)
        assert not session.lanes

    def test_a_fork(self, shell: Any, session: Any) -> None:
        line(shell, "open one")
        first = cell(shell, "one --wait", "Hello.\n")
        fork = line(shell, "open two --fork one")
        assert fork.create("More.").wait(timeout=20).previous_response_id == first.id
        again = line(shell, f"open three --fork {first.id}")
        assert again.create("More.").wait(timeout=20).previous_response_id == first.id

    def test_without_a_session(self, shell: Any) -> None:
        for text in ("open trip", "status", "frame steers", "close", "save x.jsonl"):
            with pytest.raises(UsageError, match="%steer connect"):
                line(shell, text)


class TestSending:
    def test_a_body_goes_out_exactly_as_written(self, shell: Any, session: Any) -> None:
        line(shell, "open trip")
        body = "  {x} ${y} {1+1} %steer\n\n'quoted' \\n \"too\"?\n\n"
        shell.user_ns["x"] = "wrong"
        shell.run_cell(f"%%steer trip\n{body}").raise_error()
        session.wait(timeout=20)
        assert sent(session)[0]["input"] == body.removesuffix("\n")

    def test_a_line_goes_out_exactly_as_written(self, shell: Any, session: Any) -> None:
        line(shell, "open trip")
        shell.user_ns["x"] = "wrong"
        shell.run_cell("%steer send trip {x}  $x 'so' --wait").raise_error()
        assert sent(session)[0]["input"] == "{x}  $x 'so' --wait"

    @pytest.mark.parametrize("code", ["{}", "handle = {}", "if True:\n    {}"])
    def test_a_question_is_text(self, shell: Any, session: Any, code: str) -> None:
        line(shell, "open trip")
        shell.run_cell(code.format("%steer send trip Are you sure?")).raise_error()
        assert sent(session)[0]["input"] == "Are you sure?"

    def test_a_question_in_a_comment_is_no_call_for_help(
        self, shell: Any, session: Any, capsys: Any
    ) -> None:
        shell.run_cell("%steer open trip  # which one?").raise_error()
        assert "trip" in session.lanes

    def test_help_on_the_magic_is_still_there(self, shell: Any, session: Any) -> None:
        for code in ("%steer?", "len?", "text = '''\n%steer send trip a?\n'''"):
            assert "send trip" not in shell.transform_cell(code).replace("%steer send trip", "")
        assert "run_cell_magic" in shell.transform_cell("%%time\n%steer send trip a?")

    def test_an_idle_lane_creates_and_a_running_one_is_steered(
        self, shell: Any, session: Any, capsys: Any
    ) -> None:
        line(shell, "open trip")
        response = cell(shell, "trip", "Please wait.\n")
        assert isinstance(response, steer_nb.Response)
        assert "Sent to trip: a new response." in capsys.readouterr().out
        steer = line(shell, "send trip Go on")
        assert isinstance(steer, steer_nb.Steer)
        assert f"steering {short_id(response.id)}" in capsys.readouterr().out
        assert steer.wait(timeout=20).state == "committed"
        line(shell, "wait trip --timeout 20")
        assert session.lanes["trip"].text == "Steered: Go on"
        assert capsys.readouterr().out == "trip: idle\n"

    def test_create_and_steer_can_be_asked_for(self, shell: Any, session: Any) -> None:
        lane = line(shell, "open trip")
        with pytest.raises(UsageError, match="nothing is being written") as caught:
            cell(shell, "trip --steer", "Go on\n")
        assert isinstance(caught.value.__cause__, LaneBusy)
        cell(shell, "trip", "Please wait.\n")
        steer = cell(shell, "trip --steer", "Go on\n")
        assert isinstance(steer, steer_nb.Steer)
        lane.wait(timeout=20)
        assert isinstance(cell(shell, "trip --create --wait", "Bye\n"), steer_nb.Response)

    def test_wait_blocks_and_says_how_it_ended(self, shell: Any, session: Any, capsys: Any) -> None:
        line(shell, "open trip")
        assert cell(shell, "trip --wait", "Hello.\n").status == "completed"
        assert capsys.readouterr().out.endswith("trip: idle\n")

    def test_stop_interrupts_the_wait_and_nothing_else(self, shell: Any, session: Any) -> None:
        lane = line(shell, "open trip")
        timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            cell(shell, "trip --wait", "Please wait.\n")
        timer.join()
        assert lane.state == "running"
        lane.steer("Go on")
        assert lane.wait(timeout=20) == "idle"

    def test_lanes_may_be_called_like_subcommands(self, shell: Any, session: Any) -> None:
        line(shell, "open wait")
        assert line(shell, "send wait hello").lane.name == "wait"
        session.wait(timeout=20)
        assert cell(shell, "wait --wait", "hello\n").lane.name == "wait"

    def test_values_are_put_in_by_name(self, shell: Any, session: Any) -> None:
        line(shell, "open trip")
        shell.user_ns.update(
            budget=300,
            rows=pd.DataFrame({"city": ["Lisbon"]}),
            plain={"a": [1, None]},
            note="as it is",
        )
        cell(shell, "trip --vars budget,rows, plain, note --wait", "Look:\n")
        (message,) = sent(session)[0]["input"]
        texts = [part["text"] for part in message["content"]]
        assert texts[:2] == ["Look:", "300"]
        assert "Lisbon" in texts[2]
        assert texts[3:] == ['{"a": [1, null]}', "as it is"]

    @pytest.mark.parametrize(
        ("text", "body", "said"),
        [
            ("trop", "x", "Did you mean trip"),
            ("other", "x", "Open are: trip"),
            ("trip", " \n ", "empty"),
            ("trip --vars budgt", "x", "Did you mean budget"),
            ("trip --vars nope", "x", "'nope' here. Define"),  # not IPython's `open`
            ("trip --vars nan", "x", "JSON"),
            ("send trip", "x", "one lane"),
            ("trip --create --steer", "x", "exclude each other"),
        ],
    )
    def test_mistakes_send_nothing(
        self, shell: Any, session: Any, text: str, body: str, said: str
    ) -> None:
        line(shell, "open trip")
        shell.user_ns.update(budget=300, nan=[float("nan")])
        with pytest.raises(UsageError, match=said):
            cell(shell, text, body)
        assert not sent(session)
        assert list(session.lanes) == ["trip"]

    def test_only_the_default_lane_opens_by_itself(self, shell: Any, session: Any) -> None:
        assert cell(shell, "--wait", "hello\n").lane.name == "(default)"
        assert line(shell, "send (default) hello").lane.stream_id is None
        assert list(session.lanes) == ["(default)"]


class TestLooking:
    @pytest.fixture(autouse=True)
    def _talk(self, shell: Any, session: Any) -> None:
        line(shell, "open trip")
        line(shell, "open other")
        cell(shell, "trip", "Please wait.\n")
        line(shell, "send trip Go on")
        session.wait(timeout=20)

    def test_frames(self, shell: Any, session: Any) -> None:
        assert line(shell, "frame steers").equals(session.trace.frames.steers)
        assert len(line(shell, "frame responses trip")) == 2
        assert len(line(shell, "frame responses other")) == 0
        columns = line(shell, "frame events --columns EventCore+delta_text").columns
        assert columns[-1] == "delta_text"

    def test_a_frame_can_be_bound(self, shell: Any) -> None:
        shell.run_cell("steers = %steer frame steers").raise_error()
        assert isinstance(shell.user_ns["steers"], pd.DataFrame)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("frame steer", "Did you mean 'steers'"),
            ("frame steers nowhere", "nowhere"),
            ("frame steers --columns EventCore", "EventCore"),
            ("show nowhere", "nowhere"),
            ("pending nowhere", "nowhere"),
            ("close nowhere", "nowhere"),
        ],
    )
    def test_unknown_names(self, shell: Any, text: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            line(shell, text)

    def test_views(self, shell: Any, capsys: Any) -> None:
        shell.run_cell("%steer show trip").raise_error()
        assert "Steered: Go on" in capsys.readouterr().out
        shell.run_cell("%steer lanes").raise_error()
        assert "other" in capsys.readouterr().out
        shell.run_cell("%steer open other").raise_error()  # shows it, and is it
        assert capsys.readouterr().out.startswith("Out[")

    def test_status(self, shell: Any, session: Any, capsys: Any) -> None:
        status = line(shell, "status")
        expected = session.status()
        assert {name: value for name, value in status.items() if not name.endswith("_s")} == {
            name: value for name, value in expected.items() if not name.endswith("_s")
        }
        assert re.search(r"  lanes +trip is idle\n +other is idle\n", repr(status))
        line(shell, "")
        shown = capsys.readouterr().out
        assert "trip: idle" in shown
        assert "%steer help" in shown

    def test_save_and_load(self, shell: Any, session: Any, capsys: Any) -> None:
        line(shell, 'save "my run.jsonl"')
        assert "my run.jsonl" in capsys.readouterr().out
        assert line(shell, 'load "my run.jsonl"') == session.trace
        with pytest.raises(UsageError, match=r"missing\.jsonl"):
            line(shell, "load missing.jsonl")

    def test_closing(self, shell: Any, session: Any, capsys: Any) -> None:
        line(shell, "close other")
        assert list(session.lanes) == ["trip"]
        line(shell, "close")
        assert session.closed
        with pytest.raises(UsageError, match="closed"):
            line(shell, "send trip hello")
        assert "is closed" in capsys.readouterr().out


class TestWaiting:
    def test_all_lanes(self, shell: Any, session: Any, capsys: Any) -> None:
        line(shell, "wait")
        assert "No lane is open" in capsys.readouterr().out
        for name in ("one", "two"):
            line(shell, f"open {name}")
            line(shell, f"send {name} hello")
        line(shell, "wait")
        assert capsys.readouterr().out.endswith("one: idle\ntwo: idle\n")

    def test_a_timeout_is_told(self, shell: Any, session: Any) -> None:
        lane = line(shell, "open trip")
        line(shell, "send trip wait")
        with pytest.raises(UsageError, match=r"after 0\.2 seconds") as caught:
            line(shell, "wait trip --timeout 0.2")
        assert isinstance(caught.value.__cause__, WaitTimeout)
        lane.steer("Go on").wait(timeout=20)


class TestRequiredInput:
    def test_the_forms(self, shell: Any, capsys: Any) -> None:
        session = line(shell, "connect --simulate weather --speed 0 --no-journal")
        line(shell, "open trip")
        shell.run_cell("%steer pending").raise_error()
        assert "waits for" in capsys.readouterr().out
        cell(shell, "trip --wait", "What is the weather in Lisbon?\n")
        assert "trip: waiting input" in capsys.readouterr().out
        forms = line(shell, "pending trip")
        assert len(forms) == 1
        lane = session.lanes["trip"]
        lane.fill(lane.required_input[0].key, output="sunny")
        assert lane.send_continuation().wait(timeout=20).status == "completed"


class TestErrors:
    def test_a_mistake_is_one_line_and_its_cause_is_kept(self, shell: Any, capsys: Any) -> None:
        result = shell.run_cell("%steer opne trip")
        assert isinstance(result.error_in_exec, UsageError)
        shown = capsys.readouterr().err.strip()
        assert shown.startswith("UsageError: %steer has no subcommand 'opne'. Did you mean open?")
        assert "\n" not in shown
        assert isinstance(sys.last_value.__cause__, SteerError)

    def test_a_fault_shows_its_traceback(
        self, shell: Any, session: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(self: Any) -> None:
            msg = "a fault"
            raise RuntimeError(msg)

        monkeypatch.setattr(steer_nb.Session, "status", fail)
        result = shell.run_cell("%steer status")
        assert isinstance(result.error_in_exec, RuntimeError)
        assert "Traceback" in capsys.readouterr().out

    def test_a_semicolon_silences(self, shell: Any, session: Any, capsys: Any) -> None:
        shell.run_cell("%steer status;").raise_error()
        assert capsys.readouterr().out == ""

    def test_a_semicolon_in_a_text_is_text(self, shell: Any, session: Any) -> None:
        line(shell, "open trip")
        shell.run_cell("handle = %steer send trip int x = 1;").raise_error()
        shell.user_ns["handle"].wait(timeout=20)
        assert cell(shell, "trip --wait", "int y = 2;\n").status == "completed"
        assert [one["input"] for one in sent(session)] == ["int x = 1;", "int y = 2;"]

    def test_help(self, shell: Any, capsys: Any) -> None:
        line(shell, "help")
        assert "pending" in capsys.readouterr().out
        line(shell, "help open")
        assert "--instructions T" in capsys.readouterr().out
        line(shell, "")
        assert "%steer connect" in capsys.readouterr().out


class TestExtension:
    def test_reload_and_unload(self, shell: Any) -> None:
        def added() -> int:
            hooks = shell.strdispatchers["complete_command"].s_matches("%steer")
            matchers = len(shell.Completer.custom_matchers) + len(list(hooks))
            return matchers + len(shell.input_transformers_cleanup)

        before = added()
        shell.run_line_magic("reload_ext", "steer_nb")
        assert added() == before
        shell.run_line_magic("unload_ext", "steer_nb")
        assert added() == before - 2
        with pytest.raises(UsageError, match="not found"):
            line(shell, "status")
        assert "pinfo" in shell.transform_cell("%steer send trip a?")
        shell.run_line_magic("load_ext", "steer_nb")

    def test_the_docstring_is_the_table(self, shell: Any) -> None:
        doc = shell.find_line_magic("steer").__doc__
        assert "%steer open LANE [--model M]" in doc
        assert doc == shell.find_cell_magic("steer").__doc__


def test_load_reads_recordings_and_says_what_is_odd(
    shell: Any, tmp_path: Path, capsys: Any
) -> None:
    from steer_nb.trace import Trace, TraceSet

    event = '{"type":"response.created","response":{"id":"r1","status":"in_progress"}}'
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.sse").write_text(f"data: {event}\n\n")
    (tmp_path / "runs" / "b.jsonl").write_text(f"{event}\nno json\n")
    trace = shell.run_line_magic("steer", "load runs/b.jsonl")
    assert isinstance(trace, Trace)
    assert "1 problem: bad_json. See frames.problems" in capsys.readouterr().out
    traces = shell.run_line_magic("steer", "load runs")
    assert isinstance(traces, TraceSet)
    assert "2 problems: " in capsys.readouterr().out
    assert len(traces.frames.responses) == 2
    assert len(shell.run_line_magic("steer", "load runs/*.jsonl")) == 1
    with pytest.raises(UsageError, match="line 2: Expecting value"):
        shell.run_line_magic("steer", "load --strict runs/b.jsonl")
