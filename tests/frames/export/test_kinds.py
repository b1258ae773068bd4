"""The exports by their names: from the command line, and by the magic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from steer_nb import frames as f
from steer_nb.cli import main
from steer_nb.errors import InvalidInput
from steer_nb.frames.export import KINDS, export_as
from tests.frames.export.played import played
from tests.frames.export.test_otel import Collector

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two traces on disk."""
    return [played(name).save(tmp_path / f"{name}.jsonl") for name in ("planner", "seven")]


def test_each_kind_says_what_was_written(tmp_path):
    trace = played("seven")
    said = [export_as(trace, kind, tmp_path / f"{kind}.x") for kind in KINDS]
    assert said[0].endswith("parquet.x: 11 files")
    assert said[1].endswith("csv.x: 11 files")
    assert "messages" in said[2]
    assert "left out: reasoning" in said[2]
    assert said[4].endswith("spans")
    with pytest.raises(InvalidInput, match="one of parquet, csv, messages, chat, otel"):
        export_as(trace, "xlsx", tmp_path / "x")


class TestCommandLine:
    def test_tables_to_a_folder(self, files, tmp_path, capsys):
        out = tmp_path / "out"
        assert main(["frames", files[0], "--to", str(out)]) == 0
        assert "11 files" in capsys.readouterr().out
        assert set(f.read_parquet(out)) == set(f.TABLES)
        assert main(["frames", files[0], "--frame", "summary", "--to", str(tmp_path / "s")]) == 0
        assert [path.name for path in (tmp_path / "s").iterdir()] == ["summary.parquet"]

    def test_what_is_shown_is_redacted_too(self, files, capsys):
        assert main(["frames", files[0], "--frame", "responses", "--redact"]) == 0
        assert "characters]" in capsys.readouterr().out
        assert main(["frames", files[0], "--frame", "items", "--mask", "Lisbon"]) == 0
        assert "Lisbon" not in capsys.readouterr().out

    def test_a_file_is_redacted(self, files, tmp_path):
        path = tmp_path / "responses.csv"
        to = ["--frame", "responses", "--to", str(path)]
        assert main(["frames", files[0], *to, "--redact"]) == 0
        assert pd.read_csv(path)["output_text"].str.endswith("characters]").all()

    def test_parquet_and_csv(self, files, tmp_path, capsys):
        tables = ["--table", "steers", "--table", "events:EventCore+EventDelta"]
        for form in ("parquet", "csv"):
            assert main(["export", files[0], f"--{form}", str(tmp_path / form), *tables]) == 0
            names = sorted(path.stem for path in (tmp_path / form).iterdir())
            assert names == ["events", "steers"]
        assert "delta_text" in pd.read_csv(tmp_path / "csv" / "events.csv", nrows=1)
        assert capsys.readouterr().out.count("2 files") == 2

    def test_several_traces_become_a_dataset(self, files, tmp_path, capsys):
        assert main(["export", *files, "--parquet", str(tmp_path / "all"), "--redact"]) == 0
        assert "22 files" in capsys.readouterr().out
        assert len(f.read_table(tmp_path / "all", "traces")) == 2
        assert main(["export", *files, "--csv", str(tmp_path / "csv")]) == 0
        assert len(pd.read_csv(tmp_path / "csv" / "traces.csv")) == 2
        assert main(["export", str(tmp_path / "*.jsonl"), "--parquet", str(tmp_path / "more")]) == 0
        assert len(f.read_table(tmp_path / "more", "traces")) == 2

    def test_messages(self, files, tmp_path):
        for form in ("messages", "chat"):
            path = tmp_path / f"{form}.json"
            assert main(["export", files[0], f"--{form}", str(path), "--lane", "a"]) == 0
            said = json.loads(path.read_text("utf-8"))
            assert said[form == "chat"]["role"] == "user"

    def test_spans(self, files, tmp_path, capsys):
        path = tmp_path / "spans.jsonl"
        assert main(["export", files[0], "--otlp-file", str(path)]) == 0
        assert "gen_ai.input.messages" not in path.read_text("utf-8")
        assert main(["export", files[0], "--otlp-file", str(path), "--content"]) == 0
        assert "gen_ai.input.messages" in path.read_text("utf-8")
        with Collector() as collector:
            assert main(["export", *files, "--otlp", collector.url]) == 0
            (request,) = collector.requests
        spans = request.resource_spans[0].scope_spans[0].spans
        assert len({span.trace_id for span in spans}) == 2

    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            (["TRACE", "--parquet", "TRACE"], 1, "cannot be made"),
            (["TRACE", "OTHER", "--messages", "x"], 1, "A conversation is of one trace"),
            (["TRACE", "--otlp", "localhost:4318"], 2, "http or https address"),
            (["TRACE", "--csv", "x", "--table", "steer"], 1, "Did you mean 'steers'?"),
            (["TRACE", "--messages", "x.json", "--lane", "b"], 1, "no lane 'b'"),
            (["none.jsonl", "--csv", "x"], 1, "none.jsonl"),
        ],
    )
    def test_errors_are_one_line(self, files, arguments, code, said, capsys):
        known = dict(zip(("TRACE", "OTHER"), files, strict=True))
        assert main(["export", *(known.get(one, one) for one in arguments)]) == code
        errors = capsys.readouterr().err
        assert said in errors
        assert len(errors.strip().splitlines()) == 1

    @pytest.mark.parametrize("arguments", [[], ["--redact", "--mask", "x", "--csv", "x"]])
    def test_wrong_calls(self, files, arguments, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["export", files[0], *arguments])
        assert ended.value.code == 2


def test_the_magic_exports_the_session(tmp_path):
    shell = InteractiveShell()

    def run(line: str) -> None:
        shell.run_cell(line).raise_error()

    try:
        run("%load_ext steer_nb")
        run("%steer connect --simulate planner --speed 0 --no-journal")
        run("%steer open a")
        run("%steer send a Plan a trip.")
        run("%steer wait a --timeout 30")
        run("%steer export parquet out --redact")
        run("%steer export messages said.json a")
        run("%steer export otel spans.jsonl --content")
        with pytest.raises(UsageError, match="one of parquet, csv, messages, chat, otel"):
            run("%steer export xlsx out")
    finally:
        run("%steer close")
        run("%unload_ext steer_nb")
    assert f.read_table("out", "responses")["output_text"][0].endswith("characters]")
    with open("said.json", encoding="utf-8") as file:  # noqa: PTH123
        assert json.load(file)[0]["content"] == "Plan a trip."
    assert (tmp_path / "spans.jsonl").exists()
