"""The ``steer-nb`` command: the demo, the simulator, and traces: tables, drawn, played again."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from steer_nb._version import __version__
from steer_nb.errors import SteerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.frames.export.redaction import Redact
    from steer_nb.simulator.faults.listing import FieldInfo
    from steer_nb.simulator.threaded import Dialect
    from steer_nb.trace import Trace, TraceSet

__all__ = ["main"]

_OK, _FAILED, _USAGE = 0, 1, 2
_LAST_PORT = 65_535


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 when it worked, 1 when it failed, 2 when it was called wrongly.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a Windows console may not know every character
            stream.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except SteerError as problem:
        return _complain(str(problem))
    except KeyboardInterrupt:
        return _complain("interrupted")
    except BrokenPipeError:  # `steer-nb frames … | head`: nobody is left to write to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED


def _complain(message: str, code: int = _FAILED) -> int:
    print(f"steer-nb: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="steer-nb", description="Steer running model responses from a notebook.")
    parser.add_argument("--version", action="version", version=f"steer-nb {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    demo = commands.add_parser("demo", help="run the first lesson on the embedded simulator")
    demo.add_argument("--lab", action="store_true", help="open it in JupyterLab instead")
    demo.add_argument("--out", metavar="DIR", help="where the results go (default: a new folder)")
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser(
        "simulate",
        help="serve the simulator until Ctrl-C",
        epilog="How scenarios are written in YAML: python -m pydoc steer_nb.simulator.written, and "
        "for Letta steer_nb.simulator.letta.written. "
        "The control API: python -m pydoc steer_nb.simulator.control",
    )
    simulate.add_argument(
        "--dialect",
        choices=("responses", "letta"),
        default="responses",
        help="what it speaks: OpenAI's Responses API over WebSocket, or Letta's V1 API over HTTP; "
        "each has scenarios, options and faults of its own (default: responses)",
    )
    played = simulate.add_mutually_exclusive_group()
    played.add_argument(
        "--scenario",
        metavar="NAME|FILE",
        help="what it plays: a built-in one, or a .yaml or .py file (default: the first of --list)",
    )
    played.add_argument(
        "--trace",
        metavar="FILE",
        help="serve a recorded trace again; of a Letta server with --dialect letta",
    )
    simulate.add_argument("--list", action="store_true", help="list the built-in scenarios")
    simulate.add_argument("--options", action="store_true", help="list what --set can set")
    simulate.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option, such as acknowledge=after_terminal",
    )
    simulate.add_argument("--faults", action="store_true", help="list what --fault can do")
    simulate.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="FAULT",
        help="let something go wrong, such as 'drop at=5 code=1011'",
    )
    simulate.add_argument("--host", help="address to listen on (default: this machine only)")
    simulate.add_argument("--port", type=_port, default=0, metavar="N", help="0 takes a free one")
    simulate.add_argument("--seed", type=int, default=0, metavar="N", help="for ids and timing")
    simulate.add_argument("--speed", type=float, default=1.0, metavar="X", help="0: no waiting")
    simulate.add_argument("--api-key", metavar="K", help="refuse every other key")
    simulate.set_defaults(run=_simulate)

    replay = commands.add_parser(
        "replay", help="play a recorded trace again, and tell what happens"
    )
    replay.add_argument("trace", metavar="TRACE", help="a saved trace or another recording")
    replay.add_argument("--speed", type=float, default=1.0, metavar="X", help="0: no waiting")
    replay.add_argument(
        "--lane", action="append", metavar="NAME", help="only this lane (may be repeated)"
    )
    replay.set_defaults(run=_replay)

    frames = commands.add_parser("frames", help="show a trace's tables, or write one to a file")
    frames.add_argument(
        "trace", metavar="TRACE", help="a recording, a folder of them, or a pattern in quotes"
    )
    which = "a table, summary, or metrics.gaps and so on (default: an overview)"
    frames.add_argument("--frame", metavar="NAME", help=which)
    frames.add_argument(
        "--to",
        metavar="FILE|FOLDER",
        help="write it: a .parquet or .csv file; a folder gets every table, as Parquet",
    )
    _redacting(frames)
    frames.set_defaults(run=_frames)

    timeline = commands.add_parser("timeline", help="draw what happened when in a trace")
    timeline.add_argument(
        "trace", metavar="TRACE", help="a recording, a folder of them, or a pattern in quotes"
    )
    timeline.add_argument(
        "--to", required=True, metavar="FILE", help="write it: .png, .svg, or .html"
    )
    timeline.add_argument("--lane", metavar="NAME", help="this lane only")
    timeline.add_argument(
        "--width", type=int, default=640, metavar="N", help="pixels of the time axis (default: 640)"
    )
    timeline.set_defaults(run=_timeline)

    export = commands.add_parser("export", help="write traces in forms that other programs read")
    export.add_argument(
        "trace", nargs="+", metavar="TRACE", help="a saved trace or a journal; several, or a folder"
    )
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument("--parquet", metavar="DIR", help="a file for each table")
    form.add_argument("--csv", metavar="DIR", help="a file for each table")
    form.add_argument("--messages", metavar="FILE", help="JSON, for input= of responses.create")
    form.add_argument("--chat", metavar="FILE", help="JSON, for messages= of chat.completions")
    form.add_argument("--otlp", metavar="URL", help="spans, to an OTLP endpoint over HTTP")
    form.add_argument("--otlp-file", metavar="FILE", help="spans, as OTLP JSON lines")
    export.add_argument(
        "--table",
        action="append",
        metavar="NAME[:GROUP+GROUP]",
        help="only this table, such as events:EventCore+EventDelta (may be repeated)",
    )
    export.add_argument(
        "--partitioned",
        action="store_true",
        help="Parquet as a dataset that other traces can be added to; so with several traces",
    )
    export.add_argument("--lane", metavar="NAME", help="whose messages")
    export.add_argument("--content", action="store_true", help="let spans hold texts")
    _redacting(export)
    export.set_defaults(run=_export)
    return parser


def _redacting(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--redact", action="store_true", help="write lengths instead of texts")
    how.add_argument(
        "--mask", action="append", metavar="TEXT", help="hide this text (may be repeated)"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        msg = f"{text!r} is no port: a number from 0 to {_LAST_PORT}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _demo(arguments: argparse.Namespace) -> int:
    from steer_nb.demo.run import demo, missing_packages

    missing = missing_packages(lab=arguments.lab)
    if missing:
        what = ", ".join(missing)
        return _complain(f'the demo needs {what}: pip install "steer-nb[demo]"', _USAGE)
    demo(arguments.out, lab=arguments.lab)
    return _OK


def _simulate(arguments: argparse.Namespace) -> int:
    from steer_nb.simulator import Scenario, letta
    from steer_nb.simulator.embedded import RESPONSES

    dialect = letta.LETTA if arguments.dialect == "letta" else RESPONSES
    if arguments.options:
        _list_options(dialect)
        return _OK
    if arguments.faults:
        _list_faults(dialect)
        return _OK
    if arguments.list:
        scenarios = dialect.scenarios.values()
        width = max(len(scenario.name) for scenario in scenarios) + 2
        for scenario in scenarios:
            print(f"{scenario.name:<{width}}{scenario.description}")
        return _OK
    scenario = arguments.scenario
    if arguments.trace is not None:
        scenario = Scenario.from_trace(arguments.trace)
    simulator = dialect.simulator(
        scenario,
        **dialect.options.read(arguments.set),
        faults=arguments.fault,
        seed=arguments.seed,
        speed=arguments.speed,
        host=arguments.host or "127.0.0.1",
        port=arguments.port,
        api_key=arguments.api_key,
        allow_remote=arguments.host is not None,  # typed by a person: told so
    )
    ended = threading.Event()
    handlers = {
        number: signal.signal(number, lambda *_: ended.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with simulator:
            print(simulator.base_url, flush=True)
            print(simulator.advice, flush=True)
            print(f"Control API: {simulator.control_url}", flush=True)
            print("Ctrl-C ends it.", flush=True)
            while not ended.wait(0.5):  # Windows would not notice Ctrl-C in one long wait
                pass
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return _OK


def _list_options(dialect: Dialect) -> None:
    from steer_nb.simulator import list_options

    for one in list_options(dialect.options):
        default = ",".join(one.default) if isinstance(one.default, tuple) else one.default
        default = str(default).lower() if default is None or isinstance(default, bool) else default
        choices = f" ({' | '.join(one.choices)})" if one.choices else ""
        question = f" [question {one.question}]" if one.question else ""
        print(f"{one.name}={default}{choices}{question}\n    {one.help}")
    print(f"\n{dialect.about_options} Set an\noption with --set NAME=VALUE.")


def _list_faults(dialect: Dialect) -> None:
    from steer_nb.simulator import list_faults

    def show(one: FieldInfo) -> None:
        default = "none" if one.default is None else one.default
        choices = f" ({' | '.join(one.choices)})" if one.choices else ""
        print(f"    {one.name}={default}{choices}\n        {one.help}")

    faults = list_faults(dialect.faults)
    counts = Counter(one for fault in faults for one in fault.fields)
    shared = [one for one, count in counts.items() if count > len(faults) / 2]
    for fault in faults:
        print(f"{fault.name}: {fault.help}")
        for one in fault.fields:
            if one not in shared:
                show(one)
    print("\nWhat they have in common, as far as it applies:")
    for one in shared:
        show(one)
    print(
        "\nWrite --fault 'NAME FIELD=VALUE …', once for each fault. While the simulator runs, its"
        "\ncontrol API arms faults and takes them away."
    )


def _replay(arguments: argparse.Namespace) -> int:
    import steer_nb
    from steer_nb.demo.narrator import Narrator

    playing = steer_nb.replay(
        arguments.trace, speed=arguments.speed, lanes=arguments.lane, quiet=True
    )
    narrator, told = Narrator(playing.session.trace.header.dialect), 0
    with playing.session as session:
        ended = False
        while not ended:
            ended = playing.state != "playing"  # asked before the last entries are read
            for entry in session.trace[told:]:
                told += 1
                for line in narrator.hear(entry):
                    print(f"{entry.t or 0.0:9.3f} s  {line}", flush=True)
            if not ended:
                time.sleep(0.05)
        playing.wait()
    return _OK


def _loaded(names: list[str]) -> Trace | TraceSet:
    """One file must be a trace; a folder, a pattern or several of them are what can be read."""
    from steer_nb.trace import load, load_trace

    if len(names) == 1:
        return load_trace(names[0]) if Path(names[0]).is_file() else load(names[0])
    return load(names)


def _frames(arguments: argparse.Namespace) -> int:
    from steer_nb.trace import Trace

    trace = _loaded([arguments.trace])
    if arguments.frame is None and arguments.to is None:
        if isinstance(trace, Trace):
            print(f"{arguments.trace}: trace {trace.trace_id}, {len(trace)} entries")
        else:
            n_odd = len(trace.problems)
            odd = f"{n_odd} problem{'' if n_odd == 1 else 's'}"
            print(f"{arguments.trace}: {len(trace)} traces, {odd}")
        for name in trace.frames.names:
            frame = trace.frames.table(name)
            print(f"  {name:<16}{len(frame):>7} rows  {len(frame.columns):>3} columns")
        return _OK
    redact = arguments.redact or arguments.mask
    if arguments.to is not None:
        return _write(trace, arguments.frame, Path(arguments.to), redact)
    frame = trace.frame(arguments.frame)
    if redact:
        from steer_nb.frames.export import redaction

        frame = redaction(redact).frame(frame, arguments.frame)
    shown = frame.to_string(max_rows=60, max_colwidth=60)
    print(shown if len(frame) else f"{arguments.frame}: no rows")
    return _OK


def _timeline(arguments: argparse.Namespace) -> int:
    plot = _loaded([arguments.trace]).plot
    path = plot.save(arguments.to, plot.timeline(arguments.lane, width=arguments.width))
    print(f"{path}: the timeline of {arguments.trace}")
    return _OK


def _write(trace: Trace | TraceSet, name: str | None, path: Path, redact: Redact) -> int:
    from steer_nb.frames.export import export_as

    if path.suffix in (".csv", ".parquet") and not path.is_dir():
        kind, tables = path.suffix[1:], name or "events"
        export_as(trace, kind, path, tables=tables, redact=redact)
        print(f"{path}: {tables}, {len(trace.frame(tables))} rows")
    elif path.suffix and not path.is_dir():
        return _complain(f"--to takes a .parquet or .csv file, or a folder, not {path}", _USAGE)
    else:
        print(export_as(trace, "parquet", path, tables=name, redact=redact))
    return _OK


def _export(arguments: argparse.Namespace) -> int:
    from steer_nb.frames.export import export_as

    forms = {"parquet": "parquet", "csv": "csv", "messages": "messages", "chat": "chat"}
    forms |= {"otlp": "otel", "otlp_file": "otel"}
    kind, path = next((k, vars(arguments)[f]) for f, k in forms.items() if vars(arguments)[f])
    if arguments.otlp and not path.startswith(("http://", "https://")):
        return _complain(f"--otlp takes an http or https address, not {path}", _USAGE)
    tables = [name.partition(":") for name in arguments.table or ()]
    said = export_as(
        _loaded(arguments.trace),
        kind,
        path,
        tables={name: columns or None for name, _, columns in tables} or None,
        lane=arguments.lane,
        content=arguments.content,
        partitioned=arguments.partitioned or None,
        redact=arguments.redact or arguments.mask,
    )
    print(said)
    return _OK
