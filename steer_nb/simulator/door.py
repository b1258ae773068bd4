"""Where connections come in: handshakes go to the library, other requests are read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers

from steer_nb.simulator.control import LARGEST_BODY, is_control
from steer_nb.simulator.handshake import failed

if TYPE_CHECKING:
    import h11
    from websockets.http11 import Response

    from steer_nb.simulator.handshake import Reception

__all__ = ["Door"]

_LATE_S = 0.5
"""Seconds that the rest of a request may still come after its answer."""


class Door(ServerConnection):
    """A connection that also answers what is no GET: plain HTTP requests, and the control API.

    `websockets` reads GET requests only and drops the others without a word, which a person then
    sees as a network error.

    Parameters
    ----------
    reception : Reception
        Knows the answers.
    doors : set of Door
        Those that are open; it puts itself in, and out again.

    Attributes
    ----------
    since : float
        When its handshake was answered, by the service's clock: a client that knows that it is
        connected may put that clock forward before anything else happens here.
    """

    since: float

    def __init__(self, *given: Any, reception: Reception, doors: set[Door], **more: Any) -> None:
        super().__init__(*given, **more)
        self._doors = doors
        self._reception = reception
        self._is_get: bool | None = None
        self._first = b""
        self._http: h11.Connection | None = None
        self._request: h11.Request | None = None
        self._body = b""
        self._answered = False

    def connection_made(self, transport: Any) -> None:
        """Be open."""
        self._doors.add(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be open no more."""
        self._doors.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the socket; the first word says which kind of request it is."""
        if self._is_get is None:
            self._first = data = self._first + data
            method = data.partition(b" ")[0]
            if not method:
                return
            if not (data[:1].isalpha() or data[:1] in b"\r\n"):
                # TLS, or a stranger who takes this port for that of a server that is gone.
                self.transport.abort()
                return
            self._is_get = b"GET".startswith(method) or not method.isalpha()
        if self._is_get:
            super().data_received(data)
        elif not self._answered:
            self._read(data)

    def _read(self, data: bytes) -> None:
        import h11  # here: most simulators only ever see handshakes

        if self._http is None:
            self._http = h11.Connection(h11.SERVER)
        self._http.receive_data(data)
        while not self._answered:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._answer(failed(f"The request could not be read: {error}."))
                return
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    self.transport.write(self._http.send(go_on) or b"")
                return
            if isinstance(event, h11.Request):
                self._request = event
                if not is_control(event.target.decode("ascii", "replace")):
                    self._answer(self._asked())  # whatever its body says
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > LARGEST_BODY:
                    msg = f"The body has more than {LARGEST_BODY} bytes."
                    self._answer(failed(msg, status=413))
            elif isinstance(event, h11.EndOfMessage):
                self._answer(self._asked(), whole=True)
            else:  # the other side left
                self.transport.close()
                return

    def _asked(self) -> Response:
        request = self._request
        assert request is not None
        words = (request.method, request.target)
        method, target = (word.decode("ascii", "replace") for word in words)
        headers = Headers()
        for name, value in request.headers:
            headers[name.decode("latin-1")] = value.decode("latin-1")
        answer = self._reception.answer(method, target, headers, self._body)
        assert answer is not None, "only a GET upgrades"
        if method == "HEAD":
            answer.body = b""
        return answer

    def _answer(self, response: Response, *, whole: bool = False) -> None:
        self._answered = True
        self.transport.write(response.serialize())
        if whole:
            self.transport.close()
        else:  # the rest of the request is still coming: closing now could lose the answer
            self.loop.call_later(_LATE_S, self.transport.abort)
