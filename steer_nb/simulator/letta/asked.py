"""One request, and what it gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from steer_nb.simulator.letta.listing import Query
from steer_nb.simulator.letta.requests import body_of
from steer_nb.simulator.letta.sending import Follow, Started
from steer_nb.simulator.letta.validating import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.simulator.letta.service import LettaService

__all__ = ["Answer", "Asked", "Reply"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A plain answer: JSON."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Reply = Answer | Started | Follow


@dataclass(slots=True)
class Asked:
    """One HTTP request.

    Attributes
    ----------
    service : LettaService
        Who is asked.
    method, target : str
        Its first line.
    headers : mapping
        By lower-case name.
    raw : bytes
        The body.
    connection : int
        The number of its connection.
    """

    service: LettaService
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    connection: int = 0

    @property
    def query(self) -> Query:
        """What stands behind the question mark."""
        return Query(parse_qs(urlsplit(self.target).query))

    @property
    def body(self) -> Any:
        """The body as JSON, None without one.

        Raises
        ------
        Refused
            422 for what is no JSON.
        """
        return body_of(self.raw)

    @property
    def object(self) -> dict[str, Any]:
        """The body as an object; empty without one."""
        given = self.body
        checked({} if given is None else given, {})
        return given or {}
