"""The magics for what is to decide after a lost connection, or a dead kernel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.error import UsageError

import steer_nb
from steer_nb.errors import LaneBusy
from steer_nb.simulator import Simulator
from tests.magics.conftest import patient
from tests.magics.test_completion import words
from tests.magics.test_magics import line
from tests.support.github import glued, look
from tests.widgets.forming import until

if TYPE_CHECKING:
    from collections.abc import Iterator


def get_weather(city: str) -> str:
    """Weather forecast."""
    return f"18 in {city}"


@pytest.fixture
def journalled(shell: Any, tmp_path: Any, monkeypatch: Any) -> Iterator[Any]:
    """A session whose lane asks for something, with a journal that its process left."""
    monkeypatch.chdir(tmp_path)
    with Simulator("weather", speed=0) as simulator:
        session = steer_nb.connect(simulator.base_url, quiet=True, tools=[get_weather])
        lane = session.lane("trip")
        lane.create("What about Lisbon?")
        assert lane.wait(10) == "waiting_input"
        lane.run_tool(lane.required_input[0].key)
        session.close()
        yield session


class TestRecover:
    def test_the_newest_journal_with_the_functions_of_the_notebook(
        self, shell: Any, journalled: Any, capsys: Any
    ) -> None:
        shell.user_ns["get_weather"] = get_weather
        session = line(shell, "recover --tools get_weather --name again")
        said = capsys.readouterr().out
        assert "Recovered session again from .steer/" in said.replace("\\", "/")
        assert "To decide: lane trip." in said
        assert "%steer resume trip continue: continue from resp_" in said, "the lane is shown"
        assert list(session["trip"].tools) == ["get_weather"]
        line(shell, "resume trip")
        said = capsys.readouterr().out
        assert re.match(r"trip: continue from resp_\w+, which the service has stored", said)
        assert "%steer pending" in said
        assert session["trip"].required_input[0].tool["output"] == "18 in Lisbon"
        assert "18 in Lisbon" in session["trip"].send_continuation().wait(10).text

    def test_a_path(self, shell: Any, journalled: Any) -> None:
        session = line(shell, f'recover "{journalled.journal_path}"')
        assert session.journal_path == journalled.journal_path

    def test_a_journal_in_use(self, shell: Any, journalled: Any) -> None:
        line(shell, "recover")
        with pytest.raises(UsageError, match="journal"):
            line(shell, "recover")

    def test_there_is_none(self, shell: Any, tmp_path: Any, monkeypatch: Any) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match="journal"):
            line(shell, "recover")

    def test_a_session_whose_line_is_gone_for_good(
        self, shell: Any, tmp_path: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with Simulator(patient, speed=0) as simulator:
            session = steer_nb.connect(simulator.base_url, quiet=True, reconnect=False)
            session.lane("trip").create("Hello.").wait(10)
            port = simulator.port
        until(lambda: session.closed)
        with Simulator(patient, speed=0, port=port):
            again = line(shell, "recover")
            assert again.journal_path == session.journal_path
            again.close()


class TestCheck:
    def test_a_lane_and_all_of_them(self, shell: Any, lost: Any) -> None:
        second = lost["trip"].responses[-1]

        def asked() -> bool:
            line(shell, "check trip")
            return second.status == "cancelled"

        until(asked)
        done = line(shell, "check")
        assert repr(done).startswith("Asked about 1 response."), "what it continues from"
        (key,) = [what for what in lost.status()["to_decide"] if what.startswith("steer-")]
        assert f"unknown: {key} stays unknown: no response is known" in repr(done)

    def test_what_cannot_be_asked_is_one_line(self, shell: Any, lost: Any) -> None:
        with pytest.raises(UsageError, match=r"No lane 'trop' is open\. Did you mean trip"):
            line(shell, "check trop")
        lost.close()
        with pytest.raises(UsageError, match="%steer recover, and ask then"):
            line(shell, "check")

    def test_it_is_completed_and_told(self, shell: Any, lost: Any, capsys: Any) -> None:
        assert "check" in words(shell, "%steer ch")
        assert words(shell, "%steer check ") == ["trip"]
        line(shell, "help check")
        assert "lane.check(), session.check()" in capsys.readouterr().out


class TestDeciding:
    def test_resume(self, shell: Any, lost: Any, capsys: Any) -> None:
        with pytest.raises(UsageError, match="Offered: 'continue'"):
            line(shell, "resume trip onwards")
        assert line(shell, "resume trip leave") is None
        assert "trip: leave it: what you say next begins a new conversation." in (
            capsys.readouterr().out
        )
        with pytest.raises(UsageError, match="needs no recovery") as caught:
            line(shell, "resume trip")
        assert isinstance(caught.value.__cause__, LaneBusy)
        with pytest.raises(UsageError, match=r"Did you mean trip\?"):
            line(shell, "resume trp")

    def test_again_by_key(self, shell: Any, lost: Any, capsys: Any) -> None:
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        with pytest.raises(UsageError, match="goes on"):
            line(shell, f"again {key}")
        line(shell, "resume trip continue")
        handle = line(shell, f"again {key}")
        assert isinstance(handle, steer_nb.Response)
        assert handle.wait(10).text == "Keep it short"
        assert "Sent to trip: a new response." in capsys.readouterr().out
        with pytest.raises(UsageError, match=f"already sent again, as {handle.key}"):
            line(shell, f"again {key}")

    def test_drop(self, shell: Any, lost: Any, capsys: Any) -> None:
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        assert line(shell, f"drop {key}") is None
        assert capsys.readouterr().out == f"{key} is dropped: it is not sent again.\n"
        with pytest.raises(UsageError, match="was dropped"):
            line(shell, f"drop {key}")

    def test_a_steer_by_its_id(self, shell: Any, session: Any) -> None:
        lane = session.lane("trip")
        lane.create("Please wait.")
        steer = lane.steer("Go on").wait(10)
        with pytest.raises(UsageError, match="nothing to decide"):
            line(shell, f"drop {steer.id}")

    def test_what_is_no_message(self, shell: Any, lost: Any, session: Any) -> None:
        with pytest.raises(UsageError, match="Nothing is to be decided"):
            line(shell, "again steer-99")

    def test_the_nearest_key(self, shell: Any, lost: Any) -> None:
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        with pytest.raises(UsageError, match=rf"Did you mean {key}\?"):
            line(shell, f"again x{key}")

    def test_completion(self, shell: Any, lost: Any) -> None:
        lost.lane("other")
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        assert words(shell, "%steer resume ") == ["trip"]
        assert words(shell, "%steer resume trip ") == ["continue", "rebuild", "leave"]
        assert words(shell, "%steer again ") == [key]
        assert words(shell, "%steer drop st") == [key]


class TestStatus:
    def test_the_countdown_and_what_is_to_decide(self, shell: Any, lost: Any) -> None:
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        status = line(shell, "status")
        assert status["to_decide"] == ["lane trip", key]
        text = repr(status)
        first, second = "lane trip (%steer resume trip)\n", f"{key} (%steer again {key}, or drop)"
        assert re.search(rf"  to decide +{re.escape(first)} +{re.escape(second)}\n", text)
        assert re.search(r"  lanes +trip lost its connection\n", text)
        assert re.search(r"  connection +0:\d\d old, 59:\d\d left; it is not replaced", text)

    def test_it_says_when_the_connection_is_replaced(self, shell: Any, session: Any) -> None:
        status = line(shell, "status")
        replaced = (
            r"  connection +0:\d\d old, 59:\d\d left; replaced in 54:\d\d, once every lane is"
        )
        assert re.search(replaced, repr(status))
        assert re.search(r"  to decide +nothing\n", repr(status))
        assert "_s" not in repr(status)
        status.update(age_s=3400.0, left_s=200.0)
        assert "56:40 old, 3:20 left; replaced as soon as every lane is idle" in repr(status)

    def test_it_looks_well_everywhere(self, shell: Any, session: Any) -> None:
        session.lane("trip").create("Plan.").wait(20)
        status = line(shell, "status")
        there = look(status._repr_html_())
        assert there.startswith("Session default · connected to the simulator (patient)\n")
        assert "lanes | trip is idle |" in there
        assert "in flight | no responses |" in there
        assert "1 request, no problems |" in there
        assert glued(status._repr_html_()) == []
        status["name"] = "<i>x"
        assert "<i>" not in status._repr_html_()

    def test_attempts(self, shell: Any) -> None:
        slow = steer_nb.Reconnect(attempts=5, first_s=60)
        with (
            Simulator(patient, speed=0) as simulator,
            steer_nb.connect(
                simulator.base_url, quiet=True, journal=False, reconnect=slow
            ) as session,
        ):
            simulator.stop()
            until(lambda: session.reconnecting)
            text = repr(line(shell, "status"))
            assert text.startswith("Session default: connecting again, attempt 1 of 5\n")
            assert "left" not in text


class TestClosing:
    def test_a_lane_says_what_was_in_flight(self, shell: Any, session: Any, capsys: Any) -> None:
        lane = session.lane("trip")
        lane.create("Please wait.")
        until(lambda: lane.text)
        line(shell, "close trip")
        said = capsys.readouterr().out
        assert re.fullmatch(
            r"Lane trip is closed\. When it was closed: resp_\w+ is being written, "
            r"12 characters so far\.\n",
            said,
        )

    def test_a_session_says_it_of_every_lane(self, shell: Any, lost: Any, capsys: Any) -> None:
        lost.lane("other").create("Please wait.")
        until(lambda: lost["other"].text)
        (key,) = [k for k in lost.status()["to_decide"] if k.startswith("steer")]
        in_flight = lost.in_flight
        assert in_flight[0] == f"trip: the outcome of {key} is unknown"
        assert "other: resp_" in in_flight[1]
        line(shell, "close")
        said = capsys.readouterr().out
        assert said.startswith("Session default is closed. When it was closed: trip: the outcome")
        assert "other: resp_" in said
        assert said.count("\n") == 1

    def test_nothing_in_flight_is_not_mentioned(
        self, shell: Any, session: Any, capsys: Any
    ) -> None:
        session.lane("trip").create("Hello.").wait(10)
        session.wait(10)
        assert session.in_flight == []
        line(shell, "close")
        assert capsys.readouterr().out == "Session default is closed.\n"

    def test_filled_answers_count(self, shell: Any, capsys: Any) -> None:
        with steer_nb.connect(
            simulate=Simulator("weather", speed=0), quiet=True, journal=False, tools=[get_weather]
        ) as session:
            lane = session.lane("trip")
            assert lane.in_flight == []
            lane.create("What about Lisbon?")
            lane.wait(10)
            lane.fill(lane.required_input[0].key, output="18")
            assert lane.in_flight == ["1 answer is filled and not sent"]
