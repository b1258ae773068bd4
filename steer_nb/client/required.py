"""Required input as a person sees it: unchanging snapshots of what the ledger keeps."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from steer_nb.ledger import RequiredInputState, ToolRun

__all__ = ["RequiredInput", "snapshot"]

_HEAD = 60


@dataclass(frozen=True, slots=True)
class RequiredInput:
    """One result or decision that a response waits for, as it was when asked.

    Attributes
    ----------
    key : str
        Its `call_id` or `approval_request_id`: what `Lane.fill` takes.
    type : str
        The stub's type, such as ``function_call_output``.
    stub : dict
        The identifying fields, as the service lists them.
    call : dict or None
        The output item that asks for it, where it was seen.
    state : str
        ``open``, ``filled``, ``sent``, ``confirmed``, ``stale`` or ``cancelled``.
    item : dict or None
        The filled stub, as it will be sent.
    name, server_label : str or None
        The tool that is asked for; the MCP server that asks for approval.
    source : str
        ``response_completed``: derived from the response's own call; ``steer_pending``: the
        service listed it first.
    optional : bool
        Whether a continuation may go out without it (asynchronous calls).
    parent_id : str
        The response that asks.
    lane : str
        The lane's name.
    agent_name : str or None
        The agent of a multi-agent response that waits for it, such as ``/root/researcher``.
    filled_by : str or None
        ``user``, ``code`` or ``policy``.
    tool : dict or None
        The run of one's own function for it: `name`, `by`, `running`, `ok`, `output`, `error`,
        `duration_s`, and what is never sent: what it `printed` and `displayed`, and the
        `traceback` of what it raised.
    draft : dict or None
        What stands half typed in its form, by the form's own names; it never counts as an answer.
    """

    key: str
    type: str
    stub: dict[str, Any]
    call: dict[str, Any] | None
    state: str
    item: dict[str, Any] | None
    name: str | None
    server_label: str | None
    source: str
    optional: bool
    parent_id: str
    lane: str
    filled_by: str | None
    tool: dict[str, Any] | None
    agent_name: str | None = None
    draft: dict[str, Any] | None = None

    @property
    def arguments(self) -> str:
        """The call's arguments or free-form input, as the model wrote them."""
        call = self.call or {}
        value = call.get("arguments", call.get("input"))
        return value if isinstance(value, str) else ""

    def __repr__(self) -> str:
        what = self.name or self.server_label
        tool = "" if self.tool is None else f", tool {_run_word(self.tool)}"
        asked = f" {_clipped(self.arguments)}" if self.arguments not in ("", "{}") else ""
        answer = "" if self.item is None else f" with {_answer_words(self.item)}"
        return (
            f"<RequiredInput {short_id(self.key)}: {self.type}{f' for {what}' if what else ''}"
            f"{asked}{f' of {self.agent_name}' if self.agent_name else ''}, "
            f"{self.state}{answer}{', optional' if self.optional else ''}"
            f"{', half typed' if self.draft is not None else ''}{tool}>"
        )

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)


def _answer_words(item: dict[str, Any]) -> str:
    """What a filled stub says, in a few words."""
    if "approve" in item:
        return "approved" if item["approve"] is True else "denied"
    output = item.get("output", item.get("tool_return", item.get("status")))
    if isinstance(output, str):
        return _clipped(output)
    if isinstance(output, list):
        return f"{len(output)} part{'' if len(output) == 1 else 's'}"
    return "a screenshot" if "computer" in str(item.get("type")) else "an answer"


def _clipped(text: str) -> str:
    line = " ".join(text[: 4 * _HEAD].split())
    return repr(line if len(line) <= _HEAD else line[:_HEAD] + "...")


def snapshot(state: RequiredInputState, lane: str) -> RequiredInput:
    """Copy what the ledger keeps, so that nobody holds on to it."""
    return RequiredInput(
        key=state.key,
        type=state.type,
        stub=copy.deepcopy(state.stub),
        call=copy.deepcopy(state.call),
        state=state.state,
        item=copy.deepcopy(state.item),
        name=state.name,
        server_label=state.server_label,
        source=state.source,
        optional=state.optional,
        parent_id=state.parent_id,
        lane=lane,
        filled_by=state.filled_by,
        tool=None if state.tool is None else _run(state.tool),
        agent_name=state.agent_name,
        draft=copy.deepcopy(state.draft),
    )


def _run(run: ToolRun) -> dict[str, Any]:
    return {
        "name": run.name,
        "by": run.by,
        "running": run.finished is None,
        "ok": run.ok,
        "output": run.output,
        "error": run.error,
        "duration_s": run.duration_s,
        "printed": run.printed,
        "displayed": copy.deepcopy(list(run.displayed)),
        "traceback": run.traceback,
    }


def _run_word(run: dict[str, Any]) -> str:
    if run["running"]:
        return "running"
    return "ran" if run["ok"] else "raised"
