"""Nested event loops, for cells that call `asyncio.run()`: opt-in, and honest about the price.

Nothing of steer_nb needs this: all its network work lives on a thread of its own. It is for people
whose own cells hold ``asyncio.run(main())`` from a guide, which a notebook refuses because its
event loop is already running.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from steer_nb.errors import NestedLoopRefused

__all__ = ["NestedLoops", "allow_nested_loops"]

_INSTEAD = "Write `await main()` in the cell instead of `asyncio.run(main())`."


@dataclass(frozen=True, slots=True, repr=False)
class NestedLoops:
    """What `allow_nested_loops` did.

    Attributes
    ----------
    package, version : str
        What made the patches.
    again : bool
        Whether the event loops were already patched.
    patches : tuple of str
        What is different now, in the whole process.
    risks : tuple of str
        What can go wrong here.
    """

    package: str
    version: str
    again: bool
    patches: tuple[str, ...]
    risks: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<NestedLoops by {self.package} {self.version}>"

    def __str__(self) -> str:
        head = "were allowed already" if self.again else "are allowed now"
        lines = [f"Nested event loops {head}, by {self.package} {self.version}."]
        lines += [f"  patched: {line}" for line in self.patches]
        lines += [f"  beware:  {line}" for line in self.risks]
        return "\n".join([*lines, "  To undo it, restart the kernel."])


def allow_nested_loops(*, quiet: bool = False) -> NestedLoops:
    """Let `asyncio.run()` and `run_until_complete()` work inside a running event loop.

    Takes ``nest_asyncio2`` if that is installed, else ``nest_asyncio``. steer_nb never calls this
    by itself, and needs it for nothing of its own.

    Parameters
    ----------
    quiet : bool
        Do not print what was patched and what can go wrong.

    Returns
    -------
    NestedLoops
        The same as a value.

    Raises
    ------
    NestedLoopRefused
        It is known to break here: Python 3.14 with nest-asyncio 1.6, a uvloop event loop; or no
        package for it is installed. Nothing was patched.
    """
    loop, python = _current_loop(), sys.version_info[:2]
    package = _package()
    release = _version(package)
    reason = _refusal(package, release, python, loop)
    if reason:
        raise NestedLoopRefused(reason)
    again = _patched_by() is not None
    module = import_module(package)
    if loop is None:
        module.apply()
    else:
        module.apply(loop)
    done = NestedLoops(package, release, again, _patches(python), _risks(package, python))
    if not quiet:
        print(done)  # noqa: T201
    return done


def _patched_by() -> str | None:
    """Return the package that patched asyncio already."""
    if hasattr(asyncio, "_nest_asyncio2"):
        return "nest_asyncio2"
    return "nest_asyncio" if hasattr(asyncio, "_nest_patched") else None


def _package() -> str:
    """Choose the package; two of them in one process would mix their patches."""
    already = _patched_by()
    if already:
        return already
    for name in ("nest_asyncio2", "nest_asyncio"):
        if find_spec(name) is not None:
            return name
    msg = f"Nothing is installed that nests event loops: pip install nest-asyncio2. {_INSTEAD}"
    raise NestedLoopRefused(msg)


def _version(package: str) -> str:
    try:
        return version(package.replace("_", "-"))
    except PackageNotFoundError:
        return "of unknown version"


def _current_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _refusal(package: str, release: str, python: tuple[int, ...], loop: object) -> str | None:
    """Say why it must not be done, or None."""
    if "uvloop" in (_root(loop), _root(_policy(python))):
        return f"The event loop here is uvloop's, which cannot be nested. {_INSTEAD}"
    if loop is not None and not isinstance(loop, asyncio.BaseEventLoop):
        return f"An event loop of type {type(loop).__name__} cannot be nested. {_INSTEAD}"
    if package == "nest_asyncio" and python >= (3, 14):
        return (
            f"nest-asyncio {release} breaks asyncio on Python {python[0]}.{python[1]}: "
            f"asyncio.current_task() returns None. pip install nest-asyncio2. {_INSTEAD}"
        )
    return None


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _policy(python: tuple[int, ...]) -> object:
    """Return what makes loops where none runs; from Python 3.14 on it is not asked any more."""
    return asyncio.get_event_loop_policy() if python < (3, 14) else None


def _patches(python: tuple[int, ...]) -> tuple[str, ...]:
    runs = "asyncio.run and loop.run_until_complete, for this whole process"
    if python >= (3, 14):
        return (runs,)
    tasks = "asyncio.Task and asyncio.Future are the pure-Python ones now, in every thread"
    return (runs, tasks)


def _risks(package: str, python: tuple[int, ...]) -> tuple[str, ...]:
    risks = [] if python >= (3, 14) else ["code with many tasks gets 5 to 40 % slower"]
    if package == "nest_asyncio" and python >= (3, 12):
        risks.append("asyncio.run(loop_factory=...) raises TypeError: pip install nest-asyncio2")
    risks.append("asyncio.Runner and anyio.run still cannot be nested")
    kernel = _kernel_version()
    if kernel:
        risks.append(
            f"ipykernel {kernel}: a click in a form while a cell is inside asyncio.run() can be "
            "lost ('cannot enter context'), and cells queued behind it can be dropped"
        )
    return tuple(risks)


def _kernel_version() -> str | None:
    """Return the version of the kernel we run in, if it is one."""
    ipykernel = sys.modules.get("ipykernel")
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipykernel is None or getattr(shell, "kernel", None) is None:
        return None
    return str(ipykernel.__version__)
