"""Build requests: ``response.create`` (chapter 2), ``.steer`` (5.2) and ``.inject`` (7)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from steer_nb.errors import InvalidInput
from steer_nb.wire import checks
from steer_nb.wire.content import check_parts
from steer_nb.wire.jsonio import joined, plain, shown
from steer_nb.wire.lanes import check_stream_id
from steer_nb.wire.stubs import is_answer, stub_key
from steer_nb.wire.totals import check_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "CREATE_FIELDS",
    "response_create",
    "response_inject",
    "response_steer",
    "several_agents",
]

_Shape = Literal[
    "text",
    "flag",
    "whole",
    "number",
    "object",
    "objects",
    "texts",
    "text_or_object",
    "input",
    "metadata",
    "multi_agent",
]

CREATE_FIELDS: Final[Mapping[str, _Shape]] = MappingProxyType(
    {
        "access_programs": "object",
        "background_options": "object",
        "context_management": "objects",
        "conversation": "text_or_object",
        "generate": "flag",
        "image": "object",
        "include": "texts",
        "input": "input",
        "instructions": "text",
        "max_output_tokens": "whole",
        "max_tool_calls": "whole",
        "metadata": "metadata",
        "model": "text",
        "moderation": "object",
        "multi_agent": "multi_agent",
        "parallel_tool_calls": "flag",
        "previous_response_id": "text",
        "prompt": "object",
        "prompt_cache_key": "text",
        "prompt_cache_options": "object",
        "prompt_cache_retention": "text",
        "reasoning": "object",
        "safety_identifier": "text",
        "service_tier": "text",
        "store": "flag",
        "stream_options": "object",
        "temperature": "number",
        "text": "object",
        "tool_choice": "text_or_object",
        "tools": "objects",
        "top_logprobs": "whole",
        "top_p": "number",
        "truncation": "text",
        "user": "text",
    }
)
"""Every field of the SDK's `ResponseCreate`, the beta's too, that may be sent, and its shape.

