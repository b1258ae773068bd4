"""What a magic prints, and values that look well in a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Status", "say"]

_WORDS = {"waiting_input": "waits for input", "detached": "lost its connection"}


def say(text: str) -> None:
    """Print to the running cell."""
    print(text)  # noqa: T201


class Status(dict[str, Any]):
    """What `Session.status` gave: its values by their names, and sentences to look at.

    Examples
    --------
    >>> status = {"name": "default", "url": "ws://127.0.0.1:1/v1/responses", "connected": False}
    >>> Status({**status, "ended": "close 1001", "lanes": {"trip": "waiting_input"}})
    Session default: not connected (close 1001)
      url        ws://127.0.0.1:1/v1/responses
      lanes      trip waits for input
      to decide  nothing
      journal    none: the trace is in memory only
    """

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        yield "url", [self["url"]]
        if self.get("left_s") is not None:
            yield "connection", [self._lifetime()]
        if self.get("model"):
            yield "model", [self["model"]]
        lanes = self.get("lanes") or {}
        yield "lanes", [f"{name} {_word(word)}" for name, word in lanes.items()] or ["none is open"]
        yield "to decide", [_how(what) for what in self.get("to_decide") or ()] or ["nothing"]
        if "in_flight" in self:
            flying = _count(self["in_flight"], "response")
            queued = f", {_count(self['queued'], 'request')} queued" if self["queued"] else ""
            yield "in flight", [flying + queued]
            so_far = (("events", "event"), ("requests", "request"), ("problems", "problem"))
            yield "so far", [", ".join(_count(self[name], word) for name, word in so_far)]
        yield "journal", [self.get("journal") or "none: the trace is in memory only"]

    def _head(self) -> str:
        if self.get("reconnecting"):
            state = f"connecting again, {self['reconnecting']}"
        elif self["connected"]:
            state = "connected"
        else:
            state = f"not connected ({self['ended']})" if self.get("ended") else "not connected"
        scenario = f" to the simulator ({self['simulator']})" if self.get("simulator") else ""
        return f"{state}{scenario}"

    def _lifetime(self) -> str:
        """How long the connection lasts, and when a new one takes its place."""
        from steer_nb.widgets.text import clock

        left, age, rotate = self["left_s"], self["age_s"], self.get("rotate_s")
        shown = f"{clock(age)} old, {clock(left)} left"
        if rotate is None:
            return f"{shown}; it is not replaced before its end"
        if age >= rotate:
            return f"{shown}; replaced as soon as every lane is idle"
        return f"{shown}; replaced in {clock(rotate - age)}, once every lane is idle"

    def __repr__(self) -> str:
        rows = list(self._lines())
        width = max(len(name) for name, _ in rows) + 2
        lines = [f"Session {self['name']}: {self._head()}"]
        for name, values in rows:
            for at, value in enumerate(values):
                lines.append(f"  {'' if at else name:<{width}}{value}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("{...}" if cycle else repr(self))

    def _repr_html_(self) -> str:
        from steer_nb.widgets.text import esc, esc_strict

        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{esc(name)}</th>'
            f'<td style="text-align:left">{"<br>".join(map(esc, values))}</td></tr>'
            for name, values in self._lines()
        )
        head = f"<p><b>Session {esc_strict(self['name'])}</b> · {esc(self._head())}</p>"
        return f'{head}<table aria-label="Status"><tbody>{rows}</tbody></table>'


def _word(word: str) -> str:
    """A lane's state as what is true of it."""
    return _WORDS.get(word, f"is {word.replace('_', ' ')}")


def _count(number: int, word: str) -> str:
    from steer_nb.widgets.text import count

    return count(number, word) if number else f"no {word}s"


def _how(what: str) -> str:
    """What is to be decided, with what to type for it."""
    lane = what.removeprefix("lane ")
    if lane != what:
        return f"{what} (%steer resume {lane})"
    return f"{what} (%steer again {what}, or drop)"
