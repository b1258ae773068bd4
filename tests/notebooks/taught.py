"""What the text of each lesson says is what its cells show."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHECKS"]


def first_lane(told: Mapping[str, str], solution: str) -> None:
    assert "running - " in told["read"]
    assert "You said: “Keep it under 300 euros.”" in told["wait"]
    assert "committed" in told["frame-steers"]
    assert "incomplete_steered" in told["frame-steers"]
    assert "steer_auto" in told["frame-responses"]
    assert "18 °C and sunny in Lisbon" in told["fill"]
    assert [line.split(" - ")[0] for line in solution.strip().splitlines()] == [
        "incomplete",
        "completed",
    ]
    assert re.search("300 euros.*Start late", solution)


def what_a_steer_does(told: Mapping[str, str], solution: str) -> None:
    states = re.findall(r"^(\w+) +(\d+) characters", told["steer"], re.MULTILINE)
    assert [state for state, _ in states][-2:] == ["accepted", "committed"]
    assert int(states[-1][1]) > int(states[0][1])  # accepted, and still it was written on
    assert told["steer"].rstrip().endswith("the light turns gold.")  # the end of its paragraph
    messages = re.findall(r"response\.[\w.]+", told["wire"])
    assert messages == [
        "response.create",
        "response.created",
        "response.steer",
        "response.steer.accepted",
        "response.incomplete",
        "response.created",
        "response.completed",
    ]
    assert "Timeline: planner, 2 responses, 1 steer" in told["picture"]
    said = [line.split(maxsplit=1)[0] for line in told["knows"].splitlines()]
    assert said.index("user", 1) == said.count("assistant") - said[::-1].index("user") + 1
    assert "steering_not_supported" in told["refused"]
    assert "idle - completed" in told["refused"]
    assert re.search(r"the response: completed\nthe steer: +committed", solution)
    assert re.search(r"committed +completed", solution)


def required_input(told: Mapping[str, str], solution: str) -> None:
    kinds = re.findall(r"\w+_(?:output|response)\b", told["asked"])
    assert len(set(kinds)) == len(kinds) == 7
    assert "6 answers still open" in told["early"]
    assert told["fill"].count("filled") == 7 + 1  # and the column filled_by
    assert "response.create continues" in told["preview"]
    assert sorted(re.findall(r"^   (\w+)$", told["preview"], re.MULTILINE)) == sorted(kinds)
    assert "You denied delete_event: “That meeting still takes place”." in told["send"]
    assert "asks for nothing" in told["again"]
    assert told["carried"].count("confirmed") == 7
    assert len(set(re.findall(r"create-\d+", told["carried"]))) == 1
    assert "waiting_input" in told["steer"]
    assert "the steer: pending" in told["steer"]
    assert "the steer: committed" in told["steer-answer"]
    assert "You said: “Be brief this time.”" in told["steer-answer"]
    assert re.findall(r"response\.[\w.]+", told["steer-wire"]) == [
        "response.steer",
        "response.steer.accepted",
        "response.steer.pending",
        "response.create",
    ]
    assert re.search(r"tool_search +value", solution)
    assert re.search(r"mcp_approval +denied", solution)
    assert len(re.findall(r"\w +cancelled", solution)) == 5


def lanes_and_forks(told: Mapping[str, str], solution: str) -> None:
    one, two, both = map(float, re.findall(r"([\d.]+) s\b", told["both-took"]))
    assert both < one + two
    assert {"lisbon", "porto"} <= set(told["pipe"].split())
    assert "the second: sent" in told["turns"]
    came_from = re.findall(r"resp_\w+", told["fork"])
    assert len(came_from) == 3
    assert len(set(came_from)) == 1
    known = dict(re.findall(r"^(\w+) +(\[.*)$", told["knows"], re.MULTILINE))
    assert "200 euros" in known["cheap"]
    assert not any("200 euros" in known[name] for name in ("lisbon", "train", "porto"))
    assert "Make it three days." in known["train"]
    forked = re.findall(r"(cheap|train) +fork +3 +(\d+) +(\d+)", told["responses"])
    assert len(forked) == 2
    assert all(int(cached) > 0.9 * int(read) for _, read, cached in forked)
    assert "Timeline: 4 lanes" in told["picture"]
    assert "three days" not in solution
    assert re.search(r"early +1 +\d+ +0$", solution, re.MULTILINE)


def reading_traces(told: Mapping[str, str], solution: str) -> None:
    assert re.search(r"stalls +1\.0", told["summary"])
    assert "Timeline: 3 lanes, 5 responses, 1 steer" in told["picture"]
    found = re.findall(r"^\d+ +(\w+) .*\b(True|False)$", told["gaps"], re.MULTILINE)
    assert [stalled for _, stalled in found] == ["True", "False", "False", "False"]
    assert found[0][0] == "plan"
    assert "1 stall of 1 s or more" in told["gaps-picture"]
    words = " ".join(told["stall-where"].split())
    assert re.search("everybody else.*seconds of nothing.*Afternoon", words)
    meanwhile = dict(re.findall(r"^(\w+) +(\d+)$", told["stall-whose"], re.MULTILINE))
    assert int(meanwhile["letter"]) > 10 * int(meanwhile["plan"])
    assert "evening" not in meanwhile
    late = {row.split()[1]: row.split() for row in told["tool"].splitlines()[1:]}
    assert float(late["museum_hours"][3]) > 3
    assert float(late["museum_hours"][6]) < 0.1
    assert all(float(late[name][6]) > 3 for name in ("tram_times", "find_table"))
    share = int(re.search(r"(\d+)% of the text", told["waste"]).group(1))  # type: ignore[union-attr]
    assert share > 60
    assert "-- In Portuguese, please, and much shorter. --" in told["waste-where"]
    assert "ended, 17 of 17 recorded steps" in told["replay"]
    order = re.findall(r"the (late tool|stall|late steer)", solution)
    assert order == ["late tool", "stall", "late steer"]


def when_things_break(told: Mapping[str, str], solution: str) -> None:
    assert re.search(
        r"the steer: +unknown\nthe response: +truncated\nthe lane: +detached", told["drop"]
    )
    assert re.search(r"1 +1006 +network", told["connections"])
    assert re.search(r"\b2 +<NA> +\S+ +0 +0$", told["connections"], re.MULTILINE)  # nothing sent
    assert "to decide" in told["status"]
    assert 'recover("continue")' in told["recovery"]
    assert "ended: cancelled" in told["check"]
    assert "stays unknown" in told["check"]
    assert "You said: “Keep it under 300 euros.”" in told["decide"]
    assert re.findall(r"create +(\w+)", told["decided"]) == ["completed", "cancelled", "completed"]
    assert "'fate': 'lost'" in told["account"]
    assert "ended with code 1" in told["kernel"]
    assert "typed in with much care" in told["revive"]
    assert "typed in with much care" in told["revive-send"]
    assert "the steer: unknown - the response: truncated - the lane: detached" in solution
    assert "stays unknown" in solution
    assert "ever received: ['Keep it under 300 euros.']" in solution


def letta_approvals(told: Mapping[str, str], solution: str) -> None:
    assert "waiting input" in told["ask"]
    assert "Queued here for cleaner" in told["queue"]
    found = re.search(r"^\[.*?^\]", told["answer"], re.DOTALL | re.MULTILINE)
    assert found is not None
    sent = json.loads(found.group())
    assert [one["approve"] for one in sent[0]["approvals"]] == [True, False]
    assert sent[1]["content"] == "Then tell me what you did."
    assert "deleted /srv/old.log" in told["told"]
    assert "User reason: Ana still reads it" in told["told"]
    assert "Ana" in told["tool-run"]
    waits, _, afterwards = solution.partition("Afterwards:")
    assert waits.count("<NA>") == 3
    assert "/srv/report.md" in afterwards
    assert afterwards.count("denied") == 2


CHECKS: Final[Mapping[str, Callable[[Mapping[str, str], str], None]]] = {
    "01_first_lane": first_lane,
    "02_what_a_steer_does": what_a_steer_does,
    "03_required_input": required_input,
    "04_lanes_and_forks": lanes_and_forks,
    "05_reading_traces": reading_traces,
    "06_when_things_break": when_things_break,
    "letta_approvals": letta_approvals,
}
"""For each lesson: of what its cells printed, by their ids, and of what its solutions did."""
