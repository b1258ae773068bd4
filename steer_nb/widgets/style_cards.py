"""The look of cards and of the board: what is read."""

from __future__ import annotations

from typing import Final

__all__ = ["CARDS", "SPIN_S"]

SPIN_S: Final = 1.2
"""One round of the progress sign, in seconds."""

_CARDS: Final = f"""
.steer-nb .snb-card{{border:1px solid var(--snb-line);border-radius:8px;overflow:hidden;
background:var(--snb-bg)}}
.steer-nb:not(.snb-part):not(.snb-widget)>.snb-card{{margin:4px 0}}
.steer-nb.snb-part>.snb-card{{border-radius:0;border-top:0;border-bottom:0}}
.steer-nb.snb-top>.snb-card{{border-top:1px solid var(--snb-line);border-radius:8px 8px 0 0;
margin-top:4px}}
.jp-RenderedHTMLCommon>.steer-nb.snb-part{{margin-bottom:0}}
.steer-nb.snb-top .snb-bar{{margin-bottom:-1px}}
.steer-nb.snb-end>.snb-card{{border-bottom:1px solid var(--snb-line);border-radius:0 0 8px 8px;
margin-bottom:4px;min-height:8px}}
.jp-OutputArea-child:has(+.jp-OutputArea-child .snb-say) .steer-nb.snb-end>.snb-card{{
margin-bottom:0;min-height:1px}}
.steer-nb .snb-scroll{{display:flex;flex-direction:column-reverse;max-height:40em;overflow-y:auto;
contain:content}}
.steer-nb .snb-scroll.snb-live{{max-height:24em}}
.steer-nb .snb-scroll>.snb-body{{flex:none;min-width:0}}
.steer-nb .snb-scroll+.snb-scroll>.snb-body,.steer-nb.snb-end .snb-live>.snb-body{{padding-top:0}}
.steer-nb.snb-top:focus-visible,.steer-nb .snb-scroll:focus-visible{{
outline:2px solid var(--snb-steer);outline-offset:-2px}}
.steer-nb .snb-head{{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline;padding:8px 12px;
background:var(--snb-bg2);border-bottom:1px solid var(--snb-line)}}
.steer-nb .snb-name{{font-weight:600;overflow-wrap:anywhere;min-width:0}}
.steer-nb .snb-chip{{font-size:12px;font-weight:600;overflow-wrap:anywhere;min-width:0}}
.steer-nb .snb-soft{{color:var(--snb-soft)}}
.steer-nb .snb-note{{color:var(--snb-soft);font-size:12px}}
.steer-nb .snb-call+.snb-note{{margin-top:-4px}}
.steer-nb .snb-agent{{color:var(--snb-soft);font-size:12px;font-weight:600;margin-bottom:2px}}
.steer-nb .snb-run{{color:var(--snb-run)}}.steer-nb .snb-wait{{color:var(--snb-wait)}}
.steer-nb .snb-fail{{color:var(--snb-fail)}}.steer-nb .snb-idle{{color:var(--snb-soft)}}
.steer-nb .snb-meta{{margin-left:auto;color:var(--snb-soft);font-size:12px;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere;min-width:0}}
.steer-nb .snb-bar{{height:2px;margin-top:-1px;overflow:hidden;background:transparent}}
.steer-nb .snb-bar i{{display:block;height:2px;width:28%;border-radius:2px;
background:var(--snb-run);animation:snb-go {SPIN_S}s ease-in-out infinite alternate}}
@keyframes snb-go{{from{{margin-left:0}}to{{margin-left:72%}}}}
@media (prefers-reduced-motion:reduce){{
.steer-nb .snb-bar i{{animation:none;width:100%;opacity:.5}}}}
.steer-nb .snb-body{{padding:10px 12px;overflow-wrap:anywhere}}
.steer-nb .snb-body p{{margin:0 0 8px;white-space:pre-wrap}}
.steer-nb .snb-body>:first-child{{margin-top:0}}
.steer-nb .snb-body>:last-child,.steer-nb .snb-body>:last-child>:last-child{{margin-bottom:0}}
.steer-nb details{{color:var(--snb-soft);margin:0 0 8px}}
.steer-nb summary{{cursor:pointer;display:list-item}}
.steer-nb details>div{{padding:4px 0 0 14px}}
.steer-nb .snb-steer,.steer-nb .snb-ask{{border-left:3px solid var(--snb-steer);padding:2px 10px;
margin:8px 0;white-space:pre-wrap}}
.steer-nb .snb-ask{{border-left-color:var(--snb-line)}}
.steer-nb .snb-steer b{{color:var(--snb-steer);font-weight:600}}
.steer-nb .snb-ask b{{color:var(--snb-soft);font-weight:600}}
.steer-nb .snb-trail{{font-size:12px;color:var(--snb-soft);font-variant-numeric:tabular-nums;
white-space:normal}}
.steer-nb .snb-trail .snb-done{{color:var(--snb-ink)}}
.steer-nb .snb-trail .snb-now{{color:var(--snb-steer);font-weight:600}}
.steer-nb .snb-trail .snb-bad{{color:var(--snb-fail);font-weight:600}}
.steer-nb .snb-calltop{{margin:0}}
.steer-nb .snb-body>*+.snb-item>.snb-calltop:first-child{{margin-top:8px}}
.steer-nb .snb-calltop b{{font-weight:600}}
.steer-nb .snb-calltop span{{color:var(--snb-soft);font-size:12px;margin-left:8px}}
.steer-nb .snb-call{{font:12.5px/1.5 var(--snb-mono);background:var(--snb-bg2);color:var(--snb-ink);
border:1px solid var(--snb-line);border-radius:6px;padding:6px 8px;margin:4px 0 8px;
white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;max-height:24em;overflow-y:auto}}
.steer-nb .snb-call.snb-out{{background:transparent;border-style:dashed}}
.steer-nb .snb-call .snb-k{{color:var(--snb-soft)}}
.steer-nb .snb-call ins,.steer-nb .snb-call del{{text-decoration:none;display:block}}
.steer-nb .snb-call ins{{background:var(--snb-add)}}
.steer-nb .snb-call del{{background:var(--snb-del)}}
.steer-nb .snb-refusal,.steer-nb .snb-error{{border-left:3px solid var(--snb-fail);padding:2px 10px;
margin:8px 0;white-space:pre-wrap}}
.steer-nb .snb-refusal b,.steer-nb .snb-error b{{color:var(--snb-fail);font-weight:600}}
.steer-nb .snb-need{{padding:8px 12px;border-top:1px solid var(--snb-line);overflow-wrap:anywhere}}
.steer-nb .snb-need code,.steer-nb .snb-hint code{{font:12.5px var(--snb-mono);
background:var(--snb-bg2);color:inherit;padding:1px 5px;border-radius:4px;display:inline-block;
max-width:100%}}
.steer-nb .snb-need+.snb-need{{border-top-style:dashed}}
.steer-nb .snb-decide p{{margin:0 0 4px;overflow-wrap:anywhere}}
.steer-nb .snb-decide p:last-child{{margin-bottom:0}}
.steer-nb .snb-way{{display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline;font-size:13px}}
.steer-nb .snb-way b{{font-weight:600;min-width:9ch}}
.steer-nb .snb-way>span:nth-child(2){{flex:1 1 24em;min-width:0}}
.steer-nb .snb-hint{{color:var(--snb-soft);font-size:12px}}
.steer-nb .snb-ok{{color:var(--snb-run);font-size:12px}}.steer-nb .snb-bad{{color:var(--snb-fail);
font-size:12px}}
.steer-nb .snb-stub{{padding:10px 12px;border-bottom:1px solid var(--snb-line)}}
.steer-nb .snb-stub:last-child{{border-bottom:0}}
.steer-nb .snb-card:has(>.snb-board){{container-type:inline-size;overflow-x:auto}}
.steer-nb.steer-nb .snb-board{{border-collapse:collapse;width:100%;margin:0;border:0;
table-layout:auto;font-size:14px;font-variant-numeric:tabular-nums;color:var(--snb-ink)}}
.steer-nb.steer-nb .snb-board tr{{background:transparent}}
.steer-nb.steer-nb .snb-board td,.steer-nb.steer-nb .snb-board th{{text-align:left;padding:5px 12px;
border:0;border-bottom:1px solid var(--snb-line);vertical-align:baseline;overflow-wrap:anywhere;
white-space:normal;max-width:none}}
.steer-nb.steer-nb .snb-board thead th{{font-size:12px;color:var(--snb-soft);font-weight:600;
white-space:nowrap}}
.steer-nb.steer-nb .snb-board tbody th{{font-weight:400;min-width:12ch}}
.steer-nb .snb-two{{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;
overflow:hidden}}
.steer-nb.steer-nb .snb-board td:nth-child(3){{min-width:16ch}}
.steer-nb.steer-nb .snb-board td:nth-child(4){{overflow-wrap:break-word}}
.steer-nb .snb-board .snb-chip{{white-space:nowrap}}
.steer-nb.steer-nb .snb-board td.snb-num{{white-space:nowrap}}
.steer-nb.steer-nb .snb-board tbody tr:last-child>*{{border-bottom:0}}
"""

