"""The stand-in model and the tools that the recordings were made with, as a scenario."""

from __future__ import annotations

from steer_nb.simulator import CallFunction, Fail, Pause, Say, Think, letta

DONE = "The deletion step is finished."
CODE = "The cell contains code."
BOTH = "Both requests were handled."
FAILED = "scripted failure"


def get_weather(city: str) -> letta.Outcome:
    """Look up the weather."""
    return letta.Outcome(f"sunny in {city}", stdout=(f"looking up {city}\n",))


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


TOOLS = (
    letta.ServerTool.of(get_weather),
    letta.ServerTool.of(delete_file, requires_approval=True),
)


def weather(city):
    return CallFunction("get_weather", {"city": city})


def delete(path):
    return CallFunction("delete_file", {"path": path})


def read(cell):
    return CallFunction("read_cell", {"cell": cell})


SLOW = [f"word{n}" for n in range(40)]

SCRIPTS = {
    "plain": ([Say("Hello from the fake model. Two short sentences.")], ()),
    "slow": ([Say(" ".join(SLOW))], ()),
    "stopped": ([Say(" ".join(SLOW[:15]) + " "), Pause(600)], ()),
    "slowstep": ([Say("late answer")], ()),
    "auto": ([Say("I will look up the weather."), weather("Oslo")], [Say("It is sunny in Oslo.")]),
    "approve1": ([Say("I need to delete a file."), delete("/srv/a.txt")], [Say(DONE)]),
    "approve1_notext": ([delete("/srv/a.txt")], [Say(DONE)]),
    "parallel2": (
        [Say("Deleting two files."), delete("/srv/a.txt"), delete("/srv/b.txt")],
        [Say(BOTH)],
    ),
    "mixed": (
        [Say("Weather and delete."), weather("Oslo"), delete("/srv/a.txt")],
        [Say("Handled the mix.")],
    ),
    "client1": ([Say("I will read a notebook cell."), read(3)], [Say(CODE)]),
    "client2": (
        [Say("Client tool and approval tool."), read(3), delete("/srv/c.txt")],
        [Say("Handled client and approval.")],
    ),
    "triple": ([weather("Rome"), read(5), delete("/srv/d.txt")], [Say("All handled.")]),
    "reasonap": (
        [Think("Is this safe?"), Say("About to delete."), delete("/srv/r")],
        [Say(DONE)],
    ),
    "boom": ([Fail("server_error", FAILED)], ()),
    "rate": ([Fail("rate_limit_exceeded", FAILED)], ()),
    "boom2": ([Say("First step."), weather("Oslo")], [Fail("server_error", FAILED)]),
    "apboom": ([delete("/srv/x")], [Fail("server_error", FAILED)]),
}
"""What it says to ``SCRIPT:NAME``, and once its calls are answered."""


@letta.scenario("recorded", "Says what was recorded.", tools=TOOLS)
def recorded(turn):
    yield letta.Spend(100, 20)
    told = [text for text in (*turn.asked, *turn.input_texts) if text.startswith("SCRIPT:")]
    first, then = SCRIPTS[told[-1].removeprefix("SCRIPT:")]
    yield from (then if turn.results or turn.kept_alive else first)
