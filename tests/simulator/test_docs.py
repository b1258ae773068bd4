"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import steer_nb.simulator

NAMES = [
    info.name for info in pkgutil.walk_packages(steer_nb.simulator.__path__, "steer_nb.simulator.")
]


@pytest.mark.parametrize("name", ["steer_nb.simulator", *NAMES])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
