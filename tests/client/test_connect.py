"""`connect`: which service, what is said, and sessions by name."""

from __future__ import annotations

import subprocess
import sys

import openai
import pytest

import steer_nb
from steer_nb import connect, current_session, errors, sessions
from steer_nb.client import DEFAULT_MODEL
from steer_nb.simulator import SCENARIOS, Say, Simulator, scenario

KEY = "sk-secret-0123456789abcdef"


def test_without_a_key_the_simulator_answers_and_one_line_says_so(capsys):
    with connect(journal=False) as session:
        assert capsys.readouterr().out == (
            f"Connected to the embedded simulator (scenario planner) at {session.url} "
            "— set OPENAI_API_KEY to use OpenAI.\n"
        )
        assert session.simulator.running
        assert session.status()["simulator"] == "planner"
        assert repr(session) == (
            "<Session default: connected, the simulator (planner), lanes: none>"
        )
    assert not session.simulator.running
    assert not [e for e in session.trace if e.note == "session" and e.data["simulator"] is None]


def test_with_a_base_url_that_service_is_used_and_named_without_the_key(monkeypatch, capsys, stage):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", stage.base_url)
    with connect(journal=False) as session:
        assert session.simulator is None
        assert capsys.readouterr().out == f"Connected to {session.url}.\n"
        assert stage.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert stage.headers[0]["User-Agent"].startswith("steer-nb/")
    assert [e.data["url"] for e in session.trace if e.note == "connected"] == [session.url]


def test_quiet_prints_nothing(stage, capsys):
    connect(stage.base_url, journal=False, quiet=True).close()
    assert capsys.readouterr().out == ""


def test_an_official_client_object(stage, capsys):
    client = openai.OpenAI(api_key=KEY, base_url=stage.base_url, default_headers={"X-Mine": "yes"})
    with connect(client=client, journal=False) as session:
        assert stage.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert stage.headers[0]["X-Mine"] == "yes"
        assert session.url == stage.base_url.replace("http", "ws") + "/responses"
    assert KEY not in capsys.readouterr().out


def test_a_scenario_by_name_or_of_ones_own():
    with connect(simulate="weather", journal=False, quiet=True) as session:
        assert session.simulator.scenario is SCENARIOS["weather"]

    @scenario("parrot", "Says what you say.")
    def parrot(turn):
        yield Say(turn.prompt)

    with connect(simulate=parrot, journal=False, quiet=True) as session:
        lane = session.lane("a")
        lane.create("Hello?")
        lane.wait(20)
        assert "Hello?" in lane.text
        assert session.status()["simulator"] == "parrot"


def test_a_scenario_that_there_is_not():
    with pytest.raises(errors.ScenarioError, match="planner"):
        connect(simulate="plannr", journal=False, quiet=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "http://127.0.0.1:1", "simulate": True},
        {"url": "http://127.0.0.1:1", "client": object()},
        {"client": object(), "simulate": "planner"},
    ],
    ids=lambda a: "+".join(a),
)
def test_one_place_to_connect_to(arguments):
    with pytest.raises(errors.InvalidInput, match="do not go together: give one of"):
        connect(journal=False, quiet=True, **arguments)


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_a_session_has_a_name(name):
    with pytest.raises(errors.InvalidInput, match="name is text"):
        connect(simulate=True, name=name, journal=False, quiet=True)


def test_model_and_tools_are_the_defaults_of_its_lanes(stage):
    def get_weather(city: str) -> str:
        """Weather."""
        return "18"

    with connect(
        stage.base_url, model="gpt-6-mini", tools=[get_weather], journal=False, quiet=True
    ) as session:
        lane = session.lane("a")
        assert lane.settings["model"] == "gpt-6-mini"
        assert set(lane.tools) == {"get_weather"}
        assert session.lane("b", tools=[]).settings["tools"] == []
        assert session.lane("b").tools == {}
        assert session.status()["model"] == "gpt-6-mini"
    with connect(stage.base_url, journal=False, quiet=True) as session:
        assert session.lane("a").settings == {"model": DEFAULT_MODEL}


def test_a_wrong_tool_leaves_no_simulator_running(monkeypatch):
    started = []
    monkeypatch.setattr(
        Simulator, "start", lambda self, s=Simulator.start: started.append(self) or s(self)
    )
    with pytest.raises(errors.InvalidInput):
        connect(simulate=True, tools=[3], journal=False, quiet=True)
    assert [simulator.running for simulator in started] == [False]


