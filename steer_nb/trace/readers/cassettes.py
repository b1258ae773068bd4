"""VCR cassettes: vcrpy's, in YAML or JSON; those with ``requests`` and ``responses``; Ruby's.

Nothing in a cassette is ever run: tags of Python objects are read as the plain values below them.
"""

from __future__ import annotations

import base64
import re
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steer_nb.extras import extra
from steer_nb.trace.readers.exchange import Exchange
from steer_nb.trace.readers.exchanges import Exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["holds_interactions", "read", "read_document", "recognise"]

_BEGIN: Final = re.compile(
    rb"\A(?:\s|#[^\n]*\n|---[^\n]*\n|%[^\n]*\n|version:[^\n]*\n|recorded_with:[^\n]*\n)*"
    rb"(?:interactions|http_interactions|requests|responses):\s*(?:\n|\Z|#|\[)"
)
_PYTHON: Final = "tag:yaml.org,2002:python/"
_ATTEMPTS: Final = 4
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)


def recognise(head: bytes) -> bool:
    """Say whether a file begins as a cassette in YAML does."""
    return _BEGIN.match(head) is not None


def holds_interactions(value: Any) -> bool:
    """Say whether a JSON document is a cassette."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), list) for name in ("interactions", "http_interactions")
    )


@cache
def _loader() -> tuple[Any, Any]:
    yaml = extra("yaml", "yaml", "A VCR cassette needs the package yaml")
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # Plain values only; of a base64 text that breaks off, what is there.
    made: Any = type("Loader", (base,), {})

    def binary(loader: Any, node: Any) -> bytes:
        text = re.sub(r"[^A-Za-z0-9+/]", "", str(loader.construct_scalar(node)))
        return base64.b64decode(text[: len(text) - (len(text) % 4 == 1)] + "==")

    def plain(loader: Any, _: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    made.add_constructor("tag:yaml.org,2002:binary", binary)
    made.add_multi_constructor(_PYTHON, plain)
    return yaml, made


def read(source: Source, found: Recording) -> None:
    """Read a cassette in YAML."""
    yaml, loader = _loader()
    text = source.content().decode("utf-8", "replace")
    faults = (yaml.YAMLError, ValueError, TypeError, RecursionError, AttributeError)
    value, why = None, source.broken
    attempts = 0
    while text.strip():
        attempts += 1
        try:
            value = yaml.load(text, Loader=loader)  # a safe loader
            break
        except faults as error:
            why = why or _sentence(error)
            items = [match.start() for match in _ITEM.finditer(text)]
            if attempts > _ATTEMPTS:  # more is broken than an end that is missing
                items = items[: len(items) // 2]
            text = text[: _cut(text, items, error)] if items else ""
    broken = None if why is None else f"the rest cannot be read: {why}"
    _read(value if isinstance(value, dict) else {}, found, broken)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())


def _cut(text: str, items: list[int], error: Exception) -> int:
    """Where the item begins that cannot be read: the last one, or the one that YAML names."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return items[-1]
    line = getattr(mark, "line", 0)
    place = 0
    for _ in range(line):
        place = text.find("\n", place) + 1
        if place == 0:
            return items[-1]
    before = [start for start in items if start <= place]
    return before[-1] if before else items[-1]


def read_document(_: str, value: Any, found: Recording) -> None:
    """Read a cassette that is decoded already."""
    _read(value, found, None)


def _read(value: dict[str, Any], found: Recording, broken: str | None) -> None:
    exchanges = Exchanges(found)
    pairs = list(_pairs(value))
    for number, (request, response, recorded) in enumerate(pairs, start=1):
        response = {} if response is None else response  # it breaks off before that
        if not isinstance(request, dict) or not isinstance(response, dict):
            if number == len(pairs) and broken is None:
                broken = f"interaction {number} breaks off"
            else:
                found.odd("not_object", "no request with its response", number)
            continue
        body, encoding = _body(response.get("body")), _encoding(response.get("headers"))
        exchanges.take(
            Exchange(
                number=number,
                method=str(request.get("method") or ""),
                url=str(request.get("uri") or request.get("url") or ""),
                request=_body(request.get("body")),
                status=_status(response.get("status")),
                body=body,
                encoding=encoding,
                ended_at=_moment(recorded),
            )
        )
    if not pairs and broken is None:
        broken = "the cassette holds no interaction"
    exchanges.end(broken)


def _pairs(value: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    listed = value.get("interactions") or value.get("http_interactions")
    if isinstance(listed, list):
        for one in listed:
            held = one if isinstance(one, dict) else {}
            yield held.get("request"), held.get("response"), held.get("recorded_at")
        return
    requests, responses = value.get("requests"), value.get("responses")
    asked = requests if isinstance(requests, list) else []
    told = responses if isinstance(responses, list) else []
    for index, request in enumerate(asked):
        # A cassette that breaks off has requests whose responses were never written.
        yield request, told[index] if index < len(told) else None, None


def _body(value: Any) -> bytes | str | None:
    """The bytes or text of a body, in any of the shapes that recorders give it."""
    if isinstance(value, bytes | str) or value is None:
        return value
    if not isinstance(value, dict):
        return None
    coded = value.get("base64_string")
    if isinstance(coded, str):
        try:
            return base64.b64decode(coded)
        except ValueError:
            return None
    found = value.get("string")
    return found if isinstance(found, bytes | str) else None


def _encoding(headers: Any) -> str:
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if str(name).lower() == "content-encoding":
            return ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return ""


def _status(value: Any) -> int | None:
    code = value.get("code") if isinstance(value, dict) else value
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _moment(value: Any) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
