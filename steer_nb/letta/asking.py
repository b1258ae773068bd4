"""What became of messages whose stream was lost: it is read on, or the history read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.client.checking import Check, Checker
from steer_nb.letta.line import LettaLine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb.ledger import RequestState

__all__ = ["LettaChecker"]


class LettaChecker(Checker):
    """Asks for a session. It lives on the I/O thread."""

    async def _check(self, stream_ids: Iterable[str | None] | None) -> Check:
        core, line = self._core, self._core.line
        assert isinstance(line, LettaLine)
        wanted = tuple(core.lanes if stream_ids is None else stream_ids)
        begun = [name for name in wanted if name in core.lanes and line.take_up(core.lanes[name])]
        await line.through(begun)
        asked: list[str] = []
        settled: list[str] = []
        unsettled: list[str] = []
        for name in begun:
            request = core.ledger.lanes[name].requests[-1]
            asked.append(request.key)
            said, known = self._said(request)
            (settled if known else unsettled).append(f"{request.key} {said}.")
        return Check(tuple(asked), tuple(settled), tuple(unsettled))

    def _said(self, request: RequestState) -> tuple[str, bool]:
        response = self._core.ledger.responses.get(request.response_id or "")
        if response is not None:
            return f"is {response.id}: {response.status}", response.status != "truncated"
        if request.state == "unsent":
            return "never arrived, and can be sent again", True
        return f"is {request.state}", request.state != "unknown"
