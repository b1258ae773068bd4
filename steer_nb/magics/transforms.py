"""One input transformation: a question at the end of a line is text, not IPython's help.

IPython reads a line that ends with a question mark as ``help on the last word``, before any magic
sees it: ``%steer send planner Are you sure?`` would show help on `sure` and send nothing. What a
person writes to a lane goes out exactly as written, so these lines are turned into calls first;
so are those whose question stands in a comment.
"""

from __future__ import annotations

import re

__all__ = ["keep_questions"]

_TEXT = re.compile(
    r"(?P<before>\s*(?:[^\W\d]\w*\s*=\s*)?)%steer[ \t]+"
    r"(?P<line>(?:send[ \t]+\S+[ \t].*|[^#\"']*[ \t]#.*)\?)\s*$"
)


def keep_questions(lines: list[str]) -> list[str]:
    r"""Turn ``%steer send LANE …?`` and ``%steer … # …?`` into the calls that they stand for.

    Parameters
    ----------
    lines : list of str
        A cell, line feeds included. The body of a cell magic is left alone.

    Examples
    --------
    >>> keep_questions(["%steer send planner Are you sure?\n"])
    ["get_ipython().run_line_magic('steer', 'send planner Are you sure?')\n"]
    """
    if lines[:1] and lines[0].startswith("%%"):
        return lines
    if not any("%steer" in line and line.rstrip().endswith("?") for line in lines):
        return lines
    starts = _logical_starts(lines)
    return [_call(line) if number in starts else line for number, line in enumerate(lines)]


def _logical_starts(lines: list[str]) -> set[int]:
    """Find the lines where a statement begins: not those inside a text of several lines."""
    from IPython.core.inputtransformer2 import make_tokens_by_line

    return {tokens[0].start[0] - 1 for tokens in make_tokens_by_line(lines) if tokens}


def _call(line: str) -> str:
    match = _TEXT.match(line)
    if match is None:
        return line
    return f"{match['before']}get_ipython().run_line_magic('steer', {match['line']!r})\n"
