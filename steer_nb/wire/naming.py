"""Ids for reading: the service's are 37 characters long, and differ in the first few."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["short_id", "shortened"]

_LONG_ID: Final = re.compile(r"\b[a-z]{1,8}_[A-Za-z0-9]{17,}\b")


def short_id(identifier: str, keep: int = 16) -> str:
    """Long ids as head and tail, so that two of them can still be told apart.

    Examples
    --------
    >>> short_id("resp_7c0123456789abcdef41")
    'resp_7c…41'
    """
    if len(identifier) <= keep:
        return identifier
    head, mark, rest = identifier.partition("_")
    if mark and len(head) <= 8 and len(rest) > 6:
        return f"{head}_{rest[:2]}…{rest[-2:]}"
    return f"{identifier[: keep - 3]}…{identifier[-2:]}"


def shortened(text: str) -> str:
    """A sentence with its long ids shortened.

    Examples
    --------
    >>> shortened("resp_7c0123456789abcdef41 ended: completed.")
    'resp_7c…41 ended: completed.'
    """
    return _LONG_ID.sub(lambda found: short_id(found[0]), text)
