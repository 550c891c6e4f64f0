"""Telemetry of the daemon: told to a collector if there is one, and nobody's business if there is not."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from atm.domain.events import TeamEvent
from atm.teamd.telemetry import Telemetry


@pytest.fixture
def collector():
    """A collector on the loopback that keeps what it is told, by path."""
    told: dict[str, list[dict]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.setdefault(self.path, []).append(json.loads(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", told
    server.shutdown()
    thread.join()
    server.server_close()


def speak(telemetry: Telemetry) -> None:
    telemetry.log({"v": 1, "ts": "2026-11-15T10:00:00.000Z", "level": "info", "source": "daemon", "text": "started"})
    telemetry.round("spool", 1.0, 2.0, True)
    telemetry.event(TeamEvent("message.written", "crew", "ann", 1.0))


def test_log_rounds_and_events_reach_the_collector_that_the_settings_name(collector, eventually):
    address, told = collector
    telemetry = Telemetry({})
    telemetry.use(address)
    speak(telemetry)
    telemetry.close()
    eventually(lambda: all(told.get(path) for path in ("/v1/logs", "/v1/traces", "/v1/metrics")), 60)
    assert "loop spool" in json.dumps(told["/v1/traces"])
    assert "atm.events" in json.dumps(told["/v1/metrics"])
    assert "started" in json.dumps(told["/v1/logs"])


def test_without_a_collector_nothing_happens(collector):
    telemetry = Telemetry({})
    telemetry.use("")
    speak(telemetry)
    assert telemetry.stats() is None
    telemetry.close()


def test_a_collector_that_is_away_costs_nothing_but_what_it_would_have_been_told():
    telemetry = Telemetry({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    telemetry.use("")
    for _ in range(5000):
        speak(telemetry)
    stats = telemetry.stats()
    assert stats is not None
    telemetry.close()


def test_settings_that_name_another_collector_take_effect(collector, eventually):
    address, told = collector
    telemetry = Telemetry({})
    telemetry.use("http://127.0.0.1:9")
    telemetry.use(address)
    speak(telemetry)
    telemetry.close()
    eventually(lambda: told.get("/v1/logs"), 60)
