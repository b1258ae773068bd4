"""From trace entries to sentences: what just happened, as one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steer_nb.ledger import Ledger
from steer_nb.trace import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.ledger.contents import RequiredInputState
    from steer_nb.ledger.state import ResponseState, SteerState

__all__ = ["JournalTail", "Narrator", "spell"]

_CLIP = 48


class JournalTail:
    """Reads the journals of a folder while they are written.

    Parameters
    ----------
    directory : Path
        The folder; it need not exist yet.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._read: dict[Path, int] = {}
        self._decoder = msgspec.json.Decoder(Entry)

    def new(self) -> Iterator[tuple[Path, Entry]]:
        """Give the entries that were written since the last call."""
        for path in sorted(self.directory.glob("*.jsonl")):
            start = self._read.get(path, 0)
            with path.open("rb") as file:
                file.seek(start)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]  # a line that is still being written waits
            self._read[path] = start + len(whole)
            lines = whole.splitlines() if start else whole.splitlines()[1:]  # first: the header
            for line in lines:
                yield path, self._decoder.decode(line)


class Narrator:
    """Folds one session's entries and tells each milestone once.

    Parameters
    ----------
    dialect : str
        Whose words its trace is in, as `Header.dialect` has it.

    Examples
    --------
    >>> from steer_nb.trace import Entry
    >>> Narrator().hear(
    ...     Entry(seq=0, at=None, t=0.0, kind="note", note="lane", data={"lane": "planner"})
    ... )
    ['lane planner opened']
    """

    def __init__(self, dialect: str = "responses") -> None:
        self.ledger = Ledger(dialect=dialect)
        self._told: set[tuple[str, str]] = set()
        self._version = -1

    def hear(self, entry: Entry) -> list[str]:
        """Fold one entry; returns the sentences that it is worth."""
        self.ledger.apply(entry)
        lines = self._note(entry.note, entry.data or {}) if entry.kind == "note" else []
        if self.ledger.version != self._version:  # text alone tells no milestone
            self._version = self.ledger.version
            lines += self._milestones()
        return lines

    def _note(self, note: str | None, data: dict[str, Any]) -> list[str]:
        lane = data.get("lane") or "(default)"
        if note == "connected":
            return [f"connected to {data.get('url')}"]
        if note == "connect_failed":
            return [f"no connection to {data.get('url')}: {data.get('error')}"]
        if note == "lane":
            fork = data.get("forked_from")
            return [f"lane {lane} opened" + (f", forked from {fork}" if fork else "")]
        if note == "closed":
            return ["connection closed"]
        return []

    def _milestones(self) -> list[str]:
        lines: list[str] = []
        for response in self.ledger.responses.values():
            lines += self._once("started", response.id, _started(response))
            for steer in response.steers:
                lines += self._steer(steer)
            if response.ended is not None:
                lines += self._once("ended", response.id, _ended(response, response.ended))
            for stub in response.required.values():
                lines += self._required(response, stub)
        return lines

    def _steer(self, steer: SteerState) -> list[str]:
        key, lines = steer.key, self._once("steer", steer.key, _steered(steer))
        if steer.accepted is not None:
            lines += self._once("accepted", key, f"steer accepted {_after(steer, steer.accepted)}")
        if steer.pending is not None:
            lines += self._once("pending", key, "steer waits for the input that is due")
        if steer.committed is not None:
            after = _after(steer, steer.committed)
            lines += self._once("committed", key, f"steer committed {after}")
        if steer.failed is not None:
            lines += self._once("failed", key, f"steer failed: {steer.failure_message}")
        if steer.unknown is not None:
            lines += self._once("unknown", key, "the outcome of a steer is unknown")
        return lines

    def _required(self, response: ResponseState, stub: RequiredInputState) -> list[str]:
        key, name = f"{response.id} {stub.key}", stub.name or stub.type
        lane = response.lane.name
        lines = self._once("required", key, f"{lane} waits for {name} ({stub.key})")
        if stub.filled is not None:
            who = {"user": "by hand", "policy": "by its policy"}.get(
                stub.filled_by or "", "by code"
            )
            lines += self._once("filled", key, f"{name} answered {who}")
        if stub.sent is not None:
            lines += self._once("sent", response.id, f"{lane}: continuation sent")
        return lines

    def _once(self, what: str, key: str, line: str) -> list[str]:
        if (what, key) in self._told:
            return []
        self._told.add((what, key))
        return [line]


def _started(response: ResponseState) -> str:
    why = {
        "steer_auto": "the steer's successor starts",
        "steer_explicit": "the continuation starts, the steer in it",
        "tool_continuation": "the continuation starts",
        "approval_continuation": "the continuation starts",
        "fork": "a fork starts",
    }
    return f"{response.lane.name}: {why.get(response.origin, 'a response starts')}"


def _ended(response: ResponseState, ended: Entry) -> str:
    why = f" ({response.incomplete_reason})" if response.incomplete_reason else ""
    if response.error_message:
        why = f": {response.error_message}"
    began, took = response.started.t, ""
    if ended.t is not None and began is not None:
        took = f" after {spell(ended.t - began)}"
    n_characters = len(response.text)
    wrote = f", {n_characters} characters" if n_characters else ""
    return f"{response.lane.name}: response {response.status}{why}{took}{wrote}"


def _steered(steer: SteerState) -> str:
    text = steer.input if isinstance(steer.input, str) else _first_text(steer.input)
    text = " ".join(text.split())
    shown = text if len(text) <= _CLIP else f"{text[: _CLIP - 1]}…"
    lane = steer.lane.name if steer.lane is not None else "?"
    how = "kept for later" if steer.state == "queued_here" else "steered"
    return f"{lane}: {how}, “{shown}”"


def _first_text(value: Any) -> str:
    """Find the first text in an input of any shape."""
    if isinstance(value, dict):
        text = value.get("text")
        return text if isinstance(text, str) else _first_text(value.get("content"))
    if isinstance(value, list):
        return next((text for part in value if (text := _first_text(part))), "")
    return value if isinstance(value, str) else ""


def _after(steer: SteerState, entry: Entry) -> str:
    sent = steer.sent.t if steer.sent is not None else None
    if entry.t is None or sent is None:
        return "at a time unknown"
    return f"after {spell(entry.t - sent)}"


def spell(seconds: float) -> str:
    """Write a duration as people say it.

    Examples
    --------
    >>> spell(0.0042), spell(1.25)
    ('4 ms', '1.2 s')
    """
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(0.0, seconds) * 1000:.0f} ms"
