"""Check messages against the TypeScript declarations of the official Node SDK, with its compiler.

Written as literals, each is checked for missing fields, for fields nobody declares, and for values
of another type.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.support.simulated import declared, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# `output_text` is no field of the wire: the SDK adds it to a response that it gives. And the SDK
# leaves out, as its Python sibling does not, that the service writes null for `usage` before the
# end and for a `user` not given, and that an error without a parameter may do without `param`: so
# it stands in the guide's example of the connection limit.
_IMPORTS = {
    False: """
import type { Response, ResponseUsage, ResponsesClientEvent, ResponsesServerEvent }
  from 'openai/resources/responses/responses';
""",
    True: """
import type {
  BetaResponse as Response,
  BetaResponseUsage as ResponseUsage,
  BetaResponsesClientEvent as ResponsesClientEvent,
  BetaResponsesServerEvent as ResponsesServerEvent,
} from 'openai/resources/beta/responses/responses';
""",
}
_HEAD = """
type WireResponse = Omit<Response, 'output_text' | 'usage' | 'user'> & {
  usage: ResponseUsage | null;
  user: string | null;
};
type OnTheWire<E> = E extends { response: Response }
  ? Omit<E, 'response'> & { response: WireResponse }
  : E extends { type: 'error'; error: infer Details }
    ? Omit<E, 'error'> & { error: Omit<Details, 'param'> & { param?: string | null } }
    : E;
type Event = OnTheWire<ResponsesServerEvent>;
type Request = ResponsesClientEvent;
"""
_OPTIONS = {
    "strict": True,
    "noEmit": True,
    "target": "es2022",
    "module": "nodenext",
    "moduleResolution": "nodenext",
    "skipLibCheck": True,
    "types": ["node"],
}


def check_types(
    node: Path,
    modules: Path,
    place: Path,
    *,
    events: Iterable[dict[str, Any]],
    requests: Iterable[dict[str, Any]],
    beta: bool = False,
) -> None:
    """Fail, with the compiler's words, unless all are as the SDK, or its beta, declares them."""
    found = errors(node, modules, place, events=events, requests=requests, beta=beta)
    assert not found, found


def errors(
    node: Path,
    modules: Path,
    place: Path,
    *,
    events: Iterable[dict[str, Any]] = (),
    requests: Iterable[dict[str, Any]] = (),
    beta: bool = False,
) -> str:
    """Give what the compiler complains about; empty where it is content."""
    different = {
        shape_of(event) if event["type"].endswith(".delta") else json.dumps(event): event
        for event in events
    }
    lines = [_literal("Event", declared(event)) for event in different.values()]
    lines += [_literal("Request", request) for request in requests]
    place.joinpath("messages.mts").write_text("\n".join([_IMPORTS[beta], _HEAD, *lines]), "utf-8")
    place.joinpath("package.json").write_text('{"type": "module"}', "utf-8")
    config = {"compilerOptions": _OPTIONS, "files": ["messages.mts"]}
    place.joinpath("tsconfig.json").write_text(json.dumps(config), "utf-8")
    place.joinpath("node_modules").symlink_to(modules)
    compiler = modules / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [str(node), str(compiler), "--project", str(place), "--pretty", "false"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout if done.returncode else ""


def _literal(kind: str, message: dict[str, Any]) -> str:
    return f"(void 0 as unknown as (_: {kind}) => void)({json.dumps(message)});"
