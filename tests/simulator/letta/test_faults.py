"""Every fault strikes what it says, in each of the ways in which it can be armed."""

from __future__ import annotations

import threading

import httpx
import pytest

from steer_nb.errors import InvalidInput
from steer_nb.simulator import Arm, Drop, Say, letta
from tests.simulator.letta.conftest import kinds
from tests.simulator.letta.test_recordings import until

GATED = "Please delete /srv/a.txt."


def test_drop_before_the_first_frame_loses_the_head_as_well(simulate):
    client = simulate(faults=["drop side=before"])
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        client.send()
    assert kinds(client.send())[-1] == "[DONE]"
    (struck,) = client.account("fault")
    assert (struck["fault"], struck["type"]) == ("drop", "assistant_message")


def test_drop_after_a_frame_loses_no_frame_before(simulate):
    client = simulate("story", faults=["drop at=3 type=assistant_message"])
    found = []
    with client.stream(stream_tokens=True) as stream, pytest.raises(httpx.TransportError):
        found.extend(stream)
    assert kinds(found)[-3:] == ["assistant_message"] * 3


def test_lose_answer_takes_the_request_in(simulate):
    client = simulate(faults=["lose_answer type=agents.messages.create"])
    with pytest.raises(httpx.TransportError):
        client.send(streaming=False, include_pings=True)
    until(lambda: len(client.history()) == 3)


def test_lose_answer_ends_a_foreground_stream(simulate):
    client = simulate("story", speed=1, faults=["lose_answer"])
    with pytest.raises(httpx.TransportError):
        client.send()
    (run,) = client.account("run")
    until(lambda: client.http.get(f"/v1/runs/{run['run']}").json()["status"] == "failed")


def test_stall_until_taken_away(simulate):
    client = simulate()
    (fault_id,) = client.simulator.faults.add("stall type=stop_reason")
    with client.stream() as stream:
        assert next(stream)["message_type"] == "assistant_message"
        until(lambda: client.account("fault"))
        client.simulator.faults.remove(fault_id)
        assert kinds(stream) == ["stop_reason", "usage_statistics", "[DONE]"]


def test_no_eof(simulate):
    client = simulate(faults=["no_eof"])
    with client.stream() as stream:
        while next(stream) != "[DONE]":
            pass
        until(lambda: client.account("fault"))
        (still,) = client.simulator.service.overview()
        assert still["at"].endswith("/messages")  # it is not answered to its end
        client.simulator.faults.clear()
        assert list(stream) == []


def test_hang_resume(simulate):
    client = simulate(faults=["hang_resume"])
    found = client.send(background=True)
    place = f"/v1/runs/{found[0]['run_id']}/stream"
    with pytest.raises(httpx.ReadTimeout):
        client.http.post(place, json={"include_pings": False}, timeout=0.2)
    assert client.read(client.http.post(place, json={"include_pings": False})) == found


def test_a_resume_behind_the_end_may_end(simulate):
    client = simulate(resume_past_end="end")
    found = client.send(background=True)
    place = f"/v1/runs/{found[0]['run_id']}/stream"
    assert client.read(client.http.post(place, json={"starting_after": 99})) == []


@pytest.mark.parametrize("tokens", [False, True])
def test_phantom_call(simulate, tokens):
    client = simulate(faults=["phantom_call name=ghost arguments={}"])
    found = client.send(GATED, stream_tokens=tokens)
    calls = [one["tool_calls"] for one in found if "tool_calls" in one]
    names = {one["name"] for one in calls if isinstance(one, dict)} - {None}
    assert names == ({"delete_file", "ghost"} if tokens else set())
    assert [one["name"] for one in client.pending()["tool_calls"]] == ["delete_file"]
    assert kinds(client.approve())[0] == "tool_return_message"


