"""What to print where something does not come about: where everything stands that waits."""

from __future__ import annotations

import asyncio
import io

__all__ = ["where_tasks_stand"]


def where_tasks_stand(loop: asyncio.AbstractEventLoop | None = None) -> str:
    """The stack of each task of a loop, in its thread; of the running one by default."""
    stacks = io.StringIO()
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=stacks)
    return stacks.getvalue()
