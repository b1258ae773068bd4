"""What a client holds: the trace and its fold, which grow, and all else, which must not.

Counting every object takes as much memory as there are objects. So it is done in a forked copy of
the process, which ends with it: what is measured is not changed by the measuring.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import types
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steer_nb.client.io import io_thread
from steer_nb.trace.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb import Session

__all__ = ["Census", "census", "handles", "resident", "weigh"]

# What everything refers to and nobody keeps: following these would lead through the whole program.
_SHARED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.CodeType,
    types.FrameType,
)
# Slots of an `Entry`, which the collector does not look into.
_PARTS = Entry.__struct_fields__


@dataclass(frozen=True)
class Census:
    """All objects of a process, by what they belong to.

    Attributes
    ----------
    entries : int
        Length of the trace.
    characters : int
        Of the messages in it, as they travelled.
    trace_bytes : int
        Its entries and all they hold.
    ledger_bytes : int
        What the live fold holds beside them.
    other_bytes : int
        Everything else in the process.
    others : Counter of str
        How many objects of each type belong to neither.
    """

    entries: int
    characters: int
    trace_bytes: int
    ledger_bytes: int
    other_bytes: int
    others: Counter[str] = field(default_factory=Counter)

    @property
    def kept(self) -> int:
        """Bytes of the trace and its fold."""
        return self.trace_bytes + self.ledger_bytes

    @property
    def bytes_per_entry(self) -> float:
        """Of the trace and its fold."""
        return self.kept / self.entries


def resident() -> int | None:
    """Bytes of memory that this process has; None where that cannot be asked."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") if file.exists() else None


def handles(session: Session) -> dict[str, int]:
    """Count what a session could keep by mistake, one number for each kind."""
    core = session.core
    open_files = Path("/proc/self/fd")
    loop: Any = io_thread.loop

    def look(_: object) -> dict[str, int]:
        import asyncio

        return {
            "tasks": len(asyncio.all_tasks()),
            "timers": sum(not timer.cancelled() for timer in loop._scheduled),
            **core.watchers.counts(),
            "outbox": core.line.n_unwritten,
            "tools running": len(core.runner.running),
            "exit hooks": len(io_thread._exit_hooks),
        }

    found = session.read(look)
    found["threads"] = threading.active_count()
    if open_files.exists():
        found["files"] = len(list(open_files.iterdir()))
    return found


def census(session: Session, apart: Iterable[Any] = ()) -> Census | None:
    """Count all objects; nothing may be going on. None where a process cannot be forked.

    Parameters
    ----------
    apart : iterable
        What the measuring itself keeps: it and all it holds does not count.
    """
    if not hasattr(os, "fork"):
        return None
    gc.collect()
    mine, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the copy only counts, and ends
        child = os.fork()
    if child == 0:
        code = 1
        try:
            gc.disable()
            with os.fdopen(theirs, "wb") as file:
                pickle.dump(_count(session, apart), file)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(mine, "rb") as file:
        answer = file.read()
    assert os.waitpid(child, 0)[1] == 0, "the objects could not be counted"
    found: Census = pickle.loads(answer)
    return found


def _count(session: Session, apart: Iterable[Any]) -> Census:
    tracked = gc.get_objects()
    recorder = session.core.recorder
    entries = recorder.trace.entries
    seen: set[int] = {id(seen_by_all) for seen_by_all in (None, True, False, "", ())}
    trace_bytes = weigh([entries], seen)
    # Since Python 3.13 the values belong to the object, and its dictionary tells of none.
    ledger_bytes = weigh([vars(recorder.ledger), *vars(recorder.ledger).values()], seen)
    weigh(apart, seen)
    mine = {id(tracked), id(seen)}
    others = [one for one in tracked if id(one) not in seen and id(one) not in mine]
    names = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in others)
    other_bytes = sum(_size(one) for one in others)
    seen |= {id(one) for one in others}
    for one in others:
        for part in gc.get_referents(one):
            if id(part) not in seen and not gc.is_tracked(part):
                seen.add(id(part))
                other_bytes += _size(part)
    characters = sum(len(entry.raw or "") for entry in entries)
    return Census(len(entries), characters, trace_bytes, ledger_bytes, other_bytes, names)


def weigh(roots: Iterable[Any], seen: set[int]) -> int:
    """Bytes of everything that is reached from some objects, and was not seen before."""
    waiting = [root for root in roots if id(root) not in seen]
    seen.update(map(id, waiting))
    total = 0
    while waiting:
        one = waiting.pop()
        total += _size(one)
        parts = [getattr(one, p) for p in _PARTS] if type(one) is Entry else gc.get_referents(one)
        for part in parts:
            if id(part) not in seen and not isinstance(part, _SHARED):
                seen.add(id(part))
                waiting.append(part)
    return total


def _size(one: Any) -> int:
    """As much as the allocator gives for it: multiples of 16."""
    return (sys.getsizeof(one) + 15) & ~15
