"""What a person said is on the disk before it is sent, and no key ever is."""

from __future__ import annotations

import logging
import os
import stat

import pytest

from steer_nb import connect, errors, load
from steer_nb.trace import Journal
from tests.client.stage import created, ended, function_call, when

KEY = "sk-secret-0123456789abcdef"


def last(disk, kind):
    return [line for line in disk[1:] if line["kind"] == kind or line.get("note") == kind][-1]


def test_a_message_is_on_the_disk_when_it_arrives(stage, session):
    lane = session.lane("a")
    lane.create("Remember this.")
    _, disk = stage.expect_with_disk()
    out = last(disk, "out")
    assert '"input":"Remember this."' in out["raw"]
    assert out["data"] == {"key": "create-1", "lane": "a"}
    stage.send(created("resp_1", lane="a"))
    lane.steer("And this.")
    _, disk = stage.expect_with_disk("response.steer")
    assert '"And this."' in last(disk, "out")["raw"]
    assert last(disk, "out")["data"]["key"] == "steer-2"
    stage.send(ended("resp_1", function_call("call_1"), lane="a"))
    when(session, lambda g: g.responses["resp_1"].required)
    lane.fill("call_1", output="18 C")
    on_disk = [e for e in load(session.journal_path) if e.note == "filled"]
    assert [e.data["item"]["output"] for e in on_disk] == ["18 C"]
    assert on_disk[0].data | {"item": None} == {
        "lane": "a",
        "parent": "resp_1",
        "key": "call_1",
        "item": None,
        "by": "user",
    }


def test_the_disk_is_synced_not_only_written_before_anything_leaves(stage, session, monkeypatch):
    order = []
    sync, send = Journal.sync, session.core.line.transport.send

    def synced(self):
        order.append("sync")
        return sync(self)

    async def sent(text):
        order.append("send")
        await send(text)

    monkeypatch.setattr(Journal, "sync", synced)
    monkeypatch.setattr(session.core.line.transport, "send", sent)
    session.lane("a").create("x")
    stage.expect()
    assert order == ["sync", "send"]


def test_by_default_it_lies_in_a_private_folder_beside_the_notebook(stage, tmp_path):
    with connect(stage.base_url, quiet=True) as session:
        path = session.journal_path
        assert path.parent.resolve() == (tmp_path / ".steer").resolve()
        assert (path.parent / ".gitignore").read_text("utf-8").strip() == "*"
        assert session.status()["journal"] == str(path)
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_folder_or_none(stage, tmp_path):
    with connect(stage.base_url, journal=tmp_path / "mine", quiet=True) as session:
        assert session.journal_path.parent == tmp_path / "mine"
    with connect(stage.base_url, journal=False, quiet=True) as session:
        assert session.journal_path is None
        session.lane("a").create("x")
        stage.expect()
    assert not (tmp_path / ".steer").exists()


def test_a_journal_that_cannot_be_made_is_said_before_connecting(stage, tmp_path):
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(errors.TraceError, match="journal=False"):
        connect(stage.base_url, journal=tmp_path / "file", quiet=True)


def full(*_):
    raise errors.TraceError("The journal x cannot be written (No space left); free some space.")


def test_with_a_full_disk_nothing_is_sent_and_nothing_counts_as_filled(stage, session, monkeypatch):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "sync", full)
        with pytest.raises(errors.TraceError, match="No space left"):
            lane.fill("call_1", output="18")
        assert lane.required_input[0].state == "open"
        with pytest.raises(errors.TraceError, match="No space left"):
            lane.create("y", previous_response_id=None)
    assert stage.nothing_came()
    assert lane.response.status == "unsent"
    lane.fill("call_1", output="18")
    lane.send_continuation()
    stage.expect()
    assert load(session.journal_path).ledger.requests["create-2"].state == "unsent"


