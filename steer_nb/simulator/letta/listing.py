"""Lists as the server gives them: in an order, from behind or before an entry, at most so many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from steer_nb.simulator.letta.stored import letta_messages
from steer_nb.simulator.letta.trouble import Refused
from steer_nb.simulator.letta.validating import refuse_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.simulator.letta.stored import Stored

__all__ = ["Query", "messages_of", "page"]


class _Named(Protocol):
    @property
    def id(self) -> Any: ...


_T = TypeVar("_T", bound=_Named)


class Query:
    """What stands behind the question mark.

    Parameters
    ----------
    values : dict of str to list of str
        As `urllib.parse.parse_qs` gives them.
    """

    def __init__(self, values: dict[str, list[str]]) -> None:
        self._values = values

    def text(self, name: str) -> str | None:
        """Give the last value of a name."""
        values = self._values.get(name)
        return values[-1] if values else None

    def texts(self, name: str) -> list[str] | None:
        """Give all values of a name; None without any."""
        found = [*self._values.get(name, ()), *self._values.get(f"{name}[]", ())]
        return [part for one in found for part in one.split(",")] or None

    def number(self, name: str, default: int) -> int:
        """Give a whole number.

        Raises
        ------
        Refused
            422 for what is none.
        """
        text = self.text(name)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            msg = "Input should be a valid integer, unable to parse string as an integer"
            fault = {"type": "int_parsing", "loc": ("query", name), "msg": msg, "input": text}
            raise refuse_body([fault]) from None

    def flag(self, name: str) -> bool | None:
        """Give a truth value; None where there is none."""
        text = self.text(name)
        return None if text is None else text.lower() in ("true", "1", "yes", "on")


def page(
    rows: Sequence[_T], query: Query, *, limit: int, order: str, in_time: bool = False
) -> tuple[list[_T], str]:
    """Choose rows, oldest first in `rows`; also gives the order.

    Cursors are about that order, or, with `in_time`, about the time.

    Raises
    ------
    Refused
        422 for another order, 404 for a cursor that is none.
    """
    order = query.text("order") or order
    if order not in ("asc", "desc"):
        msg = "Input should be 'asc' or 'desc'"
        fault = {"type": "literal_error", "loc": ("query", "order"), "msg": msg, "input": order}
        raise refuse_body([{**fault, "ctx": {"expected": "'asc' or 'desc'"}}])
    turned = order == "desc" and not in_time
    chosen = list(reversed(rows)) if turned else list(rows)
    for name in ("after", "before"):
        cursor = query.text(name)
        if cursor is None:
            continue
        at = next((n for n, one in enumerate(chosen) if one.id == cursor), None)
        if at is None:
            raise Refused(404, f"No row with id {cursor} for the cursor '{name}'")
        chosen = chosen[at + 1 :] if name == "after" else chosen[:at]
    if order == "desc" and in_time:
        chosen.reverse()
    return chosen[: query.number("limit", limit)], order


def messages_of(stored: Sequence[Stored], query: Query, *, order: str) -> list[dict[str, Any]]:
    """Give messages as clients see them; the newest first turns the parts of each round as well.

    The cursors of messages are about when they were said, in whichever order they are listed: with
    ``before`` stands what is older (`MessageManager` and `ConversationManager` of the server).
    """
    rows, order = page(stored, query, limit=100, order=order, in_time=True)
    types = query.texts("include_return_message_types")
    found: list[dict[str, Any]] = []
    for one in rows:
        parts = letta_messages(one)
        found += parts if order == "asc" else reversed(parts)
    return [one for one in found if types is None or one["message_type"] in types]
