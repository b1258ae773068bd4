"""The rooms import downwards only, and the core knows no I/O, clock, thread or notebook."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

import steer_nb
from tests.support.diagram import ARROWS, BOXES, PICTURES, drawn

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


@cache
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


ROOMS_OF = {box.key: box.rooms for box in BOXES}


class TestThePicture:
    """What the README draws of the house is the house."""

    def test_it_is_the_one_that_is_shown(self):
        for theme in ("light", "dark"):
            shown = (PICTURES / f"how-it-works-{theme}.svg").read_text("utf-8")
            assert shown == drawn(theme), "run python -m tests.support.diagram"

    def test_every_room_is_in_it_once(self):
        assert sorted(room for box in BOXES for room in box.rooms) == sorted(ROOMS)

    def test_what_it_speaks_of_is_there(self):
        for box in BOXES:
            for name in box.names:
                module, _, member = name.partition(":")
                assert getattr(importlib.import_module(module), member), name

    @pytest.mark.parametrize("arrow", ARROWS, ids=lambda one: f"{one.start}-{one.end}")
    def test_its_arrows_are_imports_or_sockets(self, arrow):
        """One of the two imports the other; over a socket neither does."""
        ends = (ROOMS_OF[arrow.start], ROOMS_OF[arrow.end])
        found = {
            (room_of(path), name.split(".")[1])
            for path in modules()
            for name, _ in imports(path)
            if name.startswith("steer_nb.") and (room_of(path), name.split(".")[1]) not in LATE
        }
        pairs = {(a, b) for a in ends[0] for b in ends[1]}
        pairs |= {(b, a) for a, b in pairs}
        assert bool(pairs & found) == (arrow.by == "import")

    def test_all_rooms_know_what_stands_below_them(self):
        below = set(ROOMS_OF["wire"])
        for box in BOXES:
            known = {n.split(".")[1] for p in modules() if room_of(p) in box.rooms
                     for n, _ in imports(p) if n.startswith("steer_nb.")}  # fmt: skip
            assert known & below, box.key

    def test_a_message_takes_its_way(self, monkeypatch):
        """From the socket into the trace and the journal, then to the ledger."""
        from steer_nb.client.recorder import Recorder
        from steer_nb.ledger import Ledger
        from steer_nb.trace import Journal

        way = []

        def watch(kind, name):
            real = getattr(kind, name)

            def called(self, entry, *rest):
                raw = entry if isinstance(entry, str) else getattr(entry, "raw", None)
                if raw and '"response.completed"' in raw:
                    way.append(
                        (kind.__name__, len(self.trace.entries) if kind is Recorder else None)
                    )
                return real(self, entry, *rest)

            monkeypatch.setattr(kind, name, called)

        for kind, name in ((Recorder, "receive"), (Journal, "write"), (Ledger, "apply")):
            watch(kind, name)
        with steer_nb.connect(
            simulate=steer_nb.Simulator("planner", speed=0), quiet=True
        ) as session:
            lane = session.lane("a")
            lane.create("Plan.").wait(30)
            seen = len(session.trace.entries)
        assert [step for step, _ in way] == ["Recorder", "Journal", "Ledger"]
        assert seen > way[0][1]  # it was appended after it came
