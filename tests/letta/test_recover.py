"""A session whose process is gone is put together again: it asks what became of what was sent."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import textwrap

import httpx
import openai
import pytest

import steer_nb
from steer_nb import errors
from tests.letta.stage import PATIENCE, asked_of, runs_of


def recover(path, **options):
    return steer_nb.recover(path, api_key="", quiet=True, **options)


def copied(session, tmp_path):
    """The journal as a process that is killed now would leave it."""
    path = tmp_path / "copy" / session.journal_path.name
    path.parent.mkdir()
    shutil.copy(session.journal_path, path)
    return path


def test_a_killed_process_is_taken_up_where_its_stream_broke(serve, tmp_path):
    _, simulator = serve("story", speed=4)
    script = f"""
        import steer_nb, time
        session = steer_nb.connect(
            letta={simulator.base_url!r}, api_key="", journal={str(tmp_path)!r}, quiet=True
        )
        lane = session.lane("a", agent={simulator.agent_id!r})
        response = lane.create("Tell me a story.")
        while len(response.text) < 40:
            time.sleep(0.01)
        print("now", flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    again = recover(tmp_path)
    lane = again.lanes["a"]
    assert lane.wait(PATIENCE) == "idle"
    (response,) = lane.responses
    assert response.status == "completed"
    (run,) = (one for one in simulator.service.runs.values() if one.conversation.id != "default")
    assert response.id == run.id
    assert response.text == lane.session.trace.frames.items.query("type == 'message'").text.iloc[-1]
    assert len(asked_of(simulator, "/messages")) == 1
    lane.create("Another one.").wait(PATIENCE)


def test_answers_and_queued_text_are_kept_and_not_sent(serve, tmp_path):
    session, simulator = serve(journal=tmp_path / "journals")
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=True)
    lane.send("Thank you.")
    path = copied(session, tmp_path)
    again = recover(path, name="again").lanes["a"]
    assert again.wait(PATIENCE) == "waiting_input"
    assert [one.state for one in again.required_input] == ["filled"]
    (steer,) = again.steers
    assert steer.state == "queued_here"
    assert len(asked_of(simulator, "/messages")) == 1
    again.send_continuation().wait(PATIENCE)
    assert again.wait(PATIENCE) == "idle"
    assert steer.state == "committed"
    assert len(runs_of(simulator)) == 1


def lose(path):
    """Put a request behind a journal that was recorded, and never left."""
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    entries = map(json.loads, reversed(lines))
    one = next(one for one in entries if "create-" in str(one.get("data")) and one["kind"] == "out")
    body = json.loads(one["raw"])
    body["messages"][0] |= {"otid": "11111111-0000-4000-8000-000000000000", "content": "Lost"}
    one |= {"seq": last["seq"] + 1, "t": last["t"] + 1, "raw": json.dumps(body)}
    one["data"] = {**one["data"], "key": "create-9"}
    one["data"].pop("attempt", None)
    path.write_text("\n".join([*lines, json.dumps(one)]) + "\n")


@pytest.mark.parametrize("foreground", [False, True])
def test_a_request_that_was_only_recorded_never_arrived(serve, tmp_path, foreground):
    faults = ["no_redis"] if foreground else []
    session, simulator = serve(journal=tmp_path / "journals", faults=faults)
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Hello").wait(PATIENCE)
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    lose(path)
    before = len(asked_of(simulator, "/messages"))
    again = recover(path, name="again").lanes["a"]
    again.wait(PATIENCE)
    response = again.response
    assert response.key == "create-9"
    assert response.status == ("unknown" if foreground else "unsent")
    assert len(asked_of(simulator, "/messages")) == before
    if foreground:
        assert "create-9" in again.session.status()["to_decide"]
        assert "create-9 is unknown" in str(again.check())
    else:
        with pytest.raises(errors.NotConnected):
            response.wait(PATIENCE)
    resent = response.send_again().wait(PATIENCE)
    assert resent.status == "completed"
    assert "Lost" in resent.text


