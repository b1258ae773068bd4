"""From a file, a folder or a pattern to a trace, or to a set of traces."""

from __future__ import annotations

import glob
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from steer_nb.errors import MissingExtra, TraceError
from steer_nb.trace.entries import Problem
from steer_nb.trace.readers import journals
from steer_nb.trace.readers.kinds import TITLES, document_of, kind_of
from steer_nb.trace.readers.progress import Progress
from steer_nb.trace.readers.recording import Recording
from steer_nb.trace.readers.source import Source
from steer_nb.trace.sets import TraceSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steer_nb.trace.log import Trace

__all__ = ["Gathering", "claim", "files_of", "load", "load_trace", "places_of"]

_PATTERN: Final = frozenset("*?[")
_LOCK: Final = ".jsonl.lock"
_HERE: Final = Path()


def load(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    strict: bool = False,
    progress: bool | None = None,
) -> Trace | TraceSet:
    """Read a recording of any known kind; or a folder of them, or all files that match a pattern.

    Known are saved traces and journals; JSON lines of events, also as the `openai` SDK dumps them;
    raw SSE captures; VCR cassettes; HAR files; rollout files of the Codex CLI; response objects,
    one or many, also as the SDK dumps them; output and error files of the Batch API; Letta's
    streams and message lists. The content decides which it is, not the name. Files that are
    compressed (gzip, bzip2, xz; Zstandard and brotli with the extras ``zstd`` and ``brotli``) are
    opened as what they hold. Cassettes in YAML need the extra ``yaml``. Credentials in recorded
    requests are never taken over.

    Parameters
    ----------
    path : str, path-like, or iterable of these
        A file; a folder, which is read with the folders in it, without hidden files; a pattern
        such as ``runs/*.jsonl``, where ``**`` goes down folders; or several of these.
    strict : bool, default False
        Raise at the first thing that is odd, instead of keeping it as a problem.
    progress : bool, optional
        Whether to say how far it is; by default where there is much to read.

    Returns
    -------
    Trace or TraceSet
        A trace for a file, a set of traces for all else. A trace of ours is equal to the one that
        was saved. What is odd about the content, such as a torn last line, raises nothing: it is a
        row in `problems`, with file, line, kind and detail.

    Raises
    ------
    TraceError
        There is no such file, it cannot be opened, or a package is missing; with `strict`, also for
        the first problem.

    Examples
    --------
    >>> import steer_nb
    >>> trace = steer_nb.load("run.jsonl")  # doctest: +SKIP
    >>> runs = steer_nb.load("runs/**/*.jsonl.gz")  # doctest: +SKIP
    >>> runs.frames.responses.groupby("trace_id").size()  # doctest: +SKIP
    """
    paths, single = places_of(path)
    if single:
        with Progress(paths, shown=progress) as report:
            trace = _load_file(paths[0], report)
        if strict:
            _refuse(trace.problems)
        return trace
    return _load_set(paths, strict=strict, progress=progress)


def places_of(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
) -> tuple[list[Path], bool]:
    """The paths that were given, and whether they are one file rather than several."""
    if not isinstance(path, str | PathLike):
        return [Path(one).expanduser() for one in path], False
    place = Path(path).expanduser()
    one = not place.is_dir() and (place.exists() or not _PATTERN & set(str(path)))
    return [place], one


def load_trace(path: str | PathLike[str]) -> Trace:
    """Read one file that has to be a trace or another recording: something is done with it.

    Raises
    ------
    TraceError
        It cannot be read, or is no recording of a known kind.
    """
    trace = _load_file(Path(path), lambda _: None)
    for problem in trace.file_problems:
        if problem.kind == "unknown_kind" and not len(trace):
            msg = f"{path} {problem.detail}"
            raise TraceError(msg, path=str(path), line=problem.line)
        if problem.kind == "newer":
            msg = f"{path} was {problem.detail}"
            raise TraceError(msg, path=str(path), line=problem.line)
    return trace


def _load_file(path: Path, report: Callable[[int], None], base: Path = _HERE) -> Trace:
    with Source(path, report, base) as source:
        kind = kind_of(source.head)
        if kind is not None:
            found = Recording(path, kind.unit)
            kind.read(source, found)
            return found.trace(kind.source, source.identity())
        text = ""
        if source.head.lstrip()[:1] in (b"{", b"["):
            text = source.content().decode("utf-8", "replace").lstrip("\ufeff")
        document = document_of(text) if text else None
        if document is None:
            found = Recording(path)
            found.odd("unknown_kind", _unknown(source), None)
            return found.trace("", source.identity())
        one, value = document
        found = Recording(path, one.unit)
        one.read(text, value, found)
        if source.broken is not None:
            found.odd("truncated", f"the file breaks off: {source.broken}", None)
        return found.trace(one.source, source.identity())


def _unknown(source: Source) -> str:
    if source.broken is not None and not source.head:
        return f"cannot be decompressed ({source.broken}): it is no steer_nb trace"
    if not source.head.strip():
        return "is no steer_nb trace: it is empty"
    kinds = f"{', '.join(TITLES[:-1])} or {TITLES[-1]}"
    return (
        f"is no steer_nb trace and no other recording that is known: it begins neither as {kinds}. "
        "session.trace.save(path), %steer save and the journal in .steer/ write traces."
    )


