"""What the site makes of the package itself, of the notebooks and of the project's own pages.

Everything is read from what the program works with, so that the pages cannot tell another story:
`making_words` has the tables of words, `making_modules` a page for each module.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from making_modules import ALSO, FIRST, module_pages, modules
from making_words import MADE, commands, inputs, magics, simulator, tables

if TYPE_CHECKING:
    from pathlib import Path

TOP = ("README", "CONTRIBUTING", "CHANGELOG")


def write(folder: Path) -> None:
    """Write `reference`, `lessons` and `project` anew, touching only what has changed."""
    wanted = {folder / "reference" / name: text for name, text in pages().items()}
    lessons = notebooks(folder.parent)
    wanted |= {folder / "lessons" / path.name: lesson(path) for path in lessons}
    wanted |= {folder / "project" / f"{name.lower()}.md": top(folder, name) for name in TOP}
    names = "\n".join(path.stem for path in lessons)
    wanted[folder / "lessons" / "index.md"] = (
        f"{MADE}# Lessons\n\nEach is a notebook to run, without a key: the simulator answers.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    )
    for made in {path.parent for path in wanted}:
        made.mkdir(exist_ok=True)
        for old in set(made.iterdir()) - wanted.keys():
            old.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")


def notebooks(folder: Path) -> list[Path]:
    """The lessons, in the order of their numbers."""
    return sorted(folder.glob("*.ipynb"))


def lesson(path: Path) -> str:
    """A notebook, with the word for how its cells are coloured: they hold magics."""
    notebook = json.loads(path.read_text("utf-8"))
    notebook["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def top(folder: Path, name: str) -> str:
    """A page of the project's own folder, with its links as they are from here."""
    text = (folder.parents[1] / f"{name}.md").read_text("utf-8")
    text = re.sub(r"\]\(notebooks/site/", "](../", text)
    text = re.sub(r"\]\(notebooks/(index\.md|[\w-]+\.ipynb)", r"](../lessons/\1", text)
    text = text.replace("](notebooks)", "](../lessons/index.md)")
    text = re.sub(rf"\]\(({'|'.join(TOP)})\.md", lambda found: f"]({found[1].lower()}.md", text)
    text = re.sub(r"\[([^\]]+)\]\(LICENSE\)", r"\1", text)
    return text.replace('="notebooks/', '="../../')


def pages() -> dict[str, str]:
    """Every page of the reference: its file's name and its text."""
    made = {
        "magics.md": magics(),
        "tables.md": tables(),
        "inputs.md": inputs(),
        "simulator.md": simulator(),
        "commands.md": commands(),
        "index.md": index(),
    }
    for name in modules():
        made |= module_pages(name)
    return made


def index() -> str:
    """The first page of the reference."""
    first = [name for name in modules() if name in FIRST or name in ALSO]
    lists = {
        "Words": ("magics", "tables", "inputs", "simulator", "commands"),
        "What people import": first,
        "The rooms behind it": [name for name in modules() if name not in first],
    }
    parts = [f"{MADE}# Reference\n\nAll of it is made from the code that does the work.\n"]
    for caption, names in lists.items():
        listed = "\n".join(names)
        parts.append(f"```{{toctree}}\n:maxdepth: 1\n:caption: {caption}\n\n{listed}\n```\n")
    return "\n".join(parts)