def test_answers_that_arrived_are_found_in_the_history(serve, tmp_path):
    session, simulator = serve(journal=tmp_path / "journals", faults=["hold_tool seconds=0.3"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=True)
    response = lane.send_continuation()
    path = copied(session, tmp_path)
    response.wait(PATIENCE)
    again = recover(path, name="again").lanes["a"]
    assert again.wait(PATIENCE) == "idle"
    assert again.response.status == "completed"
    assert again.text == lane.text
    assert [one.state for one in again.responses[0].required_input] == ["confirmed"]
    assert len(runs_of(simulator)) == 1
    assert len(asked_of(simulator, "/messages")) == 2


def test_functions_are_matched_by_name(serve, tmp_path):
    @steer_nb.tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return "18 °C"

    session, simulator = serve(journal=tmp_path / "journals", tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("weather, please")
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    again = recover(path, name="again", tools=[weather]).lanes["a"]
    assert again.wait(PATIENCE) == "waiting_input"
    again.run_tool(again.required_input[0].key)
    again.send_continuation().wait(PATIENCE)
    assert "18 °C" in again.text


@pytest.mark.parametrize("how", ["answered", "cleared"])
def test_what_happened_meanwhile_to_what_was_asked_is_seen(serve, tmp_path, how):
    session, simulator = serve(journal=tmp_path / "journals")
    lane = session.lane("a", agent=simulator.agent_id, conversation="default")
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    (needed,) = lane.required_input
    path = copied(session, tmp_path)
    place = f"{simulator.base_url}/v1/agents/{simulator.agent_id}"
    if how == "answered":
        decided = [{"type": "approval", "tool_call_id": needed.key, "approve": True}]
        said = {"messages": [{"type": "approval", "approvals": decided}]}
        done = httpx.post(f"{place}/messages", json=said, trust_env=False)
    else:
        done = httpx.patch(f"{place}/reset-messages", json={}, trust_env=False)
    assert done.status_code == 200
    again = recover(path, name="again").lanes["a"]
    assert again.wait(PATIENCE) == "idle"
    (asked,) = again.responses[0].required_input
    assert asked.state == ("confirmed" if how == "answered" else "stale")
    again.create("Hello").wait(PATIENCE)
    assert again.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == (how == "answered")


def cut_behind(path, wanted):
    """Leave of a journal what a process had written that was killed behind an entry."""
    lines = path.read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if wanted(json.loads(line)))
    path.write_text("\n".join(lines[: at + 1]) + "\n")


def sent(number):
    """Whether an entry is the message of a key; each of a lane's keys is new."""
    return lambda entry: entry.get("kind") == "out" and str(number) in entry["data"]["key"]


def settled(lane, state):
    return lane.session.until(
        lambda ledger: [s.state for s in lane.responses[0].required_input] == [state] or None,
        PATIENCE,
        lambda: [s.state for s in lane.responses[0].required_input],
    )


def test_what_a_history_showed_of_answers_stands(serve, tmp_path):
    session, simulator = serve(journal=tmp_path / "journals", faults=["no_redis"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=True)
    response = lane.send_continuation().wait(PATIENCE)
    path = copied(session, tmp_path)
    cut_behind(path, sent(response.key))
    again = recover(path, name="again").lanes["a"]
    assert again.wait(PATIENCE) == "idle"
    assert [one.state for one in again.responses[0].required_input] == ["confirmed"]
    assert [one.status for one in again.responses] == ["completed", "completed"]
    assert len(runs_of(simulator)) == 1


def test_a_call_of_ones_own_is_known_in_a_history(serve, tmp_path):
    @steer_nb.tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return "18 °C"

    faults = ["no_redis"]
    session, simulator = serve(journal=tmp_path / "journals", tools=[weather], faults=faults)
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("weather, please")
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    cut_behind(path, sent(response.key))
    again = recover(path, name="again", tools=[weather]).lanes["a"]
    assert again.wait(PATIENCE) == "waiting_input"
    (needed,) = again.required_input
    assert needed.type == "letta_tool_return"
    again.run_tool(needed.key)
    again.send_continuation().wait(PATIENCE)
    assert "18 °C" in again.text


@pytest.mark.parametrize("lost", [False, True])
def test_answers_that_no_stream_shows_are_looked_for(serve, tmp_path, lost):
    session, simulator = serve(journal=tmp_path / "journals")
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=True)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=False, reason="wrong file")
    lane.send_continuation()
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    cut_behind(path, lambda entry: '"end_turn"' in (entry.get("raw") or ""))
    if lost:
        simulator.service.arm("lose_answer type=conversations.messages.list")
    patience = steer_nb.Reconnect(attempts=2, first_s=0.01)
    again = recover(path, name="again", reconnect=patience).lanes["a"]
    settled(again, "confirmed")
    assert again.state == "idle"
    assert again.session.trace.frames.tool_calls.result_kind.tolist() == ["denied"]


def test_a_journal_without_an_address_is_connected_to_nothing(serve, tmp_path):
    session, simulator = serve(journal=tmp_path / "journals")
    path = copied(session, tmp_path)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(errors.InvalidInput, match="does not say where it was connected to"):
        recover(path, name="again")
    assert not recover(path, name="again", url=simulator.base_url).closed


def test_a_client_of_another_service_is_refused(serve, tmp_path):
    session, _ = serve(journal=tmp_path / "journals")
    path = copied(session, tmp_path)
    with pytest.raises(errors.InvalidInput, match="is of a Letta server, and a client of the Resp"):
        steer_nb.recover(path, client=openai.OpenAI(api_key="any"), name="again", quiet=True)
