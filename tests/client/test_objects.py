"""Notebook objects on their whole way: given, previewed, on the disk, on the wire, in the trace."""

from __future__ import annotations

import json
import threading

import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from steer_nb import errors, load, tool
from steer_nb.client.inputs import create_input
from steer_nb.wire import totals
from tests.client.stage import created, done, ended, function_call

TABLE = pd.DataFrame({"city": ["Lisbon"], "euros": [300]})
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_2",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}


@pytest.fixture
def drawn() -> Figure:
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot([1, 3, 2])
    return figure


def ask(stage, lane, *items):
    lane.create("x")
    stage.expect("response.create")
    stage.send(created("resp_1", lane="a"))
    stage.send(*(done(item, index, "a") for index, item in enumerate(items)))
    stage.send(ended("resp_1", *items, lane="a"))


def said(thing):
    (message,) = create_input(thing)
    return message["content"]


def test_create_and_steer_take_them(stage, session, drawn, tmp_path):
    (tmp_path / "notes.txt").write_text("Bring an umbrella.")
    given = ["See:", drawn, Image.new("RGB", (2, 2)), TABLE, tmp_path / "notes.txt", b"GIF89a"]
    lane = session.lane("a")
    lane.create(given)
    sent = stage.expect("response.create")["input"]
    assert [part["type"] for part in sent[0]["content"]] == [
        "input_text", "input_image", "input_image", "input_text", "input_file", "input_image",
    ]  # fmt: skip
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer(given)
    assert stage.expect("response.steer")["input"] == sent
    assert steer.input == sent


def test_a_fill_is_previewed_recorded_and_sent_alike(stage, session, drawn):
    lane = session.lane("a")
    ask(stage, lane, function_call("call_1"), COMPUTER)
    lane.wait(10)
    filled = lane.fill("call_1", output=["Temperatures:", drawn, TABLE])
    lane.fill("call_2", output=Image.new("RGB", (3, 2)))
    preview = lane.preview_continuation([drawn, "Compare."])
    lane.send_continuation([drawn, "Compare."])
    sent, disk = stage.expect_with_disk("response.create")
    assert json.loads(preview) == sent
    assert sent["input"][0]["output"] == said(["Temperatures:", drawn, TABLE])
    assert sent["input"][1]["output"]["image_url"].startswith("data:image/png;base64,")
    assert sent["input"][2]["content"] == said([drawn, "Compare."])
    assert filled.item == sent["input"][0]
    notes = [line for line in disk if line.get("note") == "filled"]
    assert [note["data"]["item"] for note in notes] == sent["input"][:2]
    answers = load(session.journal_path).ledger.responses["resp_1"].required
    assert [answer.item for answer in answers.values()] == sent["input"][:2]


def test_a_fill_that_cannot_be_sent_is_not_taken(stage, session, tmp_path):
    lane = session.lane("a")
    ask(stage, lane, function_call("call_1"), COMPUTER)
    lane.wait(10)
    for key, output, words in (
        ("call_1", {"plot": Figure()}, r"output\.plot is of type Figure"),
        ("call_1", tmp_path / "none.png", r"none\.png cannot be read"),
        ("call_2", TABLE, "holds no picture"),
    ):
        with pytest.raises(errors.InvalidInput, match=words):
            lane.fill(key, output=output)
    assert {needed.state for needed in lane.required_input} == {"open"}


def test_a_figure_is_drawn_on_the_thread_that_gave_it(stage, session):
    threads = []

    class Watched(Figure):
        def savefig(self, *args, **kwargs):
            threads.append(threading.current_thread())
            super().savefig(*args, **kwargs)

    lane = session.lane("a")
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    lane.fill("call_1", output=Watched(figsize=(1, 1)))
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("policy", ["ask", "auto"])
def test_a_tool_may_give_them(stage, session, drawn, policy):
    results = {"call_1": drawn, "call_2": TABLE, "call_3": ["A dot:", b"GIF89a"]}

    @tool(policy=policy)
    def get_weather(city: str):
        return results[city]

    calls = [{**function_call(key), "arguments": json.dumps({"city": key})} for key in results]
    lane = session.lane("a", tools=[get_weather])
    ask(stage, lane, *calls)
    if policy == "ask":
        lane.wait(10)
        runs = [lane.run_tool(key).tool for key in results]
        assert json.loads(runs[0]["output"]) == said(drawn)
        assert runs[1]["output"] == "city,euros\nLisbon,300\n"
        lane.send_continuation()
    sent = stage.expect("response.create")["input"]
    assert [item["output"] for item in sent] == [
        said(drawn),
        "city,euros\nLisbon,300\n",
        said(["A dot:", b"GIF89a"]),
    ]


def test_a_tool_that_gives_what_cannot_be_read_has_an_error_for_a_result(stage, session, tmp_path):
    @tool(policy="auto")
    def get_weather(city: str):
        return tmp_path / "none.png"

    lane = session.lane("a", tools=[get_weather])
    ask(stage, lane, function_call("call_1"))
    (item,) = stage.expect("response.create")["input"]
    assert item["output"].startswith("Error: get_weather returned what cannot be sent: result: the")


def test_what_is_too_much_together_is_refused_before_anything_is_sent(
    stage, session, drawn, monkeypatch
):
    lane = session.lane("a")
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    lane.fill("call_1", output=[b"\x00" * 2000, "and text"])
    entries = len(session.trace)
    with monkeypatch.context() as small:
        small.setattr(totals, "FILES_LIMIT", 3000)
        for refused in (
            lambda: lane.create([b"\x00" * 2000, b"\x01" * 2000], previous_response_id=None),
            lambda: lane.preview_continuation(b"\x01" * 2000),
            lambda: lane.send_continuation(b"\x01" * 2000),
        ):
            with pytest.raises(errors.InvalidInput, match="2 files of 4,000 bytes"):
                refused()
        small.setattr(totals, "REQUEST_LIMIT", 500)
        with pytest.raises(errors.InvalidInput, match=r"The request would be [\d,]+ bytes"):
            lane.send_continuation()
    assert stage.nothing_came()
    assert len(session.trace) == entries
    lane.send_continuation()
    assert stage.expect("response.create")["input"][0]["output"][1]["text"] == "and text"
