"""The charts: what they hold, how they are displayed, and how large they may get."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from steer_nb.cli import main
from steer_nb.errors import InvalidInput, MissingExtra, UnknownLane
from steer_nb.frames import Plot
from steer_nb.frames.plots import timeline_frame
from steer_nb.frames.plots.ordering import in_order
from steer_nb.trace import Entry, Header, Trace, TraceSet
from tests.frames.plots.traces import HOSTILE, Clocked, big, story

alt = pytest.importorskip("altair")
pytest.importorskip("vl_convert")
from PIL import Image  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

MOST_ROWS = 5_000  # Altair's own limit for a layer
MOST_BYTES = 1_000_000
EVERY = {
    "timeline": {},
    "tokens": {},
    "tokens a second": {"per_second": True},
    "gaps": {},
    "gaps by response": {"by_response": True},
    "latencies": {},
}


@pytest.fixture(scope="module")
def told() -> Trace:
    return story()


@pytest.fixture(scope="module")
def crowd() -> Trace:
    return big(100_000)


@pytest.fixture(scope="module")
def timeline(told: Trace) -> Any:
    return told.plot.timeline()


def chart(trace: Trace, name: str) -> Any:
    return getattr(trace.plot, name.split()[0])(**EVERY[name])


def data(made: Any) -> list[list[dict[str, Any]]]:
    return list(made.to_dict().get("datasets", {}).values())


@pytest.mark.parametrize("name", EVERY)
def test_every_picture_stays_small_at_a_hundred_thousand_events(crowd: Trace, name: str) -> None:
    made = chart(crowd, name)
    assert all(len(rows) <= MOST_ROWS for rows in data(made))
    assert len(made.to_json(indent=None)) < MOST_BYTES


def test_what_was_left_out_is_said_above(crowd: Trace) -> None:
    spec = crowd.plot.timeline().to_dict()
    (said,) = spec["title"]["subtitle"]
    assert "responses drawn as" in said
    assert "items" in said
    one = crowd.plot.timeline("lane-1").to_dict()
    assert "subtitle" not in one["title"], "one lane is small enough to be shown whole"


@pytest.mark.parametrize("name", EVERY)
def test_every_picture_is_a_chart_to_change_further(told: Trace, name: str) -> None:
    made = chart(told, name)
    assert "recorded without times" not in made.to_json()
    assert isinstance(made, alt.LayerChart)
    changed = made.properties(width=300).configure_axis(grid=False)
    assert type(changed) is type(made), "it is still displayed our way"
    spec = changed.to_dict()
    assert spec["width"] == 300
    assert spec["config"]["axis"]["grid"] is False
    other = alt.Chart(alt.InlineData(values=[{"a": 1}])).mark_point().encode(x="a:Q")
    for pair in (made | other, made & other):
        assert pair.to_dict()["config"]["background"] == "transparent"
        assert "image/png" in pair._repr_mimebundle_()


@pytest.mark.parametrize("name", EVERY)
def test_nothing_happened_is_a_picture_too(name: str) -> None:
    made = chart(Clocked().trace, name)
    spec = json.dumps(made.to_dict())
    assert "Nothing has happened" in spec or "No " in spec
    assert made._repr_mimebundle_()["image/png"]


def test_the_display_needs_no_network_and_is_known_to_front_ends(timeline: Any) -> None:
    bundle = timeline._repr_mimebundle_()
    # JupyterLab and VS Code draw Vega-Lite up to version 5; neither knows Altair 6's own type.
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "image/png", "text/plain"}
    spec = bundle["application/vnd.vegalite.v5+json"]
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v5")
    assert "url" not in json.dumps({k: v for k, v in spec.items() if k != "$schema"})
    picture = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert picture.width > 1000
    assert picture.convert("RGBA").getpixel((0, 0))[3] == 0, "transparent: any page shows through"
    assert bundle["text/plain"].startswith("<Timeline: 4 lanes, 7 responses, 4 steers")


def test_a_chosen_renderer_is_respected(told: Trace) -> None:
    with alt.renderers.enable("json"):
        assert "application/json" in told.plot.tokens()._repr_mimebundle_()[0]


def test_hostile_words_are_data_only(told: Trace) -> None:
    hostile = story(said=HOSTILE)
    made = hostile.plot.timeline().to_dict()
    spec = {key: value for key, value in made.items() if key != "datasets"}
    assert "pwned" not in json.dumps(spec), "no word of a model is an expression"
    assert "pwned" in json.dumps(made["datasets"])
    keys = {
        key
        for rows in data(hostile.plot.timeline())
        for row in rows
        for key in row.get("hover", ())
    }
    assert not keys & {"image", "title"}, "the tooltip would make a picture or a heading of these"


@pytest.mark.parametrize("kind", ["png", "svg", "html", "json"])
def test_files_without_a_browser(told: Trace, timeline: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"run.{kind}"
    assert told.plot.save(path, timeline) == str(path)
    content = path.read_bytes()
    if kind == "png":
        assert content.startswith(b"\x89PNG")
    elif kind == "svg":
        assert content.startswith(b"<svg")
        assert "مخطط_الرحلة" in content.decode()
    elif kind == "html":
        assert b"vega" in content
        assert b'src="http' not in content, "all scripts are in it"
    else:
        assert json.loads(content)["config"]["background"] == "transparent"


def test_a_wrong_ending_is_refused_before_anything_is_drawn(told: Trace, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must end in \.png, \.svg, \.html, \.json"):
        told.plot.save(tmp_path / "run.pdf")
    assert list(tmp_path.iterdir()) == []


def test_wall_time(told: Trace) -> None:
    spec = told.plot.timeline(wall=True).to_dict()
    starts = {row["x"] for rows in spec["datasets"].values() for row in rows if "x2" in row}
    assert min(starts) == 1_700_000_000_100.0
    unknown = Trace(Header(steer_nb=1, trace_id="0" * 32), told.entries)
    with pytest.raises(InvalidInput, match="does not say when it began"):
        unknown.plot.timeline(wall=True)


def test_a_trace_without_times_is_drawn_in_its_order(told: Trace) -> None:
    entries = [
        Entry(e.seq, None, None, e.kind, e.connection, e.raw, e.note, e.data) for e in told.entries
    ]
    untimed = Trace(told.header, entries)
    for name in EVERY:
        if name != "timeline":
            with pytest.raises(InvalidInput, match="recorded without times"):
                chart(untimed, name)
    with pytest.raises(InvalidInput, match="recorded without times"):
        untimed.plot.timeline(wall=True)
    made = untimed.plot.timeline()
    assert "this recording holds no times" in made.to_json()
    frame = timeline_frame(in_order(untimed.frames))
    timed = timeline_frame(told.frames)
    for kind in ("response", "item", "call"):
        here, there = (f[f["kind"] == kind] for f in (frame, timed))
        columns = ["lane", "response_id", "name", "state", "text"]
        known = [sorted(map(tuple, f[columns].fillna("").to_numpy())) for f in (here, there)]
        assert known[0] == known[1], kind
        assert (here["end_s"] >= here["start_s"]).all()
    assert frame["end_s"].max() == len(told.frames.events) - 1
    assert untimed.frames.events["t_s"].isna().all(), "no time is invented in a table"


def test_untimed_traces_beside_timed_ones_are_counted_in_each_picture(told: Trace) -> None:
    def untimed(trace_id: str) -> Trace:
        entries = [
            Entry(e.seq, None, None, e.kind, e.connection, e.raw, e.note, e.data) for e in told
        ]
        return Trace(Header(1, trace_id), entries)

    silent = Trace(Header(1, "c" * 32))  # nothing happened there, which is no matter of time
    runs = TraceSet([told, untimed("a" * 32), silent])
    more = TraceSet([told, untimed("a" * 32), untimed("b" * 32)])
    for name in EVERY:
        one = chart(runs, name)
        said = "without 1 trace that was recorded without times"
        title = one.to_dict()["title"]
        assert said in str(title.get("subtitle", title["text"])), name
        assert title["text"], "nothing is drawn below an empty title"
        assert said in one.description
        assert "without 2 traces that were" in chart(more, name).to_json()
        alone = chart(TraceSet([told, silent]), name)
        assert "recorded without times" not in alone.to_json()
    trace_id = told.trace_id[:8]
    assert "without" not in str(runs.plot.timeline(f"{trace_id} · planner").title.subtitle)
    assert "without 1 trace" in str(runs.plot.timeline("aaaaaaaa · planner").title.subtitle)


def test_unknown_lanes(told: Trace) -> None:
    for name in ("timeline", "tokens", "gaps", "latencies"):
        with pytest.raises(UnknownLane, match="Lanes: planner"):
            getattr(told.plot, name)("nobody")


def test_without_altair_the_extra_is_named(told: Trace, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    for name in EVERY:
        with pytest.raises(MissingExtra, match=r'pip install "steer-nb\[plot\]"') as caught:
            chart(told, name)
        assert caught.value.extra == "plot"
        assert isinstance(caught.value, ImportError)


def test_without_the_converter_the_picture_is_missing_and_files_say_why(
    told: Trace, monkeypatch: Any, tmp_path: Path
) -> None:
    made = told.plot.tokens()
    find = importlib.util.find_spec
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *a: None if n == "vl_convert" else find(n, *a)
    )
    assert "image/png" not in made._repr_mimebundle_()
    with pytest.raises(MissingExtra, match=r"vl-convert-python: pip install"):
        told.plot.save(tmp_path / "run.png", made)


def test_a_helpful_repr(told: Trace) -> None:
    assert isinstance(told.plot, Plot)
    text, page = repr(told.plot), told.plot._repr_html_()
    for name in ("timeline", "tokens", "gaps", "latencies"):
        assert f"{name}()" in text
        assert f"{name}()" in page
        assert name in dir(told.plot)


def test_the_command_line(told: Trace, tmp_path: Path, capsys: Any) -> None:
    told.save(tmp_path / "run.jsonl")
    run = str(tmp_path / "run.jsonl")
    assert main(["timeline", run, "--to", str(tmp_path / "a.svg"), "--lane", "planner"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a.svg'}: the timeline of {run}\n"
    assert "planner, 4 responses" in (tmp_path / "a.svg").read_text("utf-8")
    assert main(["timeline", run, "--to", str(tmp_path / "a.bmp")]) == 1
    assert "must end in .png" in capsys.readouterr().err
    assert main(["timeline", run, "--to", str(tmp_path / "no" / "a.svg")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert main(["timeline", run, "--to", "a.svg", "--lane", "nobody"]) == 1
    assert "Lanes: planner" in capsys.readouterr().err


def test_an_exported_notebook_shows_them(timeline: Any) -> None:
    """The page that nbconvert makes of a notebook holds the picture itself."""
    from nbconvert import HTMLExporter

    output = nbformat.v4.new_output("execute_result", data=timeline._repr_mimebundle_())
    cell = nbformat.v4.new_code_cell("trace.plot.timeline()", outputs=[output])
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert "data:image/png;base64," in page
    assert "cdn.jsdelivr.net/npm/vega" not in page


def test_the_magic_gives_the_chart() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "run = lambda line: shell.run_line_magic('steer', line)\n"
        "shell.run_line_magic('load_ext', 'steer_nb')\n"
        "run('connect --simulate planner --speed 0 --no-journal')\n"
        "run('open a'); run('send a Hello'); run('wait a --timeout 30')\n"
        "chart = run('timeline a')\nprint(type(chart).__name__, len(chart.layer) > 3)\n"
        "run('close')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-2:][0] == "LayerChart True"
