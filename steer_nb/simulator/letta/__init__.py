"""A real HTTP server on this machine that speaks Letta's V1 API, without a model.

It behaves as the server 0.16.8 was measured to: messages in whole steps and in tokens, approvals,
client tools, background runs that can be resumed, locks, errors, and what is odd in all of these.
``steer-nb simulate --dialect letta`` serves it, `LettaSimulator` runs it inside a program.

What the model says is a script, as in the Responses dialect (`steer_nb.simulator`): its steps
`Say`, `Think`, `CallFunction`, `Pause`, `Fail` and `Arm` mean the same here, `Hide` and `Spend` are
Letta's own. Tools of the server are little functions (`ServerTool`); which of them need approval,
and which the client runs, is decided as in a real server.

A simulator can also say again what a server was recorded to say (`LettaScenario.from_trace`), or go
on where a recorded server was (``LettaSimulator(remembers=TRACE)``).

Examples
--------
>>> from steer_nb.simulator import CallFunction, Say, letta
>>> def roll(sides: int) -> str:
...     return f"a {sides}"
>>> @letta.scenario("dice", "Rolls a die.", tools=[roll])
... def dice(turn):
...     if turn.results:
...         yield Say("Done.")
...     else:
...         yield CallFunction("roll", {"sides": 6})
>>> with letta.LettaSimulator(dice, speed=0) as simulator:
...     simulator.scenario
<Scenario 'dice': Rolls a die.>
"""

from __future__ import annotations

from steer_nb.simulator.letta.embedded import LETTA, LettaSimulator, list_scenarios
from steer_nb.simulator.letta.faults import (
    LETTA_FAULTS,
    Busy,
    Drop,
    EarlyConflict,
    HangResume,
    HoldModel,
    HoldTool,
    LettaFault,
    LoseAnswer,
    NoEof,
    NoRedis,
    PhantomCall,
    RefuseRequest,
    Stall,
    StuckCancel,
    Unlock,
)
from steer_nb.simulator.letta.options import LettaOptions
from steer_nb.simulator.letta.scenario import LettaScenario, scenario
from steer_nb.simulator.letta.scenarios import SCENARIOS
from steer_nb.simulator.letta.steps import Hide, Spend
from steer_nb.simulator.letta.tools import Outcome, ServerTool
from steer_nb.simulator.letta.turn import LettaTurn

__all__ = [
    "LETTA",
    "LETTA_FAULTS",
    "SCENARIOS",
    "Busy",
    "Drop",
    "EarlyConflict",
    "HangResume",
    "Hide",
    "HoldModel",
    "HoldTool",
    "LettaFault",
    "LettaOptions",
    "LettaScenario",
    "LettaSimulator",
    "LettaTurn",
    "LoseAnswer",
    "NoEof",
    "NoRedis",
    "Outcome",
    "PhantomCall",
    "RefuseRequest",
    "ServerTool",
    "Spend",
    "Stall",
    "StuckCancel",
    "Unlock",
    "list_scenarios",
    "scenario",
]
