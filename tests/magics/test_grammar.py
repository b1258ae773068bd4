"""The table, the parser, the help and the completion must tell the same story."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest

from steer_nb.magics.completing import complete
from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.magics.helping import describe, docstring, overview, topic
from steer_nb.magics.parsing import Mistake, parse_cell, parse_line

if TYPE_CHECKING:
    from steer_nb.magics.commands import Command, Kind

EVERYTHING = [*COMMANDS.values(), CELL]
SAMPLES: dict[str, str] = {
    "integer": "7",
    "number": "2.5",
    "json": 'text={"a": 1}',
    "tools": "one,two",
    "values": "one,two",
}


class Nothing:
    def words(self, kind: Kind, given: list[str]) -> list[str]:
        return [f"<{kind}>"]


def parse(command: Command, rest: str):
    return parse_cell(rest) if command is CELL else parse_line(f"{command.name} {rest}")


def offered(command: Command, text: str) -> list[str]:
    line = text if command is CELL else f"{command.name} {text}"
    return complete(line, Nothing(), cell=command is CELL).words


def minimal(command: Command) -> str:
    return " ".join("x" for argument in command.arguments if argument.required)


@pytest.mark.parametrize("command", EVERYTHING, ids=lambda one: one.name or "cell")
class TestAgreement:
    def test_every_option_is_parsed(self, command: Command) -> None:
        for option in command.options:
            value = "" if option.kind == "flag" else SAMPLES.get(option.kind, "word")
            values = parse(command, f"{minimal(command)} {option.name} {value}").values
            assert option.key in values

    def test_every_option_is_completed(self, command: Command) -> None:
        assert offered(command, minimal(command) + " --") == [o.name for o in command.options]

    def test_every_option_and_argument_is_in_its_help(self, command: Command) -> None:
        text = describe(command)
        for part in (*command.options, *command.arguments):
            assert part.name in text
            assert part.help in text
        assert command.help in text
        assert command.python in text

    def test_the_usage_names_everything(self, command: Command) -> None:
        shown = re.findall(r"--[\w-]+", command.usage)
        assert sorted(shown) == sorted(option.name for option in command.options)
        assert command.usage in docstring()

    def test_unknown_options_are_refused(self, command: Command) -> None:
        # In front, where even a command that takes the rest of the line as text reads options.
        if command.name == "help":  # it gives help on options: the next test but one
            return
        with pytest.raises(Mistake, match="has no option '--nonsense'"):
            parse(command, f"--nonsense {minimal(command)}")

    def test_the_example_works(self, command: Command) -> None:
        first = command.example.split("\n")[0]
        line = first.partition("%steer ")[2]
        assert (parse_cell(line) if command is CELL else parse_line(line)).command is command

    def test_exclusive_options_exclude_each_other_everywhere(self, command: Command) -> None:
        for keys in command.exclusive:
            options = [option for option in command.options if option.key in keys]
            for one, other in itertools.permutations(options, 2):
                line = f"{minimal(command)} {one.form} "
                with pytest.raises(Mistake, match="exclude each other"):
                    parse(command, line + other.form)
                assert other.name not in offered(command, line + "--")


def test_the_subcommands_are_those_of_the_design() -> None:
    words = (
        "connect open send cancel pending lanes status show frame timeline wait save export load "
    )
    words += "replay recover check resume again drop nest close help"
    assert " ".join(COMMANDS) == words


def test_subcommands_are_completed_and_in_the_overview() -> None:
    assert complete("", Nothing()).words == list(COMMANDS)
    assert complete("s", Nothing()).words == ["send", "status", "show", "save"]
    for command in COMMANDS.values():
        assert command.name in overview()
        assert command.help in overview()


def test_help_on_an_option_as_one_types_it() -> None:
    assert parse_line("help --tools").values == {"word": "--tools"}
    with pytest.raises(Mistake, match="no help on '--nonsense'"):
        topic(parse_line("help --nonsense").get("word"))


@pytest.mark.parametrize("word", ["open", "--tools", "tools", "%%steer", "%steer", "%steer open"])
def test_help_on_a_word(word: str) -> None:
    assert "steer" in topic(word)


def test_help_on_nothing_known_names_the_nearest() -> None:
    with pytest.raises(Mistake, match=r"Did you mean connect\?"):
        topic("conect")


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("send planner Keep {x} and $y  as is; 'so'", "Keep {x} and $y  as is; 'so'"),
        ("send planner   --wait is text here", "--wait is text here"),
        ('send planner "quoted"', '"quoted"'),
        ("send wait hello", "hello"),
    ],
)
def test_send_takes_its_text_exactly_as_written(line: str, values: str) -> None:
    assert parse_line(line).get("text") == values


@pytest.mark.parametrize(
    ("rest", "key", "value"),
    [
        ('--instructions "Be brief."', "instructions", "Be brief."),
        ("--instructions='Be \"very\" brief.'", "instructions", 'Be "very" brief.'),
        (r'--instructions "a \"b\" c"', "instructions", 'a "b" c'),
        ("--instructions don't", "instructions", "don't"),
        ('--instructions "--model"', "instructions", "--model"),
        (r'--model "C:\dir x\" --tools a', "model", "C:\\dir x\\"),
        ("--tools a, b,c --tools d", "tools", ["a", "b", "c", "d"]),
        ('--set text={"a": "x y"} --model m', "set", {"text": {"a": "x y"}}),
        ("--set 'text={\"a\": 1}'", "set", {"text": {"a": 1}}),
        ('--set=service_tier="flex"', "set", {"service_tier": "flex"}),
        ("--set a=1 --set b=[1, 2]", "set", {"a": 1, "b": [1, 2]}),
    ],
)
def test_quoting(rest: str, key: str, value: object) -> None:
    assert parse_line(f"open planner {rest}").get(key) == value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("opne planner", "Did you mean open?"),
        ("open", "needs LANE"),
        ("open planner --tool f", "Did you mean --tools?"),
        ("open planner again", "no place for 'again'"),
        ("open ''", "LANE is empty"),
        ("open planner --model", "--model needs a value"),
        ("open planner --model --tools f", "--model needs a value"),
        ("open planner --model a --model b", "given twice"),
        ("open planner --tools ,", "needs a name"),
        ('open planner --instructions "Be', "not closed"),
        ("open planner --set tier=flex", 'Text goes in quotes: --set tier="flex"'),
        ("open planner --set tier", "takes KEY=JSON"),
        ("open planner --set a=NaN", "no JSON"),
        ("connect --no-journal=yes", "takes no value"),
        ("connect ws://x --simulate", "exclude each other"),
        ("connect --speed fast", "a number"),
        ("connect --speed nan", "a number"),
        ("connect --seed 1.5", "a whole number"),
        ("wait --timeout -3", "0 or more"),
        ("send planner", "needs TEXT"),
        ("lanes all", "no place for 'all'"),
    ],
)
def test_mistakes_are_told_in_one_line(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        parse_line(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line", ["status;", "status ;", "frame steers;", "wait trip --timeout 3; "]
)
def test_a_semicolon_silences_where_no_text_is_sent(line: str) -> None:
    assert parse_line(line).silenced
    assert not parse_line(line.replace(";", "")).silenced
    assert not parse_line("send trip x;").silenced


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("connect                 # OpenAI, or the simulator; it says which", {}),
        ("frame steers lisbon # don't", {"name": "steers", "lane": "lisbon"}),
        ('open trip --model m; # "unclosed', {"lane": "trip", "model": "m"}),
        ("open trip --tools a, # and more", {"lane": "trip", "tools": ["a"]}),
        ('open trip --set text={"a": "x # y;"} # z', {"lane": "trip", "set": {"text": ANY}}),
        ("open trip --instructions 'No # here;'", {"lane": "trip", "instructions": "No # here;"}),
        ("connect http://x/#part", {"url": "http://x/#part"}),
        ("send trip # this is text;", {"lane": "trip", "text": "# this is text;"}),
        ("send trip #1 first", {"lane": "trip", "text": "#1 first"}),
    ],
)
def test_a_comment_ends_a_line_but_not_a_text(line: str, values: dict[str, Any]) -> None:
    assert parse_line(line).values == values
    assert parse_line(line).silenced is (line.count("; #") == 1)


def test_nothing_is_completed_in_a_comment() -> None:
    assert offered(COMMANDS["open"], "trip # --m") == []
    assert offered(COMMANDS["open"], "trip --m") == ["--model"]


def test_a_comment_behind_a_cell_magic_is_none_of_its_text() -> None:
    assert parse_cell("trip --wait # then look").values == {"lane": "trip", "wait": True}


def test_a_subcommand_in_a_cell_magic_is_a_lane_and_more_is_explained() -> None:
    assert parse_cell("wait").values == {"lane": "wait"}
    assert parse_cell("").values == {}
    with pytest.raises(Mistake, match="'planner' is too much"):
        parse_cell("send planner")


@pytest.mark.parametrize(
    ("text", "words", "fragment"),
    [
        ("open planner --model ", ["<model>"], ""),
        ("open planner --tools a,", ["<tools>"], ""),
        ("open planner --tools a, ", ["<tools>"], ""),
        ("open planner --tools=", ["<tools>"], ""),
        ("frame ", ["<frame>"], ""),
        ("frame events --columns EventCore+", ["<columns>"], ""),
        ("frame events ", ["<lane>", "--columns"], ""),
        ("wait ", ["<lane>", "--timeout"], ""),
        ("send planner some te", [], "te"),
        ("connect --simulate ", ["<scenario>"], ""),
        ("help ", ["<word>"], ""),
        ("nonsense ", [], ""),
    ],
)
def test_values_are_completed(text: str, words: list[str], fragment: str) -> None:
    offer = complete(text, Nothing())
    assert (offer.words, offer.fragment) == (words, fragment)


@pytest.mark.parametrize("text", ["save ", "load run", "connect --journal x"])
def test_files_are_left_to_ipython(text: str) -> None:
    assert complete(text, Nothing()).files
