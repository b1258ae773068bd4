"""Two runs of one scenario, side by side."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.columns import TEXT
from steer_nb.frames.metrics.measures import STALL_S, response_metrics
from steer_nb.frames.metrics.summary import essence_of, put_together, summary_from
from steer_nb.frames.sets import joined_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.metrics.prices import PriceTable
    from steer_nb.frames.metrics.summary import Essence

__all__ = ["Side", "TraceDiff", "side_of", "sides_together"]

_SAME: Final = ("origin", "status", "incomplete_reason", "error_code", "model")
_NUMBERS: Final = (
    "time_to_first_chunk_s",
    "time_to_first_text_s",
    "duration_s",
    "tokens_per_s",
    "output_tokens",
    "output_characters",
    "n_stalls",
)
_COMPARED: Final = (*_SAME, *_NUMBERS, "output_text")


@dataclass(frozen=True)
class Side:
    """What a comparison looks at: of some traces, or, put together, of all of a side.

    Attributes
    ----------
    essence : Essence
        What its summary is made of.
    responses : DataFrame
        What is compared of each response, with the name of its lane, in their order.
    calls, steers : Series
        How many there are of each kind.
    """

    essence: Essence
    responses: pd.DataFrame
    calls: pd.Series[Any]
    steers: pd.Series[Any]


def side_of(tables: Tables | Side, *, stall_s: float = STALL_S) -> Side:
    """Take from tables what a comparison needs.

    Raises
    ------
    InvalidInput
        `stall_s` is none.
    """
    if isinstance(tables, Side):
        return tables
    return Side(
        essence_of(tables, stall_s=stall_s),
        _responses(tables, stall_s),
        _kinds(tables["tool_calls"], _CALL),
        _kinds(tables["steers"], _STEER),
    )


def sides_together(parts: Sequence[Side]) -> Side:
    """Put together what was taken from several traces each, in their order."""
    if len(parts) == 1:
        return parts[0]
    return Side(
        put_together([part.essence for part in parts]),
        joined_all([part.responses for part in parts]),
        _added([part.calls for part in parts]),
        _added([part.steers for part in parts]),
    )


def _responses(tables: Tables, stall_s: float) -> pd.DataFrame:
    """Responses with the name of their lane."""
    responses = tables["responses"]
    lanes = tables["lanes"][["lane_id", "stream_id"]]
    key = ["trace_id", "response_id"]
    numbers = response_metrics(tables, stall_s=stall_s)
    found = responses[[*key, "lane_id", *_SAME, "output_text"]].merge(
        numbers[[*key, *_NUMBERS]], on=key, how="left"
    )
    found = found.merge(lanes, on="lane_id", how="left")
    found["lane"] = found.pop("stream_id").fillna("(default)")
    return found.drop(columns=[*key, "lane_id"])


def _placed(responses: pd.DataFrame) -> pd.DataFrame:
    """Responses with their place in their lane."""
    place = responses.groupby("lane", sort=False).cumcount().astype("int64")
    return responses.assign(place=place)


class TraceDiff:
    """What differs between two traces of the same scenario.

    Responses are laid beside each other by the name of their lane and their place in it, whatever
    their ids and connections are.

    Parameters
    ----------
    this, other : Tables or Side
        The frames of both, or what `side_of` took from them.
    prices : mapping, DataFrame or Prices, optional
        See `Prices`.
    stall_s : float, default 1.0
        Seconds from which on a gap between two chunks is a stall.

    Attributes
    ----------
    summary : DataFrame
        Each metric of `summary_of`, with `unit`, `this`, `other`, and `change` from this to the
        other, in its unit; `change_pct` in per cent.
    responses : DataFrame
        Both traces' responses, one row for each pair; where one side has none, its columns are
        null. `lane`, `place` (from 0), `differs` (words for what is not the same), and for each
        compared column its value in both: ``status_this``, ``status_other`` …
    calls, steers : DataFrame
        How many of each kind, name and outcome there are: `this`, `other`, `change`.

    Raises
    ------
    InvalidInput
        `prices` or `stall_s` is none.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> trace = Trace(Header(steer_nb=1, trace_id="0" * 32))
    >>> trace.diff(trace).same
    True
    """

    def __init__(
        self,
        this: Tables | Side,
        other: Tables | Side,
        *,
        prices: PriceTable | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        sides = [side_of(each, stall_s=stall_s) for each in (this, other)]
        self.summary = _changes(*(summary_from(side.essence, prices=prices) for side in sides))
        self.responses = _pairs(*(_placed(side.responses) for side in sides))
        self.calls = _counts(*(side.calls for side in sides))
        self.steers = _counts(*(side.steers for side in sides))

    @property
    def same(self) -> bool:
        """Whether the same was said and done in both, in words and outcomes; times may differ."""
        counts = (self.calls, self.steers)
        return not self.responses["differs"].ne("").any() and not any(
            frame["change"].ne(0).any() for frame in counts
        )

    def __repr__(self) -> str:
        lines = [self._head()]
        changed = self._changed()
        if len(changed):
            lines.append(changed.to_string(index=False, float_format=_short))
        different = self._different()
        if len(different):
            lines.append(different.to_string(index=False))
        return "\n\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self._head())}</b></p>"]
        changed, different = self._changed(), self._different()
        if len(changed):
            parts.append(changed.to_html(index=False, float_format=_short, border=0))
        if len(different):
            parts.append(different.to_html(index=False, border=0))
        return "".join(parts)

    def _head(self) -> str:
        total = len(self.responses)
        if not total:
            return "Neither trace has a response."
        differ = int(self.responses["differs"].ne("").sum())
        if self.same:
            return f"The same was said and done in {_many(total, 'response')}; times may differ."
        return f"{differ} of {_many(total, 'response')} differ."

    def _changed(self) -> pd.DataFrame:
        frame = self.summary
        return frame[frame["change"].ne(0.0) & frame["change"].notna()]

    def _different(self) -> pd.DataFrame:
        frame = self.responses
        return frame.loc[frame["differs"].ne(""), ["lane", "place", "differs"]]


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _short(value: float) -> str:
    return f"{value:.4g}"


def _changes(this: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    change = other["value"] - this["value"]
    return pd.DataFrame(
        {
            "metric": this["metric"],
            "unit": this["unit"],
            "this": this["value"],
            "other": other["value"],
            "change": change,
            "change_pct": 100.0 * change / this["value"].where(this["value"] != 0),
        }
    )


def _pairs(this: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    paired = this.merge(
        other, on=["lane", "place"], how="outer", suffixes=("_this", "_other"), indicator="_side"
    ).sort_values(["lane", "place"], kind="stable", ignore_index=True)
    words: list[list[str]] = [[] for _ in range(len(paired))]
    for at, side in enumerate(paired["_side"].astype(str)):
        if side != "both":
            words[at].append("only in this" if side == "left_only" else "only in the other")
    for name in (*_SAME, "output_text"):
        ours = paired[f"{name}_this"].astype(object)
        theirs = paired[f"{name}_other"].astype(object)
        for at, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
            none = int(pd.isna(mine)) + int(pd.isna(yours))
            alike = none == 2 or (none == 0 and mine == yours)
            if not alike and paired["_side"].iloc[at] == "both":
                words[at].append(name)
    paired["differs"] = pd.Series([", ".join(word) for word in words], dtype=object)
    compared = [f"{name}_{side}" for name in _COMPARED for side in ("this", "other")]
    paired = paired[["lane", "place", "differs", *compared, "_side"]]
    return paired.drop(columns="_side").astype({"lane": TEXT, "differs": TEXT})


_CALL: Final = ["kind", "name", "result_kind"]
_STEER: Final = ["state", "failure_code"]


def _kinds(frame: pd.DataFrame, columns: list[str]) -> pd.Series[Any]:
    words = frame[columns].astype(object).where(frame[columns].notna(), "")
    return words.groupby(columns, sort=True).size()


def _added(counts: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    there = [count for count in counts if len(count)]
    if not there:
        return counts[0]
    levels = list(range(there[0].index.nlevels))
    added: pd.Series[Any] = pd.concat(there).groupby(level=levels, sort=True).sum()
    return added


def _counts(this: pd.Series[Any], other: pd.Series[Any]) -> pd.DataFrame:
    counted = pd.DataFrame({"this": this, "other": other}).fillna(0).astype("int64")
    counted["change"] = counted["other"] - counted["this"]
    return counted.reset_index()
