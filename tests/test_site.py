"""The site's pages tell the truth: their code runs, links lead somewhere, nothing is missing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import steer_nb
from steer_nb import Simulator, connect
from steer_nb.cli import _parser
from steer_nb.magics.parsing import parse_line
from tests.support.pages import README, SITE, Page
from tests.support.traces import TraceBuilder

sys.path.insert(0, str(SITE))

import making
import making_modules

PAGES = sorted(SITE.glob("*.md"))


def page(name: str) -> Page:
    return Page(SITE / f"{name}.md")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_its_links_and_pictures_exist(path: Path) -> None:
    for target in Page(path).targets():
        assert (path.parent / target).exists(), target


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set((SITE / "index.md").read_text("utf-8").splitlines())
    assert {path.stem for path in PAGES} - {"index"} <= listed


@pytest.mark.parametrize("one", [README, *map(Page, PAGES)], ids=lambda one: one.path.stem)
def test_its_commands_are_understood(one: Page) -> None:
    for line in "\n".join(one.blocks("sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["steer-nb"]:
            _parser().parse_args(words[1:])


@pytest.mark.parametrize("one", [README, *map(Page, PAGES)], ids=lambda one: one.path.stem)
def test_its_magics_are_understood(one: Page) -> None:
    """Wherever one stands with what it takes; those in brackets show what it could take."""
    for line in re.findall(r"`%steer ([a-z]+\s[^`]*)`", one.text):
        if not re.search(r"[\[|\\]", line):
            parse_line(" ".join(line.split()))


class TestReference:
    """What is made of the code: the site's build only draws it."""

    MADE = making.pages()

    @pytest.mark.parametrize("module", making_modules.modules())
    def test_every_public_name_has_its_entry(self, module: str) -> None:
        names = making_modules.exported(module)
        page = self.MADE[f"{module}.rst"]
        for name in names:
            home = making_modules.homes()[module, name]
            if home != module:
                assert f"`{name} <{home}.{name}>`" in page
                continue
            assert f"`{name} <{module}.{name}>`" in page
            entry = re.compile(rf"^\.\. \S+:: {name}$", re.MULTILINE)
            text = "".join(t for file, t in self.MADE.items() if file.startswith(module))
            assert len(entry.findall(text)) >= 1, name

    @pytest.mark.parametrize("name", making.TOP)
    def test_what_stands_at_the_top_links_to_pages_here(self, name: str) -> None:
        one = Page(SITE / "project" / f"{name.lower()}.md", making.top(SITE, name))
        made = {SITE / "project" / f"{other.lower()}.md" for other in making.TOP}
        made |= {SITE / "lessons" / path.name for path in making.notebooks(SITE.parent)}
        made |= {SITE / "lessons" / "index.md"}
        for target in one.targets():
            place = (one.path.parent / target).resolve()
            assert place in made or place.is_file(), target

    def test_every_package_has_its_page(self) -> None:
        packages = {
            ".".join(init.parent.relative_to(SITE.parents[1]).parts)
            for init in (SITE.parents[1] / "steer_nb").rglob("__init__.py")
            if re.search(r"^__all__ = \[", init.read_text("utf-8"), re.MULTILINE)
        }
        assert packages <= set(making_modules.modules())

    def test_no_entry_is_empty(self) -> None:
        homes = making_modules.homes()
        assert [
            one for one in homes if not making_modules.summary(sys.modules[one[0]], one[1])
        ] == []

    def test_it_has_all_words(self) -> None:
        from steer_nb import frames, simulator
        from steer_nb.magics.grammar import COMMANDS
        from steer_nb.simulator import letta

        for command in COMMANDS.values():
            assert command.usage in self.MADE["magics.md"]
        for table in frames.TABLES.values():
            assert all(f"| `{column.name}` |" in self.MADE["tables.md"] for column in table.all)
        played = self.MADE["simulator.md"]
        for registry in (simulator.SCENARIOS, letta.SCENARIOS):
            assert all(f"| `{name}` |" in played for name in registry)
        for listed in (simulator.list_faults(), simulator.list_faults(letta.LETTA_FAULTS)):
            assert all(f"### `{fault.name}`" in played for fault in listed)
        assert all(f"| `{one.name}` |" in played for one in simulator.list_options())


class TestLetta:
    def test_an_agent_answers(self) -> None:
        space: dict[str, Any] = {}
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


