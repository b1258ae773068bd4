"""What a tool displays: kept with its call, and never put into whatever cell runs at that moment.

IPython's publisher has hooks that belong to a thread (`ZMQDisplayPublisher.register_hook`), and a
tool runs on a thread of its own. Where there is no kernel, `display` prints. Older kernels have no
hook for `clear_output` (6.17): there it clears what the running cell shows.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["DISPLAYED_LIMIT", "Displayed", "displayed"]

DISPLAYED_LIMIT: Final = 1_000_000
"""How many characters of what a run displayed are kept: the last outputs. A picture is base64."""

_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Displayed:
    """What one run displayed, in its order: of each output a picture, or else its text.

    Examples
    --------
    >>> kept = Displayed()
    >>> data = {"text/plain": "<b>18</b>", "text/html": "..."}
    >>> kept.take({"msg_type": "display_data", "content": {"data": data}})
    >>> kept.outputs
    [{'text/plain': '<b>18</b>'}]
    """

    def __init__(self) -> None:
        self._outputs: list[tuple[str | None, dict[str, str]]] = []
        self._lock = threading.Lock()

    @property
    def outputs(self) -> list[dict[str, str]]:
        """Each output, by MIME type."""
        with self._lock:
            return [dict(output) for _, output in self._outputs]

    def take(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Keep an output, and give the publisher nothing to send.

        An update of what a cell displayed is for that cell: it is given back.
        """
        content = message.get("content") or {}
        kind = message.get("msg_type")
        with self._lock:
            if kind == "clear_output":
                self._outputs.clear()
                return None
            shown = _shown(content.get("data") or {})
            key = (content.get("transient") or {}).get("display_id")
            if kind == "update_display_data":
                if key not in [known for known, _ in self._outputs]:
                    return message
                self._outputs = [
                    (known, shown if known == key else output) for known, output in self._outputs
                ]
            else:
                self._outputs.append((key, shown))
            while self._size() > DISPLAYED_LIMIT:
                self._outputs.pop(0)
            return None

    def _size(self) -> int:
        return sum(len(text) for _, output in self._outputs for text in output.values())


def _shown(data: Mapping[str, Any]) -> dict[str, str]:
    for kind in _PICTURES:
        picture = data.get(kind)
        if isinstance(picture, str):
            if len(picture) <= DISPLAYED_LIMIT:
                return {kind: "".join(picture.split())}
            return {"text/plain": f"({kind}: too large to be kept)"}
    text = str(data.get("text/plain", ""))
    return {"text/plain": text if len(text) <= _TEXT else f"{text[:_TEXT]} …"}


_TEXT: Final = 16 * 1024


@contextmanager
def displayed() -> Iterator[Displayed]:
    """Keep what this thread displays until the block ends; what other threads display goes on.

    Examples
    --------
    >>> with displayed() as kept:
    ...     pass
    >>> kept.outputs
    []
    """
    kept = Displayed()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    publisher: Any = getattr(shell, "display_pub", None)
    if not hasattr(publisher, "register_hook"):
        yield kept
        return
    publisher.register_hook(kept.take)
    try:
        yield kept
    finally:
        publisher.unregister_hook(kept.take)
