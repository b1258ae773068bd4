"""Plays all lessons as the tests do, without pytest: ``python -m tests.notebooks``.

For an environment that has what a reader gets, and nothing else.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.notebooks.lessons import LESSONS, check, play_all


def main() -> int:
    began = time.monotonic()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, notebook in asyncio.run(play_all(LESSONS, Path(folder))).items():
            try:
                check(path, notebook)
            except Exception:  # noqa: BLE001 - all of them are told
                failed += 1
                print(f"{path.name}: failed")
                traceback.print_exc()
            else:
                print(f"{path.name}: runs, and shows what it says")
    print(f"{len(LESSONS)} lessons in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
