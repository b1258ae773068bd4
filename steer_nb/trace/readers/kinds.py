"""The kinds of recordings, in the order in which a file is tried.

What a file is, its first bytes say, and for JSON what it holds; never its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.trace.readers import (
    bodies,
    cassettes,
    documents,
    har,
    journals,
    jsonlines,
    rollouts,
    sse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["DOCUMENTS", "KINDS", "TITLES", "Document", "Kind", "document_of", "kind_of"]


@dataclass(frozen=True)
class Kind:
    """A kind that its first bytes tell.

    Attributes
    ----------
    source : str
        The word for it in the `traces` frame.
    title : str
        What a person calls it.
    unit : {"line", "entry"}
        What its places count.
    """

    source: str
    title: str
    unit: str
    recognise: Callable[[bytes], bool]
    read: Callable[[Source, Recording], None]


@dataclass(frozen=True)
class Document:
    """A kind of JSON file that is read as a whole; its structure tells it."""

    source: str
    title: str
    unit: str
    recognise: Callable[[Any], bool]
    read: Callable[[str, Any, Recording], None]


KINDS: Final = (
    Kind("live", "a saved trace or journal", "line", journals.recognise, journals.read),
    Kind("codex_rollout", "a Codex rollout", "line", rollouts.recognise, rollouts.read),
    Kind("sse", "a stream of events", "line", sse.recognise, sse.read),
    Kind("vcr", "a VCR cassette", "entry", cassettes.recognise, cassettes.read),
    Kind("jsonl", "a list of responses", "line", bodies.recognise, bodies.read),
    # Last, since it also finds events behind what a logger wrote in front of them.
    Kind("jsonl", "a log of events", "line", jsonlines.recognise, jsonlines.read),
)
"""Kinds that are recognised by how they begin."""

DOCUMENTS: Final = (
    Document("har", "a HAR file", "entry", har.is_har, har.read),
    Document(
        "vcr", "a VCR cassette", "entry", cassettes.holds_interactions, cassettes.read_document
    ),
    Document("json", "a captured request", "entry", documents.is_exchange, documents.read_exchange),
    Document("json", "a response object", "entry", documents.is_body, documents.read_body),
    Document("json", "a list of responses", "entry", bodies.holds_bodies, bodies.read_list),
    Document(
        "json",
        "a list of events or messages",
        "entry",
        documents.holds_messages,
        documents.read_messages,
    ),
)
"""Kinds that are one JSON value."""

TITLES: Final = tuple(dict.fromkeys(kind.title for kind in (*KINDS, *DOCUMENTS)))
"""What can be read, in words."""


def kind_of(head: bytes) -> Kind | None:
    """Say which kind a file is by its first bytes; None where they do not tell."""
    return next((kind for kind in KINDS if kind.recognise(head)), None)


def document_of(text: str) -> tuple[Document, Any] | None:
    """Say which kind of JSON document a text is, and give what it holds; None for no known one."""
    value = documents.parsed(text)
    if value is None:
        value = har.salvaged(text)
    if value is None:
        return None
    found = next((kind for kind in DOCUMENTS if kind.recognise(value)), None)
    return None if found is None else (found, value)
