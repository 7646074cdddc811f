"""A real Chromium, driven over the WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1200,1000"
)


class Browser:
    """One session of a browser."""

    def __init__(self, client: httpx.Client, profile: Path) -> None:
        """Open a window with a profile of its own."""
        options = {"args": [*_FLAGS.split(), f"--user-data-dir={profile}"], "binary": _binary()}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._client, self._session = client, ""
        self._session = "/" + self._ask("POST", "/session", capabilities={"alwaysMatch": wanted})["sessionId"]

    def visit(self, path: Path) -> None:
        """Open a file and forget what the console said before."""
        self.errors()
        self._ask("POST", "/url", url=path.as_uri())

    def open(self, path: Path) -> None:
        """Open a file and wait for the table of cases."""
        self.visit(path)
        self.wait("!document.getElementById('cases').hidden")

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self._ask("POST", "/execute/sync", script=script, args=list(arguments))

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        script = (
            f"const done = arguments[0]; const look = () => ({condition}) ? done(true) : setTimeout(look, 10); look();"
        )
        self._ask("POST", "/execute/async", script=script, args=[])

    def click(self, selector: str) -> None:
        """Click on an element as a user does."""
        self._ask("POST", f"/element/{self._find(selector)}/click")

    def keys(self, selector: str, text: str) -> None:
        """Type into an element."""
        self._ask("POST", f"/element/{self._find(selector)}/value", text=text)

    def choose(self, selector: str, label: str) -> None:
        """Choose one option of a list by its text."""
        options = self.run("return [...document.querySelector(arguments[0]).options].map(o => o.text)", selector)
        self.click(f"{selector} option:nth-child({options.index(label) + 1})")

    def texts(self, selector: str) -> list[str]:
        """Return the visible texts of all elements that match."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector
        )
        return found

    def errors(self) -> list[str]:
        """Return what the console has said since this was last asked."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", type="browser")]

    def command(self, name: str, **parameters: Any) -> Any:
        """Send a command of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", cmd=name, params=parameters)

    def screenshot(self) -> bytes:
        """Return a picture of the window as PNG."""
        return base64.b64decode(self._ask("GET", "/screenshot"))

    def close(self) -> None:
        """Close the window."""
        self._ask("DELETE", "")

    def _find(self, selector: str) -> str:
        found = self._ask("POST", "/element", using="css selector", value=selector)
        return str(found[_ELEMENT])

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        url = path if path == "/session" else f"/session{self._session}{path}"
        answer = self._client.request(method, url, json=body if method == "POST" else None)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a browser, or skip the test where there is none."""
    driver = shutil.which("chromedriver")
    if driver is None or not _binary():
        pytest.skip("no Chromium with chromedriver here (Debian: apt-get install chromium chromium-driver)")
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{_port(process)}", timeout=60, trust_env=False) as client:
                browser = Browser(client, profile)
                try:
                    yield browser
                finally:
                    browser.close()
        finally:
            process.terminate()


def _binary() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")


def _port(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(r"started successfully on port (\d+)", line):
            return match[1]
    raise AssertionError("chromedriver did not start")
