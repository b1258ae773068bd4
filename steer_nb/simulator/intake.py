"""From a request to the response that will answer it: what it continues, carries and inherits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.chain import Record
from steer_nb.simulator.refusals import Refusal, not_found
from steer_nb.simulator.required import calls_in, match_results

if TYPE_CHECKING:
    from steer_nb.simulator.lane import Lane

__all__ = ["record_of_create", "record_of_successor", "record_of_waiting"]

# What a request says for itself alone; everything else is inherited by an automatic successor.
_OWN = frozenset({"type", "input", "previous_response_id", "stream_id", "generate", "stream"})


def record_of_create(
    lane: Lane, body: dict[str, Any], items: list[dict[str, Any]], index: int | None = None
) -> Record:
    """Make the response to an explicit create.

    Parameters
    ----------
    lane : Lane
        Where it runs.
    body : dict
        The request, its fields checked.
    items : list of dict
        Its input, as items.
    index : int, optional
        Its number in the lane, where it was announced.

    Raises
    ------
    Refusal
        What it continues is unknown or belongs to another lane, or its results do not match the
        calls.
    """
    options = lane.connection.options
    parent = _parent(lane, body.get("previous_response_id"))
    # 2.2: prewarm is a warm-up by another name
    warm = body.get("generate") is False or bool(
        (body.get("prompt_cache_options") or {}).get("prewarm")
    )
    carried = {} if parent is None else parent.open_calls
    results, still_open = match_results(
        items, carried, must_answer=not warm, async_blocks=options.async_calls == "block"
    )
    record = _new(lane, _settings(lane, body), parent, "warmup" if warm else "create", index)
    answerable = {**carried, **calls_in(items)}
    record.results = results
    record.answered = {key: answerable[key] for key in results}
    record.carried = still_open
    if parent is not None and not warm and parent.lane is lane and not parent.successor_due:
        # 5.4, rule 8: queued steering input goes in front, in the order of submission
        record.applied = list(parent.queued)
    steered = [message for steer in record.applied for message in steer.messages]
    record.given = [*steered, *items]
    return record


def record_of_waiting(lane: Lane, body: dict[str, Any], index: int) -> Record:
    """Make what can be said of a response before its turn: what it continues is not looked for."""
    record = _new(lane, _settings(lane, body), None, "create", index)
    record.status, record.sequence = "queued", 0
    return record


def _settings(lane: Lane, body: dict[str, Any]) -> dict[str, Any]:
    settings = {name: value for name, value in body.items() if name not in _OWN}
    if settings.get("model") is None:
        settings["model"] = lane.connection.options.default_model
    return settings


def record_of_successor(parent: Record) -> Record:
    """Make the automatic successor of a response: its settings, its queued input (5.4, rule 6)."""
    record = _new(parent.lane, dict(parent.settings), parent, "successor")
    one_each = parent.connection.options.several_steers == "each" and parent.playback is None
    record.applied = parent.queued[: 1 if one_each else None]
    record.given = [message for steer in record.applied for message in steer.messages]
    record.carried = parent.open_calls
    return record


def _parent(lane: Lane, response_id: str | None) -> Record | None:
    if response_id is None:
        return None
    parent = lane.connection.find(response_id)
    if parent is None:
        raise not_found(response_id)
    waits = bool(parent.queued) and not parent.successor_due
    elsewhere = parent.connection is lane.connection and parent.lane is not lane
    if waits and elsewhere and lane.connection.options.wrong_lane == "error":
        msg = (
            f"Response '{response_id}' has steering input that waits for its results: "
            "continue it on its own lane."
        )
        raise Refusal(msg, param="stream_id")
    return parent


def _new(
    lane: Lane,
    settings: dict[str, Any],
    parent: Record | None,
    origin: str,
    index: int | None = None,
) -> Record:
    connection = lane.connection
    announced = index is not None
    if index is None:
        index = lane.next_index()
    return Record(
        id=connection.ids.make("resp", connection.number, lane.stream_id or "", index),
        lane=lane,
        settings=settings,
        parent=parent,
        given=[],
        created_at=connection.service.stamp(index),
        seed=str(connection.ids.seed),
        origin=origin,
        sequence=int(announced),
        cached=parent is not None
        and any(one.cached is parent for one in connection.lanes.values()),
    )
