"""The lane card and the board, as pure functions of the ledger and a clock."""

from __future__ import annotations

import re
from html import unescape as html_unescape

import msgspec
import pytest

from steer_nb.ledger import Ledger
from steer_nb.widgets import render
from steer_nb.widgets.steers import steer_plain
from steer_nb.widgets.style import STYLE
from tests.widgets.story import SEVEN, Story, mock_planner, seven


def card(story: Story) -> str:
    return render.lane_card(story.ledger, story.lane, story.now)


def words(html: str) -> str:
    """What a reader sees, one line for each element."""
    text = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"[ \n]*\n[ \n]*", "\n", re.sub(r"</?(?:div|p|details|tr)[^>]*>", "\n", text))


def told(html: str) -> str:
    text = html_unescape(re.sub(r"<[^>]+>", "", words(html)))
    return re.sub(r"\n+", "\n", text)


def test_the_mock_lane_reads_like_the_mock() -> None:
    lines = told(card(mock_planner())).strip().split("\n")
    assert lines == [
        "planner ● writing gpt-6-astra · 412 tokens · 7.2 s",
        "You: Plan a two-day trip to Lisbon.",
        "Thought for 1.4 s",
        "Planning the days",
        "The user wants two days in Lisbon.",
        (
            "Day 1 starts in Alfama. Take tram 28 before nine, when it is still empty, and get off "
            "at the Miradouro …"
        ),
        "You steered: Keep it under 300 euros",
        (
            "sent 3.00 s → accepted 3.04 s → committed 3.92 s · "
            "38 chunks were still written in between"
        ),
        "Within 300 euros, the two nights change: a guesthouse in Graça (€ 58) leaves room for",
        "You steered: We are two adults and a child",
        "sent 6.92 s → accepted 6.96 s, queued until this part is done",
    ]


def test_the_same_state_draws_the_same_picture() -> None:
    assert card(mock_planner()) == card(mock_planner())


def test_a_lane_that_works_shows_a_progress_sign_and_an_idle_one_does_not() -> None:
    story = mock_planner()
    assert 'role="progressbar"' in card(story)
    story.ended(8.0, "resp_2")
    story.created(8.1, "resp_3", "resp_2")
    story.ended(9.0, "resp_3")
    assert 'role="progressbar"' not in card(story)
    assert "○</span> idle" in card(story)


def test_the_progress_sign_respects_reduced_motion() -> None:
    assert "prefers-reduced-motion:reduce" in STYLE
    assert "prefers-color-scheme:dark" in STYLE
    assert 'data-jp-theme-light="false"' in STYLE
    assert "http" not in STYLE
    assert "url(" not in STYLE


def test_a_steer_that_waits_for_answers_says_so() -> None:
    story = Story()
    story.create(0.1, "Weather?")
    story.created(0.2, "resp_1")
    story.item(0.3, 0, SEVEN[0], done=0.4)
    story.steer(0.5, "resp_1", "Celsius")
    story.accepted(0.6, "steer_1", "resp_1")
    story.ended(0.7, "resp_1")
    story.event(
        0.8,
        "response.steer.pending",
        steer={"id": "steer_1", "previous_response_id": "resp_1"},
        reason="waiting_for_required_input",
        required_input=[
            {"type": "function_call_output", "call_id": "call_Qx1", "name": "get_weather"}
        ],
    )
    text = told(card(story))
    assert "sent 0.40 s → accepted 0.50 s → pending 0.70 s, queued until 1 answer is sent" in text
    assert "waits for you: 1 answer" in text
    assert "%steer pending" in text


def test_a_reason_that_nobody_knows_is_shown_as_it_came() -> None:
    story = mock_planner()
    story.event(
        7.2,
        "response.steer.pending",
        steer={"id": "steer_2", "previous_response_id": "resp_2"},
        reason="waiting_for_the_moon",
        required_input=[],
    )
    assert "waiting for the moon" in told(card(story))


