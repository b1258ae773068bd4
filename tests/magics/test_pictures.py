"""What the lines of one cell show: each its view, and none where a person wants none."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.utils.capture import capture_output


def shown(shell: Any, source: str) -> list[str]:
    """The texts of what a cell displays, in order."""
    with capture_output() as captured:
        shell.run_cell(source).raise_error()
    return [str(output.data["text/plain"]) for output in captured.outputs]


def test_each_line_of_a_cell_shows_its_view(shell: Any, session: Any) -> None:
    texts = shown(shell, "%steer open a\n%steer open b\n%steer lanes\n%steer show a\nx = 1")
    assert [text.split()[0] for text in texts] == ["a", "b", "lane", "a"]
    texts = shown(shell, "%steer open a\n%steer open b")
    assert [text.split()[0] for text in texts] == ["a", "b"]


@pytest.mark.parametrize(
    "source",
    [
        "one = %steer open a\ntwo = %steer open b",
        "%steer open a;\n%steer open b;",
        "for name in 'ab':\n    %steer open a",
        "%steer open a;\nsession = None",
    ],
)
def test_nothing_is_shown_where_none_is_wanted(shell: Any, session: Any, source: str) -> None:
    assert shown(shell, source) == []
    assert "a" in session.lanes


def test_what_is_no_view_is_shown_only_where_it_comes_last(shell: Any, session: Any) -> None:
    assert shown(shell, "%steer open a;\n%steer status\n%steer frame steers\nx = 1") == []


def test_who_wants_all_or_none_of_a_cells_values_gets_that(shell: Any, session: Any) -> None:
    before = shell.ast_node_interactivity
    try:
        shell.ast_node_interactivity = "all"
        assert len(shown(shell, "%steer open a\n%steer open b")) == 2
        shell.ast_node_interactivity = "none"
        assert shown(shell, "%steer open a\n%steer open b") == []
    finally:
        shell.ast_node_interactivity = before


def test_without_the_extension_lines_are_as_they_were(shell: Any, session: Any) -> None:
    count = len(shell.ast_transformers)
    shell.run_line_magic("unload_ext", "steer_nb")
    assert len(shell.ast_transformers) == count - 1
    shell.run_line_magic("load_ext", "steer_nb")
    shell.run_line_magic("reload_ext", "steer_nb")
    assert len(shell.ast_transformers) == count


def test_the_cell_that_loads_the_extension_shows_each_view_too(shell: Any, session: Any) -> None:
    shell.run_line_magic("unload_ext", "steer_nb")
    source = "%load_ext steer_nb\n%steer open a\n%steer open b;\n%steer open c\n%steer open d"
    assert [text.split()[0] for text in shown(shell, source)] == ["a", "c", "d"]
    texts = shown(shell, "%steer open a\n%reload_ext steer_nb\n%steer open b\nawaited = 1")
    assert [text.split()[0] for text in texts] == ["a", "b"]
