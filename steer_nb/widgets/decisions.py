"""What a person has to decide after a connection was lost: as values, as HTML, as text. Pure.

The words come from the ledger (`steer_nb.ledger.recovery`); here stands only how they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from steer_nb.ledger import checking, recovery
from steer_nb.ledger.state import InjectState, SteerState
from steer_nb.widgets.text import clip, esc, esc_strict, plain, seconds, shortened
from steer_nb.widgets.words import (
    Chip,
    closed_by_person,
    input_text,
    line_over,
    line_trying,
    undecided,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.ledger import Ledger
    from steer_nb.ledger.recovery import Choice, Offer
    from steer_nb.ledger.state import LaneState, RequestState, ResponseState

__all__ = [
    "ASK_SAYS",
    "NEXT_TURN_CODES",
    "Decisions",
    "Undecided",
    "decisions_html",
    "decisions_plain",
    "line_html",
    "line_plain",
    "to_decide",
]

NEXT_TURN_CODES: Final = frozenset({"response_already_completed", "response_not_active"})
"""Failures of a steer that came too late: its text can be the next turn."""

ASK_SAYS: Final = "ask the service what became of it; that changes nothing there"

_MOST: Final = 20
_LATEST: Final = 8
_TEXT_CAP: Final = 160


@dataclass(frozen=True, slots=True)
class Undecided:
    """A message that a person may send once more, or do without.

    Attributes
    ----------
    key : str
        Its local key, such as ``steer-2``.
    what : str
        ``steer``, ``request``, ``continuation`` or ``inject``.
    text : str
        What was said in it, whole.
    why : str
        What is known of it.
    verb : str
        What sending it once more is called.
    failed : bool
        Whether it certainly failed; else its outcome is unknown.
    fresh : bool
        Whether it failed and a person has said nothing on its lane since.
    whole : bool
        Whether `text` is all that was said, and goes back into the text box.
    """

    key: str
    what: str
    text: str
    why: str
    verb: str = "Send again"
    failed: bool = False
    fresh: bool = False
    whole: bool = False

    @property
    def shown(self) -> str:
        """Its text, short and on one line."""
        line = " ".join(self.text.split())
        return clip(line, _TEXT_CAP) or "(no text)"


@dataclass(frozen=True, slots=True)
class Decisions:
    """Everything that is to be decided on one lane.

    Attributes
    ----------
    lane : str
        Its name.
    truth : tuple of str
        What is known of it, where it lost its connection.
    choices : tuple of Choice
        How it can go on; empty where it did not, or while nothing can be sent anyway.
    messages : tuple of Undecided
        Messages with an unknown outcome, oldest first.
    returned : tuple of Undecided
        Steers that failed, of the newest responses, requests that were refused or never left this
        machine, and what went into a response that came to nothing: their text goes back to the
        person.
    ask : bool
        Whether the service can be asked, and may settle some of it.
    """

    lane: str
    truth: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    messages: tuple[Undecided, ...] = ()
    returned: tuple[Undecided, ...] = ()
    ask: bool = False

    def __bool__(self) -> bool:
        return bool(self.choices or self.messages)


# An offer repeats the whole conversation to count it: too much for each of ten paints in a second.
_offers: WeakKeyDictionary[Ledger, dict[str | None, tuple[int, Offer | None]]]
_offers = WeakKeyDictionary()


def _offer(ledger: Ledger, lane: LaneState) -> Offer | None:
    if not lane.detached:
        return None
    kept = _offers.setdefault(ledger, {})
    version, offer = kept.get(lane.stream_id, (-1, None))
    if version != ledger.version:
        offer = recovery.offer(ledger, lane)
        kept[lane.stream_id] = (ledger.version, offer)
    return offer


def to_decide(ledger: Ledger, lane: LaneState) -> Decisions:
    """Collect what a person has to decide on a lane.

    Where the connection is gone, or a new connection is being tried, nothing can be done now: then
    only what is true is there.
    """
    if closed_by_person(ledger):
        return Decisions(lane.name)
    offer = _offer(ledger, lane)
    truth = () if offer is None else offer.truth
    if lane.closed is not None or line_over(ledger) or line_trying(ledger):
        return Decisions(lane.name, truth)
    choices = () if offer is None else offer.choices
    messages = tuple(_message(thing) for thing in undecided(lane)[:_MOST])
    ask = bool(choices or messages) and checking.worth_asking(ledger, lane)
    return Decisions(lane.name, truth, choices, messages, _returned(lane), ask)


def _message(thing: SteerState | RequestState | InjectState) -> Undecided:
    if isinstance(thing, InjectState):
        return Undecided(thing.key, "inject", f"[{_answers(thing.answers)}]", "outcome unknown")
    if isinstance(thing, SteerState) and thing.state == "queued_here":
        why = "queued here, and not sent: something went wrong before it"
        return Undecided(thing.key, "steer", input_text(thing.input), why, "Send now")
    if isinstance(thing, SteerState):
        looked = "" if thing.looked_in is None else f"; {thing.looked_in} does not prove it"
        return Undecided(thing.key, "steer", input_text(thing.input), f"outcome unknown{looked}")
    text = input_text(thing.own_input)
    if thing.answers:
        text = f"[{_answers(thing.answers)}] {text}".rstrip()
    what = "continuation" if thing.answers else "request"
    return Undecided(thing.key, what, text, "outcome unknown")


def _answers(items: tuple[object, ...]) -> str:
    return "1 answer" if len(items) == 1 else f"{len(items)} answers"


def _failed(steer: SteerState, *, fresh: bool) -> Undecided:
    late = steer.failure_code in NEXT_TURN_CODES
    verb = "Send as next turn" if late else "Send again"
    why = _reason(steer.failure_code, steer.failure_message)
    return _back(steer.key, "steer", steer.input, why, verb, fresh=fresh)


def _back(
    key: str,
    what: str,
    value: object,
    why: str,
    verb: str = "Send again",
    *,
    fresh: bool = True,
    box: bool = True,
) -> Undecided:
    text = input_text(value)
    whole = box and text == value and "\r" not in text  # of which a field makes line feeds
    return Undecided(key, what, text, why, verb, failed=True, fresh=fresh, whole=whole)


def _reason(code: str | None, message: str | None) -> str:
    return ": ".join(part for part in (code, message) if part) or "the service gave no reason"


def _came_to_nothing(lane: LaneState, *, fresh: bool) -> Iterator[Undecided]:
    """What went into the newest responses that failed or were left, unless it was decided."""
    if lane.queue:
        return  # whoever has said something since goes on with that
    for response in reversed(lane.responses[-_LATEST:]):
        if not response.left:
            return
        # A person who chose how the lane goes on knows; the box is for what comes unasked.
        cut = response.status == "truncated" or response.settled is not None
        why = _reason(response.error_code, response.error_message)
        why = "its response was cut off" if cut else why
        request = response.request
        # A continuation is offered by its form: there the answers can still be changed.
        if request is not None and request.decision is None and not request.answers:
            yield _back(request.key, "request", request.own_input, why, fresh=fresh, box=not cut)
        for steer in _taken_up(lane, response):
            if steer.decision is None:
                yield _back(steer.key, "steer", steer.input, why, fresh=fresh, box=not cut)


def _taken_up(lane: LaneState, response: ResponseState) -> list[SteerState]:
    parents = [r for r in lane.responses if r.id == response.previous_response_id]
    return [s for parent in parents for s in parent.steers if s.successor_id == response.id]


def _returned(lane: LaneState) -> tuple[Undecided, ...]:
    """What failed in the newest responses, or with them, and nobody sent again or dropped."""
    steers = [steer for response in lane.responses[-_LATEST:] for steer in response.steers]
    sent = [steer.sent.seq for steer in steers if steer.sent is not None]
    last = max([*sent, *(request.sent.seq for request in lane.requests[-1:])], default=-1)
    failed = [
        (steer, steer.failed.seq > last)
        for steer in steers
        if steer.failed is not None
        and steer.state == "failed"
        and steer.decision is None
        and steer.sent is not None
    ]
    refused = [_failed(steer, fresh=fresh) for steer, fresh in failed[-_MOST:]]
    rejected = list(_rejected(lane, last))[::-1]
    # Whoever has said something since a response failed goes on with that, refused or not.
    left = _came_to_nothing(lane, fresh=not any(one.fresh for one in rejected))
    return (*refused, *list(left)[::-1], *rejected)


def _rejected(lane: LaneState, last: int) -> Iterator[Undecided]:
    """The newest requests, where the service refused them or they never left this machine."""
    for request in reversed(lane.requests[-_LATEST:]):
        nothing = request.state in ("failed", "unsent") and request.response_id is None
        if not nothing or request.ended is None:
            return
        if request.decision is None and not request.answers:  # its form offers those
            unsent = request.state == "unsent"
            code = "not_sent" if unsent else request.error_code
            why = _reason(code, request.error_message)
            fresh = request.ended.seq > last
            yield _back(request.key, "request", request.own_input, why, fresh=fresh)


# -- the connection --------------------------------------------------------------------------------


def line_chip(ledger: Ledger) -> tuple[Chip, str] | None:
    """Say whether a new connection is tried, or no more is, and why; None where all is well."""
    trying = ledger.reconnecting
    if trying is not None:
        text = f"connecting again (attempt {trying.attempt} of {trying.attempts})"
        when = f" · next try in {seconds(trying.delay_s)}" if trying.delay_s else ""
        return Chip("run", "◔", text, 2), f"{clip(trying.reason, 300)}{when}"
    if ledger.gave_up is not None and line_over(ledger):
        return Chip("fail", "▲", "gave up connecting again", 1), clip(ledger.gave_up, 300)
    return None


_TAKE_UP: Final = "%steer recover"


def line_html(ledger: Ledger) -> str:
    """Draw the state of the connection, where it is lost; empty where all is well."""
    found = line_chip(ledger)
    if found is None:
        return ""
    chip, why = found
    hint = ""
    if chip.css == "fail":
        hint = (
            f' <span class="snb-hint"><code>{_TAKE_UP}</code> takes it up from its journal</span>'
        )
    return (
        f'<div class="snb-need"><span class="snb-chip snb-{chip.css}">'
        f'<span aria-hidden="true">{chip.symbol}</span> {esc(chip.text)}</span> '
        f'<span class="snb-soft" dir="auto">{esc(why)}</span>{hint}</div>'
    )


def line_plain(ledger: Ledger) -> str:
    """Write the same as text."""
    found = line_chip(ledger)
    if found is None:
        return ""
    chip, why = found
    hint = f" {_TAKE_UP} takes it up from its journal." if chip.css == "fail" else ""
    return f"{chip}: {plain(why)}{hint}"


# -- the decisions ---------------------------------------------------------------------------------


def decisions_html(decisions: Decisions) -> str:
    """Draw what is true of a lane, and what can be typed; empty where nothing is to be decided."""
    if not decisions and not decisions.truth:
        return ""
    rows = []
    if decisions.truth:
        said = shortened(" ".join(decisions.truth))
        rows.append(f'<p class="snb-truth" dir="auto">{esc(clip(said, 2000))}</p>')
    lane = esc_strict(clip(decisions.lane, 256))
    if decisions.ask:
        rows.append(_row("check", ASK_SAYS, f"%steer check {lane}"))
    for choice in decisions.choices:
        code = f"%steer resume {lane} {choice.word}"
        rows.append(_row(choice.word, esc(clip(shortened(choice.says), 600)), code))
    for message in decisions.messages:
        why = esc(shortened(message.why))
        said = f"<bdi>“{esc(message.shown)}”</bdi> · {why}: send again or drop"
        key = esc_strict(message.key)
        rows.append(_row(message.what, said, f"%steer again {key}", f"%steer drop {key}"))
    if decisions.choices:
        word = decisions.choices[0].word
        rows.append(f'<p class="snb-hint">In Python: <code>lane.recover("{word}")</code></p>')
    elif decisions.messages:
        rows.append(
            '<p class="snb-hint">In Python: <code>send_again()</code> or <code>drop()</code> of '
            "its handle</p>"
        )
    return f'<div class="snb-need snb-decide">{"".join(rows)}</div>'


def _row(head: str, said: str, *codes: str) -> str:
    shown = " ".join(f"<code>{code}</code>" for code in codes)
    return (
        f'<p class="snb-way"><b>{esc_strict(head)}</b> <span>{said}</span> '
        f'<span class="snb-hint">{shown}</span></p>'
    )


def decisions_plain(decisions: Decisions) -> list[str]:
    """Write the same as lines of text."""
    lines = [plain(sentence) for sentence in decisions.truth]
    name = plain(decisions.lane)
    if decisions.ask:
        lines.append(f"  %steer check {name}: {ASK_SAYS}")
    lines += [
        f"  %steer resume {name} {choice.word}: {plain(choice.says)}"
        for choice in decisions.choices
    ]
    for message in decisions.messages:
        key = plain(message.key)
        lines.append(
            f"  {message.what} “{plain(message.shown)}”, {plain(message.why)}: "
            f"%steer again {key}, or %steer drop {key}"
        )
    return lines
