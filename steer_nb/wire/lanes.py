"""Lane names (chapter 3)."""

from __future__ import annotations

import re
from typing import Final

from steer_nb.errors import InvalidLane
from steer_nb.wire.jsonio import shown
from steer_nb.wire.limits import STREAM_ID_LIMIT

__all__ = ["STREAM_ID_PATTERN", "check_stream_id"]

STREAM_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9_.-]{1,256}")
"""What a `stream_id` must match in full (1.3)."""


def check_stream_id(name: object) -> str:
    """Check a lane's name as the service does.

    Parameters
    ----------
    name : str
        1 to 256 of ``A-Z a-z 0-9 _ . -``. The default lane has no name at all, not ``""``.

    Returns
    -------
    str
        `name` itself.

    Raises
    ------
    InvalidLane
        The service would answer ``invalid_stream_id``.

    Examples
    --------
    >>> check_stream_id("planner")
    'planner'
    """
    rule = "1 to 256 letters, digits, underscores, hyphens and periods (A-Z a-z 0-9 _ . -)"
    if not isinstance(name, str):
        fault = f"is of type {type(name).__name__}"
    elif not name:
        fault = "is empty: leave it out for the default lane"
    elif len(name) > STREAM_ID_LIMIT:
        fault = f"has {len(name)} characters"
    elif (match := re.search(r"[^A-Za-z0-9_.-]", name)) is not None:
        fault = f"holds {match.group()!r}"
    else:
        return name
    msg = f"The lane name {shown(name)} {fault}; a lane name is {rule}."
    raise InvalidLane(msg, field="stream_id", value=name, rule=rule)
