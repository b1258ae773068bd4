"""What is particular to one kind of service: what a session is made of, beside what all share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from steer_nb.client.checking import Checker
from steer_nb.client.opening import place
from steer_nb.client.outlet import Outlet
from steer_nb.client.restoring import restore
from steer_nb.client.sending import Sender
from steer_nb.client.settings import DEFAULT_MODEL, prepare
from steer_nb.client.socket_line import SocketLine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.line import Line
    from steer_nb.client.opening import Opening
    from steer_nb.client.reach import Reach
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.client.transport import Transport

__all__ = ["Responses", "Service"]


class Service(Protocol):
    """How a session speaks with one kind of service.

    Attributes
    ----------
    dialect : str
        Whose words its trace is in, as `Header.dialect` has it.
    """

    @property
    def dialect(self) -> str:
        """Whose words its trace is in."""

    def line(self, core: Core) -> Line:
        """Make what is sent and received on."""

    def outlet(self, core: Core) -> Outlet:
        """Make what records requests, and lets them out."""

    def sender(self, core: Core) -> Sender:
        """Make what asks the rules, and builds requests."""

    def checker(self, core: Core) -> Checker:
        """Make what asks the service about what is unknown."""

    def defaults(self, model: str | None, tools: Any) -> dict[str, Any]:
        """What a lane carries that names nothing."""

    def prepare(self, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tool] | None]:
        """Check a lane's settings, and tell the functions among its tools apart."""

    def place(self, reach: Reach, opening: Opening) -> LaneSettings:
        """Open a lane, or change the open one's settings. From the asking thread."""

    def restore(self, core: Core) -> None:
        """Put the lanes of a process together again that is gone, before anything is opened."""


@dataclass(frozen=True, slots=True)
class Responses:
    """OpenAI's Responses API in WebSocket mode.

    Attributes
    ----------
    make_transport : callable
        Returns a fresh, unopened transport; each connection has its own.
    """

    make_transport: Callable[[], Transport]

    @property
    def dialect(self) -> str:
        """Whose words its trace is in."""
        return "responses"

    def line(self, core: Core) -> Line:
        """One WebSocket after another."""
        return SocketLine(core, self.make_transport)

    def outlet(self, core: Core) -> Outlet:
        """Each request is a message on the socket."""
        return Outlet(core)

    def sender(self, core: Core) -> Sender:
        """Creates, steers, continuations and injects."""
        return Sender(core)

    def checker(self, core: Core) -> Checker:
        """Stored responses are asked about over HTTP."""
        return Checker(core)

    def defaults(self, model: str | None, tools: Any) -> dict[str, Any]:
        """Every request names a model."""
        return {"model": model or DEFAULT_MODEL, **({"tools": tools} if tools else {})}

    def prepare(self, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tool] | None]:
        """Check fields of `response.create`."""
        return prepare(settings)

    def place(self, reach: Reach, opening: Opening) -> LaneSettings:
        """Nothing is asked of the service: a lane is a name there."""
        core = reach.core
        return reach.act(lambda: place(core, opening))

    def restore(self, core: Core) -> None:
        """What was in flight is lost with its connection."""
        restore(core)
