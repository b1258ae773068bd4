"""Packages from npm, for tests: each in a cache of its own, so that they are fetched once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["IN_CI", "NotHere", "cache", "npm"]

IN_CI = bool(os.environ.get("CI"))
"""What cannot be had is a failure there, and no skip."""

# As the person who runs the tests has it: a registry or proxy may be set there, or in their home.
_ENVIRONMENT = dict(os.environ)


class NotHere(Exception):
    """Something from npm, or npm itself, cannot be had."""


def cache(content: str) -> Path:
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


def npm(place: Path, *words: str) -> None:
    """Let npm install into a folder; scripts of packages are not run."""
    found = shutil.which("npm")
    if found is None:
        msg = "there is no npm"
        raise NotHere(msg)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = subprocess.run(
        [found, *words, *quiet, "--cache", str(place / "npm")],
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
