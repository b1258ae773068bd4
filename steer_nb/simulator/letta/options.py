"""What a Letta simulator can be told to do differently, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steer_nb.simulator.options import OptionSet, option

__all__ = ["LettaOptions"]


@dataclass(frozen=True, kw_only=True)
class LettaOptions(OptionSet):
    """Settings of one Letta simulator; each default is what was measured on a server 0.16.8.

    Examples
    --------
    >>> LettaOptions().keepalive_s
    20.0
    >>> LettaOptions.of({"locks": "none"}).locks
    'none'
    """

    # Streams (4)
    keepalive_s: float = option(20.0, "Real seconds of silence after which a ping is sent.")
    silence_limit_s: float = option(
        1800.0, "Real seconds of nothing but pings after which a stream is ended."
    )
    flush_s: float = option(
        0.5, "Seconds, at speed 1, for which a background run gathers frames before it stores them."
    )
    flush_frames: int = option(50, "So many gathered frames are stored at once.")
    stream_entries: int = option(
        10_000, "So many frames of a background run are kept; what is older cannot be read again."
    )
    resume_past_end: Literal["hang", "end"] = option(
        "hang", "A resume behind the last frame: hangs for good, or ends at once."
    )

    # Idempotency and locks (5)
    locks: Literal["as_measured", "none", "everywhere"] = option(
        "as_measured",
        "Who is kept out while a run goes on: streams of a conversation, and the default one when "
        "it is addressed as a conversation; nobody; or everybody.",
    )
    lock_ttl_s: float = option(300.0, "Seconds after which a lock is given up, by the clock.")
    stream_ttl_s: float = option(
        10_800.0, "Seconds for which a background run can be resumed, by the clock."
    )

    # Sends
    sdk_header: bool = option(
        True, "Whether streaming=true of an agent's messages asks for a client of version 1."
    )
    models: tuple[str, ...] = option(
        (), "Handles of the models that override_model can name; none here: every one."
    )
    context_window: int = option(
        128_000, "Tokens that an agent's model takes; behind nine tenths of them it is compacted."
    )
    max_body_bytes: int = option(32 * 2**20, "Largest body that is read.")

    # Time
    first_token_s: float = option(0.4, "Seconds, at speed 1, that the model thinks first.")
    token_s: float = option(0.04, "Seconds, at speed 1, for each token.")
