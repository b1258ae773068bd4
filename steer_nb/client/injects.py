"""The handle of an inject: answers that went out into a running response."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from steer_nb.client.handle import Handle
from steer_nb.client.handles import Response, response_key
from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from steer_nb.client.lane import Lane
    from steer_nb.ledger import InjectState, Ledger

    T = TypeVar("T")

__all__ = ["Inject"]


class Inject(Handle, kind="inject"):
    """One submission of answers to agents that wait in a running response.

    ``await inject`` gives the inject itself once the service took all of it or nothing, or its
    outcome is unknown.
    """

    __slots__ = ()

    def _of(self, read: Callable[[InjectState], T]) -> T:
        return self._session.read(lambda ledger: read(ledger.injects[self._key]))

    @property
    def state(self) -> str:
        """``sent``, ``created`` (all of it is committed), ``failed`` or ``unknown``."""
        return self._of(lambda i: i.state)

    @property
    def response_id(self) -> str:
        """The response that it goes into."""
        return self._of(lambda i: i.parent_id)

    @property
    def response(self) -> Response:
        """That response."""

        def look(ledger: Ledger) -> str:
            inject = ledger.injects[self._key]
            return inject.parent_id if inject.parent is None else response_key(inject.parent)

        return Response(self._session, self._session.read(look))

    @property
    def lane(self) -> Lane:
        """The lane of that response."""
        stream_id = self._of(lambda i: None if i.lane is None else i.lane.stream_id)
        return self._session.lane_object(stream_id)

    @property
    def input(self) -> list[dict[str, Any]]:
        """The filled stubs that it carries."""
        return self._of(lambda i: copy.deepcopy(list(i.answers)))

    @property
    def error(self) -> dict[str, Any] | None:
        """`code` and `message` of why nothing of it was committed.

        Its answers are filled again then, and go out with the continuation.
        """
        found = self._of(lambda i: (i.error_code, i.error_message))
        return None if found[1] is None else {"code": found[0], "message": found[1]}

    def _over(self, ledger: Ledger) -> bool | None:
        return None if ledger.injects[self._key].live else True

    def _going_on(self) -> str:
        return f"{self._key} into {self.response_id} is not acknowledged, which is no refusal"

    def __repr__(self) -> str:
        def look(inject: InjectState) -> str:
            code = f" ({inject.error_code})" if inject.error_code else ""
            number = len(inject.answers)
            answers = "1 answer" if number == 1 else f"{number} answers"
            into = short_id(inject.parent_id)
            return f"<Inject {inject.key} of {answers} into {into}, {inject.state}{code}>"

        return self._of(look)
