"""Where the official Node SDK and a Node that runs it come from: npm, into a cache of its own."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.npm import IN_CI, NotHere, cache, npm

SUITE = Path(__file__).parent / "node"
NEEDED = 22  # what the SDK's package.json says under "engines"

_ARCHES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


def node() -> Path:
    """Find a Node that is new enough, or get one from npm."""
    own = shutil.which("node")
    if own is not None:
        version = subprocess.run([own, "--version"], capture_output=True, text=True, check=True)
        if int(version.stdout.removeprefix("v").split(".")[0]) >= NEEDED:
            return Path(own)
    machine = platform.machine().lower()
    # The packages that `npm install node` chooses from; none of them runs a script.
    package = f"node-{platform.system().lower()}-{_ARCHES.get(machine, machine)}"
    place = cache(f"{package}@^{NEEDED}")
    with FileLock(place / ".lock"):
        found = place / "node_modules" / package / "bin" / "node"
        if not found.exists():
            npm(place, "install", "--no-save", f"{package}@^{NEEDED}")
    return found


def packages() -> Path:
    """Install the SDK as the lock file says, and give its ``node_modules``."""
    lock = SUITE / "package-lock.json"
    place = cache(lock.read_text("utf-8"))
    with FileLock(place / ".lock"):
        if not (place / "done").exists():
            for file in (SUITE / "package.json", lock):
                shutil.copy(file, place)
            npm(place, "ci")
            (place / "done").touch()
    return place / "node_modules"


def version_of(package: str, modules: Path) -> str:
    manifest = (modules / package / "package.json").read_text("utf-8")
    return str(json.loads(manifest)["version"])


def need() -> tuple[Path, Path]:
    """Give Node and the packages; without them skip, and say why. In CI that is a failure."""
    try:
        return node(), packages()
    except NotHere as reason:
        if IN_CI:
            raise
        pytest.skip(f"the official Node SDK is not here: {reason}")
