"""What to print where something does not come about: where everything stands that waits."""

from __future__ import annotations

import array
import asyncio
import io
import re
import sys
from pathlib import Path

__all__ = ["where_sockets_stand", "where_tasks_stand"]


def where_tasks_stand(loop: asyncio.AbstractEventLoop | None = None) -> str:
    """The stack of each task of a loop, in its thread; of the running one by default."""
    stacks = io.StringIO()
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=stacks)
    return stacks.getvalue()


def where_sockets_stand(loop: asyncio.AbstractEventLoop) -> str:
    """What a selector loop listens to, what the kernel knows of that, and what is unread."""
    selector = getattr(loop, "_selector", None)
    if selector is None or not sys.platform.startswith("linux"):
        return ""
    told = []
    known = Path(f"/proc/self/fdinfo/{selector.fileno()}").read_text()
    watched = {int(fd) for fd in re.findall(r"^tfd: +(\d+)", known, re.MULTILINE)}
    for fd, key in dict(selector.get_map()).items():
        seen = "" if fd in watched else ", BUT THE KERNEL DOES NOT WATCH IT"
        told.append(f"  {fd} {_what(fd)}: events {key.events}, {_unread(fd)} unread{seen}")
    return "\n".join(told)


def _what(fd: int) -> str:
    try:
        return str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError as error:
        return repr(error)


def _unread(fd: int) -> str:
    import fcntl
    import termios

    count = array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, count)
    except OSError:  # one that listens has none
        return "nothing"
    return f"{count[0]} bytes"
