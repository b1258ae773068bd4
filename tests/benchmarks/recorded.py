"""Recordings as the service writes them, of any size: what `frames.py` reads.

    python tests/benchmarks/recorded.py FILE EVENTS [journal]

Four lanes stream at once. Nine of ten events are deltas (text, summaries of reasoning, arguments of
calls); the others begin and end parts, items and responses, and embed them whole, with usage.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LANES = ("research", "draft", "review", None)
WORDS = [
    " the",
    " a",
    " of",
    " stream",
    " table",
    ",",
    ".",
    " café",
    " 東京",
    " lane",
    " event",
    "s",
]
WORDS += [f" word{number}" for number in range(300)]

INSTRUCTIONS = " ".join(["Answer briefly, name your sources, and ask before you act."] * 14)


def _body(response_id: str, status: str, **more: Any) -> dict[str, Any]:
    body = {"id": response_id, "object": "response", "created_at": 1795996800, "status": status}
    body |= {"error": None, "incomplete_details": None, "instructions": INSTRUCTIONS}
    body |= {"max_output_tokens": None, "model": "gpt-6-astra", "output": [], "metadata": {}}
    body |= {"parallel_tool_calls": True, "previous_response_id": None, "temperature": 1.0}
    body |= {"reasoning": {"effort": "medium", "summary": "auto"}, "service_tier": "default"}
    body |= {"store": True, "text": {"format": {"type": "text"}}, "tool_choice": "auto"}
    tool = {"type": "function", "name": "search", "description": "Search.", "strict": True}
    shape = {"type": "object", "properties": {"query": {"type": "string"}}}
    body |= {"tools": [{**tool, "parameters": shape}], "top_p": 1.0, "truncation": "disabled"}
    return body | {"usage": None, "user": None} | more


class _Lane:
    """One lane's events, response after response, without an end."""

    def __init__(self, name: str | None, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.random = random.Random(seed)
        self.number = 0

    def event(self, kind: str, **fields: Any) -> str:
        fields["sequence_number"] = self.number
        self.number += 1
        if self.name is not None:
            fields["stream_id"] = self.name
        return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))

    def deltas(
        self, kind: str, pieces: list[str], index: int, item: str, place: str
    ) -> Iterator[str]:
        """Much the most events: put together without a dict each."""
        tail = "" if self.name is None else f',"stream_id":"{self.name}"'
        extra = '"logprobs":[],' if "output_text" in kind else ""
        for piece in pieces:
            hidden = "x7Qp2LmZ9vKdR4"[: self.number % 15]
            yield (
                f'{{"type":"{kind}","{place}delta":{piece},"item_id":"{item}",{extra}'
                f'"obfuscation":"{hidden}","output_index":{index},'
                f'"sequence_number":{self.number}{tail}}}'
            )
            self.number += 1

    def events(self) -> Iterator[str]:
        turn = 0
        while True:
            yield from self.response(f"resp_{self.seed:04x}{turn:044x}")
            turn += 1

    def response(self, name: str) -> Iterator[str]:
        self.number = 0
        tail = name.removeprefix("resp_")
        yield self.event("response.created", response=_body(name, "in_progress"))
        yield self.event("response.in_progress", response=_body(name, "in_progress"))
        output = []
        for index, kind in enumerate(("reasoning", "function_call", "message")):
            item = yield from getattr(self, kind)(tail, index)
            output.append(item)
        detail = {"cached_tokens": 1024}, {"reasoning_tokens": 32}
        usage = {"input_tokens": 2048, "input_tokens_details": detail[0], "output_tokens": 150}
        usage |= {"output_tokens_details": detail[1], "total_tokens": 2198}
        yield self.event(
            "response.completed", response=_body(name, "completed", output=output, usage=usage)
        )

    def reasoning(self, tail: str, index: int) -> Iterator[str]:
        item = {"id": f"rs_{tail}", "type": "reasoning", "summary": []}
        at = {"item_id": item["id"], "output_index": index, "summary_index": 0}
        yield self.event("response.output_item.added", output_index=index, item=item)
        part = {"type": "summary_text", "text": ""}
        yield self.event("response.reasoning_summary_part.added", **at, part=part)
        text, pieces = self.words(30)
        kind = "response.reasoning_summary_text"
        yield from self.deltas(f"{kind}.delta", pieces, index, f"rs_{tail}", 'summary_index":0,"')
        yield self.event(f"{kind}.done", **at, text=text)
        part["text"] = text
        yield self.event("response.reasoning_summary_part.done", **at, part=part)
        item["summary"] = [part]
        yield self.event("response.output_item.done", output_index=index, item=item)
        return item

    def function_call(self, tail: str, index: int) -> Iterator[str]:
        item = {"id": f"fc_{tail}", "type": "function_call", "call_id": f"call_{tail[-24:]}"}
        item |= {"name": "search", "arguments": "", "status": "in_progress"}
        yield self.event("response.output_item.added", output_index=index, item=item)
        text, _ = self.words(10)
        arguments = json.dumps({"query": text}, ensure_ascii=False)
        cut = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
        pieces = [json.dumps(piece, ensure_ascii=False) for piece in cut]
        kind = "response.function_call_arguments"
        yield from self.deltas(f"{kind}.delta", pieces, index, f"fc_{tail}", "")
        at = {"item_id": item["id"], "output_index": index}
        yield self.event(f"{kind}.done", **at, arguments=arguments)
        item |= {"arguments": arguments, "status": "completed"}
        yield self.event("response.output_item.done", output_index=index, item=item)
        return item

    def message(self, tail: str, index: int) -> Iterator[str]:
        item = {"id": f"msg_{tail}", "type": "message", "status": "in_progress", "content": []}
        item["role"] = "assistant"
        at = {"item_id": item["id"], "output_index": index, "content_index": 0}
        yield self.event("response.output_item.added", output_index=index, item=item)
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        yield self.event("response.content_part.added", **at, part=part)
        text, pieces = self.words(90)
        kind = "response.output_text"
        yield from self.deltas(f"{kind}.delta", pieces, index, f"msg_{tail}", 'content_index":0,"')
        yield self.event(f"{kind}.done", **at, text=text, logprobs=[])
        part["text"] = text
        yield self.event("response.content_part.done", **at, part=part)
        item |= {"status": "completed", "content": [part]}
        yield self.event("response.output_item.done", output_index=index, item=item)
        return item

    def words(self, about: int) -> tuple[str, list[str]]:
        found = self.random.choices(WORDS, k=self.random.randint(about // 2, about * 3 // 2))
        return "".join(found), [json.dumps(word, ensure_ascii=False) for word in found]


def messages(count: int, seed: int = 1) -> Iterator[str]:
    """So many messages: the lanes take turns, a few events each time."""
    turns = random.Random(seed)
    lanes = [_Lane(name, seed * 16 + place).events() for place, name in enumerate(LANES)]
    while count > 0:
        lane = turns.choice(lanes)
        for _ in range(min(count, turns.randint(1, 8))):
            yield next(lane)
            count -= 1


def write(path: Path, count: int, *, journal: bool = False) -> None:
    """Write a recording: bare events, one a line, or our own journal of them."""
    with path.open("w", encoding="utf-8") as file:
        if journal:
            file.write(f'{{"steer_nb":1,"trace_id":"{count:032x}","started_at":1795996800.0}}\n')
            data = '"data":{"url":"wss://api.openai.com/v1/responses"}'
            head = '{"seq":0,"at":1795996800.0,"t":0.0,"kind":"note","connection":1'
            file.write(f'{head},"note":"connected",{data}}}\n')
        for seq, message in enumerate(messages(count), 1):
            if journal:
                t = seq / 128
                place = f'"seq":{seq},"at":{1795996800 + t},"t":{t},"kind":"in","connection":1'
                file.write(f'{{{place},"raw":{json.dumps(message, ensure_ascii=False)}}}\n')
            else:
                file.write(message + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), journal=sys.argv[3:] == ["journal"])
