"""The pytest plugin, as somebody else's project uses it: installed, and with a stock client."""

from __future__ import annotations

import os
import tomllib

import pytest

from tests.support.pages import ROOT, SITE, Page

pytest_plugins = ["pytester"]


CLIENT = """
import openai

def ask(simulator, text, **options):
    options = {"base_url": simulator.base_url, "api_key": "sk-test", **options}
    with openai.OpenAI(**options) as client, client.responses.connect() as connection:
        connection.response.create(model="gpt-6-astra", input=text)
        for event in connection:
            if event.type == "response.completed":
                return event.response
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A project of somebody who installed the package: pytest finds the plugin by itself."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    installed = pytester.mkdir("installed")
    record = installed / "steer_nb-0.dist-info"
    record.mkdir()
    record.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: steer-nb\nVersion: 0\n")
    lines = ["[pytest11]", *(f"{name} = {value}" for name, value in points["pytest11"].items())]
    record.joinpath("entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    pytester.makepyfile(client=CLIENT)
    return pytester


def run(project, *words):
    return project.runpytest_subprocess("--strict-markers", "-p", "no:cacheprovider", *words)


def test_who_does_not_use_it_loads_nothing(project):
    project.makepyfile(
        """
        import sys

        def test_nothing():
            ours = sorted(name for name in sys.modules if name.startswith("steer_nb"))
            assert ours == ["steer_nb", "steer_nb._version", "steer_nb.testing"]
            assert not {"asyncio", "websockets", "msgspec", "pandas", "IPython"} & {*sys.modules}
        """
    )
    # Others' plugins, such as pytest-asyncio, would load some of it themselves.
    run(project, "-p", "no:asyncio", "-p", "no:anyio").assert_outcomes(passed=1)


def test_marks_and_settings(project):
    project.makeini("[pytest]\nresponses_simulator_scenario = custom\n")
    project.makepyfile(
        """
        import pytest
        from client import ask

        def kinds(response):
            return [item.type for item in response.output]

        def test_setting(responses_simulator):
            assert "custom_tool_call" in kinds(ask(responses_simulator, "Hotels in Porto."))
            assert responses_simulator.service.speed == 0

        @pytest.mark.responses_simulator("weather", lane_limit=3, speed=50)
        class TestClass:
            def test_class(self, responses_simulator):
                assert "function_call" in kinds(ask(responses_simulator, "Weather in Porto?"))
                assert responses_simulator.service.speed == 50

            @pytest.mark.responses_simulator(scenario="shell", seed=7, speed=0)
            def test_nearest_wins(self, responses_simulator):
                assert "shell_call" in kinds(ask(responses_simulator, "Look."))
                assert responses_simulator.service.options.lane_limit == 3
                assert responses_simulator.service.ids.seed == 7
                assert responses_simulator.service.speed == 0
        """
    )
    run(project).assert_outcomes(passed=3)


def test_what_tests_do(project):
    """Each has its own server, with a clock; what it leaves open or broken fails nothing.

    Beside them stands the first example of the site's page, as it is there. None of all that loads
    pandas or widgets.
    """
    project.makepyfile(
        test_agent=Page(SITE / "testing.md").blocks()[0],
        test_own="""
        import socket
        import pytest
        from client import ask

        last = []

        @pytest.mark.parametrize("turn", range(3))
        def test_own(responses_simulator, turn):
            assert responses_simulator.account == []
            ask(responses_simulator, "Hello.")
            (request,) = [e for e in responses_simulator.account if e["kind"] == "request"]
            assert request["body"]["input"] == "Hello."
            assert request["state"] == "completed"
            last.append(responses_simulator.port)

        def test_stopped():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", last[-1]))
        """,
        test_clock="""
        import openai

        def test_an_hour_later(responses_simulator):
            options = {"base_url": responses_simulator.base_url, "api_key": "sk-test"}
            with openai.OpenAI(**options) as client, client.responses.connect() as connection:
                responses_simulator.advance(3600)
                error = connection.recv().error
            assert error.code == "websocket_connection_limit_reached"
        """,
        test_rude="""
        import openai

        def test_rude(responses_simulator):
            client = openai.OpenAI(base_url=responses_simulator.base_url, api_key="sk-test")
            connection = client.responses.connect().enter()
            connection.response.create(model="gpt-6-astra", input="Hi.", stream_id="")
            assert connection.recv().error.code == "invalid_stream_id"
        """,
        test_what_is_loaded="""
        import sys
        from client import ask

        def test_stock_client(responses_simulator):
            assert ask(responses_simulator, "Plan a trip to Rome.").output_text
            assert not {"pandas", "ipywidgets", "IPython", "ipykernel"} & {*sys.modules}
        """,
    )
    run(project).assert_outcomes(passed=8)


def test_scenario_file_beside_the_test(project):
    folder = project.mkpydir("suite")
    folder.joinpath("parrot.py").write_text(
        "from steer_nb.simulator import Say, scenario\n"
        "@scenario('parrot', 'Says it.')\n"
        "def parrot(turn):\n    yield Say(turn.prompt)\n"
    )
    folder.joinpath("test_parrot.py").write_text(
        "import pytest\nfrom client import ask\n"
        "@pytest.mark.parametrize('x', [\n"
        "    pytest.param(1, marks=pytest.mark.responses_simulator('parrot.py')),\n"
        "    pytest.param(2, marks=pytest.mark.responses_simulator('parrot.py:parrot')),\n"
        "])\n"
        "def test_parrot(responses_simulator, x):\n"
        "    assert ask(responses_simulator, 'Polly.').output_text == 'Polly.'\n"
    )
    run(project, "-p", "no:xdist", "-o", "pythonpath=.").assert_outcomes(passed=2)


WRONG_MARKS = {
    "('wether')": "Did you mean 'weather'?",
    "('weather', lane_limt=3)": "Did you mean 'lane_limit'?",
    "('weather', 'shell')": "the mark takes one scenario, not 2",
    "(speed=-1)": "speed must be 0 or more",
}


def test_wrong_marks_say_so(project):
    tests = [
        f"@pytest.mark.responses_simulator{mark}\n"
        f"def test_wrong_{number}(responses_simulator):\n    pass\n"
        for number, mark in enumerate(WRONG_MARKS)
    ]
    project.makepyfile("\n".join(["import pytest", *tests]))
    result = run(project)
    result.assert_outcomes(errors=len(WRONG_MARKS))
    for number, words in enumerate(WRONG_MARKS.values()):
        result.stdout.fnmatch_lines([f"*test_wrong_{number}: *{words.replace('[', '[[]')}*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_wrong_setting_says_so(project):
    project.makepyfile("def test_wrong(responses_simulator):\n    pass\n")
    result = run(project, "-o", "responses_simulator_speed=fast")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*responses_simulator_speed must be a number*'fast'*"])


def test_many_workers(project):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    project.makepyfile(
        """
        import pytest
        from client import ask

        @pytest.mark.parametrize("turn", range(8))
        def test_own(responses_simulator, turn):
            assert responses_simulator.account == []
            assert ask(responses_simulator, f"Plan {turn}.").status == "completed"
        """
    )
    run(project, "-n", "2").assert_outcomes(passed=8)
