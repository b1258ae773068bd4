"""What tokens cost, from a table that the person gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["PriceTable", "Prices"]

KINDS: Final = ("input", "cached_input", "cache_write", "output")
_PER: Final = 1_000_000


class Prices:
    """Prices for each model, for a million tokens of a kind.

    Parameters
    ----------
    table : mapping or DataFrame
        By model: ``input`` and ``output``, and where they differ from ``input``, ``cached_input``
        (read from the prompt cache) and ``cache_write``. A DataFrame has the models as its index,
        the kinds as its columns. A price of ``gpt-6-astra`` holds for its dated snapshots
        (``gpt-6-astra-2026-09-01``), too, where they have none of their own.

    Raises
    ------
    InvalidInput
        A price is missing, negative or no number, or a kind is unknown; the message names it.

    Examples
    --------
    >>> prices = Prices({"gpt-6-astra": {"input": 1.25, "cached_input": 0.125, "output": 10.0}})
    >>> prices.cost("gpt-6-astra-2026-09-01", input=2_000_000, cached=1_000_000, output=100_000)
    2.375
    >>> prices.cost("another", input=1) is None
    True
    """

    def __init__(self, table: PriceTable) -> None:
        if isinstance(table, Prices):
            self._prices: dict[str, dict[str, float]] = table._prices
            return
        rows: Any = table
        if isinstance(table, pd.DataFrame):
            rows = {
                model: {kind: value for kind, value in row.items() if not pd.isna(value)}
                for model, row in table.to_dict("index").items()
            }
        if not isinstance(rows, Mapping):
            msg = (
                "prices must be a mapping by model, such as "
                "{'gpt-6-astra': {'input': 1.25, 'output': 10.0}}, or a DataFrame; not "
                f"{type(table).__name__}."
            )
            raise InvalidInput(msg, field="prices", value=None, rule="a mapping by model")
        self._prices = {_name(model): _row(model, row) for model, row in rows.items()}

    def cost(
        self,
        model: str | None,
        *,
        input: int = 0,  # noqa: A002 - the service's word
        cached: int = 0,
        cache_write: int = 0,
        output: int = 0,
    ) -> float | None:
        """What so many tokens cost; None where the table has no such model.

        Parameters
        ----------
        model : str or None
            As the service names it.
        input, cached, cache_write, output : int
            Tokens; `cached` and `cache_write` are among those of `input`.

        Returns
        -------
        float or None
            In the currency of the table.
        """
        price = self._of(model)
        if price is None:
            return None
        plain = max(input - cached - cache_write, 0)
        total = plain * price["input"] + output * price["output"]
        total += cached * price.get("cached_input", price["input"])
        total += cache_write * price.get("cache_write", price["input"])
        return total / _PER

    def _of(self, model: str | None) -> dict[str, float] | None:
        if not isinstance(model, str):
            return None
        names = [name for name in self._prices if model == name or model.startswith(f"{name}-20")]
        return self._prices[max(names, key=len)] if names else None


def _name(model: Hashable) -> str:
    if isinstance(model, str) and model:
        return model
    msg = f"prices: a model is named by text, not by {model!r}."
    raise InvalidInput(msg, field="prices", value=None, rule="names of models")


def _row(model: Hashable, row: object) -> dict[str, float]:
    if not isinstance(row, Mapping):
        msg = f"prices[{model!r}] must be a mapping of {', '.join(KINDS)}, not {row!r}."
        raise InvalidInput(msg, field=f"prices[{model!r}]", value=row, rule="a mapping of prices")
    for kind in row:
        if kind not in KINDS:
            msg = f"prices[{model!r}] has an unknown kind {kind!r}. Kinds: {', '.join(KINDS)}."
            raise InvalidInput(msg, field=f"prices[{model!r}]", value=kind, rule="a kind of token")
    for kind in ("input", "output"):
        if kind not in row:
            msg = f"prices[{model!r}] has no {kind!r}: the price of a million {kind} tokens."
            raise InvalidInput(msg, field=f"prices[{model!r}]", value=None, rule=f"has {kind}")
    return {kind: _price(f"prices[{model!r}][{kind!r}]", value) for kind, value in row.items()}


def _price(where: str, value: object) -> float:
    number = None if isinstance(value, bool) or not hasattr(value, "__float__") else value
    if number is not None and math.isfinite(float(number)) and float(number) >= 0:
        return float(number)
    msg = f"{where} is {value!r}: it must be a number, for a million tokens, from 0 on."
    raise InvalidInput(msg, field=where, value=value, rule="a number from 0 on")


PriceTable = Mapping[str, Mapping[str, float]] | pd.DataFrame | Prices
"""What a price table may be given as."""
