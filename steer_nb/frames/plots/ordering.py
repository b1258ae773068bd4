"""A recording without times, in its order: places of messages instead of seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.plots.texts import lane_names

if TYPE_CHECKING:
    from steer_nb.frames.metrics.measures import Tables

__all__ = ["in_order", "is_untimed", "untimed_traces"]

_KEY: Final = ["trace_id", "response_id"]


def is_untimed(tables: Tables) -> bool:
    """Whether there are messages, and none has a time."""
    times = tables["events"]["t_s"]
    return bool(len(times)) and not bool(times.notna().any())


def untimed_traces(tables: Tables, lane: str | None = None) -> int:
    """Count the traces that have messages, and no time for any of them; `lane` asks for one lane's.

    Examples
    --------
    >>> from steer_nb.trace import Entry, Header, Trace
    >>> raw = '{"type": "response.created", "response": {"id": "resp_1"}}'
    >>> untimed_traces(Trace(Header(1, "0" * 32), [Entry(0, None, None, "in", 1, raw=raw)]).frames)
    1
    """
    events = tables["events"]
    if lane is not None:
        names = events["lane_id"].astype(object).map(lane_names(tables).to_dict())
        events = events[(names == lane).to_numpy(dtype=bool)]
    timed = events["t_s"].notna().groupby(events["trace_id"].astype(object)).any()
    return int((~timed).sum())


def in_order(tables: Tables) -> dict[str, pd.DataFrame]:
    """Give the tables with each message's place in its trace where its time would be.

    Only what follows from the order of messages is filled: responses, items and calls. Nothing of
    that is a time, which is why no table of a trace has it, and only a picture does.

    Parameters
    ----------
    tables : Tables
        Of recordings without times.

    Returns
    -------
    dict
        Those of the tables that a timeline is made of.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> tables = in_order(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)
    >>> tables["events"]["t_s"].dtype
    dtype('float64')
    """
    names = ("responses", "items", "tool_calls", "steers", "required_inputs", "lanes")
    found = {name: tables[name] for name in (*names, "connections", "traces")}
    events = tables["events"]
    place = events.groupby("trace_id", observed=True).cumcount().astype("float64")
    found["events"] = events = events.assign(t_s=place)
    heard = events[events["direction"] == "in"]
    key = [*_KEY, "output_index"]
    spans = heard.groupby(key, observed=True)["t_s"].agg(["max"])
    items = found["items"]
    added = heard[heard["type"] == "response.output_item.added"]
    added = added.groupby(key, observed=True)["t_s"].agg(["min"])
    first, last = _looked_up(items[key], added, "min"), _looked_up(items[key], spans, "max")
    ended = items["status"].astype(object) != "in_progress"
    found["items"] = items = items.assign(added_s=first, done_s=last.where(ended))
    made = items.dropna(subset=["item_id"]).drop_duplicates([*_KEY, "item_id"])
    made = made.set_index([*_KEY, "item_id"])
    calls = found["tool_calls"]
    asked = _looked_up(calls[[*_KEY, "item_id"]], made, "done_s")
    began = heard.groupby(_KEY, observed=True)["t_s"].agg(["min"])
    taken = calls[["trace_id"]].assign(response_id=calls["answered_in_response_id"])
    answered = _looked_up(taken, began, "min").where(calls["result_kind"] != "none")
    served = calls["owner"] == "server"
    begun = _looked_up(calls[[*_KEY, "item_id"]], made, "added_s")
    found["tool_calls"] = calls.assign(
        requested_s=asked.where(~served, begun), answered_s=answered.where(~served, asked)
    )
    found["required_inputs"] = _decided(
        found["required_inputs"], calls.assign(asked=asked, answered=answered)
    )
    return found


def _decided(inputs: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """How long calls waited for an approval: the server runs them, and their rows do not say."""
    keys = inputs[["trace_id"]].assign(
        response_id=inputs["parent_response_id"], call_key=inputs["stub_key"]
    )
    made = calls.drop_duplicates([*_KEY, "call_key"]).set_index([*_KEY, "call_key"])
    theirs = inputs["stub_type"] == "letta_approval"
    return inputs.assign(
        first_seen_s=_looked_up(keys, made, "asked").where(theirs, inputs["first_seen_s"]),
        sent_s=_looked_up(keys, made, "answered").where(theirs, inputs["sent_s"]),
    )


def _looked_up(keys: pd.DataFrame, values: pd.DataFrame, column: str) -> pd.Series[Any]:
    place = pd.MultiIndex.from_frame(keys)
    found = values[column].reindex(place).to_numpy("float64")
    return pd.Series(found, index=keys.index, dtype="float64")
