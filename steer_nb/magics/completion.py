"""Completion in IPython: what `completing` offers, in the form that each version takes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steer_nb.errors import TraceError
from steer_nb.magics.completing import Offer, complete
from steer_nb.magics.finding import open_session, undecided_keys
from steer_nb.magics.grammar import CELL, COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.magics.commands import Kind

__all__ = ["KernelOffers", "install"]

_LINE = re.compile(r"\s*(?:[^\W\d][\w.]*\s*=\s*)?%steer\s+(?P<text>.*)", re.DOTALL)
_CELL = re.compile(r"\s*%%steer\s+(?P<text>.*)", re.DOTALL)
_HOOKS = ("%steer", "%%steer")
_SCENARIO_FILES = (".yaml", ".yml", ".py", ".jsonl")
_QUICK = 8 * 1024 * 1024
"""Bytes of a trace that is read while somebody waits for a completion."""


class KernelOffers:
    """The words that exist now: lanes, tables, scenarios, and the person's own names.

    Parameters
    ----------
    shell : InteractiveShell
        Whose names to offer.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def words(self, kind: Kind, given: list[str]) -> list[str]:
        """List what may stand for `kind`; `given` are the words before it."""
        find: dict[str, Callable[[], list[str]]] = {
            "lane": self._lanes,
            "new_lane": self._lanes,
            "lanes": lambda: _recorded_lanes(given),
            "name": _sessions,
            "url": _urls,
            "letta_url": _letta_urls,
            "agent": self._agents,
            "json": _fields,
            "detached": self._detached,
            "undecided": self._undecided,
            "choice": lambda: self._choices(given),
            "model": self._models,
            "origin": lambda: self._lanes() + self._responses(),
            "form": _forms,
            "frame": _frames,
            "columns": lambda: _columns(given),
            "scenario": lambda: _scenarios(given),
            "option": lambda: _options(given),
            "fault": lambda: _faults(given),
            "tools": lambda: self._names(_is_tool),
            "values": lambda: self._names(_is_value),
            "word": _topics,
        }
        return find[kind]() if kind in find else []

    def _lanes(self) -> list[str]:
        session = open_session()
        return list(session.lanes) if session is not None else []

    def _detached(self) -> list[str]:
        session = open_session()
        if session is None:
            return []
        return [name for name, lane in session.lanes.items() if lane.recovery is not None]

    def _undecided(self) -> list[str]:
        session = open_session()
        return [] if session is None else undecided_keys(session)

    def _choices(self, given: list[str]) -> list[str]:
        session = open_session()
        lane = None if session is None else session.lanes.get(given[0] if given else "")
        offer = None if lane is None else lane.recovery
        words = ["continue", "rebuild", "leave"]
        return words if offer is None else [choice.word for choice in offer.choices]

    def _models(self) -> list[str]:
        from steer_nb.client.settings import DEFAULT_MODEL

        session = open_session()
        if session is None:
            return [DEFAULT_MODEL]
        used = [session.status()["model"], DEFAULT_MODEL]
        used += [lane.settings.get("model") for lane in session.lanes.values()]
        return list(dict.fromkeys(model for model in used if model))

    def _agents(self) -> list[str]:
        session = open_session()
        lanes = [] if session is None else session.lanes.values()
        return list(
            dict.fromkeys(lane.settings["agent"] for lane in lanes if "agent" in lane.settings)
        )

    def _responses(self) -> list[str]:
        session = open_session()
        if session is None:
            return []
        return [r.id for lane in session.lanes.values() for r in lane.responses if r.id]

    def _names(self, wanted: Callable[[Any], bool]) -> list[str]:
        from steer_nb.widgets.names import own_variables

        return list(own_variables(self._shell, wanted))


def _frames() -> list[str]:
    from steer_nb.frames import FRAME_NAMES

    return list(FRAME_NAMES)


def _forms() -> list[str]:
    from steer_nb.frames.export import KINDS

    return list(KINDS)


def _columns(given: list[str]) -> list[str]:
    from steer_nb.frames import TABLES

    # In `frame NAME --columns …` the table comes first, but the words may stand in any order.
    table = next((TABLES[word] for word in given if word in TABLES), None)
    tables = [table] if table is not None else list(TABLES.values())
    return [group.name for one in tables for group in one.groups]


def _scenarios(given: list[str]) -> list[str]:
    from steer_nb.simulator import SCENARIOS, letta

    known = letta.SCENARIOS if "--letta" in given else SCENARIOS
    files = (path.name for path in Path().iterdir())
    return [*known, *sorted(f for f in files if f.endswith(_SCENARIO_FILES))]


def _options(given: list[str]) -> list[str]:
    from steer_nb.simulator import list_options
    from steer_nb.simulator.letta import LettaOptions

    known = list_options(LettaOptions) if "--letta" in given else list_options()
    return [f"{one.name}={word}" for one in known for word in one.choices or ("",)]