def _load_set(paths: list[Path], *, strict: bool, progress: bool | None) -> TraceSet:
    files = files_of(paths)
    with Progress(files, shown=progress) as report:
        gathering = Gathering(strict=strict, report=report)
        for file in files:
            if gathering.take(file):
                report.next()
    return TraceSet(gathering.traces, gathering.problems, where=" ".join(map(str, paths)))


class Gathering:
    """The traces of several files, taken one after the other; no two of them have one id.

    Parameters
    ----------
    strict : bool, default False
        Raise at the first thing that is odd.
    report : callable, optional
        Told how many bytes were read.
    base : Path, optional
        From where relative names go; by default where the process is.

    Attributes
    ----------
    traces : list of Trace
        What the files hold.
    problems : list of Problem
        What was odd about files that became no trace.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        report: Callable[[int], None] = lambda _: None,
        base: Path = _HERE,
    ) -> None:
        self.traces: list[Trace] = []
        self.problems: list[Problem] = []
        self._seen: dict[str, Trace] = {}
        self._strict = strict
        self._report = report
        self._base = base

    def take(self, file: Path) -> bool:
        """Read one file more, and say whether it could be opened.

        Raises
        ------
        TraceError
            Something is odd, and that is not allowed.
        """
        try:
            trace = _load_file(file, self._report, self._base)
        except (MissingExtra, TraceError) as error:
            kind = "missing_package" if isinstance(error, MissingExtra) else "unreadable"
            self._odd(Problem(kind=kind, detail=str(error), file=str(file)))
            return False
        if self._strict:
            _refuse(trace.problems)
        if not len(trace) and any(p.kind == "unknown_kind" for p in trace.file_problems):
            self.problems += trace.problems
            return True
        known = self._seen.get(trace.trace_id)
        if known is not None:
            self._odd(_same(known, trace))
            if trace.header.source == "live" and _begins(known, trace):
                return True
            if trace.header.source == "live" and _begins(trace, known):
                self.traces[self.traces.index(known)] = self._seen[trace.trace_id] = trace
                return True
            apart = sha256(f"{trace.trace_id} {file}".encode()).hexdigest()[:32]
            trace.header = msgspec.structs.replace(trace.header, trace_id=apart)
        self._seen[trace.trace_id] = trace
        self.traces.append(trace)
        return True

    def _odd(self, problem: Problem) -> None:
        if self._strict:
            _refuse([problem])
        self.problems.append(problem)


def claim(file: Path, base: Path = _HERE) -> str | None:
    """Say of which trace a file is, as `load` names it, without decoding it; None: unreadable."""
    try:
        with Source(file, base=base) as source:
            if journals.recognise(source.head):
                return journals.trace_id(source.head)
            for _ in source.chunks():
                pass
            return source.identity()
    except (MissingExtra, TraceError):
        return None


def _begins(longer: Trace, trace: Trace) -> bool:
    return longer.entries[: len(trace)] == trace.entries


def _same(known: Trace, trace: Trace) -> Problem:
    """Say that two files hold the same trace: both would count everything twice."""
    if trace.header.source == "live" and (_begins(known, trace) or _begins(trace, known)):
        shorter, longer = (trace, known) if _begins(known, trace) else (known, trace)
        detail = f"the same trace as {longer.file}, which holds all of it: left out"
        return Problem(kind="same_trace", detail=detail, file=shorter.file)
    detail = f"has the id of {known.file}: it is kept under an id of its own"
    return Problem(kind="same_trace", detail=detail, file=trace.file)


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The files that paths, folders and patterns stand for, each once.

    Raises
    ------
    TraceError
        A folder is empty, or nothing matches a pattern.
    """
    return list(dict.fromkeys(file for path in paths for file in _files(path)))


def _files(path: Path) -> list[Path]:
    """The files that a path, a folder or a pattern stands for, sorted."""
    if path.is_dir():
        found = [
            file
            for file in path.rglob("*")
            if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
        ]
        if not found:
            msg = f"The folder {path} holds no files."
            raise TraceError(msg, path=str(path))
    elif path.exists() or not _PATTERN & set(str(path)):
        found = [path]
    else:
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        if not matches:
            msg = f"No file matches {path}."
            raise TraceError(msg, path=str(path))
        found = [
            file for match in matches for file in (_files(match) if match.is_dir() else [match])
        ]
    return sorted(file for file in found if not file.name.endswith(_LOCK))


def _refuse(problems: Iterable[Problem]) -> None:
    """Raise for the first problem, if there is one."""
    for problem in problems:
        place = "" if problem.line is None else f", line {problem.line}"
        if problem.detail.startswith("entry "):
            place = ""
        where = f"{problem.file}{place}: " if problem.file else ""
        msg = f"{where}{problem.detail} ({problem.kind})"
        raise TraceError(msg, path=problem.file or "", line=problem.line)
