"""Random talks with an agent over a bad line: nothing said is lost or doubled, nor run twice."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from steer_nb import errors
from tests.letta.stage import PATIENCE, runs_of

FAULTS = (
    "drop at={n}",
    "drop at={n} side=before",
    "drop type=stop_reason",
    "drop type=stop_reason side=before",
    "drop type=done side=before",
    "lose_answer type=conversations.messages.create",
    "phantom_call",
    "busy",
    "refuse_request status=504 type=conversations.messages.create",
    "refuse_request status=502 type=runs.messages.stream",
    "hold_tool seconds=0.05",
)
PROMPTS = ("Hello", "delete /srv/a.txt", "delete /srv/b.txt and /srv/c.txt", "list the files")


def say(lane, chance, said, n):
    """Say something new; whether it was said at all is for the handle to tell."""
    text = f"{chance.choice(PROMPTS)} #{n}"
    said[text] = lane.send(text)


def answer(lane, chance):
    for needed in lane.required_input:
        if chance.random() < 0.6:
            lane.fill(needed.key, approve=True)
        else:
            lane.fill(needed.key, approve=False, reason="no")
    lane.send_continuation()


def walk(session, simulator, seed, *, steps=8):
    chance = random.Random(seed)
    lane = session.lane(f"lane-{seed}", agent=simulator.agent_id, stream_tokens=seed % 3 > 0)
    talk = lane.settings["conversation"]
    said = {}
    for n in range(steps):
        if chance.random() < 0.5:
            fault = chance.choice(FAULTS).format(n=chance.randint(1, 20))
            simulator.faults.add(f"{fault} conversation={talk}" if "busy" not in fault else fault)
        try:
            if lane.required_input and chance.random() < 0.7:
                answer(lane, chance)
            else:
                say(lane, chance, said, n)
        except (errors.LaneBusy, errors.NothingToContinue):
            pass
        if chance.random() < 0.7:
            lane.wait(PATIENCE)
    simulator.faults.clear()
    for _ in range(3 * steps):  # a person tidies up
        if lane.wait(PATIENCE) == "waiting_input":
            answer(lane, chance)
            continue
        own = {one.key for one in said.values()}  # what went out by itself gives its text back
        lost = [one for one in lane.session.read(_undecided) if one in own]
        if not lost:
            break
        for key in lost[:1]:
            handle = next(one for one in said.values() if one.key == key)
            said[next(t for t, one in said.items() if one.key == key)] = handle.send_again()
            lane.wait(PATIENCE)
    return lane, said


def _undecided(ledger):
    failed = [
        one.key
        for one in ledger.requests.values()
        if one.decision is None
        and not one.answers
        and (one.state in ("failed", "unsent") or (one.left and not one.lane.current))
    ]
    return failed + [one.key for one in ledger.steers.values() if one.undecided]


@pytest.mark.parametrize("seed", range(8))
def test_a_random_talk(serve, seed):
    session, simulator = serve()
    lane, said = walk(session, simulator, seed)
    assert lane.state == "idle"
    talk = simulator.service.conversations[lane.settings["conversation"]]
    heard = Counter(one.content for one in talk.messages if one.role == "user")
    assert heard == Counter(dict.fromkeys(said, 1))
    ran = Counter(one["tool_call_id"] for one in runs_of(simulator))
    assert set(ran.values()) <= {1}
    open_ = [one for r in lane.responses for one in r.required_input if one.state != "confirmed"]
    assert [one.state for one in open_ if one.state != "cancelled"] == []
    assert not [p for p in session.read(lambda ledger: ledger.problems) if p.kind == "local"]
