"""Nested event loops: only on request, honest, and refused where they break."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap

import pytest

import steer_nb
from steer_nb import nested
from steer_nb.errors import NestedLoopRefused


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_asyncio_run_works_inside_a_running_loop_afterwards() -> None:
    out = python(
        """
        import asyncio, steer_nb

        async def inner():
            await asyncio.sleep(0)
            return 42

        async def outer():
            done = steer_nb.allow_nested_loops()
            assert not done.again
            assert asyncio.run(inner()) == 42
            assert steer_nb.allow_nested_loops(quiet=True).again
            return asyncio.get_running_loop().run_until_complete(inner())

        print(asyncio.run(outer()))
        """
    )
    assert "Nested event loops are allowed now, by nest_asyncio" in out
    assert "patched: asyncio.run" in out
    assert "beware:" in out
    assert out.rstrip().endswith("42")


def test_without_a_running_loop() -> None:
    assert "allowed now" in python("import steer_nb; steer_nb.allow_nested_loops()")


def test_nothing_else_ever_imports_or_applies_it() -> None:
    out = python(
        """
        import asyncio, sys
        from IPython.core.interactiveshell import InteractiveShell
        run, task = asyncio.run, asyncio.Task
        import steer_nb
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "steer_nb")
        shell.run_line_magic("steer", "connect --simulate weather --speed 0 --no-journal")
        shell.run_line_magic("steer", "open trip")
        shell.run_cell_magic("steer", "trip --wait", "What is the weather in Lisbon?")
        shell.run_line_magic("steer", "close")
        assert asyncio.run is run and asyncio.Task is task
        assert not hasattr(asyncio, "_nest_patched")
        print([name for name in sys.modules if name.startswith("nest_asyncio")])
        """
    )
    assert out.rstrip().endswith("[]")


class UvLoop(asyncio.SelectorEventLoop):
    pass


UvLoop.__module__ = "uvloop.loop"


def test_a_uvloop_loop_is_refused_before_anything_is_patched() -> None:
    run = asyncio.run

    async def main() -> None:
        with pytest.raises(NestedLoopRefused, match="uvloop's"):
            steer_nb.allow_nested_loops()

    with asyncio.Runner(loop_factory=UvLoop) as runner:
        runner.run(main())
    assert asyncio.run is run


@pytest.mark.parametrize(
    ("package", "python_version", "refused"),
    [
        ("nest_asyncio", (3, 14), True),
        ("nest_asyncio", (3, 15), True),
        ("nest_asyncio", (3, 13), False),
        ("nest_asyncio2", (3, 14), False),
    ],
)
def test_python_3_14_is_refused_with_nest_asyncio_only(
    package: str, python_version: tuple[int, int], refused: bool
) -> None:
    reason = nested._refusal(package, "1.6.0", python_version, None)
    assert bool(reason) is refused
    if reason:
        assert "pip install nest-asyncio2" in reason


def test_another_kind_of_loop_is_refused() -> None:
    reason = nested._refusal("nest_asyncio2", "1.7.4", (3, 13), object())
    assert reason
    assert "type object cannot be nested" in reason


def test_nothing_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "find_spec", lambda name: None)
    with pytest.raises(NestedLoopRefused, match="pip install nest-asyncio2"):
        nested.allow_nested_loops()


def test_the_older_package_is_taken_where_it_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nested, "find_spec", lambda name: name == "nest_asyncio" or None)
    assert nested._package() == "nest_asyncio"


def test_what_is_said_fits_the_python() -> None:
    assert any("loop_factory" in risk for risk in nested._risks("nest_asyncio", (3, 12)))
    assert not any("loop_factory" in risk for risk in nested._risks("nest_asyncio2", (3, 12)))
    assert any("asyncio.Task" in patch for patch in nested._patches((3, 13)))
    assert not any("asyncio.Task" in patch for patch in nested._patches((3, 14)))
