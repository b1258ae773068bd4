"""What a run says reads the same everywhere, and stands where the server's history has it."""

from __future__ import annotations

import httpx
import pytest

import steer_nb
from steer_nb import tool
from steer_nb.widgets import LaneView
from tests.letta.stage import PATIENCE

KINDS = {
    "reasoning_message": "reasoning",
    "assistant_message": "message",
    "tool_call_message": "letta_tool_call",
    "approval_request_message": "letta_approval_call",
    "approval_response_message": "letta_approval_response",
    "tool_return_message": "letta_tool_call_output",
}
modes = pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "steps"])


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 °C"


def listed(simulator, lane):
    """What the server has of the newest run, oldest first, without what was said to it."""
    place = f"/v1/conversations/{lane.settings['conversation']}/messages?order=asc"
    messages = httpx.get(simulator.base_url + place, trust_env=False).json()
    mine = [one for one in messages if one["run_id"] == lane.response.id]
    return [one for one in mine if one["message_type"] in KINDS]


@modes
@pytest.mark.parametrize("own", [True, False], ids=["a result", "a denial"])
def test_a_result_stands_before_what_the_agent_made_of_it(serve, tokens, own):
    session, simulator = serve(tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens)
    lane.create("weather, please" if own else "delete /srv/old.log")
    lane.wait(PATIENCE)
    key = lane.required_input[0].key
    if own:
        lane.run_tool(key)
    else:
        lane.fill(key, approve=False, reason="wrong file")
    response = lane.send_continuation("Thank you.").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    kinds = [KINDS[one["message_type"]] for one in listed(simulator, lane)]
    assert kinds == ["letta_approval_response", "letta_tool_call_output", "message"]
    if not tokens:
        kinds = kinds[1:]  # the stream shows what the answers gave: nothing more is asked
    assert [item["type"] for item in response.output] == kinds
    items = session.trace.frames.items
    assert items[items.response_id == response.id].type.tolist() == kinds
    html = LaneView(session, lane).html
    result = "18 °C" if own else "request to call tool denied"
    assert html.index(result) < html.rindex("Thank you.")


@modes
def test_the_messages_of_a_run_are_paragraphs(serve, tokens):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens)
    response = lane.create("list the files").wait(PATIENCE)
    lane.wait(PATIENCE)
    said = [
        one["content"]
        for one in listed(simulator, lane)
        if one["message_type"] == "assistant_message"
    ]
    assert len(said) == 2
    assert response.text == lane.text == "\n\n".join(said)
    frames = session.trace.frames
    assert frames.responses.output_text.tolist() == [response.text]
    assert frames.items.query("type == 'message'").text.tolist() == said
    later = steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="later")
    again = later.lane("b", conversation=lane.settings["conversation"])
    assert again.text == response.text  # from the history alone
