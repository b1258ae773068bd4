"""What answers a call that nobody will run, so that the conversation can go on."""

from __future__ import annotations

from typing import Any, Final

from steer_nb.wire.filling import pending_safety_checks, shell_commands
from steer_nb.wire.stub_kinds import LETTA_KINDS, kind_of

__all__ = ["CANCELLED", "cancelled_fields"]

CANCELLED: Final = "Cancelled by the user; it was not run."
"""The text that tells the model."""

# 32 by 32 grey pixels. A screenshot is the only answer that a computer call takes.
_PLACEHOLDER: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABC"
    "AAAfN5c2AAAAAABJRU5ErkJggg=="
)


def cancelled_fields(stub: dict[str, Any], call: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give the fields that answer a stub as "cancelled by the user".

    Every client-owned call needs exactly one answer, also when the user does not want it run;
    otherwise the service refuses the next request.

    Parameters
    ----------
    stub : dict
        The stub.
    call : dict, optional
        The output item that asks for it.

    Returns
    -------
    dict
        Fields for `fill_stub`, always valid for this stub and call. A shell call gets one failed
        outcome for each command; a computer call a blank screenshot, and its pending safety checks
        acknowledged, since the service takes no answer without them.

    Examples
    --------
    >>> cancelled_fields({"type": "mcp_approval_response", "approval_request_id": "mcpr_9"})
    {'approve': False, 'reason': 'Cancelled by the user; it was not run.'}
    """
    kind = kind_of(stub).type
    if kind == "computer_call_output":
        screenshot = {"type": "computer_screenshot", "image_url": _PLACEHOLDER}
        fields: dict[str, Any] = {"output": screenshot}
        if pending := pending_safety_checks(call):
            fields["acknowledged_safety_checks"] = [
                {
                    name: check[name]
                    for name in ("id", "code", "message")
                    if isinstance(check.get(name), str)
                }
                for check in pending
            ]
        return fields
    if kind == "shell_call_output":
        commands = shell_commands(call)
        count = 1 if commands is None else len(commands)
        return {"output": [_not_run() for _ in range(count)]}
    if kind == "apply_patch_call_output":
        return {"status": "failed", "output": CANCELLED}
    if kind == "tool_search_output":
        return {"tools": []}
    if kind in ("mcp_approval_response", *LETTA_KINDS):
        return {"approve": False, "reason": CANCELLED}
    return {"output": CANCELLED}


def _not_run() -> dict[str, Any]:
    # 130 is how a shell reports a command that its user interrupted.
    return {"stdout": "", "stderr": CANCELLED, "outcome": {"type": "exit", "exit_code": 130}}
