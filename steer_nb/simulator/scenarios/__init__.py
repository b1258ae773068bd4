"""The built-in scenarios, by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from steer_nb.simulator.scenarios.agents import agents
from steer_nb.simulator.scenarios.calls import (
    approval,
    computer,
    custom,
    patch,
    seven,
    shell,
    tools,
    weather,
)
from steer_nb.simulator.scenarios.failures import failures
from steer_nb.simulator.scenarios.gallery import gallery
from steer_nb.simulator.scenarios.planner import planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.simulator.scenario import Scenario

__all__ = ["SCENARIOS"]

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        one.name: one
        for one in (
            planner,
            weather,
            seven,
            custom,
            computer,
            shell,
            patch,
            tools,
            approval,
            failures,
            agents,
            gallery,
        )
    }
)
"""Scenario by name; the first is what a simulator plays when nobody chooses."""
