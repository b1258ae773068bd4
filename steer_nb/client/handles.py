"""Handles: what `create` and `steer` return at once, to look at, to wait for, to await."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from steer_nb.client.advice import refused
from steer_nb.client.handle import Handle
from steer_nb.client.required import RequiredInput, snapshot
from steer_nb.errors import NotConnected
from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from steer_nb.client.lane import Lane
    from steer_nb.ledger import Ledger, RequestState, ResponseState, SteerState

    T = TypeVar("T")

__all__ = ["Response", "Steer"]

_HEAD = 60


class Response(Handle, kind="create"):
    """One response, from the moment its request was sent.

    It is awaitable: ``await response`` gives the response itself at its end, and leaves everything
    running when it is interrupted. Its text so far is there at any time.

    Examples
    --------
    >>> import steer_nb
    >>> with steer_nb.connect(simulate="planner", journal=False, quiet=True) as session:
    ...     response = session.lane().create("Plan a day in Lisbon.").wait(timeout=30)
    ...     response.status, response.text != ""
    ('completed', True)
    """

    __slots__ = ()

    def _states(self, ledger: Ledger) -> tuple[RequestState | None, ResponseState | None]:
        request = ledger.requests.get(self._key)
        if request is None:
            return None, ledger.responses.get(self._key)
        return request, ledger.responses.get(request.response_id or "")

    def _of(self, read: Callable[[ResponseState], T], default: T) -> T:
        def look(ledger: Ledger) -> T:
            response = self._states(ledger)[1]
            return default if response is None else read(response)

        return self._session.read(look)

    @property
    def id(self) -> str | None:
        """The service's id; None until the response began."""
        return self._of(lambda r: r.id, None)

    @property
    def lane(self) -> Lane:
        """The lane it runs on."""

        def look(ledger: Ledger) -> str | None:
            request, response = self._states(ledger)
            owner = request or response
            assert owner is not None
            return owner.lane.stream_id

        return self._session.lane_object(self._session.read(look))

    @property
    def status(self) -> str:
        """How far it is.

        ``sent`` (written, nothing heard), ``in_progress``, ``completed``, ``incomplete``,
        ``failed``, ``cancelled``, ``error`` (broken off by an error event), ``truncated`` (the
        connection was lost in the middle), ``refused`` (it never began), ``unknown`` (the
        connection was lost before an answer), or ``unsent`` (it certainly never left).
        """

        def look(ledger: Ledger) -> str:
            request, response = self._states(ledger)
            return self._request_word(request) if response is None else response.status

        return self._session.read(look)

    @property
    def text(self) -> str:
        """Its output text so far, of all agents where several write it."""
        return self._of(lambda r: r.text, "")

    @property
    def refusal(self) -> str:
        """Its refusal so far."""
        return self._of(lambda r: r.refusal, "")

    @property
    def output(self) -> list[dict[str, Any]]:
        """Its output items so far, in order, each in its newest full form."""
        return self._of(lambda r: [copy.deepcopy(item.data) for item in r.ordered], [])

    @property
    def usage(self) -> dict[str, Any] | None:
        """Its token counts, once it ended. Each response has its own."""
        return self._of(lambda r: copy.deepcopy(r.usage), None)

    @property
    def error(self) -> dict[str, Any] | None:
        """`code` and `message` of what went wrong, if anything did."""

        def look(ledger: Ledger) -> dict[str, Any] | None:
            request, response = self._states(ledger)
            for state in (response, request):
                if state is not None and state.error_message is not None:
                    return {"code": state.error_code, "message": state.error_message}
            return None

        return self._session.read(look)

    @property
    def incomplete_reason(self) -> str | None:
        """Why it is incomplete, such as ``steered`` or ``max_output_tokens``."""
        return self._of(lambda r: r.incomplete_reason, None)

    @property
    def previous_response_id(self) -> str | None:
        """The response it continues from."""

        def look(ledger: Ledger) -> str | None:
            request, response = self._states(ledger)
            owner = response or request
            return None if owner is None else owner.previous_response_id

        return self._session.read(look)

    @property
    def steers(self) -> list[Steer]:
        """The steers of it, oldest first."""
        keys: list[str] = self._of(lambda r: [s.key for s in r.steers], [])
        return [Steer(self._session, key) for key in keys]

    @property
    def successor(self) -> Response | None:
        """The response that continues it on its lane, once that began."""
        key = self._of(lambda r: None if r.successor is None else response_key(r.successor), None)
        return None if key is None else Response(self._session, key)

    @property
    def required_input(self) -> tuple[RequiredInput, ...]:
        """Everything it asked for, answered or not, in order."""
        return self._of(lambda r: tuple(snapshot(s, r.lane.name) for s in r.required.values()), ())

    def _over(self, ledger: Ledger) -> bool | None:
        request, response = self._states(ledger)
        if response is not None:
            return None if response.is_live else True
        assert request is not None
        if request.state == "unsent":
            msg = (
                f"{self._key} never left: {request.error_message}. Connect again and send it anew."
            )
            raise NotConnected(msg)
        if request.state == "failed":
            error = next((e for e in reversed(ledger.errors) if e.request is request), None)
            raise refused(
                request.error_code,
                request.error_message,
                param=None if error is None else error.param,
                status=None if error is None else error.status,
                kind=None if error is None else error.type,
            )
        return True if request.state == "unknown" else None

    @staticmethod
    def _request_word(request: RequestState | None) -> str:
        assert request is not None
        return "refused" if request.state == "failed" else request.state

    def _going_on(self) -> str:
        return f"Response {self.id or self._key} is still {_words(self.status)}"

    def __repr__(self) -> str:
        def look(ledger: Ledger) -> str:
            request, response = self._states(ledger)
            owner = response or request
            assert owner is not None
            name, said = self._key, self._request_word(request) if response is None else ""
            if response is not None:
                name, said = short_id(response.id), _state_of(response)
            elif owner.error_code is not None:
                said = f"{said} ({owner.error_code})"
            return f"<Response {name} on {owner.lane.name}, {said}>"

        return self._session.read(look)