def test_a_failed_steer_names_code_and_message() -> None:
    story = mock_planner()
    story.event(
        7.5,
        "response.steer.failed",
        steer={"id": "steer_2", "previous_response_id": "resp_2", "input": "x"},
        error={"type": "invalid_request_error", "code": "brand_new", "message": "Too late, sorry."},
    )
    assert "accepted 6.96 s → failed 7.40 s: brand_new: Too late, sorry." in told(card(story))
    assert "snb-bad" in card(story)


def test_a_lost_connection_leaves_the_outcome_unknown() -> None:
    story = mock_planner()
    story.lost(8.0)
    text = told(card(story))
    assert "▲ outcome unknown" in text
    assert "accepted 6.96 s → outcome unknown: the connection was lost" in text
    assert "Cut off." in text
    assert "committed 3.92 s" in text


def test_a_commit_that_came_before_its_acknowledgement_keeps_its_order() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.steer(0.3, "resp_1", "y")
    story.ended(0.4, "resp_1", "incomplete", incomplete_details={"reason": "steered"})
    story.created(0.5, "resp_2", "resp_1")
    story.accepted(0.6, "steer_1", "resp_1")
    (steer,) = story.ledger.responses["resp_1"].steers
    assert steer_plain(steer) == "sent 0.20 s → committed 0.40 s → accepted 0.50 s"


def test_all_kinds_of_calls_are_told_apart() -> None:
    story = seven()
    text = told(card(story))
    assert "waits for you: 7 answers" in text
    assert (
        """city  "Lisbon"
days  2"""
        in text
    )
    assert "select *\nfrom trips" in text
    assert "action 1  click left at 10, 20" in text
    assert "▲ safety check: malicious_instructions: The page gives orders." in text
    assert "$ ls trips/\n$ cat trips/lisbon.md" in text
    assert "update file  trips/lisbon.md" in text
    assert "<del>-tram 28 at noon\n</del><ins>+tram 28 before nine\n</ins>" in card(story)
    assert "approval · server calendar · mcpr_9" in text


def test_answers_stand_at_their_calls() -> None:
    story = seven([SEVEN[0], SEVEN[6]])
    parent = "resp_7c0000000000000000000041"
    output = {"type": "function_call_output", "call_id": "call_Qx1", "output": "18 °C"}
    story.note(
        43.0, "filled", lane="planner", parent=parent, key="call_Qx1", item=output, by="user"
    )
    text = told(card(story))
    assert "18 °C\nanswered, not sent yet" in text
    assert "waits for your answer" in text
    denied = {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_9",
        "approve": False,
        "reason": "keep it",
    }
    story.note(44.0, "filled", lane="planner", parent=parent, key="mcpr_9", item=denied, by="user")
    story.create(45.0, [output, denied], previous_response_id=parent)
    story.created(46.0, "resp_2", parent)
    text = told(card(story))
    assert "denied: keep it" in text
    assert "You sent 2 answers" in text
    assert "waits" not in text


def test_a_tool_that_ran_says_how_long_and_one_that_raised_says_why() -> None:
    story = seven([SEVEN[0], SEVEN[1]])
    about = {"lane": "planner", "parent": "resp_7c0000000000000000000041"}
    story.note(3.0, "tool_started", **about, key="call_Qx1", name="get_weather", by="user")
    assert "get_weather is running" in told(card(story))
    story.note(
        3.3,
        "tool_finished",
        **about,
        key="call_Qx1",
        ok=True,
        output="x",
        error=None,
        duration_s=0.3,
    )
    story.note(3.4, "tool_started", **about, key="call_Qx2", name="sql", by="user")
    story.note(
        3.5,
        "tool_finished",
        **about,
        key="call_Qx2",
        ok=False,
        output="",
        error="ValueError: no",
        duration_s=0.1,
    )
    assert "ran in 0.30 s" in told(card(story))
    assert "raised ValueError: no" in told(card(story))


