"""The kinds of required input, as a table: what identifies each, what fills it, what asks for it.

Source: chapter 6 of the protocol notes, `ResponseSteerRequiredInput` and the input item params of
the official SDK (which win; tests compare).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from steer_nb.wire.limits import CALL_ID_LIMIT, NAME_LIMIT, NAMESPACE_LIMIT, TEXT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LETTA_KINDS", "STUB_KINDS", "UNKNOWN_KIND", "Field", "FieldKind", "StubKind", "kind_of"]

FieldKind = Literal[
    "content",  # text, or a list of input_text, input_image, input_file parts
    "json_text",  # text; other JSON values are written as text
    "text",
    "choice",
    "flag",
    "number",
    "shell_output",  # one {stdout, stderr, outcome} for each command
    "screenshot",
    "safety_checks",
    "tools",
    "caller",
]


@dataclass(frozen=True, slots=True)
class Field:
    """One field that a person or a tool may give.

    Attributes
    ----------
    name : str
        The wire's own name.
    kind : FieldKind
        What it holds, and so how a form draws it.
    required : bool
        Whether the item is incomplete without it.
    title : str
        What a form calls it.
    choices : tuple of str
        For ``choice``: the words allowed.
    limit : int or None
        For text: the most characters allowed.
    minor : bool
        Legal, but no person needs it: forms leave it out.
    """

    name: str
    kind: FieldKind
    required: bool = False
    title: str = ""
    choices: tuple[str, ...] = ()
    limit: int | None = None
    minor: bool = False


@dataclass(frozen=True, slots=True)
class StubKind:
    """One kind of required input.

    Attributes
    ----------
    type : str
        Type of the stub and of the filled item.
    key_field : str
        The field that says which call it answers.
    call_key : str
        The field of the call (the output item) that holds the same value.
    call_types : tuple of str
        Types of the output items that ask for it.
    fields : tuple of Field
        What fills it.
    title : str
        What a person calls it.
    key_limit : int or None
        The most characters its key may have.
    """

    type: str
    key_field: str
    call_key: str
    call_types: tuple[str, ...]
    fields: tuple[Field, ...]
    title: str
    key_limit: int | None = None

    def field(self, name: str) -> Field | None:
        """Look up one of its fields by the wire's name."""
        return next((field for field in self.fields if field.name == name), None)


_STATUS: Final = ("in_progress", "completed", "incomplete")
_ID: Final = Field("id", "text", minor=True, title="Item id")
_ITEM_STATUS: Final = Field("status", "choice", minor=True, choices=_STATUS, title="Status")
_CALLER: Final = Field("caller", "caller", minor=True, title="Caller")

