"""The Markdown that people read: the README and the site's pages, and the code on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["README", "ROOT", "SITE", "Page"]

ROOT = Path(__file__).parents[2]
SITE = ROOT / "notebooks" / "site"

_BLOCK = re.compile(r"(<!-- not run: .+? -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"(?:\]\(|src(?:set)?=\")([^)\"#:\s]+)[#)\"]")


class Page:
    """One page.

    Parameters
    ----------
    path : Path
        The Markdown file.
    text : str, optional
        A part of it.
    """

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self.text = path.read_text("utf-8") if text is None else text

    def section(self, title: str, end: str | None = None) -> Page:
        """From one heading to another, or to the next of its level."""
        start = self.text.index(f"{title}\n")
        level = title.split()[0]
        until = f"\n{end}" if end else f"\n{level} "
        stop = self.text.find(until, start + 1)
        return Page(self.path, self.text[start : stop if stop >= 0 else None])

    def blocks(self, language: str = "python") -> list[str]:
        """The code in that language, less what says of itself that it is not run."""
        return [
            code
            for excused, word, code in _BLOCK.findall(self.text)
            if word == language and not excused
        ]

    def run(self, space: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run its Python, one block after the other, and give what they named."""
        made: dict[str, Any] = {"__name__": "page"} if space is None else space
        blocks = self.blocks()
        assert blocks, f"{self.path.name} has no code that runs"
        for number, code in enumerate(blocks, 1):
            exec(compile(code, f"{self.path.name}, block {number}", "exec"), made)
        return made

    def targets(self) -> list[str]:
        """The files that it links to or shows."""
        return sorted(set(_TARGET.findall(re.sub(r"```.*?```", "", self.text, flags=re.DOTALL))))


README = Page(ROOT / "README.md")
