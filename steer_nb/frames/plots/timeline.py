"""What happened when, as one table: the bars and marks of the timeline, before any is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from steer_nb.frames.metrics.measures import shaped
from steer_nb.frames.plots.schema import TimelineCore
from steer_nb.frames.plots.texts import cut, lane_names, only_lane

if TYPE_CHECKING:
    from steer_nb.frames.metrics.measures import Tables

__all__ = ["response_bars", "timeline_frame"]

_KEY: Final = ["trace_id", "response_id"]
_CONTINUED: Final = ("tool_continuation", "approval_continuation", "steer_explicit")
_LEVELS: Final = 8
"""Calls at one time that get a row of their own; further ones share the last."""


def timeline_frame(tables: Tables, lane: str | None = None) -> pd.DataFrame:
    """List what the timeline shows: bars that last and marks for moments.

    It is made from tables alone, so that it serves a live trace, a file, and the tables of many
    traces together.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with all of its tables.
    lane : str, optional
        Only that lane; the default lane is called ``(default)``.

    Returns
    -------
    DataFrame
        The columns of `TimelineCore`, by lane and time. What has no time is left out.

    Raises
    ------
    UnknownLane
        There is no lane of that name; the message names those that there are.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> frame = timeline_frame(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)
    >>> list(frame)[2:6]
    ['lane', 'kind', 'state', 'start_s']
    """
    times = _Times(tables)
    responses = times.responses
    parts = [
        _responses(responses),
        _requests(responses),
        _items(tables, responses),
        _calls(tables, times),
        _steers(tables, times),
        _pendings(tables),
        _continuations(responses),
        _injects(tables),
        _forks(responses),
        _closes(tables, times),
    ]
    return _in_lanes(parts, tables, lane)


def response_bars(tables: Tables, lane: str | None = None) -> pd.DataFrame:
    """List those rows of the timeline that are responses, without the cost of the others."""
    return _in_lanes([_responses(_Times(tables).responses)], tables, lane)


def _in_lanes(parts: list[pd.DataFrame], tables: Tables, lane: str | None) -> pd.DataFrame:
    """Put rows together by lane and time, with what is said of every kind alike."""
    names = lane_names(tables)
    whole = pd.concat([part.astype(object) for part in parts if len(part)] or [parts[0]])
    whole = whole.reset_index(drop=True)
    whole["lane"] = whole["lane_id"].map(names) if len(whole) else None
    traces = tables["traces"].drop_duplicates("trace_id").set_index("trace_id")
    whole["began_at"] = whole["trace_id"].map(traces["started_at"]) if len(whole) else None
    if "n" not in whole:
        whole["n"] = 1
    if "ongoing" in whole:
        whole["ongoing"] = whole["ongoing"].where(whole["ongoing"].notna(), False)
    whole["text"] = cut(whole["text"]) if "text" in whole else None
    values: dict[str, Any] = {str(name): whole[name] for name in whole}
    frame = shaped(TimelineCore, values, whole.index)
    frame = frame[frame["start_s"].notna() & frame["lane"].notna()]
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    place = frame["lane"].astype(object).map(order)
    frame = frame.assign(_place=place.astype("float64"))
    frame = frame.sort_values(["_place", "start_s"], kind="stable", ignore_index=True)
    return only_lane(frame.drop(columns="_place"), lane, names)


class _Times:
    """When responses began and ended, and when each trace and connection did."""

    def __init__(self, tables: Tables) -> None:
        events = tables["events"]
        self.now = _now(events, tables["traces"])
        closed = events[(events["direction"] == "close") & events["connection_id"].notna()]
        self.closed = closed.groupby("connection_id", observed=True)["t_s"].first()
        owned = events[(events["direction"] == "in") & events["response_id"].notna()]
        spans = owned.groupby(_KEY, observed=True)["t_s"].agg(["min", "max"])
        responses = tables["responses"]
        found = spans.reindex(pd.MultiIndex.from_frame(responses[_KEY]))
        start = pd.Series(found["min"].to_numpy("float64"), index=responses.index)
        last = pd.Series(found["max"].to_numpy("float64"), index=responses.index)
        now = _mapped(responses["trace_id"], self.now)
        cut_off = _mapped(responses["connection_id"], self.closed).fillna(last)
        running = responses["status"] == "in_progress"
        end = (start + responses["duration_s"]).where(~running, now)
        end = end.where(responses["status"] != "truncated", cut_off)
        self.responses = responses.assign(
            start_s=start, end_s=end.fillna(last), ongoing=running.astype(bool)
        )


def _now(events: pd.DataFrame, traces: pd.DataFrame) -> pd.Series[Any]:
    """When each trace's last entry happened, which may be a note that no table of events holds.

    The wall clock tells how long after the last event that was: nothing longer is left to it, since
    it may be set, and goes on while a machine sleeps.
    """
    last = events.dropna(subset=["t_s"]).drop_duplicates("trace_id", keep="last")
    last = last.set_index("trace_id")
    ended = traces.drop_duplicates("trace_id").set_index("trace_id")["ended_at"]
    later = (ended.reindex(last.index) - last["recv_at"]).dt.total_seconds()
    return last["t_s"] + later.fillna(0.0).clip(lower=0.0)


def _mapped(keys: pd.Series[Any], values: pd.Series[Any]) -> pd.Series[Any]:
    found = values.reindex(keys.astype(object)).to_numpy("float64")
    return pd.Series(found, index=keys.index, dtype="float64")


_SAME: Final = ["trace_id", "lane_id", "response_id"]


def _responses(responses: pd.DataFrame) -> pd.DataFrame:
    frame = responses[[*_SAME, "start_s", "end_s", "ongoing", "model"]].copy()
    state = responses["status"].astype(object)
    steered = (responses["incomplete_reason"] == "steered").fillna(value=False).astype(bool)
    state = state.where(~((state == "incomplete") & steered), "steered")
    state = state.replace({"error": "failed", "in_progress": "in progress"})
    frame["kind"], frame["state"], frame["id"] = "response", state, responses["response_id"]
    frame["tokens"] = responses["output_tokens"]
    frame["name"] = responses["incomplete_reason"].where(~steered, None)
    wrong = responses["error_message"].fillna(responses["error_code"])
    frame["text"] = wrong.fillna(responses["refusal_text"]).fillna(
        responses["output_text"].where(responses["output_text"] != "")
    )
    return frame


def _requests(responses: pd.DataFrame) -> pd.DataFrame:
    waited = responses[responses["queue_s"] > 0]
    frame = waited[_SAME].copy()
    frame["kind"], frame["state"], frame["id"] = "request", "request", waited["response_id"]
    frame["start_s"], frame["end_s"] = waited["start_s"] - waited["queue_s"], waited["start_s"]
    frame["model"] = waited["model_requested"]
    return frame


def _items(tables: Tables, responses: pd.DataFrame) -> pd.DataFrame:
    """Items as they were written; what the service ran itself is a call, and drawn as one."""
    items = tables["items"]
    calls = tables["tool_calls"]
    asked = items["type"] == "letta_approval_call"  # it ran, if at all, once that was decided
    served = calls.loc[(calls["owner"] == "server") & calls["requested_s"].notna(), "item_id"]
    served = served[~served.isin(items.loc[asked, "item_id"].dropna())]
    items = items[items["added_s"].notna() & ~items["item_id"].isin(served.dropna())]
    frame = items[[*_SAME, "agent_name"]].copy()
    kind = items["type"].astype(object)
    call = kind.str.endswith("_call").fillna(value=False).astype(bool)
    call |= kind.isin(["mcp_approval_request"])
    state = pd.Series("other", index=items.index, dtype=object)
    state = state.mask(call, "call").mask(kind == "message", "text")
    frame["kind"], frame["state"] = "item", state.mask(kind == "reasoning", "reasoning")
    frame["id"], frame["start_s"] = items["item_id"], items["added_s"]
    ends = responses.drop_duplicates(_KEY).set_index(_KEY)[["end_s", "ongoing"]]
    ends = ends.reindex(pd.MultiIndex.from_frame(items[_KEY]))
    theirs = pd.Series(ends["end_s"].to_numpy("float64"), index=items.index)
    ongoing = pd.Series(ends["ongoing"].to_numpy(object) == True, index=items.index)  # noqa: E712
    frame["end_s"] = items["done_s"].fillna(theirs)
    frame["ongoing"] = ongoing & items["done_s"].isna()
    frame["name"] = items["name"].fillna(items["type"].astype("string"))
    frame["text"] = items["text"].fillna(items["summary_text"])
    return frame


def _calls(tables: Tables, times: _Times) -> pd.DataFrame:
    """Calls from when they were asked for until they were answered."""
    calls = tables["tool_calls"]
    calls = calls[calls["requested_s"].notna()]
    frame = calls[[*_SAME, "agent_name"]].copy()
    served = (calls["owner"] == "server").to_numpy(dtype=bool)
    by = calls["answered_by"].astype(object)
    state = pd.Series("person", index=calls.index, dtype=object)
    state = state.mask(by.isin(["code", "policy"]), "program").mask(by == "unknown", "client")
    state = state.mask(served, "service")
    now = _mapped(calls["trace_id"], times.now)
    frame["kind"], frame["state"], frame["id"] = "call", state, calls["call_key"]
    frame["start_s"], frame["end_s"] = calls["requested_s"], calls["answered_s"].fillna(now)
    frame["ongoing"] = calls["answered_s"].isna()
    frame["name"] = calls["name"].fillna(calls["kind"].astype("string"))
    frame["text"] = calls["arguments_text"]
    frame = pd.concat([frame, _decisions(tables, times)], ignore_index=True)
    frame["level"] = 0
    for _, lane in frame.groupby("lane_id", sort=False):
        starts, ends = lane["start_s"].to_numpy("float64"), lane["end_s"].to_numpy("float64")
        frame.loc[lane.index, "level"] = _levels(starts, ends)
    return frame


def _decisions(tables: Tables, times: _Times) -> pd.DataFrame:
    """How long calls of an agent waited for approval: what ran then is the server's."""
    asked = tables["required_inputs"]
    live = asked["state"].isin(["open", "filled", "sending"])
    chosen = (asked["stub_type"] == "letta_approval") & (asked["sent_s"].notna() | live)
    calls = tables["tool_calls"]
    theirs = calls.loc[calls["owner"] == "server", "call_key"]
    asked = asked[chosen & asked["first_seen_s"].notna() & asked["stub_key"].isin(theirs)]
    frame = asked[["trace_id", "lane_id", "agent_name"]].copy()
    frame["response_id"] = asked["parent_response_id"]
    by = asked["filled_by"].astype(object)
    state = pd.Series("person", index=asked.index, dtype=object)
    state = state.mask(by.isin(["code", "policy"]), "program").mask(by == "unknown", "client")
    frame["kind"], frame["state"], frame["id"] = "call", state, asked["stub_key"]
    now = _mapped(asked["trace_id"], times.now)
    frame["start_s"], frame["end_s"] = asked["first_seen_s"], asked["sent_s"].fillna(now)
    frame["ongoing"] = asked["sent_s"].isna()
    frame["name"] = asked["name"].fillna(asked["stub_type"].astype("string"))
    return frame


