"""Where each point of the fidelity list is held (9.2 of the protocol notes on Letta).

A name with a bracket is a recorded exchange, or several: each is asked of the simulator again by
`test_recordings`. The others are tests.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.simulator.letta.recordings import FOLDER
from tests.simulator.letta.test_recordings import EXCHANGES

TESTS = Path(__file__).parents[2]

HELD = {
    "shapes of chapter 2 in steps": [
        "[02 04 10 20 23 30 31 43 44 46 47 48 96]", "test_what_is_streamed_is_what_is_kept",
        "test_a_stream_tells_of_it_as_it_was_asked_to",
    ],
    "shapes of chapter 2 in tokens": [
        "[03 05 14 25 26 33 34 40 94]", "test_what_is_streamed_is_what_is_kept",
        "test_a_stream_tells_of_it_as_it_was_asked_to",
    ],
    "hidden thoughts": ["test_hidden_thoughts_and_costs"],
    "histories": ["[13 16 24 27 32 36 42 45 56 5c 95]"],
    "ids and otids": ["[14 16 30 33]", "a_stream_and_the_history_agree"],
    "the ping that comes at once, and those in silence": [
        "[02 02b 02c 52]", "test_pings_say_which_run_it_is", "test_pings_in_silence",
    ],
    "numbers from 1, hidden on the terminals": [
        "[60 61 62]", "test_every_place_can_be_resumed_from", "TestLosses",
    ],
    "equal sets of ids, exact texts": [
        "[21 22 54 57 58 5f 5g 5l]", "test_answers_that_do_not_fit",
    ],
    "gated calls beside others": [
        "[30 31 33 34 48]", "test_parallel_calls_are_answered_each_in_its_way",
    ],
    "the order of results": ["[31 34 47]", "test_parallel_calls_are_answered_each_in_its_way"],
    "results that no stream of tokens shows": [
        "[15 16 41 42]", "a_stream_and_the_history_agree", "test_one_call_is_denied",
        "test_a_tool_of_the_client",
    ],
    "what is said to one that waits, at each endpoint": [
        "[50 51 52 53 67 7d 7e]", "test_a_message_while_it_waits",
        "test_a_conflict_in_a_conversation_is_words_only",
    ],
    "an approval that was processed already": [
        "[59 5a 5c]", "test_an_approval_twice", "test_a_request_for_approval_outlives_it",
        "test_follow_ups_of_a_repeated_approval_take_the_place_of_the_keep_alive",
    ],
    "the old fields, and the denial that does not work": ["[55 56 5d 5e 5f]"],
    "locks": [
        "[74 74b c0 c2 c4]", "test_who_is_kept_out", "test_one_at_a_time",
        "a_call_runs_once_where_locks_hold",
    ],
    "the same otid once more": ["[64 75 76 7g 81 c6 c7]", "TestLosses", "TestLetta"],
    "an error in the background has no [DONE]": ["[67 67b 91]"],
    "other ends of a stream": ["[88 89 8d 90]", "test_a_run_is_cancelled_while_it_streams"],
    "the header gate": ["[9e]", "test_the_header_gate_can_be_left_open"],
    "long results": [
        "test_a_long_return_of_a_server_tool_is_cut", "test_a_long_result_of_a_client_is_cut",
    ],
    "fault: a phantom call": ["test_phantom_call", "test_a_phantom_call"],
    "fault: no end of a body behind [DONE]": [
        "test_no_eof", "test_the_end_of_a_stream_without_the_end_of_its_body",
    ],
    "fault: a loss before the first frame": [
        "test_drop_before_the_first_frame_loses_the_head_as_well",
        "test_a_lost_connection_before_the_first_frame", "TestLosses",
    ],
    "fault: a resume behind the end hangs": [
        "[70 71]", "test_hang_resume", "test_a_resume_behind_the_end_hangs",
    ],
    "fault: an approval twice without a lock": [
        "[c0 c1 c4 c5]", "test_unlock_lets_one_approval_in_twice",
    ],
    "fault: a conversation stuck behind a cancel": [
        "[a0 a1 a2]", "test_a_conversation_stays_stuck", "test_stuck_cancel",
    ],
    "fault: 409 before the stream": [
        "test_busy_and_early_conflict", "test_a_conflict_before_the_stream",
    ],
    "fault: busy": ["test_busy_and_early_conflict", "test_refused_and_busy_on_purpose"],
}  # fmt: skip


@pytest.fixture(scope="module")
def known():
    """The names of all tests, invariants and test cases for the simulator."""
    found = set()
    for folder in ("simulator/letta", "proof/letta"):
        for file in (TESTS / folder).glob("test_*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found.add(node.name)
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    found.add(node.targets[0].id)
    return found


@pytest.mark.parametrize("point", HELD)
def test_each_point_is_held(point, known):
    recorded = {one.name.split("_")[0] for one in EXCHANGES}
    for place in HELD[point]:
        if not place.startswith("["):
            assert place in known
        elif FOLDER.is_dir():
            assert set(re.findall(r"\w+", place)) <= recorded
