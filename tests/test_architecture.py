"""The rooms import downwards only, and the core knows no I/O, clock, thread or notebook."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "steer_nb"

# From the ground up: each room may import those before it.
ROOMS = [
    "errors",
    "extras",
    "wire",
    "trace",
    "ledger",
    "frames",
    "client",
    "letta",
    "simulator",
    "widgets",
    "magics",
]
TOP = {"cli", "demo", "__main__", "__init__", "_version", "nested", "testing"}

# Functions that hand a person the next room's face; imported where they are called, never above.
LATE = {
    ("trace", "ledger"),
    ("trace", "frames"),
    ("trace", "widgets"),
    ("ledger", "widgets"),
    ("client", "simulator"),
    ("client", "letta"),
    ("client", "widgets"),
}
CORE_FORBIDDEN = {
    "asyncio", "threading", "socket", "time", "websockets", "IPython", "ipywidgets", "pandas",
    "subprocess", "concurrent", "random", "ipykernel", "anywidget",
}  # fmt: skip
# Files are the trace's business, and nobody else's in the core.
FILES = {"os", "io", "tempfile", "shutil"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def is_module(name: str) -> bool:
    """Whether one of our own modules is called so."""
    place = PACKAGE.parent.joinpath(*name.split("."))
    return name.startswith("steer_nb.") and (
        place.with_suffix(".py").exists() or (place / "__init__.py").exists()
    )


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every module that a file imports, and whether it does so when it is itself imported."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    late = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            names = [
                f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base
                for alias in node.names
            ]
        else:
            continue
        found += [(name, id(node) not in late) for name in names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_import_downwards_only(path):
    room = room_of(path)
    if room in TOP:
        return
    assert room in ROOMS, f"{room} is no room of this house"
    for name, at_import in imports(path):
        if not name.startswith("steer_nb."):
            continue
        other = name.split(".")[1]
        if other in TOP:
            assert other == "_version" or (room, other) in LATE | {("magics", "nested")}, name
            continue
        if ROOMS.index(other) > ROOMS.index(room):
            assert (room, other) in LATE, f"{path.name} imports {name}, which is above it"
            assert not at_import, f"{path.name} imports {name} before it is needed"


@pytest.mark.parametrize(
    "path",
    [p for p in modules() if room_of(p) in ("wire", "trace", "ledger")],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_the_core_knows_no_world(path):
    files = path.parent.name == "readers" or (path.parent.name, path.stem) == ("trace", "journal")
    for name, _ in imports(path):
        top = name.split(".")[0]
        if (path.parent.name, path.stem, top) == ("trace", "log", "threading"):
            continue  # a lock, no thread: any thread may ask a trace what follows from it
        assert top not in CORE_FORBIDDEN, f"{path.name} imports {name}"
        assert files or top not in FILES, f"{path.name} imports {name}"


def test_only_frames_imports_pandas_at_import():
    for path in modules():
        for name, at_import in imports(path):
            if name.split(".")[0] == "pandas" and at_import:
                assert room_of(path) == "frames", path


def test_no_circle_of_imports():
    """Modules that import each other can only be understood, and loaded, all at once."""
    names = {
        ".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): p
        for p in modules()
    }
    graph = {
        name: {other for other, at_import in imports(path) if at_import and other in names}
        for name, path in names.items()
    }
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in graph[name]:
                visit(other, [*way, name])
            done.add(name)

    for name in graph:
        visit(name, [])
