"""A scenario that writes much: what `load.py` lets the simulator play."""

from __future__ import annotations

from steer_nb.simulator import Say, scenario


@scenario("words", "Says as many words as it is told, in messages of a thousand.")
def words(turn):
    count = int(turn.prompt)
    for start in range(0, count, 1000):
        numbers = range(start, min(start + 1000, count))
        yield Say(" ".join(f"word{number % 977}" for number in numbers))
