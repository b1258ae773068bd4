"""A round with a Letta agent in a real kernel, as a notebook without a person runs it."""

from __future__ import annotations

import pytest

from steer_nb.simulator.letta import LettaSimulator
from tests.magics.test_kernel import execute, html_of, text_of

pytestmark = pytest.mark.kernel


def test_a_round_with_an_agent(tmp_path):
    with LettaSimulator("files", speed=0) as simulator:
        notebook, error = execute(
            tmp_path,
            "%load_ext steer_nb",
            f"%steer connect --letta {simulator.base_url} --no-journal",
            f"%steer open cleaner --agent {simulator.agent_id}",
            "%%steer cleaner --wait\ndelete /srv/old.log",
            "%steer pending",
            "%steer send cleaner And be quick.",
            "import steer_nb\nlane = steer_nb.current_session()['cleaner']\n"
            "for one in lane.required_input:\n    lane.fill(one.key, approve=True)\n"
            "response = await lane.send_continuation()\nawait lane.settled()\nresponse",
            "%steer frame steers cleaner",
            "%steer close",
        )
    assert error is None, error
    cells = notebook.cells
    assert "Connected to Letta" in text_of(cells[1])
    assert "cleaner: waiting input" in text_of(cells[3])
    assert "Queued here for cleaner" in text_of(cells[5])
    assert "deleted /srv/old.log" in html_of(cells[6])
    assert "committed" in text_of(cells[7])
    log = (tmp_path / "kernel.log").read_text()
    assert "Traceback" not in log
    assert "ResourceWarning" not in log