def test_unlock_lets_one_approval_in_twice(simulate):
    client = simulate(faults=["hold_tool times=none", "unlock"])
    talk = client.talk()
    client.send(GATED, talk)
    (call,) = client.history(talk, limit=1, order="desc")[0]["tool_calls"]
    given = [{"type": "approval", "tool_call_id": call["tool_call_id"], "approve": True}]
    found = []

    def send():
        body = client.body()
        body["messages"] = [{"type": "approval", "approvals": given}]
        answer = httpx.post(f"{client.simulator.base_url}{talk}/messages", json=body, timeout=20)
        found.append(kinds(client.read(answer)))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: len(client.account("run")) == 3)
    client.simulator.faults.clear()
    for thread in threads:
        thread.join()
    assert [one[0] for one in found] == ["tool_return_message"] * 2
    assert len(client.account("tool")) == 2


def test_busy_and_early_conflict(simulate):
    client = simulate(faults=["busy", "early_conflict times=1"])
    busy = client.send()
    assert (busy.status_code, "currently being processed" in busy.text) == (409, True)
    client.send(GATED)
    early = client.send()
    assert (early.status_code, early.json()["detail"]["code"]) == (409, "PENDING_APPROVAL")
    assert kinds(client.send()) == ["stop_reason", "error_message", "[DONE]"]


def test_stuck_cancel(simulate):
    client = simulate(faults=["stuck_cancel"])
    client.send(GATED)
    for still in (True, False):
        done = client.http.post(f"{client.place}/messages/cancel").json()
        assert list(done.values()) == ["cancelled"]
        assert (client.pending() is not None) is still


def test_no_redis(simulate):
    client = simulate(faults=["no_redis"])
    assert client.send(background=True).status_code == 503
    assert kinds(client.send())[-1] == "[DONE]"
    client.simulator.faults.clear()
    assert kinds(client.send(background=True))[-1] == "[DONE]"


def test_refuse_request(simulate):
    client = simulate(faults=["refuse_request type=agents.* status=500 detail=no at=2"])
    assert client.http.get("/v1/agents/").status_code == 200
    refused = client.http.get(client.place)
    assert (refused.status_code, refused.json()) == (500, {"detail": "no"})
    assert client.http.get(client.place).status_code == 200


def test_by_a_scenario_a_step_and_the_control_api(simulate):
    @letta.scenario("faulty", "Goes wrong.", faults=["drop at=2"])
    def faulty(turn):
        if turn.prompt == "again":
            yield Arm(letta.Drop(side="before"))
        yield Say("Hello.")

    client = simulate(faulty)
    with pytest.raises(httpx.TransportError):
        client.send()
    with pytest.raises(httpx.TransportError):
        client.send("again")
    control = client.simulator.control_url
    armed = httpx.post(f"{control}/faults", json={"fault": "stall", "seconds": 0.01}).json()
    assert armed["faults"][0]["fault"] == "stall"
    client.send()
    overview = httpx.get(control).json()
    assert (overview["scenario"], overview["options"]["keepalive_s"]) == ("faulty", 20.0)
    assert [one["struck"] for one in overview["faults"]] == [1, 1, 1]
    wrong = httpx.post(f"{control}/faults", json={"fault": "duplicate"})
    assert (wrong.status_code, "Faults are drop" in wrong.text) == (400, True)


def test_a_fault_of_the_other_dialect_is_none(simulate):
    with pytest.raises(InvalidInput, match="no fault 'reorder'"):
        simulate(faults=["reorder"])
    with pytest.raises(InvalidInput, match="no 'direction'"):
        letta.LettaFault.of("drop direction=in")
    assert Drop.of("drop at=2") != letta.LettaFault.of("drop at=2")


def test_all_connections_are_dropped_at_once(simulate):
    client = simulate("story", speed=1)
    with client.stream(include_pings=True) as stream:
        assert next(stream)["message_type"] == "ping"
        assert len(client.simulator.drop()) == 1
        with pytest.raises(httpx.TransportError):
            next(stream)
    with pytest.raises(InvalidInput, match="not open"):
        client.simulator.drop(connection=99)
