"""A way to `atm mcp --http` for clients that cannot be given a token: it bears one for them."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OURS = ("transfer-encoding", "connection", "content-length", "date", "server")


@contextlib.contextmanager
def bearing(token: str, port: int) -> Iterator[str]:
    """The address of a server on this machine that hands everything on, in the name of the token's member."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _hand_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            here, there = f":{made.server_port}", f":{port}"  # what names this address means that one
            headers = {name: value.replace(here, there) for name, value in self.headers.items() if name != "Connection"}
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            lines.append(line)
            with contextlib.closing(line), contextlib.suppress(OSError, http.client.HTTPException):
                line.request(self.command, self.path, body, {**headers, "authorization": f"Bearer {token}"})
                with line.getresponse() as answer:
                    self._answer(answer)
            self.close_connection = True

        def _answer(self, answer: http.client.HTTPResponse) -> None:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in OURS:
                    self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            while part := answer.read1():
                self.wfile.write(part)
                self.wfile.flush()

        do_GET = do_POST = do_DELETE = _hand_on

        def log_message(self, *_: object) -> None:
            return

    lines: list[http.client.HTTPConnection] = []
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = False  # all of them are waited for at the end
    serving = threading.Thread(target=made.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}/mcp"
    finally:
        made.shutdown()
        serving.join(60)
        for line in lines:  # streams that nobody has ended
            if line.sock is not None:
                with contextlib.suppress(OSError):
                    line.sock.shutdown(socket.SHUT_RDWR)
        made.server_close()
