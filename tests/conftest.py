"""What every test stands on: nothing of the person who runs them."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter

import pytest

from tests.support.browser import Browser

COSTS = {"browser": 30, "slow": 8, "kernel": 3}
"""About so many seconds a test takes that is marked so."""


def pytest_configure(config):
    # Else xdist hands out the files with the most tests first, which are the quickest.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """The longest files first: one that begins last would be waited for alone."""
    if os.environ.get("PYTEST_XDIST_WORKER") is None:
        return
    costs = Counter()
    for item in items:
        marks = [COSTS[mark.name] for mark in item.iter_markers() if mark.name in COSTS]
        costs[item.path] += max(marks, default=0.1)
    items.sort(key=lambda item: -costs[item.path])  # stable: a file's tests keep their order


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays: it is not looked through for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


BROWSER = Browser()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """An event loop is running as long as the browser is there; other tests run their own."""
    if item.get_closest_marker("browser") is None:
        BROWSER.close()


@pytest.fixture(scope="session")
def browser():
    """A Chromium, for one page after the other; there are no others."""
    with BROWSER:
        yield BROWSER


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """A JupyterLab, for one notebook after the other."""
    from tests.widgets.lab import Lab  # what it needs is not everywhere

    with Lab(tmp_path_factory.mktemp("lab"), browser) as lab:
        yield lab


@pytest.fixture(scope="session", autouse=True)
def _own_world(tmp_path_factory):
    """No key, no settings and no history of whoever runs the tests."""
    home = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    for name in [n for n in os.environ if n.startswith(("OPENAI_", "LETTA_", "STEER_"))]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("IPYTHONDIR", str(home / "ipython"))
    patch.setenv("JUPYTER_CONFIG_DIR", str(home / "jupyter"))
    patch.setenv("JUPYTER_DATA_DIR", str(home / "jupyter-data"))
    patch.setenv("JUPYTER_RUNTIME_DIR", str(home / "jupyter-runtime"))
    patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    """Journals and saved traces of a test stay in its own directory."""
    monkeypatch.chdir(tmp_path)


MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def _own_main():
    """A shell puts its namespace in the place of ``__main__``, which new processes begin with."""
    yield
    sys.modules["__main__"] = MAIN