def test_refusals_errors_and_other_ends_are_shown() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.event(0.3, "response.output_item.added", output_index=0, item={"type": "message"})
    story.delta(0.4, 0, "I cannot do that.", kind="refusal")
    error = {"code": "server_error", "message": "It broke."}
    story.ended(0.5, "resp_1", "failed", error=error)
    text = told(card(story))
    assert "Refused: I cannot do that." in text
    assert "Failed: server_error: It broke." in text
    assert "▲ failed" in text
    story.create(0.6, "y")
    story.created(0.7, "resp_2")
    story.ended(0.8, "resp_2", "incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert "Stopped before its end: max_output_tokens" in told(card(story))


def test_requests_without_a_response_are_not_forgotten() -> None:
    story = Story()
    story.create(0.1, "first")
    story.event(
        0.2, "error", error={"code": "bad", "message": "No such model.", "type": "x"}, status=400
    )
    story.create(0.3, "second")
    text = told(card(story))
    assert re.search(r"You: first\nsent at \d\d:\d\d:\d\d → refused: bad: No such model.", text)
    assert re.search(r"You: second\nsent at \d\d:\d\d:\d\d → waits for its turn", text)
    story.lost(0.4)
    assert "outcome unknown: the connection was lost" in told(card(story))


def test_unknown_items_keep_what_they_say() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.item(0.3, 0, {"type": "telepathy_call", "id": "t_1", "wave": {"hz": 7}}, done=0.4)
    text = told(card(story))
    assert "telepathy_call" in text
    assert "hz" in text


def test_reasoning_without_a_summary_has_nothing_to_unfold() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.item(1.0, 0, {"type": "reasoning", "id": "rs"})
    story.now = 2.5
    assert "Thinking for 1.5 s" in told(card(story))
    assert "<details>" not in card(story)


def test_times_that_a_recording_lacks_are_left_out() -> None:
    story = mock_planner()
    bare = Ledger(msgspec.structs.replace(entry, at=None, t=None) for entry in story.entries)
    text = told(render.lane_card(bare, bare.lanes["planner"], 0.0))
    assert "sent → accepted → committed · 38 chunks" in text
    assert "gpt-6-astra · 412 tokens\n" in text
    assert "Thought\n" in text
    assert render.board(bare, 0.0)


def test_line_breaks_and_paragraphs_are_kept() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.text(0.3, 0, "one\ntwo\n\nthree\n\n\n\nfour")
    html = card(story)
    assert html.count('<p dir="auto">') == 3
    assert "one\ntwo" in html


@pytest.mark.parametrize("done", [None, 9.0])
def test_long_texts_show_their_end_and_say_what_is_hidden(done: float | None) -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.text(0.3, 0, *("word " * 20 for _ in range(30_000)), "THE END", done=done)
    html = card(story)
    assert len(html) < 90_000
    assert "THE END" in html
    assert "2.8 M characters are not shown here; lane.responses has everything" in html


def test_many_small_things_are_bounded_too() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    for index in range(2000):
        story.item(0.3, index, {"type": "function_call", "name": "f", "arguments": "{}"}, done=0.3)
    assert card(story).count('class="snb-calltop"') <= 200
    story.text(0.4, 2000, "a\n\n" * 20_000)
    assert card(story).count("<p ") <= 310


def test_a_lane_without_anything_says_so() -> None:
    story = Story()
    story.note(0.1, "lane", lane="planner", settings={"model": "gpt-6-astra"})
    text = told(card(story))
    assert "○ idle" in text
    assert "Nothing has been sent on this lane yet." in text
    story.note(0.2, "lane_closed", lane="planner")
    assert "○ closed" in told(card(story))


def test_the_board_puts_those_first_that_need_a_person() -> None:
    story = Story("notes")
    story.create(0.1, "x")
    story.created(0.2, "r0")
    story.ended(0.3, "r0", usage={"total_tokens": 1204})
    story.lane_name = "budget"
    story.create(0.4, "x")
    story.created(0.5, "r1")
    story.text(0.6, 0, "Flights at that time of")
    story.lane_name = "planner"
    story.create(1.0, "x")
    story.created(1.1, "r2")
    story.item(1.2, 0, SEVEN[0], done=1.3)
    story.ended(42.0, "r2")
    html = render.board(story.ledger, 50.0)
    rows = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    names = [re.sub("<[^>]+>", "|", row).strip("|").split("|")[0] for row in rows]
    assert names == ["planner", "budget", "notes"]
    assert "waits for you" in rows[0]
    assert "1 answer" in rows[0]
    assert "1 answer: get_weather" in rows[0]
    assert "<code>%steer pending planner</code>" in rows[0]
    assert "8 s" in rows[0]
    assert "49 s" in rows[1]
    assert "49 s" in rows[2]
    assert "“Flights at that time of …”" in rows[1]
    assert "1\u202f204" in rows[2]
    assert render.board_plain(story.ledger).split("\n")[1].startswith("planner  ◐ waits for you")


def test_an_empty_board_says_how_to_open_a_lane() -> None:
    story = Story()
    assert "%steer open" in render.board(story.ledger, 0.0)
    assert "%steer open" in render.board_plain(story.ledger)


def test_the_board_counts_what_is_to_decide_on() -> None:
    story = mock_planner()
    story.create(7.5, "and then?")
    story.lost(8.0)
    text = told(render.board(story.ledger, 9.0))
    assert "connection lost; 1 steer and 1 request to decide on" in text
    assert "1 committed, 1 unknown" in text


@pytest.mark.parametrize("end", ["network", "client"])
def test_what_can_no_longer_be_answered_asks_for_nothing(end: str) -> None:
    story = seven([SEVEN[0]])
    assert "%steer pending" in told(card(story))
    story.note(44.0, "closed", code=1001, reason="", by=end)
    text = told(card(story))
    assert "waits for you" not in text
    assert "waits for your answer" not in text
    assert "not answered" in text
    assert "%steer pending" not in text
    assert "%steer pending" not in render.lane_plain(story.ledger, story.lane, story.now)


@pytest.mark.parametrize(
    ("end", "chip"), [("network", "▲ connection lost"), ("client", "○ session closed")]
)
def test_a_lane_that_sent_nothing_ends_with_its_connection_too(end: str, chip: str) -> None:
    story = Story()
    story.note(1.0, "lane", lane="planner")
    assert "○ idle" in told(render.board(story.ledger, 1.0))
    story.note(2.0, "closed", code=1000, reason="", by=end)
    text = told(render.board(story.ledger, 3.0))
    assert chip in text
    assert text.count("lost") == chip.count("lost")


def test_a_closed_session_is_no_alarm() -> None:
    story = mock_planner()
    story.ended(7.5, "resp_2")
    story.created(7.6, "resp_3", "resp_2")
    story.ended(7.7, "resp_3")
    story.note(8.0, "closed", code=1000, reason="", by="client")
    assert "○ session closed" in told(card(story))


def test_plain_text_says_the_same() -> None:
    story = mock_planner()
    text = render.lane_plain(story.ledger, story.lane, story.now)
    assert text.startswith("planner  ● writing  gpt-6-astra · 412 tokens · 7.2 s\n")
    assert text.endswith("leaves room for")


def test_a_response_alone() -> None:
    story = mock_planner()
    text = told(render.response_card(story.ledger.responses["resp_1"], 9.0))
    assert "◑ steered" in text
    assert "Keep it under 300 euros" in text


def test_old_turns_are_counted_and_cost_nothing() -> None:
    story = Story()
    for number in range(300):
        story.create(number, "x")
        story.created(number, f"r{number}", f"r{number - 1}" if number else None)
        story.text(number, 0, "abc " * 500, done=number)
        story.ended(number, f"r{number}")
    html = card(story)
    assert "earlier turns are not shown here" in html
    assert len(html) < 90_000
    assert len(render.lane_plain(story.ledger, story.lane, 1.0)) < 5000


def test_a_message_of_many_short_lines_shows_the_last_of_them() -> None:
    story = Story()
    story.create(0.1, "count")
    story.created(0.2, "resp_1")
    story.text(0.3, 0, *(f"line {number}\n" for number in range(2000)), done=0.9)
    text = told(card(story))
    assert "line 1999" in text
    assert "line 1400\n" not in text
    assert "characters are not shown here" in text
