"""The part of a session that lives on the I/O thread: its socket, its recorder, and who waits.

Nothing here may be called from another thread; `steer_nb.client.session.Session` hands over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from steer_nb.client.advice import too_big
from steer_nb.client.answers import Answers
from steer_nb.client.checking import Checker
from steer_nb.client.handshake import FAILURES, explain
from steer_nb.client.outlet import Outlet
from steer_nb.client.reconnecting import Reconnect, Reconnector
from steer_nb.client.recorder import Recorder
from steer_nb.client.restoring import restore
from steer_nb.client.runner import ToolRunner
from steer_nb.client.sending import Sender
from steer_nb.client.transport import NotWritten, SocketClosed
from steer_nb.errors import NotConnected, TraceError
from steer_nb.wire import CONNECTION_SECONDS, MULTI_AGENT_BETA

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client.endpoint import Endpoint
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.client.transport import Transport
    from steer_nb.ledger import Ledger
    from steer_nb.trace import Journal, Trace

__all__ = ["Core"]

_CLOSE_SECONDS = 3.0
_AGAIN = "Connect again with steer_nb.connect() or %steer connect; nothing is sent twice by itself."


class Core:
    """A session's insides.

    Parameters
    ----------
    name : str
        The session's name.
    endpoint : Endpoint
        Where it connects to.
    make_transport : callable
        Returns a fresh, unopened transport; each connection has its own.
    policy : Reconnect
        What is done when the connection is lost.
    trace : Trace, optional
        A trace to go on with: that of a session whose process is gone.

    Attributes
    ----------
    defaults : dict
        What a new lane carries.
    functions : dict of str to Tool
        The functions among its tools.
    lanes : dict of (str or None) to LaneSettings
        What the open lanes carry, by `stream_id`.
    names_used : set of str
        Lane names that went out on this connection; the service counts them.
    connected : bool
        Whether the socket is open.
    gone : bool
        Whether it is not, and no other will be tried: of one piece, for other threads to read.
    ended : str or None
        Why it is not.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        make_transport: Callable[[], Transport],
        policy: Reconnect,
        trace: Trace | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.recorder = Recorder(self._changed, trace)
        self.defaults: dict[str, Any] = {}
        self.functions: dict[str, Tool] = {}
        self.lanes: dict[str | None, LaneSettings] = {}
        self.names_used: set[str] = set()
        self.connected = False
        self.gone = True
        self.ended: str | None = None
        self.answers = Answers(self)
        self.outlet = Outlet(self)
        self.sender = Sender(self)
        self.runner = ToolRunner(self)
        self.reconnector = Reconnector(self, policy)
        self.checker = Checker(self)
        self._make_transport = make_transport
        self._transport = make_transport()
        self._outbox: deque[tuple[str, str]] = deque()
        self._largest = (0, "")
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._shut: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._over = False
        self._watches: list[tuple[Callable[[Ledger], Any], Future[Any]]] = []
        self._subscribers: list[Callable[[], None]] = []
        self._seen = -1

    @property
    def ledger(self) -> Ledger:
        """The live fold."""
        return self.recorder.ledger

    @property
    def multi_agent(self) -> bool:
        """Whether its connections ask for the multi-agent beta."""
        return MULTI_AGENT_BETA in self.endpoint.betas

    @property
    def limit_reached(self) -> bool:
        """Whether the service said that this connection is too old."""
        connection = self.ledger.connections.get(self.recorder.connection)
        return connection is not None and connection.limit is not None

    @property
    def takes_messages(self) -> bool:
        """Whether something can be sent: the socket is open, and is not being left."""
        return self.connected and self._leaving is None and not self.limit_reached

    @property
    def over(self) -> bool:
        """Whether the session was closed: nothing more is recorded."""
        return self._shut is not None

    # -- the socket --------------------------------------------------------------------------

    async def open(self, journal: Journal | None, about: dict[str, Any]) -> None:
        """Connect and begin to read.

        Raises
        ------
        ConnectionFailed
            Says what to try.
        """
        recorder = self.recorder
        recorder.start(asyncio.get_running_loop(), journal)
        restored = bool(recorder.trace.entries)
        recorder.note(
            "recovered" if restored else "session",
            name=self.name,
            url=self.endpoint.shown,
            **about,
        )
        if restored:
            restore(self)
        try:
            await self._transport.connect(self.endpoint)
        except FAILURES as error:
            failure = explain(error, self.endpoint)
            recorder.note("connect_failed", url=self.endpoint.shown, error=str(failure))
            recorder.close()
            said = str(error)
            # The cause is shown with the error, and may quote a URL with a secret in it.
            raise failure from (error if self.endpoint.scrub(said) == said else None)
        except BaseException:
            recorder.note("connect_failed", url=self.endpoint.shown, error="interrupted")
            recorder.close()
            raise
        self._begin(self._transport)

    async def again(self) -> None:
        """Connect anew, after the connection was lost; raises what went wrong."""
        transport = self._make_transport()
        await transport.connect(self.endpoint)
        self._begin(transport)

    def _begin(self, transport: Transport) -> None:
        self._transport = transport
        self.recorder.connection += 1
        self.names_used.clear()
        self._largest = (0, "")
        self.connected = True
        self._leaving = None
        self.gone = False
        self.ended = None
        self.recorder.note("connected", url=self.endpoint.shown, limit_s=CONNECTION_SECONDS)
        self._reader = asyncio.create_task(self._read(), name=f"steer-nb read {self.name}")
        self.reconnector.connected()

    async def _read(self) -> None:
        receive, recv = self.recorder.receive, self._transport.recv
        try:
            while True:
                raw = await recv()
                try:
                    receive(raw)
                except Exception as error:  # noqa: BLE001 - one odd event must not end the session
                    self.recorder.note("problem", kind="internal", detail=repr(error))
        except SocketClosed as closing:
            self._lost(closing)
        except OSError as error:
            self._lost(SocketClosed(1006, str(error), "network"))

    def post(self, key: str, text: str) -> None:
        """Hand a recorded and synced message to the socket; returns at once."""
        self._largest = max(self._largest, (len(text.encode()), key))
        self._outbox.append((key, text))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name=f"steer-nb write {self.name}")

    async def _write(self) -> None:
        while self._outbox:
            key, text = self._outbox.popleft()
            try:
                await self._transport.send(text)
            except NotWritten:
                self._unsent(key)
            except SocketClosed:
                return  # part of it may have left; the reader learns of the loss too

    def _unsent(self, key: str) -> None:
        self.recorder.note("unsent", key=key, reason="the connection was closed before it left")

    def _lost(self, closing: SocketClosed) -> None:
        if not self.connected:
            return
        self.connected = False
        while self._outbox:
            self._unsent(self._outbox.popleft()[0])
        by, reason = closing.by, closing.reason
        if self.limit_reached and by != "client":
            by = "limit"
        why = self._why(closing, by)
        self.ended = f"{why} {_AGAIN}"
        self.recorder.note("closed", code=closing.code, reason=reason, by=by)
        self.gone = not self.reconnector.lost(closing.code, by, why)
        try:
            self.recorder.sync()
        except TraceError as error:
            self.recorder.note("problem", kind="journal", detail=str(error))

    def _why(self, closing: SocketClosed, by: str) -> str:
        if by == "client":
            return f"Session {self.name} is closed."
        if by == "limit":
            return f"Session {self.name}: the service ended the connection after its 60 minutes."
        who = "the service closed it" if by == "server" else "it was lost"
        words = f"{closing.code} {closing.reason}".rstrip()
        extra = ""
        if closing.code == 1009:
            extra = f" {too_big(self.ledger, *self._largest)}"
        return f"Session {self.name} has no connection any more: {who} ({words}).{extra}"

    async def rotate(self, reason: str) -> None:
        """End this connection, on which nothing goes on; nothing is sent on it any more."""
        self._leaving = reader = self._reader
        await self._transport.close(1000, reason)
        if reader is not None:
            await asyncio.wait([reader], timeout=1.0)

    def require_connected(self) -> None:
        """Raise `NotConnected`, with the reason, unless something can be sent."""
        if self.takes_messages:
            return
        if self.connected and self._leaving is not None:
            msg = (
                f"Session {self.name} is replacing its connection, which is old: nothing was sent, "
                "try again in a moment."
            )
            raise NotConnected(msg)
        if self.connected:
            again = self.reconnector.policy.attempts
            msg = (
                f"Session {self.name}: the service takes nothing more on this connection, whose 60 "
                "minutes are over; nothing was sent. "
            )
            msg += (
                "It is replaced once nothing is being written: try again then." if again else _AGAIN
            )
            raise NotConnected(msg)
        trying = self.ledger.reconnecting
        if trying is not None:
            msg = (
                f"Session {self.name} lost its connection and is connecting again (attempt "
                f"{trying.attempt} of {trying.attempts}): nothing was sent, try again in a moment."
            )
            raise NotConnected(msg)
        raise NotConnected(self.ended or f"Session {self.name} is not connected. {_AGAIN}")

    async def shut(self, code: int = 1000, reason: str = "session closed") -> None:
        """Close the socket and, once no tool runs any more, the journal. Idempotent."""
        if self._shut is None:
            self.reconnector.stop()
            self._shut = asyncio.create_task(self._close(code, reason))
        await asyncio.shield(self._shut)

    async def _close(self, code: int, reason: str) -> None:
        try:
            with contextlib.suppress(TimeoutError, OSError):  # a dead line cannot say goodbye
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._transport.close(code, reason)
            if self._reader is not None:
                await asyncio.wait([self._reader], timeout=1.0)
        finally:  # cancelled too, at the end of Python: the journal has to be complete
            if self._reader is not None:
                self._reader.cancel()
            self._lost(SocketClosed(code, reason, "client"))
            self._over = self.gone = True
            self.close_journal()

    def close_journal(self) -> None:
        """Close the journal of a closed session, unless a tool still has to save its result."""
        if self._over and not self.runner.running:
            self.recorder.close()

    # -- who waits, who watches --------------------------------------------------------------

    def watch(self, predicate: Callable[[Ledger], Any]) -> Future[Any]:
        """Return a future for the first value of `predicate` that is not None.

        It is asked after each batch of entries that changed more than text.
        """
        future: Future[Any] = Future()
        self._watches.append((predicate, future))
        if self.recorder.dirty:
            # Between an entry and its batch, tools that are about to run have not begun: ask after
            # the batch, also one of text alone.
            self._seen = -1
        else:
            self._settle()
        return future

    def _settle(self) -> None:
        waiting, self._watches = self._watches, []
        for predicate, future in waiting:
            if future.cancelled():
                continue
            try:
                value, failure = predicate(self.ledger), None
            except Exception as error:  # noqa: BLE001 - it is raised where somebody waits
                value, failure = None, error
            if value is None and failure is None:
                self._watches.append((predicate, future))
            elif future.set_running_or_notify_cancel():
                if failure is not None:
                    future.set_exception(failure)
                else:
                    future.set_result(value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each batch, on this thread."""
        self._subscribers.append(callback)

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        """Stop calling it."""
        with contextlib.suppress(ValueError):
            self._subscribers.remove(callback)

    def _changed(self) -> None:
        if self.ledger.version != self._seen:
            self._seen = self.ledger.version
            self.runner.look()
            self._settle()
            self.reconnector.look()
        for callback in tuple(self._subscribers):
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - a view must not end the session
                self.unsubscribe(callback)  # or each note about it would call it again
                detail = f"a subscriber raised {error!r} and is no longer called"
                self.recorder.note("problem", kind="callback", detail=detail)
