"""What running processes take, as Linux counts it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["mib", "tree_of"]


def tree_of(root: int) -> list[int]:
    """A process and all below it."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    found = [root]
    for process in found:  # it grows meanwhile
        found += [child for child, parent in parents.items() if parent == process]
    return found


def mib(processes: list[int]) -> float:
    """Proportional set size: what processes share is counted once, divided among them."""
    total = 0
    for process in processes:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024
