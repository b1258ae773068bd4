"""The site's pages tell the truth: their code runs, their links lead somewhere."""

from __future__ import annotations

from typing import Any

import pytest

import steer_nb
from tests.support.pages import SITE, Page

PAGES = sorted(SITE.glob("*.md"))


def page(name: str) -> Page:
    return Page(SITE / f"{name}.md")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_its_links_and_pictures_exist(path: Any) -> None:
    for target in Page(path).targets():
        assert (path.parent / target).exists(), target


class TestLetta:
    def test_an_agent_answers(self) -> None:
        space: dict[str, Any] = {"steer_nb": steer_nb}
        try:
            page("letta").section("# Letta agents", "## A Letta server").run(space)
            assert space["response"].status == "completed"
            assert [steer.state for steer in space["lane"].steers] == ["committed"]
        finally:
            space["session"].close()
            space["server"].stop()

    def test_its_server_answers(self) -> None:
        space = page("letta").section("## A Letta server for tests").run()
        assert space["told"].messages[0].tool_returns[0].tool_return == "deleted /srv/old.log"
        space["client"].close()
