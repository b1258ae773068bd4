"""What the recordings do not show: time, silence, who leaves, what grows old."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import httpx
import pytest

from tests.simulator.letta.conftest import kinds
from tests.simulator.letta.test_recordings import until


@pytest.mark.parametrize("background", [False, True])
def test_pings_in_silence(simulate, background):
    client = simulate(keepalive_s=0.02, faults=["hold_model"])
    with client.stream(include_pings=True, background=background) as stream:
        first = [next(stream) for _ in range(4)]
        assert kinds(first) == ["ping"] * 4
        assert len({one["id"] for one in first}) == 4
        number = 1 if background else None  # live ones repeat the number that was seen last
        assert [one["seq_id"] for one in first] == [number] * 4
        client.simulator.faults.clear()
        rest = [one for one in stream if one == "[DONE]" or one["message_type"] != "ping"]
    assert kinds(rest) == ["assistant_message", "stop_reason", "usage_statistics", "[DONE]"]
    assert rest[0]["seq_id"] == (2 if background else None)


def test_silence_has_an_end(simulate):
    client = simulate(keepalive_s=0.02, silence_limit_s=0.1, faults=["hold_model"])
    with client.stream(include_pings=True) as stream:
        assert set(kinds(stream)) == {"ping"}


def test_a_background_run_is_stored_in_bursts(simulate):
    client = simulate("story", speed=20, flush_s=4.0, first_token_s=0.0, token_s=0.2)
    with client.stream(stream_tokens=True, background=True) as stream:
        moments = [time.monotonic() for _ in stream]
    gaps = [after - before for before, after in pairwise(moments)]
    # 0.2 seconds of real time from burst to burst, 0.01 from token to token
    assert sum(gap > 0.1 for gap in gaps) >= 2
    assert sum(gap < 0.05 for gap in gaps) > len(gaps) / 2


def test_a_foreground_run_ends_with_its_reader(simulate):
    client = simulate("story", speed=1, token_s=0.01, first_token_s=0.0)
    talk = client.talk()
    with client.stream(talk, stream_tokens=True) as stream:
        run_id = next(stream)["run_id"]
    until(lambda: client.http.get(f"/v1/runs/{run_id}").json()["status"] == "failed")
    assert kinds(client.history(talk)) == ["system_message"]  # nothing of it is kept
    client.simulator.service.speed = 0
    assert kinds(client.send(place=talk))[-1] == "[DONE]"  # and it keeps nobody out


def test_a_background_run_goes_on_alone(simulate):
    client = simulate("story", speed=1, token_s=0.005, first_token_s=0.0, flush_s=0.0)
    with client.stream(stream_tokens=True, background=True) as stream:
        run_id = next(stream)["run_id"]
    until(lambda: client.http.get(f"/v1/runs/{run_id}").json()["status"] == "completed")
    answer = client.http.post(f"/v1/runs/{run_id}/stream", json={"include_pings": False})
    found = client.read(answer)
    assert [one["seq_id"] for one in found[:-3]] == list(range(1, len(found) - 2))


def test_a_json_send_goes_on_alone(simulate):
    client = simulate(faults=["hold_model"])
    with pytest.raises(httpx.ReadTimeout):
        client.http.post(
            f"{client.place}/messages",
            json=client.body(streaming=False, include_pings=True),
            timeout=0.2,
        )
    client.simulator.faults.clear()
    until(lambda: len(client.history()) == 3)


def test_what_is_old_is_gone(simulate):
    client = simulate()
    talk = client.talk()
    otid = {"messages": [{"role": "user", "content": "Hello.", "otid": "o-1"}]}
    first = client.send(place=talk, background=True, **otid)
    assert client.send(place=talk, background=True, **otid) == first
    client.simulator.advance(3 * 3600 + 1)
    gone = client.http.post(f"/v1/runs/{first[0]['run_id']}/stream", json={})
    assert (gone.status_code, "3 hours" in gone.json()["detail"]) == (410, True)
    assert client.http.post(f"{talk}/stream", json={"otid": "o-1"}).status_code == 404
    again = client.send(place=talk, background=True, **otid)
    assert again[0]["run_id"] != first[0]["run_id"]


def test_only_the_newest_frames_are_kept(simulate):
    client = simulate("story", stream_entries=6)
    found = client.send(stream_tokens=True, background=True)
    run_id = client.account("run")[0]["run"]
    again = client.read(client.http.post(f"/v1/runs/{run_id}/stream", json={"starting_after": 1}))
    assert again == found[-6:]
    assert again[0]["seq_id"] > 10


def test_a_lock_that_was_never_given_back(simulate):
    client = simulate(faults=["hold_model"])
    talk = client.talk()
    with client.stream(talk, background=True, include_pings=True) as stream:
        next(stream)
        other = httpx.Client(base_url=client.simulator.base_url, timeout=20)
        busy = other.post(f"{talk}/messages", json=client.body())
        assert busy.status_code == 409
        client.simulator.advance(301)
        assert other.post(f"{talk}/messages", json=client.body()).status_code == 200
        other.close()


@pytest.mark.parametrize(
    ("locks", "agents", "talks"),
    [("as_measured", 200, 409), ("none", 200, 200), ("everywhere", 409, 409)],
)
def test_who_is_kept_out(simulate, locks, agents, talks):
    client = simulate(locks=locks)
    other = httpx.Client(base_url=client.simulator.base_url, headers=client.http.headers)
    for place, wanted in ((client.place, agents), (client.talk(), talks)):
        client.simulator.faults.add("hold_model")
        with client.stream(place, background=True, include_pings=True) as stream:
            next(stream)
            found = other.post(f"{place}/messages", json=client.body(), timeout=20)
            assert found.status_code == wanted
            client.simulator.faults.clear()
    other.close()


def test_two_conversations_at_once(simulate):
    client = simulate("story", speed=1, first_token_s=0.0, token_s=0.004)
    places, found = [client.talk() for _ in range(4)], {}

    def send(place):
        answer = httpx.post(
            f"{client.simulator.base_url}{place}/messages",
            json=client.body(stream_tokens=True),
            timeout=20,
        )
        found[place] = client.read(answer)

    begun = time.monotonic()
    threads = [threading.Thread(target=send, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun < 20
    runs = [{one["run_id"] for one in found[place][:-3]} for place in places]
    assert [len(one) for one in runs] == [1, 1, 1, 1]
    assert len(set().union(*runs)) == 4


def test_the_same_seed_gives_the_same_bytes(simulate):
    def played(seed):
        client = simulate("parallel", seed=seed)
        talk = client.talk()
        texts = []
        for body in (client.body(), client.body(stream_tokens=True, include_pings=True)):
            texts.append(client.http.post(f"{talk}/messages", json=body).text)
            client.approve(talk, background=True)
        return client.agent_id, talk, texts, client.history(talk)

    assert played(7) == played(7)
    assert played(7)[0] != played(8)[0]


def test_surrogates_and_other_scripts_come_through(simulate):
    client = simulate()
    body = b'{"messages": [{"role": "user", "content": "\\ud83d \xe2\x80\x9c\xe6\x96\x87"}]}'
    answer = client.http.post(f"{client.place}/messages", content=body)
    assert answer.status_code == 200
    assert "文" in answer.json()["messages"][0]["content"]
    assert "? “文" in client.history()[1]["content"]
