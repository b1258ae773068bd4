"""A short soak: some minutes of many lanes' life, and whether the witnesses notice what is wrong.

``python -m tests.soak`` lives through an hour.
"""

from __future__ import annotations

import pytest

from steer_nb.client.line import Line
from steer_nb.client.recorder import Recorder
from tests.soak.__main__ import main
from tests.soak.run import Options, soak

pytestmark = pytest.mark.slow

SHORT = Options(minutes=3.2, lanes=12, round_s=2.0)
SHORTER = Options(minutes=1.2, lanes=12, round_s=1.0)


def test_nothing_is_lost_and_nothing_grows(capsys):
    report = soak(SHORT)
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


def test_the_witnesses_notice_an_event_that_is_lost(monkeypatch):
    receive = Recorder.receive

    def forgetful(self, raw):
        if len(self.trace) != 1000 or self.trace[-1].kind != "in":
            receive(self, raw)
        else:
            self.note("forgot")

    monkeypatch.setattr(Recorder, "receive", forgetful)
    report = soak(SHORTER)
    assert any("events were written" in fault or "is recorded" in fault for fault in report.lost)


def test_the_witnesses_notice_a_message_that_is_sent_twice(monkeypatch):
    post = Line.post

    def eager(self, key, text):
        post(self, key, text)
        if key == "create-20":
            post(self, key, text)

    monkeypatch.setattr(Line, "post", eager)
    report = soak(SHORTER)
    assert any("was sent 1 times and received 2 times" in fault for fault in report.lost)
    assert any("something else was received than sent" in fault for fault in report.lost)


def test_the_witnesses_notice_what_grows(monkeypatch):
    kept = []
    receive, post = Recorder.receive, Line.post

    def hoarding(self, raw):
        kept.append(raw + " ")
        receive(self, raw)

    def watching(self, key, text):
        self._core.watchers.subscribe(lambda: None)  # and nobody ever ends it
        post(self, key, text)

    monkeypatch.setattr(Recorder, "receive", hoarding)
    monkeypatch.setattr(Line, "post", watching)
    report = soak(SHORTER)
    assert report.lost == []
    grew = "\n".join(report.grew)
    assert "subscribers" in grew
    assert "what is neither trace nor ledger" in grew


def test_the_command_says_what_was_found(capsys):
    assert main(["--minutes", "0.4", "--lanes", "4"]) == 0
    said = capsys.readouterr().out
    assert "Nothing was lost" in said
    assert "connections:" in said
