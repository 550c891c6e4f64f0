"""A real collector on a loopback socket: keeps every request, and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS: dict[str, Any] = {
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


class Collector:
    """What came is in `requests`: path, headers and message of those that were answered with 200."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answer: Callable[[], tuple[int, dict[str, str], bytes]] = lambda: (200, {}, b"")
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.came = 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.came += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.may_answer.wait(30)
                status, headers, answer = collector.answer()
                if status == 200:
                    kind = KINDS[self.path[self.path.index("/v1/") :]]
                    headers_in = {name.lower(): value for name, value in self.headers.items()}
                    collector.requests.append((self.path, headers_in, kind.FromString(body)))
                try:
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    self.close_connection = True  # the exporter did not wait

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.may_answer.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(30)

    def _scopes(self, path: str, resources: str, scopes: str) -> list[Any]:
        messages = [message for at, _, message in self.requests if at == path]
        return [
            scope for one in messages for resource in getattr(one, resources) for scope in getattr(resource, scopes)
        ]

    @property
    def logs(self) -> list[Any]:
        return [one for scope in self._scopes("/v1/logs", "resource_logs", "scope_logs") for one in scope.log_records]

    @property
    def spans(self) -> list[Any]:
        return [one for scope in self._scopes("/v1/traces", "resource_spans", "scope_spans") for one in scope.spans]

    @property
    def metrics(self) -> list[Any]:
        scopes = self._scopes("/v1/metrics", "resource_metrics", "scope_metrics")
        return [one for scope in scopes for one in scope.metrics]

    @property
    def texts(self) -> list[str]:
        return [record.body.string_value for record in self.logs]


def plain(attributes: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}
