"""Ids of Letta: a prefix and a UUID, made of a seed and a place, so that two runs give the same.

A message's `otid` and the id of an approval request follow from the message's id (2.1 of the
protocol notes on Letta).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steer_nb.simulator.ids import Ids

__all__ = ["before", "call_id_of", "id_of", "message_id_of", "otid_of", "uuid_of"]

_PARTS: Final = 0x7F
"""The low bits of an otid count the parts of its message."""
_PREFIX: Final = "message-"


def uuid_of(ids: Ids, *place: object) -> str:
    """Make a UUID of version 4 for a place.

    Examples
    --------
    >>> from steer_nb.simulator.ids import Ids
    >>> uuid_of(Ids(0), "run", 1) == uuid_of(Ids(0), "run", 1)
    True
    >>> uuid.UUID(uuid_of(Ids(0), "run", 1)).version
    4
    """
    return str(uuid.UUID(hex=ids.digest("letta", *place)[:32], version=4))


def id_of(ids: Ids, prefix: str, *place: object) -> str:
    """Make an id such as ``run-…``."""
    return f"{prefix}-{uuid_of(ids, prefix, *place)}"


def call_id_of(ids: Ids, *place: object) -> str:
    """Make a tool_call_id as the model's provider does."""
    return f"call_{ids.digest('call', *place)[:24]}"


def message_id_of(ids: Ids, *place: object) -> str:
    """Make a message's id, of which one can be taken without changing the otids."""
    number = uuid.UUID(uuid_of(ids, "message", *place)).int
    if not number & _PARTS:
        number |= 1
    return f"{_PREFIX}{uuid.UUID(int=number)}"


def otid_of(message_id: str, part: int) -> str:
    """Give the otid of one part of a message: its UUID, with the part's number in the low 7 bits.

    Examples
    --------
    >>> otid_of("message-5164b06b-aee7-4ef0-b232-bbeacce5fbd8", 1)
    '5164b06b-aee7-4ef0-b232-bbeacce5fb81'
    """
    number = uuid.UUID(message_id.removeprefix(_PREFIX)).int
    return str(uuid.UUID(int=number & ~_PARTS | part))


def before(message_id: str) -> str:
    """Give the id that an approval request has where tokens are streamed: one less.

    Examples
    --------
    >>> before("message-5164b06b-aee7-4ef0-b232-bbeacce5fbd8")
    'message-5164b06b-aee7-4ef0-b232-bbeacce5fbd7'
    """
    return f"{_PREFIX}{uuid.UUID(int=uuid.UUID(message_id.removeprefix(_PREFIX)).int - 1)}"
