"""What a request may hold as a whole: refused before it is built, with the size."""

from __future__ import annotations

import base64

import pytest

from steer_nb.errors import InvalidInput
from steer_nb.wire import response_create, response_inject, response_steer, totals
from steer_nb.wire.totals import check_payload, check_totals

IMAGE = {"type": "input_image", "file_id": "file_1", "detail": "auto"}
SHOT = {"type": "computer_screenshot", "file_id": "file_1"}


def said(*parts):
    return [{"type": "message", "role": "user", "content": list(parts)}]


def told(*outputs):
    return [
        {"type": "function_call_output", "call_id": f"call_{at}", "output": output}
        for at, output in enumerate(outputs)
    ]


def file(size, head="data:text/plain;base64,"):
    data = head + base64.b64encode(b"x" * size).decode()
    return {"type": "input_file", "filename": "a.txt", "file_data": data}


REQUESTS = [
    lambda *parts: response_create(input=said(*parts)),
    lambda *parts: response_create(input=told(list(parts))),
    lambda *parts: response_inject("resp_1", told(list(parts))),
    lambda *parts: response_steer("resp_1", said(*parts)),
]


@pytest.mark.parametrize("build", REQUESTS)
def test_images_are_counted_in_every_request(build):
    build(*[IMAGE] * 1500)
    with pytest.raises(InvalidInput, match=r"holds 1,501 images: a request takes at most 1,500"):
        build(*[IMAGE] * 1501)


def test_images_are_counted_wherever_they_stand():
    shots = [{"type": "computer_call_output", "call_id": "c", "output": SHOT}] * 2
    with pytest.raises(InvalidInput, match=r"holds 1,501 images"):
        check_totals([*said(*[IMAGE] * 1000), *told([IMAGE] * 499), *shots])


@pytest.mark.parametrize("build", REQUESTS)
def test_all_files_together_have_a_limit(build, monkeypatch):
    monkeypatch.setattr(totals, "FILES_LIMIT", 3000)
    build(file(1000), file(1999), file(1, head=""))
    with pytest.raises(InvalidInput, match=r"holds 3 files of 3,001 bytes \(0.0 MiB\): a request"):
        build(file(1000), file(1999), file(2, head=""))
    with pytest.raises(InvalidInput, match=r"1 file of 3,001 .* give each file_id"):
        build(file(3001))


def test_the_limit_of_files_is_what_the_guide_says():
    half = file(26 * 1024 * 1024)
    check_totals(said(half))
    with pytest.raises(InvalidInput, match=r"2 files of 54,525,952 bytes \(52.0 MiB\)") as caught:
        check_totals(said(half, half))
    assert "at most 52,428,800 bytes (50.0 MiB)" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("given", "path", "name"),
    [
        ("x" * 11, "input", "text"),
        (said({"type": "input_text", "text": "x" * 11}), r"input\[0\]\.content\[0\]\.text", "text"),
        ([{"role": "user", "content": "x" * 11}], r"input\[0\]\.content", "text"),
        (told("x" * 11), r"input\[0\]\.output", "text"),
        (
            [{"type": "computer_call_output", "output": {**SHOT, "image_url": "x" * 11}}],
            r"input\[0\]\.output\.image_url",
            "image_url",
        ),
        (said(file(11)), r"input\[0\]\.content\[0\]\.file_data", "file_data"),
    ],
)
def test_single_parts_have_their_limit_also_where_a_person_wrote_them(
    given, path, name, monkeypatch
):
    monkeypatch.setattr(totals, "TEXT_LIMIT", 10)
    monkeypatch.setitem(totals._LIMITS, name, 10)
    with pytest.raises(InvalidInput, match=rf"{path} has \d+ characters: .* at most 10"):
        response_create(input=given)


def test_odd_items_are_left_to_others():
    for odd in (None, 3, [None], [{"content": 3}], [{"content": [3, None]}], [{"output": {}}]):
        check_totals(odd)


def test_the_whole_message_is_measured_in_bytes(monkeypatch):
    monkeypatch.setattr(totals, "REQUEST_LIMIT", 100)
    check_payload("ä" * 50)
    with pytest.raises(InvalidInput, match=r"would be 102 bytes .* at most 100 bytes"):
        check_payload("ä" * 51)
