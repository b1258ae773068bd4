from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from steer_nb.client import objects
from steer_nb.client.inputs import (
    answer_fields,
    answer_output,
    create_input,
    steer_input,
    user_items,
)
from steer_nb.errors import InvalidInput
from steer_nb.wire import STUB_KINDS, fill_stub, response_create, response_steer

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


def pixels(part) -> Image.Image:
    """The picture that a part carries, read back."""
    head, _, data = part["image_url"].partition(",")
    assert head == "data:image/png;base64"
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    picture.load()
    return picture


MODES = ["1", "L", "LA", "P", "PA", "La", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV"]


@pytest.mark.parametrize("mode", [*MODES, "I", "I;16", "F"])
def test_a_pil_image_is_sent_as_png_also_in_modes_that_png_lacks(mode):
    (part,) = parts(Image.new(mode, (4, 3)))
    assert pixels(part).size == (4, 3)


def test_a_pil_image_keeps_its_colours_and_what_is_seen_through_it():
    red = Image.new("RGBA", (2, 2), (255, 0, 0, 128))
    assert pixels(parts(red)[0]).getpixel((0, 0)) == (255, 0, 0, 128)
    assert pixels(parts(red.convert("RGBa"))[0]).getpixel((0, 0)) == (255, 0, 0, 128)
    assert pixels(parts(Image.new("CMYK", (1, 1)))[0]).getpixel((0, 0)) == (255, 255, 255)


def test_a_picture_from_a_file_of_any_kind(tmp_path):
    for kind in ("jpg", "gif", "bmp", "tiff"):
        Image.new("RGB", (5, 2), "white").save(tmp_path / f"a.{kind}")
        with Image.open(tmp_path / f"a.{kind}") as picture:
            assert pixels(parts(picture)[0]).size == (5, 2)


def test_a_figure_its_axes_and_what_is_drawn_on_them():
    figure = Figure(figsize=(2, 1), dpi=50)
    axes = figure.subplots()
    (line,) = axes.plot([1, 3, 2])
    for thing in (figure, axes, line):
        assert pixels(parts(thing)[0]).size == (100, 50)
    parted = Figure(figsize=(2, 1), dpi=50)
    left, right = parted.subfigures(1, 2)
    for thing in (left, right.subplots()):
        assert pixels(parts(thing)[0]).size == (100, 50)


def test_what_another_library_raises_is_said_with_its_place(tmp_path):
    Image.new("RGB", (50, 50)).save(tmp_path / "a.bmp")
    (tmp_path / "a.bmp").write_bytes((tmp_path / "a.bmp").read_bytes()[:500])
    with (
        Image.open(tmp_path / "a.bmp") as cut,
        pytest.raises(InvalidInput, match=r"input\[1\] is a BmpImageFile.* OSError: image file"),
    ):
        create_input(["a", cut])
    figure = Figure()
    figure.suptitle(r"$\nothing$")
    with pytest.raises(InvalidInput, match="input is a Figure, and it cannot be turned into a PNG"):
        create_input(figure)
    with pytest.raises(InvalidInput, match="cannot be turned into a PNG"):
        create_input(Image.new("RGB", (0, 3)))


def test_frames_keep_an_index_that_says_something():
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert parts(frame)[0]["text"] == "key,n\na,1\nb,2\n"
    assert parts(frame["n"])[0]["text"] == "key,n\na,1\nb,2\n"
    with pytest.raises(InvalidInput, match="input is empty"):
        create_input(pd.DataFrame())
    polars = fake("polars.dataframe.frame", write_csv=lambda self: "a\n1\n")
    assert parts(polars)[0]["text"] == "a\n1\n"


def test_objects_inside_items_of_the_wire():
    message = {"role": "user", "content": ["Look:", PNG, {"type": "input_file", "file_id": "f"}]}
    answer = {"type": "function_call_output", "call_id": "call_1", "output": Image.new("L", (1, 1))}
    said, told = create_input([message, answer])
    assert [part["type"] for part in said["content"]] == ["input_text", "input_image", "input_file"]
    assert told["output"][0]["type"] == "input_image"
    response_create(input=[said, told])
    assert message["content"][1] is PNG, "what was given is left as it was"
    with pytest.raises(InvalidInput, match=r"input\.content\[0\] is a object"):
        create_input({"role": "user", "content": [object()]})


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
    monkeypatch.setattr(objects, "TEXT_LIMIT", 10)
    monkeypatch.setattr(objects, "IMAGE_URL_LIMIT", 30)
    monkeypatch.setattr(objects, "FILE_DATA_LIMIT", 60)
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


# -- answers ---------------------------------------------------------------------------------------


def stub(kind):
    key = STUB_KINDS[kind].key_field
    return {"type": kind, key: "call_1"}


def filled(kind, call=None, **fields):
    return fill_stub(stub(kind), call, **answer_fields(stub(kind), fields))


TABLE = pd.DataFrame({"city": ["Lisbon"], "euros": [300]})


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_an_output_is_what_create_would_say(kind, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    figure = Figure(figsize=(1, 1))
    for thing in (PNG, tmp_path / "notes.txt", figure, Image.new("RGB", (1, 1))):
        assert filled(kind, output=thing)["output"] == parts(thing)
        mixed = ["See:", thing, {"type": "input_text", "text": "That is all."}, TABLE]
        assert filled(kind, output=mixed)["output"] == parts(mixed)
    assert filled(kind, output=TABLE)["output"] == "city,euros\nLisbon,300\n"


@pytest.mark.parametrize(
    "value",
    ["text", "", 3, None, {"a": 1}, ["a", "b"], [], [{"type": "input_text", "text": "a"}], [None]],
)
def test_json_is_left_alone(value):
    assert answer_output(value) is value
    assert filled("function_call_output", output=value) == fill_stub(
        stub("function_call_output"), output=value
    )


def test_what_does_not_belong_beside_an_object_is_named():
    with pytest.raises(InvalidInput, match=r"output\[1\] is a int, which cannot be sent"):
        answer_output([PNG, 3])
    with pytest.raises(InvalidInput, match=r"output\.plot is of type Figure, which JSON cannot"):
        filled("function_call_output", output={"plot": Figure()})
    with pytest.raises(InvalidInput, match=r"missing\.png cannot be read"):
        filled("function_call_output", output=Path("missing.png"))


def test_a_screenshot_is_any_picture(tmp_path):
    (tmp_path / "shot.png").write_bytes(PNG)
    for shot in (PNG, tmp_path / "shot.png", Image.new("RGB", (1, 1)), Figure(figsize=(1, 1))):
        output = filled("computer_call_output", output=shot)["output"]
        assert output == {
            "type": "computer_screenshot",
            "image_url": parts(shot)[0]["image_url"],
        }
    for other in (b"%PDF-1.7", TABLE):
        with pytest.raises(InvalidInput, match=r"output is a .* that holds no picture"):
            filled("computer_call_output", output=other)


def test_a_shell_answers_with_what_a_process_wrote():
    script = "import sys; sys.stdout.buffer.write(b'18 \\xc2\\xb0C \\xff'); sys.exit(3)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    outcome = {"type": "exit", "exit_code": done.returncode}
    given = [{"stdout": done.stdout, "stderr": done.stderr, "outcome": outcome}]
    (output,) = filled("shell_call_output", output=given)["output"]
    assert output == {"stdout": "18 °C \ufffd", "stderr": "", "outcome": outcome}
    assert given[0]["stdout"] is done.stdout


def test_a_table_is_text_wherever_text_is_wanted():
    assert filled("local_shell_call_output", output=TABLE)["output"].startswith("city,euros")
    patch = filled("apply_patch_call_output", status="failed", output=TABLE)
    assert patch["output"].startswith("city,euros")
    with pytest.raises(InvalidInput, match="output is of type bytes, which JSON cannot say"):
        filled("local_shell_call_output", output=PNG)
    with pytest.raises(InvalidInput, match="type Figure, which JSON cannot say"):
        fill_stub(*[{"type": "new_output", "call_id": "c"}], output=Figure())
