"""The look: one style sheet for the lane view, the board and the forms.

It travels inside the outputs, because a saved notebook has nothing else to draw with: 20 KB, once
for each card (in one of its three pictures), board and form, since each may be all that is kept of
its cell, or be shown alone. All colours
come from the notebook's theme where it offers any (JupyterLab, Notebook 7, VS Code), with a
fallback in light and in dark. Every rule is scoped to ``.steer-nb``. The palette stands here; each
room of the front end has a sheet of its own beside it.
"""

from __future__ import annotations

from typing import Final

from steer_nb.widgets.style_cards import CARDS, SPIN_S
from steer_nb.widgets.style_forms import FORMS
from steer_nb.widgets.style_talk import TALK
from steer_nb.widgets.style_text import TEXT

__all__ = ["NO_MATH", "STYLE", "spin_delay"]

NO_MATH: Final = "tex2jax_ignore mathjax_ignore"
"""Classes that keep the notebook from typesetting ``$5 and $6`` as a formula."""

_DARK = """--snb-run:#4cc38a;--snb-wait:#e8a33d;--snb-fail:#ff8a80;--snb-steer:#a99cff;\
--snb-on:#16181c;--snb-add:#4cc38a22;--snb-del:#ff8a8022"""

_DARK_PAGE = f"""--snb-bg:#16181c;--snb-bg2:#1f2228;--snb-line:#343941;--snb-ink:#e6e8eb;\
--snb-soft:#9aa3ad;{_DARK}"""

_PALETTE = f"""
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
@supports (color:color-mix(in srgb,red,blue)){{
.steer-nb{{--snb-bg2:color-mix(in srgb,var(--snb-ink) 4%,var(--snb-bg))}}
[data-jp-theme-light="false"] .steer-nb,.vscode-dark .steer-nb{{
--snb-bg2:color-mix(in srgb,var(--snb-ink) 7%,var(--snb-bg))}}}}
@media (prefers-color-scheme:dark){{
body:not([data-jp-theme-light]):not(.vscode-light) .steer-nb{{{_DARK_PAGE}}}}}
[data-jp-theme-light="false"] .steer-nb,.vscode-dark .steer-nb{{{_DARK}}}
.jp-RenderedHTMLCommon:has(>.steer-nb){{padding-right:0}}
.steer-nb *{{box-sizing:border-box}}
"""

STYLE: Final = "<style>" + (_PALETTE + CARDS + TEXT + FORMS + TALK).replace("\n", "") + "</style>"
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
