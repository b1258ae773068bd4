"""The look of the box below a lane, and of what is to be decided there."""

from __future__ import annotations

from typing import Final

__all__ = ["TALK"]

TALK: Final = """
.steer-nb.snb-say{padding:2px 0;gap:6px}.steer-nb.snb-say>.snb-row{margin:0}
.steer-nb .snb-decide-box{border:1px solid var(--snb-line);border-left:3px solid var(--snb-wait);
border-radius:6px;padding:8px 12px;gap:6px;background:var(--snb-bg);overflow:visible}
.steer-nb .snb-decide-box .snb-row{flex-wrap:wrap;align-items:center}
.steer-nb .snb-decide-box .snb-row>.snb-static{min-width:min(16em,100%)}
.steer-nb .snb-decide-box .snb-choice{min-width:7.5em}
.steer-nb .snb-decide-box .snb-row+.snb-message-row,
.steer-nb .snb-decide-box .snb-message-row+.snb-message-row{border-top:1px solid var(--snb-line);
padding-top:6px}
"""
