"""Completion as IPython asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core import completer

import steer_nb
from steer_nb.magics.completion import _install_hooks


def completed(shell: Any, code: str) -> list[str]:
    """The line after each completion was put in."""
    if not hasattr(completer, "context_matcher"):
        pytest.skip("IPython before 8.6 has the hook only")
    with completer.provisionalcompleter():
        offers = list(shell.Completer.completions(code, len(code)))
    return [code[: offer.start] + offer.text for offer in offers]


def words(shell: Any, code: str) -> list[str]:
    stem = code.rstrip()[: len(code) - len(code.split()[-1])] if code[-1] != " " else code
    return [line.removeprefix(stem) for line in completed(shell, code)]


@pytest.fixture
def two_lanes(shell: Any, session: Any) -> Any:
    session.lane("planner")
    session.lane("plan.b-2")
    shell.run_cell("def get_weather(city: str) -> str:\n    return city\nbudget = 300\n")
    return shell


def test_nothing_but_ours_is_offered(two_lanes: Any) -> None:
    assert words(two_lanes, "%steer ")[:3] == ["connect", "open", "send"]
    assert words(two_lanes, "%steer op") == ["open"]
    assert words(two_lanes, "%steer open trip --") == [
        "--model",
        "--instructions",
        "--tools",
        "--set",
        "--fork",
        "--agent",
        "--conversation",
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("%steer send pl", ["planner", "plan.b-2"]),
        ("%steer send plan.", ["plan.b-2"]),
        ("%steer wait planner --t", ["--timeout"]),
        ("%%steer pl", ["planner", "plan.b-2"]),
        ("%%steer planner --v", ["--vars"]),
        ("%%steer planner --vars bu", ["budget"]),
        ("%steer open trip --tools ge", ["get_weather"]),
        ("%steer frame st", ["steers"]),
        ("%steer connect --simulate w", ["weather"]),
        ("%steer help w", ["wait"]),
        ("%steer open trip --model g", ["gpt-6-astra"]),
        ("steers = %steer frame st", ["steers"]),
        ("print(1)\n%steer sho", ["show"]),
    ],
)
def test_words(two_lanes: Any, code: str, expected: list[str]) -> None:
    assert words(two_lanes, code) == expected


def test_parts_of_a_list(two_lanes: Any) -> None:
    assert completed(two_lanes, "%steer open trip --tools search,ge") == [
        "%steer open trip --tools search,get_weather"
    ]
    assert completed(two_lanes, "%steer frame events --columns EventCore+EventD") == [
        "%steer frame events --columns EventCore+EventDelta"
    ]
    assert words(two_lanes, "%steer frame steers --columns S") == ["SteerCore", "SteerTimes"]


def test_a_response_to_fork_from(two_lanes: Any, session: Any) -> None:
    response = session.lanes["planner"].create("Hello.").wait(timeout=20)
    assert words(two_lanes, "%steer open trip --fork resp") == [response.id]


def test_files_are_left_to_ipython(two_lanes: Any, tmp_path: Any) -> None:
    (tmp_path / "run.jsonl").touch()
    assert "run.jsonl" in words(two_lanes, "%steer load ru")


def test_other_lines_are_left_alone(two_lanes: Any) -> None:
    assert "planner" not in words(two_lanes, "pl")
    assert words(two_lanes, "text\n%%steer pl") != ["planner", "plan.b-2"]
    assert "budget" in words(two_lanes, "budg")


def test_without_a_session_nothing_is_made_up(shell: Any) -> None:
    assert "--timeout" in words(shell, "%steer wait ")
    assert not steer_nb.sessions()


def test_the_older_hook(two_lanes: Any) -> None:
    undo = _install_hooks(two_lanes)
    hooks = two_lanes.strdispatchers["complete_command"]

    class Event:
        text_until_cursor = "%steer send plan"

    *_, hook = hooks.s_matches("%steer")
    assert hook(Event()) == ["planner", "plan.b-2"]
    undo()
    assert not list(hooks.s_matches("%steer"))
