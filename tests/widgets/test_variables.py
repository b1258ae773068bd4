"""A variable of the notebook as an answer: which are offered, what is sent, when it is taken."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.errors import InvalidInput
from steer_nb.widgets.forms.variables import as_output, as_picture
from tests.widgets.forming import only, section, status
from tests.widgets.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session

Image = pytest.importorskip("PIL.Image")
pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 4), "teal").save(buffer, format="PNG")
    return buffer.getvalue()


@dataclasses.dataclass
class Trip:
    city: str
    days: int


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("18 °C", "18 °C"),
        ("", ""),
        ({"sat": ("dry", 1.5), "sun": None}, {"sat": ["dry", 1.5], "sun": None}),
        (Trip("Lisbon", 2), {"city": "Lisbon", "days": 2}),
        (True, True),
        (np.float64(1.5), 1.5),
        (np.arange(3), [0, 1, 2]),
        (pd.DataFrame({"city": ["Lisbon"], "days": [2]}), "city,days\nLisbon,2\n"),
    ],
)
def test_text_tables_and_values(value: Any, output: Any) -> None:
    made = as_output(value)
    assert made == output
    assert type(made) is type(output)


def test_pictures_and_files_become_parts(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(png())
    for value in (Image.new("RGB", (8, 4), "teal"), file, png()):
        (part,) = as_output(value)
        assert part["type"] == "input_image"
        assert base64.b64decode(part["image_url"].partition(",")[2])[:4] == b"\x89PNG"
        assert as_picture(value) == part["image_url"]
    assert as_output(b"%PDF-1.7")[0]["type"] == "input_file"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "output is nan"),
        ({"a": object()}, "output: object is no JSON; give text, numbers, lists or dicts"),
        (Path("gone.png"), "cannot be read"),
    ],
)
def test_what_cannot_be_sent_says_why(value: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        as_output(value)


@pytest.mark.parametrize("value", ["text", 1, b"%PDF-1.7", {"a": 1}])
def test_what_is_no_picture_is_no_screenshot(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is no picture; pick a picture"):
        as_picture(value)


def test_what_is_picked_is_the_answer_and_is_shown(seven: tuple[Session, Lane]) -> None:
    session, lane = seven
    form = only(session)
    part = section(form, "function_call_output")
    part._picked("answer", {"ok": True})
    assert (part.mode.value, json.loads(part.area.value)) == ("JSON", {"ok": True})
    assert "answer as it is now; pick it again after it changes" in part.taken.value
    part._picked("number", "42")
    assert (part.mode.value, part.item()["output"]) == ("text", "42")
    part._picked("nothing", "")
    assert part.item()["output"] == ""
    part._picked("image", Image.new("RGB", (8, 4), "teal"))
    assert part.item()["output"][0]["type"] == "input_image"
    assert "<img" in part.preview.value
    assert part.area.layout.display == "none"
    part._picked("bad", float("nan"))
    assert "bad: output is nan" in status(part)
    assert part.item()["output"][0]["type"] == "input_image", "what was there stays"
    item = part.item()
    part.load(item)
    assert part.item() == item
    part.remove.click()
    assert not part.valid
    assert part.area.layout.display == ""
    computer = section(form, "computer_call_output")
    computer._picked("bad", "no picture")
    assert "bad: a str is no picture" in status(computer)
    computer._picked("image", png())
    assert "image, as it is now" in computer.preview.value
    assert lane.required_input[0].state != "sent"


# -- in a real kernel ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    made.run("""
import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import pending_forms
from steer_nb.widgets.forms import ContinuationForm
session = steer_nb.connect(simulate=Simulator("seven", speed=0), journal=False, quiet=True)
lane = session.lane("planner"); lane.create("Go"); lane.wait(10)
weather = {"sat": "dry"}
""")
    yield made
    made.close()


def menus(kernel: Kernel) -> list[str]:
    return [
        comm
        for comm, state in kernel.widgets.items()
        if state.get("_model_name") == "DropdownModel"
        and str((state.get("_options_labels") or [""])[0]).startswith("from a variable")
    ]


@pytest.mark.kernel
def test_the_menu_follows_the_cells_and_takes_the_value_of_that_moment(kernel: Kernel) -> None:
    kernel.run("pending_forms(session)")
    results = [menu for menu in menus(kernel) if len(kernel.widgets[menu]["_options_labels"]) > 1]
    menu = results[0]
    assert kernel.widgets[menu]["_options_labels"] == ["from a variable …", "weather · dict"]
    kernel.run("_hidden = 1; answer = 'it is dry'; json = __import__('json')")
    kernel.wait_until(lambda: "answer · str" in kernel.widgets[menu]["_options_labels"])
    labels = kernel.widgets[menu]["_options_labels"]
    assert labels == ["from a variable …", "answer · str", "weather · dict"], "no modules, no names"
    chosen = {"index": labels.index("weather · dict")}
    kernel._comm(menu, {"method": "update", "state": chosen, "buffer_paths": []})
    areas = [
        state for state in kernel.widgets.values() if state.get("_model_name") == "TextareaModel"
    ]
    kernel.wait_until(lambda: any('"sat": "dry"' in area["value"] for area in areas))
    assert kernel.widgets[menu]["index"] == 0, "the menu is ready for the next one"
    kernel.run("weather['sat'] = 'rain'")
    kernel.wait_until(lambda: "saved; you may" in str(kernel.widgets))
    items = kernel.value("[asked.item for asked in lane.required_input if asked.item]")
    assert [item["output"] for item in items] == ['{"sat":"dry"}']
