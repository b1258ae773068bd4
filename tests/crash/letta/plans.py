"""What a person wants to say and decide in one session with a Letta server.

Each plan is played in whole steps and in tokens, and on a server with Redis (runs in the
background, which can be read on) and on one without (runs that end with their reader).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.simulator import CallFunction, Say, Think
from steer_nb.simulator.letta import SCENARIOS, LettaScenario, ServerTool, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.letta import LettaTurn
    from steer_nb.simulator.steps import Step

__all__ = ["PLANS", "LettaLanePlan", "LettaPlan", "Said"]


@dataclass(frozen=True)
class Said:
    """One thing that is said.

    Attributes
    ----------
    text : str
        Unique in its plan.
    when : {"idle", "running", "waiting"}
        What the lane does then. What is said while it writes or waits is kept there; where that
        moment has passed unused, it is said as the next turn.
    """

    text: str
    when: Literal["idle", "running", "waiting"] = "idle"


@dataclass(frozen=True)
class LettaLanePlan:
    """One lane: a conversation of its own, or the agent's default one."""

    name: str
    said: tuple[Said, ...]
    tools: Literal["none", "ask", "auto"] = "none"
    denied: tuple[str, ...] = ()
    """Calls with one of these in their arguments are denied, with a reason."""
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LettaPlan:
    """A session: its scenario, what is wrong with the server, and what is done in its lanes."""

    name: str
    scenario: LettaScenario
    lanes: tuple[LettaLanePlan, ...]
    faults: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Everything that is said in it."""
        return [said.text for lane in self.lanes for said in lane.said]

    @property
    def background(self) -> bool:
        """Whether runs go on without a reader."""
        return "no_redis" not in self.faults


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@scenario(
    "chain",
    "Asks for one approval after another in the same turn.",
    tools=[ServerTool.of(delete_file, requires_approval=True)],
)
def chain(turn: LettaTurn) -> Iterator[Step]:
    """The answer to one request ends in the next."""
    deleted = [call for call in turn.history if call["name"] == "delete_file"]
    if "chain" in turn.prompt and len(deleted) < 2:
        yield Think("One after another.")
        yield CallFunction("delete_file", {"path": f"/srv/{len(deleted)}.log"})
    else:
        yield Say(f"I called {len(deleted)} times.")


def _lane(name: str, *said: str | Said, **more: Any) -> LettaLanePlan:
    made = tuple(Said(one) if isinstance(one, str) else one for one in said)
    return LettaLanePlan(name, made, **more)


_DELETE = "delete /srv/old.log"
_BASE = (
    LettaPlan("approve", SCENARIOS["files"], (_lane("a", _DELETE, "Thank you."),)),
    LettaPlan(
        "deny",
        SCENARIOS["files"],
        (
            _lane(
                "a", _DELETE, "Thank you.",
                denied=("old.log",), settings={"conversation": "default"},
            ),
        ),
    ),
    LettaPlan(
        "mixed", SCENARIOS["parallel"],
        (_lane("a", "Do all of it.", tools="ask", denied=("notes.txt",)),),
    ),
    LettaPlan(
        "auto", SCENARIOS["files"],
        (_lane("a", "weather, please", "And tomorrow?", tools="auto"),),
    ),
    LettaPlan(
        "queued", SCENARIOS["files"],
        (
            _lane(
                "a", _DELETE, Said("Be quick.", "waiting"), Said("And careful.", "waiting"),
                "Thank you.",
            ),
        ),
    ),
    LettaPlan(
        "running", SCENARIOS["files"],
        (_lane("a", "Hello.", Said("Say it again.", "running"), "Thank you."),),
    ),
    LettaPlan(
        "lanes", SCENARIOS["files"],
        (
            _lane("a", _DELETE, Said("Be quick.", "waiting")),
            _lane("b", "remove /srv/notes.txt", "Thank you.", denied=("notes.txt",)),
        ),
    ),
    LettaPlan("chain", chain, (_lane("a", "chain, please", "Thank you."),)),
)  # fmt: skip


def _varied() -> Iterator[LettaPlan]:
    for plan in _BASE:
        for mode, tokens in (("steps", False), ("tokens", True)):
            lanes = tuple(
                replace(lane, settings={**lane.settings, "stream_tokens": tokens})
                for lane in plan.lanes
            )
            for place, faults in (("background", ()), ("foreground", ("no_redis",))):
                name = f"{plan.name}-{mode}-{place}"
                yield replace(plan, name=name, lanes=lanes, faults=faults)


PLANS: dict[str, LettaPlan] = {plan.name: plan for plan in _varied()}
"""Every plan by name."""
