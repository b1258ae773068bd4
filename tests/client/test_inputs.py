from __future__ import annotations

import base64

import pandas as pd
import pytest

from steer_nb.client import inputs
from steer_nb.client.inputs import create_input, steer_input, user_items
from steer_nb.errors import InvalidInput
from steer_nb.wire import response_create, response_steer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def parts(value):
    (message,) = create_input(value)
    assert (message["type"], message["role"]) == ("message", "user")
    response_create(input=[message])
    response_steer("resp_1", [message])
    return message["content"]


def test_text_goes_out_exactly_as_written():
    text = "  Keep {braces}, $dollars and a\nline break.  "
    assert create_input(text) == text
    assert steer_input(text) == text


def test_a_list_of_things_is_one_user_message(tmp_path):
    file = tmp_path / "photo.png"
    file.write_bytes(PNG)
    frame = pd.DataFrame({"city": ["Lisbon"], "euros": [300]})
    text, image, table = parts(["Look at this:", file, frame])
    assert text == {"type": "input_text", "text": "Look at this:"}
    assert image["type"] == "input_image"
    assert image["image_url"] == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert table["text"] == "city,euros\nLisbon,300\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.png", "png"), ("a.JPG", "jpeg"), ("a.jpeg", "jpeg"), ("a.webp", "webp"), ("a.gif", "gif")],
)
def test_paths_of_pictures(tmp_path, name, kind):
    file = tmp_path / name
    file.write_bytes(b"x")
    (part,) = parts(file)
    assert part == {
        "type": "input_image",
        "image_url": f"data:image/{kind};base64,eA==",
        "detail": "auto",
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.pdf", "application/pdf"), ("a.txt", "text/plain"), ("a.qqq", "application/octet-stream")],
)
def test_other_paths_are_files_with_their_name_only(tmp_path, name, kind):
    file = tmp_path / name
    file.write_bytes(b"x")
    (part,) = parts(file)
    assert part == {
        "type": "input_file",
        "filename": name,
        "file_data": f"data:{kind};base64,eA==",
    }


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "data:image/png"),
        (b"\xff\xd8\xff\xe0", "data:image/jpeg"),
        (b"GIF89a..", "data:image/gif"),
        (b"RIFF1234WEBPVP8 ", "data:image/webp"),
        (b"%PDF-1.7", "data:application/pdf"),
        (b"\x00\x01", "data:application/octet-stream"),
    ],
)
def test_bytes_are_known_by_how_they_begin(data, kind):
    for value in (data, bytearray(data), memoryview(data)):
        (part,) = parts(value)
        assert part.get("image_url", part.get("file_data")).startswith(kind)


def fake(module: str, **methods):
    """A class that says it comes from a library which need not be installed."""
    return type("Thing", (), {"__module__": module, **methods})()


def test_a_pil_image_is_sent_as_png_also_in_modes_that_png_lacks():
    saved = []

    def save(self, buffer, **options):
        saved.append((self.mode, options["format"]))
        buffer.write(PNG)

    plain = fake("PIL.Image", mode="RGB", save=save)
    cmyk = fake("PIL.JpegImagePlugin", mode="CMYK", save=save, convert=lambda self, mode: plain)
    for picture in (plain, cmyk):
        (part,) = parts(picture)
        assert part["image_url"].startswith("data:image/png")
    assert saved == [("RGB", "PNG"), ("RGB", "PNG")]


def test_a_figure_and_its_axes():
    def savefig(self, buffer, **options):
        assert options == {"format": "png"}
        buffer.write(PNG)

    figure = fake("matplotlib.figure", savefig=savefig)
    axes = fake("matplotlib.axes._axes", figure=figure)
    assert parts(figure) == parts(axes)
    assert parts(figure)[0]["type"] == "input_image"


def test_frames_keep_an_index_that_says_something():
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert parts(frame)[0]["text"] == "key,n\na,1\nb,2\n"
    assert parts(frame["n"])[0]["text"] == "key,n\na,1\nb,2\n"
    polars = fake("polars.dataframe.frame", write_csv=lambda self: "a\n1\n")
    assert parts(polars)[0]["text"] == "a\n1\n"


def test_items_of_the_wire_are_passed_on_between_messages():
    answer = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
    message = {"role": "user", "content": "Hello."}
    assert create_input(["a", answer, "b", message]) == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        answer,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
        message,
    ]
    part = {"type": "input_file", "file_id": "file_1"}
    assert parts(part) == [part]


def test_a_steer_cannot_carry_results():
    with pytest.raises(InvalidInput, match=r"input\[0\].type"):
        response_steer("resp_1", steer_input([{"type": "function_call_output", "call_id": "c"}]))


def test_no_input_is_possible_for_a_create_but_not_for_a_steer():
    assert create_input(None) is None
    assert user_items(None) == []
    with pytest.raises(InvalidInput, match="say something"):
        steer_input(None)


@pytest.mark.parametrize("empty", ["", "  \n", [], (), [""], ["a", " "], b""])
def test_empty_things_are_refused(empty):
    for turn in (create_input, steer_input):
        with pytest.raises(InvalidInput, match="empty") as caught:
            turn(empty)
        assert caught.value.field.startswith("input")


@pytest.mark.parametrize("value", [3, 2.5, object(), {1, 2}, lambda: 1])
def test_other_things_are_refused_with_what_would_do(value):
    with pytest.raises(InvalidInput, match="cannot be sent; give text, a Path"):
        create_input(value)
    with pytest.raises(InvalidInput, match=r"input\[1\] is a"):
        create_input(["a", value])


def test_bad_values_inside_are_named_by_their_path():
    with pytest.raises(InvalidInput, match=r"input\[1\]\.x is nan"):
        create_input(["a", {"type": "message", "x": float("nan")}])
    with pytest.raises(InvalidInput, match="half a character"):
        create_input("\ud83d")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"missing\.png cannot be read"):
        create_input(tmp_path / "missing.png")
    with pytest.raises(InvalidInput, match="cannot be read"):
        create_input(tmp_path)


def test_limits_name_the_size(monkeypatch, tmp_path):
    monkeypatch.setattr(inputs, "TEXT_LIMIT", 10)
    monkeypatch.setattr(inputs, "IMAGE_URL_LIMIT", 30)
    monkeypatch.setattr(inputs, "FILE_DATA_LIMIT", 60)
    with pytest.raises(InvalidInput, match="11 characters, and at most 10"):
        create_input("x" * 11)
    with pytest.raises(InvalidInput, match=r"table would be .* Send fewer rows"):
        create_input(pd.DataFrame({"a": range(100)}))
    with pytest.raises(InvalidInput, match="image would be"):
        create_input(PNG)
    with pytest.raises(InvalidInput, match=r"file data\.bin would be"):
        create_input(b"\x00" * 60)
    file = tmp_path / "big.txt"
    file.write_bytes(b"x" * 1000)
    with pytest.raises(InvalidInput, match=r"file big\.txt would be 1,333 characters"):
        create_input(["a", file])


def test_new_input_behind_answers_is_a_message_of_its_own():
    assert user_items("More.") == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "More."}]}
    ]