def _levels(starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> list[int]:
    """Put each span into the first row that is free."""
    levels, free = [0] * len(starts), [-np.inf] * _LEVELS
    for at in np.argsort(starts, kind="stable"):
        level = next((n for n, end in enumerate(free) if end <= starts[at]), _LEVELS - 1)
        levels[at], free[level] = level, max(free[level], ends[at])
    return levels


def _steers(tables: Tables, times: _Times) -> pd.DataFrame:
    steers = tables["steers"]
    frame = steers[["trace_id", "lane_id"]].copy()
    frame["response_id"] = steers["parent_response_id"]
    frame["kind"], frame["state"] = "steer", steers["state"].astype(object)
    frame["id"] = steers["steer_id"].fillna(steers["steer_key"])
    known = ["sent_s", "accepted_s", "pending_s", "committed_s", "failed_s"]
    frame["start_s"] = steers["sent_s"].fillna(steers[known].min(axis=1))
    end = steers["committed_s"].fillna(steers["failed_s"])
    ended = end.notna()
    where = steers["lane_id"].astype(object).map(_connections(tables))
    closed = _mapped(where, times.closed).where(steers["state"] == "unknown")
    now = _mapped(steers["trace_id"], times.now)
    frame["end_s"] = end.fillna(closed).fillna(now)
    frame["ongoing"] = ~ended & (steers["state"] != "unknown")
    frame["name"] = steers["failure_code"]
    frame["text"] = steers["input_text"]
    return frame


def _connections(tables: Tables) -> pd.Series[Any]:
    lanes = tables["lanes"].drop_duplicates("lane_id")
    values = lanes["connection_id"].astype(object).to_numpy()
    return pd.Series(values, index=lanes["lane_id"].astype(object), dtype=object)


def _pendings(tables: Tables) -> pd.DataFrame:
    steers = tables["steers"]
    steers = steers[steers["pending_s"].notna()]
    frame = steers[["trace_id", "lane_id"]].copy()
    frame["response_id"] = steers["parent_response_id"]
    frame["kind"], frame["state"], frame["start_s"] = "pending", "pending", steers["pending_s"]
    frame["id"] = steers["steer_id"].fillna(steers["steer_key"])
    frame["text"] = steers["input_text"]
    return frame


def _begun(responses: pd.DataFrame, chosen: pd.Series[Any], kind: str) -> pd.DataFrame:
    """Mark responses where they were asked for."""
    found = responses[chosen]
    frame = found[_SAME].copy()
    frame["kind"], frame["state"], frame["id"] = kind, kind, found["response_id"]
    frame["start_s"] = found["start_s"] - found["queue_s"].fillna(0.0)
    return frame.assign(text=found["origin"].astype("string").str.replace("_", " "))


def _continuations(responses: pd.DataFrame) -> pd.DataFrame:
    return _begun(responses, responses["origin"].isin(_CONTINUED), "continuation")


def _injects(tables: Tables) -> pd.DataFrame:
    """Answers that went into a response while it was written, one mark for each message."""
    asked = tables["required_inputs"]
    asked = asked[(asked["sent_as"] == "inject") & asked["sent_s"].notna()]
    frame = asked[["trace_id", "lane_id"]].copy()
    frame["response_id"] = asked["parent_response_id"]
    frame["kind"], frame["state"], frame["start_s"] = "inject", "inject", asked["sent_s"]
    frame["id"], frame["name"] = asked["submit_key"], asked["name"]
    frame["agent_name"] = asked["agent_name"]
    return frame.drop_duplicates(["trace_id", "id"])


def _forks(responses: pd.DataFrame) -> pd.DataFrame:
    frame = _begun(responses, responses["origin"] == "fork", "fork")
    return frame.assign(text="from " + responses["previous_response_id"].reindex(frame.index))


def _closes(tables: Tables, times: _Times) -> pd.DataFrame:
    """Where a lane's connection was lost, and where it went on on another one."""
    lanes = tables["lanes"]
    connections = tables["connections"].drop_duplicates("connection_id")
    connections = connections.set_index("connection_id")
    frame = lanes[["trace_id", "lane_id"]].copy()
    kinds = connections["end_kind"].astype(object)
    frame["kind"], frame["id"] = "close", lanes["connection_id"]
    frame["state"] = lanes["connection_id"].astype(object).map(kinds)
    frame["start_s"] = _mapped(lanes["connection_id"], times.closed)
    code = connections["close_code"].astype("string").fillna("")
    said = (code + " " + connections["close_reason"].fillna("")).str.strip()
    frame["text"] = lanes["connection_id"].astype(object).map(said.astype(object))
    name = lanes["stream_id"].astype(object).where(lanes["stream_id"].notna(), "")
    place = pd.DataFrame({"trace_id": lanes["trace_id"].astype(object), "name": name})
    later = place.duplicated(keep="last")
    return frame[(frame["state"].notna() & (frame["state"] != "client")) | later]
