"""The tables of any number of traces as Dask DataFrames, computed where there is a worker.

::

    runs = steer_nb.scan("runs/**/*.jsonl.gz")       # nothing is read yet
    runs.frames.events.groupby("type", observed=True).size().compute()
    runs.metrics.responses                           # each metric, lazily
    runs.summary().compute()                         # the same as steer_nb.load(...).summary()

A partition is a few files, and is computed by what `steer_nb.load` runs: the tables of a `TraceSet`
(`parts`). What is true only of all files together is found out in between (`plans`): which of them
hold the same trace. What travels between processes is names, tables, and no trace (`graphs`).
"""

from __future__ import annotations

from steer_nb.frames.scan.scanning import Scan, ScanFrames, ScanMetrics, scan

__all__ = ["Scan", "ScanFrames", "ScanMetrics", "scan"]
