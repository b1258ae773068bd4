"""Each ending of a stream (4.1 of the protocol notes) told from the others, over a real socket."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.letta.stage import PATIENCE, asked_of

ways = pytest.mark.parametrize("faults", [[], ["no_redis"]], ids=["background", "foreground"])


def frames_of(session):
    """The words of what came on streams, in order: pings and pieces once each."""
    said = []
    for entry in session.trace:
        data = entry.data or {}
        if entry.kind != "in" or "body" in data or data.get("from") == "history":
            continue
        kind = json.loads(entry.raw)["message_type"]
        if not said or said[-1] != kind:
            said.append(kind)
    return said


def is_quiet(session, simulator, sends):
    """Nothing was sent again, read on, or lost."""
    assert len(asked_of(simulator, "/messages")) == sends
    assert not asked_of(simulator, "/stream")
    assert not [one for one in session.trace if one.note in ("stream_broke", "stream_lost")]


@ways
def test_success(serve, faults):
    session, simulator = serve(faults=faults)
    lane = session.lane("a", agent=simulator.agent_id)
    assert lane.create("Hello").wait(PATIENCE).status == "completed"
    assert lane.wait(PATIENCE) == "idle"
    assert frames_of(session)[-2:] == ["stop_reason", "usage_statistics"]
    is_quiet(session, simulator, 1 + len(faults))


@ways
@pytest.mark.parametrize("said", ["rate", "Look at the files."], ids=["at once", "later"])
def test_an_error(serve, faults, said):
    """HTTP 200, a stop, and the error behind it: with [DONE], and without."""
    session, simulator = serve("failing", faults=faults)
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create(said).wait(PATIENCE)
    assert (response.status, lane.wait(PATIENCE)) == ("failed", "failed")
    assert response.error["message"]
    assert frames_of(session)[-2:] == ["stop_reason", "error_message"]
    assert response.text == ("" if said == "rate" else "First I look at the files.")
    is_quiet(session, simulator, 1 + len(faults))


@ways
def test_a_cancel(serve, faults):
    """A stop, and no usage behind it; [DONE] in the background alone."""
    session, simulator = serve("story", speed=2, faults=faults)
    lane = session.lane("a", agent=simulator.agent_id, conversation="default")
    response = lane.create("Tell me a story.")
    session.until(lambda _: response.text or None, PATIENCE, lambda: "")
    lane.cancel()
    assert response.wait(PATIENCE).status == "cancelled"
    assert lane.wait(PATIENCE) == "idle"
    assert frames_of(session)[-1] == "stop_reason"
    assert response.usage is None
    is_quiet(session, simulator, 1 + len(faults))


@ways
def test_a_request_for_approval_that_the_stream_hides(serve, faults):
    """What a lane does not want to be told of waits all the same: it is asked of the history."""
    session, simulator = serve(faults=faults)
    only = ["assistant_message"]
    lane = session.lane("a", agent=simulator.agent_id, include_return_message_types=only)
    lane.create("delete /srv/old.log")
    assert lane.wait(PATIENCE) == "waiting_input"
    assert "approval_request_message" not in frames_of(session)
    (needed,) = lane.required_input
    assert (needed.name, needed.source) == ("delete_file", "letta_history")
    lane.fill(needed.key, approve=True)
    lane.send_continuation().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert [one.state for one in lane.responses[0].required_input] == ["confirmed"]


@pytest.mark.parametrize("talk", [None, "default"], ids=["its own", "default"])
def test_what_goes_out(serve, talk):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, conversation=talk)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.send("And be quick.")
    lane.fill(lane.required_input[0].key, approve=True)
    lane.send_continuation("Thank you.")
    lane.wait(PATIENCE)
    name = lane.settings["conversation"]
    assert {one["target"] for one in asked_of(simulator, "/messages")} == {
        f"/v1/conversations/{name}/messages"
    }
    sent = [entry for entry in session.trace if entry.kind == "out"]
    bodies = [json.loads(one.raw) for one in sent if one.data["path"].endswith("/messages")]
    assert [len(body["messages"]) for body in bodies] == [1, 3]
    for body in bodies:
        assert (body["background"], body["streaming"]) == (True, True)
        assert ("agent_id" in body) is (talk == "default")
    otids = [one["otid"] for body in bodies for one in body["messages"]]
    assert len(set(otids)) == 4
    assert {uuid.UUID(otid).version for otid in otids} == {4}
