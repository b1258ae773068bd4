"""Reading recordings back from files: ours, and what people already have.

One module for each kind: `journals`, `rollouts`, `jsonlines`, `bodies`, `sse`, `cassettes`, `har`,
and `documents` for what is one JSON value. Each says whether it knows a file (`kinds` has them in
order), and reads it into entries and problems. HTTP, wherever it was recorded, goes through
`exchanges`; Letta's words through `letta`.
"""

from __future__ import annotations

from steer_nb.trace.readers.loading import load, load_trace

__all__ = ["load", "load_trace"]
