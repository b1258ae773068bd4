"""A person of a soak: has a lane, and does all that can be done there, for as long as told.

They use what everybody uses, and know only what the session tells them.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from steer_nb.client.answers import askable
from steer_nb.client.handles import Response, Steer
from steer_nb.errors import SteerError
from steer_nb.ledger import rules
from steer_nb.ledger.state import LaneState
from tests.crash.person import answer

if TYPE_CHECKING:
    from steer_nb import Lane, Ledger
    from tests.soak.crowd import Crowd

__all__ = ["Person", "Seen"]

THINKS = (4.0, 24.0)
"""Seconds, at speed 1, between an answer and the next words."""
TURNS = 12
"""So many turns, more or less, until a conversation begins anew."""
PROMPTS = {
    "Plan a day in Lisbon, number {}.": 50,
    "What is the weather in Porto, number {}?": 22,
    "Do the audit of everything again, number {}.": 12,
    "A failing one, number {}: server_error, please.": 3,
    "A failing one, number {}: max_output_tokens, please.": 3,
    "A failing one, number {}: a refusal, please.": 2,
}


@dataclass
class Seen:
    """What a glance at a lane shows."""

    word: str = "idle"
    detached: bool = False
    writing: str | None = None
    has_text: bool = False
    n_calls: int = 0
    asked: list[tuple[str, str, dict[str, Any] | None, bool]] = field(default_factory=list)
    can_continue: bool = False
    owes_words: bool = False
    undecided: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


class Person:
    """One person at one lane.

    Parameters
    ----------
    crowd : Crowd
        Whom they belong to.
    lane : Lane
        Their lane.
    turns : int, optional
        After so many turns they close the lane and leave.
    """

    def __init__(self, crowd: Crowd, lane: Lane, seed: object, turns: int | None = None) -> None:
        self.name = lane.name
        self.lane = lane
        self.left = False
        self._crowd = crowd
        self._random = Random(f"{seed}/{lane.name}")
        self._turns = turns
        self._ready = 0.0
        self._looks_back = True
        self._words: dict[str, Response | Steer] = {}
        self._steered: tuple[str | None, int] = (None, 0)

    # -- looking; on the I/O thread ----------------------------------------------------------------

    def look(self, ledger: Ledger) -> Seen:
        """Take in what there is to know of the lane."""
        state = ledger.lanes.get(self.lane.stream_id) or LaneState(self.name)
        seen = Seen(rules.lane_word(state), state.detached and state.closed is None)
        current = state.current
        if current is not None:
            seen.writing = current.id
            seen.has_text = bool(current.first_text)
            seen.n_calls = len(current.required)
        running = self._crowd.session.core.runner.running
        policy = self._crowd.policy_of(self.name)
        for stub in askable(state):
            mine = stub.name == "get_weather" and stub.type == "function_call_output"
            by_itself = mine and policy == "auto" and stub.tool is None
            if stub.state == "open" and (stub.parent_id, stub.key) not in running and not by_itself:
                runs = mine and policy == "ask" and stub.tool is None
                seen.asked.append((stub.key, stub.type, stub.call, runs))
        parent = rules.parent_waiting(state)
        if parent is not None and rules.may_continue(parent) is None:
            by_itself = all(s.filled_by == "policy" for s in parent.waiting_for if not s.optional)
            seen.can_continue = not by_itself or bool(parent.continuations)
        seen.owes_words = state.resume == "rebuild" and rules.chain_tip(state) is None
        if self._looks_back:
            steers = [steer for response in state.responses for steer in response.steers]
            seen.undecided = [one.key for one in (*steers, *state.requests) if one.undecided]
        for key in self._words:
            self._judge(ledger, key, seen)
        return seen

    @staticmethod
    def _judge(ledger: Ledger, key: str, seen: Seen) -> None:
        """Whether words that were said have arrived, or have to be said again."""
        steer, request = ledger.steers.get(key), ledger.requests.get(key)
        said: Any = steer or request
        response_id = request.response_id if request is not None else steer.successor_id
        response = ledger.responses.get(response_id or "")
        if said.decision is not None:
            seen.done.append(key)
        elif said.state in ("failed", "unsent") or (response is not None and response.left):
            seen.undone.append(key)
        elif response is not None and response.status not in ("in_progress", "truncated"):
            seen.done.append(key)
        elif response is not None and response.status == "truncated" and not seen.detached:
            seen.done.append(key)  # the repeated conversation has it

    # -- acting ------------------------------------------------------------------------------------

    @property
    def owes(self) -> bool:
        """Whether words of theirs have no fate yet."""
        return bool(self._words) or self._looks_back

    def act(self, seen: Seen, *, resting: bool) -> bool:
        """Do the first thing that can be done; whether nothing is left to do."""
        for key in seen.done:
            self._words.pop(key, None)
        if self.name not in self._crowd.session.lanes:  # they closed it, and want it again
            self.lane = self._crowd.open(self.name)
            return False
        lane, chance = self.lane, self._random
        if seen.detached:
            lane.recover()
            self._looks_back = True
            self._did("recover")
        elif seen.undecided or seen.undone:
            self._decide(seen)
        elif self._looks_back:
            self._looks_back = False
        elif seen.asked:
            self._answer(seen)
        elif seen.can_continue:
            more = self._numbered("And this, number {}.") if chance.random() < 0.15 else None
            self._say(lane.send_continuation(more), "continue")
        elif seen.writing is not None:
            self._steer(seen, resting=resting)
        elif seen.word in ("idle", "failed"):
            if seen.owes_words:
                self._say(lane.create(self._numbered("Please go on, number {}.")), "go on")
            elif self._turns == 0:
                return self._leave()
            elif not resting and time.monotonic() >= self._ready:
                self._speak()
            else:
                return not self._words
        return False

    def _numbered(self, text: str) -> str:
        return text.format(self._crowd.number())

    def _did(self, what: str) -> None:
        self._crowd.did[what] += 1

    def _say(self, handle: Response | Steer, what: str) -> None:
        self._words[handle.key] = handle
        self._did(what)

    def _decide(self, seen: Seen) -> None:
        for key in (*seen.undecided, *seen.undone):
            handle: Response | Steer
            kind = Steer if key.startswith("steer") else Response
            handle = self._words.get(key) or kind(self._crowd.session, key)
            if seen.word in ("running", "queued"):
                return  # it would hang on what is being written
            undone = key in seen.undone
            failing = undone and self._random.random() < 0.5
            if failing or self._random.random() < 0.2:
                with contextlib.suppress(SteerError):  # a response that was left has no more to say
                    handle.drop()
                self._did("drop")
                self._words.pop(key, None)
            else:
                again = handle.send_again()
                self._words.pop(key, None)
                self._say(again, "send again")
            return

    def _answer(self, seen: Seen) -> None:
        lane, chance = self.lane, self._random
        if chance.random() < 0.05:
            lane.cancel_all()
            self._did("cancel all")
            return
        for key, kind, call, runs in seen.asked:
            if runs:
                lane.run_tool(key)
                self._did("run tool")
                continue
            if chance.random() < 0.1:
                lane.fill(key, **answer(key, kind, call))
                lane.clear(key)
                self._did("clear")
            lane.fill(key, **answer(key, kind, call))
            self._did(f"fill {kind}")

    def _steer(self, seen: Seen, *, resting: bool) -> None:
        parent, count = self._steered
        if parent != seen.writing:
            self._steered = (seen.writing, 0 if self._random.random() < 0.35 else 2)
            return
        if count < 2 and not resting and (seen.has_text or seen.n_calls):
            self._steered = (parent, count + 1 if self._random.random() < 0.3 else 2)
            self._say(self.lane.steer(self._numbered("Make it cheaper, number {}.")), "steer")

    def _speak(self) -> None:
        """Begin the next turn, after a while; sometimes on another lane, or on a fresh one."""
        chance = self._random
        self._ready = time.monotonic() + self._crowd.real(chance.uniform(*THINKS))
        kind = chance.random()
        if kind < 0.06 and self._turns is None and self._crowd.fork(self):
            self._did("fork")
            return
        if kind < 0.10 and self._turns is None:
            self.lane.close()
            self._did("close")
            self._looks_back = True  # the connection may be lost while it is closed
            return
        (prompt,) = chance.choices(list(PROMPTS), list(PROMPTS.values()))
        anew: dict[str, Any] = {}
        if chance.random() < 1 / TURNS:
            anew["previous_response_id"] = None
        self._say(self.lane.create(self._numbered(prompt), **anew), "create")
        if self._turns is not None:
            self._turns -= 1

    def _leave(self) -> bool:
        if not self._words:
            self.lane.close()
            self._did("close")
            self.left = True
        return self.left
