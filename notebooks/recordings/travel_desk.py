"""Makes the recording that the lesson on event traces reads: an evening at a travel desk.

Three lanes on one connection, played by the simulator: one stalls, one waits for a late tool, one
is steered too late. The same seed makes the same events; times are those of the machine. Make it
anew with ``python notebooks/recordings/travel_desk.py``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import steer_nb
from steer_nb.simulator import CallFunction, Pause, Say, Simulator, Think, scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steer_nb.client.tools import Tool
    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn
    from steer_nb.trace import Trace

RECORDING = Path(__file__).with_suffix(".jsonl")
SEED = 28

STALL_S = 2.6
LATE_S = 3.4


@scenario("travel_desk", "A plan that stalls, a tool that is late, a letter steered too late.")
def travel_desk(turn: Turn) -> Iterator[Step]:
    """Play the service's half of all three lanes."""
    if "letter" in turn.prompt:
        yield from _letter(turn)
    elif "evening" in turn.prompt:
        yield from _evening(turn)
    else:
        yield from _plan()


def _plan() -> Iterator[Step]:
    yield Think("One day, so only what lies close together.")
    yield Say("Morning: the castle, before the buses come. Walk down through the old town.\n\n")
    yield Say("Noon: grilled sardines at the market, standing up, like everybody else.\n\n")
    yield Pause(STALL_S)
    yield Say("Afternoon: the tile museum; take the tram back, it is uphill all the way.")


def _evening(turn: Turn) -> Iterator[Step]:
    if turn.results:
        yield Say(
            "The museum is open until eight today, the last tram leaves at one, and there is a "
            "table for two at nine. That makes an evening."
        )
        return
    yield Say("Three things I have to look up.\n\n", phase="commentary")
    yield CallFunction("tram_times", {"line": 28})
    yield CallFunction("museum_hours", {"museum": "tiles"})
    yield CallFunction("find_table", {"people": 2, "hour": 21})


def _letter(turn: Turn) -> Iterator[Step]:
    if turn.steers:
        yield Say("Caros hóspedes, bem-vindos a Lisboa. A chave está na caixa. Até amanhã!")
        return
    yield Say(
        "Dear guests, welcome to Lisbon. We are glad that you found the way through our narrow "
        "streets, which have confused travellers since long before there were maps of them. You "
        "will find the key in the little box beside the door, and on the table a map on which we "
        "have marked the places that we like ourselves: the bakery that opens at six, the bench "
        "with the best view of the river, and the bar where somebody usually sings after ten.\n\n"
    )
    yield Say("With our warmest regards, your hosts.")


def tools(pace: float) -> list[Tool]:
    """Make the desk's functions; one of them is slow."""

    def tram_times(line: int) -> str:
        """Say when the last tram of a line leaves."""
        return f"Line {line}: last departure 01:00"

    def museum_hours(museum: str) -> str:
        """Say how long a museum is open today."""
        time.sleep(LATE_S / pace)
        return f"{museum}: 10:00 to 20:00"

    def find_table(people: int, hour: int) -> str:
        """Find a free table."""
        return f"a table for {people} at {hour}:00"

    return [steer_nb.tool(one, policy="auto") for one in (tram_times, museum_hours, find_table)]


def record(pace: float = 1.0) -> Trace:
    """Play both halves and give the trace.

    Parameters
    ----------
    pace : float
        How much faster than the recording in the tree; stall and late tool shrink with it.
    """
    simulator = Simulator(travel_desk, seed=SEED, speed=pace)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        plan, letter = session.lane("plan"), session.lane("letter")
        evening = session.lane("evening", tools=tools(pace))
        plan.create("Plan one day in Lisbon.")
        evening.create("What can we do this evening?")
        _until(lambda: "Noon" in plan.text)
        letter.create("Write a letter that welcomes our guests.")
        _until(lambda: "narrow" in letter.text)
        letter.steer("In Portuguese, please, and much shorter.")
        session.wait(timeout=60)
    return session.trace


def _until(is_so: Callable[[], bool], timeout: float = 30) -> None:
    """Read along until something is so."""
    end = time.monotonic() + timeout
    while not is_so():
        if time.monotonic() > end:
            msg = "The simulator did not get that far."
            raise TimeoutError(msg)
        time.sleep(0.01)


if __name__ == "__main__":
    sys.stdout.write(f"{record().save(RECORDING)}\n")
