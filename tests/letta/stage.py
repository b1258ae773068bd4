"""What the tests of Letta sessions look at: the server's account, and what a trace says."""

from __future__ import annotations

PATIENCE = 30


def runs_of(simulator):
    """The tools that the server ran: a run, a call, a name."""
    return [one for one in simulator.account if one["kind"] == "tool"]


def asked_of(simulator, ending, method="POST"):
    """The requests that the server got."""
    return [
        one
        for one in simulator.account
        if one["kind"] == "request" and one["method"] == method and one["target"].endswith(ending)
    ]