def test_with_a_full_disk_what_the_service_sends_is_still_shown(stage, session, monkeypatch):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    monkeypatch.setattr("steer_nb.client.recorder.FLUSH_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "flush", full)
        for number in range(3):
            stage.send(created(f"resp_{number}", lane="a"), ended(f"resp_{number}", lane="a"))
            when(session, lambda g, n=number: g.responses.get(f"resp_{n}"))
        when(session, lambda g: g.problems)
    (problem,) = session.trace.problems
    assert problem.detail.startswith("journal: The journal x cannot be written")
    session.close()
    assert load(session.journal_path) == session.trace


def test_what_the_service_sends_is_on_the_disk_soon_after(stage, session):
    session.lane("a").create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    when(session, lambda g: g.responses.get("resp_1"))
    seen = session.watch(lambda _: True if b"resp_1" in session.journal_path.read_bytes() else None)
    stop = session.subscribe(lambda: None)
    while not seen.done():  # asked again whenever something changes
        session.act(lambda: session.core.recorder.note("tick"))
        session.act(session.core.watchers.settle)
    stop()


def test_no_key_is_anywhere(stage, tmp_path):
    session = connect(
        stage.base_url + "?token=verysecret",
        api_key=KEY,
        headers={"X-Api-Key": "another-secret"},
        quiet=True,
    )
    mcp = {
        "type": "mcp",
        "server_label": "files",
        "server_url": "https://files.example",
        "authorization": "mcp-secret",
        "headers": {"X-Token": "mcp-header-secret"},
    }
    lane = session.lane("a", tools=[mcp])
    lane.create("x")
    sent = stage.expect()
    assert sent["tools"] == [mcp]  # the service gets them
    assert stage.headers[0]["Authorization"] == f"Bearer {KEY}"
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    lane.fill("call_1", output="18")
    preview = lane.preview_continuation()
    session.close()
    text = session.journal_path.read_text("utf-8")
    shown = " ".join(
        [repr(session), repr(lane), repr(session.trace), str(session.status()), repr(vars(session))]
        + [repr(vars(session.core)), repr(session.core.endpoint), text, preview]
        + [repr(entry) for entry in session.trace]
        + [repr(lane.settings), repr(vars(lane))]
    )
    for secret in (KEY, "verysecret", "another-secret", "mcp-secret", "mcp-header-secret"):
        assert secret not in shown
    assert "(hidden)" in text


def test_no_key_is_logged_not_even_by_the_library(stage, caplog):
    with caplog.at_level(logging.DEBUG):
        session = connect(stage.base_url, api_key=KEY, journal=False, quiet=True)
        session.lane("a").create("A secret plan.")
        stage.expect()
        session.close()
    logged = [record for record in caplog.records if record.threadName == "steer-nb-io"]
    text = " ".join(record.getMessage() for record in logged)
    assert KEY not in text
    assert "A secret plan." not in text


def test_a_trace_saved_and_loaded_folds_to_the_same(stage, session, tmp_path):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    lane.fill("call_1", output="18")
    session.close()
    session.trace.save(tmp_path / "run.jsonl")
    again = load(tmp_path / "run.jsonl")
    assert again == session.trace == load(session.journal_path)
    states = session.read(
        lambda ledger: [
            (s.key, s.state, s.item) for s in ledger.responses["resp_1"].required.values()
        ]
    )
    assert states == [
        (s.key, s.state, s.item) for s in again.ledger.responses["resp_1"].required.values()
    ]
    assert [e.seq for e in again] == list(range(len(again)))
    times = [e.t for e in again]
    assert times == sorted(times)
    assert 0 <= times[-1] <= session.now()


def test_notes_are_what_the_file_gives_back_whatever_was_given(stage, tmp_path):
    given = {"topic": "trips"}
    with connect(stage.base_url, name="half \ud83d", journal=tmp_path, quiet=True) as session:
        lane = session.lane("a", include=("reasoning.encrypted_content",), metadata=given)
        given["topic"] = float("nan")  # neither the lane nor the trace changes with it
        lane.create("x")
        sent = stage.expect("response.create")
        assert sent["metadata"] == {"topic": "trips"}
        assert sent["include"] == ["reasoning.encrypted_content"]
    note = next(entry for entry in session.trace if entry.note == "lane")
    assert note.data["settings"]["metadata"] == {"topic": "trips"}
    assert load(session.journal_path) == session.trace


def test_a_request_that_cannot_be_recorded_is_unsent_whatever_went_wrong(
    stage, session, monkeypatch
):
    def odd(_):
        raise ValueError("odd")

    lane = session.lane("a")
    with monkeypatch.context() as patch:
        patch.setattr(session.core.recorder.journal, "sync", lambda: odd(None))
        with pytest.raises(ValueError, match="odd"):
            lane.create("x")
    assert lane.response.status == "unsent"
    lane.create("y")
    assert stage.expect()["input"] == "y"
    assert stage.nothing_came()


def test_credentials_in_an_answer_are_sent_and_recorded_nowhere(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    search = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_1", "execution": "client"}
    stage.send(created("resp_1", lane="a"), ended("resp_1", {**search, "arguments": {}}, lane="a"))
    assert lane.wait(10) == "waiting_input"
    place = {"type": "mcp", "server_label": "files", "server_url": "https://files.example"}
    shown = lane.fill("call_1", tools=[{**place, "authorization": KEY}])
    assert shown.item["tools"] == [{**place, "authorization": "(hidden)"}]
    assert KEY not in lane.preview_continuation()
    lane.send_continuation()
    message, disk = stage.expect_with_disk("response.create")
    assert message["input"][0]["tools"] == [{**place, "authorization": KEY}]
    assert KEY not in str(disk)
    assert KEY not in str(list(session.trace))


def test_an_answer_that_replaces_one_with_credentials_is_what_is_sent(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    search = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_1", "execution": "client"}
    stage.send(created("resp_1", lane="a"), ended("resp_1", {**search, "arguments": {}}, lane="a"))
    assert lane.wait(10) == "waiting_input"
    lane.fill("call_1", tools=[{"type": "mcp", "server_label": "x", "authorization": KEY}])
    lane.fill("call_1", tools=[])
    lane.send_continuation()
    assert stage.expect("response.create")["input"][0]["tools"] == []
