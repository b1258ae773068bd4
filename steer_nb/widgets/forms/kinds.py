"""Which section is made for which kind of required input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steer_nb.widgets.forms.choices import ApprovalSection, ToolSearchSection
from steer_nb.widgets.forms.letta import LettaApprovalSection, LettaResultSection
from steer_nb.widgets.forms.machines import ComputerSection, PatchSection, ShellSection
from steer_nb.widgets.forms.results import ResultSection, UnknownSection

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, RequiredInput
    from steer_nb.widgets.forms.section import Section

__all__ = ["make_section"]

_SECTIONS: Final[dict[str, type[Section]]] = {
    "function_call_output": ResultSection,
    "custom_tool_call_output": ResultSection,
    "local_shell_call_output": ResultSection,
    "computer_call_output": ComputerSection,
    "shell_call_output": ShellSection,
    "apply_patch_call_output": PatchSection,
    "tool_search_output": ToolSearchSection,
    "mcp_approval_response": ApprovalSection,
    "letta_approval": LettaApprovalSection,
    "letta_tool_return": LettaResultSection,
}


def make_section(asked: RequiredInput, lane: Lane, changed: Callable[[Section], None]) -> Section:
    """Make the section for a required input; unknown kinds get one too."""
    return _SECTIONS.get(asked.type, UnknownSection)(asked, lane, changed)