class Steer(Handle, kind="steer"):
    """One submission of input into a running response.

    ``await steer`` gives the steer itself once it is committed, failed or unknown. *Accepted* is
    not the end: only the successor's beginning proves that it is applied.
    """

    __slots__ = ()

    def _of(self, read: Callable[[SteerState], T]) -> T:
        return self._session.read(lambda ledger: read(ledger.steers[self._key]))

    @property
    def id(self) -> str | None:
        """The service's id, once it acknowledged the steer."""
        return self._of(lambda s: s.steer_id)

    @property
    def state(self) -> str:
        """``sent``, ``accepted``, ``pending``, ``committed``, ``failed`` or ``unknown``.

        ``queued_here`` where the service takes nothing while it writes or waits: it is kept here,
        and goes out with the lane's next request.
        """
        return self._of(lambda s: s.state)

    @property
    def input(self) -> Any:
        """What was sent: text, or a list of user messages."""
        return self._of(lambda s: copy.deepcopy(s.input))

    @property
    def text(self) -> str:
        """The text of what was sent."""
        return input_text(self.input)

    @property
    def response_id(self) -> str:
        """The response it steers."""
        return self._of(lambda s: s.parent_id)

    @property
    def lane(self) -> Lane:
        """The lane of that response."""
        stream_id = self._of(lambda s: None if s.lane is None else s.lane.stream_id)
        return self._session.lane_object(stream_id)

    @property
    def successor_id(self) -> str | None:
        """The response that has it, once committed."""
        return self._of(lambda s: s.successor_id)

    @property
    def successor(self) -> Response | None:
        """That response."""

        def look(ledger: Ledger) -> str | None:
            successor = ledger.responses.get(ledger.steers[self._key].successor_id or "")
            return None if successor is None else response_key(successor)

        key = self._session.read(look)
        return None if key is None else Response(self._session, key)

    @property
    def failure_code(self) -> str | None:
        """Why it failed, in the service's word."""
        return self._of(lambda s: s.failure_code)

    @property
    def failure_message(self) -> str | None:
        """Why it failed, in the service's sentence."""
        return self._of(lambda s: s.failure_message)

    def _over(self, ledger: Ledger) -> bool | None:
        return None if ledger.steers[self._key].live else True

    def _going_on(self) -> str:
        return (
            f"Steer {self.id or self._key} of {self.response_id} is still "
            f"{_words(self.state)}, which is no refusal"
        )

    def __repr__(self) -> str:
        def look(s: SteerState) -> str:
            code = f" ({s.failure_code})" if s.failure_code else ""
            name = short_id(s.steer_id or s.key)
            return f"<Steer {name}, {_words(s.state)}{code}: {input_head(s.input)}>"

        return self._of(look)


def response_key(response: ResponseState) -> str:
    """The key that names a response: its request's, or its own id where nobody asked for it."""
    return response.id if response.request is None else response.request.key


def input_text(value: Any) -> str:
    """The text in a message's input."""
    if isinstance(value, str):
        return value
    texts: list[str] = []
    for item in value if isinstance(value, list) else []:
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            texts += [part["text"] for part in content if isinstance(part.get("text"), str)]
    return "\n".join(texts)


def input_head(value: Any) -> str:
    """How what was said begins, and how many pictures and files go with it."""
    text, counts = input_text(value), []
    for kind, word in (("input_image", "image"), ("input_file", "file")):
        number = sum(
            isinstance(part, dict) and part.get("type") == kind
            for item in (value if isinstance(value, list) else [])
            for part in (item.get("content") if isinstance(item.get("content"), list) else [])
        )
        if number:
            counts.append(f"{number} {word}{'' if number == 1 else 's'}")
    return " and ".join([*([head(text)] if text or not counts else []), *counts])


def _state_of(response: ResponseState) -> str:
    """A response's status, why it has it, what it asks for, and how its text begins."""
    reason = response.incomplete_reason or response.error_code
    said = _words(response.status) + (f" ({reason})" if reason else "")
    names = [stub.name or stub.type for stub in response.waiting_for]
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        said += f", asks for {', '.join(names[:3])}{more}"
    return f"{said}: {head(response.text)}" if response.text else said


def _words(status: str) -> str:
    return status.replace("_", " ")


def head(text: str) -> str:
    """How a text begins, in quotes and on one line."""
    line = " ".join(text[: 4 * _HEAD].split())
    return repr(line if len(line) <= _HEAD else line[:_HEAD] + "...")
