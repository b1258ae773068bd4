"""A kernel dies with a form half filled and a sentence half typed; the next one has them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steer_nb.simulator import Simulator
from steer_nb.trace import load
from tests.widgets.forming import until
from tests.widgets.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.ledger import Ledger

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]


@pytest.fixture
def kernels() -> Iterator[list[Kernel]]:
    made: list[Kernel] = []
    yield made
    for kernel in made:
        kernel.close()


def begun(kernels: list[Kernel], simulator: Simulator) -> Kernel:
    """A kernel that shows a form and a lane, both half filled in by a page."""
    kernel = Kernel()
    kernels.append(kernel)
    kernel.run("%load_ext steer_nb")
    kernel.run(f"%steer connect {simulator.base_url}")
    kernel.run("%steer open trip")
    text = kernel.text_box()
    kernel.run("%%steer trip --wait\nWhat about Lisbon?")
    kernel.run("%steer pending")
    mode, area = kernel.widget("RadioButtonsModel"), kernel.widget("TextareaModel")
    kernel._comm(mode, {"method": "update", "state": {"index": 1}, "buffer_paths": []})
    kernel.type(area, '{"sat": "dr')
    kernel.tell(text, "typed", "half a sen")
    kernel.value("1")  # what was typed has reached it
    return kernel


def ledger() -> Ledger:
    (journal,) = Path(".steer").glob("*.jsonl")
    return load(journal).ledger


def check(kernels: list[Kernel], simulator: Simulator) -> None:
    """In another kernel all is there, and goes on."""
    kernel = Kernel()
    kernels.append(kernel)
    kernel.run("%load_ext steer_nb")
    cell = kernel.run("%steer recover")
    said = "".join(m["content"]["text"] for m in kernel.of(cell, "stream"))
    assert "1 answer on trip (%steer pending), a text for trip (%steer show trip)" in said
    text = kernel.text_box()  # the lane is shown: its connection was lost
    assert kernel.widgets[text]["value"] == "half a sen"
    cell = kernel.run("%steer pending")
    record, _ = kernel.of(cell, "display_data")
    assert "draft, not complete: output is no JSON" in record["content"]["data"]["text/plain"]
    area = kernel.widget("TextareaModel")
    assert kernel.widgets[area]["value"] == '{"sat": "dr'
    assert kernel.widgets[kernel.widget("RadioButtonsModel")]["index"] == 1
    kernel.run("%steer show trip")
    assert kernel.text_box() == text, "it is the same box"
    kernel.run("%steer resume trip")
    send = kernel.button("Send continuation")
    assert send.disabled
    kernel.type(area, '{"sat": "dry"}')
    kernel.wait_until(lambda: not send.disabled)
    send.press()
    until(lambda: len(simulator_continuations(simulator)) == 1)
    kernel.run("%steer wait trip --timeout 20")
    assert kernel.widgets[text]["value"] == "half a sen"
    kernel.tell(text, "say", "half a sen")
    kernel.wait_until(lambda: kernel.widgets[text]["value"] == "")
    kernel.run("%steer wait trip --timeout 20")
    (state,) = ledger().lanes.values()
    assert state.draft == ""
    assert state.requests[-1].body["input"] == "half a sen"


def simulator_continuations(simulator: Simulator) -> list[dict[str, object]]:
    return [entry for entry in simulator.account if entry["kind"] == "continuation"]


def test_a_kernel_that_is_killed(kernels: list[Kernel]) -> None:
    with Simulator("weather", speed=0) as simulator:
        kernel = begun(kernels, simulator)
        until(lambda: ledger().lanes["trip"].draft == "half a sen")
        until(
            lambda: (
                "dr"
                in str([s.draft for r in ledger().responses.values() for s in r.required.values()])
            )
        )
        os.kill(kernel.value("__import__('os').getpid()"), signal.SIGKILL)
        until(lambda: not kernel._manager.is_alive())
        check(kernels, simulator)


def test_a_kernel_that_is_restarted_at_once(kernels: list[Kernel]) -> None:
    with Simulator("weather", speed=0) as simulator:
        kernel = begun(kernels, simulator)
        kernel._manager.shutdown_kernel()  # as the restart button does
        check(kernels, simulator)
