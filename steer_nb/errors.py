"""Everything that steer_nb raises, in one tree.

::

    SteerError
    ├── InvalidInput (also a ValueError)     a value that would be refused; names field, value, rule
    │   └── InvalidLane                      a lane name that the service would refuse
    ├── LaneBusy                             the lane cannot take this now
    ├── NothingToContinue                    no response waits for a continuation
    ├── RequiredInputOpen                    a continuation while something is still unanswered
    ├── UnknownLane, UnknownSession          no such name
    ├── UnknownFrame, UnknownColumn          no table, or no column, of that name
    ├── ConnectionFailed                     no socket; knows `url`, `status`, `advice`
    │   └── AuthenticationFailed             the key was refused (HTTP 401 or 403)
    ├── InsecureKey                          a key would travel unencrypted
    ├── NotConnected                         the socket is gone
    ├── ServerRefused                        a request was refused; knows `code`, `param`, `status`
    ├── ToolFailed                           a tool could not be set up or run
    ├── TraceError                           a trace file cannot be read; knows `path`, `line`
    ├── ExportFailed                         a trace cannot be written in another form
    ├── ScenarioError                        a simulator scenario is wrong; knows `path`, `line`
    ├── SimulatorFailed                      the simulator could not start
    ├── MissingExtra (also an ImportError)   a package of an extra is not installed; knows `extra`
    ├── NestedLoopRefused                    nested event loops would break this kernel
    └── WaitTimeout (also a TimeoutError)    waiting took longer than asked

Each says in one line what was wrong, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "AuthenticationFailed",
    "ConnectionFailed",
    "ExportFailed",
    "InsecureKey",
    "InvalidInput",
    "InvalidLane",
    "LaneBusy",
    "MissingExtra",
    "NestedLoopRefused",
    "NotConnected",
    "NothingToContinue",
    "RequiredInputOpen",
    "ScenarioError",
    "ServerRefused",
    "SimulatorFailed",
    "SteerError",
    "ToolFailed",
    "TraceError",
    "UnknownColumn",
    "UnknownFrame",
    "UnknownLane",
    "UnknownSession",
    "WaitTimeout",
]


class SteerError(Exception):
    """Base of every error that steer_nb raises."""


class InvalidInput(SteerError, ValueError):
    """A value that the service would refuse, caught before anything was sent.

    Parameters
    ----------
    message : str
        One readable line.
    field : str
        Path of the bad value, such as ``output[0].outcome``.
    value : object
        The value itself.
    rule : str
        The rule it breaks.
    """

    def __init__(
        self, message: str, *, field: str = "", value: object = None, rule: str = ""
    ) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
        self.rule = rule


class InvalidLane(InvalidInput):
    """A lane name that the service would refuse, or one lane too many."""


class LaneBusy(SteerError):
    """The lane cannot take this now; the message says what it waits for."""


class NothingToContinue(SteerError):
    """No response of the lane waits for a continuation."""


class RequiredInputOpen(SteerError):
    """A continuation was asked for while something is still unanswered.

    Attributes
    ----------
    keys : tuple of str
        The `call_id` and `approval_request_id` values that are unanswered.
    """

    def __init__(self, message: str, *, keys: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.keys = keys


class UnknownLane(SteerError, KeyError):
    """No lane of that name is open."""

    __str__ = SteerError.__str__


class UnknownSession(SteerError, KeyError):
    """No session of that name is open."""

    __str__ = SteerError.__str__


class UnknownFrame(SteerError, KeyError):
    """No table of that name; the message names the nearest one, and all of them."""

    __str__ = SteerError.__str__


class UnknownColumn(SteerError, KeyError):
    """A table has no column, or no group of columns, of that name."""

    __str__ = SteerError.__str__


class ConnectionFailed(SteerError):
    """No connection could be made.

    Attributes
    ----------
    url : str
        Where to, without secrets.
    status : int or None
        HTTP status of the refused upgrade, if there was one.
    advice : str
        What to try.
    """

    def __init__(
        self, message: str, *, url: str = "", status: int | None = None, advice: str = ""
    ) -> None:
        super().__init__(f"{message} {advice}".rstrip())
        self.url = url
        self.status = status
        self.advice = advice


class AuthenticationFailed(ConnectionFailed):
    """The service refused the key (HTTP 401 or 403)."""


class InsecureKey(SteerError):
    """A key would travel unencrypted to another machine."""


class NotConnected(SteerError):
    """The session's socket is closed."""


class ServerRefused(SteerError):
    """The service refused a request with an `error` event: no response came of it.

    Attributes
    ----------
    code, param : str or None
        As the service sent them.
    status : int or None
        The HTTP-like status in the event.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.status = status


class ToolFailed(SteerError):
    """A Python function could not be made a tool, or cannot be run for this call."""


class TraceError(SteerError):
    """A trace file cannot be read.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The line, from 1.
    """

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class ExportFailed(SteerError):
    """A trace cannot be written in another form: a time or a place is missing."""


class ScenarioError(SteerError):
    """A simulator scenario is unknown or wrong.

    Attributes
    ----------
    path : str
        The scenario's file, if it is one.
    line, column : int or None
        Where in it, from 1.
    """

    def __init__(
        self, message: str, *, path: str = "", line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.column = column


class SimulatorFailed(SteerError):
    """The simulator could not start: its port is taken, or its address is not this machine's."""


class MissingExtra(SteerError, ImportError):
    """A package is not installed that only an extra brings along.

    Attributes
    ----------
    extra : str
        The extra: ``pip install "steer-nb[extra]"``.
    """

    def __init__(self, message: str, *, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra


class NestedLoopRefused(SteerError):
    """Nested event loops are known to break here."""


class WaitTimeout(SteerError, TimeoutError):
    """Waiting took longer than asked; the work itself goes on."""
