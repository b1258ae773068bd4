"""Keeping what is half typed: in the trace and on the disk, so that a crash takes at most a moment.

Only what changed since the draft before is written, and nothing where nothing did. What may hold a
credential, or is longer than the service takes, is not written: `keepable` says what is.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import rules
from steer_nb.wire.credentials import redacted
from steer_nb.wire.limits import IMAGE_URL_LIMIT
from steer_nb.wire.stub_kinds import LETTA_KINDS, STUB_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.lane import Lane

__all__ = ["drafts_said", "keep_fields", "keep_text", "keepable"]

_LONGEST: Final = IMAGE_URL_LIMIT  # the most that one field of an answer can hold

_SECRET: Final = re.compile("authorization|headers", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def keepable(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    r"""Say what of a form's values may be written down, and how.

    Text that names credentials is kept once it is the JSON that can be told apart, with them
    hidden; before that nobody can say where in it they stand.

    Parameters
    ----------
    kind : str
        Type of the stub.
    fields : mapping
        The values as they stand in the form.

    Examples
    --------
    >>> keepable("tool_search_output", {"text": '[{"authorization": "t"}]', "none": False})
    {'text': '[\n  {\n    "authorization": "(hidden)"\n  }\n]', 'none': False}
    >>> keepable("tool_search_output", {"text": '[{"authorization": "t"', "none": False})
    {'none': False}
    """
    raw = kind == "tool_search_output" or kind not in (*STUB_KINDS, *LETTA_KINDS)
    kept: dict[str, Any] = {}
    for name, value in fields.items():
        shown = _without_credentials(value) if raw and isinstance(value, str) else value
        if shown is None and value is not None:
            continue
        if not isinstance(shown, str) or len(shown) <= _LONGEST:
            kept[name] = shown
    return kept


def _without_credentials(text: str) -> str | None:
    """Text of JSON with its credentials hidden; None where they cannot be told apart."""
    read = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if not _SECRET.search(read):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # A tool search is answered by a list of tools, a kind that nobody knows by an object.
    tools = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return None
    if any(_SECRET.fullmatch(name) and not name.islower() for tool in tools for name in tool):
        return None  # nearly a credential's name
    shown: Any = redacted(value) if isinstance(value, dict) else redacted({"tools": tools})["tools"]
    # Written anew: a name that comes twice in an object is read once, and stands in the text twice.
    return json.dumps(shown, ensure_ascii=False, indent=2)


def keep_fields(
    lane: Lane, parent_id: str, key: str, fields: Mapping[str, Any] | None, *, instead: bool = False
) -> dict[str, Any] | None:
    """Keep what stands in the form of a required input; on the disk when this returns.

    Parameters
    ----------
    lane : Lane
        The lane.
    parent_id, key : str
        The response that asks, and for what.
    fields : mapping or None
        The values as they stand in the form; None where a person gave them up.
    instead : bool
        Whether they stand in the place of a value that was saved: it is taken back.

    Returns
    -------
    dict or None
        The draft as it is kept now; None where there is none.

    Raises
    ------
    TraceError
        If the disk refuses it.
    """
    core = lane.session.core

    def keep() -> dict[str, Any] | None:
        response = core.ledger.responses.get(parent_id)
        stub = None if response is None else response.required.get(key)
        if stub is None or not stub.is_open:
            return None  # the conversation went on without it
        place = {"lane": lane.stream_id, "parent": parent_id, "key": key}
        wanted = None if fields is None else keepable(stub.type, fields)
        changed = {} if wanted is None else _changed(stub.typed, wanted)
        wrote = bool(changed) or stub.typing != (wanted is not None)
        if wrote:
            core.recorder.note("draft", **place, fields=None if wanted is None else changed)
        if instead and stub.state == "filled":
            # After the draft: torn in between, the journal has one too many, and not none.
            core.recorder.note("cleared", **place)
            wrote = True
        if wrote:
            core.recorder.sync()
        return stub.draft

    return lane.session.act(keep)


def _changed(typed: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in wanted.items() if name not in typed or typed[name] != value
    }


def keep_text(lane: Lane, text: str) -> None:
    """Keep what stands in the box below a lane; on the disk when this returns.

    Raises
    ------
    TraceError
        If the disk refuses it.
    """
    core = lane.session.core

    def keep() -> None:
        state = core.ledger.lanes.get(lane.stream_id)
        if text != ("" if state is None else state.draft) and len(text) <= _LONGEST:
            core.recorder.note("draft", lane=lane.stream_id, text=text)
            core.recorder.sync()

    lane.session.act(keep)


def drafts_said(core: Core) -> list[str]:
    """Name what is half typed on the open lanes, and what shows it."""
    found = []
    for lane in core.lanes.values():
        state = core.ledger.lanes.get(lane.stream_id)
        if state is None or not lane.open:
            continue
        response = rules.standing(state)
        stubs = () if response is None else response.required.values()
        count = sum(stub.draft is not None for stub in stubs)
        if count:
            answers = "1 answer" if count == 1 else f"{count} answers"
            found.append(f"{answers} on {lane.name} (%steer pending)")
        if state.draft:
            found.append(f"a text for {lane.name} (%steer show {lane.name})")
    return found
