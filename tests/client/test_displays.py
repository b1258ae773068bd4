"""What a tool displays stays with its call: with ipykernel's own publisher, without its sockets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from IPython.display import HTML, clear_output, display

from steer_nb.client import displays
from steer_nb.client.displays import DISPLAYED_LIMIT, Displayed, displayed

if TYPE_CHECKING:
    from collections.abc import Iterator

zmqshell = pytest.importorskip("ipykernel.zmqshell")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What reaches a cell, in a shell that publishes as a kernel does."""
    from IPython.core.interactiveshell import InteractiveShell
    from jupyter_client.session import Session

    class Wire(Session):
        def send(self, stream: Any, msg_or_type: Any, *args: Any, **more: Any) -> Any:
            reached.append(msg_or_type)

    reached: list[Any] = []
    known = InteractiveShell.initialized()
    shell = InteractiveShell.instance()
    publisher = zmqshell.ZMQDisplayPublisher(parent=shell, session=Wire(key=b"k"))
    publisher.set_parent({"header": {}})
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield reached
    if not known:
        InteractiveShell.clear_instance()


def test_a_thread_keeps_what_it_displays_and_no_other_does(sent: list[Any]) -> None:
    with displayed() as kept:
        display(HTML("<b>18</b>"), {"sat": "dry"})
        other = threading.Thread(target=display, args=("from another thread",))
        other.start()
        other.join(10)
    display("from the cell")
    assert [list(output) for output in kept.outputs] == [["text/plain"]] * 2
    assert kept.outputs[1] == {"text/plain": "{'sat': 'dry'}"}
    texts = [message["content"]["data"]["text/plain"] for message in sent]
    assert texts == ["'from another thread'", "'from the cell'"]


def test_an_update_replaces_and_a_clearing_takes_away(sent: list[Any]) -> None:
    of_a_cell = display("0 %", display_id="cell's")
    with displayed() as kept:
        of_a_cell.update("50 %")
        display("before")
        clear_output()
        handle = display("1 of 2", display_id="bar")
        display("beside it")
        handle.update("2 of 2")
    assert [output["text/plain"] for output in kept.outputs] == ["'2 of 2'", "'beside it'"]
    texts = [message["content"]["data"]["text/plain"] for message in sent]
    assert texts == ["'0 %'", "'50 %'"], "what a cell displayed is updated there"


def output(**data: Any) -> dict[str, Any]:
    return {"msg_type": "display_data", "content": {"data": data}}


def test_of_each_output_a_picture_or_its_text_is_kept_within_bounds() -> None:
    kept = Displayed()
    kept.take(output(**{"image/png": "iVBO\nRw0K", "text/plain": "<Figure>", "text/html": "<b>"}))
    kept.take(output(**{"image/png": "x" * (DISPLAYED_LIMIT + 1)}))
    kept.take(output(**{"text/plain": "y" * 100_000}))
    kept.take({"msg_type": "display_data", "content": {}})
    picture, large, text, nothing = kept.outputs
    assert picture == {"image/png": "iVBORw0K"}
    assert large == {"text/plain": "(image/png: too large to be kept)"}
    assert text["text/plain"].endswith("y …")
    assert nothing == {"text/plain": ""}
    for _ in range(3):
        kept.take(output(**{"image/png": "z" * 400_000}))
    assert [list(one) for one in kept.outputs] == [["image/png"]] * 2, "the last ones"


def test_without_a_kernel_nothing_is_hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(displays.sys.modules, "IPython")
    with displayed() as kept:
        pass
    assert kept.outputs == []