def test_agents_answer() -> None:
    space: dict[str, Any] = {}
    try:
        page("agents").run(space)
        assert space["response"].status == "completed"
    finally:
        space["session"].close()


def test_a_lost_connection_is_recovered() -> None:
    one = page("recovery")
    first, second = one.blocks()
    space: dict[str, Any] = {}
    exec(compile(first, "recovery.md", "exec"), space)
    assert space["response"].status == "cancelled"
    exec(compile(second.rpartition("session.close()")[0], "recovery.md", "exec"), space)
    with space["session"] as session:
        assert [one.status for one in session["planner"].responses] == [
            "completed",
            "cancelled",
            "completed",
        ]
        assert session.in_flight == []


class TestTraces:
    """The pages that begin with a saved trace, or with many."""

    @pytest.fixture(autouse=True)
    def _saved(self, tmp_path: Path) -> None:
        with connect(simulate=Simulator("weather", speed=0), journal=False, quiet=True) as session:
            lane = session.lane("trip")
            lane.create("What is the weather in Lisbon?")
            lane.wait(30)
            lane.fill(lane.required_input[0].key, output="18 °C")
            lane.send_continuation().wait(30)
            session.trace.save("run.jsonl")

    def test_they_go_elsewhere(self, tmp_path: Path) -> None:
        space = page("exports").run()
        assert len(space["tables"]["responses"]) == 2
        assert {"out", "all", "said.json", "spans.jsonl"} <= {p.name for p in tmp_path.iterdir()}

    def test_they_are_drawn(self) -> None:
        page("pictures").run()
        assert "<svg" in Path("tokens.svg").read_text("utf-8")

    def test_many_are_loaded_and_scanned(self, tmp_path: Path) -> None:
        (tmp_path / "recordings").mkdir()
        for name in "ab":
            trace = TraceBuilder().create().created("r1").ended("r1").trace
            trace.save(tmp_path / "recordings" / f"{name}.jsonl")
        space = page("recordings").run()
        assert len(space["runs"].frames.responses.compute()) == 1  # the same trace twice


class TestScenarios:
    def test_the_first_can_be_played(self, tmp_path: Path) -> None:
        (tmp_path / "trip.yaml").write_text(page("scenarios").blocks("yaml")[0], encoding="utf-8")
        simulator = Simulator(tmp_path / "trip.yaml", speed=0)
        with connect(simulate=simulator, journal=False, quiet=True) as session:
            tool = {"type": "function", "name": "get_weather", "parameters": {}}
            lane = session.lane("trip", tools=[tool])
            lane.create("How is the weather?")
            assert lane.wait(30) == "waiting_input"
            lane.fill(lane.required_input[0].key, output="18 °C")
            assert lane.send_continuation().wait(30).text == "It is 18 °C there."

    def test_agents_can_be_played(self, tmp_path: Path) -> None:
        (tmp_path / "team.yaml").write_text(page("scenarios").blocks("yaml")[1], encoding="utf-8")
        simulator = Simulator(tmp_path / "team.yaml", speed=0)
        with connect(simulate=simulator, multi_agent=True, journal=False, quiet=True) as session:
            lane = session.lane("team", multi_agent={"enabled": True})
            response = lane.create("Go.")
            while lane.wait(30) == "waiting_input":
                for needed in lane.required_input:
                    lane.fill(needed.key, output=f"Dry in {needed.agent_name}.")
                lane.inject()
            said = "Lisbon: Dry in /root/lisbon. Porto: Dry in /root/porto."
            assert response.text.endswith(said)


class TestTesting:
    """Its first example is a test file, which runs in ``tests/testing``."""

    def test_faults_are_added(self) -> None:
        exec(compile(page("testing").blocks()[1], "testing.md", "exec"), {})

    def test_its_calls_of_the_control_api_work(self) -> None:
        (lines,) = (one for one in page("testing").blocks("sh") if "curl" in one)
        with Simulator("weather") as simulator:
            place = simulator.base_url.removeprefix("http://").removesuffix("/v1")
            for line in lines.splitlines():
                words = shlex.split(line.replace("127.0.0.1:8080", place), comments=True)
                done = subprocess.run([*words, "-fsS"], capture_output=True, text=True, check=True)
                assert done.stdout
            assert steer_nb.simulator.list_faults()[0].name == "drop"
