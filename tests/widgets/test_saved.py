"""What goes to the page, and what a notebook keeps: no secret, and nothing dead.

Everything that a session can show is shown, in a real kernel, with keys of each kind that a person
may give; then every message to the page and every saved file is searched for them.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

from steer_nb.widgets import pending_forms
from steer_nb.widgets.forms.pending import keep_forms
from tests.support.browser import needs_browser
from tests.support.github import glued, look
from tests.widgets.forming import section, waiting
from tests.widgets.kernel import Kernel
from tests.widgets.lab import run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.widgets.lab import Lab

VIEW = "application/vnd.jupyter.widget-view+json"
# As a person gives them: in the environment, as an argument, in a header, for an MCP server.
SECRETS = {
    "OPENAI_API_KEY": "sk-proj-Envir0nmentKey7f3a",
    "GIVEN_KEY": "sk-proj-Argum3ntKey9b1c",
    "GATEWAY_TOKEN": "gateway-He4derToken5d2e",
    "MCP_TOKEN": "mcp-T0olToken8a6f",
    "FOUND_TOKEN": "mcp-F0undToken3c9d",
}

CELLS = [
    """
%load_ext steer_nb
import os, steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import BoardView, LaneView, pending_forms
secret = os.environ
simulator = Simulator("seven", speed=0).start()
""",
    "steer_nb.connect(simulator.base_url, journal=False, name='plain')",  # the environment's key
    """
def connect(name):
    return steer_nb.connect(
        simulator.base_url, api_key=secret["GIVEN_KEY"], journal=".steer", name=name,
        headers={"X-Gateway": secret["GATEWAY_TOKEN"]})
session = connect("audited")
session
""",
    """
mcp = {"type": "mcp", "server_label": "files", "server_url": "https://files.example/mcp",
       "authorization": secret["MCP_TOKEN"], "headers": {"X-Token": secret["MCP_TOKEN"]}}
lane = session.lane("audit", tools=[mcp])
lane
""",
    "%%steer audit --wait\nAudit the project.",
    "%steer pending",
    """
found = {"type": "mcp", "server_label": "found", "server_url": "https://found.example/mcp",
         "authorization": secret["FOUND_TOKEN"]}
for needed in lane.required_input:
    if needed.type == "tool_search_output":
        lane.fill(needed.key, tools=[found])
    elif needed.type == "mcp_approval_response":
        lane.fill(needed.key, approve=False, reason="Not now.")
lane.required_input
""",
    "%steer pending audit",
    "%steer lanes",
    "%steer status",
    "%steer frame events",
    "%steer frame required_inputs",
    "session.trace",
    "lane.response",
    "print(lane.preview_continuation.__doc__[:20], lane.settings, vars(session), vars(lane))",
    """
for address in ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/responses"):
    try:
        steer_nb.connect(address, api_key=secret["GIVEN_KEY"], name="nowhere", journal=False)
    except steer_nb.errors.SteerError as error:
        print(repr(error), error)
""",
    """
