"""Lists of content parts: text, images and files in tool results and user messages (chapter 6)."""

from __future__ import annotations

from typing import Any, Final

from steer_nb.wire import checks
from steer_nb.wire.limits import FILE_DATA_LIMIT, IMAGE_URL_LIMIT, TEXT_LIMIT

__all__ = ["PART_TYPES", "check_image_url", "check_parts"]

PART_TYPES: Final = ("input_text", "input_image", "input_file")
"""Types of content part that a tool result or a user message may hold."""

_KEYS: Final = {
    "input_text": ("type", "text", "prompt_cache_breakpoint"),
    "input_image": ("type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"),
    "input_file": (
        "type",
        "file_id",
        "file_url",
        "file_data",
        "filename",
        "detail",
        "prompt_cache_breakpoint",
    ),
}


def check_parts(value: list[Any], path: str, *, need_detail: bool) -> list[dict[str, Any]]:
    """Check a list of content parts.

    Parameters
    ----------
    value : list
        Plain JSON.
    path : str
        How messages call it.
    need_detail : bool
        Whether images must say their `detail`; ``auto`` is put in where they do not. (The SDK
        requires it in messages and custom tool results, not in function results and steers.)

    Returns
    -------
    list of dict
        The parts, without fields that are None.

    Raises
    ------
    InvalidInput
        A part breaks a rule; the message names its path.
    """
    return [_check_part(part, f"{path}[{at}]", need_detail) for at, part in enumerate(value)]


def _check_part(value: object, path: str, need_detail: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        checks.refuse(path, value, "each part must be an object with a type", _LIST_ADVICE)
    if "type" not in value:
        checks.refuse_missing(f"{path}.type", f"each part is one of {', '.join(PART_TYPES)}")
    kind = checks.one_of(value["type"], PART_TYPES, f"{path}.type")
    checks.known_keys(value, _KEYS[kind], path, f"an {kind} part")
    part = {key: inner for key, inner in value.items() if inner is not None}
    if kind == "input_text":
        if "text" not in part:
            checks.refuse_missing(f"{path}.text", "an input_text part needs its text")
        checks.text(part["text"], f"{path}.text", limit=TEXT_LIMIT)
    elif kind == "input_image":
        _check_source(part, path, ("image_url", "file_id"))
        if "image_url" in part:
            check_image_url(part["image_url"], f"{path}.image_url", limit=IMAGE_URL_LIMIT)
        if "detail" in part:
            checks.one_of(part["detail"], ("auto", "low", "high", "original"), f"{path}.detail")
        elif need_detail:
            part["detail"] = "auto"
    else:
        _check_source(part, path, ("file_id", "file_url", "file_data"))
        if "file_data" in part:
            checks.text(part["file_data"], f"{path}.file_data", limit=FILE_DATA_LIMIT)
        if "filename" in part:
            checks.text(part["filename"], f"{path}.filename", at_least=1)
        if "detail" in part:
            checks.one_of(part["detail"], ("auto", "low", "high"), f"{path}.detail")
    if "prompt_cache_breakpoint" in part:
        _check_breakpoint(part["prompt_cache_breakpoint"], f"{path}.prompt_cache_breakpoint")
    return part


_LIST_ADVICE: Final = 'Such as {"type": "input_text", "text": "…"}.'


def _check_source(part: dict[str, Any], path: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if name in part]
    if not given:
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        checks.refuse_missing(f"{path}.{names[0]}", f"an {part['type']} part needs {listed}")
    for name in given:
        checks.text(part[name], f"{path}.{name}", at_least=1)


def check_image_url(value: object, path: str, *, limit: int | None = None) -> str:
    """Refuse what is neither a URL nor an image as a data URL."""
    url = checks.text(value, path, limit=limit, at_least=1)
    start = url[:11].lower()
    if not start.startswith(("https://", "http://", "data:image/")):
        rule = (
            "it must be a full URL (https://…) or an image as a data URL (data:image/png;base64,…)"
        )
        checks.refuse(path, value, rule)
    return url


def _check_breakpoint(value: object, path: str) -> None:
    if not isinstance(value, dict):
        checks.refuse(path, value, 'it must be an object such as {"mode": "explicit"}')
    checks.known_keys(value, ("mode", "ttl"), path, "a prompt cache breakpoint")
    checks.one_of(value.get("mode"), ("explicit",), f"{path}.mode")
    if "ttl" in value:
        checks.one_of(value["ttl"], ("30m", "12h"), f"{path}.ttl")
