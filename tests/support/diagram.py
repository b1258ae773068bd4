"""The picture of how it works, drawn from what it says: rooms, and what goes from one to the other.

    python -m tests.support.diagram

writes it for light and dark pages. ``tests/test_architecture.py`` holds it to the code: that every
room is in it, that each arrow is an import or a socket, and that a message takes this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["ARROWS", "BOXES", "PICTURES", "Arrow", "Box", "drawn"]

PICTURES = Path(__file__).parents[2] / "notebooks" / "images"


@dataclass(frozen=True)
class Box:
    """Some rooms, and what they do.

    Attributes
    ----------
    key : str
        How arrows name it.
    rooms : tuple of str
        What it stands for.
    title : str
        Its first line.
    lines : tuple of str
        What stands below.
    at : tuple of int
        Left, top, width and height.
    names : tuple of str
        What of its code it speaks of: ``module:name``.
    """

    key: str
    rooms: tuple[str, ...]
    title: str
    lines: tuple[str, ...]
    at: tuple[int, int, int, int]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrow:
    """What goes from one box to another.

    Attributes
    ----------
    start, end : str
        Keys of boxes.
    text : str
        What goes there.
    points : tuple
        Its line.
    label : tuple of int
        Where the middle of the text is.
    by : str
        ``import``: one of the two imports the other; ``socket``: neither does.
    """

    start: str
    end: str
    text: str
    points: tuple[tuple[int, int], ...]
    label: tuple[int, int]
    by: str = "import"


BOXES = (
    Box(
        "service",
        ("simulator",),
        "OpenAI, Letta",
        ("or simulator/", "on this machine"),
        (16, 40, 150, 92),
        ("steer_nb.simulator:Simulator",),
    ),
    Box(
        "client",
        ("client", "letta"),
        "client/, letta/",
        ("Session, Lane, tools", "one I/O thread"),
        (292, 40, 176, 92),
        ("steer_nb.client:Session", "steer_nb.client:Lane", "steer_nb.letta:Letta"),
    ),
    Box(
        "trace",
        ("trace",),
        "trace/",
        ("every message, verbatim", "and its journal on disk"),
        (580, 40, 176, 92),
        ("steer_nb.trace:Trace", "steer_nb.trace:Journal"),
    ),
    Box(
        "frames",
        ("frames",),
        "frames/",
        ("tables, metrics,", "pictures, exports"),
        (828, 40, 146, 92),
        ("steer_nb.frames:Frames", "steer_nb.frames:Metrics"),
    ),
    Box(
        "magics",
        ("magics",),
        "magics/, cli",
        ("%steer, steer-nb",),
        (16, 212, 150, 70),
        ("steer_nb.magics:SteerMagics", "steer_nb.cli:main"),
    ),
    Box(
        "widgets",
        ("widgets",),
        "widgets/",
        ("lane view, board, forms",),
        (292, 212, 176, 70),
        (
            "steer_nb.widgets:LaneView",
            "steer_nb.widgets:BoardView",
            "steer_nb.widgets:PendingForms",
        ),
    ),
    Box(
        "ledger",
        ("ledger",),
        "ledger/",
        ("what follows from it", "so far, and who waits"),
        (580, 204, 176, 92),
        ("steer_nb.ledger:Ledger",),
    ),
    Box(
        "wire",
        ("wire", "errors", "extras"),
        "wire/, errors",
        ("events decoded, requests built, answers checked: known to every room above",),
        (16, 372, 958, 64),
        ("steer_nb.wire:decode", "steer_nb.wire:response_create", "steer_nb.wire:fill_stub"),
    ),
)

ARROWS = (
    Arrow("service", "client", "events", ((166, 70), (292, 70)), (229, 62), "socket"),
    Arrow("client", "service", "requests", ((292, 102), (166, 102)), (229, 119), "socket"),
    Arrow("client", "trace", "append", ((468, 86), (580, 86)), (524, 78)),
    Arrow("trace", "frames", "fold", ((756, 86), (828, 86)), (792, 78)),
    Arrow("trace", "ledger", "apply", ((668, 132), (668, 204)), (692, 172)),
    Arrow("ledger", "widgets", "drawn", ((580, 247), (468, 247)), (524, 239)),
    Arrow("widgets", "client", "fill, send", ((380, 212), (380, 132)), (418, 176)),
    Arrow(
        "magics",
        "client",
        "create, steer",
        ((91, 212), (91, 172), (330, 172), (330, 132)),
        (200, 164),
    ),
    Arrow(
        "frames",
        "magics",
        "%steer frame, %steer timeline",
        ((901, 132), (901, 330), (91, 330), (91, 282)),
        (496, 322),
    ),
)

_LOOKS = {
    "light": {
        "text": "#1f2328",
        "dim": "#59636e",
        "box": "#f6f8fa",
        "edge": "#8c959f",
        "line": "#5b4bc4",
    },
    "dark": {
        "text": "#e6edf3",
        "dim": "#9198a1",
        "box": "#161b22",
        "edge": "#6e7681",
        "line": "#a79bff",
    },
}
_FONT = "font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\""


def drawn(theme: str) -> str:
    """Draw the picture for light or dark pages."""
    look = _LOOKS[theme]
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        f'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="{look["line"]}"/></marker>'
        "</defs>"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 990 452" {_FONT} role="img">',
        "<title>How it works: the rooms, and the way of a message</title>",
        head,
    ]
    for arrow in ARROWS:
        points = " ".join(f"{x},{y}" for x, y in arrow.points)
        dashed = ' stroke-dasharray="5 4"' if arrow.by == "socket" else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{look["line"]}" stroke-width="1.6"'
            f'{dashed} marker-end="url(#head)"/>'
        )
        parts.append(_text(arrow.label, arrow.text, look["dim"], 12.5))
    for box in BOXES:
        left, top, width, height = box.at
        parts.append(
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="8" '
            f'fill="{look["box"]}" stroke="{look["edge"]}"/>'
        )
        middle = left + width // 2
        first = top + height // 2 - 10 * len(box.lines) + 5
        parts.append(_text((middle, first), box.title, look["text"], 15, bold=True))
        for number, line in enumerate(box.lines, 1):
            parts.append(_text((middle, first + 20 * number), line, look["dim"], 13))
    return "\n".join([*parts, "</svg>", ""])


def _text(at: tuple[int, int], text: str, colour: str, size: float, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{at[0]}" y="{at[1]}" text-anchor="middle" font-size="{size}"{weight} '
        f'fill="{colour}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    for name in _LOOKS:
        target = PICTURES / f"how-it-works-{name}.svg"
        target.write_text(drawn(name), encoding="utf-8")
        print(target)
