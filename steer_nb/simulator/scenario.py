"""Scenarios: named scripts, built in, from a notebook cell, from a file, or from a trace."""

from __future__ import annotations

import difflib
import inspect
import runpy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from steer_nb.errors import ScenarioError
from steer_nb.simulator.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from steer_nb.simulator.recording import Recording
    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn
    from steer_nb.trace import Trace

YAML_ENDINGS = (".yaml", ".yml")

__all__ = ["Scenario", "get_scenario", "load_scenario", "scenario"]


@dataclass(frozen=True, repr=False)
class Scenario:
    """A script with a name and one sentence about it.

    Calling it with a `Turn` gives the steps of one response. Its `faults` are armed when a
    simulator is made of it.
    """

    dialect: ClassVar[str] = "responses"

    name: str
    description: str
    script: Callable[[Turn], Iterator[Step]]
    source: str = ""
    recording: Recording | None = None
    faults: tuple[Fault, ...] = ()

    @classmethod
    def from_trace(cls, trace: Trace | str | PathLike[str]) -> Scenario:
        """Make a scenario of a recorded trace: it is served again, with its timing.

        Each create gets the next recorded answer of its lane, whatever it says; steers,
        continuations and injects get what was recorded for them. `steer_nb.simulator.playback` says
        what a client gets that does something else. The simulator's `speed` scales the recorded
        timing; 0 sends everything at once.

        Parameters
        ----------
        trace : Trace or path
            A trace, or the file of one: what ``trace.save``, ``%steer save`` or a journal wrote.

        Raises
        ------
        TraceError
            The file cannot be read.
        ScenarioError
            It holds nothing that a service sent.

        Examples
        --------
        >>> import steer_nb
        >>> from steer_nb.simulator import Simulator
        >>> planner = Simulator("planner", speed=0)
        >>> with steer_nb.connect(simulate=planner, journal=False, quiet=True) as session:
        ...     first = session.lane().create("Plan a day in Lisbon.").wait(timeout=30)
        >>> scenario = Scenario.from_trace(session.trace)
        >>> with steer_nb.connect(simulate=scenario, journal=False, quiet=True) as session:
        ...     again = session.lane().create("Something else.").wait(timeout=30)
        >>> again.text == first.text
        True
        """
        from steer_nb.simulator.playback import improvise
        from steer_nb.simulator.recording import Recording
        from steer_nb.trace import Trace, load_trace

        source = str(trace) if isinstance(trace, str | Path) else ""
        trace = trace if isinstance(trace, Trace) else load_trace(trace)
        if trace.header.dialect == "letta":
            from steer_nb.simulator.letta.scenario import LettaScenario

            return replace(LettaScenario.from_trace(trace), source=source)
        recording = Recording.of(trace)
        many = sum(1 for _ in recording.answers)
        about = f"Serves {many} recorded response{'' if many == 1 else 's'} again."
        return cls(recording.name, about, improvise, source, recording)

    @property
    def reference(self) -> str:
        """What finds it again: its file if that is YAML or a trace, else its name.

        It stands in journals, and Python must not run because a journal names it.
        """
        return self.source if self.source.lower().endswith((*YAML_ENDINGS, ".jsonl")) else self.name

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.description}>"

    def __call__(self, turn: Turn) -> Iterator[Step]:
        """Start the script for one response."""
        return self.script(turn)


