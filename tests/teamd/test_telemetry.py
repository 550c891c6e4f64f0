"""Telemetry of the daemon: told to a collector if there is one, and nobody's business if there is not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from tests.otlp_collector import Collector, plain

from atm.events.rules import TeamEvent
from atm.setup.rules.installation import extra_command
from atm.teamd.daemon import Daemon
from atm.teamd.telemetry import Telemetry, endpoint_from
from atm.wiring.daemon import read_daemon_log
from atm.wiring.setup import read_installation

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
GRPC = {ENDPOINT: "https://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.close()


def speak(telemetry: Telemetry) -> None:
    telemetry.log({"v": 1, "ts": "2026-11-15T10:00:00.000Z", "level": "info", "source": "daemon", "text": "started"})
    telemetry.round("spool", 1.0, 2.0, True)
    telemetry.event(TeamEvent("message.written", "crew", "ann", 1.0))


def test_log_rounds_and_events_reach_the_collector_that_the_settings_name(collector, eventually):
    telemetry = Telemetry({})
    assert telemetry.use(collector.url) == ""
    speak(telemetry)
    telemetry.close()
    eventually(lambda: collector.logs and collector.spans and collector.metrics, 60)
    assert collector.texts == ["started"]
    assert [(span.name, plain(span.attributes)) for span in collector.spans] == [("loop spool", {"loop": "spool"})]
    found = {metric.name: plain(metric.sum.data_points[0].attributes) for metric in collector.metrics}
    assert found == {"atm.rounds": {"loop": "spool", "ok": True}, "atm.events": {"kind": "message.written"}}


def test_without_a_collector_nothing_happens():
    telemetry = Telemetry({})
    assert telemetry.use("") == ""
    speak(telemetry)
    assert telemetry.stats() is None
    telemetry.close()


def test_a_daemon_without_a_collector_does_not_load_the_sdk():
    code = "import sys, atm.teamd.daemon; from atm.teamd.telemetry import Telemetry; Telemetry({}).use('')\n"
    code += "sys.exit(any(name.startswith(('opentelemetry', 'requests', 'google')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_collector_that_is_away_costs_nothing_but_what_it_would_have_been_told():
    telemetry = Telemetry({ENDPOINT: "http://127.0.0.1:9"})
    telemetry.use("")
    for _ in range(5000):
        speak(telemetry)
    stats = telemetry.stats()
    assert stats is not None
    assert stats["sent"] == 0
    telemetry.close()


def test_settings_that_name_another_collector_take_effect(collector, eventually):
    telemetry = Telemetry({})
    telemetry.use("http://127.0.0.1:9")
    telemetry.use(collector.url)
    speak(telemetry)
    telemetry.close()
    eventually(lambda: collector.logs, 60)


@pytest.fixture
def without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk._logs", None)
    monkeypatch.delitem(sys.modules, "atm.daemon.adapters.otlp", raising=False)


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_it_says_once_how_to_get_it():
    telemetry = Telemetry({})
    assert extra_command(read_installation(), "otel") in telemetry.use("http://127.0.0.1:9")
    assert telemetry.use("http://127.0.0.1:9") == "", "said already"
    assert "[otel]'" in telemetry.problem
    speak(telemetry)
    assert telemetry.stats() is None
    telemetry.use("")
    assert telemetry.problem == ""


@pytest.mark.usefixtures("without_the_extra")
def test_the_daemon_says_so_in_its_log_and_its_status(layout):
    async def run() -> Any:
        daemon = Daemon(layout, {"HOME": layout.claude_root.removesuffix("/.claude"), ENDPOINT: "http://127.0.0.1:9"})
        daemon._load_settings()  # as when they are read again
        daemon._news.close()
        daemon._watcher.tree.close()
        return daemon._status()

    status = asyncio.run(run())
    assert status["telemetry"] is None
    assert ["[otel]" in problem for problem in status["problems"]] == [True]
    said = [line for line in read_daemon_log(layout) if line["source"] == "telemetry"]
    assert [(line["level"], line["text"]) for line in said] == [("warn", status["problems"][0])]


def test_variables_that_the_sdk_refuses_are_a_problem_and_no_end(monkeypatch):
    monkeypatch.setenv("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "1000000")
    telemetry = Telemetry({})
    assert "telemetry cannot begin: ValueError" in telemetry.use("http://127.0.0.1:9")
    speak(telemetry)
    telemetry.close()


@pytest.mark.parametrize(
    ("environment", "setting", "found"),
    [
        ({}, "", ""),
        ({}, "http://h:4318", "http://h:4318"),
        ({ENDPOINT: "https://c/"}, "", "https://c/"),
        ({ENDPOINT: "https://c"}, "http://h", "https://c"),
        ({ENDPOINT: " "}, "http://h", "http://h"),
        ({ENDPOINT: "https://c"}, "off", ""),
        ({ENDPOINT: "https://c", "OTEL_SDK_DISABLED": "TRUE"}, "http://h", ""),
        ({ENDPOINT: "https://c", "OTEL_SDK_DISABLED": "no"}, "", "https://c"),
        (GRPC, "", ""),
        (GRPC, "http://h", "http://h"),
        ({ENDPOINT: "unix:///run/x"}, "", ""),
        ({ENDPOINT: "localhost:4318"}, "", ""),
    ],
)
def test_where_to_send_comes_from_the_environment_or_a_setting(environment, setting, found):
    assert endpoint_from(environment, setting) == found


@pytest.mark.parametrize(
    "url", ["collector:4318", "ftp://h/", "http://", "http://h:port/", "file:///etc", "http://[x/", "http://h?a=b"]
)
def test_an_address_that_is_none_is_nowhere(url):
    assert endpoint_from({}, url) == ""
