"""A short soak: some minutes of many lanes' life, and whether the witnesses notice what is wrong.

``python -m tests.soak`` lives through an hour.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from steer_nb.client.recorder import Recorder
from steer_nb.client.socket_line import SocketLine
from tests.soak.__main__ import main
from tests.soak.run import Options, soak

pytestmark = pytest.mark.slow

SHORT = Options(minutes=3.2, lanes=12, round_s=2.0)
SHORTER = Options(minutes=1.2, lanes=12, round_s=1.0)


def alone(live, *args):
    """Live in a process of its own: of what other tests have left, every object is looked at."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(live, *args).result()


def test_nothing_is_lost_and_nothing_grows(capsys):
    report = alone(soak, SHORT)
    last = report.rows[-1]
    with capsys.disabled():
        print(
            f"\n{last.minutes:.1f} minutes on {SHORT.lanes} lanes, {last.events} events, "
            f"{last.connections} connections, {report.seconds:.0f} s"
        )
    assert report.lost == []
    assert report.grew == []
    assert report.ends.keys() >= {"client", "network", "limit"}  # replaced, cut, too old
    kinds = {word.removeprefix("fill ") for word in report.did if word.startswith("fill ")}
    assert len(kinds) == 7
    assert report.did.keys() >= {"create", "steer", "continue", "fork", "close", "recover"}


# -- the proof itself ------------------------------------------------------------------------------


def forgets():
    receive = Recorder.receive
    forgotten = []

    def forgetful(self, raw):
        if len(self.trace) < 1000 or forgotten or "output_text.delta" not in str(raw):
            receive(self, raw)
        else:
            forgotten.append(raw)
            self.note("forgot")

    Recorder.receive = forgetful
    return soak(SHORTER)


def test_the_witnesses_notice_an_event_that_is_lost():
    report = alone(forgets)
    assert any("events were written" in fault or "is recorded" in fault for fault in report.lost)


def repeats():
    post = SocketLine.post
    twice = []

    def eager(self, key, text):
        post(self, key, text)
        kind, _, number = key.partition("-")  # all kinds are numbered together
        if kind == "create" and int(number) >= 10 and not twice:
            twice.append(key)
            post(self, key, text)

    SocketLine.post = eager
    return soak(SHORTER)


def test_the_witnesses_notice_a_message_that_is_sent_twice():
    report = alone(repeats)
    assert any("was sent 1 times and received 2 times" in fault for fault in report.lost)
    assert any("something else was received than sent" in fault for fault in report.lost)


def hoards():
    kept = []
    receive, post = Recorder.receive, SocketLine.post

    def hoarding(self, raw):
        kept.append(raw + " ")
        receive(self, raw)

    def watching(self, key, text):
        self._core.watchers.subscribe(lambda: None)  # and nobody ever ends it
        post(self, key, text)

    Recorder.receive, SocketLine.post = hoarding, watching
    return soak(SHORTER)


def test_the_witnesses_notice_what_grows():
    report = alone(hoards)
    assert report.lost == []
    grew = "\n".join(report.grew)
    assert "subscribers" in grew
    assert "what is neither trace nor ledger" in grew


def test_the_command_says_what_was_found(capfd):
    assert alone(main, ["--minutes", "0.4", "--lanes", "4"]) == 0
    said = capfd.readouterr().out
    assert "Nothing was lost" in said
    assert "connections:" in said
