"""A session: one connection to a service, its lanes, and the trace of everything that happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.checking import check
from steer_nb.client.core import Core
from steer_nb.client.io import io_thread, wait
from steer_nb.client.lane import Lane
from steer_nb.client.opening import Opening, fork_base
from steer_nb.client.reach import Reach
from steer_nb.client.reconnecting import NEVER, Reconnect
from steer_nb.client.settings import LaneSettings
from steer_nb.client.settling import all_going_on, all_in_flight, all_settled, status
from steer_nb.errors import LaneBusy, UnknownLane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self, TypeVar

    from steer_nb.client.checking import Check
    from steer_nb.client.endpoint import Endpoint
    from steer_nb.client.handles import Response
    from steer_nb.client.service import Service
    from steer_nb.ledger import Ledger
    from steer_nb.simulator import Simulator
    from steer_nb.simulator.letta import LettaSimulator
    from steer_nb.trace import Journal, Trace

    T = TypeVar("T")

__all__ = ["Session"]

_SHOWN = 8
"""How many lanes its repr names."""


class Session(Reach):
    """One connection and its lanes; `steer_nb.connect` makes it.

    Everything can be called from any thread. It is a context manager that closes itself.

    Attributes
    ----------
    name : str
        What it is called; connecting again under that name replaces it.

    Examples
    --------
    >>> import steer_nb
    >>> with steer_nb.connect(simulate="planner", journal=False, quiet=True) as session:
    ...     first = session.lane("lisbon").create("Plan a day in Lisbon.")
    ...     second = session.lane("porto").create("Plan a day in Porto.")
    ...     session.wait(timeout=30)
    {'lisbon': 'idle', 'porto': 'idle'}
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        service: Service,
        *,
        reconnect: Reconnect = NEVER,
        trace: Trace | None = None,
        model: str | None = None,
        tools: Any = (),
        simulator: Simulator | LettaSimulator | None = None,
        scenario: str | None = None,
    ) -> None:
        super().__init__(Core(name, endpoint, service, reconnect, trace))
        self._simulator = simulator
        self._scenario = scenario
        self.core.defaults, functions = service.prepare(service.defaults(model, tools))
        self.core.functions = functions or {}
        self._lanes: dict[str | None, Lane] = {}
        self._forget: Callable[[], None] | None = None
        self._closing: list[Callable[[], object]] = []

    def open(self, journal: Journal | None) -> None:
        """Connect; `steer_nb.connect` calls it once."""
        self._journal_path = None if journal is None else journal.path
        about = {"simulator": self._scenario, "model": self.core.defaults.get("model")}
        if self.core.multi_agent:
            about["multi_agent"] = True
        if self._simulator is not None and self._simulator.scenario.reference != self._scenario:
            about["scenario"] = self._simulator.scenario.reference
        opening = io_thread.submit(self.core.open(journal, about))
        try:
            wait(opening)
        except BaseException:
            opening.cancel()
            io_thread.submit(self.core.shut())  # an interrupt may come when it is open already
            raise
        for stream_id in self.read(lambda _: tuple(self.core.lanes)):
            self.lane_object(stream_id)
        self._forget = io_thread.at_exit(lambda: self.core.shut(1001, "kernel exit"))

    # -- what it is --------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where it is connected to, without credentials."""
        return self.core.endpoint.shown

    @property
    def trace(self) -> Trace:
        """The record of everything that happened; it grows while one looks at it."""
        return self.core.recorder.trace

    @property
    def simulator(self) -> Simulator | LettaSimulator | None:
        """The embedded simulator, if it was started for this session."""
        return self._simulator

    @property
    def journal_path(self) -> Path | None:
        """The file that the trace is written to while it grows, if there is one."""
        return self._journal_path

    @property
    def closed(self) -> bool:
        """Whether nothing can be sent any more: it was closed, or its line is gone for good."""
        return self.core.line.gone or self._is_forked

    @property
    def reconnecting(self) -> bool:
        """Whether the connection was lost and a new one is being tried."""
        return self.core.reconnector.trying

    @property
    def lanes(self) -> dict[str, Lane]:
        """The open lanes, by name."""
        return {lane.name: lane for lane in tuple(self._lanes.values()) if lane._settings.open}

    def __getitem__(self, name: str) -> Lane:
        """Return an open lane.

        Raises
        ------
        UnknownLane
            With the names there are.
        """
        lanes = self.lanes
        if name in lanes:
            return lanes[name]
        known = ", ".join(lanes) or "none"
        msg = f"Session {self.name} has no lane {name!r}. Its lanes: {known}."
        raise UnknownLane(msg)

    def now(self) -> float:
        """Seconds since the trace started, on the clock of the entries' `t`."""
        return self.core.recorder.now()

    def status(self) -> dict[str, Any]:
        """What there is to know about the connection, as plain values."""
        journal = None if self._journal_path is None else str(self._journal_path)
        found = self.read(lambda _: status(self.core))
        return {**found, "simulator": self._scenario, "journal": journal}

    # -- lanes -------------------------------------------------------------------------------

    def lane(
        self,
        name: str | None = None,
        *,
        model: str | None = None,
        tools: Any = None,
        instructions: str | None = None,
        fork: Lane | Response | str | None = None,
        **settings: Any,
    ) -> Lane:
        """Open a lane, or return the open one of that name with changed settings.

        Parameters
        ----------
        name : str, optional
            1 to 256 letters, digits, ``_``, ``-`` and ``.``; None is the default lane. Lanes are
            cheap, but a connection takes 32 names over its whole life.
        model, instructions : str, optional
            What its requests carry.
        tools : list, optional
            Functions, `Tool` objects and the wire's own tool objects.
        fork : Lane, Response or str, optional
            The lane or response (or its name or id) that it continues from.
        **settings
            Any other field of `response.create`. At a Letta server: `agent`, the id of an agent,
            whose new conversation the lane is, or that `conversation` (``default`` is the agent's
            own), and any field of Letta's requests, such as `max_steps` or `stream_tokens`.

        Raises
        ------
        InvalidLane
            If the service would refuse the name, or it would be the 33rd.
        InvalidInput
            If a setting is none, or has a bad value.
        NotConnected
            If the connection is gone and there is no such lane yet.
        LaneBusy, RequiredInputOpen, NothingToContinue, UnknownLane
            If what it is to be forked from cannot be continued now, with the reason.
        """
        given = {"model": model, "tools": tools, "instructions": instructions}
        settings.update({key: value for key, value in given.items() if value is not None})
        if fork is not None:
            source, response = self._fork_source(fork)
            return self.open_fork(name, source, response, settings, anew=True)
        return self._open_lane(Opening(name, settings, self.core.service.prepare))

    def _open_lane(self, opening: Opening) -> Lane:
        settings = self.core.service.place(self, opening)
        return self.lane_object(settings.stream_id)

    def _fork_source(self, fork: Lane | Response | str) -> tuple[LaneSettings | None, Any]:
        if isinstance(fork, Lane):
            return fork._settings, None
        if isinstance(fork, str) and fork in self.lanes:
            return self.lanes[fork]._settings, None
        return None, fork

    def open_fork(
        self,
        name: str | None,
        source: LaneSettings | None,
        response: Response | str | None,
        settings: Mapping[str, Any],
        *,
        anew: bool = False,
    ) -> Lane:
        """Open a lane that continues from a response; see `Lane.fork`."""
        response_id = response if response is None or isinstance(response, str) else response.id
        if response is not None and response_id is None:
            msg = "A fork starts from a response that has ended, and this one has not begun."
            raise LaneBusy(msg)
        base, owner = self.read(lambda _: fork_base(self.core, source, response_id))
        prepare = self.core.service.prepare
        return self._open_lane(Opening(name, settings, prepare, owner, base, anew=anew))

    def lane_object(self, stream_id: str | None) -> Lane:
        """Return the lane of that `stream_id`, open or not; one that only the service used, too."""
        lane = self._lanes.get(stream_id)
        if lane is None:
            settings = self.read(lambda _: self._settings_of(stream_id))
            lane = self._lanes.setdefault(stream_id, Lane(self, settings))
        return lane

    def _settings_of(self, stream_id: str | None) -> LaneSettings:
        closed = LaneSettings(stream_id, open=False)
        return self.core.lanes.setdefault(stream_id, closed)

    def before_close(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback()`` when the session is about to be closed, on the thread that closes it.

        Returns
        -------
        callable
            Takes it back.
        """
        self._closing.append(callback)

        def forget() -> None:
            if callback in self._closing:
                self._closing.remove(callback)

        return forget

    # -- after a lost connection -----------------------------------------------------------------

    def check(self) -> Check:
        """Ask the service what became of what is unknown since a connection was lost.

        It is asked over HTTP (``GET /responses/{id}``, ``/input_items``) about the responses that
        are known and stored; that changes nothing there. What it says is recorded. It works while
        the session connects again, and where it gave up; not once it was closed.

        Returns
        -------
        Check
            What was settled, and what stays unknown.

        Raises
        ------
        ServerRefused
            If the service does not answer such questions.
        ConnectionFailed
            If it cannot be reached; `AuthenticationFailed` if it refused the key.
        LaneBusy, NotConnected, TraceError
            If it is being asked already, the session was closed, or the disk is full.
        """
        return check(self)

    # -- waiting and closing -----------------------------------------------------------------

    def _all_settled(self, _: Ledger) -> dict[str, str] | None:
        return all_settled(self.core)

    def wait(self, timeout: float | None = None) -> dict[str, str]:
        """Wait until no lane does anything by itself any more; see `Lane.wait`.

        Returns
        -------
        dict of str to str
            Each lane's state.

        Raises
        ------
        WaitTimeout
            When the time is over, naming what still goes on.
        """
        return self.until(self._all_settled, timeout, self._going_on)

    async def settled(self) -> dict[str, str]:
        """Await what `wait` waits for."""
        return await self.until_async(self._all_settled)

    def _going_on(self) -> str:
        return self.read(lambda _: all_going_on(self.core))

    @property
    def in_flight(self) -> list[str]:
        """What goes on, is unsent or is undecided, one phrase each: see before closing."""
        return self.read(lambda _: all_in_flight(self.core))

    def close(self) -> None:
        """Close the connection and the journal. What was recorded stays; closing again is nothing.

        A service keeps writing what it began; what was queued on the connection is lost to it.
        """
        if self._is_forked:
            return
        while self._closing:  # what is typed and not kept yet
            self._closing.pop()()
        io_thread.run(self.core.shut())
        if self._forget is not None:
            self._forget()
            self._forget = None
        if self._simulator is not None:
            self._simulator.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "connected"
        if self.reconnecting:
            state = "connecting again"
        where = f"the simulator ({self._scenario})" if self._scenario else self.url
        names = list(self.lanes)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        lanes = ", ".join(names[:_SHOWN]) + more
        return f"<Session {self.name}: {state}, {where}, lanes: {lanes or 'none'}>"

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)
