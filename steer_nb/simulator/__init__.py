"""A real WebSocket server on this machine that speaks the Responses dialect, without a model.

Scenarios are scripts: generators that yield what the model does, step by step; or YAML files, see
`steer_nb.simulator.written`.

Examples
--------
>>> from steer_nb.simulator import Say, Simulator, Think, scenario
>>> @scenario("parrot", "Says what you say.")
... def parrot(turn):
...     yield Think("A parrot thinks first.")
...     yield Say(turn.prompt)
>>> with Simulator(parrot, speed=0) as simulator:
...     simulator.scenario.name
'parrot'
"""

from __future__ import annotations

from steer_nb.simulator.agents import SendMessage, Spawn, WaitAgents
from steer_nb.simulator.audio import Speak
from steer_nb.simulator.calls import (
    AskApproval,
    CallApplyPatch,
    CallComputer,
    CallCustom,
    CallFunction,
    CallLocalShell,
    CallShell,
    SearchTools,
)
from steer_nb.simulator.embedded import Simulator, list_scenarios, serve_forever
from steer_nb.simulator.faults import (
    Drop,
    Duplicate,
    Enlarge,
    Fault,
    IgnorePings,
    Insert,
    RefuseHandshake,
    Relabel,
    Reorder,
    Stall,
    list_faults,
)
from steer_nb.simulator.hosted import (
    CallMcp,
    Compact,
    ListMcpTools,
    RunCode,
    SearchFiles,
    SearchWeb,
)
from steer_nb.simulator.images import GenerateImage
from steer_nb.simulator.options import Options, list_options
from steer_nb.simulator.outputs import FindTools, RunProgram, RunShell
from steer_nb.simulator.pace import Clock
from steer_nb.simulator.scenario import Scenario, load_scenario, scenario
from steer_nb.simulator.scenarios import SCENARIOS
from steer_nb.simulator.steps import (
    Arm,
    AwaitSteer,
    Disconnect,
    ErrorEvent,
    Fail,
    FailSuccessor,
    Incomplete,
    Pause,
    Queue,
    Refuse,
    RefuseSteers,
    Reject,
    Say,
    Step,
    Think,
)
from steer_nb.simulator.turn import Result, Turn

__all__ = [
    "SCENARIOS",
    "Arm",
    "AskApproval",
    "AwaitSteer",
    "CallApplyPatch",
    "CallComputer",
    "CallCustom",
    "CallFunction",
    "CallLocalShell",
    "CallMcp",
    "CallShell",
    "Clock",
    "Compact",
    "Disconnect",
    "Drop",
    "Duplicate",
    "Enlarge",
    "ErrorEvent",
    "Fail",
    "FailSuccessor",
    "Fault",
    "FindTools",
    "GenerateImage",
    "IgnorePings",
    "Incomplete",
    "Insert",
    "ListMcpTools",
    "Options",
    "Pause",
    "Queue",
    "Refuse",
    "RefuseHandshake",
    "RefuseSteers",
    "Reject",
    "Relabel",
    "Reorder",
    "Result",
    "RunCode",
    "RunProgram",
    "RunShell",
    "Say",
    "Scenario",
    "SearchFiles",
    "SearchTools",
    "SearchWeb",
    "SendMessage",
    "Simulator",
    "Spawn",
    "Speak",
    "Stall",
    "Step",
    "Think",
    "Turn",
    "WaitAgents",
    "list_faults",
    "list_options",
    "list_scenarios",
    "load_scenario",
    "scenario",
    "serve_forever",
]
