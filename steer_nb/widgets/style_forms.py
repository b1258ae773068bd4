"""The look of forms: what is filled."""

from __future__ import annotations

from typing import Final

__all__ = ["FORMS"]

FORMS: Final = """
.steer-nb.snb-widget,.snb-forms{overflow:visible}
.snb-forms{gap:12px}
.steer-nb .snb-static:has(>.widget-html-content:empty){display:none}
.steer-nb.snb-form{border:1px solid var(--snb-line);border-radius:8px;background:var(--snb-bg);
overflow:hidden;margin:2px 0}
.steer-nb .snb-static,.steer-nb .snb-static .widget-html-content{margin:0;line-height:1.5;
font-size:14px;height:auto;overflow-wrap:anywhere;color:var(--snb-ink)}
.steer-nb .snb-row{gap:8px;align-items:center;margin-top:6px;overflow:visible}
.steer-nb .snb-row>*{margin:0}
.steer-nb .snb-options{margin-top:6px;font-size:12px}
.steer-nb .snb-outcome{gap:4px;overflow:visible}.steer-nb .snb-outcome>*{margin:0}
.steer-nb .snb-status{min-height:0}
.steer-nb .snb-form>.snb-status,.steer-nb.snb-form>.snb-status,.steer-nb.snb-form>.snb-message{
padding:0 12px}
.steer-nb.snb-form>.snb-status:has(div){padding:6px 12px}
.steer-nb .snb-foot{padding:8px 12px;background:var(--snb-bg2);margin:0}
.steer-nb .widget-text input,.steer-nb .widget-textarea textarea,.steer-nb .widget-dropdown select,
.steer-nb .widget-select select,.steer-nb .widget-inttext input{color:var(--snb-ink);
background-color:var(--snb-bg);border:1px solid var(--snb-line);border-radius:6px;padding:5px 8px;
font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);height:auto}
.steer-nb .snb-named :is(input,textarea,select):focus-visible{
outline:2px solid var(--snb-steer)!important;outline-offset:1px}
.steer-nb .snb-named{position:relative}
.steer-nb .snb-named>.widget-label{position:absolute;clip-path:inset(50%);width:1px;height:1px;
min-width:0;margin:0;padding:0;overflow:hidden;white-space:nowrap}
.steer-nb .snb-mono textarea{font:12.5px/1.5 var(--snb-mono);min-height:44px}
.steer-nb .widget-dropdown,.steer-nb .widget-text,.steer-nb .widget-textarea{height:auto}
.steer-nb .snb-button.widget-button,.steer-nb .snb-button.jupyter-button,
.steer-nb .snb-button .widget-button,
.steer-nb .snb-button.widget-toggle-button{
font:600 14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);border:1px solid var(--snb-line);
background:var(--snb-bg2);color:var(--snb-ink);border-radius:6px;padding:4px 12px;height:auto;
box-shadow:none;width:auto;flex:none}
.steer-nb .snb-press{margin:0;padding:0;width:auto;height:auto;overflow:visible;
color:var(--snb-ink);font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}
.steer-nb .snb-press .snb-line{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:center}
.steer-nb .snb-press button{font:inherit;font-weight:600;border:1px solid var(--snb-line);
background:var(--snb-bg2);color:var(--snb-ink);border-radius:6px;padding:4px 12px;margin:0;
flex:none;max-width:100%;overflow-wrap:anywhere;cursor:pointer;user-select:none}
.steer-nb .snb-foot .snb-press button{background:var(--snb-bg)}
.steer-nb .snb-press button[aria-pressed=true]{box-shadow:inset 0 0 0 1px var(--snb-steer)}
.steer-nb .snb-press button.snb-go{background:var(--snb-steer);border-color:var(--snb-steer);
color:var(--snb-on)}
.steer-nb .snb-press button[aria-disabled=true]{opacity:.5;cursor:default}
.steer-nb .snb-press button:focus-visible{outline:2px solid var(--snb-steer);outline-offset:1px}
.steer-nb .snb-foot .snb-press .snb-hint{flex:1 1 9em;min-width:0}
.steer-nb .snb-press .snb-hint:empty{display:none}
.steer-nb .snb-press .snb-said{margin:4px 0 0;font-size:12px;line-height:1.5;color:var(--snb-soft);
overflow-wrap:anywhere}
.steer-nb .snb-press .snb-said:empty{margin:0}
.steer-nb .snb-row>.snb-runs,.steer-nb .snb-decide-box .snb-row>:has(>.snb-press){flex:none;
max-width:min(16em,100%)}
.steer-nb .widget-button:disabled,.steer-nb .widget-toggle-button:disabled{opacity:.5}
.steer-nb .widget-button:focus-visible,.steer-nb .widget-toggle-button:focus-visible{
outline:2px solid var(--snb-steer);outline-offset:1px}
.steer-nb.steer-nb pre.snb-call{font:12.5px/1.5 var(--snb-mono);background:var(--snb-bg2);
color:var(--snb-ink);border:1px solid var(--snb-line);padding:6px 8px;margin:4px 0 8px;
white-space:pre-wrap}
.steer-nb.steer-nb pre.snb-call.snb-out{background:transparent;border-style:dashed}
.steer-nb.steer-nb pre.snb-call.snb-diff{background:var(--snb-bg)}
.steer-nb .snb-diff ins{color:var(--snb-run)}.steer-nb .snb-diff del{color:var(--snb-fail)}
.steer-nb.steer-nb .snb-args{border-collapse:collapse;border:1px solid var(--snb-line);margin:4px 0;
width:100%;table-layout:auto;font:12.5px/1.5 var(--snb-mono);color:var(--snb-ink)}
.steer-nb.steer-nb .snb-args thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;
overflow:hidden}
.steer-nb.steer-nb .snb-args tbody tr{background:var(--snb-bg2);border:0}
.steer-nb.steer-nb .snb-args tbody tr+tr{border-top:1px solid var(--snb-line)}
.steer-nb.steer-nb .snb-args tbody>tr>*{text-align:left;vertical-align:top;padding:3px 8px;border:0;
max-width:none;overflow-wrap:anywhere;white-space:normal}
.steer-nb.steer-nb .snb-args tbody th{font-weight:400;color:var(--snb-soft);width:1%;
min-width:8ch;white-space:nowrap}
.steer-nb.steer-nb .snb-args tbody th.snb-long{white-space:normal;width:30%;
min-width:12ch}
.steer-nb.steer-nb .snb-args td pre{font:inherit;color:inherit;background:none;margin:0;padding:0;
border:0;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;max-height:24em;
overflow-y:auto}
.steer-nb details.snb-fold{margin:2px 0 4px;font-size:12px}
.steer-nb .snb-fold>summary{color:var(--snb-soft)}
.steer-nb .snb-row.snb-wrap,.steer-nb .snb-row.snb-options{flex-wrap:wrap}
.steer-nb .snb-wrap>.widget-textarea,.steer-nb .snb-wrap>.snb-static{min-width:180px!important}
.steer-nb .snb-tick{align-items:baseline;gap:0 8px;margin-top:4px}
.steer-nb .snb-streams{align-items:flex-start}
.steer-nb .snb-streams>.snb-stream{flex:1 1 0;min-width:120px;overflow:visible}
.steer-nb .snb-stream>.widget-textarea{width:auto;margin:0}
.steer-nb .snb-command{margin-top:8px;overflow:visible}
.steer-nb .snb-command .snb-row{margin-top:0}
.steer-nb .snb-command pre.snb-call{margin-bottom:4px}
.steer-nb .snb-given{align-items:flex-end}
.steer-nb .snb-check{font-size:13px}
.steer-nb .snb-choice{height:auto;margin:0}
.steer-nb .snb-choice>.widget-label{display:none}
.steer-nb .snb-choice .widget-radio-box{flex-flow:row wrap;gap:2px 14px;margin:0!important;
padding:0}
.steer-nb .snb-choice .widget-radio-box label,.steer-nb .widget-checkbox .widget-label-basic{
display:flex;align-items:center;gap:6px;width:auto;height:auto;margin:0;padding:2px 0;
color:var(--snb-ink);font-size:13px;line-height:1.5;cursor:pointer}
.steer-nb .snb-options .snb-choice .widget-radio-box label,
.steer-nb .snb-options .widget-checkbox .widget-label-basic{font-size:12px}
.steer-nb .widget-radio-box input,.steer-nb .widget-checkbox input[type="checkbox"]{margin:0;
position:static;flex:none;accent-color:var(--snb-steer)}
.steer-nb .snb-choice .widget-radio-box label:has(input){flex-direction:row-reverse}
.steer-nb .widget-checkbox{width:auto;height:auto;margin:0}
.steer-nb .widget-dropdown select{appearance:none;padding-right:26px;background-repeat:no-repeat;
background-image:linear-gradient(45deg,transparent 50%,var(--snb-soft) 50%),
linear-gradient(135deg,var(--snb-soft) 50%,transparent 50%);background-size:5px 5px;
background-position:right 13px center,right 8px center}
.steer-nb .snb-pick{max-width:15em}
.steer-nb .snb-pick select{font-size:13px;padding-top:3px;padding-bottom:3px}
.steer-nb .snb-upload.widget-upload{font-size:0;border:1px solid var(--snb-line)}
.steer-nb .snb-upload.widget-upload>i{font-size:13px;margin-right:6px}
.steer-nb .snb-upload.widget-upload::after{font-size:14px;content:"Upload";content:"Upload"/""}
.steer-nb .snb-gone{margin:6px 2px;color:var(--snb-fail);font-size:12px}
.steer-nb .snb-gone code{font:inherit;font-family:var(--snb-mono);background:none;color:inherit}
.steer-nb.snb-widget.snb-form.jupyter-widgets-disconnected:not(.snb-say):after{
content:"This belongs to a kernel that has ended. To go on: %steer recover, then %steer pending."}
.jp-OutputArea-child:has(.snb-kept)+.jp-OutputArea-child:not(:has(.snb-forms)):has(
>:is(.jupyter-widgets,.lm-Panel)){display:none}
.steer-nb .snb-shot{max-height:160px;max-width:100%;border:1px solid var(--snb-line);
border-radius:6px;margin-top:6px}
"""
