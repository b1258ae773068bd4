"""Several agents from a cell: connecting for them, their forms, what is to decide."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.error import UsageError

from steer_nb.magics.grammar import COMMANDS
from tests.magics.test_completion import words
from tests.magics.test_magics import line
from tests.widgets.forming import cut, until

OPEN = 'open team --set multi_agent={"enabled": true}'


def begin(shell: Any) -> Any:
    session = line(shell, "connect --simulate agents --speed 0 --multi-agent --no-journal")
    line(shell, OPEN)
    line(shell, "send team Compare the weather in Rome and Paris.")
    until(lambda: len(session["team"].required_input) == 2)
    return session


def test_from_connecting_to_the_form(shell: Any, capsys: Any) -> None:
    session = begin(shell)
    (form,) = line(shell, "pending").forms
    assert form.send.description == "Inject"
    for part in form.sections.values():
        part.area.value = "18 C"
    until(lambda: not form.send.disabled)
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    line(shell, "wait team --timeout 20")
    assert "team: idle" in capsys.readouterr().out
    frame = line(shell, "frame required_inputs team")
    assert list(frame["agent_name"]) == ["/root/rome", "/root/paris"]
    session.close()


def test_a_running_team_is_not_steered(shell: Any) -> None:
    session = begin(shell)
    with pytest.raises(UsageError, match="waits for 2 answers"):
        line(shell, "send team Be quick.")
    session["team"].cancel_all()
    session.close()


def test_without_the_flag_the_lane_is_refused_in_one_line(shell: Any) -> None:
    session = line(shell, "connect --simulate agents --no-journal")
    with pytest.raises(UsageError, match=r"%steer connect --multi-agent") as caught:
        line(shell, OPEN)
    assert "\n" not in str(caught.value)
    session.close()


def test_an_unknown_inject_is_decided_on(shell: Any, capsys: Any) -> None:
    session = begin(shell)
    lane = session["team"]
    lane.cancel_all()
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    sent = lane.inject()
    cut(session)
    until(lambda: sent.state == "unknown")
    assert words(shell, "%steer again in") == [sent.key]
    assert f"%steer again {sent.key}" in str(line(shell, "status"))
    line(shell, f"drop {sent.key}")
    assert f"{sent.key} is dropped" in capsys.readouterr().out
    assert session.status()["to_decide"] == ["lane team"]
    session.close()


async def _nowhere(_: str) -> None:
    """A socket whose other end is gone, and does not say so."""


def test_the_flag_is_in_help_and_completion() -> None:
    assert "[--multi-agent]" in COMMANDS["connect"].usage