# -- by name -------------------------------------------------------------------------------------


def test_connecting_again_under_a_name_replaces_and_closes_the_old(stage):
    first = connect(stage.base_url, journal=False, quiet=True)
    other = connect(stage.base_url, name="other", journal=False, quiet=True)
    second = connect(stage.base_url, journal=False, quiet=True)
    assert first.closed
    assert not other.closed
    assert sessions() == {"other": other, "default": second}
    assert current_session() is second
    assert current_session("other") is other


def test_a_failed_attempt_leaves_the_old_session_alone(stage):
    first = connect(stage.base_url, journal=False, quiet=True)
    with pytest.raises(errors.ConnectionFailed):
        connect("http://127.0.0.1:9/v1", journal=False, quiet=True)
    assert current_session() is first
    assert not first.closed


def test_unknown_sessions(stage):
    with pytest.raises(errors.UnknownSession, match="connect first"):
        current_session()
    connect(stage.base_url, journal=False, quiet=True)
    with pytest.raises(errors.UnknownSession, match=r"no session 'x'\. There is: default"):
        current_session("x")


def test_a_closed_session_can_still_be_looked_at(stage):
    session = connect(stage.base_url, journal=False, quiet=True)
    session.close()
    assert current_session() is session
    assert session.status()["ended"].startswith("Session default is closed")
    assert session.lanes == {}


# -- the process's end ---------------------------------------------------------------------------


# In the development mode asyncio warns of what took 0.1 s: that is only a slow machine.
PATIENT = "import logging; logging.getLogger('asyncio').setLevel(logging.ERROR)\n"


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", PATIENT + code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_at_the_end_of_python_the_service_is_told(stage):
    code = """
import sys, steer_nb
session = steer_nb.connect(sys.argv[1], quiet=True)
session.lane("a").create("x")
print(session.journal_path)
"""
    done = run(code, stage.base_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert stage.closing() == (1001, "kernel exit")
    saved = steer_nb.load(done.stdout.strip())
    assert [e.data["by"] for e in saved if e.note == "closed"] == ["client"]


def test_a_service_that_does_not_answer_does_not_hold_python_back(stage, tmp_path):
    code = """
import sys, steer_nb
session = steer_nb.connect(sys.argv[1], quiet=True)
print(session.journal_path, flush=True)
sys.stdin.readline()
"""
    process = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", PATIENT + code, stage.base_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stage.pause_reading()
    out, err = process.communicate("\n", timeout=30)
    assert (process.returncode, err) == (0, "")
    saved = steer_nb.load(out.strip())
    assert [e.data["reason"] for e in saved if e.note == "closed"] == ["kernel exit"]


def test_a_tool_that_never_ends_does_not_hold_python_back(stage):
    code = """
import sys, threading, steer_nb
session = steer_nb.connect(simulate="weather", journal=False, quiet=True)
began = threading.Event()

@steer_nb.tool(policy="auto")
def get_weather(city: str, day: str = "", days: int = 1, unit: str = "") -> str:
    began.set()
    threading.Event().wait()

session.lane("a", tools=[get_weather]).create("What is the weather in Lisbon?")
assert began.wait(20)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
def test_a_forked_process_cannot_send_on_its_parents_connection(stage):
    code = """
import os, sys, warnings, steer_nb
warnings.simplefilter("ignore", DeprecationWarning)
session = steer_nb.connect(sys.argv[1], quiet=True)
lane = session.lane("a")
child = os.fork()
if child == 0:
    try:
        lane.create("from the child")
    except steer_nb.errors.NotConnected as error:
        assert "forked" in str(error), error
        session.close()   # the parent's connection is the parent's
        os._exit(0 if session.closed and len(session.trace) else 2)
    os._exit(1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
lane.create("from the parent")
session.close()
"""
    done = run(code.replace("steer_nb\nwarn", "steer_nb, steer_nb.errors\nwarn"), stage.base_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert stage.expect()["input"] == "from the parent"


def test_an_interrupt_just_when_it_is_open_leaves_no_socket_behind(stage, monkeypatch):
    def interrupted(future):
        future.result(10)
        raise KeyboardInterrupt

    monkeypatch.setattr("steer_nb.client.session.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        connect(stage.base_url, quiet=True)
    assert stage.closing() == (1000, "session closed")
    assert sessions() == {}
