"""What each subcommand does: one call of a public method, and what is shown of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from steer_nb.magics.finding import find_lane, find_message, find_session, open_session
from steer_nb.magics.grammar import CELL
from steer_nb.magics.helping import topic
from steer_nb.magics.namespace import find_tools, find_values
from steer_nb.magics.parsing import Parsed, refuse
from steer_nb.magics.showing import Status, say
from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import altair as alt
    import pandas as pd

    from steer_nb.client import Lane, Replay, Response, Session, Steer
    from steer_nb.client.checking import Check
    from steer_nb.simulator.threaded import Dialect
    from steer_nb.trace import Trace, TraceSet
    from steer_nb.widgets import BoardView, LaneView

    Spaces = Sequence[Mapping[str, Any]]

_MOST = 6

__all__ = ["glance", "perform", "perform_cell"]


def perform(parsed: Parsed, spaces: Spaces) -> Any:
    """Do what a ``%steer`` line asks for.

    Parameters
    ----------
    parsed : Parsed
        The line.
    spaces : sequence of mapping
        Where Python names are looked up, the nearest first.

    Returns
    -------
    object
        The cell's result.
    """
    return _ACTIONS[parsed.command.name](parsed, spaces)


def perform_cell(parsed: Parsed, text: str, spaces: Spaces) -> Response | Steer:
    """Send a cell's text as ``%%steer`` asks for.

    Returns
    -------
    Response or Steer
        Awaitable; which of the two it did.
    """
    assert parsed.command is CELL
    if not text.strip():
        refuse("The cell is empty: what to send stands below the %%steer line.", text)
    lane = find_lane(parsed.get("lane"))
    values = find_values(parsed.get("vars", ()), spaces)
    content: Any = [text, *values] if values else text
    handle: Response | Steer
    if parsed.get("create"):
        handle = lane.create(content)
    elif parsed.get("steer"):
        handle = lane.steer(content)
    else:
        handle = lane.send(content)
    _tell(lane, handle)
    if parsed.get("wait"):
        say(f"{lane.name}: {_word(lane.wait())}")
    return handle


def glance() -> None:
    """Tell in a few lines what there is: what ``%steer`` alone shows."""
    session = open_session()
    if session is None:
        say("Nothing is connected. %steer connect begins, %steer help tells all.")
        return
    say(repr(session))
    for name, word in session.status()["lanes"].items():
        say(f"  {name}: {_word(word)}")
    say("%steer help tells what can be done.")


def _tell(lane: Lane, handle: Response | Steer) -> None:
    parent = getattr(handle, "response_id", None)
    if parent is not None and getattr(handle, "state", "") == "queued_here":
        say(f"Queued here for {lane.name}: {short_id(parent)} is in its way.")
    elif parent is None:
        say(f"Sent to {lane.name}: a new response.")
    else:
        say(f"Sent to {lane.name}: steering {short_id(parent)}.")


def _word(word: str) -> str:
    return word.replace("_", " ")


# -- one function for each subcommand, in the order of the table -------------------------------


def _connect(parsed: Parsed, _: Spaces) -> Session:
    import steer_nb

    url, simulate = parsed.get("url"), parsed.get("simulate")
    if url is not None and "/" not in url:
        from steer_nb.simulator import SCENARIOS

        if url in SCENARIOS:
            refuse(f"{url} is a scenario, no URL: %steer connect --simulate {url}", url)
    pace = {key: parsed.get(key) for key in ("speed", "seed") if key in parsed.values}
    told = [key for key in ("speed", "seed", "option", "fault") if key in parsed.values]
    letta, of_simulator = parsed.get("letta"), ["simulate"] * bool(simulate) + told
    if of_simulator and letta and (letta is not True or not simulate):
        why = "add --simulate to play a server" if letta is True else "it is said of the simulator"
        refuse(f"--{of_simulator[0]} and --letta exclude each other: {why}.", told)
    if told:
        dialect = _dialect(letta=bool(letta))
        scenario = simulate if isinstance(simulate, str) else next(iter(dialect.scenarios))
        options = dialect.options.read(parsed.get("option", ()))
        simulate = dialect.simulator(scenario, **pace, faults=parsed.get("fault", ()), **options)
    return steer_nb.connect(
        url,
        model=parsed.get("model"),
        simulate=simulate,
        letta=letta,
        journal=False if parsed.get("no_journal") else parsed.get("journal"),
        name=parsed.get("name", "default"),
        multi_agent=bool(parsed.get("multi_agent")),
    )


def _dialect(*, letta: bool) -> Dialect:
    """What the simulator can be told, in the words of the server that it plays."""
    if letta:
        from steer_nb.simulator.letta import LETTA

        return LETTA
    from steer_nb.simulator.embedded import RESPONSES

    return RESPONSES


def _open(parsed: Parsed, spaces: Spaces) -> Lane:
    settings = dict(parsed.get("set", {}))
    for field in ("name", "fork"):
        if field in settings:
            refuse(f"--set {field}: a request has no such field. {parsed.command.usage}", field)
    given: dict[str, Any] = {
        key: parsed.values[key]
        for key in ("model", "instructions", "fork", "agent", "conversation")
        if key in parsed.values
    }
    if parsed.get("tools"):
        given["tools"] = find_tools(parsed.get("tools"), spaces)
    for field in settings.keys() & given.keys():
        refuse(f"{field} is given twice: as --{field} and as --set {field}.", field)
    return find_session().lane(parsed.get("lane"), **settings, **given)


def _send(parsed: Parsed, _: Spaces) -> Response | Steer:
    lane = find_lane(parsed.get("lane"))
    handle = lane.send(parsed.get("text"))
    _tell(lane, handle)
    return handle


def _cancel(parsed: Parsed, _: Spaces) -> Response:
    lane = find_lane(parsed.get("lane"))
    response = lane.cancel()
    what = "stop" if response.status == "in_progress" else "cancel"
    say(f"Asked the server to {what} {short_id(response.id or response.key)} of {lane.name}.")
    return response


def _pending(parsed: Parsed, _: Spaces) -> Any:
    from steer_nb.widgets import pending_forms

    name = parsed.get("lane")
    return pending_forms(find_session(), find_lane(name).name if name else None)


def _lanes(_parsed: Parsed, _: Spaces) -> BoardView:
    from steer_nb.widgets import BoardView

    return BoardView(find_session())


def _status(_parsed: Parsed, _: Spaces) -> Status:
    return Status(find_session().status())


def _show(parsed: Parsed, _: Spaces) -> LaneView:
    from steer_nb.widgets import LaneView

    return LaneView(find_session(), find_lane(parsed.get("lane")))


def _frame(parsed: Parsed, _: Spaces) -> pd.DataFrame:
    trace = find_session().trace
    return trace.frame(parsed.get("name"), parsed.get("columns"), lane=parsed.get("lane"))


def _timeline(parsed: Parsed, _: Spaces) -> alt.LayerChart:
    return find_session().trace.plot.timeline(parsed.get("lane"))


def _wait(parsed: Parsed, _: Spaces) -> None:
    timeout, name = parsed.get("timeout"), parsed.get("lane")
    if name:
        lane = find_lane(name)
        words: Mapping[str, str] = {lane.name: lane.wait(timeout)}
    else:
        words = find_session().wait(timeout)
    for lane_name, word in words.items():
        say(f"{lane_name}: {_word(word)}")
    if not words:
        say("No lane is open.")


def _save(parsed: Parsed, _: Spaces) -> None:
    trace = find_session().trace
    path = trace.save(parsed.get("path"))
    say(f"Saved {len(trace)} entries to {path}.")


def _export(parsed: Parsed, _: Spaces) -> None:
    from steer_nb.frames.export import export_as

    said = export_as(
        find_session().trace,
        parsed.get("kind"),
        parsed.get("path"),
        lane=parsed.get("lane"),
        content=parsed.get("content", False),
        redact=parsed.get("redact"),
    )
    say(f"Exported to {said}.")


def _load(parsed: Parsed, _: Spaces) -> Trace | TraceSet:
    import steer_nb

    loaded = steer_nb.load(parsed.get("path"), strict=bool(parsed.get("strict")))
    problems = loaded.problems
    if problems:
        kinds = Counter(problem.kind for problem in problems)
        told = ", ".join(f"{kind} ({n})" if n > 1 else kind for kind, n in kinds.most_common(6))
        many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        say(f"{many}: {told}. See frames.problems of what was loaded.")
    return loaded


def _replay(parsed: Parsed, _: Spaces) -> Replay:
    import steer_nb
    from steer_nb.widgets import LaneView

    playing = steer_nb.replay(
        parsed.get("path"),
        speed=parsed.get("speed", 1.0),
        lanes=parsed.get("lane"),
        name=parsed.get("name", "replay"),
    )
    for lane in playing.lanes[:_MOST]:
        LaneView(playing.session, lane).show()
    if parsed.get("wait"):
        playing.wait()
    return playing


def _recover(parsed: Parsed, spaces: Spaces) -> Session:
    import steer_nb
    from steer_nb.widgets import LaneView

    tools = find_tools(parsed.get("tools", ()), spaces)
    for name, old in steer_nb.sessions().items():
        if old.closed and parsed.get("name", name) == name:
            old.close()  # its line is gone for good; its journal can be taken up then
    session = steer_nb.recover(parsed.get("path"), name=parsed.get("name"), tools=tools)
    for lane in [lane for lane in session.lanes.values() if lane.recovery is not None][:_MOST]:
        LaneView(session, lane).show()
    return session


def _check(parsed: Parsed, _: Spaces) -> Check:
    name = parsed.get("lane")
    return find_lane(name).check() if name else find_session().check()


def _resume(parsed: Parsed, _: Spaces) -> None:
    lane = find_lane(parsed.get("lane"))
    offer, word = lane.recovery, parsed.get("choice")
    lane.recover(word)
    if offer is not None:
        choice = offer.choice(word) if word else offer.choices[0]
        say(f"{lane.name}: {choice.says if choice else word}.")
    if lane.state == "waiting_input":
        say("What it waits for: %steer pending")


def _again(parsed: Parsed, _: Spaces) -> Response | Steer:
    message = find_message(parsed.get("key"))
    handle = message.send_again()
    _tell(handle.lane, handle)
    return handle


def _drop(parsed: Parsed, _: Spaces) -> None:
    message = find_message(parsed.get("key"))
    message.drop()
    say(f"{message.key} is dropped: it is not sent again.")


def _nest(_parsed: Parsed, _: Spaces) -> None:
    import steer_nb

    steer_nb.allow_nested_loops()


def _close(parsed: Parsed, _: Spaces) -> None:
    name = parsed.get("lane")
    if name:
        lane = find_lane(name)
        left = lane.in_flight
        lane.close()
        say(f"Lane {lane.name} is closed.{_left(left)}")
    else:
        session = find_session()
        left = session.in_flight
        session.close()
        say(f"Session {session.name} is closed.{_left(left)}")


def _left(phrases: list[str]) -> str:
    """What was in flight, in one line."""
    if not phrases:
        return ""
    more = f"; and {len(phrases) - _MOST} more" if len(phrases) > _MOST else ""
    return f" When it was closed: {'; '.join(phrases[:_MOST])}{more}."


def _help(parsed: Parsed, _: Spaces) -> None:
    say(topic(parsed.get("word")))


_ACTIONS: dict[str, Callable[[Parsed, Spaces], Any]] = {
    "connect": _connect,
    "open": _open,
    "send": _send,
    "cancel": _cancel,
    "pending": _pending,
    "lanes": _lanes,
    "status": _status,
    "show": _show,
    "frame": _frame,
    "timeline": _timeline,
    "wait": _wait,
    "save": _save,
    "export": _export,
    "load": _load,
    "replay": _replay,
    "recover": _recover,
    "check": _check,
    "resume": _resume,
    "again": _again,
    "drop": _drop,
    "nest": _nest,
    "close": _close,
    "help": _help,
}
