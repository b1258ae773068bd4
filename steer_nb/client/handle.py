"""What all handles have in common: a name for a message, to be sent again or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from steer_nb.client.recovering import drop, send_again

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Self

    from steer_nb.client.handles import Response, Steer
    from steer_nb.client.session import Session
    from steer_nb.ledger import Ledger

__all__ = ["Handle"]


class Handle:
    """A name for something in a session's ledger; equal handles name the same thing."""

    __slots__ = ("_key", "_session")
    _kinds: ClassVar[dict[str, type[Handle]]] = {}

    def __init_subclass__(cls, *, kind: str) -> None:
        Handle._kinds[kind] = cls

    def __init__(self, session: Session, key: str) -> None:
        self._session = session
        self._key = key

    @property
    def key(self) -> str:
        """Its local name, in the trace too, such as ``create-1``."""
        return self._key

    def _over(self, ledger: Ledger) -> bool | None:
        """True once there is nothing to wait for; it may raise what went wrong."""
        raise NotImplementedError

    def _going_on(self) -> str:
        """What is said when somebody has waited long enough."""
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until its outcome is known or, of a response, its own end, and return it.

        Successors are handles of their own.

        Parameters
        ----------
        timeout : float, optional
            Seconds.

        Raises
        ------
        WaitTimeout
            When the time is over. That is no refusal: it goes on, and is not to be sent again.
        ServerRefused
            If the service refused the request for a response: `code` and advice are in it.
        """
        self._session.until(self._over, timeout, self._going_on)
        return self

    async def _settled(self) -> Self:
        await self._session.until_async(self._over)
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._settled().__await__()

    def send_again(self) -> Response | Steer:
        """Send its input once more: by a person's word, never by itself.

        For a message whose outcome is unknown, since the connection was lost, or that failed, or
        whose response failed, or was cut off and left for one before it. A steer goes into what its
        lane is writing now, or becomes the lane's next turn; an inject's answers go out with a
        continuation.

        Returns
        -------
        Response or Steer
            The new message.

        Raises
        ------
        LaneBusy
            If its outcome is known, or it was sent again before, or the lane cannot take it now.
        NotConnected, NothingToContinue
            With the reason; then nothing was sent.
        """
        core = self._session.core
        kind, key = self._session.act(lambda: send_again(core, self._key))
        return cast("Response | Steer", Handle._kinds[kind](self._session, key))

    def drop(self) -> None:
        """Do without it: it is not sent again.

        For what `send_again` would take.

        Raises
        ------
        LaneBusy
            If it went through, or was decided.
        """
        core = self._session.core
        self._session.act(lambda: drop(core, self._key))

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Handle)
        return self._session is other._session and self._key == other._key

    def __hash__(self) -> int:
        return hash((type(self), id(self._session), self._key))
