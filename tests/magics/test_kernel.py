"""The magics in a real kernel, run as people run notebooks without a person."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from steer_nb import load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel


def execute(tmp_path: Path, *sources: str) -> Any:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
        store_widget_state=False,
    )
    with (tmp_path / "kernel.log").open("wb") as log:
        try:
            client.execute(env={**os.environ, "PYTHONWARNINGS": "default"}, stderr=log)
        except CellExecutionError as error:
            return notebook, error
    return notebook, None


def text_of(cell: Any) -> str:
    parts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return "\n".join(parts)


def html_of(cell: Any) -> str:
    joined = "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
    return re.sub(r"<style.*?</style>", "", joined, flags=re.DOTALL)


def test_a_session_from_beginning_to_end(tmp_path: Path) -> None:
    notebook, error = execute(
        tmp_path,
        "%load_ext steer_nb",
        "%steer connect --simulate planner --speed 0 --no-journal",
        "%steer open planner",
        "%%steer planner\nPlan a trip to {Lisbon}.\n",
        "import steer_nb\nresponse = steer_nb.current_session().lanes['planner'].response\n"
        "print((await response).status, 'Lisbon' in response.text)",
        "%steer wait",
        "%steer open trip",
        "%steer close",
    )
    assert error is None
    cells = notebook.cells
    assert "Connected to the embedded simulator" in text_of(cells[1])
    assert "Sent to planner: a new response." in text_of(cells[3])
    assert "<Response" in text_of(cells[3])
    assert text_of(cells[4]) == "completed True\n"
    assert text_of(cells[5]) == "planner: idle\n"
    # The live picture of the third cell, as it was when later cells ended.
    assert "Plan a trip to {Lisbon}." in html_of(cells[2])
    assert "380 euros" in html_of(cells[2])


def test_a_mistake_stops_the_notebook_with_one_line(tmp_path: Path) -> None:
    notebook, error = execute(tmp_path, "%load_ext steer_nb", "%steer opne x", "print('never')")
    assert error is not None
    assert error.ename == "UsageError"
    assert "Did you mean open?" in error.evalue
    shown = "".join(output.get("text", "") for output in notebook.cells[1].outputs)
    assert len(shown.strip().splitlines()) == 1
    assert not notebook.cells[2].outputs


def test_asyncio_run_is_refused_until_asked_for(tmp_path: Path) -> None:
    main = "import asyncio\nasync def main():\n    return 42\n"
    notebook, error = execute(
        tmp_path,
        "%load_ext steer_nb\n%steer connect --simulate planner --speed 0 --no-journal",
        f"{main}coroutine = main()\n"
        "try:\n    asyncio.run(coroutine)\nexcept RuntimeError as problem:\n"
        "    coroutine.close()\n    print(problem)",
        "%steer nest",
        "print(asyncio.run(main()), await main())\n%steer open lane\n%steer send lane Hello",
        "%steer wait\n%steer close",
    )
    assert error is None
    assert "cannot be called from a running event loop" in text_of(notebook.cells[1])
    assert "ipykernel" in text_of(notebook.cells[2])
    assert "42 42" in text_of(notebook.cells[3])
    assert "lane: idle" in text_of(notebook.cells[4])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_kernel_is_recovered_in_the_next_one(tmp_path: Path) -> None:
    with pytest.raises(DeadKernelError):
        execute(
            tmp_path,
            "%load_ext steer_nb",
            "def get_weather(city: str) -> str:\n    open('runs', 'a').write('ran ')\n"
            "    return f'18 C in {city}'",
            "%steer connect --simulate weather --speed 0",
            "%steer open trip --tools get_weather",
            "%%steer trip --wait\nWhat about Lisbon?",
            "lane = _.lane\nlane.run_tool(lane.required_input[0].key)",
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        )
    notebook, error = execute(
        tmp_path,
        "%load_ext steer_nb",
        "def get_weather(city: str) -> str:\n    raise AssertionError('it ran')",
        "session = %steer recover --tools get_weather",
        "%steer status",
        "%steer resume trip rebuild",
        "%steer send trip Go on.",
        "%steer wait trip --timeout 20",
        "%steer close",
    )
    assert error is None
    cells = notebook.cells
    assert "Recovered session default from .steer" in text_of(cells[2])
    assert "To decide: lane trip." in text_of(cells[2])
    assert "18 C in Lisbon" in html_of(cells[2]), "the lane is shown, and goes on"
    assert "lane trip (%steer resume trip)" in text_of(cells[3])
    assert "trip: begin a new chain that repeats the conversation" in text_of(cells[4])
    assert (tmp_path / "runs").read_text() == "ran "
    (journal,) = (tmp_path / ".steer").glob("*.jsonl")
    trace = load(journal)
    again = trace.ledger.lanes["trip"].requests[-1].body["input"]
    assert again[-2]["output"].startswith("18 C in ")
    assert again[-1]["content"] == "Go on."