def scenario(
    name: str, description: str, *, faults: Sequence[Fault | str | Mapping[str, Any]] = ()
) -> Callable[[Callable[[Turn], Iterator[Step]]], Scenario]:
    """Make a scenario of a generator function.

    Parameters
    ----------
    name : str
        What people type.
    description : str
        One sentence.
    faults : sequence of Fault, str or mapping
        What goes wrong from the start, see `steer_nb.simulator.faults`; the step `Arm` arms a
        fault later.

    Raises
    ------
    ScenarioError
        The function is no generator function.
    InvalidInput
        A fault cannot be read.

    Examples
    --------
    >>> from steer_nb.simulator.steps import Say
    >>> @scenario("parrot", "Says what you say.")
    ... def parrot(turn):
    ...     yield Say(turn.prompt)
    >>> parrot.name
    'parrot'
    """
    armed = tuple(Fault.of(fault) for fault in faults)

    def wrap(script: Callable[[Turn], Iterator[Step]]) -> Scenario:
        if not inspect.isgeneratorfunction(script):
            title = getattr(script, "__name__", repr(script))
            msg = f"Scenario {name!r}: {title} must be a function of one turn that yields steps."
            raise ScenarioError(msg)
        source = inspect.getsourcefile(script) or "a notebook"
        return Scenario(name, description, script, source, faults=armed)

    return wrap


def get_scenario(which: str | Path | Scenario | None, known: Mapping[str, Scenario]) -> Scenario:
    """Find a scenario by name, file, or as it is.

    Parameters
    ----------
    which : str, Path or Scenario
        ``planner``; ``mine.py``; ``mine.py:parrot`` for one of several in a file; ``mine.yaml``;
        ``run.jsonl``, a trace. None is the first of `known`.
    known : mapping
        The built-in ones.

    Raises
    ------
    ScenarioError
        There is none of that name; the message lists those there are.
    """
    if isinstance(which, Scenario):
        return which
    if which is None:
        return next(iter(known.values()))
    name = str(which)
    if name in known:
        return known[name]
    if name.lower().endswith(".jsonl"):
        return Scenario.from_trace(name)
    if name.lower().endswith(YAML_ENDINGS):
        return load_scenario(name)
    if isinstance(which, Path) or name.endswith(".py") or ".py:" in name:
        path, _, one = name.rpartition(":") if ".py:" in name else (name, "", "")
        return load_scenario(path, one or None)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    names = ", ".join(known)
    files = "or give a file: .py, .yaml, or a trace (.jsonl)"
    msg = f"There is no scenario {name!r}.{hint} There are: {names}; {files}."
    raise ScenarioError(msg)


def load_scenario(path: str | Path, name: str | None = None) -> Scenario:
    """Read a scenario from a YAML file, or run a Python file and take one from it.

    Parameters
    ----------
    path : str or Path
        The file. ``.yaml`` and ``.yml`` are read (see `steer_nb.simulator.written`); any other is
        Python, and is executed.
    name : str, optional
        Which one, when a Python file defines several.

    Raises
    ------
    ScenarioError
        The file is missing, something in it is wrong, it does not run, defines no scenario, or
        several and `name` is not given. Its `line` says where.
    """
    file = Path(path)
    if not file.is_file():
        msg = f"There is no scenario file {file}."
        raise ScenarioError(msg, path=str(file))
    if file.suffix.lower() in YAML_ENDINGS:
        from steer_nb.simulator.written.script import load_written

        return load_written(file)
    try:
        space = runpy.run_path(str(file), run_name="steer_nb_scenario")
    except Exception as error:
        line = _line_in(error, file)
        where = "" if line is None else f", line {line},"
        msg = f"The scenario file {file}{where} failed: {type(error).__name__}: {error}"
        raise ScenarioError(msg, path=str(file), line=line) from error
    found = {
        value.name: value
        for value in space.values()
        if isinstance(value, Scenario)
        and (not value.source or Path(value.source).resolve() == file.resolve())
    }
    names = ", ".join(found)
    if not found:
        msg = f"{file} defines no scenario: decorate a generator with @scenario(name, description)."
        raise ScenarioError(msg)
    if name is None:
        if len(found) > 1:
            msg = f"{file} defines several scenarios: write {file.name}:NAME with one of {names}."
            raise ScenarioError(msg)
        return next(iter(found.values()))
    if name not in found:
        msg = f"{file} defines no scenario {name!r}; it defines {names}."
        raise ScenarioError(msg)
    return found[name]


def _line_in(error: Exception, file: Path) -> int | None:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return error.lineno
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
