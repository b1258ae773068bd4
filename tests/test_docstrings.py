"""Every example in a docstring runs, and every public name has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import msgspec
import pytest

import steer_nb

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(steer_nb.__path__, "steer_nb.")
    if not info.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["steer_nb", *MODULES])
def test_examples_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_examples_were_found():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in ["steer_nb", *MODULES]
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(found) > 20


@pytest.mark.parametrize("name", [n for n in steer_nb.__all__ if not n.startswith("__")])
def test_public_names_are_documented(name):
    thing = getattr(steer_nb, name)
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_signatures_can_be_read():
    """What `help` and `?` show first: annotations of structs are read at run time."""
    for name in MODULES:
        for one in vars(importlib.import_module(name)).values():
            if inspect.isclass(one) and issubclass(one, msgspec.Struct):
                assert inspect.signature(one) is not None
