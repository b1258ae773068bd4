"""From Python lists to columns of the declared dtypes, so that no object ever gets into a cell."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steer_nb.frames.columns import Column

__all__ = ["array_of", "clean", "frame_of", "json_text", "strict_json", "whole"]

_INT64: Final = (-(2**63), 2**63 - 1)
# Times outside these years are no times: 0001 and 9999, with room for a time zone.
_SECONDS: Final = (-62_135_510_400.0, 253_402_214_400.0)


def clean(text: str) -> str:
    r"""Replace halves of characters by U+FFFD, where the other half does not stand beside them.

    A service may cut a character in two over two messages; UTF-8 cannot hold the halves, and so
    neither can Arrow or Parquet.

    Examples
    --------
    >>> clean("a\ud83d\ude00b\ud83d") == "a\U0001f600b\ufffd"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole(value: object) -> int | None:
    """Return the value if it is a whole number that 64 bits can hold."""
    if type(value) is int and _INT64[0] <= value <= _INT64[1]:
        return value
    return None


def json_text(value: object) -> str | None:
    """Write a decoded value as JSON again; NaN and infinities, which JSON has not, become null.

    None for what is nested too deeply to be written.
    """
    try:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError:
            return json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return None


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def strict_json(text: str) -> bool:
    """Say whether a text is JSON, as the standard has it: without NaN and infinities."""
    try:
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(word: str) -> None:
    msg = f"{word} is no JSON"
    raise ValueError(msg)


def array_of(column: Column, values: Sequence[Any]) -> Any:
    """Make the array of one column; None is missing.

    Parameters
    ----------
    column : Column
        What it is declared as.
    values : sequence
        One value a row: str, int, float, bool, a wall time in seconds since 1970, or None.

    Returns
    -------
    array
        Of exactly the declared dtype; an open word column has its new words as further categories.
    """
    dtype = column.dtype
    if dtype is TEXT:
        return pd.array(np.array(_cleaned(values), dtype=object), dtype=TEXT)
    if dtype is FLOAT:
        return _floats(values)
    if dtype is TIME:
        return _times(values)
    if isinstance(dtype, pd.CategoricalDtype):
        return _words(column, values)
    if dtype is BOOL:
        flags = np.array([bool(value) for value in values], dtype=bool)
        return pd.arrays.BooleanArray(flags, _missing(values))
    assert dtype is INT
    return _numbers(values)


def _numbers(values: Sequence[int | None]) -> Any:
    missing = _missing(values)
    found = [0 if value is None else value for value in values] if missing.any() else values
    try:
        numbers = np.array(found, dtype=np.int64)
    except OverflowError:  # a service may count beyond 64 bits; a column cannot
        return _numbers([whole(value) for value in values])
    return pd.arrays.IntegerArray(numbers, missing)


def _missing(values: Sequence[Any]) -> Any:
    count = values.count(None)  # mostly all or none, which is quick to say
    if count in (0, len(values)):
        return np.full(len(values), count > 0)
    return np.array([value is None for value in values], dtype=bool)


def _floats(values: Sequence[float | None]) -> Any:
    if values.count(None) == len(values):  # a recording without times, say
        return np.full(len(values), math.nan)
    return np.array(values, dtype=FLOAT)  # None becomes NaN


def _times(values: Sequence[float | None]) -> Any:
    seconds = _floats(values)
    with np.errstate(invalid="ignore"):
        valid = (seconds >= _SECONDS[0]) & (seconds <= _SECONDS[1])
    micros = np.full(len(seconds), np.iinfo(np.int64).min, dtype=np.int64)  # NaT
    micros[valid] = np.round(seconds[valid] * 1e6).astype(np.int64)
    return pd.DatetimeIndex(micros.view("M8[us]")).tz_localize("UTC").array


def _words(column: Column, values: Sequence[str | None]) -> Any:
    dtype = column.dtype
    codes: dict[str | None, int] = {word: code for code, word in enumerate(dtype.categories)}
    if column.open:
        values = _cleaned(values)
        if not codes.keys() >= set(filter(None, values)):
            for value in filter(None, values):
                codes.setdefault(value, len(codes))
            dtype = pd.CategoricalDtype(list(codes))
    chosen = [codes.get(value, -1) for value in values]  # None is never a word
    return pd.Categorical.from_codes(np.array(chosen, dtype=np.intp), dtype=dtype)


def _cleaned(values: Sequence[str | None]) -> Sequence[str | None]:
    if not "".join(filter(None, values)).isascii():
        return [None if value is None else clean(value) for value in values]
    return values


def frame_of(columns: Iterable[Column], values: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Make a frame from one list a column.

    Parameters
    ----------
    columns : iterable of Column
        Which columns, in which order.
    values : mapping of str to sequence
        Their values; a column that is not in it is all missing.

    Returns
    -------
    DataFrame
        Of the declared dtypes, also where there are no rows.
    """
    length = max((len(column) for column in values.values()), default=0)
    missing = [None] * length
    data = {column.name: array_of(column, values.get(column.name, missing)) for column in columns}
    return pd.DataFrame(data, index=pd.RangeIndex(length), copy=False)
