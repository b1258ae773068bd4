"""What a Letta model may do that a model of the Responses API does not: hide thoughts, say costs.

A script yields these, and of the other dialect's steps `Say`, `Think`, `CallFunction`, `Pause`,
`Fail` and `Arm`, which mean the same here: `CallFunction` calls any tool, of the server or of the
client. What is gated is the agent's affair (3.1), not the script's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steer_nb.simulator.steps import Step

__all__ = ["Hide", "Spend"]


@dataclass(frozen=True)
class Hide(Step):
    """Think without showing it: a ``hidden_reasoning_message``."""

    text: str | None = None
    state: Literal["redacted", "omitted"] = "redacted"


@dataclass(frozen=True)
class Spend(Step):
    """Say what this call of the model costs; else the words are counted.

    Parameters
    ----------
    prompt, completion : int
        Tokens.
    """

    prompt: int
    completion: int
