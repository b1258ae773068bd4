"""A page for each module: what it exports, from its docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import steer_nb
from steer_nb import errors
from steer_nb.frames import Columns

if TYPE_CHECKING:
    from types import ModuleType

# A name that several packages export stands on the page of the first of these.
FIRST = (
    "steer_nb",
    "steer_nb.errors",
    "steer_nb.trace",
    "steer_nb.frames",
    "steer_nb.frames.metrics",
    "steer_nb.frames.plots",
    "steer_nb.frames.export",
    "steer_nb.frames.scan",
    "steer_nb.simulator",
    "steer_nb.simulator.faults",
    "steer_nb.simulator.letta",
    "steer_nb.testing",
)
# No package, but read by people: their docstrings are references.
ALSO = (
    "steer_nb.errors",
    "steer_nb.simulator.control",
    "steer_nb.simulator.letta.written",
    "steer_nb.testing",
)


@cache
def modules() -> tuple[str, ...]:
    """Every package that exports something, and some modules: as the pages have them."""
    found = {"steer_nb", *ALSO}
    for info in pkgutil.walk_packages(steer_nb.__path__, "steer_nb."):
        if info.ispkg and getattr(importlib.import_module(info.name), "__all__", None):
            found.add(info.name)
    return (*FIRST, *sorted(found - set(FIRST)))


def exported(name: str) -> list[str]:
    """What a module exports, but for dunder names."""
    module = importlib.import_module(name)
    return [one for one in getattr(module, "__all__", ()) if not one.startswith("__")]


@cache
def homes() -> dict[tuple[str, str], str]:
    """For each module and name, the module on whose page the name is described."""
    seen: dict[tuple[str, int], str] = {}
    return {
        (module, name): seen.setdefault(
            (name, id(getattr(importlib.import_module(module), name))), module
        )
        for module in modules()
        for name in exported(module)
    }


def homes_of(target: str) -> list[str]:
    """The full names that a word in backticks may stand for: ``Lane.fill``, ``frames.Frames``."""
    short, _, rest = target.rpartition("steer_nb.")[2].partition(".")
    tail = f".{rest}" if rest else ""
    found = [f"{home}.{short}{tail}" for (_, name), home in homes().items() if name == short]
    if "." in target:
        module, _, name = target.rpartition(".")
        home = homes().get((module, name))
        found += [f"{home}.{name}"] if home else []
    return list(dict.fromkeys(found))


def module_pages(name: str) -> dict[str, str]:
    """The page of a module; for the package itself, a page for each class besides."""
    module = importlib.import_module(name)
    mine = [one for one in exported(name) if homes()[name, one] == name]
    others = [one for one in exported(name) if homes()[name, one] != name]
    lines = [title(f"``{name}``"), f".. py:module:: {name}", "", inspect.getdoc(module) or "", ""]
    if mine:
        lines += [".. list-table::", "   :widths: auto", ""]
        lines += [
            f"   * - :py:obj:`{one} <{name}.{one}>`\n     - {summary(module, one)}" for one in mine
        ]
        lines += [""]
    if others:
        also = ", ".join(f":py:obj:`{one} <{homes()[name, one]}.{one}>`" for one in others)
        lines += [textwrap.fill(f"From here, too: {also}.", 1000), ""]
    made: dict[str, str] = {}
    if name == "steer_nb":
        classes = [one for one in mine if inspect.isclass(getattr(module, one))]
        lines += [".. toctree::", "   :hidden:", "", *(f"   steer_nb.{one}" for one in classes), ""]
        for one in classes:
            head = [title(f"``{one}``"), f".. currentmodule:: {name}", ""]
            made[f"steer_nb.{one}.rst"] = "\n".join([*head, *entry(module, one)])
        mine = [one for one in mine if one not in classes]
    for one in mine:
        lines += entry(module, one)
    return {f"{name}.rst" if name != "steer_nb" else "steer_nb.rst": "\n".join(lines), **made}


def title(text: str) -> str:
    """A heading."""
    return f"{text}\n{'=' * len(text)}\n"


def entry(module: ModuleType, name: str) -> list[str]:
    """What autodoc has to say about one name."""
    thing = getattr(module, name)
    if inspect.isclass(thing):
        bases = ["   :show-inheritance:"] if module is errors else []
        return [f".. autoclass:: {name}", *bases, ""]
    if inspect.isroutine(thing):
        return [f".. autofunction:: {name}", ""]
    return [f".. py:data:: {name}", "", textwrap.indent(doc_of(module, name), "   "), ""]


def doc_of(module: ModuleType, name: str) -> str:
    """What is said of one name where it is declared."""
    thing = getattr(module, name)
    if isinstance(thing, Columns):
        return f"{len(thing)} columns of ``{thing.table}``: see :doc:`tables`."
    described = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
    if described or module.__name__ == "steer_nb.testing":
        return inspect.getdoc(thing) or ""
    return doc_of_value(module.__name__, name)


def summary(module: ModuleType, name: str) -> str:
    """Its first paragraph, on one line."""
    return " ".join(doc_of(module, name).partition("\n\n")[0].split())


@cache
def doc_of_value(module: str, name: str) -> str:
    """The string behind the assignment of a constant, wherever in the package it stands."""
    package = (
        module
        if hasattr(importlib.import_module(module), "__path__")
        else module.rpartition(".")[0]
    )
    top = Path(importlib.import_module(package).__path__[0])
    for path in sorted(top.rglob("*.py"), key=lambda one: len(one.parts)):
        body = ast.parse(path.read_text("utf-8")).body
        for one, after in pairwise(body):
            targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
            named = any(isinstance(t, ast.Name) and t.id == name for t in targets)
            if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return inspect.cleandoc(str(after.value.value))
    return ""