def _faults(given: list[str]) -> list[str]:
    """The words of faults; behind one of them, what it takes."""
    from steer_nb.simulator import list_faults

    known = {one.name: one for one in list_faults()}
    fault = known.get(given[0]) if given else None
    if fault is None:
        return list(known)
    used = {word.partition("=")[0] for word in given[1:]}
    return [
        f"{field.name}={word}"
        for field in fault.fields
        if field.name not in used
        for word in field.choices or ("",)
    ]


def _fields() -> list[str]:
    """What `--set` takes: every field of a request that has no option of its own."""
    from steer_nb.wire import CREATE_FIELDS

    own = {"input", "instructions", "model", "previous_response_id", "tools"}
    return [f"{name}=" for name in CREATE_FIELDS if name not in own]


def _sessions() -> list[str]:
    client = sys.modules.get("steer_nb.client")
    return [] if client is None else list(client.sessions())


def _urls() -> list[str]:
    """The service, and where sessions are connected to; none of these holds a credential."""
    from steer_nb.client.endpoint import OPENAI_URL

    client = sys.modules.get("steer_nb.client")
    used = [] if client is None else [session.url for session in client.sessions().values()]
    return list(dict.fromkeys([OPENAI_URL, *used]))


def _letta_urls() -> list[str]:
    """The Letta server that is set, and where one listens that runs on this machine."""
    from steer_nb.client.endpoint import shown_url

    own = os.environ.get("LETTA_BASE_URL", "").strip()
    return list(dict.fromkeys([*([shown_url(own)] if own else []), "http://127.0.0.1:8283"]))


def _recorded_lanes(given: list[str]) -> list[str]:
    """The lanes of the trace that is to be played, if it can be read quickly."""
    from steer_nb.ledger import DEFAULT_LANE
    from steer_nb.trace import load_trace

    for name in given:
        file = Path(name).expanduser()
        if file.suffix == ".jsonl" and file.is_file() and file.stat().st_size < _QUICK:
            try:
                ledger = load_trace(file).ledger
            except TraceError:
                return []
            return [lane or DEFAULT_LANE for lane in ledger.lanes]
    return []


def _topics() -> list[str]:
    """What there is help on."""
    options = {o.name for command in (CELL, *COMMANDS.values()) for o in command.options}
    return [*COMMANDS, "%%steer", *sorted(options)]


def _is_tool(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("type"), str)
    if isinstance(value, type) or not callable(value):
        return False
    return getattr(value, "__module__", None) == "__main__" or hasattr(value, "definition")


def _is_value(value: Any) -> bool:
    return not callable(value) and type(value).__name__ != "module"


def _offer(shell: Any, line: str, first: bool) -> Offer | None:
    """Complete one line up to the cursor; None where it is no line of ours."""
    match = _LINE.match(line)
    if match:
        return complete(match["text"], KernelOffers(shell))
    match = _CELL.match(line) if first else None
    if match:
        return complete(match["text"], KernelOffers(shell), cell=True)
    return None


def install(shell: Any) -> Callable[[], None]:
    """Add the completion to a shell.

    Parameters
    ----------
    shell : InteractiveShell
        Which shell.

    Returns
    -------
    callable
        Takes the completion away again.
    """
    from IPython.core import completer

    if hasattr(completer, "context_matcher"):
        return _install_matcher(shell)
    return _install_hooks(shell)


def _install_matcher(shell: Any) -> Callable[[], None]:
    """Install for IPython 8.6 and later: our words, and no Python names between them."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher(priority=100)  # type: ignore[untyped-decorator, unused-ignore]
    def steer_matcher(context: Any) -> dict[str, Any]:
        offer = _offer(shell, context.text_until_cursor, context.cursor_line == 0)
        if offer is None or offer.files:
            return {"completions": []}
        return {
            "completions": [SimpleCompletion(word, type="steer") for word in offer.words],
            "matched_fragment": offer.fragment,
            "ordered": True,
            "suppress": True,
        }

    matchers = shell.Completer.custom_matchers
    matchers.append(steer_matcher)

    def undo() -> None:
        if steer_matcher in matchers:
            matchers.remove(steer_matcher)

    return undo


def _install_hooks(shell: Any) -> Callable[[], None]:
    """Install for older IPython, which mixes Python names in."""

    def completer(_: Any, event: Any) -> list[str]:
        offer = _offer(shell, event.text_until_cursor, first=True)
        return offer.words if offer is not None else []

    for key in _HOOKS:
        shell.set_hook("complete_command", completer, str_key=key)

    def undo() -> None:
        table = shell.strdispatchers.get("complete_command")
        for key in _HOOKS:
            if table is not None:
                table.strs.pop(key, None)

    return undo
