"""What axe-core, from npm, says of our own outputs on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from filelock import FileLock

from tests.support.npm import IN_CI, NotHere, cache, npm

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Axe"]

PACKAGE: Final = "axe-core@4.14.1"

BORNE: Final = {
    "landmark-unique": "a lane may be shown in two cells, and then has one name in both",
}
"""Rules that may be broken, and why; none of serious or critical impact."""

_OURS: Final = "[data-looked-at] .jp-OutputArea-output"
_MARK = """([first, last]) => document.querySelectorAll('.jp-Notebook .jp-Cell').forEach(
  (cell, number) => cell.toggleAttribute('data-looked-at', first <= number && number <= last))"""

_RUN = """async outputs => {
  const ours = {include: [[outputs]]};
  const found = await axe.run(ours, {resultTypes: ['violations']});
  return found.violations.map(({id, impact, help, nodes}) => [id, impact,
    `${help}: ` + nodes.map(node => node.target.join(' ') + ' ' + node.html.slice(0, 160)
      + ' ' + node.any.map(one => one.message).join('; ')).join(' | ')]);
}"""


def _script() -> Path:
    """Get axe-core; without it skip, and say why. In CI that is a failure."""
    try:
        place = cache(PACKAGE)
        with FileLock(place / ".lock"):
            script = place / "node_modules" / "axe-core" / "axe.min.js"
            if not script.exists():
                npm(place, "install", "--no-save", PACKAGE)
    except NotHere as reason:
        if IN_CI:
            raise
        pytest.skip(f"axe-core is not here: {reason}")
    return script


_ASKS: Final = {
    "button",
    "checkbox",
    "combobox",
    "link",
    "listbox",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
}


def _nameless(page: Any, outputs: str) -> list[str]:
    """Controls of ours that Chromium gives no name to, as a screen reader would be told."""
    tools = page.context.new_cdp_session(page)
    root = tools.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
    ours = {"nodeId": root, "selector": outputs}
    found = []
    for node in tools.send("DOM.querySelectorAll", ours)["nodeIds"]:
        for one in tools.send("Accessibility.queryAXTree", {"nodeId": node})["nodes"]:
            role = one.get("role", {}).get("value")
            if not one["ignored"] and role in _ASKS and not one.get("name", {}).get("value"):
                described = {"backendNodeId": one["backendDOMNodeId"]}
                found.append(f"{role} {tools.send('DOM.getOuterHTML', described)['outerHTML']}")
    tools.detach()
    return found


class Axe:
    """Looks at our outputs of a page; what it finds is kept, and told at the end."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._script = _script().read_text(encoding="utf-8")
        self.found: list[str] = []
        self.looked = 0

    def look(self, state: str, *cells: int) -> None:
        """Look at what these cells show now, from the first to the last."""
        self._page.evaluate(_MARK, [min(cells), max(cells)])
        if not self._page.evaluate("'axe' in globalThis"):
            self._page.evaluate(self._script)
        self.looked += 1
        self.found += [f"{state}: no name: {one[:200]}" for one in _nameless(self._page, _OURS)]
        for rule, impact, told in self._page.evaluate(_RUN, _OURS):
            if rule not in BORNE or impact in ("serious", "critical"):
                self.found.append(f"{state}: {rule} ({impact}): {told}")
