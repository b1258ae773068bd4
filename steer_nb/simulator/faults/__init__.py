"""Faults on purpose: what goes wrong between the simulator and its client, and when.

A fault is armed with `Simulator(faults=…)`, ``steer-nb simulate --fault``, a scenario (its
``faults``, or the step `Arm`), or while the simulator runs: ``simulator.faults.add``, or HTTP (see
`steer_nb.simulator.control`). Each has a word, the same in all of these places.

Messages are counted on each connection from when the fault is armed, and only those that fit its
filters. `at` is the first that is struck, `times` how many are, over all connections (None: no
end). What the faults themselves send is not counted.

Examples
--------
>>> from steer_nb.simulator import Drop, Fault
>>> Drop(at=5, code=1011)
Drop(at=5, code=1011)
>>> Fault.of("drop at=5 code=1011") == Fault.of({"fault": "drop", "at": 5, "code": 1011})
True
>>> print(Drop(type="response.completed", side="before"))
drop type=response.completed side=before
"""

from __future__ import annotations

from steer_nb.simulator.faults.armed import Armed, Faults, facts_of
from steer_nb.simulator.faults.fault import FAULTS, Facts, Fault, Way
from steer_nb.simulator.faults.kinds import (
    Drop,
    Duplicate,
    Enlarge,
    IgnorePings,
    Insert,
    RefuseHandshake,
    Relabel,
    Reorder,
    Stall,
)
from steer_nb.simulator.faults.listing import FaultInfo, FieldInfo, list_faults

__all__ = [
    "FAULTS",
    "Armed",
    "Drop",
    "Duplicate",
    "Enlarge",
    "Facts",
    "Fault",
    "FaultInfo",
    "Faults",
    "FieldInfo",
    "IgnorePings",
    "Insert",
    "RefuseHandshake",
    "Relabel",
    "Reorder",
    "Stall",
    "Way",
    "facts_of",
    "list_faults",
]
