"""Traces to draw: one in which everything happens once, and one of a hundred thousand events."""

from __future__ import annotations

import random
from typing import Any

from steer_nb.trace import SCHEMA, Entry, Header, Trace
from tests.support.traces import TRACE_ID, TraceBuilder, call, message, stub

HOSTILE = '<img src=x onerror="window.pwned=1"> [x](javascript:1) {{datum.x}} $&'


class Clocked(TraceBuilder):
    """A builder whose clock is set: `at(seconds)`, then what happens goes on from there."""

    def __init__(self, *, start: float = 1_700_000_000.0, trace_id: str = TRACE_ID) -> None:
        super().__init__(start=start)
        self.trace = Trace(Header(steer_nb=SCHEMA, trace_id=trace_id, started_at=start))
        self.now = 0.0

    def at(self, seconds: float) -> Clocked:
        self.now = seconds
        return self

    def add(self, kind: Any, **fields: Any) -> Clocked:
        connection = fields.pop("connection", self.connection)
        t = round(self.now, 6)
        self.trace.append(Entry(len(self.trace), self._start + t, t, kind, connection, **fields))
        return self

    def write(
        self,
        lane: str | None,
        start: float,
        end: float,
        text: str,
        *,
        index: int = 0,
        pause: float = 0,
    ) -> Clocked:
        """Write one message, word by word."""
        words = text.split(" ")
        self.at(start).added(message("", index), index, lane=lane)
        for number, word in enumerate(words):
            late = pause if number >= len(words) // 2 else 0
            self.at(start + (end - start - pause) * (number + 1) / (len(words) + 1) + late)
            self.delta(word + " ", index, lane=lane)
        self.at(end).done(message(text, index), index, lane=lane)
        return self

    def think(
        self, lane: str | None, start: float, end: float, text: str, index: int = 0
    ) -> Clocked:
        item = {"type": "reasoning", "id": f"rs_{index}_{start}", "summary": []}
        self.at(start).added(item, index, lane=lane)
        item = {**item, "summary": [{"type": "summary_text", "text": text}]}
        self.at(end).done(item, index, lane=lane)
        return self


def usage(read: int, cached: int, written: int, reasoning: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": read + written,
    }


