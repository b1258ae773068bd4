"""The record of a session: entries, the log in memory, the journal on disk, and its readers."""

from __future__ import annotations

from steer_nb.trace.entries import PROBLEM_KINDS, SCHEMA, Entry, Header, Problem
from steer_nb.trace.holding import Entries
from steer_nb.trace.journal import Journal, journal_path, newest_journal
from steer_nb.trace.log import Trace
from steer_nb.trace.readers import load, load_trace
from steer_nb.trace.sets import TraceSet

__all__ = [
    "PROBLEM_KINDS",
    "SCHEMA",
    "Entries",
    "Entry",
    "Header",
    "Journal",
    "Problem",
    "Trace",
    "TraceSet",
    "journal_path",
    "load",
    "load_trace",
    "newest_journal",
]
