"""What tests let workers do; a module that is quickly imported."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pandas as pd

from steer_nb.frames.scan.parts import Recorded
from steer_nb.trace import Trace


def alive(_: object) -> pd.DataFrame:
    """Count the partitions whose traces are held in this process."""
    found = [one for one in gc.get_referrers(Recorded) if type(one) is Recorded]
    return pd.DataFrame({"alive": [sum(one._sets is not None for one in found)]})


def traces_kept(_: object) -> pd.DataFrame:
    """Count the traces with a large message that are still in memory, let go or not."""
    found = [one for one in gc.get_referrers(Trace) if type(one) is Trace]
    large = [one for one in found if any(len(e.raw or "") > 1 << 20 for e in one.entries)]
    return pd.DataFrame({"kept": [len(large)]})


def dies_once(frame: pd.DataFrame, mark: str) -> pd.DataFrame:
    """Kill the process that computes this, the first time."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return frame
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
