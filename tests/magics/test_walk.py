"""Every word, option and kind of the table: none without help, none without completion."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from steer_nb.frames import FRAME_NAMES
from steer_nb.magics.commands import Argument, Command, Kind, Option
from steer_nb.magics.completing import _FILES
from steer_nb.magics.completion import KernelOffers, _offer
from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.magics.helping import describe, docstring, overview, topic
from steer_nb.simulator import SCENARIOS
from tests.magics.test_completion import completed, words
from tests.magics.test_grammar import minimal
from tests.magics.test_magics import line

EVERYTHING = [CELL, *COMMANDS.values()]
PLACES = [
    (command, place) for command in EVERYTHING for place in (*command.arguments, *command.options)
]

# Only the person knows these: no list could hold them.
FREE = {"agent", "flag", "integer", "number", "text"}  # an agent: where a lane has one


def title(value: Any) -> str:
    if isinstance(value, Command):
        return value.name or "cell"
    return value.name


@pytest.fixture
def busy(shell: Any, lost: Any) -> Any:
    """A shell in which there is something to offer for every kind."""
    lost.trace.save("run.jsonl")
    Path("own.py").touch()
    Path("own.yaml").touch()
    shell.run_cell("def get_weather(city: str) -> str:\n    return city\nbudget = 300\n")
    return shell


def ours(shell: Any, line: str) -> list[str]:
    """What we offer at the end of a line; where that is nothing, IPython asks Python."""
    offer = _offer(shell, line, first=True)
    assert offer is not None
    return offer.words


def test_every_kind_is_used_and_offered_or_free(busy: Any) -> None:
    used = {place.kind for _, place in PLACES}
    assert used == set(get_args(Kind))
    offers = KernelOffers(busy)
    for kind in sorted(used - FREE - set(_FILES)):
        given = {"choice": ["trip"], "lanes": ["run.jsonl"], "columns": ["steers"]}.get(kind, [])
        found = offers.words(kind, given)
        assert found, kind
        assert all(isinstance(word, str) and word for word in found), kind
        assert len(set(found)) == len(found), kind
    for kind in FREE:
        assert offers.words(kind, []) == [], kind


@pytest.mark.parametrize(("command", "place"), PLACES, ids=title)
def test_every_place_is_completed_as_ipython_asks(
    busy: Any, command: Command, place: Argument | Option
) -> None:
    before = {
        ("replay", "LANE"): "run.jsonl ",
        ("frame", "LANE"): "steers ",
        ("frame", "COLUMNS"): "steers ",
        ("resume", "CHOICE"): "trip ",
    }
    head = f"{command.magic} "
    if isinstance(place, Option):
        start = head + (before.get((command.name, place.name.lstrip("-").upper())) or "")
        start = start if start != head else f"{head}{minimal(command)} ".replace("  ", " ")
        assert place.name in words(busy, f"{start}--"), "the option itself"
        start += f"{place.name} "
    else:
        count = command.arguments.index(place)
        start = before.get((command.name, place.name)) or "x " * count
        start = head + start
    if place.kind == "flag":
        return  # what follows it is another place
    if place.kind in FREE:  # nothing of ours; IPython may still offer what Python knows
        assert not [word for word in ours(busy, start) if not word.startswith("--")]
        return
    found = [text.removeprefix(start) for text in completed(busy, start)]
    assert any(not word.startswith("--") for word in found), start


def test_parts_of_a_fault(busy: Any) -> None:
    assert words(busy, "%steer connect --fault dr") == ["drop"]
    assert completed(busy, '%steer connect --fault "dr') == ['%steer connect --fault "drop']
    found = completed(busy, '%steer connect --fault "drop s')
    assert found == [
        '%steer connect --fault "drop side=before',
        '%steer connect --fault "drop side=after',
        '%steer connect --fault "drop stream_id=',
    ]
    assert ours(busy, '%steer connect --fault "drop side=after si') == []


def test_what_set_takes(busy: Any) -> None:
    assert words(busy, "%steer open x --set te") == ["temperature=", "text="]
    assert "model=" not in words(busy, "%steer open x --set ")


def test_lanes_of_a_recording(busy: Any) -> None:
    assert words(busy, "%steer replay run.jsonl --lane ") == ["trip"]
    Path("odd.jsonl").write_text("no trace")
    assert ours(busy, "%steer replay odd.jsonl --lane ") == []
    assert ours(busy, "%steer replay gone.jsonl --lane ") == []


def test_scenarios_of_ones_own(busy: Any) -> None:
    assert words(busy, "%steer connect --simulate own") == ["own.py", "own.yaml"]
    assert words(busy, "%steer connect --simulate run") == ["run.jsonl"]


def test_no_credential_is_offered(busy: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:verysecret@gateway.example/v1")
    assert "verysecret" not in str(words(busy, "%steer connect "))
    assert "https://api.openai.com/v1" in words(busy, "%steer connect ")


@pytest.mark.parametrize("command", EVERYTHING, ids=title)
def test_every_word_has_help(command: Command, shell: Any, capsys: Any) -> None:
    line(shell, f"help {command.name or '%%steer'}")
    told = capsys.readouterr().out
    assert told.strip() == describe(command).strip()
    assert command.help in told
    assert command.python in told
    assert command.example.split("\n")[0] in told
    assert command.usage in told
    assert command.help in overview()
    assert command.usage in docstring()
    for place in (*command.arguments, *command.options):
        assert place.help in told
        assert len(place.help) > 4
        if isinstance(place, Option) and place.kind != "flag":
            assert place.value, f"{place.name} says how its value looks"


@pytest.mark.parametrize(
    "option", sorted({o.name for command in EVERYTHING for o in command.options})
)
def test_every_option_has_help(option: str, shell: Any, capsys: Any) -> None:
    having = [command for command in EVERYTHING if command.option(option)]
    line(shell, f"help {option}")
    told = capsys.readouterr().out
    for command in having:
        assert command.usage in told
    bare = option.lstrip("-")
    assert bare in COMMANDS or topic(bare).strip() == told.strip()


def test_every_topic_that_is_offered_is_one(busy: Any) -> None:
    offered = words(busy, "%steer help ")
    assert offered[: len(COMMANDS)] == list(COMMANDS)
    assert words(busy, "%steer help --to") == ["--tools"]
    for word in offered:
        assert topic(word)


def test_what_is_fixed_is_listed() -> None:
    told = {name: " ".join(describe(COMMANDS[name]).split()) for name in ("frame", "connect")}
    assert f"Frames: {', '.join(FRAME_NAMES)}." in told["frame"]
    assert f"Scenarios: {', '.join(SCENARIOS)}." in told["connect"]
