"""The look of Markdown in a card: quieter than a notebook's own, whose text is the person's."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = """
.steer-nb.steer-nb .snb-md>*{margin:0 0 8px}.steer-nb.steer-nb .snb-md>:last-child{margin-bottom:0}
.steer-nb .snb-md{margin:0 0 8px}
.steer-nb .snb-md p,.steer-nb .snb-md li{white-space:pre-wrap}
.steer-nb.steer-nb .snb-md p{margin:0 0 8px}
.steer-nb.steer-nb .snb-md li>p:last-child,.steer-nb .snb-md blockquote>p:last-child{margin:0}
.steer-nb .snb-h{font-weight:600;font-size:14px;line-height:1.4}
.steer-nb .snb-h1{font-size:18px}.steer-nb .snb-h2{font-size:16px}.steer-nb .snb-h3{font-size:15px}
.steer-nb.steer-nb .snb-md>*+.snb-h{margin-top:14px}
.steer-nb.steer-nb .snb-md ul,.steer-nb.steer-nb .snb-md ol{margin:0 0 8px;padding-left:1.8em}
.steer-nb.steer-nb .snb-md li>ul,.steer-nb.steer-nb .snb-md li>ol{margin:0}
.steer-nb.steer-nb .snb-md blockquote{margin:0 0 8px;padding:0 0 0 10px;color:var(--snb-soft);
border-left:3px solid var(--snb-line)}
.steer-nb.steer-nb .snb-md hr{border:0;border-top:1px solid var(--snb-line);margin:12px 0;height:0;
color:inherit;background:none}
.steer-nb.steer-nb .snb-md code{font:12.5px/1.5 var(--snb-mono);background:var(--snb-bg2);
color:inherit;padding:1px 4px;border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere}
.steer-nb.steer-nb .snb-md pre{font:12.5px/1.5 var(--snb-mono);background:var(--snb-bg2);
color:var(--snb-ink);border:1px solid var(--snb-line);border-radius:6px;padding:6px 8px;
margin:0 0 8px;white-space:pre;overflow-x:auto}
.steer-nb.steer-nb .snb-md pre code{background:none;padding:0;white-space:pre;
overflow-wrap:normal}
.steer-nb .snb-md pre .snb-k{display:block;color:var(--snb-soft);font-size:11px}
.steer-nb.steer-nb .snb-md table{border-collapse:collapse;display:block;overflow-x:auto;
width:max-content;max-width:100%;margin:0 0 8px;border:0;font-size:14px;table-layout:auto;
font-variant-numeric:tabular-nums;color:inherit}
.steer-nb.steer-nb .snb-md tr{background:transparent}
.steer-nb.steer-nb .snb-md th,.steer-nb.steer-nb .snb-md td{border:0;padding:4px 12px 4px 0;
border-bottom:1px solid var(--snb-line);text-align:start;vertical-align:baseline;
white-space:normal;overflow-wrap:break-word;max-width:40ch}
.steer-nb.steer-nb .snb-md th{font-weight:600;font-size:12px;color:var(--snb-soft)}
.steer-nb.steer-nb .snb-md a{color:var(--snb-steer);text-decoration:underline}
.steer-nb details>.snb-md{padding:4px 0 0 14px;margin:0}
"""
