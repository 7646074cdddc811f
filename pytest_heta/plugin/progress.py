"""How a download or build goes on: a live line on a terminal, one now and then in a log, nothing under ``-q``."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

LIVE_SECONDS, LOG_SECONDS = 0.25, 30.0
_QUIET_AT_FIRST = 1.5
_ERASE = "\r\x1b[K"


class Progress:
    """Takes the progress of downloads and builds, from whichever thread, and shows it while the items wait for them.

    A worker of xdist has no terminal of its own: its lines go to the error stream, which is the controller's.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Begin with nothing shown."""
        self._config = config
        self._worker: str | None = getattr(config, "workerinput", {}).get("workerid")
        self._started: dict[tuple[str, str], float] = {}
        self._shown_at = 0.0
        self._line_is_open = False

    @property
    def _terminal(self) -> Any:
        """The terminal reporter, which pytest registers after this is made; None under ``-p no:terminal``."""
        return self._config.pluginmanager.getplugin("terminalreporter")

    @property
    def _live(self) -> bool:
        return self._worker is None and self._terminal is not None and bool(self._terminal.isatty)

    @property
    def _silent(self) -> bool:
        return self._config.getoption("verbose", 0) < 0 or (self._terminal is None and self._worker is None)

    def __call__(self, name: str, stage: str, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` are through a stage of ``name``, if it is time to."""
        now = time.monotonic()
        began = self._started.setdefault((name, stage), now)
        if now - began < _QUIET_AT_FIRST or now - self._shown_at < LIVE_SECONDS:
            return
        if self._silent or (not self._live and now - max(began, self._shown_at) < LOG_SECONDS):
            return
        self._shown_at = now
        self._show(progress_text(name, stage, done, total, now - began))

    def clear(self) -> None:
        """Take the live line away: what it told of is over."""
        self._started.clear()
        if self._line_is_open:
            with self._uncaptured():
                self._terminal.write(_ERASE, flush=True)
            self._line_is_open = False

    def _show(self, text: str) -> None:
        with self._uncaptured():
            if self._worker:
                print(f"[{self._worker}] {text}", file=sys.stderr, flush=True)
                return
            if not self._line_is_open:
                self._terminal.ensure_newline()
            if self._live:
                width = self._config.get_terminal_writer().fullwidth - 1
                self._terminal.write(_ERASE + text[:width], flush=True)
                self._line_is_open = True
            else:
                self._terminal.write_line(text)

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Lift pytest's capturing, under which even the terminal reporter's output goes to the captured file."""
        capture: Any = self._config.pluginmanager.getplugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()


def progress_text(name: str, stage: str, done: int, total: int | None, seconds: float) -> str:
    """Say how far a stage is: what is done, of how many, how fast, and how long it may still take."""
    rate = done / seconds if seconds > 0 else 0.0
    text = _download(stage, done, total) if stage.startswith("download") else _counted(stage, done, total, rate)
    if total and 0 < done < total and rate:
        text += f", {_clock((total - done) / rate)} left"
    return f"{name}: {text}"


def _download(stage: str, done: int, total: int | None) -> str:
    return f"{stage}, {done / 1e6:.1f}{f' of {total / 1e6:.1f}' if total else ''} MB"


def _counted(stage: str, done: int, total: int | None, rate: float) -> str:
    return f"{done:,}{f' of {total:,}' if total else ''} {stage}, {rate:,.0f}/s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
