"""What is scanned is what is loaded, to the last word; and nothing is read before."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steer_nb
from steer_nb.errors import (
    InvalidInput,
    MissingExtra,
    TraceError,
    UnknownColumn,
    UnknownFrame,
    UnknownLane,
)
from steer_nb.frames import FRAME_NAMES, METRICS, TABLES, EventCore, EventDelta
from steer_nb.frames.scan.parts import Recorded
from steer_nb.frames.scan.places import grouped
from tests.frames.scan.folders import EVERY, PRICES, assert_same, filled, named, words
from tests.frames.scan.workers import alive, traces_kept
from tests.frames.walks import WALKS
from tests.support.traces import TraceBuilder

SIZES = {"each file alone": 1, "some": 20_000, "all in one": "32 MiB"}
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "traces"


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("scan") / "runs")


@pytest.fixture(scope="module")
def loaded(folder):
    return steer_nb.load(folder, progress=False)


class TestEqual:
    @pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
    def test_every_frame_is_that_of_load(self, folder, loaded, size):
        runs = steer_nb.scan(folder, partition_size=size)
        lazy = {name: runs.frames.table(name, columns) for name, columns in EVERY.items()}
        lazy |= {name: runs.frame(name) for name in FRAME_NAMES if name not in TABLES}
        lazy["wide"] = runs.frames.wide()
        lazy["priced"] = runs.metrics.usage(PRICES)
        lazy["summary of prices"] = runs.summary(prices=PRICES, stall_s=0.01)
        assert all(isinstance(frame, dd.DataFrame) for frame in lazy.values())
        found = dict(zip(lazy, dask.compute(*lazy.values()), strict=True))
        for name, columns in EVERY.items():
            assert_same(found.pop(name), loaded.frames.table(name, columns), name)
        assert_same(found.pop("wide"), loaded.frames.wide(), "wide")
        assert_same(found.pop("priced"), loaded.metrics.usage(PRICES), "usage")
        summary = loaded.summary(prices=PRICES, stall_s=0.01)
        assert_same(found.pop("summary of prices"), summary, "summary")
        assert set(found) == {"summary", *(f"metrics.{name}" for name in METRICS)}
        for name, frame in found.items():
            assert len(frame)
            assert_same(frame, loaded.frame(name), name)

    def test_the_folder_has_all_that_is_odd(self, loaded):
        """Else the test above would show little."""
        kinds = Counter(problem.kind for problem in loaded.problems)
        assert kinds["same_trace"] == 5
        assert {"unknown_kind", "truncated", "bad_json", "unknown_type"} <= set(kinds)
        assert len(loaded.frames.events["type"].cat.categories) > len(
            EventCore["type"].dtype.categories
        )
        assert all(len(frame) for frame in map(loaded.frames.table, TABLES))

    @pytest.mark.parametrize("lane", ["a", "(default)"])
    def test_a_lane(self, folder, loaded, lane):
        runs = steer_nb.scan(folder, partition_size=20_000)
        names = ["events", "items", "wide", "summary", *(f"metrics.{name}" for name in METRICS)]
        lazy = [runs.frame(name, lane=lane) for name in names]
        for name, frame in zip(names, dask.compute(*lazy), strict=True):
            # Dask does not ask empty partitions which words there are.
            assert_same(without_words(frame), without_words(loaded.frame(name, lane=lane)), name)

    def test_differences(self, folder, loaded):
        other = steer_nb.load(folder / "b_planner.jsonl")
        runs = steer_nb.scan(folder, partition_size=20_000)
        one = steer_nb.scan(folder / "b_planner.jsonl")
        expected = loaded.diff(other, prices=PRICES)
        assert not expected.same
        for found in (runs.diff(other, prices=PRICES), runs.diff(one, prices=PRICES)):
            for name in ("summary", "responses", "calls", "steers"):
                assert_same(getattr(found, name), getattr(expected, name), name)
            assert repr(found) == repr(expected)
        assert runs.diff(runs).same

    def test_a_lane_that_no_trace_has(self, folder):
        runs = steer_nb.scan(folder, partition_size=1)
        assert len(runs.frame("events", lane="none").compute()) == 0
        with pytest.raises(UnknownLane, match="not about lanes"):
            runs.frame("traces", lane="a")

    @pytest.mark.parametrize(
        "columns", [EventCore + EventDelta, "EventDelta + seq", ["type"], ("bytes", "event_id")]
    )
    def test_groups_of_columns(self, folder, loaded, columns):
        frame = steer_nb.scan(folder, partition_size=20_000).frames.table("events", columns)
        expected = loaded.frames.table("events", columns)
        assert list(frame.columns) == list(expected.columns)
        assert_same(frame.compute(), expected, "events")

    def test_paths_of_every_form(self, folder):
        pattern = str(folder / "**" / "*.jsonl")
        several = [folder / "deep", folder / "none.jsonl", pattern, folder / "deep" / "e.sse"]
        for path in (pattern, several):
            expected = steer_nb.load(path, progress=False)
            runs = steer_nb.scan(path, partition_size=1)
            assert set(expected.files) <= set(runs.files)
            for name in ("problems", "traces", "responses"):
                assert_same(runs.frames[name].compute(), expected.frames[name], name)

    def test_one_file_is_a_set_of_one(self, folder):
        trace = steer_nb.load(folder / "a_seven.jsonl")
        runs = steer_nb.scan(folder / "a_seven.jsonl")
        assert (runs.npartitions, runs.files) == (1, (str(folder / "a_seven.jsonl"),))
        for name, columns in EVERY.items():
            assert_same(
                runs.frames.table(name, columns).compute(), trace.frames.table(name, columns), name
            )

    def test_relative_names_stay_so_and_lead_to_the_same_files(self, folder, monkeypatch, tmp_path):
        monkeypatch.chdir(folder.parent)
        expected = steer_nb.load("runs", progress=False)
        runs = steer_nb.scan("runs", partition_size=20_000)
        monkeypatch.chdir(tmp_path)
        for name in ("traces", "problems", "lanes"):
            assert_same(runs.frames[name].compute(), expected.frames[name], name)

    @settings(deadline=None, max_examples=5)
    @given(st.data())
    def test_any_traces_in_any_parts(self, tmp_path_factory, data):
        """Files of two traces at most: some hold the beginning of another, or are of its id."""
        place = tmp_path_factory.mktemp("walks")
        walks = data.draw(st.lists(WALKS, min_size=1, max_size=2))
        for number in range(data.draw(st.integers(2, 5))):
            trace = data.draw(st.sampled_from(walks)).trace
            entries = trace.entries[: data.draw(st.integers(0, len(trace)))]
            trace_id = data.draw(st.sampled_from("ab")) * 32
            named(trace, trace_id, entries).save(place / f"{number}.jsonl")
        expected = steer_nb.load(place)
        runs = steer_nb.scan(place, partition_size=data.draw(st.sampled_from([1, 3000])))
        lazy = [*map(runs.frames.table, EVERY, EVERY.values()), runs.summary()]
        *found, summary = dask.compute(*lazy)
        for name, frame in zip(EVERY, found, strict=True):
            assert_same(frame, expected.frames.table(name, EVERY[name]), name)
        assert_same(summary, expected.summary(), "summary")

    @pytest.mark.corpus
    @pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recordings at {CORPUS}")
    def test_recordings_of_others(self):
        parts = [CORPUS / name for name in ("synthetic", "simonw-llm", "langsmith-sdk")]
        expected = steer_nb.load(parts, progress=False)
        runs = steer_nb.scan(parts, partition_size="20 kB")
        assert runs.npartitions > 3
        lazy = [*map(runs.frames.table, EVERY, EVERY.values()), runs.summary()]
        *found, summary = dask.compute(*lazy)
        for name, frame in zip(EVERY, found, strict=True):
            assert_same(frame, expected.frames.table(name, EVERY[name]), name)
        assert_same(summary, expected.summary(), "summary")


class TestDtypes:
    def test_meta_says_what_comes(self, folder):
        frames = steer_nb.scan(folder, partition_size=20_000).frames
        for name, columns in EVERY.items():
            lazy = frames.table(name, columns)
            assert list(lazy.columns) == list(columns.names)
            for column in columns:
                if column.open:
                    assert not lazy[column.name].cat.known
                else:
                    assert lazy.dtypes[column.name] == column.dtype

    def test_empty_tables_have_them_too(self, tmp_path):
        (tmp_path / "notes.txt").write_text("Nothing.")
        (tmp_path / "more.txt").write_text("Nothing at all.")
        loaded = steer_nb.load(tmp_path)
        runs = steer_nb.scan(tmp_path, partition_size=1)
        for name, columns in EVERY.items():
            assert_same(
                runs.frames.table(name, columns).compute(), loaded.frames.table(name, columns), name
            )
        for name in (*(f"metrics.{one}" for one in METRICS), "summary"):
            assert_same(runs.frame(name).compute(), loaded.frame(name), name)
        assert len(runs.problems.compute()) == 2

    @pytest.mark.parametrize("convert", [True, False])
    def test_whether_dask_would_convert_text_or_not(self, folder, loaded, convert):
        with dask.config.set({"dataframe.convert-string": convert}):
            frames = steer_nb.scan(folder, partition_size=20_000).frames
            assert_same(frames.responses.compute(), loaded.frames.responses, "responses")
            joined = frames.steers.merge(
                frames.responses,
                left_on=["trace_id", "parent_response_id"],
                right_on=["trace_id", "response_id"],
            )
            assert joined.dtypes["model"] == loaded.frames.responses.dtypes["model"]
            assert len(joined.compute()) == len(loaded.frames.steers)

    def test_words_of_all_partitions_are_counted(self, folder, loaded):
        frames = steer_nb.scan(folder, partition_size=1).frames
        found = frames.events.groupby("type", observed=True).size().compute()
        expected = loaded.frames.events["type"].dropna().astype(str).value_counts()
        assert found.to_dict() == expected.to_dict()


class TestLazy:
    def test_nothing_is_read_before_it_is_computed(self, folder, tmp_path):
        """What is read is what stands there then: at first it was none of it."""
        place = tmp_path / "runs"
        shutil.copytree(folder, place)
        files = [file for file in place.rglob("*") if file.is_file()]
        for file in files:
            file.write_bytes(b"nothing yet")
        runs = steer_nb.scan(place, partition_size=1)
        lazy = [runs.frames.responses, runs.metrics.responses, runs.summary(), runs.frames.wide()]
        assert all(map(repr, (runs, runs.frames, runs.metrics, *lazy)))
        shutil.copytree(folder, place, dirs_exist_ok=True)
        loaded = steer_nb.load(place, progress=False)
        responses, measured, summary, wide = dask.compute(*lazy)
        assert len(responses) == len(measured) == len(loaded.frames.responses)
        assert_same(measured, loaded.metrics.responses, "metrics.responses")
        assert_same(summary, loaded.summary(), "summary")
        assert len(wide) == len(loaded.frames.events)

    def test_files_that_are_gone_are_problems(self, folder, tmp_path):
        place = tmp_path / "runs"
        shutil.copytree(folder, place)
        runs = steer_nb.scan(place, partition_size=20_000)
        shutil.rmtree(place)
        problems, events = dask.compute(runs.problems, runs.frames.events)
        assert len(events) == 0
        assert problems["file"].tolist() == list(runs.files)
        assert set(problems["kind"]) == {"unreadable"}

    @pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
    def test_a_file_is_decoded_once_for_several_tables(self, folder, opened, scheduler):
        runs = steer_nb.scan(folder)
        frames = [runs.frames.table(name) for name in TABLES]
        lazy = [*frames, runs.metrics.gaps, runs.metrics.responses, runs.summary()]
        opened.clear()
        dask.compute(*lazy, scheduler=scheduler)
        assert opened == dict.fromkeys(runs.files, 1)
        # In several partitions, files are also asked for their ids; those of one trace compared.
        runs = steer_nb.scan(folder / "deep", partition_size=1)
        opened.clear()
        dask.compute(runs.frames.events, runs.frames.responses, runs.summary(), scheduler=scheduler)
        assert opened == dict.fromkeys(runs.files, 2)

    def test_traces_are_let_go(self, tmp_path):
        for number in range(6):
            trace = words("x.one")
            trace.header = type(trace.header)(1, f"{number:032x}")
            trace.save(tmp_path / f"{number}.jsonl")
        runs = steer_nb.scan(tmp_path, partition_size=1)
        events = runs.frames.events.map_partitions(alive, meta={"alive": "int64"})
        lanes = runs.frames.lanes.map_partitions(alive, meta={"alive": "int64"})
        counts = pd.concat(dask.compute(events, lanes))
        assert len(counts) == 12
        assert 1 <= counts["alive"].max() <= 2  # of six
        assert alive(None)["alive"][0] == 0

    def test_what_is_left_of_them_is_taken_away(self, tmp_path):
        """Python alone would keep some traces of this size until there are many more."""
        builder = TraceBuilder().connect().created("r1")
        builder.delta("x" * (12 << 20))
        for number in range(8):
            named(builder.trace, f"{number:032x}").save(tmp_path / f"{number}.jsonl")
        frame = steer_nb.scan(tmp_path, partition_size=1).frames.table("events", "seq")
        counts = frame.map_partitions(traces_kept, meta={"kept": "int64"}).compute()
        assert len(counts) == 8
        assert counts["kept"].max() <= 4

    def test_only_names_travel(self, folder):
        part = Recorded([str(folder / "a_seven.jsonl")], "", False, {}).read()
        assert dask.sizeof.sizeof(part) > (folder / "a_seven.jsonl").stat().st_size
        sent = pickle.dumps(part)
        assert len(sent) < 500
        assert_same(pickle.loads(sent).table("events"), part.table("events"), "events")

    def test_a_file_that_has_changed_is_another(self, folder, tmp_path):
        shutil.copy(folder / "a_seven.jsonl", tmp_path)
        names = [steer_nb.scan(tmp_path).frames.events._name for _ in range(2)]
        shutil.copy(folder / "b_planner.jsonl", tmp_path / "a_seven.jsonl")
        assert names[0] == names[1] != steer_nb.scan(tmp_path).frames.events._name

    def test_small_files_are_put_together(self):
        assert grouped([(n, 0) for n in range(600)], 8) == [
            list(range(256)),
            list(range(256, 512)),
            list(range(512, 600)),
        ]
        assert grouped([("large", 99), ("small", 1), ("more", 1)], 8) == [
            ["large"],
            ["small", "more"],
        ]
        assert grouped([], 8) == []


def without_words(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))


_OPENED: list[Counter[str]] = []
_HOOKED: list[bool] = []


def _hook(event: str, args: tuple) -> None:
    if event == "open" and _OPENED:
        _OPENED[-1][str(args[0])] += 1


@pytest.fixture
def opened(folder):
    """How often each file of the folder was opened."""
    if not _HOOKED:  # a hook cannot be taken away again
        sys.addaudithook(_hook)
        _HOOKED.append(True)
    _OPENED.append(_Only(str(folder)))
    yield _OPENED[-1]
    _OPENED.clear()


class _Only(Counter):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def __setitem__(self, name: str, count: int) -> None:
        if name.startswith(self.folder):
            super().__setitem__(name, count)


class TestStrict:
    @pytest.mark.parametrize(
        ("pattern", "match"),
        [
            ("*odd*", r"m_odd\.jsonl, line 5"),
            ("[ko]_*", "no steer_nb trace"),
            ("[in]_*", "same trace as"),
        ],
    )
    def test_the_first_that_is_odd_raises(self, folder, pattern, match):
        runs = steer_nb.scan(str(folder / pattern), strict=True, partition_size=1)
        with pytest.raises(TraceError, match=match):
            runs.frames.events.compute()
        with pytest.raises(TraceError, match=match):
            steer_nb.load(str(folder / pattern), strict=True)

    def test_what_is_whole_does_not(self, folder, loaded):
        runs = steer_nb.scan([folder / "a_seven.jsonl", folder / "b_planner.jsonl"], strict=True)
        assert len(runs.frames.traces.compute()) == 2


class TestRefused:
    def test_an_engine_that_is_not_there(self, folder):
        with pytest.raises(
            InvalidInput, match=r"no engine 'pandas': there is 'dask'.*steer_nb\.load"
        ):
            steer_nb.scan(folder, engine="pandas")

    @pytest.mark.parametrize("size", [0, -1, "much", True, None, 0.5])
    def test_a_size_that_is_none(self, folder, size):
        with pytest.raises(InvalidInput, match=r"partition_size is .*a number of bytes"):
            steer_nb.scan(folder, partition_size=size)

    @pytest.mark.parametrize("path", ["none.jsonl", "none*.jsonl", "empty", []])
    def test_what_is_not_there(self, tmp_path, path):
        (tmp_path / "empty").mkdir()
        with pytest.raises(TraceError, match=r"no file|No file|no files"):
            steer_nb.scan(path)

    def test_names_that_are_none(self, folder):
        runs = steer_nb.scan(folder)
        for ask in (runs.frames.table, runs.metrics.table, runs.frame):
            with pytest.raises(UnknownFrame, match=r"no (frame|metrics) 'step'"):
                ask("step")
        with pytest.raises(UnknownFrame, match=r"Did you mean 'metrics\.gaps'"):
            runs.frame("metrics.gap")
        with pytest.raises(UnknownColumn, match="no groups"):
            runs.frame("summary", "EventCore")
        with pytest.raises(UnknownColumn, match="no column 'no'"):
            runs.frames.table("steers", "no")
        with pytest.raises(InvalidInput, match="stall_s"):
            runs.summary(stall_s=0)
        for ask in (runs.metrics.usage, lambda p: runs.summary(prices=p)):
            with pytest.raises(InvalidInput, match="prices"):
                ask({"m": {}})

    def test_without_dask(self, folder, monkeypatch):
        monkeypatch.setitem(sys.modules, "dask.dataframe", None)
        with pytest.raises(MissingExtra, match=r'pip install "steer-nb\[dask\]"') as raised:
            steer_nb.scan(folder)
        assert raised.value.extra == "dask"


def test_neither_loading_nor_frames_import_dask():
    code = (
        "import sys, steer_nb, steer_nb.frames; steer_nb.load; "
        "print([name for name in ('dask', 'distributed') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_shows_itself(folder):
    runs = steer_nb.scan(folder, partition_size=1)
    n = len(runs.files)
    assert repr(runs) == f"<Scan of {folder}: {n} files in {n} partitions, not read yet>"
    assert f"{n} files" in runs._repr_html_()
    assert "required_inputs" in repr(runs.frames)
    assert runs.frames._repr_html_().count("<tr>") == len(TABLES) + 1
    assert "each a Dask DataFrame" in repr(runs.metrics)
    assert "each a Dask DataFrame" in runs.metrics._repr_html_()
    assert list(runs.metrics) == list(METRICS)
    assert list(runs.frames) == list(runs.frames.names) == list(TABLES)
    assert "events" in runs.frames
    assert len(runs.frames) == len(TABLES)
    odd = steer_nb.scan([folder / "a_seven.jsonl"])
    odd.where = "<b>"
    assert "&lt;b&gt;" in odd._repr_html_()
