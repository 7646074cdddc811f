"""The journal of a run: every finished case as one line of JSON, written before anybody hears of it.

A run's folder holds one file a writer, ``{writer_id}.{n}.journal.jsonl``: first a header that says what is evaluated,
then EvaluationCaseResults. Each line is one write to the operating system, so a killed process loses at most the line
it was writing; there is no fsync, so a machine that loses power may lose the last seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import Field, ValidationError

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, Record

_SUFFIX = ".journal.jsonl"
_RANK = {"finished": 0, "errored": 1, "not_run": 2}

Journal = tuple["JournalHeader | None", tuple[EvaluationCaseResult, ...]]


class JournalHeader(Record):
    """What a run evaluates. Results of runs whose headers agree may be taken for each other's.

    ``benchmark`` names the benchmark and ``benchmark_digest`` is a digest of its manifest and all its cases;
    ``evaluators`` maps names to definitions; ``top_k`` is how many results the user wants a query to ask for, and
    ``depth`` how many it asks for at first; ``selection`` says which of the cases were asked for.
    """

    journal: int = 1
    benchmark: str
    benchmark_digest: str
    recipe: str
    recipe_fingerprint: str
    modes: tuple[str, ...]
    evaluators: dict[str, str]
    top_k: int | None = None
    depth: int | None = None
    selection: dict[str, Any] = Field(default_factory=dict)


class JournalWriter:
    """Appends lines to a new file of its own in a run's folder. Used by one thread at a time."""

    def __init__(self, folder: Path, writer_id: str, header: JournalHeader) -> None:
        """Create the file and write the header.

        Raises:
            ReportError: the file cannot be created or written.

        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path, self._descriptor = _create(folder, writer_id)
        except OSError as error:
            raise ReportError(f"{folder}: the journal cannot be created: {error.strerror}") from error
        self._torn = False
        self.write(header.model_dump_json())

    def write(self, line: str) -> None:
        """Append one encoded record, such as ``result.model_dump_json()``: JSON without a line break.

        Raises:
            ReportError: it could not be written; all earlier lines are kept, and writing may be tried again.

        """
        data = (("\n" if self._torn else "") + line + "\n").encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
                self._torn = bool(data)
        except OSError as error:
            raise ReportError(
                f"{self.path}: the journal cannot be written: {error.strerror}. What finished before is kept: make "
                "room and run again with --heta-resume"
            ) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(folder: Path, *, notice: Callable[[str], None] | None = None) -> Journal:
    """Return the header of a run and its results, merged over all writers, sorted by unit, case and mode.

    A case that is there several times counts once: a finished result before an errored one, then the first by file
    name and line. A line that is not whole, as a killed writer leaves it, counts as never written; ``notice`` is told
    its place. The header is None where no writer got as far as that.

    Raises:
        ReportError: the folder or a file cannot be read, or its files belong to different evaluations.

    """
    journals = read_journals(folder, notice=notice)
    if len(journals) > 1:
        differences = explain_difference(journals[0][0], journals[1][0], ignore=("selection",))
        raise ReportError(f"{folder}: holds the journals of different evaluations: {'; '.join(differences)}")
    return journals[0] if journals else (None, ())


def read_journals(
    folder: Path, *, notice: Callable[[str], None] | None = None
) -> list[tuple[JournalHeader, tuple[EvaluationCaseResult, ...]]]:
    """Do the same, for each evaluation that the folder holds: a resumed run that had to start anew leaves two.

    Raises:
        ReportError: the folder or a file cannot be read.

    """
    found: list[tuple[JournalHeader, dict[tuple[str, str, str], EvaluationCaseResult]]] = []
    best: dict[tuple[str, str, str], EvaluationCaseResult] = {}
    for place, line in _lines(folder):
        record = _parse(line)
        if record is None:
            if notice is not None:
                notice(f"{place}: a line of the journal is not whole; its case counts as not finished")
        elif isinstance(record, EvaluationCaseResult):
            key = (record.unit_id, record.case_id, record.mode)
            if key not in best or _RANK[record.status] < _RANK[best[key].status]:
                best[key] = record
        else:  # a header: what follows belongs to it
            same = [one for header, one in found if not explain_difference(header, record, ignore=("selection",))]
            best = same[0] if same else {}
            if not same:
                found.append((record, best))
    return [(header, tuple(results[key] for key in sorted(results))) for header, results in found]


def explain_difference(before: JournalHeader, now: JournalHeader, *, ignore: Collection[str] = ()) -> list[str]:
    """Return one phrase for each field in which two headers differ, but for those to ``ignore``."""
    explained = []
    for field in JournalHeader.model_fields:
        old, new = getattr(before, field), getattr(now, field)
        if field not in ignore and old != new:
            name = field.replace("_", " ")
            if isinstance(old, dict):
                changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
                explained.append(f"{name}: {', '.join(changed)} differ")
            else:
                explained.append(f"{name}: {old!r} before, {new!r} now")
    return explained


def _create(folder: Path, writer_id: str) -> tuple[Path, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
    for number in count(1):
        path = folder / f"{writer_id}.{number}{_SUFFIX}"
        try:
            return path, os.open(path, flags, 0o666)
        except FileExistsError:
            continue
    raise AssertionError("count() has no end")


def _lines(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of all files of a run, with their places ``file:line``."""
    try:
        for path in sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIX)):
            with path.open("rb") as file:
                yield from ((f"{path}:{number}", line) for number, line in enumerate(file, start=1) if line.strip())
    except OSError as error:
        raise ReportError(f"{error.filename}: the journal cannot be read: {error.strerror}") from error


def _parse(line: bytes) -> EvaluationCaseResult | JournalHeader | None:
    for kind in (EvaluationCaseResult, JournalHeader):
        try:
            return kind.model_validate_json(line)
        except ValidationError:
            continue
    return None
