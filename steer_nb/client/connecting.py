"""`connect` and `recover`: to which service, and what a session is made of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steer_nb.client.drafts import drafts_said
from steer_nb.client.embedding import described, start_letta, start_simulator
from steer_nb.client.endpoint import Endpoint, from_environment, of_client, of_url
from steer_nb.client.reconnecting import NEVER, Reconnect
from steer_nb.client.registry import keep
from steer_nb.client.restoring import about
from steer_nb.client.service import Responses
from steer_nb.client.session import Session
from steer_nb.client.transport import WebSocketTransport
from steer_nb.errors import InvalidInput
from steer_nb.trace import Journal, journal_path, load_trace, newest_journal
from steer_nb.wire import MULTI_AGENT_BETA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from steer_nb.client.service import Service
    from steer_nb.simulator import Scenario, Simulator
    from steer_nb.simulator.letta import LettaSimulator

__all__ = ["connect", "recover"]

JOURNAL_DIRECTORY = ".steer"


def connect(
    url: str | None = None,
    *,
    api_key: str | None = None,
    model: str | None = None,
    simulate: bool | str | Scenario | Simulator | LettaSimulator | None = None,
    letta: bool | str | None = None,
    journal: str | PathLike[str] | bool | None = None,
    name: str = "default",
    client: Any = None,
    headers: Mapping[str, str] | None = None,
    tools: Iterable[Any] = (),
    multi_agent: bool = False,
    reconnect: bool | Reconnect = True,
    quiet: bool = False,
) -> Session:
    """Open a session with a service, or with the embedded simulator.

    Without arguments it uses ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` where they are set, and the
    simulator where they are not; it prints one line that says which. A session of the same name is
    replaced and closed, once the new one is open.

    Parameters
    ----------
    url : str, optional
        ``http``, ``https``, ``ws`` or ``wss``, with or without ``/responses`` at its end.
    api_key : str, optional
        By default ``OPENAI_API_KEY``; an empty one sends none. It goes only to ``wss://`` or to
        this machine.
    model : str, optional
        What lanes use that name none.
    simulate : bool, str, Scenario or Simulator, optional
        Start the simulator: True, a scenario (``planner``, ``weather``, ``seven`` …, or a file
        with one), or a `Simulator` of one's own making; it ends with the session. With
        ``letta=True`` it plays a Letta server: True, ``files``, ``parallel`` …, or a
        `LettaSimulator`.
    letta : bool or str, optional
        The URL of a Letta server, whose agents the lanes then speak with: see `Session.lane`. True
        takes it from ``LETTA_BASE_URL``; the key is ``LETTA_API_KEY`` by default. The simulator
        has an agent, which lanes that name none speak with.
    journal : path-like or False, optional
        The directory of the journal; ``.steer`` under the current one by default. False keeps the
        trace in memory only.
    name : str
        What the session is called.
    client : openai.OpenAI, optional
        Take URL, key and headers from an official client object.
    headers : mapping, optional
        More headers for the upgrade request.
    tools : list, optional
        Functions, `Tool` objects and the wire's own tool objects, for every lane.
    multi_agent : bool
        Ask for the multi-agent beta (``OpenAI-Beta: responses_multi_agent=v1``). Lanes opened with
        ``multi_agent={"enabled": True}`` may then have several agents write a response; such a
        response cannot be steered, and takes answers while it is written (`Lane.inject`).
    reconnect : bool or Reconnect
        Whether, and how often, a lost connection is made anew. What it carried is never sent again
        by itself, and each lane says how it can go on: see `Lane.recovery`.
    quiet : bool
        Print nothing.

    Returns
    -------
    Session

    Raises
    ------
    ConnectionFailed
        Says what to try; `AuthenticationFailed` if the key was refused.
    InsecureKey
        If the key would travel unencrypted.
    InvalidInput
        If arguments do not go together, or the URL is none.
    MissingExtra
        If it is for Letta, and ``steer-nb[letta]`` is not installed.
    TraceError
        If no journal can be written.

    Examples
    --------
    >>> import steer_nb
    >>> session = steer_nb.connect(simulate="planner", journal=False, quiet=True)
    >>> session.status()["connected"]
    True
    >>> session.close()
    """
    if not isinstance(name, str) or not name.strip():
        msg = f"A session's name is text, not {name!r}."
        raise InvalidInput(msg, field="name", value=name, rule="not empty")
    played = letta is True and bool(simulate)
    _check_together(url=url, client=client, simulate=simulate, letta=None if played else letta)
    if letta:
        if multi_agent:
            rule = "several agents write one response in the Responses API alone"
            msg = f"multi_agent cannot be given with letta: {rule}."
            raise InvalidInput(msg, field="multi_agent", value=multi_agent, rule=rule)
        server = start_letta(simulate) if played else None
        service, there = _to_letta(
            None if letta is True else letta, api_key, headers, _policy(reconnect), server
        )
        session = _opened(
            name,
            there,
            service,
            server,
            lambda made: _journal(journal, made),
            model=model,
            tools=tools,
        )
        if not quiet:
            what = "Letta" if server is None else described(server)
            sys.stdout.write(f"Connected to {what} at {there.shown}.\n")
        return session
    simulator: Simulator | None = None
    given, line = _endpoint(url, api_key, simulate, client, headers)
    if given is None:
        simulator = start_simulator(simulate)
        given = of_url(simulator.url)
        line = f"Connected to {described(simulator)} at {given.shown}"
        line += "." if simulate else " — set OPENAI_API_KEY to use OpenAI."
    if multi_agent:
        given = given.with_beta(MULTI_AGENT_BETA)
    session = _opened(
        name,
        given,
        Responses(WebSocketTransport),
        simulator,
        lambda made: _journal(journal, made),
        model=model,
        tools=tools,
        reconnect=_policy(reconnect),
    )
    if not quiet:
        sys.stdout.write(line + "\n")
    return session


def _to_letta(
    url: str | None,
    api_key: str | None,
    headers: Mapping[str, str] | None,
    policy: Reconnect,
    simulator: LettaSimulator | None,
) -> tuple[Service, Endpoint]:
    """How to speak with a Letta server, and where it is: where it is simulated, if it is."""
    from steer_nb.letta import Letta, letta_endpoint

    if simulator is None:
        return Letta(policy), letta_endpoint(url, api_key, headers)
    there = letta_endpoint(simulator.base_url, api_key or "")
    return Letta(policy, simulator.agent_id), there


def _policy(reconnect: bool | Reconnect) -> Reconnect:
    if isinstance(reconnect, Reconnect):
        return reconnect
    return Reconnect() if reconnect else NEVER


def recover(
    path: str | PathLike[str] | None = None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    client: Any = None,
    headers: Mapping[str, str] | None = None,
    tools: Iterable[Any] = (),
    name: str | None = None,
    reconnect: bool | Reconnect = True,
    quiet: bool = False,
) -> Session:
    """Put a session together again from its journal, after its kernel is gone.

    Lanes, responses, steers, saved results and filled answers are as they were; the trace goes on
    in the same file. What was in flight has an unknown outcome, and each lane says how it can go
    on: see `Lane.recovery`. Nothing is sent by itself.

    Parameters
    ----------
    path : str or path-like, optional
        The journal, or a directory of journals: then the newest. By default ``.steer``.
    url, api_key, client, headers : optional
        As for `connect`. By default the place it was connected to, with the key that is set; a
        session with the embedded simulator gets a new one, which knows nothing of the old one. Of
        a Letta server it gets one that knows what the journal has: what waited there waits again.
    tools : list, optional
        The functions that its lanes had, since no file holds them: they are matched by name. The
        same goes for MCP tools with credentials: they are matched by their server.
    name : str, optional
        By default its old name.
    reconnect, quiet : optional
        As for `connect`.

    Returns
    -------
    Session

    Raises
    ------
    TraceError
        If there is no journal, it cannot be read, or a living process still writes it.
    ConnectionFailed, InsecureKey, InvalidInput
        As for `connect`. The journal is as it was.

    Examples
    --------
    >>> import steer_nb
    >>> session = steer_nb.connect(simulate="planner", quiet=True)
    >>> lane = session.lane("a")
    >>> session.close()
    >>> again = steer_nb.recover(quiet=True)
    >>> list(again.lanes)
    ['a']
    >>> again.close()
    """
    _check_together(url=url, client=client)
    place = Path(JOURNAL_DIRECTORY if path is None else path)
    journal = Journal.take_up(newest_journal(place) if path is None or place.is_dir() else place)
    try:
        trace = load_trace(journal.path)
        was = about(trace)
        simulator: Simulator | LettaSimulator | None = None
        service: Service = Responses(WebSocketTransport)
        policy = _policy(reconnect)
        given: Endpoint | None
        where = url or str(was.get("url") or "")  # without one it would be the hosted service
        played = str(was.get("scenario") or was.get("simulator") or "")
        if url is not None or client is not None:
            played = ""
        # Another seed: with the old one it would give out the ids of the old responses again.
        seed = len(trace)
        if trace.header.dialect == "letta":
            if client is not None:
                rule = "a client of the Responses API knows no Letta agents"
                msg = f"{journal.path} is of a Letta server, and {rule}: give url=..."
                raise InvalidInput(msg, field="client", value=client, rule=rule)
            given = None
            if played or where:
                server = start_letta(played, seed=seed, remembers=trace) if played else None
                service, given = _to_letta(where, api_key, headers, policy, server)
                simulator = server
            policy = NEVER
        elif played:
            simulator = start_simulator(played, seed=seed)
            given = of_url(simulator.url)
        elif client is not None:
            given = of_client(client, api_key=api_key, headers=headers)
        else:
            given = from_environment(where, api_key, headers) if where else None
        if given is None:
            msg = f"{journal.path} does not say where it was connected to: give url=..."
            raise InvalidInput(msg, field="url", rule="a URL")
        if was.get("multi_agent"):
            given = given.with_beta(MULTI_AGENT_BETA)
        session = _opened(
            name or str(was.get("name") or "default"),
            given,
            service,
            simulator,
            lambda _: journal,
            model=was.get("model"),
            tools=tools,
            reconnect=policy,
            trace=trace,
        )
    except BaseException:
        journal.close()
        raise
    if not quiet:
        sys.stdout.write(_recovered_line(session, journal) + "\n")
    return session


def _recovered_line(session: Session, journal: Journal) -> str:
    status = session.status()
    torn = f", without a torn last line of {len(journal.torn)} bytes" if journal.torn else ""
    decide = ", ".join(status["to_decide"])
    rest = f" To decide: {decide}." if decide else ""
    half = session.read(lambda _: drafts_said(session.core))
    rest += f" Half typed, and kept: {', '.join(half)}." if half else ""
    return (
        f"Recovered session {session.name} from {journal.path} ({len(session.trace)} entries"
        f"{torn}), connected to {session.url}.{rest}"
    )


def _opened(
    name: str,
    endpoint: Endpoint,
    service: Service,
    simulator: Simulator | LettaSimulator | None,
    journal: Callable[[Session], Journal | None],
    **options: Any,
) -> Session:
    """Open a session, and let it take the place of the one of that name."""
    try:
        session = Session(
            name,
            endpoint,
            service,
            simulator=simulator,
            scenario=None if simulator is None else simulator.scenario.name,
            **options,
        )
        session.open(journal(session))
    except BaseException:
        if simulator is not None:
            simulator.stop()
        raise
    keep(session)
    return session


def _check_together(**given: object) -> None:
    names = [name for name, value in given.items() if value is not None and value is not False]
    if len(names) > 1:
        rule = "one of url, client, simulate and letta"
        msg = f"{' and '.join(names)} do not go together: give {rule}."
        raise InvalidInput(msg, field=names[1], value=given[names[1]], rule=rule)


def _endpoint(
    url: str | None,
    api_key: str | None,
    simulate: object,
    client: object,
    headers: Mapping[str, str] | None,
) -> tuple[Endpoint | None, str]:
    if simulate:
        return None, ""
    if client is not None:
        of = of_client(client, api_key=api_key, headers=headers)
        return of, f"Connected to {of.shown} with the client object's key."
    found = from_environment(url, api_key, headers)
    return found, "" if found is None else f"Connected to {found.shown}."


def _journal(journal: object, session: Session) -> Journal | None:
    if journal is False:
        return None
    directory = JOURNAL_DIRECTORY if journal is None or journal is True else journal
    header = session.trace.header
    path = journal_path(
        directory,  # type: ignore[arg-type]
        session.name,
        header.trace_id,
        header.started_at or 0.0,
    )
    return Journal(path, header)