Words inside (a service tier, a reasoning effort) are not checked: the service knows newer ones.
"""

_REFUSED: Final = MappingProxyType(
    {
        "stream": "over a WebSocket every response is streamed, so this is not sent; leave it out",
        "background": "background responses are not supported over a WebSocket; leave it out",
    }
)


def response_create(*, stream_id: str | None = None, **fields: Any) -> dict[str, Any]:
    """Build a ``response.create`` request.

    Parameters
    ----------
    stream_id : str, optional
        The lane; None is the default lane.
    **fields
        Any field of the service's ``response.create``: `model`, `input`, `instructions`, `tools`,
        `previous_response_id` … A field that is None is left out, except `previous_response_id`:
        an explicit null starts a new chain.

    Returns
    -------
    dict
        The request, sharing nothing with what was given.

    Raises
    ------
    InvalidInput
        An unknown field (the nearest known one is named); `stream` or `background`, with the
        reason; a value that is no JSON or of the wrong type, with its path; more images, or more
        content of files, than a request takes.
    InvalidLane
        The lane's name would be refused.

    Examples
    --------
    >>> response_create(stream_id="planner", model="gpt-6-astra", input="Plan a trip.")
    {'type': 'response.create', 'stream_id': 'planner', 'model': 'gpt-6-astra', \
'input': 'Plan a trip.'}
    """
    request: dict[str, Any] = {"type": "response.create"}
    if stream_id is not None:
        request["stream_id"] = check_stream_id(stream_id)
    for name, value in fields.items():
        if name in _REFUSED:
            if value is not None:
                checks.refuse(name, value, _REFUSED[name])
        elif name == "type":
            checks.one_of(value, ("response.create",), name)
        elif name not in CREATE_FIELDS:
            checks.refuse_unknown("", name, CREATE_FIELDS, "response.create")
        elif value is None:
            if name == "previous_response_id":
                request[name] = None
        else:
            request[name] = _check(name, value, CREATE_FIELDS[name])
    if request.get("previous_response_id") is not None and "conversation" in request:
        rule = "it cannot go together with conversation: each says what comes before"
        checks.refuse("previous_response_id", request["previous_response_id"], rule)
    if several_agents(request):
        _check_beta(request)
    check_totals(request.get("input"))
    return request


def several_agents(request: Mapping[str, Any]) -> bool:
    """Whether a request, or a lane's settings, ask for the multi-agent beta.

    Examples
    --------
    >>> several_agents({"model": "gpt-5.6-sol", "multi_agent": {"enabled": True}})
    True
    """
    asked = request.get("multi_agent")
    return isinstance(asked, dict) and asked.get("enabled") is True


def _check_beta(request: dict[str, Any]) -> None:
    """Refuse what the multi-agent beta does not support (chapter 7, limits)."""
    rule = "multi-agent responses do not support it"
    if "max_tool_calls" in request:
        checks.refuse("max_tool_calls", request["max_tool_calls"], rule, "Leave it out.")
    reasoning = request.get("reasoning") or {}
    for name in ("summary", "generate_summary"):
        if reasoning.get(name) is not None:
            checks.refuse(f"reasoning.{name}", reasoning[name], rule, "Leave it out.")


def _check(name: str, value: object, shape: _Shape) -> Any:
    given = plain(value, name)
    if shape == "text":
        return checks.text(given, name, at_least=0 if name == "instructions" else 1)
    if shape == "flag":
        if not isinstance(given, bool):
            checks.refuse(name, given, "it must be True or False")
    elif shape == "whole":
        checks.whole(given, name, at_least=0)
    elif shape == "number":
        if isinstance(given, bool) or not isinstance(given, int | float):
            checks.refuse(name, given, "it must be a number")
    elif shape == "object":
        if not isinstance(given, dict):
            checks.refuse(name, given, "it must be an object (a dict)")
    elif shape == "text_or_object":
        if not (isinstance(given, dict) or (isinstance(given, str) and given)):
            checks.refuse(name, given, "it must be text or an object (a dict)")
    elif shape == "metadata":
        _check_metadata(given)
    elif shape == "multi_agent":
        _check_multi_agent(given)
    elif shape == "input":
        if not isinstance(given, str):
            _check_list(given, name, "text or a list of items (dicts)", _check_item)
    elif shape == "objects":
        _check_list(given, name, "a list of objects (dicts)", _check_object)
    else:
        _check_list(given, name, "a list of words", checks.text)
    return given


def _check_list(
    given: object, name: str, wanted: str, check: Callable[[object, str], object]
) -> None:
    if not isinstance(given, list):
        checks.refuse(name, given, f"it must be {wanted}")
    for at, element in enumerate(given):
        check(element, f"{name}[{at}]")


def _check_object(element: object, path: str) -> None:
    if not isinstance(element, dict):
        checks.refuse(path, element, "it must be an object (a dict) with a type")
    if "type" not in element:
        checks.refuse_missing(f"{path}.type", "each of these objects has a type")
    checks.text(element["type"], f"{path}.type", at_least=1)


def _check_item(element: object, path: str) -> None:
    if not isinstance(element, dict):
        advice = 'A message is {"role": "user", "content": "…"}.'
        checks.refuse(path, element, "it must be an item (a dict)", advice)
    if "type" in element:
        checks.text(element["type"], f"{path}.type", at_least=1)
    elif "role" not in element and "id" not in element:
        # Messages and references may leave their type out.
        checks.refuse_missing(f"{path}.type", "an item has a type, or is a message with a role")


def _check_metadata(given: object) -> None:
    if not isinstance(given, dict):
        checks.refuse("metadata", given, "it must be an object with text values")
    if len(given) > 16:
        rule = "it may hold at most 16 pairs"
        msg = f"metadata has {len(given)} pairs: {rule}."
        raise InvalidInput(msg, field="metadata", value=given, rule=rule)
    for key, value in given.items():
        checks.text(key, f"the metadata key {shown(key)}", limit=64)
        checks.text(value, joined("metadata", key), limit=512)


def _check_multi_agent(given: object) -> None:
    rule = 'it must be {"enabled": True}, with max_concurrent_subagents if you like'
    if not isinstance(given, dict):
        checks.refuse("multi_agent", given, rule)
    checks.known_keys(given, ("enabled", "max_concurrent_subagents"), "multi_agent", "multi_agent")
    if "enabled" not in given:
        checks.refuse_missing("multi_agent.enabled", rule)
    if not isinstance(given["enabled"], bool):
        checks.refuse("multi_agent.enabled", given["enabled"], "it must be True or False")
    if given.get("max_concurrent_subagents") is not None:
        path = "multi_agent.max_concurrent_subagents"
        checks.whole(given["max_concurrent_subagents"], path, at_least=1)


def response_inject(response_id: str, input: list[Any]) -> dict[str, Any]:  # noqa: A002
    """Build a ``response.inject`` request: results for agents that wait in a running response.

    It holds exactly three fields; the lane is the response's own. The service commits all items or
    none.

    Parameters
    ----------
    response_id : str
        The multi-agent response that is being written.
    input : list of dict
        Filled stubs, one for each call that is answered.

    Returns
    -------
    dict
        The request, sharing nothing with what was given.

    Raises
    ------
    InvalidInput
        The input is empty, answers a call twice, or holds what answers no call.

    Examples
    --------
    >>> answer = {"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}
    >>> response_inject("resp_1", [answer])["response_id"]
    'resp_1'
    """
    checks.text(response_id, "response_id", at_least=1, what="a response's id")
    given = plain(input, "input")
    rule = "an inject holds filled stubs only, one for each call"
    if not isinstance(given, list) or not given:
        checks.refuse("input", given, rule)
    seen: set[str] = set()
    for at, item in enumerate(given):
        _check_object(item, f"input[{at}]")
        if not is_answer(item):
            advice = "What you want to say goes into the next turn."
            checks.refuse(f"input[{at}].type", item["type"], rule, advice)
        key = stub_key(item)
        if key in seen:
            checks.refuse(f"input[{at}]", key, "a call is answered once")
        seen.add(key)
    check_totals(given)
    return {
        "type": "response.inject",
        "response_id": plain(response_id, "response_id"),
        "input": given,
    }


def response_steer(previous_response_id: str, input: str | list[Any]) -> dict[str, Any]:  # noqa: A002
    """Build a ``response.steer`` request: new user input for a response that is running.

    It holds exactly three fields. The lane and the settings are the response's own.

    Parameters
    ----------
    previous_response_id : str
        The response to steer.
    input : str or list of dict
        Text, or user messages: only `type` (``message``), `role` (``user``) and `content` (text, or
        a list of ``input_text``, ``input_image`` and ``input_file`` parts).

    Returns
    -------
    dict
        The request, sharing nothing with what was given.

    Raises
    ------
    InvalidInput
        The input is empty, or holds what a steer may not hold; the message names its path.

    Examples
    --------
    >>> response_steer("resp_1", "Keep it under 300 euros")
    {'type': 'response.steer', 'previous_response_id': 'resp_1', 'input': 'Keep it under 300 euros'}
    """
    checks.text(previous_response_id, "previous_response_id", at_least=1, what="a response's id")
    return {
        "type": "response.steer",
        "previous_response_id": plain(previous_response_id, "previous_response_id"),
        "input": _check_steer_input(plain(input, "input")),
    }


_NOT_EMPTY: Final = "a steer must say something"
_MESSAGE_KEYS: Final = ("type", "role", "content")


def _check_steer_input(given: object) -> Any:
    if isinstance(given, str):
        if not given.strip():
            checks.refuse("input", given, _NOT_EMPTY)
        return given
    if not isinstance(given, list):
        checks.refuse("input", given, "it must be text or a list of user messages")
    if not given:
        checks.refuse("input", given, _NOT_EMPTY)
    messages = [_check_message(message, f"input[{at}]") for at, message in enumerate(given)]
    check_totals(messages)
    return messages


def _check_message(message: object, path: str) -> dict[str, Any]:
    rule = 'a steer takes user messages only: {"type": "message", "role": "user", "content": …}'
    if not isinstance(message, dict):
        checks.refuse(path, message, rule)
    if message.get("type", "message") != "message":
        advice = "Results and other items go into the continuation."
        checks.refuse(f"{path}.type", message["type"], rule, advice)
    if "role" not in message:
        checks.refuse_missing(f"{path}.role", rule)
    if message["role"] != "user":
        checks.refuse(f"{path}.role", message["role"], rule)
    checks.known_keys(message, _MESSAGE_KEYS, path, "a steer's message")
    if "content" not in message:
        checks.refuse_missing(f"{path}.content", rule)
    content = message["content"]
    where = f"{path}.content"
    if isinstance(content, str):
        if not content.strip():
            checks.refuse(where, content, _NOT_EMPTY)
    elif isinstance(content, list):
        if not content:
            checks.refuse(where, content, _NOT_EMPTY)
        content = check_parts(content, where, need_detail=False)
        if all(part["type"] == "input_text" and not part["text"].strip() for part in content):
            checks.refuse(where, content, _NOT_EMPTY)
    else:
        checks.refuse(where, content, "it must be text or a list of content parts")
    # The prose lets `type` be left out, the schema requires it: say it.
    return {"type": "message", "role": "user", "content": content}
