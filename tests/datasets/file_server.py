"""An HTTP server on this computer that answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


class Answers:
    """What the server answers: one answer a request, the last one for ever. Counts the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.left = list(answers)
        self.requests = 0
        self.url = ""

    def next(self) -> Answer:
        """Return the answer to the next request."""
        self.requests += 1
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@contextmanager
def serving(*answers: Answer) -> Iterator[Answers]:
    """Serve the answers on a free port of this computer."""
    state = Answers(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = state.next()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            state.url = f"http://127.0.0.1:{server.server_port}/data/set.zip"
            yield state
        finally:
            server.shutdown()
            thread.join()
