"""How the site is built: ``sphinx-build -W -n notebooks/site build/site``, or ``.ci/site``.

The pages beside this file are written by hand and read as well on a forge. `reference`, `lessons`
and `project` are made anew at each build: of the package itself, of the notebooks, and of what
stands in the project's own folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import making  # noqa: E402 - these two lie beside this file
import making_modules  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402

from steer_nb import __version__  # noqa: E402

if TYPE_CHECKING:
    from docutils.nodes import Node
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "steer-nb"
author = "The steer-nb authors"
project_copyright = f"2026, {author}"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb"]
root_doc = "index"
exclude_patterns = ["**/.ipynb_checkpoints", "**/.steer"]

html_theme = "furo"
html_title = f"steer-nb {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the sections of a docstring say the types, in words
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseException,Exception,Struct,Magics,DOMWidget,AnyWidget,tuple,Protocol",
}
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
default_role = "py:obj"

_PICTURE = re.compile(
    r'<picture>.*?srcset="(?P<dark>[^"]+)".*?alt="(?P<alt>[^"]+)"\s*src="(?P<light>[^"]+)".*?'
    r"</picture>",
    re.DOTALL,
)
_CELL = re.compile(r"^```python\n(?=(?:(?!```)[^\n]*\n)*?%)", re.MULTILINE)
_LESSON = re.compile(r"\]\(\.\./([\w-]+)\.ipynb\)")
_TOP = re.compile(r"\]\(\.\./\.\./([A-Z]+)\.md")


def for_the_site(app: Sphinx, page: str, source: list[str]) -> None:  # noqa: ARG001
    """Turn what a forge shows into what the site shows: pictures for both themes, cells, links."""

    def both(found: re.Match[str]) -> str:
        alt = " ".join(found["alt"].split())
        return "\n".join(
            f"```{{image}} {found[theme]}\n:alt: {alt}\n:class: only-{theme}\n```"
            for theme in ("light", "dark")
        )

    text = _LESSON.sub(r"](lessons/\1.ipynb)", _PICTURE.sub(both, source[0]))
    text = _CELL.sub("```ipython3\n", text)  # a cell with magics is no Python
    source[0] = _TOP.sub(lambda found: f"](project/{found[1].lower()}.md", text)


def name_it(
    app: Sphinx,
    env: BuildEnvironment,
    node: pending_xref,
    shown: Node,
) -> Any:
    """Find a name that a docstring puts in backticks; leave it as code where it is none of ours.

    Warned about is only what says by its role that it must be found.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    names = making_modules.homes_of(target)
    for name in names:
        found = env.get_domain("py").objects.get(name)
        if found is not None:
            return make_refnode(
                app.builder, node["refdoc"], found.docname, found.node_id, shown, name
            )
    foreign = not target.startswith("steer_nb")
    return shown if foreign or node.get("reftype") == "obj" else None


def setup(app: Sphinx) -> None:
    """Make what is made of the package, and hear of each page and name."""
    making.write(HERE)
    app.connect("source-read", for_the_site)
    app.connect("missing-reference", name_it)
