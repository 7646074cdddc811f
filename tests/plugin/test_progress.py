"""How a download or build is told of while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_heta.plugin import progress as module
from pytest_heta.plugin.progress import Progress, progress_text


@dataclass
class Terminal:
    """A terminal reporter that remembers what it is told to write."""

    isatty: bool
    written: list[str] = field(default_factory=list)

    def write(self, text: str, *, flush: bool = False) -> None:
        """Remember a part of a line."""
        self.written.append(text)

    def write_line(self, text: str) -> None:
        """Remember a line."""
        self.written.append(f"{text}\n")

    def ensure_newline(self) -> None:
        """Remember that a line was begun."""
        self.written.append("|")


@dataclass
class Config:
    """As much of pytest's configuration as is looked at."""

    terminal: Terminal | None
    verbose: int = 0
    width: int = 40

    @property
    def pluginmanager(self) -> Any:
        """The plugins: the terminal reporter or none."""
        return SimpleNamespace(getplugin=lambda name: self.terminal if name == "terminalreporter" else None)

    def getoption(self, name: str, default: Any = None) -> Any:
        """Return the verbosity."""
        return self.verbose if name == "verbose" else default

    def get_terminal_writer(self) -> Any:
        """Return what knows the width."""
        return SimpleNamespace(fullwidth=self.width)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still until it is set."""
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def _tell(progress: Progress, clock: SimpleNamespace, *moments: float) -> None:
    for moment in moments:
        clock.now = 1000.0 + moment
        progress("scifact", "documents", int(moment * 100), 10000)


@pytest.mark.parametrize(
    ("stage", "done", "total", "seconds", "text"),
    [
        ("documents", 2500, 10000, 5.0, "x: 2,500 of 10,000 documents, 500/s, 15 s left"),
        ("documents", 2500, None, 5.0, "x: 2,500 documents, 500/s"),
        ("documents", 10000, 10000, 5.0, "x: 10,000 of 10,000 documents, 2,000/s"),
        ("documents", 0, 10, 0.0, "x: 0 of 10 documents, 0/s"),
        ("documents", 1, 1000, 1.0, "x: 1 of 1,000 documents, 1/s, 16:39 min left"),
        ("download", 1_500_000, 3_000_000, 3.0, "x: download, 1.5 of 3.0 MB, 3 s left"),
        ("download", 1_500_000, None, 3.0, "x: download, 1.5 MB"),
    ],
)
def test_the_text_says_how_far_and_how_long(
    stage: str, done: int, total: int | None, seconds: float, text: str
) -> None:
    """What is done, of how many, how fast, and what is left of the time, as far as each is known."""
    assert progress_text("x", stage, done, total, seconds) == text


def test_a_terminal_has_one_live_line(clock: SimpleNamespace) -> None:
    """Nothing at first, then four times a second at most, in place and no wider than the terminal, and gone at last."""
    terminal = Terminal(isatty=True)
    progress = Progress(cast("pytest.Config", Config(terminal)))
    _tell(progress, clock, 0.0, 0.5, 1.4)
    assert terminal.written == []
    _tell(progress, clock, 2.0, 2.1, 2.2, 2.5)
    assert terminal.written == [
        "|",
        "\r\x1b[Kscifact: 200 of 10,000 documents, 100/s"[: 4 + 39],
        "\r\x1b[Kscifact: 250 of 10,000 documents, 100/s"[: 4 + 39],
    ]
    progress.clear()
    progress.clear()
    assert terminal.written[3:] == ["\r\x1b[K"]


def test_a_log_has_a_line_now_and_then(clock: SimpleNamespace) -> None:
    """Without a terminal there is a whole line every half minute."""
    terminal = Terminal(isatty=False)
    progress = Progress(cast("pytest.Config", Config(terminal)))
    _tell(progress, clock, 0.0, 2.0, 29.0, 31.0, 45.0, 60.0, 62.0)
    assert terminal.written == [
        "|",
        "scifact: 3,100 of 10,000 documents, 100/s, 1:09 min left\n",
        "|",
        "scifact: 6,200 of 10,000 documents, 100/s, 38 s left\n",
    ]


@pytest.mark.parametrize("config", [Config(Terminal(isatty=True), verbose=-1), Config(None)], ids=["quiet", "none"])
def test_some_runs_hear_nothing(config: Config, clock: SimpleNamespace) -> None:
    """Under -q, and without a terminal reporter, nothing is written."""
    progress = Progress(cast("pytest.Config", config))
    _tell(progress, clock, 0.0, 2.0, 40.0, 80.0)
    progress.clear()
    assert config.terminal is None or config.terminal.written == []


def test_a_worker_tells_on_its_error_stream(clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker of xdist has no terminal: its lines go to the error stream with its name."""
    config = Config(None)
    config.workerinput = {"workerid": "gw1"}  # type: ignore[attr-defined]
    progress = Progress(cast("pytest.Config", config))
    _tell(progress, clock, 0.0, 2.0, 40.0)
    assert capsys.readouterr().err == "[gw1] scifact: 4,000 of 10,000 documents, 100/s, 1:00 min left\n"


def test_each_stage_begins_anew(clock: SimpleNamespace) -> None:
    """Rate and quiet beginning are those of the stage, not of the run; what was cleared begins again."""
    terminal = Terminal(isatty=True)
    progress = Progress(cast("pytest.Config", Config(terminal, width=100)))
    progress("x", "download", 0, None)
    clock.now += 10
    progress("x", "documents", 0, None)
    assert terminal.written == []
    clock.now += 2
    progress("x", "documents", 40, None)
    assert terminal.written[-1].endswith("x: 40 documents, 20/s")
    progress.clear()
    clock.now += 1
    progress("x", "documents", 60, None)
    assert terminal.written[-1] == "\r\x1b[K"