# Where six columns have no room, each lane is a paragraph: its name and state, what goes on, and
# below it in small print what there is to count.
_STACKED: Final = """
@container (max-width:720px){
.steer-nb.steer-nb .snb-board,.steer-nb.steer-nb .snb-board tbody{display:block}
.steer-nb.steer-nb .snb-board thead{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%)}
.steer-nb.steer-nb .snb-board tbody tr{display:flex;flex-wrap:wrap;gap:0 12px;
align-items:baseline;padding:7px 12px;border-bottom:1px solid var(--snb-line)}
.steer-nb.steer-nb .snb-board tbody tr:last-child{border-bottom:0}
.steer-nb.steer-nb .snb-board tbody tr>*{padding:0;border:0;min-width:0}
.steer-nb.steer-nb .snb-board tbody th{font-weight:600;flex:0 1 auto;max-width:100%}
.steer-nb.steer-nb .snb-board tbody td:nth-child(2){margin-inline-start:auto}
.steer-nb.steer-nb .snb-board tbody td:nth-child(3){flex:1 0 100%;max-width:100%}
.steer-nb.steer-nb .snb-board td[data-snb-title]{font-size:12px;color:var(--snb-soft)}
.steer-nb.steer-nb .snb-board td[data-snb-title]::before{content:attr(data-snb-title) " "}
.steer-nb.steer-nb .snb-board td.snb-none{display:none}}
"""

CARDS: Final = _CARDS + _STACKED
