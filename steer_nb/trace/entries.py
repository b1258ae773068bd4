"""What a trace is made of: one entry for each message and for each local note."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["PROBLEM_KINDS", "SCHEMA", "Entry", "Header", "Kind", "Problem"]

SCHEMA = 1
"""Version of the file format; a reader refuses a newer one."""

Kind = Literal["in", "out", "note"]

PROBLEM_KINDS = (
    "bad_json",
    "truncated",
    "unknown_type",
    "missing_index",
    "duplicate_terminal",
    "sequence_gap",
    "orphan_call",
    "orphan_output",
    "id_unstable",
    "surrogate",
    "nan",
    "not_object",
    "too_deep",
    "number",
    "odd_field",
    "local",
    "encoding",
    "unknown_kind",
    "skipped",
    "unreadable",
    "missing_package",
    "newer",
    "same_trace",
    "failed",
)
"""Words for what was odd; ``local`` is something on this machine, such as a full disk.

Those after it are about files: characters that are no UTF-8, a kind of file that is not known,
traffic of another service that was left out, a file that cannot be opened, a package that is not
installed, a format of a newer version, a second file of one trace, and a request of a batch that
failed.
"""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line of a trace file: what the entries below it belong to.

    Attributes
    ----------
    steer_nb : int
        Version of the file format, `SCHEMA`.
    trace_id : str
        32 hex digits, new for each session.
    started_at : float or None
        Wall time of the start in UTC seconds since 1970; None where a recording has none.
    source : str
        ``live``, or the kind of recording it was read from.
    dialect : str
        Which service's messages these are: ``responses``, ``letta``, or ``codex``.
    version : str
        The steer_nb version that wrote it.
    """

    steer_nb: int
    trace_id: str
    started_at: float | None = None
    source: str = "live"
    dialect: str = "responses"
    version: str = ""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that happened: a message in either direction, or a local note.

    Attributes
    ----------
    seq : int
        The recorder's own counter, from 0, over the whole trace.
    at : float or None
        Wall time, UTC seconds since 1970. None in recordings without receive times.
    t : float or None
        Monotonic seconds since the trace started.
    kind : {"in", "out", "note"}
        Event from the server, request to it, or local note.
    connection : int
        Which connection of the trace, from 1; 0 where there is none yet.
    raw : str or None
        The message as it travelled, verbatim (``in`` and ``out``).
    note : str or None
        The note's name (``note``).
    data : dict or None
        A note's fields; for messages, what is known locally: ``key`` (``out``), ``lane`` (also for
        ``in``, in recordings whose messages name none), ``repeated`` and ``continues`` (how many
        items of a request's input repeat a conversation, and whose it is), ``custom_id`` and
        ``request_id`` (what a batch calls a request, and the service); what Letta's have besides,
        `steer_nb.ledger.letta` says. Recordings of other kinds have ``as``: the events of the
        Responses API that say what `raw` says in its own words, and ``type``, what `raw` calls
        itself.
    """

    seq: int
    at: float | None
    t: float | None
    kind: Kind
    connection: int = 0
    raw: str | None = None
    note: str | None = None
    data: dict[str, Any] | None = None


class Problem(msgspec.Struct, frozen=True):
    """Something odd that was kept, not hidden: one row of the `problems` frame.

    Attributes
    ----------
    kind : str
        A word of `PROBLEM_KINDS`.
    detail : str
        What was seen.
    seq : int or None
        The trace entry it was seen in.
    line : int or None
        The line of the file, from 1; in a cassette or a HAR file the number of the entry, which
        the detail names.
    file : str or None
        The file; None for what was seen in a trace of our own.
    """

    kind: str
    detail: str
    seq: int | None = None
    line: int | None = None
    file: str | None = None
