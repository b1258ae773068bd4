"""Where the official Node SDK and a Node that runs it come from: npm, into a cache of its own."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

SUITE = Path(__file__).parent / "node"
NEEDED = 22  # what the SDK's package.json says under "engines"
IN_CI = bool(os.environ.get("CI"))

# As the person who runs the tests has it: a registry or proxy may be set there, or in their home.
_ENVIRONMENT = dict(os.environ)
_ARCHES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


class NotHere(Exception):
    """Node or the SDK cannot be had."""


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
    place = _cache(f"{package}@^{NEEDED}")
    with FileLock(place / ".lock"):
        found = place / "node_modules" / package / "bin" / "node"
        if not found.exists():
            _npm(place, "install", "--no-save", f"{package}@^{NEEDED}")
    return found


def packages() -> Path:
    """Install the SDK as the lock file says, and give its ``node_modules``."""
    lock = SUITE / "package-lock.json"
    place = _cache(lock.read_text("utf-8"))
    with FileLock(place / ".lock"):
        if not (place / "done").exists():
            for file in (SUITE / "package.json", lock):
                shutil.copy(file, place)
            _npm(place, "ci")
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


def _cache(content: str) -> Path:
    """Make a folder that only this user can write to, named after what will be in it."""
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    user = os.getuid() if hasattr(os, "getuid") else "me"
    root = Path(tempfile.gettempdir()) / f"steer-nb-node-{user}"
    root.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and root.stat().st_uid != os.getuid():
        msg = f"{root} belongs to somebody else"
        raise NotHere(msg)
    place = root / digest
    place.mkdir(exist_ok=True)
    return place


def _npm(place: Path, *words: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        msg = "there is no npm"
        raise NotHere(msg)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = subprocess.run(
        [npm, *words, *quiet, "--cache", str(place / "npm")],
        cwd=place,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(place / "npm", ignore_errors=True)
    if done.returncode:
        msg = f"npm {words[0]} failed: {done.stderr.strip()[-500:]}"
        raise NotHere(msg)
