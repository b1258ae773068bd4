"""The control API: small JSON over HTTP, on the simulator's own port, for programs in any language.

========  ============================  =======================================================
Method    Path                          What
========  ============================  =======================================================
GET       ``/simulator``                what it plays, its options, connections, armed faults
GET       ``/simulator/account``        what it received and applied, oldest first; `after` skips
                                        so many entries, `kind` and `connection` choose some
GET       ``/simulator/faults``         the armed faults, and how often each struck
POST      ``/simulator/faults``         arms one, or a list: ``{"fault": "drop", "at": 5}``, or
                                        the text ``"drop at=5"``
DELETE    ``/simulator/faults``         takes all away; what was held back goes on
DELETE    ``/simulator/faults/ID``      takes one away
POST      ``/simulator/drop``           loses connections at once: ``{"code": 1011}``, `connection`
POST      ``/simulator/clock``          puts the clock forward: ``{"advance": 3600}``, in seconds
========  ============================  =======================================================

Where the simulator has an API key, each request needs it as its bearer token. Errors have the
service's form: ``{"error": {"message", "type", "param", "code"}}``.

Examples
--------
>>> import json
>>> from urllib.request import Request, urlopen
>>> from steer_nb.simulator import Simulator
>>> with Simulator("weather", speed=0) as simulator:
...     place = simulator.control_url
...     order = Request(f"{place}/faults", b'{"fault": "drop", "at": 5, "code": 1011}')
...     armed = json.load(urlopen(order))
...     entries = json.load(urlopen(f"{place}/account"))["entries"]
>>> armed["faults"]
[{'id': 'fault_1', 'fault': 'drop', 'at': 5, 'code': 1011, 'struck': 0}]
>>> entries
[]
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from steer_nb.errors import InvalidInput
from steer_nb.simulator.addresses import CONTROL_PATH
from steer_nb.simulator.refusals import Refusal, invalid
from steer_nb.simulator.values import broken_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.simulator.account import Account
    from steer_nb.simulator.faults import Fault, Faults
    from steer_nb.simulator.ids import Ids
    from steer_nb.simulator.options import OptionSet
    from steer_nb.simulator.pace import Clock
    from steer_nb.simulator.scenario import Scenario

    Do = Callable[["Service", Any, bytes], tuple[int, dict[str, Any]]]

__all__ = ["LARGEST_BODY", "NotAllowed", "Service", "answer", "is_control"]

LARGEST_BODY: Final = 2**20
"""Bytes of the largest body that is read."""


class Service(Protocol):
    """What the control API needs of the service of a dialect."""

    speed: float
    ids: Ids
    clock: Clock
    account: Account
    faults: Faults

    @property
    def scenario(self) -> Scenario:
        """What it plays."""

    @property
    def options(self) -> OptionSet:
        """What it was told to do differently."""

    @property
    def fault_kind(self) -> type[Fault]:
        """Reads the faults of its dialect."""

    def overview(self) -> list[dict[str, Any]]:
        """Describe the open connections."""

    def drop(
        self, code: int | None = None, *, reason: str = "simulated", connection: int | None = None
    ) -> list[int]:
        """Lose connections at once."""


def is_control(target: str) -> bool:
    """Whether a request target belongs to the control API.

    Examples
    --------
    >>> is_control("/simulator/account?after=3"), is_control("/v1/responses")
    (True, False)
    """
    path = urlsplit(target).path
    return path == CONTROL_PATH or path.startswith(f"{CONTROL_PATH}/")


class NotAllowed(Refusal):
    """The path is right, the method is not."""

    def __init__(self, method: str, path: str, allowed: tuple[str, ...]) -> None:
        message = f"{path} takes {' and '.join(allowed)}, not {method}."
        super().__init__(message, code="method_not_allowed", status=405)
        self.allowed = allowed


def answer(
    service: Service, method: str, target: str, body: bytes = b""
) -> tuple[int, dict[str, Any]]:
    """Answer one request. Only on the server's thread.

    Parameters
    ----------
    service : Service
        What it is about.
    method, target : str
        ``GET`` and a path with its query, of which `is_control` is true.
    body : bytes
        JSON, for a POST.

    Returns
    -------
    status : int
        200, or 201 for what was made.
    body : dict
        Goes out as JSON.

    Raises
    ------
    Refusal
        400 for a wrong field, 404 for an unknown path or id, 405 for another method.
    """
    parts = urlsplit(target)
    path = parts.path.removeprefix(CONTROL_PATH).strip("/")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    name, _, rest = path.partition("/")
    if rest and name != "faults":
        raise _no_such_path(parts.path)
    ways = _FAULT if rest else _PATHS.get(name)
    if ways is None:
        raise _no_such_path(parts.path)
    do = ways.get("GET" if method == "HEAD" else method)
    if do is None:
        raise NotAllowed(method, parts.path, tuple(ways))
    try:
        if rest:
            return do(service, unquote(rest), body)
        return do(service, query, body)
    except InvalidInput as error:
        raise invalid(param=error.field, message=str(error)) from error


def _no_such_path(path: str) -> Refusal:
    known = ", ".join(f"{CONTROL_PATH}/{name}".rstrip("/") for name in _PATHS)
    return Refusal(f"Invalid URL ({path}). The control API has {known}.", status=404)


# What each path does


def _overview(service: Service, query: dict[str, str], _: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    return 200, {
        "scenario": service.scenario.name,
        "seed": service.ids.seed,
        "speed": service.speed,
        "clock": service.clock.now(),
        "options": asdict(service.options),
        "connections": service.overview(),
        "faults": [one.as_json() for one in service.faults],
    }


def _account(service: Service, query: dict[str, str], _: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ("after", "kind", "connection"))
    entries = service.account.entries()
    chosen = entries[_number(query, "after") :]
    if "kind" in query:
        chosen = [entry for entry in chosen if entry["kind"] == query["kind"]]
    if "connection" in query:
        number = _number(query, "connection")
        chosen = [entry for entry in chosen if entry.get("connection") == number]
    return 200, {"n_entries": len(entries), "entries": chosen}


def _faults(service: Service, query: dict[str, str], _: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    return 200, {"faults": [one.as_json() for one in service.faults]}


def _arm(service: Service, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    given = _read(body)
    faults = [service.fault_kind.of(one) for one in (given if isinstance(given, list) else [given])]
    return 201, {"faults": [service.faults.arm(fault).as_json() for fault in faults]}


def _clear(service: Service, query: dict[str, str], _: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    service.faults.clear()
    return 200, {"faults": []}


def _remove(service: Service, fault_id: str, _: bytes) -> tuple[int, dict[str, Any]]:
    try:
        service.faults.remove(fault_id)
    except InvalidInput as error:
        raise Refusal(str(error), param="id", status=404) from error
    return 200, {"faults": [one.as_json() for one in service.faults]}


def _one(service: Service, fault_id: str, _: bytes) -> tuple[int, dict[str, Any]]:
    for one in service.faults:
        if one.id == fault_id:
            return 200, one.as_json()
    msg = f"There is no fault with the id {fault_id!r}."
    raise Refusal(msg, param="id", status=404)


def _drop(service: Service, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    kinds: dict[str, Any] = {"code": int | None, "reason": str, "connection": int | None}
    return 200, {"dropped": service.drop(**_fields(body, kinds))}


def _clock(service: Service, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
    _check_names(query, ())
    given = _fields(body, {"advance": float})
    if "advance" not in given:
        msg = "Missing required parameter: 'advance', in seconds."
        raise invalid(param="advance", message=msg)
    service.clock.advance(given["advance"])
    return 200, {"clock": service.clock.now()}


_PATHS: Final[dict[str, dict[str, Do]]] = {
    "": {"GET": _overview},
    "account": {"GET": _account},
    "faults": {"GET": _faults, "POST": _arm, "DELETE": _clear},
    "drop": {"POST": _drop},
    "clock": {"POST": _clock},
}
_FAULT: Final[dict[str, Do]] = {"GET": _one, "DELETE": _remove}


# Reading


def _check_names(query: dict[str, str], known: tuple[str, ...]) -> None:
    for name in query:
        if name not in known:
            has = f"It has {', '.join(known)}." if known else "It has none."
            msg = f"Unknown query parameter: '{name}'. {has}"
            raise invalid(param=name, message=msg, code="unknown_parameter")


def _number(query: dict[str, str], name: str) -> int:
    text = query.get(name, "0")
    if not (text.isascii() and text.isdigit()):
        msg = f"Invalid '{name}': expected a whole number, 0 or more, but got '{text}' instead."
        raise invalid(param=name, message=msg)
    return int(text)


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        msg = f"The body could not be read as JSON: {error}."
        raise Refusal(msg, code="invalid_json") from error


def _fields(body: bytes, kinds: dict[str, Any]) -> dict[str, Any]:
    """Read an object of known fields; no body is an empty one."""
    given = _read(body) if body.strip() else {}
    if not isinstance(given, dict):
        msg = "The body must be a JSON object."
        raise Refusal(msg, code="invalid_json")
    for name, value in given.items():
        if name not in kinds:
            msg = f"Unknown parameter: '{name}'. There are {', '.join(kinds)}."
            raise invalid(param=name, message=msg, code="unknown_parameter")
        rule = broken_rule(value, kinds[name])
        if rule is not None:
            msg = f"Invalid '{name}': it must be {rule}, not {value!r}."
            raise invalid(param=name, message=msg)
    return given
