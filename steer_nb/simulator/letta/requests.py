"""What a client sends to an agent or a conversation, read and normalised (chapter 1)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final

from steer_nb.simulator.letta.trouble import Refused
from steer_nb.simulator.letta.validating import check_messages, checked, kind_of, refuse_body

__all__ = ["Resume", "Sent", "body_of", "read_resume", "read_sent"]

_PLAIN: Final[dict[str, Any]] = {
    "max_steps": 50,
    "streaming": False,
    "stream_tokens": False,
    "include_pings": True,
    "background": False,
    "client_tools": None,
    "client_skills": None,
    "include_return_message_types": None,
    "override_model": None,
    "override_system": None,
    "include_compaction_messages": False,
    "use_assistant_message": True,
    "assistant_message_tool_name": "send_message",
    "assistant_message_tool_kwarg": "message",
    "agent_id": None,
}
_CONFIG: Final = (
    "use_assistant_message",
    "assistant_message_tool_name",
    "assistant_message_tool_kwarg",
    "include_return_message_types",
)
_RESUME: Final[dict[str, Any]] = {
    "agent_id": None,
    "run_id": None,
    "otid": None,
    "starting_after": 0,
    "include_pings": None,
    "poll_interval": 0.1,
    "batch_size": 100,
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One send.

    Attributes
    ----------
    approvals : list of dict or None
        Decisions and results, if it begins with an approval.
    users : list of dict
        Messages: those that it brings, or that follow an approval. Others are dropped (1.2).
    otids : list of str
        Those that the client gave.
    all_named : bool
        Whether each of its messages has one.
    client_tools : list of dict
        What the client runs itself.
    options : dict
        Everything else, with defaults.
    """

    approvals: list[dict[str, Any]] | None
    users: list[dict[str, Any]]
    otids: list[str] = field(default_factory=list)
    all_named: bool = False
    client_tools: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> bool:
        """Whether it wants pieces."""
        return bool(self.options["stream_tokens"])

    @property
    def pings(self) -> bool:
        """Whether it wants pings."""
        return bool(self.options["include_pings"])

    @property
    def token(self) -> str | None:
        """What tells a request that is sent again: of all otids together (5.4)."""
        if not self.otids or not self.all_named:
            return None
        whole = "|".join(self.otids).encode("utf-8", "surrogatepass")
        return hashlib.sha256(whole).hexdigest()[:16]

    def shows(self, message_type: str) -> bool:
        """Whether it wants messages of this type."""
        types = self.options["include_return_message_types"]
        return types is None or message_type in types

    def config(self) -> dict[str, Any]:
        """Give what a run says of it."""
        return {name: self.options[name] for name in _CONFIG}


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a stream is to be read from, and of which run."""

    run_id: str | None
    otid: str | None
    agent_id: str | None
    starting_after: int
    pings: bool


def body_of(raw: bytes) -> Any:
    """Read a body as JSON; nothing at all is None.

    Raises
    ------
    Refused
        422 for what is no JSON.
    """
    if not raw.strip():
        return None
    try:
        return json.loads(raw)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        fault = {
            "type": "json_invalid",
            "loc": ("body", at),
            "msg": "JSON decode error",
            "input": {},
            "ctx": {"error": getattr(error, "msg", str(error))},
        }
        raise refuse_body([fault]) from error


def read_sent(body: Any, *, streaming: bool) -> Sent:
    """Read the body of a send.

    Parameters
    ----------
    body : object
        What JSON held.
    streaming : bool
        The endpoint's default.

    Raises
    ------
    Refused
        422 for all that chapter 1 lists.
    """
    if body is None:
        fault = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
        raise refuse_body([fault])
    options = checked(body, {**_PLAIN, "streaming": streaming})
    messages, said = body.get("messages"), body.get("input")
    if (messages is None) == (said is None):
        # The server's own words for this were not measured.
        msg = "Value error, Exactly one of 'messages' and 'input' must be given"
        fault = {"type": "value_error", "loc": ("body",), "msg": msg, "input": body}
        raise refuse_body([fault])
    if messages is None:
        messages = [{"role": "user", "content": said}]
    errors = check_messages(messages)
    if errors:
        raise refuse_body(errors)
    if not messages:
        raise Refused(422, "Messages must not be empty")
    _check_streaming(options)
    otids = [one.get("otid") for one in messages]
    kinds = [kind_of(one) for one in messages]
    return Sent(
        approvals=_approvals(messages[0], kinds[0]),
        users=[one for one, kind in zip(messages, kinds, strict=True) if kind == "message"],
        otids=[one for one in otids if one],
        all_named=all(otids),
        client_tools=[one for one in options.pop("client_tools") or () if isinstance(one, dict)],
        options=options,
    )


def _check_streaming(options: dict[str, Any]) -> None:
    if options["streaming"]:
        return
    wrong = []
    if options["stream_tokens"]:
        wrong.append("stream_tokens can only be true when streaming=true")
    if not options["include_pings"]:
        wrong.append("include_pings can only be set to false when streaming=true")
    if options["background"]:
        wrong.append("background can only be true when streaming=true")
    if wrong:
        msg = (
            f"Streaming options set without streaming enabled. {'; '.join(wrong)}. Either set "
            "streaming=true or use default values for streaming options."
        )
        raise Refused(422, msg)


def _approvals(message: dict[str, Any], kind: str) -> list[dict[str, Any]] | None:
    """Give the decisions and results of a message; the old fields are one decision (8)."""
    if kind == "message":
        return None
    if kind == "tool_return":
        return [{"type": "tool", **one} for one in message["tool_returns"]]
    given: list[dict[str, Any]] = message.get("approvals") or []
    approve, target = message.get("approve"), message.get("approval_request_id")
    if not given and approve is not None and target is not None:
        given = [
            {
                "type": "approval",
                "tool_call_id": target,
                "approve": approve,
                "reason": message.get("reason"),
            }
        ]
    return given


def read_resume(body: Any) -> Resume:
    """Read the body of a resume.

    Raises
    ------
    Refused
        500 without a body, which the server does not expect; 422 for a wrong field.
    """
    if body is None:
        raise Refused(500, "An unknown error occurred")
    read = checked(body, _RESUME)
    return Resume(
        run_id=read["run_id"],
        otid=read["otid"],
        agent_id=read["agent_id"],
        starting_after=read["starting_after"],
        pings=read["include_pings"] is not False,
    )