lane.cancel_all()
print(lane.preview_continuation())
lane.send_continuation().wait(30)
""",
    "%steer wait",
    "%steer save run.jsonl",
    "%steer close",
]


def leaks(text: str) -> list[str]:
    """Which secrets stand in it, also where JSON or HTML wrote a letter otherwise."""
    return [name for name, secret in SECRETS.items() if secret.split("-")[-1] in text]


@pytest.fixture
def given(monkeypatch: Any, tmp_path: Path) -> Path:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kernel(given: Path) -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.close()


@pytest.mark.kernel
def test_no_secret_is_in_any_message_to_the_page(kernel: Kernel, given: Path) -> None:
    for source in CELLS[:-1]:
        kernel.run(source)
    kernel.listen(0.5)
    kinds = {message["msg_type"] for message in kernel.messages}
    assert {"comm_open", "comm_msg", "display_data", "update_display_data"} <= kinds
    assert kernel.value("secret['GIVEN_KEY'][:3]") == "sk-", "it is known there"
    for message in kernel.messages:
        assert leaks(json.dumps(message, default=str)) == [], message["msg_type"]
    assert leaks(json.dumps(kernel.widgets, default=str)) == []
    seen = json.dumps([m["content"] for m in kernel.messages], default=str)
    assert "UsageError" not in seen
    assert leaks(SECRETS["MCP_TOKEN"]) == ["MCP_TOKEN"]
    assert "(hidden)" in seen, "what the lane carries was shown"
    kernel.run(CELLS[-1])
    files = [path for path in given.rglob("*") if path.is_file()]
    assert {"run.jsonl", ".jsonl"} <= {path.name for path in files} | {p.suffix for p in files}
    for path in files:
        assert leaks(path.read_text("utf-8", "replace")) == [], path


def executed(folder: Path, *sources: str) -> Any:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    # With the widgets' state, which is more than anybody should save.
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    with (folder / "kernel.log").open("wb") as log:
        client.execute(env=dict(os.environ), stderr=log)
    return notebook


@pytest.mark.kernel
def test_a_notebook_that_nbclient_saved(given: Path) -> None:
    notebook = executed(given, *CELLS)
    text = json.dumps(notebook)
    assert "widgets" in notebook.metadata
    assert leaks(text) == []
    assert leaks((given / "kernel.log").read_text("utf-8", "replace")) == []
    bundles = [
        output["data"] for cell in notebook.cells for output in cell.outputs if "data" in output
    ]
    assert not [bundle for bundle in bundles if VIEW in bundle], "what is over is no widget"
    for bundle in bundles:
        assert bundle.get("text/html", "").count("<style>") <= 1
        assert "text/plain" in bundle
    forms = [b["text/html"] for b in bundles if "What was asked and answered" in str(b)]
    assert forms
    for form in forms:
        for words in ("get_project_status", "atlas", "delete_event", "denied: Not now.", "tools:"):
            assert words in look(form), words
    (status,) = [b["text/html"] for b in bundles if 'aria-label="Status"' in b.get("text/html", "")]
    assert glued(status) == []


@pytest.mark.kernel
def test_a_session_that_is_closed_leaves_no_dead_form(given: Path) -> None:
    notebook = executed(given, *CELLS[:8], "%steer close")
    for cell in (notebook.cells[5], notebook.cells[7]):
        output, nothing = cell.outputs
        assert VIEW not in output["data"]
        assert nothing["data"] == {"text/html": "", "text/plain": ""}
        there = look(output["data"]["text/html"])
        assert "no longer waits" in there
        assert "The session was closed. What you answered is kept in the trace" in there
        assert "denied: Not now." in there


TYPED = """
(form,) = pending_forms(session).forms
next(iter(form.sections.values())).area.value = "on time"
form._saving.now()
"""
GONE = (
    "This belongs to a kernel that has ended, or it is only looked at. Does the kernel still run?"
)


@pytest.mark.kernel
def test_a_form_that_was_saved_while_it_waited_is_read_once_everywhere(given: Path) -> None:
    exporters = pytest.importorskip("nbconvert", reason="nbconvert comes with JupyterLab")
    notebook = executed(given, *CELLS[:6], TYPED)
    record, living = notebook.cells[5].outputs
    assert VIEW not in record["data"]
    assert VIEW in living["data"]
    assert look(record["data"]["text/html"]).count(GONE) == 1
    assert "on time" in record["data"]["text/plain"]
    for exporter in (exporters.HTMLExporter(), exporters.MarkdownExporter()):
        page, _ = exporter.from_notebook_node(notebook)
        there = look(page)
        assert there.count(GONE) == 1
        for words in ("get_project_status", "delete_event", "%steer recover", "on time"):
            assert words in there.partition("%steer pending")[2], words
        notebook.metadata.pop("widgets", None)  # once with the widgets' state, once without


def test_the_record_of_a_session_without_a_journal_promises_nothing() -> None:
    session, _ = waiting("weather")
    record, _ = pending_forms(session)._bundles()  # type: ignore[union-attr]
    assert "in no file, and cannot be taken up again" in look(record["text/html"])
    assert "%steer recover" not in look(record["text/html"])
    session.close()


def test_a_closed_form_stays_a_widget_where_something_is_half_typed_in_it() -> None:
    for typed in ("", '{"half'):
        session, _ = waiting("seven")
        forms = pending_forms(session)
        assert VIEW in forms._repr_mimebundle_()
        if typed:
            section(forms.forms[0], "function_call_output").mode.value = "JSON"
            section(forms.forms[0], "function_call_output").area.value = typed
        session.close()
        keep_forms()
        assert forms.forms[0].done
        assert (VIEW in forms._repr_mimebundle_()) == bool(typed)


@pytest.mark.browser
@pytest.mark.slow
@needs_browser("jupyterlab")
def test_a_notebook_that_a_person_saved(lab: Lab, given: Path) -> None:
    # The environment of one kernel: others' have no secrets.
    keys = given / "keys.json"
    keys.write_text(json.dumps(SECRETS), encoding="utf-8")
    begin = f"import json, os\nos.environ.update(json.load(open({str(keys)!r})))\n"
    with lab.notebook(given, [begin + CELLS[0], *CELLS[1:]]) as page:
        for number in range(8):
            run_cell(page, number)
        page.wait_for_selector(".snb-form .snb-go", timeout=30_000)
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")
        text = (given / "lesson.ipynb").read_text("utf-8")
        assert "Audit the project." in text
        assert VIEW in text, "the form is open"
        assert leaks(text) == []
        assert leaks(page.content()) == []
        for number in range(8, len(CELLS)):
            run_cell(page, number)
        page.wait_for_function(
            "document.body.innerText.includes('Session audited is closed')", timeout=60_000
        )
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")
        saved = json.loads((given / "lesson.ipynb").read_text("utf-8"))
        assert leaks(json.dumps(saved)) == []
        assert "widgets" not in saved["metadata"]
        assert VIEW not in json.dumps(saved["cells"][5]["outputs"])
