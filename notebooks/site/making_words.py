"""Tables of words: the magics, the columns, what fills an input, the simulator, the commands.

Read from `steer_nb.magics.grammar`, `steer_nb.frames.TABLES`, the stub kinds, the scenarios,
options and faults of both dialects, and the parser of the command line.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pandas as pd

from steer_nb.cli import _parser
from steer_nb.frames import METRICS, TABLES, Columns
from steer_nb.magics.commands import Argument, Option
from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.simulator import SCENARIOS, Options, list_faults, list_options
from steer_nb.simulator.letta import LETTA_FAULTS, LettaOptions
from steer_nb.simulator.letta import SCENARIOS as LETTA_SCENARIOS
from steer_nb.wire import STUB_KINDS

if TYPE_CHECKING:
    from steer_nb.simulator.options import OptionSet

MADE = "<!-- Made by making.py: do not edit. -->\n\n"

FRAMES = """\
Each is an attribute of `trace.frames`, and a name for `%steer frame`. Groups of columns are added
with `trace.frames.table("events", "EventCore+EventDelta")`. Columns have these dtypes always, also
where a table is empty.
"""
FILLING = """\
The names are those of the wire: `lane.fill(key, output=...)`, `lane.fill(key, approve=False,
reason=...)`.
"""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""

    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(' '.join(c.replace('|', chr(92) + '|').split()) for c in cells)} |"

    return "\n".join([line(head), line(("---",) * len(head)), *map(line, rows), ""])


def code(text: object) -> str:
    """Text as code; nothing where there is none."""
    return f"`{text}`" if str(text) else ""


def said(text: str) -> str:
    """A sentence from a table or docstring as Markdown, for which a single backtick is code."""
    return text.replace("``", "`").replace("<", "&lt;")


def magics() -> str:
    """The words of ``%steer``."""
    parts = [MADE + "# The words of `%steer`\n"]
    parts.append(
        table(
            ("magic", "does", "the same in Python"),
            [
                (f"[{code(one.magic)}](#{anchor(one.magic)})", one.help, code(one.python))
                for one in (CELL, *COMMANDS.values())
            ],
        )
    )
    for one in (CELL, *COMMANDS.values()):
        taken: tuple[Argument | Option, ...] = (*one.arguments, *one.options)
        rows = [(code(t.form if isinstance(t, Option) else t.usage), said(t.help)) for t in taken]
        parts.append(f"({anchor(one.magic)})=\n## `{one.magic}`\n")
        parts.append(f"{said(one.help[:1].upper() + one.help[1:])}.\n")
        parts.append(f"```text\n{one.usage}\n```\n")
        parts.append(table(("takes", "which is"), rows) if rows else "")
        parts.append(f"{said(one.note)}\n" if one.note else "")
        parts.append(f"For example:\n\n```text\n{one.example}\n```\n" if one.example else "")
    return "\n".join(part for part in parts if part)


def anchor(magic: str) -> str:
    """Under which name a magic is linked to."""
    return "magic-" + (magic.removeprefix("%steer ") if magic.startswith("%steer ") else "cell")


def dtype_of(dtype: Any) -> str:
    """A dtype in pandas' word."""
    return "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)


def columns(group: Columns) -> str:
    """The columns of a group as a table."""
    rows = []
    for column in group:
        doc = said(column.doc)
        if isinstance(column.dtype, pd.CategoricalDtype):
            words = [str(word) for word in column.dtype.categories]
            shown = ", ".join(map(code, words)) if len(words) <= 16 else f"{len(words)} words"
            doc += f" One of: {shown}{', or another' if column.open else ''}."
        rows.append((code(column.name), code(dtype_of(column.dtype)), doc))
    return table(("column", "dtype", "meaning"), rows)


