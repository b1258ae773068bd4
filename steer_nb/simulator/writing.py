"""Writing items: the events of each, whose it is, and as much of it as the request allows."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from steer_nb.simulator import steps
from steer_nb.simulator.place import Place
from steer_nb.simulator.required import calls_in

if TYPE_CHECKING:
    from collections.abc import Generator

    from steer_nb.simulator.allowance import Allowance
    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.pace import Pace

__all__ = ["Writer"]


class Writer:
    """Writes the items of one connection's responses."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._options = connection.options

    async def items(
        self,
        record: Record,
        step: steps.Item | steps.Several,
        pace: Pace,
        agent: str | None = None,
        allowance: Allowance | None = None,
    ) -> tuple[list[dict[str, Any]], bool]:
        """Write what a step makes, as much as is allowed; gives it, and whether that was all."""
        made: list[dict[str, Any]] = []
        if allowance is not None and allowance.ignores(step):
            return made, True
        making = step.items() if isinstance(step, steps.Several) else _alone(step)
        part: steps.Item | None = next(making)
        while part is not None:
            fitting: steps.Item | None = part
            cut = False
            if allowance is not None:
                fitting, cut = allowance.fit(part, self._place(record, len(record.output)))
            if fitting is not None:
                made.append(await self.item(record, fitting, pace, agent, cut=cut))
            if cut:
                return made, False
            try:
                part = making.send(made[-1])
            except StopIteration:
                part = None
        return made, True

    def _place(self, record: Record, index: int) -> Place:
        cut_short = self._options.steered_reasoning == "interrupt"
        return Place(
            ids=self._connection.ids,
            response_id=record.id,
            output_index=index,
            random=record.random,
            include=frozenset(record.settings.get("include") or ()),
            most_deltas=self._options.most_deltas,
            interrupted=lambda: cut_short and bool(record.queued),
        )

    async def item(
        self,
        record: Record,
        step: steps.Item,
        pace: Pace,
        agent: str | None = None,
        *,
        cut: bool = False,
    ) -> dict[str, Any]:
        """Write an output item, and give it, finished.

        `agent` is whose it is where there are several; `cut` says that the step is not whole.
        """
        owner: dict[str, Any] = {} if agent is None else {"agent": {"agent_name": agent}}
        ending: dict[str, Any] = {"status": "incomplete"} if cut else {}
        index = record.begin_item()
        place = self._place(record, index)
        padded = (record.settings.get("stream_options") or {}).get("include_obfuscation", True)
        playing = step.play(place)
        item: dict[str, Any] = {}
        for event, seconds in playing:
            if padded and isinstance(event.get("delta"), str):
                event["obfuscation"] = _padding(record)
            if "item" in event:
                event["item"] = item = {**event["item"], **owner}
            if event["type"] == "response.output_item.done":
                item |= ending
                record.finish_item(index, item)
                self._open(record, agent, calls_in([item]))
            self._connection.emit(record, **event, **owner)
            await pace.wait(seconds)
            await self._connection.line.room()
        return item

    def _open(self, record: Record, agent: str | None, calls: dict[str, dict[str, Any]]) -> None:
        """Expect results from now on: the client may inject one as soon as it sees the call."""
        record.calls |= calls
        if record.team is not None and agent is not None:
            record.team.expect(agent, calls)


def _alone(step: steps.Item) -> Generator[steps.Item, dict[str, Any], None]:
    yield step


def _padding(record: Record) -> str:
    letters = string.ascii_letters + string.digits
    return "".join(record.padding.choices(letters, k=record.padding.randint(2, 16)))
