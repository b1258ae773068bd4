"""What has to hold of everything that passed between an official client and the simulator."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from openai._models import construct_type_unchecked
from openai.lib.responses_websocket import ResponsesWebSocketAccumulator
from openai.types.responses import Response
from openai.types.responses.responses_server_event import ResponsesServerEvent

from tests.support.simulated import ENDS, assert_simulated_event, text_of
from tests.support.strict import assert_beta_client_event, assert_client_event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tests.support.tap import Link, Tap

Event = dict[str, Any]

ANSWERS = ("response.steer.", "response.inject.")
"""What such types begin with is about a response, and no part of it."""


WHOLE = ("multi_agent_call", "multi_agent_call_output", "agent_message")
"""Items that the beta has no deltas for: the end of the item says what is in it."""


def check_tap(
    tap: Tap,
    *,
    refused: Sequence[str],
    raw: Sequence[str] = (),
    unknown: Collection[str] = (),
    beta: bool = False,
) -> int:
    """Check all connections of a tap; give how many events that were.

    Every event is as the SDK's types, or those of its `beta`, say; `unknown` types came on purpose.
    Every request that the SDK wrote (`raw` texts are the test's own) is as they say, too, and none
    was refused but those of `refused`, by their codes.
    """
    assert_request = assert_beta_client_event if beta else assert_client_event
    assert tap.failures == []
    events = 0
    codes = []
    for link in tap.links:
        received = link.received
        check_numbers(received)
        check_events([event for event in received if event["type"] not in unknown], beta=beta)
        events += len(received)
        codes += [code_of(event) for event in received if is_refusal(event)]
        for text in link.sent:
            if text not in raw:
                assert_request(json.loads(text))
    assert sorted(codes) == sorted(refused)
    return events


def check_events(events: Sequence[Event], *, beta: bool = False) -> None:
    """Check one connection's events, and that the SDK's accumulator gives our responses."""
    for event in events:
        with explained(event):
            assert_simulated_event(event, beta=beta)
    for response in responses_in(events):
        check_accumulator(response, beta=beta)


def check_numbers(events: Sequence[Event]) -> None:
    """Check that no event of a response, and no answer about one, is lost or comes twice."""
    running: dict[str | None, str] = {}
    numbers: dict[str, int] = {}
    for event in events:
        lane = event.get("stream_id")
        if event["type"] == "response.created":
            running[lane] = event["response"]["id"]
            numbers[running[lane]] = 0
        target = event.get("response_id") or event.get("steer", {}).get("previous_response_id")
        response_id = target or running.get(lane)
        if response_id in numbers and "sequence_number" in event:
            with explained(event):
                assert event["sequence_number"] == numbers[response_id]
            numbers[response_id] += 1


def is_refusal(event: Event) -> bool:
    return event["type"] in ("error", "response.steer.failed", "response.inject.failed")


def code_of(event: Event) -> str:
    return str(event["error"]["code"])


def responses_in(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Split events by response, each to its terminal event; responses that broke off are left."""
    running: dict[str | None, list[Event]] = {}
    for event in events:
        lane = event.get("stream_id")
        if event["type"] == "response.created":
            running[lane] = []
        if event["type"].startswith(ANSWERS) or lane not in running:
            continue
        if event["type"] != "error":
            running[lane].append(event)
        if event["type"] in ENDS:
            yield running.pop(lane)


def check_accumulator(events: Sequence[Event], *, beta: bool = False) -> None:
    """The SDK's accumulator, fed all but the end, already holds what the end says.

    Once from everything, item by item and field by field; once from the deltas alone, whose texts
    and arguments have to add up. There is one accumulator, whose types do not know the `beta`'s
    items; it keeps them all the same.
    """
    *running, end = events
    final = end["response"]
    whole, parts = ResponsesWebSocketAccumulator(), ResponsesWebSocketAccumulator()
    for event in running:
        typed = construct_type_unchecked(value=event, type_=ResponsesServerEvent)
        whole.add_event(typed)
        if not event["type"].endswith(".done"):
            parts.add_event(typed)
    assert items_of(whole) == final["output"]
    for built, item in zip(items_of(parts), final["output"], strict=True):
        if item["type"] in WHOLE:
            continue
        assert built.get("arguments") == item.get("arguments")
        assert built.get("input") == item.get("input")
        assert words_of(built) == words_of(item)
    whole.add_event(construct_type_unchecked(value=end, type_=ResponsesServerEvent))
    response = whole.get_final_response()
    assert isinstance(response, Response)
    assert response.to_dict(warnings=not beta) == final
    assert whole.snapshot().output_text == response.output_text
    if not any("refusal" in str(item) for item in final["output"]):
        assert response.output_text == text_of(final)


def items_of(accumulator: ResponsesWebSocketAccumulator) -> list[Event]:
    """The items of the accumulator's own view, with their parts put back."""
    details: Any = accumulator.detailed_snapshot()
    items = []
    for row in details["output"]:
        item = dict(row["item"])
        if row.get("content"):
            item["content"] = [with_annotations(part["part"]) for part in row["content"]]
        items.append(item)
    return items


def with_annotations(part: Event) -> Event:
    """A part of a message as it is on the wire: the SDK's view numbers its annotations."""
    if "annotations" not in part:
        return part
    return {**part, "annotations": [row["annotation"] for row in part["annotations"]]}


def words_of(item: Event) -> list[str]:
    parts = [*(item.get("content") or ()), *(item.get("summary") or ())]
    return [part.get("text", part.get("refusal", "")) for part in parts]


@contextlib.contextmanager
def explained(event: Event) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        error.add_note(f"in {json.dumps(event)[:2000]}")
        raise


def links_closed(links: Sequence[Link]) -> list[int | None]:
    """With which codes the server closed."""
    return [link.server.close_code for link in links]