def tables() -> str:
    """Every table of `Trace.frames`, and of the metrics."""
    parts = [
        MADE + "# Tables and their columns\n",
        FRAMES,
        table(
            ("table", "holds", "key"),
            [
                (f"[{code(t.name)}](#table-{t.name})", said(t.doc), ", ".join(map(code, t.key)))
                for t in TABLES.values()
            ],
        ),
    ]
    for one in TABLES.values():
        parts.append(f"(table-{one.name})=\n## {code(one.name)}\n")
        parts.append(f"{said(one.doc[:1].upper() + one.doc[1:])}.\n")
        for number, group in enumerate(one.groups):
            asked = "" if number < one.n_default else ", when asked for"
            parts.append(f"### {code(group.name)}{asked}\n\n{columns(group)}")
    parts.append("## Metrics\n\nAttributes of `trace.metrics`, and names for `%steer frame`.\n")
    for name, group in METRICS.items():
        parts.append(f"### `metrics.{name}`\n\n{columns(group)}")
    return "\n".join(parts)


def inputs() -> str:
    """The kinds of required input, and what fills each."""
    parts = [
        MADE + "# Required input, and what fills it\n",
        FILLING,
    ]
    for kind in STUB_KINDS.values():
        rows = [
            (
                code(one.name) + (" (required)" if one.required else ""),
                one.kind.replace("_", " "),
                ", ".join(map(code, one.choices)),
            )
            for one in kind.fields
            if not one.minor
        ]
        calls = ", ".join(map(code, kind.call_types))
        parts.append(f"## {code(kind.type)}\n\n{kind.title}: what {calls} asks for.\n")
        parts.append(table(("field", "holds", "one of"), rows))
    return "\n".join(parts)


def simulator() -> str:
    """Scenarios, options and faults of both dialects."""
    parts = [MADE + "# What the simulator plays\n"]
    both = (
        ("Responses API", SCENARIOS, Options, None),
        ("Letta", LETTA_SCENARIOS, LettaOptions, LETTA_FAULTS),
    )
    for title, scenarios, options, faults in both:
        parts.append(f"## {title}: scenarios\n")
        rows = [(code(one.name), said(one.description)) for one in scenarios.values()]
        parts.append(table(("scenario", "plays"), rows))
        parts.append(f"## {title}: options\n\n{option_rows(options)}")
        parts.append(f"## {title}: faults\n")
        for fault in list_faults() if faults is None else list_faults(faults):
            rows = [
                (code(one.name), code(shown(one.default)), said(one.help) + choices(one.choices))
                for one in fault.fields
            ]
            parts.append(f"### {code(fault.name)}\n\n{said(fault.help).capitalize()}.\n")
            parts.append(table(("field", "default", "meaning"), rows) if rows else "")
    return "\n".join(parts)


def option_rows(kind: type[OptionSet]) -> str:
    """A table of options."""
    return table(
        ("option", "default", "meaning", "question"),
        [
            (
                code(one.name),
                code(shown(one.default)),
                said(one.help) + choices(one.choices),
                one.question,
            )
            for one in list_options(kind)
        ],
    )


def choices(words: tuple[str, ...]) -> str:
    """Which words may be given."""
    return f" One of: {', '.join(map(code, words))}." if words else ""


def shown(value: Any) -> str:
    """A default as one types it."""
    words = {None: "none", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def commands() -> str:
    """The command line, from its own parser."""
    parser = _parser()
    parts = [MADE + "# The command line\n"]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            rows = [(code(f"steer-nb {name}"), said(text)) for name, text in helps.items()]
            parts.append(table(("command", "does"), rows))
            for name, command in action.choices.items():
                parts.append(f"## `steer-nb {name}`\n\n{command_text(command, helps[name])}")
    return "\n".join(parts)


def command_text(command: argparse.ArgumentParser, what: str) -> str:
    """What one command takes."""
    rows = []
    for one in command._actions:
        if one.dest == "help" or one.help == argparse.SUPPRESS:
            continue
        names = ", ".join(one.option_strings)
        value = "" if one.nargs == 0 else str(one.metavar or "|".join(one.choices or ()))
        text = (one.help or "") % {**vars(one), "prog": command.prog}
        rows.append((code(f"{names} {value}".strip()), said(text)))
    note = f"\n{said(command.epilog)}\n" if command.epilog else ""
    return f"{said(what[:1].upper() + what[1:])}.\n\n{table(('takes', 'which is'), rows)}{note}"
