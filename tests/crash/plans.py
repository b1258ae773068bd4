"""What a person wants to say and do in one session: for each scenario, and each open question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.simulator import (
    SCENARIOS,
    AwaitSteer,
    CallFunction,
    Fail,
    Say,
    Scenario,
    Think,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn as Asked

__all__ = ["PLANS", "LanePlan", "Plan", "Steering", "Turn"]

Moment = Literal["begun", "text", "call"]


@dataclass(frozen=True)
class Steering:
    """Something said while a response is being written.

    Attributes
    ----------
    text : str
        Unique in its plan.
    at : {"begun", "text", "call"}
        Once the response began, once it has text, or once it has made a call. Where that moment
        has passed unused, it is said as the next turn.
    """

    text: str
    at: Moment = "begun"


@dataclass(frozen=True)
class Turn:
    """One thing to say once the lane is idle, and what to add meanwhile."""

    text: str
    steers: tuple[Steering, ...] = ()
    at_once: bool = False
    """Said while the response before it is still being written: it waits in the lane."""


@dataclass(frozen=True)
class LanePlan:
    """One lane."""

    name: str
    turns: tuple[Turn, ...]
    tools: Literal["none", "ask", "auto"] = "none"
    fork_of: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """Everything that is said in it."""
        return [text for turn in self.turns for text in (turn.text, *(s.text for s in turn.steers))]


@dataclass(frozen=True)
class Plan:
    """A session: its scenario, the simulator's options, and what is done in its lanes.

    Attributes
    ----------
    refusals : frozenset of str
        Codes with which the service refuses requests because the plan wants it to.
    late : str, optional
        A type of event that is long on its way.
    """

    name: str
    scenario: str | Scenario
    lanes: tuple[LanePlan, ...]
    options: dict[str, Any] = field(default_factory=dict)
    refusals: frozenset[str] = frozenset()
    late: str | None = None

    @property
    def ambiguous(self) -> bool:
        """Whether nothing on the wire tells an automatic successor from the response to a request.

        Both continue the same parent, in the order that the documents leave open (5.8 e). The
        client takes the successor to come first, as nearly everybody does.
        """
        return self.options.get("successor_order") == "tail"

    @property
    def multi_agent(self) -> bool:
        """Whether several agents write in one of its lanes."""
        return any("multi_agent" in lane.settings for lane in self.lanes)

    @property
    def texts(self) -> list[str]:
        """Everything that is said in it."""
        return [text for lane in self.lanes for text in lane.texts]


def _lane(name: str, *turns: str | Turn, **more: Any) -> LanePlan:
    made = tuple(Turn(turn) if isinstance(turn, str) else turn for turn in turns)
    return LanePlan(name, made, **more)


def _plan(name: str, scenario: str | Scenario, *lanes: LanePlan, **more: Any) -> Plan:
    refusals, late = frozenset(more.pop("refusals", ())), more.pop("late", None)
    options = {"breath_s": 0.003, "most_deltas": 2, **more}
    return Plan(name, scenario, lanes, options, refusals, late)


@scenario("early", "Calls a function, and then waits for a steer before it ends.")
def early(turn: Asked) -> Iterator[Step]:
    """So the steer waits for the result, and the result for the end of the response."""
    if turn.results:
        yield Say(f"Told {len(turn.results)} results and {len(turn.steers)} steers.")
    elif turn.called():
        yield Say("No more calls.")
    else:
        yield Think("I look it up.")
        yield CallFunction("get_weather", {"city": "Lisbon"})
        yield AwaitSteer(0.3)


@scenario("relapse", "Calls a function, and fails now and then when it has the result.")
def relapse(turn: Asked) -> Iterator[Step]:
    """So the answers have to be given again: which responses fail hangs on their ids."""
    if turn.results:
        yield Say(f"I heard {len(turn.results)} results.")
        if int(turn.response_id[-1], 16) % 2:
            yield Fail()
    elif turn.called():
        yield Say("No more calls, thank you.")
    else:
        yield CallFunction("get_weather", {"city": "Lisbon"})
        yield CallFunction("get_weather", {"city": "Porto"})


@scenario("failures", "As the built-in one, for people who steer at once or not at all.")
def failures(turn: Asked) -> Iterator[Step]:
    """A tenth of a second to steer is enough: ten would often be waited for in vain."""
    for step in SCENARIOS["failures"](turn):
        yield AwaitSteer(0.1) if isinstance(step, AwaitSteer) else step


@scenario("kinds", "Plays in each lane the scenario that it is named after.")
def kinds(turn: Asked) -> Iterator[Step]:
    """So that all kinds of required input are asked for side by side, one in each lane."""
    yield from SCENARIOS[str(turn.lane)](turn)


_CHEAP = Steering("Keep it cheap, please.")
_SLOW = Steering("Take more breaks.", "text")
_ALONE = Steering("One person only.", "text")
_COMPARE = "Compare the weather in Rome and Paris."
_TEAM = {"multi_agent": {"enabled": True}}
_TRAINS = Steering("Trains, no buses.", "call")

_BASE = (
    _plan(
        "planner-steer",
        "planner",
        _lane("a", Turn("Plan two days in Lisbon.", (_CHEAP,)), "Thank you so much."),
    ),
    _plan(
        "planner-steers",
        "planner",
        _lane("a", Turn("Plan two days in Porto.", (_CHEAP, _SLOW, _ALONE)), "Thank you all."),
    ),
    _plan(
        "planner-lanes",
        "planner",
        _lane("a", Turn("Plan a day in Faro.", (_CHEAP,))),
        _lane("b", Turn("Plan a day in Evora.", (_SLOW,))),
        _lane("c", "And what about Sintra?", fork_of="a"),
    ),
    _plan(
        "planner-queue",
        "planner",
        _lane(
            "a",
            Turn("Plan a day in Braga.", (_SLOW,)),
            Turn("And a day in Guarda.", at_once=True),
        ),
    ),
    _plan(
        "weather-auto",
        "weather",
        _lane("a", "What is the weather in Lisbon?", "And in Porto?", tools="auto"),
    ),
    _plan(
        "weather-ask",
        "weather",
        _lane("a", "What is the weather in Faro?", "And in Evora?", tools="ask"),
    ),
    _plan(
        "early",
        early,
        _lane(
            "a",
            Turn("What is the weather in Braga?", (_TRAINS,)),
            "That was all, thanks.",
            tools="auto",
        ),
    ),
    _plan(
        "early-continuation",
        early,
        _lane(
            "a",
            Turn("What is the weather in Chaves?", (_TRAINS,)),
            "That was all of that.",
            tools="auto",
        ),
        acknowledge="after_terminal",
        late="response.steer.accepted",
    ),
    _plan(
        "weather-lanes",
        "weather",
        _lane("a", "What is the weather in Guarda?", tools="auto"),
        _lane("b", "What is the weather in Beja?", tools="ask"),
        _lane("c", "What is the weather in Tomar?"),
    ),
    _plan(
        "relapse",
        relapse,
        _lane("a", "What is the weather in Moura?", "That was all of it.", tools="auto"),
        _lane("b", "What is the weather in Serpa?", "That was it.", tools="ask"),
    ),
    _plan(
        "weather-fork",
        "weather",
        _lane("a", Turn("What is the weather in Aveiro?", (_TRAINS,)), tools="auto"),
        _lane("b", "And how is it in Sagres?", fork_of="a", tools="auto"),
        _lane("c", "Or in Silves?", fork_of="a", tools="ask"),
    ),
    _plan(
        "kinds",
        kinds,
        _lane("weather", "What is the weather in Olhao?", tools="ask"),
        _lane("custom", "Find hotels in Olhao."),
        _lane("computer", "Click on my screen."),
        _lane("shell", "Run my shell."),
        _lane("patch", "Change my patch."),
        _lane("tools", "Find my tools."),
        _lane("approval", "Delete my event."),
    ),
    _plan(
        "seven-lanes",
        "seven",
        _lane("a", "Do the first audit."),
        _lane("b", Turn("Do the second audit.", (_TRAINS,))),
    ),
    _plan("seven", "seven", _lane("a", "Do the audit of everything.", "Thanks for the audit.")),
    _plan(
        "seven-steer",
        "seven",
        _lane("a", Turn("Do the great audit.", (_TRAINS,)), "Thanks for it."),
    ),
    _plan("custom", "custom", _lane("a", "Find hotels in Lisbon.", "Thank you, custom.")),
    _plan("computer", "computer", _lane("a", "Click on the screen.", "Thank you, computer.")),
    _plan("shell", "shell", _lane("a", "Run the shell.", "Thank you, shell.")),
    _plan("patch", "patch", _lane("a", "Change the patch.", "Thank you, patch.")),
    _plan("tools", "tools", _lane("a", "Find the tools.", "Thank you, tools.")),
    _plan("approval", "approval", _lane("a", "Delete the event.", "Thank you, approval.")),
    _plan("gallery", "gallery", _lane("a", "Show the gallery.", "Thank you, gallery.")),
    _plan(
        "gallery-team",
        "gallery",
        _lane("a", "Show the whole gallery.", "Thanks to all of it.", settings=_TEAM),
    ),
    _plan(
        "agents-ask",
        "agents",
        _lane("a", _COMPARE, "Thank you, agents.", tools="ask", settings=_TEAM),
    ),
    _plan(
        "agents-auto",
        "agents",
        _lane("a", _COMPARE, "Thank you, agents.", tools="auto", settings=_TEAM),
    ),
    _plan(
        "failures",
        failures,
        _lane(
            "a",
            "Now server_error please.",
            "Now max_output_tokens please.",
            "Now insufficient_quota please.",
            "Now a refusal please.",
            "Now credit_balance_exhausted please.",
            "That is the end.",
        ),
        refusals=("insufficient_quota",),
    ),
    _plan(
        "failures-more",
        failures,
        _lane(
            "a",
            "Now rate_limit_exceeded please.",
            "Now max_messages please.",
            "Now invalid_prompt please.",
            "Now content_filter please.",
            "Now model_not_found please.",
            "Now websocket_connection_limit_reached please.",
            "Now previous_response_not_found please.",
            "That is the end of it.",
        ),
        refusals=(
            "model_not_found",
            "previous_response_not_found",
            "websocket_connection_limit_reached",
        ),
    ),
    _plan(
        "failures-missing-output",
        failures,
        _lane(
            "a",
            "First missing_output please.",
            "That is the end of that.",
        ),
    ),
    _plan(
        "failures-refused-steers",
        failures,
        _lane(
            "a",
            Turn("Now response_not_found, please.", (Steering("Steer one.", "text"),)),
            Turn("Now invalid_input, please.", (Steering("Steer two.", "text"),)),
            Turn("Now steering_not_supported, please.", (Steering("Steer three.", "text"),)),
            Turn("Now too_many_pending_steers, please.", (Steering("Steer four.", "text"),)),
            Turn("Now response_already_completed, please.", (Steering("Steer five.", "text"),)),
            Turn("Now response_not_active, please.", (Steering("Steer six.", "text"),)),
            "Enough of that.",
        ),
    ),
    _plan(
        "failures-steers",
        failures,
        _lane(
            "a",
            Turn("First server_error, please.", (_CHEAP,)),
            Turn("Then max_output_tokens, please.", (_SLOW,)),
            Turn("Then successor_creation_failed, please.", (_ALONE,)),
            "That is really the end.",
        ),
        breath_s=0.01,
    ),
    _plan(
        "failures-disconnect",
        failures,
        _lane("a", "First a refusal, please.", "Then disconnect, please.", "Still there?"),
    ),
    _plan(
        "steering-not-supported",
        "planner",
        _lane(
            "a",
            Turn("Plan a day in Viseu.", (_CHEAP,)),
            "Thanks, old.",
            settings={"model": "gpt-5"},
        ),
    ),
    _plan(
        "not-stored",
        "weather",
        _lane(
            "a",
            Turn("What is the weather in Leiria?", (_TRAINS,)),
            "Not stored, thanks.",
            tools="ask",
            settings={"store": False},
        ),
    ),
)

# With several_steers=each (5.8 f) only where a response has one steer: a connection lost between
# two successors takes steers with it that the first, by every document, had taken up, and nothing
# on the wire says so. `test_people` plays that position with several.
_POSITIONS = (
    ("steer_waiting", "refuse", ("early", "seven-steer")),
    ("steer_completed", "accept", ("planner-steers", "failures-steers")),
    ("steer_limited", "fail", ("failures-steers",)),
    ("steer_failed", "successor", ("failures-steers",)),
    ("successor_order", "tail", ("planner-queue",)),
    ("several_steers", "each", ("failures-steers", "seven-steer")),
    ("missing_output", "fail", ("early",)),
    ("wrong_lane", "fork", ("planner-lanes",)),
    ("unknown_target_sequence", 7, ("planner-steers",)),
    ("acknowledge", "after_terminal", ("planner-steers", "early", "seven-steer")),
    ("acknowledge", "after_successor", ("planner-steers", "early", "seven-steer")),
    ("async_calls", "block", ("seven-steer",)),
    ("steered_reasoning", "interrupt", ("planner-steers",)),
    ("lane_queued", "event", ("planner-queue", "weather-lanes")),
    ("cut_between_calls", True, ("seven-steer",)),
    ("max_pending_steers", 1, ("planner-steers",)),
    ("empty_steer", "accept", ("planner-steer",)),
    ("done_event", True, ("weather-ask",)),
    ("agents_waiting", "complete", ("agents-ask",)),
    ("inject_acknowledge", "after_terminal", ("agents-ask", "agents-auto")),
    ("malformed_inject_close", 1011, ("agents-auto",)),
)


def _varied() -> list[Plan]:
    plans = {plan.name: plan for plan in _BASE}
    made = []
    for option, value, names in _POSITIONS:
        for name in names:
            plan = plans[name]
            options = {**plan.options, option: value}
            made.append(replace(plan, name=f"{name}@{option}={value}", options=options))
    return made


PLANS: dict[str, Plan] = {plan.name: plan for plan in (*_BASE, *_varied())}
"""Every plan by name; ``plan@option=value`` plays one over another answer to an open question."""
