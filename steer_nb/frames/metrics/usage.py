"""Tokens, each counted once, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import frame_of
from steer_nb.frames.metrics.prices import Prices
from steer_nb.frames.metrics.schema import UsageTotals

if TYPE_CHECKING:
    import pandas as pd

    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.metrics.prices import PriceTable

__all__ = ["counted_once", "usage_totals", "used_of"]

_TOKENS: Final = (
    "input_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
)


def counted_once(responses: pd.DataFrame) -> pd.DataFrame:
    """Rows of responses with a usage, one for each response that the service has billed.

    Each steered parent and each successor is billed apart, so the sum over responses is what is
    paid. But the same response may stand in several traces of one set: a journal, the one that went
    on after a recovery, a saved copy. Its id tells, and the last of its rows counts.
    """
    used = responses[responses["total_tokens"].notna() | responses["output_tokens"].notna()]
    return used.drop_duplicates("response_id", keep="last")


def used_of(tables: Tables) -> pd.DataFrame:
    """Take from tables what `usage_totals` looks at: a few columns of responses with a usage."""
    return counted_once(tables["responses"])[["response_id", "model", *_TOKENS]]


def usage_totals(
    tables: Tables,
    *,
    prices: PriceTable | None = None,
) -> pd.DataFrame:
    """Add up tokens by model.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `responses`.
    prices : mapping, DataFrame or Prices, optional
        See `Prices`.

    Returns
    -------
    DataFrame
        One row for each model, by name; the columns of `UsageTotals`. Without `prices`, `cost` is
        null.

    Raises
    ------
    InvalidInput
        `prices` is no table of prices.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> usage_totals(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames).shape
    (0, 9)
    """
    table = None if prices is None else Prices(prices)
    used = counted_once(tables["responses"])
    rows: list[dict[str, Any]] = []
    for model, group in used.groupby(used["model"].astype(object), sort=True, dropna=False):
        name = model if isinstance(model, str) else None
        sums = {kind: int(group[kind].fillna(0).sum()) for kind in _TOKENS}
        cost = None
        if table is not None:
            cost = table.cost(
                name,
                input=sums["input_tokens"],
                cached=sums["cached_tokens"],
                cache_write=sums["cache_write_tokens"],
                output=sums["output_tokens"],
            )
        rows.append({"model": name, "n_responses": len(group), **sums, "cost": cost})
    values = {name: [row[name] for row in rows] for name in UsageTotals.names}
    return frame_of(UsageTotals, values)