_KINDS: Final = (
    StubKind(
        type="function_call_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("function_call",),
        fields=(
            Field("output", "content", required=True, title="Output", limit=TEXT_LIMIT),
            Field("name", "text", minor=True, limit=NAME_LIMIT, title="Tool name"),
            Field("namespace", "text", minor=True, limit=NAMESPACE_LIMIT, title="Namespace"),
            _ITEM_STATUS,
            _CALLER,
            _ID,
        ),
        title="Function result",
        key_limit=CALL_ID_LIMIT,
    ),
    StubKind(
        type="custom_tool_call_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("custom_tool_call",),
        fields=(
            Field("output", "content", required=True, title="Output", limit=TEXT_LIMIT),
            _CALLER,
            _ID,
        ),
        title="Custom tool result",
    ),
    StubKind(
        type="computer_call_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("computer_call",),
        fields=(
            Field("output", "screenshot", required=True, title="Screenshot"),
            Field("acknowledged_safety_checks", "safety_checks", title="Safety checks"),
            _ITEM_STATUS,
            _ID,
        ),
        title="Computer screenshot",
        key_limit=CALL_ID_LIMIT,
    ),
    StubKind(
        type="shell_call_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("shell_call",),
        fields=(
            Field("output", "shell_output", required=True, title="Output", limit=TEXT_LIMIT),
            Field("max_output_length", "number", minor=True, title="Output limit"),
            _ITEM_STATUS,
            _CALLER,
            _ID,
        ),
        title="Shell output",
        key_limit=CALL_ID_LIMIT,
    ),
    StubKind(
        type="apply_patch_call_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("apply_patch_call",),
        fields=(
            Field(
                "status", "choice", required=True, title="Outcome", choices=("completed", "failed")
            ),
            Field("output", "text", title="Log", limit=TEXT_LIMIT),
            _CALLER,
            _ID,
        ),
        title="Patch outcome",
    ),
    StubKind(
        type="tool_search_output",
        key_field="call_id",
        call_key="call_id",
        call_types=("tool_search_call",),
        fields=(
            Field("tools", "tools", required=True, title="Tools found"),
            Field("execution", "choice", minor=True, choices=("client",), title="Where it was run"),
            _ITEM_STATUS,
            _ID,
        ),
        title="Tool search result",
        key_limit=CALL_ID_LIMIT,
    ),
    StubKind(
        type="mcp_approval_response",
        key_field="approval_request_id",
        call_key="id",
        call_types=("mcp_approval_request",),
        fields=(
            Field("approve", "flag", required=True, title="Approve"),
            Field("reason", "text", title="Reason"),
            _ID,
        ),
        title="Approval",
    ),
    StubKind(
        # Not among the official stubs, but a client-run call of the official union. The SDK's
        # output item has no `call_id`: its `id` is the call's.
        type="local_shell_call_output",
        key_field="id",
        call_key="call_id",
        call_types=("local_shell_call",),
        fields=(
            Field("output", "json_text", required=True, title="Output", limit=TEXT_LIMIT),
            _ITEM_STATUS,
        ),
        title="Local shell output",
    ),
)

STUB_KINDS: Final[Mapping[str, StubKind]] = MappingProxyType({kind.type: kind for kind in _KINDS})
"""The known kinds by stub type. Any other type is `UNKNOWN_KIND`: shown and filled as raw JSON."""

_DECISION: Final = (
    Field("approve", "flag", title="Approve"),
    Field("reason", "text", title="Reason"),
)
_RESULT: Final = (
    Field("output", "content", title="Output"),
    Field("status", "choice", choices=("success", "error"), title="Outcome"),
    Field("stdout", "text", title="What it wrote"),
    Field("stderr", "text", title="What it complained"),
)
LETTA_KINDS: Final[Mapping[str, StubKind]] = MappingProxyType(
    {
        kind: StubKind(
            type=kind,
            key_field="tool_call_id",
            call_key="call_id",
            call_types=("letta_approval_call",),
            fields=fields,
            title=title,
        )
        for kind, fields, title in (
            ("letta_approval", (*_DECISION, *_RESULT), "Approval"),
            ("letta_tool_return", (*_RESULT, *_DECISION), "Tool result"),
        )
    }
)
"""The kinds that Letta agents wait for: `steer_nb.wire.letta.filling` fills them."""

UNKNOWN_KIND: Final = StubKind(
    type="",
    key_field="call_id",
    call_key="call_id",
    call_types=(),
    fields=(),
    title="Unknown kind of input",
)
"""The kind of any stub that is not in `STUB_KINDS`."""

KIND_BY_CALL: Final[Mapping[str, StubKind]] = MappingProxyType(
    {call_type: kind for kind in _KINDS for call_type in kind.call_types}
)


def kind_of(stub: Mapping[str, object]) -> StubKind:
    """Look up the kind of a stub; `UNKNOWN_KIND` for a type that is not in the table."""
    kind = stub.get("type")
    if not isinstance(kind, str):
        return UNKNOWN_KIND
    return STUB_KINDS.get(kind) or LETTA_KINDS.get(kind, UNKNOWN_KIND)