def story(*, said: str = "Day 1 starts in Alfama. Take tram 28 before nine.") -> Trace:
    """Two connections, four lanes, steers of every fate, a person who takes a while, a fork."""
    t = Clocked().connect()
    plan, budget, arabic, globe = "planner", "Übergrößenträger", "مخطط_الرحلة", "🌍_critic"
    t.at(0.1).create(lane=plan, key="create-1")
    t.at(0.5).created("resp_plan1", lane=plan).think(plan, 0.5, 1.6, "A plan is wanted.")
    t.at(0.7).create(lane=budget, key="create-2").at(0.9).created("resp_budget1", lane=budget)
    t.write(plan, 1.7, 4.0, said * 2, index=1)
    t.at(3.1).steer("resp_plan1", "Keep it under 300 euros", key="steer-3")
    t.at(3.14).accepted("steer_a", "resp_plan1", lane=plan)
    t.at(4.0).ended(
        "resp_plan1", "incomplete", reason="steered", lane=plan, usage=usage(30, 0, 240, 60)
    )
    t.at(4.02).created("resp_plan2", previous="resp_plan1", lane=plan)
    t.write(
        budget,
        1.0,
        5.2,
        "Flights at that time of year cost more than the hotel does. " * 3,
        pause=1.4,
    )
    t.at(5.3).ended("resp_budget1", lane=budget, usage=usage(50, 0, 310))
    t.at(4.5).steer("resp_plan2", "In haiku", key="steer-4")
    t.at(4.55).failed("resp_plan2", "In haiku", "steering_not_supported")
    t.write(plan, 4.1, 6.2, "Within 300 euros the two nights change " + said)
    for number, (name, begin) in enumerate((("get_weather", 6.3), ("book_hotel", 6.6)), 1):
        item = call(f"call_{number}", name)
        t.at(begin).added({**item, "arguments": "", "status": "in_progress"}, number, lane=plan)
        t.at(begin + 0.25).done(item, number, lane=plan)
    calls = [call("call_1"), call("call_2", "book_hotel")]
    t.at(6.8).steer("resp_plan2", "We are two adults and a child", key="steer-5")
    t.at(6.84).accepted("steer_b", "resp_plan2", lane=plan)
    t.at(7.0).ended("resp_plan2", output=calls, lane=plan, usage=usage(300, 270, 120, 20))
    t.at(7.02).pending("steer_b", "resp_plan2", [stub(), stub("call_2", "book_hotel")], lane=plan)
    answers = [
        {"type": "function_call_output", "call_id": f"call_{n}", "output": "fine"} for n in (1, 2)
    ]
    for when, key, by in ((7.6, "call_2", "code"), (9.9, "call_1", "user")):
        item = {"type": "function_call_output", "call_id": key, "output": "fine"}
        t.at(when).note("filled", lane=plan, parent="resp_plan2", key=key, item=item, by=by)
    t.at(10.4).create(answers, lane=plan, previous="resp_plan2", key="create-6")
    t.at(10.7).created("resp_plan3", previous="resp_plan2", lane=plan)
    t.write(plan, 10.8, 12.6, "With a child: the zoo and the tram. " * 3)
    t.at(12.7).ended("resp_plan3", lane=plan, usage=usage(520, 480, 150))
    t.at(6.0).create(lane=arabic, key="create-7").at(6.2).created("resp_ar", lane=arabic)
    t.write(arabic, 6.3, 8.0, "اليوم الأول في الحي القديم " * 3)
    t.at(8.1).ended("resp_ar", "failed", lane=arabic)
    t.at(9.0).create(previous="resp_plan2", lane=globe, key="create-8")
    t.at(9.2).created("resp_globe", previous="resp_plan2", lane=globe)
    t.write(globe, 9.3, 11.5, "A critic says that ten hours are too few. " * 2)
    t.at(11.0).steer("resp_globe", "Be kinder", key="steer-9")
    t.at(13.0).close(1006, "", "network")
    t.at(14.0).connect()
    t.at(14.3).create(lane=plan, key="create-10").at(14.6).created("resp_plan4", lane=plan)
    t.write(plan, 14.7, 15.8, "Here is the plan again, and whole. " * 2)
    t.at(16.0).delta("and ", 1, lane=plan)
    return t.trace


def big(events: int = 100_000, lanes: int = 12, seed: int = 7) -> Trace:
    """So many events: responses of about forty, with stalls, steers, failures and calls."""
    chance = random.Random(seed)
    t = Clocked().connect()
    clock = [chance.random() for _ in range(lanes)]
    number = 0
    while len(t.trace) < events:
        at = min(range(lanes), key=clock.__getitem__)
        lane, begin, number = f"lane-{at}", clock[at], number + 1
        name = f"resp_{number}"
        t.at(begin).create(f"Question {number}", lane=lane, key=f"create-{number}")
        now = begin + 0.2
        t.at(now).created(name, lane=lane).think(lane, now, now + 0.3, "I think.")
        now += 0.3
        t.at(now).added(message("", 1), 1, lane=lane)
        words = [f"word{n}" for n in range(30)]
        steered = chance.random() < 0.1
        for place, word in enumerate(words):
            now += chance.lognormvariate(-3.5, 0.6) + (2.5 if chance.random() < 0.0005 else 0)
            t.at(now).delta(word + " ", 1, lane=lane)
            if steered and place == 20:
                t.steer(name, f"Steer {number}: {HOSTILE}", key=f"steer-{number}")
                t.accepted(f"steer_{number}", name, lane=lane)
        t.at(now).done(message(" ".join(words), 1), 1, lane=lane)
        status = "incomplete" if steered else "failed" if chance.random() < 0.01 else "completed"
        reason = "steered" if steered else None
        t.ended(name, status, reason=reason, lane=lane, usage=usage(100 + number % 50, 60, 35, 5))
        if steered:
            now += 0.02
            t.at(now).created(f"resp_{number}s", previous=name, lane=lane)
            t.write(lane, now, now + 0.4, "And so it went on")
            t.ended(f"resp_{number}s", lane=lane, usage=usage(150, 130, 9))
            now += 0.4
        clock[at] = now + chance.random()
    return t.trace
