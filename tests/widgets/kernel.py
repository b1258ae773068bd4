"""A real kernel and the page's side of its widgets: comm messages, without a browser."""

from __future__ import annotations

import json
import queue
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import KernelManager

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Button", "Kernel"]

Message = dict[str, Any]


@dataclass(frozen=True)
class Button:
    """A button that acts, as a page draws it; see press.js."""

    kernel: Kernel
    comm: str
    index: int

    @property
    def disabled(self) -> bool:
        return bool(self.kernel.widgets[self.comm]["buttons"][self.index]["disabled"])

    def press(self, **more: Any) -> None:
        """Press it in the step that the page knows, or in another."""
        self.kernel.told += 1
        step = self.kernel.widgets[self.comm]["step"]
        told = {"event": "press", "button": self.index, "step": step, "page": "a page"}
        content = {**told, "number": self.kernel.told, **more}
        self.kernel._comm(self.comm, {"method": "custom", "content": content})


class Kernel:
    """Runs cells, keeps every iopub message, knows the widgets by their comms."""

    def __init__(self) -> None:
        self._manager = KernelManager()
        self._manager.start_kernel()
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=30)
        self.messages: list[Message] = []
        self.widgets: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()

    def run(self, code: str, timeout: float = 30.0) -> str:
        """Run a cell to its end; its message id. An error in it fails the test."""
        message = self.client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "allow_stdin": False},
        )
        key: str = message["header"]["msg_id"]
        self._send(message)
        self.end(key, timeout)
        for message in self.of(key, "error"):
            raise AssertionError("\n".join(message["content"]["traceback"]))
        return key

    def end(self, key: str, timeout: float = 10.0) -> None:
        """Read messages until a cell has ended, which it may have already, and was replied to.

        As every front end does; and ipykernel 7.3 stops reading requests after some dozens that
        come while their predecessor's reply is still being sent.
        """

        def ended(message: Message) -> bool:
            return (
                message["msg_type"] == "status"
                and message["content"]["execution_state"] == "idle"
                and message["parent_header"].get("msg_id") == key
            )

        if not any(map(ended, self.messages)):
            self.until(ended, timeout)
        self._reply(key, timeout)

    def _reply(self, key: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                reply = self.client.get_shell_msg(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                break
            if reply["parent_header"].get("msg_id") == key:
                return
        raise AssertionError("the reply did not come")

    def value(self, expression: str) -> Any:
        """Evaluate something JSON can say."""
        key = self.run(f"import json; print('VALUE', json.dumps({expression}))")
        text = "".join(m["content"]["text"] for m in self.of(key, "stream"))
        return json.loads(text.split("VALUE ", 1)[1])

    def of(self, key: str, kind: str) -> list[Message]:
        """What came of one kind for one cell."""
        return [
            m
            for m in self.messages
            if m["msg_type"] == kind and m["parent_header"].get("msg_id") == key
        ]

    def until(self, true: Callable[[Message], bool], timeout: float = 10.0) -> Message:
        """Read messages until one fits."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            message = self._next(end - time.monotonic())
            if message is not None and true(message):
                return message
        raise AssertionError("the message did not come")

    def wait_until(self, true: Callable[[], bool], timeout: float = 10.0) -> None:
        """Read messages until something is true, as it may be already."""
        if not true():
            self.until(lambda _: true(), timeout)

    def listen(self, seconds: float) -> list[Message]:
        """Read for so long; what came."""
        start, end = len(self.messages), time.monotonic() + seconds
        while time.monotonic() < end:
            self._next(max(end - time.monotonic(), 0))
        return self.messages[start:]

    def _next(self, timeout: float) -> Message | None:
        try:
            message: Message = self.client.get_iopub_msg(timeout=max(timeout, 0.001))
        except queue.Empty:
            return None
        self.messages.append(message)
        content = message["content"]
        if message["msg_type"] == "comm_open":
            self.widgets[content["comm_id"]] = dict(content["data"].get("state", {}))
        elif message["msg_type"] == "comm_close":
            self.widgets.pop(content["comm_id"], None)
        elif message["msg_type"] == "comm_msg" and content["data"].get("method") == "update":
            self.widgets.setdefault(content["comm_id"], {}).update(content["data"]["state"])
        return message

    # -- the page's side ------------------------------------------------------------------------

    def widget(self, model: str, **traits: Any) -> str:
        """The comm of the one widget with these traits."""
        found = [
            comm
            for comm, state in self.widgets.items()
            if state.get("_model_name") == model
            and all(state.get(name) == value for name, value in traits.items())
        ]
        assert len(found) == 1, (model, traits, len(found))
        return found[0]

    told = 0
    """How much this page has told of its own accord."""

    subshell: str | None = None
    """Where the page's messages go; JupyterLab gives widgets a subshell on ipykernel 7."""

    def open_subshell(self) -> bool:
        """Make a subshell and send through it; False where the kernel has none."""
        channel = self.client.control_channel
        channel.send(self.client.session.msg("create_subshell_request", {}))
        try:
            reply = self.client.get_control_msg(timeout=5)
        except queue.Empty:
            return False
        self.subshell = reply["content"].get("subshell_id")
        return self.subshell is not None

    def _comm(self, comm: str, data: dict[str, Any]) -> None:
        message = self.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        self._send(message)

    def _send(self, message: Message) -> None:
        if self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)

    def button(self, description: str) -> Button:
        """The one button that acts and says this."""
        found = [
            Button(self, comm, index)
            for comm, state in self.widgets.items()
            for index, button in enumerate(state.get("buttons", ()))
            if button["text"] == description
        ]
        assert len(found) == 1, (description, len(found))
        return found[0]

    def text_box(self) -> str:
        """The comm of the one box below a lane."""
        (found,) = (
            comm
            for comm, state in self.widgets.items()
            if state.get("_model_name") == "AnyModel" and "verb" in state
        )
        return found

    def tell(self, comm: str, event: str, text: str, **more: Any) -> None:
        """Send what the box below a lane sends: ``typed``, or what was pressed."""
        self.told += 1
        content = {"event": event, "text": text, "page": "a page", "number": self.told}
        step = {"step": self.widgets[comm]["step"]}
        self._comm(comm, {"method": "custom", "content": {**content, **step, **more}})

    def type(self, comm: str, value: str) -> None:
        self.widgets[comm]["value"] = value
        self._comm(comm, {"method": "update", "state": {"value": value}, "buffer_paths": []})
