"""After a lost connection: what is true of a lane, and what can be done. Offered, never done.

Sources: guide "WebSocket mode", on reconnecting (with `store` on, continue with
`previous_response_id`; otherwise a new chain with the full context), and guide "steering" (queued
steering exists on its connection only; "do not assume pending steering survived"). What the service
said since, when it was asked, is in `steer_nb.ledger.checking`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steer_nb.ledger.checking import base_of, cut_off_words
from steer_nb.ledger.context import rebuild
from steer_nb.ledger.required import active_continuation
from steer_nb.ledger.rules import standing
from steer_nb.wire.naming import shortened

if TYPE_CHECKING:
    from steer_nb.ledger.context import Context
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState, ResponseState, ResumeWord

__all__ = ["Choice", "Offer", "offer"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way for a lane to go on.

    Attributes
    ----------
    word : {"continue", "rebuild", "leave"}
        What to pass to `Lane.recover`.
    says : str
        What it does, as one sentence.
    base : str or None
        The response it goes on from.
    """

    word: ResumeWord
    says: str
    base: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Offer:
    """What is true of a detached lane, and how it can go on.

    Attributes
    ----------
    lane : str
        Its name.
    truth : tuple of str
        What is known, one sentence each.
    choices : tuple of Choice
        What can be done, the best first. The last is always to leave it.
    """

    lane: str
    truth: tuple[str, ...]
    choices: tuple[Choice, ...]

    def choice(self, word: str) -> Choice | None:
        """The choice of that word, if it is offered."""
        return next((choice for choice in self.choices if choice.word == word), None)

    def __repr__(self) -> str:
        width = max((len(choice.word) for choice in self.choices), default=0)
        lines = [f"Lane {self.lane}: {' '.join(self.truth)}"]
        lines += [
            f'  recover("{c.word}"){" " * (width - len(c.word))}  {c.says}' for c in self.choices
        ]
        return shortened("\n".join(lines))

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)


def offer(ledger: Ledger, lane: LaneState) -> Offer | None:
    """Say what is true of a detached lane and what can be done; None where nothing needs to be."""
    if not lane.detached or lane.closed is not None:
        return None
    truth = _truth(ledger, lane)
    choices: list[Choice] = []
    stored = base_of(ledger, lane)
    if stored is not None:
        choices.append(Choice("continue", _continuing(stored, _after(lane, stored)), stored.id))
    tip = _newest(lane)
    context = None if tip is None else rebuild(ledger, tip.id)
    if tip is not None and context is not None:
        says = f"begin a new chain that repeats the conversation up to {tip.id} ({_size(context)})"
        if context.cancelled:
            says += f"; calls nobody answered are answered as cancelled: {len(context.cancelled)}"
        if context.left_out:
            says += f"; without {', '.join(dict.fromkeys(context.left_out))}"
        choice = Choice("rebuild", says, tip.id)
        if stored is not None and _holds_more(stored, _after(lane, stored)):
            choices.insert(0, choice)  # what was done after the stored response is not done twice
        else:
            choices.append(choice)
    elif tip is not None:
        truth.append("The conversation began before this trace, so it cannot be repeated from it.")
    choices.append(Choice("leave", "leave it: what you say next begins a new conversation", None))
    return Offer(lane.name, tuple(truth), tuple(choices))


def _truth(ledger: Ledger, lane: LaneState) -> list[str]:
    if lane.detached_for == "previous_response_not_found":
        truth = ["The service no longer has the response that the lane was to continue from."]
    else:
        truth = ["The connection is gone, and with it what the service kept for this lane."]
    tip = lane.responses[-1] if lane.responses else None
    if tip is not None:
        if tip.status == "truncated":
            known = "" if tip.checked else ", and whether it ended is unknown"
            truth.append(f"{tip.id} was being written; what came is kept{known}.")
            asked = cut_off_words(ledger, tip)
            truth += [asked] if asked else []
        elif tip.settled is not None:
            truth.append(f"{tip.id} was cut off, and ended there: {tip.status}, says the service.")
        else:
            truth.append(f"{tip.id} ended: {tip.status}.")
        asking = standing(lane)  # one before it, where its newest came to nothing
        if asking is not None and _waits(asking):
            who = "It" if asking is tip else asking.id
            filled = sum(stub.state == "filled" for stub in asking.required.values())
            total = sum(stub.is_open for stub in asking.required.values())
            answers = "1 answer" if total == 1 else f"{total} answers"
            saved = f"; {'1 is' if filled == 1 else f'{filled} are'} filled, and saved"
            truth.append(f"{who} waits for {answers}{saved if filled else ''}.")
    for request in lane.requests:
        if request.undecided:
            truth.append(
                f"The request {request.key} was written and nothing was heard: it may have been "
                "received. It is not sent again by itself."
            )
    for response in lane.responses:
        for inject in response.injects:
            if inject.undecided:
                truth.append(
                    f"The inject {inject.key} was written and not acknowledged: its answers may "
                    "have been received. They are not sent again by themselves."
                )
    steers = [s for r in lane.responses for s in r.steers if s.undecided]
    if steers:
        what = "1 steer has" if len(steers) == 1 else f"{len(steers)} steers have"
        truth.append(f"{what} an unknown outcome: send again, or drop.")
    truth += [
        f"{steer.key} was looked for in {steer.looked_in}, and nothing proves that it is in there."
        for steer in steers
        if steer.looked_in is not None
    ]
    return truth


def _cut_short(response: ResponseState) -> bool:
    """Whether the end of the connection is what ended it, as far as is known."""
    broken = response.settled is not None and response.status in ("failed", "cancelled")
    return response.status == "truncated" or broken


def _newest(lane: LaneState) -> ResponseState | None:
    for response in reversed(lane.responses):
        if response.status in ("completed", "incomplete", "truncated"):
            return response
    return None


def _after(lane: LaneState, stored: ResponseState) -> list[ResponseState]:
    """What began in the lane after a response, and would be left by continuing from that."""
    return lane.responses[lane.responses.index(stored) + 1 :]


def _continuing(stored: ResponseState, left: list[ResponseState]) -> str:
    asked = any(not stub.optional for stub in stored.required.values())
    waits = _waits(stored) or (asked and any(stored.successor is one for one in left))
    what = "its answers" if waits else "what you say next"
    says = f"continue from {stored.id}, which the service has stored, with {what}"
    cut = [response.id for response in left if _cut_short(response)]
    if cut:
        says += f"; it leaves {', '.join(cut)}: what was said to it can be sent again"
    return says


def _holds_more(stored: ResponseState, left: list[ResponseState]) -> bool:
    """Whether more than one turn, or an answer or a tool's result, would be left."""
    if any(response.previous_response_id != stored.id for response in left):
        return True
    return any(
        stub.item is not None or stub.tool is not None
        for response in left
        for stub in response.required.values()
    )


def _waits(response: ResponseState) -> bool:
    return bool(response.waiting_for) and active_continuation(response) is None


def _size(context: Context) -> str:
    count = len(context.items)
    return f"{count} item" if count == 1 else f"{count} items"
