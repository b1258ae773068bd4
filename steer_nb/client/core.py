"""The part of a session that lives on the I/O thread: its line, its recorder, and who waits.

Nothing here may be called from another thread; `steer_nb.client.session.Session` hands over.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from steer_nb.client.answers import Answers
from steer_nb.client.handshake import FAILURES, explain
from steer_nb.client.reconnecting import Reconnect, Reconnector
from steer_nb.client.recorder import Recorder
from steer_nb.client.runner import ToolRunner
from steer_nb.client.watching import Watchers
from steer_nb.errors import ConnectionFailed
from steer_nb.wire import MULTI_AGENT_BETA

if TYPE_CHECKING:
    from steer_nb.client.endpoint import Endpoint
    from steer_nb.client.service import Service
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.ledger import Ledger
    from steer_nb.trace import Journal, Trace

__all__ = ["Core"]


class Core:
    """A session's insides.

    Parameters
    ----------
    name : str
        The session's name.
    endpoint : Endpoint
        Where it connects to.
    service : Service
        How the service there is spoken with.
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
    line : Line
        What is sent and received on.
    watchers : Watchers
        Who waits for a change.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        service: Service,
        policy: Reconnect,
        trace: Trace | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.service = service
        self.recorder = Recorder(self._changed, trace, dialect=service.dialect)
        self.watchers = Watchers(self.recorder)
        self.defaults: dict[str, Any] = {}
        self.functions: dict[str, Tool] = {}
        self.lanes: dict[str | None, LaneSettings] = {}
        self.answers = Answers(self)
        self.outlet = service.outlet(self)
        self.sender = service.sender(self)
        self.runner = ToolRunner(self)
        self.reconnector = Reconnector(self, policy)
        self.checker = service.checker(self)
        self.line = service.line(self)
        self._shut: asyncio.Task[None] | None = None
        self._is_shut = False
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
    def over(self) -> bool:
        """Whether the session was closed: nothing more is sent."""
        return self._shut is not None

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
            self.service.restore(self)
        try:
            await self.line.open()
        except FAILURES as error:
            failure = explain(error, self.endpoint)
            recorder.note("connect_failed", url=self.endpoint.shown, error=str(failure))
            recorder.close()
            said = str(error)
            # The cause is shown with the error, and may quote a URL with a secret in it.
            raise failure from (error if self.endpoint.scrub(said) == said else None)
        except ConnectionFailed as failure:
            recorder.note("connect_failed", url=self.endpoint.shown, error=str(failure))
            recorder.close()
            raise
        except BaseException:
            recorder.note("connect_failed", url=self.endpoint.shown, error="interrupted")
            recorder.close()
            raise

    async def shut(self, code: int = 1000, reason: str = "session closed") -> None:
        """Close the socket and, once no tool runs any more, the journal. Idempotent."""
        if self._shut is None:
            self.reconnector.stop()
            self._shut = asyncio.create_task(self._close(code, reason))
        await asyncio.shield(self._shut)

    async def _close(self, code: int, reason: str) -> None:
        try:
            await self.line.close(code, reason)
        finally:
            self._is_shut = True
            self.close_journal()

    def close_journal(self) -> None:
        """Close the journal of a closed session, unless a tool still has to save its result."""
        if self._is_shut and not self.runner.running:
            self.recorder.close()

    def look_again(self) -> None:
        """Ask everybody who waits, though no entry came: what is told apart from the trace did."""
        self._seen = -1
        self._changed()

    def _changed(self) -> None:
        version, fresh = self.ledger.version, self.watchers.take_fresh()
        if fresh or version != self._seen:
            self._seen = version
            self.runner.look()
            self.sender.look()
            self.watchers.settle()
            self.reconnector.look()
        self.watchers.tell()
