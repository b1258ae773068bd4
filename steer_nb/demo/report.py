"""What the demo shows in the terminal: lines as things happen, a bar, two tables at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from steer_nb.demo.narrator import spell

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    import pandas as pd

    from steer_nb.trace import Trace

__all__ = ["Report"]

_MISSING = "-"


class Report:
    """The demo's voice.

    Parameters
    ----------
    total : int
        How many steps there are.
    console : rich.console.Console, optional
        Where to. A terminal gets a progress bar, anything else plain lines.
    """

    def __init__(self, total: int, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.total = total
        self._steps = 0
        self._bar: Progress | None = None
        self._task: Any = None
        if self.console.is_terminal:
            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = Progress(*columns, console=self.console, transient=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("starting the kernel", total=self.total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def line(self, text: str, style: str = "") -> None:
        """Print one line; what models wrote is never markup."""
        self.console.print(Text(text, style), soft_wrap=True)

    def busy(self, title: str) -> None:
        """Show in the bar what is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description=title)

    def step(self, title: str) -> None:
        """Tell that a step begins."""
        self._steps += 1
        width = len(str(self.total))
        self.line(f"{self._steps:>{width}}/{self.total} {title}", "bold")

    def done(self) -> None:
        """Tell that a step is over."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def happening(self, text: str) -> None:
        """Tell something that happened during a step."""
        indent = " " * (2 * len(str(self.total)) + 2)
        self.line(f"{indent}{text}", "dim" if self.console.is_terminal else "")

    def tables(self, trace: Trace) -> None:
        """Print the `steers` and `responses` frames of a trace."""
        frames = trace.frames
        lanes = dict(zip(frames.lanes["lane_id"], frames.lanes["stream_id"], strict=True))

        def lane(row: Any) -> str:
            return _cell(lanes.get(row.lane_id))

        self._table(
            "steers",
            frames.steers,
            {
                "lane": lane,
                "input_text": lambda row: _cell(row.input_text),
                "state": lambda row: _cell(row.state),
                "accepted": lambda row: _seconds(row.ack_latency_s),
                "committed": lambda row: _seconds(row.commit_latency_s),
                "chunks between": lambda row: _cell(row.deltas_after_send),
            },
        )
        self._table(
            "responses",
            frames.responses,
            {
                "lane": lane,
                "origin": lambda row: _cell(row.origin),
                "status": _status,
                "events": lambda row: _cell(row.n_events),
                "duration": lambda row: _seconds(row.duration_s),
                "tokens": lambda row: _cell(row.total_tokens),
            },
        )

    def _table(
        self, title: str, frame: pd.DataFrame, columns: dict[str, Callable[[Any], str]]
    ) -> None:
        table = Table()
        numbers = {"accepted", "committed", "chunks between", "events", "duration", "tokens"}
        for name in columns:
            table.add_column(name, justify="right" if name in numbers else "left")
        for row in frame.itertuples(index=False):
            table.add_row(*(Text(show(row)) for show in columns.values()))
        rows = "1 row" if len(frame) == 1 else f"{len(frame)} rows"
        self.line(f"\n{title}: {rows}", "bold")
        self.console.print(table)


def _cell(value: Any) -> str:
    """Show one value; every kind of missing looks the same."""
    return _MISSING if _is_missing(value) else str(value)


def _status(row: Any) -> str:
    why = _cell(row.incomplete_reason)
    return str(row.status) if why == _MISSING else f"{row.status} ({why})"


def _seconds(value: Any) -> str:
    return _MISSING if _is_missing(value) else spell(float(value))


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
