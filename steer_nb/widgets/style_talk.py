"""The look of the box below a lane, and of what is to be decided there."""

from __future__ import annotations

from typing import Final

__all__ = ["TALK"]

_ENDED: Final = "This belongs to a kernel that has ended. Run its cell again."
_APART: Final = "Not connected to its kernel. Reload the page; if this stays, run the cell again."

# A card and its box are two outputs of one cell; where the front end puts them below each other,
# they are drawn as one, the box as the card's foot.
_JOINED: Final = """
.jp-OutputArea-child:has(+.jp-OutputArea-child .snb-say) .steer-nb>.snb-card{
border-bottom-left-radius:0;border-bottom-right-radius:0}
.jp-OutputArea-child:has(.steer-nb>.snb-card)+.jp-OutputArea-child .steer-nb.snb-say{
border-top:0;border-top-left-radius:0;border-top-right-radius:0;margin-top:0}
.jp-OutputArea-child:has(.steer-nb>.snb-card)+.jp-OutputArea-child>:has(>.snb-say){padding-top:0}
.jp-OutputArea-child:has(+.jp-OutputArea-child .snb-say)>.jp-RenderedHTMLCommon:has(>.steer-nb){
padding-bottom:0}
.jp-OutputArea-child:has(+.jp-OutputArea-child .snb-say)
 .jp-RenderedHTMLCommon>.steer-nb:last-child{margin-bottom:0}
"""

_BOX: Final = """
.steer-nb.snb-say{border:1px solid var(--snb-line);border-radius:8px;background:var(--snb-bg);
padding:0;margin:0 0 2px;gap:0;overflow:hidden}
.steer-nb .snb-talk{padding:8px 12px;margin:0;width:auto;height:auto;overflow:visible;
color:var(--snb-ink);font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}
.steer-nb .snb-talk .snb-line{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:flex-end}
.steer-nb .snb-talk .snb-under{align-items:center;margin-top:6px}
.steer-nb .snb-talk .snb-unseen{position:absolute;width:1px;height:1px;overflow:hidden;
clip-path:inset(50%);white-space:nowrap}
.steer-nb .snb-talk textarea,.steer-nb .snb-talk input{font:inherit;color:var(--snb-ink);
background:var(--snb-bg);border:1px solid var(--snb-line);border-radius:6px;padding:5px 8px;
margin:0;min-width:0;max-width:100%}
.steer-nb .snb-talk textarea{flex:1 1 14em;field-sizing:content;resize:vertical;min-height:33px;
max-height:min(40vh,20em);overflow-wrap:anywhere}
.steer-nb .snb-talk input{flex:1 1 10em}
.steer-nb .snb-talk ::placeholder{color:var(--snb-soft);opacity:1}
.steer-nb .snb-talk button{font:inherit;font-weight:600;border:1px solid var(--snb-line);
background:var(--snb-bg2);color:var(--snb-ink);border-radius:6px;padding:4px 12px;margin:0;
flex:none;max-width:100%;cursor:pointer}
.steer-nb .snb-talk button.snb-go{background:var(--snb-steer);border-color:var(--snb-steer);
color:var(--snb-on)}
.steer-nb .snb-talk .snb-under button{font-size:12px;font-weight:400;padding:1px 8px}
.steer-nb .snb-talk button[aria-disabled=true]{opacity:.5;cursor:default}
.steer-nb .snb-talk :is(button,textarea,input):focus-visible{outline:2px solid var(--snb-steer);
outline-offset:1px}
.steer-nb .snb-talk .snb-said{flex:1 1 12em;min-width:0;margin:0;font-size:12px;
color:var(--snb-soft);overflow-wrap:anywhere}
.steer-nb .snb-talk .snb-said.snb-bad{color:var(--snb-fail)}
.steer-nb .snb-talk .snb-said+.snb-hint{order:-1}
.steer-nb .snb-talk .snb-said:not(:empty)+.snb-hint{display:none}
.snb-say .snb-room .snb-card{border:0;margin:0}
.snb-room{border-bottom:1px solid var(--snb-line)}
.steer-nb .snb-fork{display:flex;flex-wrap:wrap;gap:6px 8px;align-items:center;margin-top:8px;
padding-top:8px;border-top:1px solid var(--snb-line)}
.steer-nb .snb-fork[hidden]{display:none}
.steer-nb .snb-fork label{font-size:12px;color:var(--snb-soft)}
"""

_DECIDE: Final = """
.steer-nb .snb-decide-box{border:0;border-bottom:1px solid var(--snb-line);
border-left:3px solid var(--snb-wait);margin:0;padding:8px 12px;gap:6px;background:var(--snb-bg);
overflow:visible}
.steer-nb .snb-decide-box .snb-row{flex-wrap:wrap;align-items:center}
.steer-nb .snb-decide-box .snb-row>.snb-static{min-width:min(16em,100%)}
.steer-nb .snb-decide-box .snb-choice{min-width:7.5em}
.steer-nb .snb-decide-box .snb-row+.snb-message-row,
.steer-nb .snb-decide-box .snb-message-row+.snb-message-row{border-top:1px solid var(--snb-line);
padding-top:6px}
"""

# ipywidgets marks each control that lost its kernel with a broken chain, and lets it be clicked.
_GONE: Final = f"""
.snb-forms.jupyter-widgets-disconnected:before,
.steer-nb.jupyter-widgets-disconnected:before,.steer-nb .jupyter-widgets-disconnected:before{{
content:none!important;display:none!important}}
.steer-nb .jupyter-widgets-disconnected :is(button,select),
.steer-nb button.jupyter-widgets-disconnected{{opacity:.5;pointer-events:none}}
.steer-nb.snb-widget.jupyter-widgets-disconnected:not(.snb-say):after{{content:"{_ENDED}";
display:block;padding:6px 12px;color:var(--snb-fail);font-size:12px}}
"""

# After a reload JupyterLab shows the words of an error where the box stood, and nothing else: the
# model is gone with its kernel. Or it is there: ipywidgets looks for a model for two seconds, and
# says for good that there is none where the kernel answers in just the last moment of them.
_LOST: Final = f"""
.jp-OutputArea-child:has(.steer-nb>.snb-card)+.jp-OutputArea-child>.jupyter-widgets:not(:has(*)){{
font-size:0}}
.jp-OutputArea-child:has(.steer-nb>.snb-card)+.jp-OutputArea-child>
.jupyter-widgets:not(:has(*)):after{{content:"{_APART}";font-size:12px;
color:var(--jp-ui-font-color2,#6a737d)}}
"""

TALK: Final = _BOX + _DECIDE + _JOINED + _GONE + _LOST
