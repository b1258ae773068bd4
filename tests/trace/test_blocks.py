"""Reading lines many at once gives what reading them one by one gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb import load
from steer_nb.trace.readers import journals, jsonlines, source
from steer_nb.trace.readers.source import Source

EVENT = b'{"type":"response.output_text.delta","output_index":0,"delta":"a"}'
ENTRY = b'{"seq":1,"at":1.0,"t":0.5,"kind":"in","connection":1,"raw":"{}"}'
LINES = [
    *[EVENT] * 8,
    *[ENTRY] * 8,
    *[b"", b" ", b"{", b"}", b"{}", b"[]", b"null", b'"', b"{}{}", b"{} {}", b"{}[", b"]{}"],
    *[EVENT + EVENT, EVENT + b"\r", b" " + EVENT, EVENT + b" ", b"12:00 " + EVENT, EVENT[:-1]],
    *[b'{"type":', b'"x"}{"type":"y"}', b'{"type":"response.x","a":[{}', b"{}]}", b'{"a":"', b'"}'],
    b'{"type":"response.x","a":"\xff"}',
    b'{"type":"response.x","a":"\xe2\x80\xa8"}',
    b'{"type":"response.x","a":NaN}',
    b'{"type":"response.x","output_index":"1"}',
    b'{"type":"response.create","input":"a"}',
    b'{"type":"ping","dir":"in"}',
    b'{"dir":"in","frame":{"type":"response.x"}}',
    b'{"type":3}',
    b'{"seq":"1"}',
    b'{"seq":1,"at":null,"t":null,"kind":"note","note":"closed","more":"\xff"}',
    b"[" * 2000,
    rb'{"type":"response.output_text.delta","delta":"\q"}',
    rb'{"type":"response.output_text.delta","delta":"\ud83d"}',
    b'{"type":"response.output_text.delta","delta":NaN,"output_index":0}',
    b'{"type":"response.output_text.delta","delta":1e999,"sequence_number":"x"}',
    b'{"type":"response.output_text.delta","delta":' + b"[" * 2000 + b"]" * 2000 + b"}",
]
HEADS = [EVENT, json.dumps({"steer_nb": 1, "trace_id": "0" * 32}).encode()]


def seen(path, singly):
    with pytest.MonkeyPatch.context() as patch:
        if singly:
            for module in (journals, jsonlines):
                patch.setattr(module, "decoded_lines", lambda *_: None)
        trace = load(path, progress=False)
    numbers = None if trace.places is None else list(trace.places)
    return trace.header, trace.entries, trace.file_problems, numbers


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(HEADS),
    st.lists(st.sampled_from(LINES), max_size=12),
    st.sampled_from([b"", b"\n"]),
    st.sampled_from([1, 7, 100, 1 << 16]),
)
def test_lines_at_once(tmp_path_factory, head, lines, end, chunk):
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(b"\n".join([head, *lines]) + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK", chunk)
        patch.setattr(source, "HEAD", 200)
        assert seen(path, singly=False) == seen(path, singly=True)
        with Source(path) as opened:
            blocks = list(opened.blocks())
            torn = opened.torn
    content = path.read_bytes()
    assert torn == (not content.endswith(b"\n"))
    assert all(block.split(b"\n") == lines for _, block, lines in blocks)
    lines = [line for *_, some in blocks for line in some]
    assert lines == content.removesuffix(b"\n").split(b"\n")
    firsts = [number for number, *_ in blocks]
    sizes = [len(some) for *_, some in blocks]
    assert firsts == [1 + sum(sizes[:place]) for place in range(len(sizes))]


def test_whole_blocks_are_read_at_once(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join([EVENT] * 100) + b"\n")
    monkeypatch.setattr(jsonlines, "_line", None)
    assert len(load(path, progress=False)) == 101
