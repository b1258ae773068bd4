"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import steer_nb.wire

MODULES = [info.name for info in pkgutil.iter_modules(steer_nb.wire.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"steer_nb.wire.{name}")
    assert doctest.testmod(module).failed == 0
