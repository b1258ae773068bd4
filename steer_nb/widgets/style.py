"""The look: one style sheet for the lane view, the board and the forms.

It travels inside each output, because a saved notebook has nothing else to draw with. All colours
come from the notebook's theme where it offers any (JupyterLab, Notebook 7, VS Code), with a
fallback in light and in dark. Every rule is scoped to ``.steer-nb``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["NO_MATH", "STYLE", "spin_delay"]

NO_MATH: Final = "tex2jax_ignore mathjax_ignore"
"""Classes that keep the notebook from typesetting ``$5 and $6`` as a formula."""

SPIN_S: Final = 1.2
"""One round of the progress sign, in seconds."""

_DARK = """--snb-run:#4cc38a;--snb-wait:#e8a33d;--snb-fail:#ff8a80;--snb-steer:#a99cff;\
--snb-on:#16181c;--snb-add:#4cc38a22;--snb-del:#ff8a8022"""

_DARK_PAGE = f"""--snb-bg:#16181c;--snb-bg2:#1f2228;--snb-line:#343941;--snb-ink:#e6e8eb;\
--snb-soft:#9aa3ad;{_DARK}"""

_CSS = f"""
.steer-nb{{--snb-bg:var(--jp-layout-color1,var(--vscode-editor-background,#fff));
--snb-bg2:var(--jp-layout-color2,var(--vscode-editorWidget-background,#f6f7f8));
--snb-line:var(--jp-border-color2,var(--vscode-widget-border,#e2e4e7));
--snb-ink:var(--jp-ui-font-color1,var(--vscode-editor-foreground,#1f2328));
--snb-soft:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,#6a737d));
--snb-run:#1a7f5a;--snb-wait:#9a5b00;--snb-fail:#b3261e;--snb-steer:#5b4bc4;--snb-on:#fff;
--snb-add:#1a7f5a1c;--snb-del:#b3261e18;
--snb-mono:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);
max-width:860px;color:var(--snb-ink);
font:14px/1.5 var(--jp-ui-font-family,system-ui,-apple-system,"Segoe UI",sans-serif)}}
@media (prefers-color-scheme:dark){{
body:not([data-jp-theme-light]):not(.vscode-light) .steer-nb{{{_DARK_PAGE}}}}}
[data-jp-theme-light="false"] .steer-nb,.vscode-dark .steer-nb{{{_DARK}}}
.jp-RenderedHTMLCommon:has(>.steer-nb){{padding-right:0}}
.steer-nb *{{box-sizing:border-box}}
.steer-nb .snb-card{{border:1px solid var(--snb-line);border-radius:8px;overflow:hidden;
background:var(--snb-bg)}}
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
.steer-nb .snb-body>:last-child{{margin-bottom:0}}
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
.steer-nb .snb-calltop{{margin:8px 0 0}}
.steer-nb .snb-calltop b{{font-weight:600}}
.steer-nb .snb-calltop span{{color:var(--snb-soft);font-size:12px;margin-left:8px}}
.steer-nb .snb-call{{font:12.5px/1.5 var(--snb-mono);background:var(--snb-bg2);color:var(--snb-ink);
border:1px solid var(--snb-line);border-radius:6px;padding:6px 8px;margin:4px 0 8px;
white-space:pre-wrap;overflow-wrap:anywhere;max-height:24em;overflow-y:auto}}
.steer-nb .snb-call.snb-out{{background:transparent;border-style:dashed}}
.steer-nb .snb-call .snb-k{{color:var(--snb-soft)}}
.steer-nb .snb-call ins,.steer-nb .snb-call del{{text-decoration:none;display:block}}
.steer-nb .snb-call ins{{background:var(--snb-add)}}
.steer-nb .snb-call del{{background:var(--snb-del)}}
.steer-nb .snb-refusal,.steer-nb .snb-error{{border-left:3px solid var(--snb-fail);padding:2px 10px;
margin:8px 0;white-space:pre-wrap}}
.steer-nb .snb-refusal b,.steer-nb .snb-error b{{color:var(--snb-fail);font-weight:600}}
.steer-nb .snb-need{{padding:8px 12px;border-top:1px solid var(--snb-line)}}
.steer-nb .snb-need code,.steer-nb .snb-hint code{{font:12.5px var(--snb-mono);
background:var(--snb-bg2);color:inherit;padding:1px 5px;border-radius:4px;white-space:nowrap}}
.steer-nb .snb-need+.snb-need{{border-top-style:dashed}}
.steer-nb .snb-decide p{{margin:0 0 4px;overflow-wrap:anywhere}}
.steer-nb .snb-decide p:last-child{{margin-bottom:0}}
.steer-nb .snb-way{{display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline}}
.steer-nb .snb-way{{font-size:13px}}
.steer-nb .snb-way b{{font-weight:600;min-width:9ch}}
.steer-nb .snb-way>span:nth-child(2){{flex:1 1 24em;min-width:0}}
.steer-nb .snb-hint{{color:var(--snb-soft);font-size:12px}}
.steer-nb .snb-ok{{color:var(--snb-run);font-size:12px}}.steer-nb .snb-bad{{color:var(--snb-fail);
font-size:12px}}
.steer-nb .snb-stub{{padding:10px 12px;border-bottom:1px solid var(--snb-line)}}
.steer-nb .snb-stub:last-child{{border-bottom:0}}
.steer-nb .snb-card:has(>.snb-board){{overflow-x:auto}}
.steer-nb.steer-nb .snb-board{{border-collapse:collapse;width:100%;margin:0;border:0;
table-layout:auto;font-size:14px;font-variant-numeric:tabular-nums;color:var(--snb-ink)}}
.steer-nb.steer-nb .snb-board tr{{background:transparent}}
.steer-nb.steer-nb .snb-board td,.steer-nb.steer-nb .snb-board th{{text-align:left;padding:5px 12px;
border:0;border-bottom:1px solid var(--snb-line);vertical-align:baseline;overflow-wrap:anywhere;
white-space:normal;max-width:none}}
.steer-nb.steer-nb .snb-board thead th{{font-size:12px;color:var(--snb-soft);font-weight:600;
white-space:nowrap}}
.steer-nb.steer-nb .snb-board tbody th{{font-weight:400;min-width:10ch}}
.steer-nb .snb-board .snb-chip{{white-space:nowrap}}
.steer-nb.steer-nb .snb-board td.snb-num{{white-space:nowrap}}
.steer-nb.steer-nb .snb-board tbody tr:last-child>*{{border-bottom:0}}
.steer-nb.snb-widget,.snb-forms{{overflow:visible}}
.snb-forms{{gap:12px}}
.steer-nb .snb-static:has(>.widget-html-content:empty){{display:none}}
.steer-nb.snb-form{{border:1px solid var(--snb-line);border-radius:8px;background:var(--snb-bg);
overflow:hidden;margin:2px 0}}
.steer-nb .snb-static,.steer-nb .snb-static .widget-html-content{{margin:0;line-height:1.5;
font-size:14px;height:auto;overflow-wrap:anywhere;color:var(--snb-ink)}}
.steer-nb .snb-row{{gap:8px;align-items:center;margin-top:6px;overflow:visible}}
.steer-nb .snb-row>*{{margin:0}}
.steer-nb .snb-options{{margin-top:4px;font-size:12px}}
.steer-nb .snb-outcome{{gap:4px;overflow:visible}}.steer-nb .snb-outcome>*{{margin:0}}
.steer-nb .snb-status{{min-height:0}}
.steer-nb .snb-form>.snb-status,.steer-nb.snb-form>.snb-status,.steer-nb.snb-form>.snb-message{{
padding:0 12px}}
.steer-nb.snb-form>.snb-status:has(div){{padding:6px 12px}}
.steer-nb .snb-foot{{padding:8px 12px;background:var(--snb-bg2);margin:0;flex-wrap:wrap}}
.steer-nb .snb-foot>.snb-why{{min-width:9em!important}}
.steer-nb.snb-say{{padding:2px 0;gap:6px}}.steer-nb.snb-say>.snb-row{{margin:0}}
.steer-nb .snb-decide-box{{border:1px solid var(--snb-line);border-left:3px solid var(--snb-wait);
border-radius:6px;padding:8px 12px;gap:6px;background:var(--snb-bg);overflow:visible}}
.steer-nb .snb-decide-box .snb-row{{flex-wrap:wrap;align-items:center}}
.steer-nb .snb-decide-box .snb-row>.snb-static{{min-width:min(16em,100%)}}
.steer-nb .snb-decide-box .snb-choice{{min-width:7.5em}}
.steer-nb .snb-decide-box .snb-row+.snb-message-row,
.steer-nb .snb-decide-box .snb-message-row+.snb-message-row{{border-top:1px solid var(--snb-line);
padding-top:6px}}
.steer-nb .widget-text input,.steer-nb .widget-textarea textarea,.steer-nb .widget-dropdown select,
.steer-nb .widget-select select,.steer-nb .widget-inttext input{{color:var(--snb-ink);
background-color:var(--snb-bg);border:1px solid var(--snb-line);border-radius:6px;padding:5px 8px;
font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);height:auto}}
.steer-nb .snb-mono textarea{{font:12.5px/1.5 var(--snb-mono);min-height:44px}}
.steer-nb .widget-dropdown,.steer-nb .widget-text,.steer-nb .widget-textarea{{height:auto}}
.steer-nb .snb-button.widget-button,.steer-nb .snb-button.jupyter-button,
.steer-nb .snb-button .widget-button,
.steer-nb .snb-button.widget-toggle-button,.steer-nb .snb-toggle .widget-toggle-button{{
font:600 14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);border:1px solid var(--snb-line);
background:var(--snb-bg2);color:var(--snb-ink);border-radius:6px;padding:4px 12px;height:auto;
box-shadow:none;width:auto;flex:none}}
.steer-nb .snb-foot .snb-button{{background:var(--snb-bg)}}
.steer-nb .snb-toggle .widget-toggle-button{{margin:0 8px 0 0;font-size:13px}}
.steer-nb .snb-toggle .widget-toggle-button.mod-active{{background:var(--snb-steer);
border-color:var(--snb-steer);color:var(--snb-on)}}
.steer-nb .snb-options .widget-toggle-button{{font-size:12px;padding:0 8px;font-weight:400}}
.steer-nb .snb-options .snb-toggle .widget-toggle-button.mod-active{{background:var(--snb-bg);
border-color:var(--snb-steer);color:var(--snb-steer);font-weight:600}}
.steer-nb .snb-button.snb-go.widget-button{{background:var(--snb-steer);
border-color:var(--snb-steer);color:var(--snb-on)}}
.steer-nb .widget-button:disabled,.steer-nb .widget-toggle-button:disabled{{opacity:.5}}
.steer-nb .widget-button:focus-visible,.steer-nb .widget-toggle-button:focus-visible{{
outline:2px solid var(--snb-steer);outline-offset:1px}}
.steer-nb .snb-shot{{max-height:160px;max-width:100%;border:1px solid var(--snb-line);
border-radius:6px;margin-top:6px}}
"""

STYLE: Final = "<style>" + _CSS.replace("\n", "") + "</style>"
"""The style sheet as an element, ready to be put in front of any of our HTML."""


def spin_delay(now: float) -> str:
    """Inline style that keeps the progress sign moving evenly across repaints.

    Each paint replaces the element, which would restart its animation; a negative delay that
    follows the clock puts it where it would have been.

    Examples
    --------
    >>> spin_delay(1.5)
    'animation-delay:-1.50s'
    """
    return f"animation-delay:-{now % (2 * SPIN_S):.2f}s"
