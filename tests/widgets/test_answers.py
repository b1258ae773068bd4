"""What was asked as a table, what was answered with labels: also where no style sheet is."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.widgets.answers import answer_box, answer_text, drawn
from steer_nb.widgets.arguments import arguments_table
from steer_nb.widgets.calls import call_body
from steer_nb.widgets.forms import pending_forms
from steer_nb.widgets.render import frame
from tests.widgets.forming import fill_all, only, until
from tests.widgets.test_hostile import HOSTILE, check

if TYPE_CHECKING:
    from steer_nb import Lane, Session

PNG = "data:image/png;base64," + base64.b64encode(b"x" * 93_000).decode()
SHELL = {
    "type": "shell_call_output",
    "output": [
        {"stdout": "lisbon.md\n", "stderr": "", "outcome": {"type": "timeout"}},
        {"stdout": "", "stderr": "no such thing", "outcome": {"type": "exit", "exit_code": 3}},
        {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    ],
}
CALL = {"type": "shell_call", "action": {"commands": ["ls trips/", "cat x", "true"]}}


def told(html: str) -> str:
    """The text of HTML as a page without a style sheet has it: breaks are where `pre` has them."""
    return re.sub(r"<[^>]*>", "", html)


def test_arguments_are_a_table_with_the_json_in_a_fold() -> None:
    html = arguments_table(json.dumps({"text": "one\ntwo", "days": 2, "tags": ["a"], "s": "2"}))
    assert "<pre>one\ntwo</pre>" in html
    cells = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', html, re.DOTALL))
    assert (cells["days"], cells["s"], cells["tags"]) == ("2", "&quot;2&quot;", "[&quot;a&quot;]")
    assert "<summary>as JSON</summary>" in html
    assert "one\\ntwo" in html


@pytest.mark.parametrize("value", ["so long " * 200, "a\n" * 20, [{"a": n} for n in range(20)]])
def test_a_tall_argument_scrolls_and_is_reached_without_a_mouse(value: object) -> None:
    html = arguments_table(json.dumps({"why": value, "path": "/srv/old.log"}))
    cells = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', html, re.DOTALL))
    assert cells["why"].startswith('<pre tabindex="0">')
    assert cells["path"] == "&quot;/srv/old.log&quot;"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"path": "a", "path": "b"}', '{"path": "a", "path": "b"}'),
        ('{"city": "Lis', '{"city": "Lis'),
        ("[1, 2]", "[1, 2]"),
        ("{}", "no arguments"),
        ('{"a": ' * 5000, "more characters are not shown"),
        ('{"a":"' + "x" * 20_000 + '"}', "more characters are not shown"),
    ],
    ids=["a name twice", "not complete", "no object", "nothing", "deep", "long"],
)
def test_what_no_table_can_show_is_shown_as_it_is(text: str, shown: str) -> None:
    html = arguments_table(text)
    assert "<table" not in html
    assert shown in told(html).replace("&quot;", '"')


def test_free_text_that_looks_like_json_stays_as_it_is() -> None:
    call = {"type": "custom_tool_call", "input": '{"a": 1}'}
    assert told(call_body(call, table=True)) == "{&quot;a&quot;: 1}"


@pytest.mark.parametrize("name", HOSTILE)
def test_arguments_are_text_and_nothing_else(name: str) -> None:
    text = HOSTILE[name]
    check(frame(arguments_table(json.dumps({text: text, "x": [{text: text + "\n" + text}]})), "x"))
    check(frame(arguments_table(text), "x"))


def test_each_command_stands_with_its_own_streams_and_end() -> None:
    assert answer_text(SHELL, CALL).split("\n") == [
        *("$ ls trips/", "stdout", "lisbon.md", "timed out", ""),
        *("$ cat x", "stderr", "no such thing", "exit 3", ""),
        *("$ true", "no output", "exit 0"),
    ]
    assert told(answer_box(SHELL, CALL)) == answer_text(SHELL, CALL)
    assert "command 2" in answer_text(SHELL), "without the call they are numbered"


def test_a_screenshot_is_drawn_where_it_is_kept_and_described_where_it_is_painted_often() -> None:
    checks = [{"id": "c", "code": "sensitive", "message": "Look."}]
    shot = {"type": "computer_screenshot", "image_url": PNG}
    item = {"type": "computer_call_output", "output": shot, "acknowledged_safety_checks": checks}
    assert "<img" not in answer_box(item)
    html = answer_box(item, pictures=True)
    assert 'alt="screenshot: image/png, 93 kB"' in html
    assert '<span class="snb-run">✓ acknowledged: sensitive: Look.</span>' in html
    assert answer_text(item).startswith("screenshot: image/png, 93 kB\n")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        "data:image/svg+xml;base64,PHN2Zz4=",
        'data:image/png;base64,"><script>',
        "data:text/html;base64,PGI+",
    ],
)
def test_nothing_but_a_picture_that_is_here_is_drawn(url: str) -> None:
    assert drawn(url, "screenshot", 1000) == ""
    assert drawn(PNG, "screenshot", 1000) == "", "too long"


def test_the_record_says_what_was_asked_and_answered_once(seven: tuple[Session, Lane]) -> None:
    session, lane = seven
    forms = pending_forms(session)
    form = only(session)
    fill_all(form)
    until(lambda: all(asked.state == "filled" for asked in lane.required_input))
    assert "answered, not sent" in forms._repr_mimebundle_()["text/html"]
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    bundle: dict[str, Any] = forms._repr_mimebundle_()
    html, text = bundle["text/html"], bundle["text/plain"]
    assert ">sent<" not in html, "the last line says it for all"
    committed = form.facts.note.rpartition(" ")[2]
    assert committed in form.facts.note
    assert committed not in html, "shortened, as in the head"
    assert "<img" in html
    assert "▲" not in html, "what was acknowledged warns no more"
    assert html.count('role="heading"') == 7
    for said in ("    → on time", "→ $ ls trips/", "      stdout\n      lisbon.md", "→ approved"):
        assert said in text
