"""Running a person's own functions for calls: once for a call, on a thread of its own, saved first.

A result is in the journal before it is sent. A call that was started is never started again: not by
a second click, not after a recovery.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.client.displays import displayed
from steer_nb.client.io import io_thread
from steer_nb.client.run_log import own_traceback, printed
from steer_nb.client.sending import Overrides
from steer_nb.client.tools import said
from steer_nb.errors import InvalidInput, SteerError, ToolFailed, TraceError
from steer_nb.ledger import rules
from steer_nb.wire import fill_stub, kind_of
from steer_nb.wire.jsonio import json_text

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.ledger import LaneState, RequiredInputState, ResponseState

__all__ = ["ToolRunner"]

By = Literal["code", "policy"]

FUNCTION_RESULTS = frozenset({"function_call_output", "letta_tool_return"})
"""What a function of one's own answers."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one run ended, as a file can hold it."""

    output: str | list[dict[str, Any]]
    error: str | None
    printed: str
    displayed: list[dict[str, str]]
    traceback: str | None
    duration_s: float


class ToolRunner:
    """Starts tools and takes their results. It lives on the I/O thread.

    Each run has a daemon thread of its own, not one of a pool: a pool's threads would hold Python
    back from ending while a tool still works.

    Attributes
    ----------
    running : set of (str, str)
        Response id and key of the calls whose functions run now.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.running: set[tuple[str, str]] = set()
        self._refused_for: set[str] = set()
        self._injected: set[tuple[str, str]] = set()

    def busy(self, lane: LaneState) -> bool:
        """Whether a function with policy ``auto`` works for the lane: nobody is waited for."""
        tip = lane.tip
        return tip is not None and any(
            stub.tool is not None and stub.tool.by == "policy" and (tip.id, key) in self.running
            for key, stub in tip.required.items()
        )

    def start(self, lane: LaneSettings, key: str) -> tuple[str, str] | None:
        """Begin to run the function that a person asked for.

        Returns
        -------
        tuple of (str, str) or None
            Response id and key of the run to wait for; None where its result is there already.

        Raises
        ------
        ToolFailed
            If there is no function for the call, it may not run, or it was begun once and its
            result is not known.
        InvalidInput
            If nothing asks for that key any more.
        """
        response, stub = self._core.answers.find(lane, key)
        place = (response.id, key)
        if place in self.running:
            return place
        if stub.tool is not None:
            if stub.tool.finished is not None:
                return None
            msg = (
                f"{stub.tool.name} was begun for {key} and its end was not seen; a tool runs once "
                "for a call. Fill the result in by hand."
            )
            raise ToolFailed(msg)
        self._core.answers.open_input(lane, key)
        if stub.state == "filled":
            msg = f"{key} is filled already; clear it first to let the tool answer."
            raise ToolFailed(msg)
        tool = lane.tool(stub.name) if stub.type in FUNCTION_RESULTS else None
        if tool is None:
            known = ", ".join(lane.tools) or "none"
            msg = (
                f"Lane {lane.name} has no function for {stub.name or stub.type} ({key}); its "
                f"functions: {known}. Fill the result in by hand."
            )
            raise ToolFailed(msg)
        if tool.policy == "never":
            msg = f"{tool.name} has the policy 'never': fill the result of {key} in by hand."
            raise ToolFailed(msg)
        self._begin(lane, response, stub, tool, "code")
        return place

    def look(self) -> None:
        """Start what runs by itself, and send what was answered by itself alone."""
        for lane in tuple(self._core.lanes.values()):
            functions = (*lane.tools.values(), *lane.called.values())
            if not any(function.policy == "auto" for function in functions):
                continue
            state = self._core.ledger.lanes.get(lane.stream_id)
            tip = None if state is None else state.tip
            if tip is None or tip.continued_by is not None:
                continue
            for stub in tuple(tip.waiting_for):
                tool = lane.tool(stub.name)
                if tool is not None and tool.policy == "auto" and _untouched(stub):
                    self._begin(lane, tip, stub, tool, "policy")
            if tip.is_live:
                self._inject(lane, tip)
            else:
                self._continue(lane, tip)

    def _inject(self, lane: LaneSettings, parent: ResponseState) -> None:
        """Send what the functions gave into the running response: each answer once."""
        if (
            not self._core.line.takes_messages
            or not lane.open
            or rules.may_inject(parent) is not None
        ):
            return
        keys = {
            stub.key
            for stub in parent.waiting_for
            if stub.state == "filled"
            and stub.filled_by == "policy"
            and (parent.id, stub.key) not in self._injected
        }
        if not keys:
            return
        self._injected.update((parent.id, key) for key in keys)
        try:
            self._core.sender.inject(lane, keys)
        except SteerError as error:
            self._core.recorder.note("problem", kind="auto_inject", detail=str(error))

    def _continue(self, lane: LaneSettings, parent: ResponseState) -> None:
        if parent.id in self._refused_for or not self._core.line.takes_messages or not lane.open:
            return
        needed = [stub for stub in parent.waiting_for if not stub.optional]
        if not needed or any(stub.filled_by != "policy" for stub in needed):
            return
        if rules.may_continue(parent) is not None or self._core.line.works_on(lane.stream_id):
            return
        if parent.continuations:
            return  # one went out before, perhaps in another process: a person says what now
        # Tried once: what is refused is the person's to look at and to send again.
        try:
            self._core.sender.continuation(lane, [], Overrides({}))
        except SteerError as error:
            self._refused_for.add(parent.id)
            self._core.recorder.note("problem", kind="auto_continuation", detail=str(error))

    def _begin(
        self,
        lane: LaneSettings,
        response: ResponseState,
        stub: RequiredInputState,
        tool: Tool,
        by: By,
    ) -> None:
        recorder = self._core.recorder
        place = {"lane": lane.stream_id, "parent": response.id, "key": stub.key}
        recorder.note("tool_started", **place, name=tool.name, by=by)
        try:
            recorder.sync()  # before its side effects: after a crash it must not run again
        except TraceError as error:
            recorder.note(
                "tool_finished", **place, ok=False, output="", error=str(error), duration_s=0.0
            )
            if by == "code":
                raise
            return
        self.running.add((response.id, stub.key))
        arguments = (stub.call or {}).get("arguments")
        threading.Thread(
            target=self._work,
            args=(lane, response.id, stub.key, tool, arguments, by),
            name=f"steer-nb tool {tool.name}",
            daemon=True,
        ).start()

    def _work(
        self, lane: LaneSettings, parent: str, key: str, tool: Tool, arguments: Any, by: By
    ) -> None:
        began = time.monotonic()
        output: str | list[dict[str, Any]] = ""
        error: str | None = None
        raised: BaseException | None = None
        with printed() as kept, displayed() as shown:
            try:
                output = tool.run(arguments if isinstance(arguments, str) else "{}")
            except ToolFailed as failure:
                error, raised = str(failure), failure.__cause__
            except BaseException as failure:  # noqa: BLE001 - sys.exit() in a tool must not lose a call
                error, raised = f"{tool.name} raised {said(failure)}", failure
        traceback = own_traceback(raised)
        outcome = _Outcome(
            output=_whole(output) if isinstance(output, str) else output,
            error=None if error is None else _whole(error),
            printed=_whole(kept.text),
            displayed=[{kind: _whole(text) for kind, text in one.items()} for one in shown.outputs],
            traceback=None if traceback is None else _whole(traceback),
            duration_s=time.monotonic() - began,
        )
        io_thread.post(self._finish, lane, parent, key, outcome, by)

    def _finish(self, lane: LaneSettings, parent: str, key: str, outcome: _Outcome, by: By) -> None:
        core = self._core
        response = core.ledger.responses[parent]
        stub = response.required[key]
        output, error = outcome.output, outcome.error
        try:
            # What it printed and displayed, and where it failed, is for the person alone.
            given = output if error is None else f"Error: {error}"
            item = fill_stub(stub.stub, stub.call, output=given, **_failed(stub, error))
        except InvalidInput as refused:  # such as a result that is too long
            error = str(refused)
            given = f"Error: {error}"
            item = fill_stub(stub.stub, stub.call, output=given, **_failed(stub, error))
        core.recorder.note(
            "tool_finished",
            lane=lane.stream_id,
            parent=parent,
            key=key,
            ok=error is None,
            output=output if isinstance(output, str) else json_text(output),
            error=error,
            printed=outcome.printed,
            displayed=outcome.displayed,
            traceback=outcome.traceback,
            duration_s=outcome.duration_s,
        )
        self.running.discard((parent, key))
        try:
            # A person who typed an answer meanwhile, or a response that moved on, has precedence.
            if stub.state == "open":
                core.answers.save(lane, response, stub, item, by)
            else:
                core.recorder.sync()
        except TraceError as failure:
            core.recorder.note("problem", kind="journal", detail=str(failure))
        core.close_journal()


def _failed(stub: RequiredInputState, error: str | None) -> dict[str, str]:
    """What says besides the text that a function raised, where the wire has a word for it."""
    status = kind_of(stub.stub).field("status")
    has_word = status is not None and "error" in status.choices
    return {"status": "error"} if error is not None and has_word else {}


def _untouched(stub: RequiredInputState) -> bool:
    return (
        stub.type in FUNCTION_RESULTS
        and stub.state == "open"
        and stub.tool is None
        and stub.call is not None
    )


def _whole(text: str) -> str:
    """`text` without halves of characters, which neither a file nor the wire can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
