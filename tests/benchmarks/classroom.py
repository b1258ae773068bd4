"""A classroom on one machine: so many kernels, each with a session and a simulator of its own.

``python -m tests.benchmarks.classroom [30]`` starts them all, lets each have a conversation about a
place that only it knows of, and checks that each has a port of its own and that no simulator heard
of another's place. It prints how long that took and what memory each kernel has.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import KernelManager

from tests.support.memory import mib, tree_of

if TYPE_CHECKING:
    from jupyter_client.blocking import BlockingKernelClient

_LESSON = """
import json
import time

import steer_nb

session = steer_nb.connect(simulate="planner", quiet=True)
lane = session.lane("desk")
response = lane.create("Plan a two-day trip to Place{number}.")
while "Day 1, afternoon" not in response.text:
    time.sleep(0.05)
steer = lane.steer("Keep it under {number} euros.")
lane.wait(timeout=300)
print(json.dumps({{
    "port": session.simulator.port,
    "heard": [entry["body"]["input"] for entry in session.simulator.account
              if entry["kind"] == "request"]
             + [entry["input"] for entry in session.simulator.account if entry["kind"] == "steer"],
    "text": lane.text,
    "steer": steer.state,
    "journal": str(session.journal_path),
}}))
session.close()
"""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    began = time.monotonic()
    kernels: list[tuple[KernelManager, BlockingKernelClient]] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for _ in range(count):
                manager = KernelManager(kernel_name="python3")
                manager.start_kernel(cwd=folder, stderr=subprocess.DEVNULL)
                kernels.append((manager, manager.blocking_client()))
            for _, client in kernels:
                client.start_channels()
                client.wait_for_ready(timeout=300)
            up = time.monotonic()
            print(f"{count} kernels are ready after {up - began:.0f} s")
            asked = [
                client.execute(_LESSON.format(number=number))
                for number, (_, client) in enumerate(kernels)
            ]
            told = [
                _told(client, message) for (_, client), message in zip(kernels, asked, strict=True)
            ]
            print(f"all conversations are over after {time.monotonic() - up:.0f} s more")
            each = [mib(tree_of(manager.provisioner.pid)) for manager, _ in kernels]
            print(f"memory: {sum(each):.0f} MiB of PSS, {max(each):.0f} MiB for the largest kernel")
        finally:
            for manager, client in kernels:
                client.stop_channels()
                manager.shutdown_kernel(now=True)
        assert all(Path(folder, one["journal"]).is_file() for one in told)
    check(told)
    print(f"{count} ports, {count} journals, and nobody heard of another's place")


def _told(client: BlockingKernelClient, message: str) -> dict[str, Any]:
    """What a kernel's lesson printed."""
    printed = ""
    while True:
        got = client.get_iopub_msg(timeout=600)
        if got["parent_header"].get("msg_id") != message:
            continue
        if got["msg_type"] == "stream" and got["content"]["name"] == "stdout":
            printed += got["content"]["text"]
        if got["msg_type"] == "error":
            raise SystemExit("\n".join(got["content"]["traceback"]))
        if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
            found: dict[str, Any] = json.loads(printed)
            return found


def check(told: list[dict[str, Any]]) -> None:
    """Each has its own port and journal, and heard and answered what was said to it alone."""
    assert len({one["port"] for one in told}) == len(told)
    assert len({one["journal"] for one in told}) == len(told)
    for number, one in enumerate(told):
        assert one["heard"] == [
            f"Plan a two-day trip to Place{number}.",
            f"Keep it under {number} euros.",
        ]
        assert one["steer"] == "committed"
        assert f"the plan for Place{number} with" in one["text"]
        assert f"under {number} euros" in one["text"]


if __name__ == "__main__":
    main()
