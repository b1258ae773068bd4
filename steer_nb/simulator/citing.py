"""The text parts of a message, and what they cite: each annotation comes where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steer_nb.simulator.place import Beat

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from steer_nb.simulator.place import Place

__all__ = ["ANNOTATIONS", "Cite", "end_of", "placed", "say_text"]


class Cite(NamedTuple):
    """One kind of annotation: the texts it needs, and the numbers that say where it stands."""

    texts: tuple[str, ...]
    places: tuple[str, ...]


_SPAN = ("start_index", "end_index")

ANNOTATIONS: Mapping[str, Cite] = {
    "url_citation": Cite(("url", "title"), _SPAN),
    "file_citation": Cite(("file_id", "filename"), ("index",)),
    "container_file_citation": Cite(("container_id", "file_id", "filename"), _SPAN),
    "file_path": Cite(("file_id",), ("index",)),
}
"""All kinds, by type (`openai.types.responses.ResponseOutputText`)."""


def placed(annotation: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Say where in a text an annotation stands, if it does not say it itself.

    Examples
    --------
    >>> placed({"type": "file_path", "file_id": "file_1"}, "A table.")
    {'index': 8, 'type': 'file_path', 'file_id': 'file_1'}
    >>> end_of(placed({"type": "url_citation", "url": "https://a.b", "title": ""}, "A table."))
    8
    """
    ends = {"start_index": 0, "end_index": len(text), "index": len(text)}
    known = ANNOTATIONS.get(annotation["type"])
    where = {name: ends[name] for name in known.places} if known else {}
    return {**where, **annotation}


def end_of(annotation: Mapping[str, Any]) -> int:
    """Say where the text ends that an annotation is about."""
    return int(annotation.get("end_index", annotation.get("index", 0)))


def say_text(
    place: Place,
    item_id: str,
    index: int,
    text: str,
    annotations: Sequence[Mapping[str, Any]] = (),
) -> Generator[Beat, None, dict[str, Any]]:
    """Write one text part of a message, and give the part."""
    at = {"item_id": item_id, "output_index": place.output_index, "content_index": index}
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield Beat({"type": "response.content_part.added", **at, "part": part})
    cites = sorted((placed(one, text) for one in annotations), key=end_of)
    written, cited = 0, 0
    for delta, wait in (*place.deltas(text), ("", 0.0)):
        if delta:
            event = {"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []}
            yield Beat(event, wait)
            written += len(delta)
        while cited < len(cites) and (end_of(cites[cited]) <= written or not delta):
            kind = "response.output_text.annotation.added"
            note = {"annotation_index": cited, "annotation": cites[cited]}
            yield Beat({"type": kind, **at, **note})
            cited += 1
    yield Beat({"type": "response.output_text.done", **at, "text": text, "logprobs": []})
    part = {**part, "text": text, "annotations": cites}
    yield Beat({"type": "response.content_part.done", **at, "part": part})
    return part
