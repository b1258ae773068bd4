"""The words of ``%steer``: declared once, and everything else is made from this table.

The parser, ``%steer help``, the magic's docstring and the completion read `COMMANDS` and nothing
else, so that they cannot tell different stories.
"""

from __future__ import annotations

from steer_nb.magics.commands import Argument, Command, Option

__all__ = ["CELL", "COMMANDS"]

_LANE = Argument("LANE", "name of an open lane", "lane")
_KEY = Argument("KEY", "a message to decide on: steer-2, create-5, or a steer's id", "undecided")
_ONE_OR_ALL = Argument("LANE", "name of an open lane; without it, all of them", "lane", False)

CELL = Command(
    "",
    "send the cell to a lane: an idle lane starts a response, a running one is steered",
    'session.lane("planner").send(text)',
    (Argument("LANE", "name of an open lane; without it, the default lane", "lane", False),),
    (
        Option("--create", "always ask for a new response"),
        Option("--steer", "always steer the running response"),
        Option("--wait", "block until the lane is idle, waits for input, or failed"),
        Option("--vars", "Python values to send after the text", "values", "A,B"),
    ),
    (("create", "steer"),),
    "%%steer planner\nPlan a two-day trip to Lisbon.",
    "The cell goes out exactly as written; {braces} and $dollars are left alone. "
    "The result can be awaited. A first word is always a lane, also when it equals a subcommand.",
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "connect",
            "open the session; once more replaces the one of that name and closes its socket",
            "steer_nb.connect(url=None, model=None, simulate=None, letta=None, multi_agent=False)",
            (
                Argument(
                    "URL",
                    "where to; without it OPENAI_API_KEY decides: OpenAI, or the simulator",
                    "url",
                    required=False,
                ),
            ),
            (
                Option("--simulate", "the embedded simulator", "scenario", "SCENARIO", True),
                Option("--speed", "the simulator, at this pace; 0: no waiting", "number", "X"),
                Option("--seed", "the simulator, with ids from this seed", "integer", "N"),
                Option(
                    "--option",
                    "the simulator, with this answer to an open question, or limit",
                    "option",
                    "NAME=VALUE",
                    many=True,
                ),
                Option(
                    "--fault",
                    'the simulator, with something that goes wrong: "drop at=5"',
                    "fault",
                    "FAULT",
                    many=True,
                ),
                Option(
                    "--letta",
                    "a Letta server; without URL, LETTA_BASE_URL, or what --simulate plays",
                    "letta_url",
                    "URL",
                    True,
                ),
                Option("--model", "default model of the lanes", "model", "M"),
                Option("--journal", "folder of the journal (default .steer)", "directory", "DIR"),
                Option("--no-journal", "keep nothing on disk"),
                Option(
                    "--multi-agent", "ask for the beta in which several agents write a response"
                ),
                Option("--name", "name of the session", "name", "N"),
            ),
            (
                ("url", "letta"),
                ("url", "simulate"),
                ("url", "speed"),
                ("url", "seed"),
                ("url", "option"),
                ("url", "fault"),
                ("journal", "no_journal"),
            ),
            "%steer connect --simulate planner",
            "A scenario is a built-in one, a file (.yaml, .py), or a trace (.jsonl) that is served "
            "again. steer-nb simulate --options lists what --option takes, --faults what --fault "
            "takes.",
        ),
        Command(
            "open",
            "open a lane and show it live",
            'session.lane("planner", model=None, tools=None, instructions=None)',
            (Argument("LANE", "its name: letters, digits, _ . -", "new_lane"),),
            (
                Option("--model", "the lane's model", "model", "M"),
                Option("--instructions", "the lane's instructions", "text", "T"),
                Option("--tools", "your functions, by name", "tools", "A,B", many=True),
                Option("--set", "any other field of the request", "json", "KEY=JSON", many=True),
                Option("--fork", "continue from there on", "origin", "LANE|RESPONSE"),
                Option("--agent", "at a Letta server: the agent, by its id", "agent", "ID"),
                Option(
                    "--conversation",
                    "at a Letta server: go on with this one, or default",
                    "text",
                    "ID",
                ),
            ),
            example='%steer open planner --tools get_weather --instructions "Be brief."',
            note="--set takes every other field of response.create, as JSON: "
            '--set temperature=0.2, --set reasoning={"effort": "low"}. At a Letta server a lane is '
            "a conversation of its agent, a new one where none is named, and --set takes the "
            "fields of Letta's requests, such as max_steps=5.",
        ),
        Command(
            "send",
            "send one line to a lane: the same as %%steer LANE",
            'session.lane("planner").send(text)',
            (_LANE, Argument("TEXT", "goes out exactly as written", "text", rest=True)),
            example="%steer send planner Keep it under 300 euros",
        ),
        Command(
            "cancel",
            "at a Letta server: stop what a lane's agent writes, or release it from what it waits "
            "for",
            "lane.cancel()",
            (_LANE,),
            example="%steer cancel planner",
            note="Only there: the Responses API cancels nothing on a WebSocket. An agent that "
            "waits is released in its default conversation; in one of its own, deny all with the "
            "form of %steer pending.",
        ),
        Command(
            "pending",
            "the forms for the input that lanes wait for, one for each response",
            "lane.required_input, lane.fill(key, output=...), lane.send_continuation()",
            (_ONE_OR_ALL,),
            example="%steer pending",
        ),
        Command("lanes", "all lanes, live", "session.lanes", example="%steer lanes"),
        Command("status", "the connection", "session.status()", example="%steer status"),
        Command(
            "show",
            "show a lane live",
            "session.lanes[name]",
            (_LANE,),
            example="%steer show planner",
        ),
        Command(
            "frame",
            "a DataFrame of what happened",
            "session.trace.frame(name)",
            (
                Argument("NAME", "a table, summary, or metrics", "frame"),
                Argument("LANE", "rows of this lane only", "lane", required=False),
            ),
            (Option("--columns", "column groups", "columns", "G+G"),),
            example="%steer frame events planner --columns EventCore+EventDelta",
            note="Columns come in groups, which Tab lists.",
        ),
        Command(
            "timeline",
            "the picture of what happened when",
            "session.trace.plot.timeline(lane)",
            (Argument("LANE", "this lane only", "lane", required=False),),
            example="%steer timeline planner",
            note='It is an Altair chart: pip install "steer-nb[plot]". Tokens, gaps and latencies '
            "are drawn by session.trace.plot.tokens(), .gaps() and .latencies().",
        ),
        Command(
            "wait",
            "until the lane is idle, waits for input, or failed; never for a click",
            "lane.wait(timeout=None)",
            (_ONE_OR_ALL,),
            (Option("--timeout", "give up after so many seconds", "number", "S"),),
            example="%steer wait planner --timeout 30",
        ),
        Command(
            "save",
            "write the trace to a file",
            "session.trace.save(path)",
            (Argument("PATH", "the file; .jsonl is usual", "path"),),
            example="%steer save run.jsonl",
        ),
        Command(
            "export",
            "write the trace in a form that other programs read",
            "session.trace.export.parquet(folder), .csv, .messages, .otel",
            (
                Argument("KIND", "parquet, csv, messages, chat or otel", "form"),
                Argument("PATH", "a folder or a file; for otel also an OTLP address", "path"),
                Argument("LANE", "whose messages", "lane", required=False),
            ),
            (
                Option("--redact", "write lengths instead of texts"),
                Option("--content", "let spans hold texts"),
            ),
            example="%steer export parquet out --redact",
            note="parquet and csv write a file for each table, messages and chat what the openai "
            "SDK takes as input= and messages=, otel spans of OpenTelemetry.",
        ),
        Command(
            "load",
            "read recordings: a file, a folder, or all files that match a pattern",
            "steer_nb.load(path, strict=False)",
            (Argument("PATH", "a file, a folder, or a pattern such as runs/*.jsonl", "path"),),
            (Option("--strict", "refuse what is odd, instead of listing it as a problem"),),
            example="trace = %steer load run.jsonl",
            note="The trace is the result: bind it to a name, and find its tables in "
            "trace.frames.events, trace.frames.steers and so on. Known are our own traces and "
            "journals, JSON lines of events, SSE captures, VCR cassettes, HAR files, Codex "
            "rollouts, response objects, and Letta's streams and messages; compressed ones too.",
        ),
        Command(
            "replay",
            "play a recorded trace again, in a session of its own, and show its lanes live",
            "steer_nb.replay(path, speed=1.0, lanes=None)",
            (Argument("PATH", "a saved trace, a journal or another recording", "path"),),
            (
                Option("--speed", "how fast; 0: no waiting", "number", "X"),
                Option("--lane", "only these lanes", "lanes", "A,B", many=True),
                Option("--name", "name of the session (default replay)", "name", "N"),
                Option("--wait", "block until it was played; an interrupt leaves it running"),
            ),
            example="%steer replay run.jsonl --speed 2",
            note="The embedded simulator serves what was recorded, and what was sent is sent again "
            "at its moment; of a Letta server as well. Frames are then those of the recording, but "
            "for times.",
        ),
        Command(
            "recover",
            "put a session together again from its journal, after its kernel is gone",
            "steer_nb.recover(path=None, name=None, tools=())",
            (
                Argument(
                    "PATH",
                    "a journal, or a folder of them: then the newest; without it, .steer",
                    "path",
                    required=False,
                ),
            ),
            (
                Option("--name", "name of the session; its old one by default", "name", "N"),
                Option("--tools", "the functions its lanes had", "tools", "A,B", many=True),
            ),
            example="%steer recover --tools get_weather",
            note="Nothing is sent by itself: each lane shows how it can go on.",
        ),
        Command(
            "check",
            "ask the service what became of what is unknown since a connection was lost",
            "lane.check(), session.check()",
            (_ONE_OR_ALL,),
            example="%steer check planner",
            note="It asks over HTTP for the responses that it has stored, and changes nothing. "
            "What it cannot prove stays unknown, and is yours to decide.",
        ),
        Command(
            "resume",
            "say how a lane goes on after its connection was lost",
            "lane.recover(choice=None)",
            (
                Argument("LANE", "a lane that lost its connection", "detached"),
                Argument(
                    "CHOICE",
                    "continue, rebuild or leave; without it, the first that is offered",
                    "choice",
                    required=False,
                ),
            ),
            example="%steer resume planner continue",
        ),
        Command(
            "again",
            "send a message once more whose outcome is unknown, or that failed",
            "steer.send_again(), response.send_again()",
            (_KEY,),
            example="%steer again steer-2",
            note="A steer goes into what its lane is writing now, or is the lane's next turn.",
        ),
        Command(
            "drop",
            "do without a message whose outcome is unknown, or that failed",
            "steer.drop(), response.drop()",
            (_KEY,),
            example="%steer drop steer-2",
        ),
        Command(
            "nest",
            "allow asyncio.run() inside cells, for code pasted from a guide",
            "steer_nb.allow_nested_loops()",
            example="%steer nest",
        ),
        Command(
            "close",
            "close a lane, or the session; says what was in flight",
            "lane.in_flight, lane.close(), session.in_flight, session.close()",
            (Argument("LANE", "name of an open lane", "lane", required=False),),
            example="%steer close",
        ),
        Command(
            "help",
            "this help, or that of one subcommand",
            "help(steer_nb)",
            (Argument("WORD", "a subcommand or an option", "word", required=False),),
            example="%steer help open",
        ),
    )
}
