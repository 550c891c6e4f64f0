"""Telemetry against a real collector on a loopback socket: one that listens, is away, is slow, and says no."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from tests.otlp_collector import Collector, plain

from atm import __version__
from atm.core.redaction import REDACTED
from atm.daemon.adapters import otlp as module
from atm.daemon.adapters.otlp import CAPACITY, Otlp

NOON = 1_788_000_000.25
SECRET = "s3cr3tValue99"


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def export(monkeypatch):
    """Exporters that do not let a test wait."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name in ("OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL"):
        monkeypatch.setenv(name, "20")
    made: list[Otlp] = []

    def begin(url: str) -> Otlp:
        made.append(Otlp(url, "box"))
        return made[-1]

    yield begin
    for one in made:
        one.close(0)


def line(text="hello", **more):
    known = {"v": 1, "ts": "2026-08-29T12:00:00.250Z", "level": "warn", "source": "spool", "text": text, "pid": 7}
    return {**known, **more}


def test_a_log_line_arrives_as_the_protocol_wants_it(collector, export, eventually):
    export(collector.url).log(line(team="crew", count=3, ok=True, ratio=0.5, tags=["a", 1], more={"x": 1}, none=None))
    eventually(lambda: collector.logs)
    path, headers, body = collector.requests[0]
    assert (path, headers["content-type"]) == ("/v1/logs", "application/x-protobuf")
    (resource,) = body.resource_logs
    about = plain(resource.resource.attributes)
    assert (about["service.name"], about["host.name"], about["service.version"]) == ("atm", "box", __version__)
    assert about["process.pid"] == os.getpid()
    assert (resource.scope_logs[0].scope.name, resource.scope_logs[0].scope.version) == ("atm", __version__)
    (record,) = resource.scope_logs[0].log_records
    assert record.time_unix_nano == 1788004800250000000
    assert abs(record.observed_time_unix_nano - time.time_ns()) < 300e9
    assert (record.severity_number, record.severity_text, record.body.string_value) == (13, "WARN", "hello")
    found = plain(record.attributes)
    assert [value.WhichOneof("value") for value in found.pop("tags").values] == ["string_value", "int_value"]
    assert plain(found.pop("more").values) == {"x": 1}
    assert found == {"source": "spool", "team": "crew", "count": 3, "ok": True, "ratio": 0.5}


def test_spans_arrive_each_in_a_trace_of_its_own(collector, export, eventually):
    exporter = export(collector.url)
    exporter.span("drain", NOON, NOON + 0.5, True, messages=3)
    exporter.span("drain", NOON, NOON - 1, False)
    eventually(lambda: len(collector.spans) == 2)
    good, bad = collector.spans
    assert good.trace_id != bad.trace_id
    assert good.parent_span_id == b""
    assert (good.name, good.kind, good.status.code, bad.status.code) == ("drain", 1, 1, 2)
    assert (good.start_time_unix_nano, good.end_time_unix_nano) == (1788000000250000000, 1788000000750000000)
    assert bad.end_time_unix_nano == bad.start_time_unix_nano, "time never runs backwards in a span"
    assert plain(good.attributes) == {"messages": 3}


def test_counters_add_up(collector, export):
    exporter = export(collector.url)
    for _ in range(3):
        exporter.count("atm.messages", 2, team="crew")
    exporter.count("atm.messages", team="other")
    exporter.close(30)
    sums = [metric.sum for metric in collector.metrics if metric.name == "atm.messages"]
    assert (sums[-1].aggregation_temporality, sums[-1].is_monotonic) == (2, True)
    assert {plain(point.attributes)["team"]: point.as_int for point in sums[-1].data_points} == {"crew": 6, "other": 1}


def test_secrets_are_in_nothing_that_is_sent(collector, export):
    exporter = export(collector.url)
    exporter.log(line(f"password={SECRET}", token=SECRET, nested={"api_key": SECRET}))
    exporter.span(f"GET https://a:{SECRET}@h", NOON, NOON, True, authorization=f"Bearer {SECRET}")
    exporter.count("n", 1, secret=SECRET)
    exporter.close(30)
    assert all((collector.logs, collector.spans, collector.metrics))
    said = str(collector.requests)
    assert SECRET not in said
    assert REDACTED in said


def test_headers_and_paths_are_those_that_were_asked_for(collector, export, eventually, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Api-Key=k%20l,x=a=b")
    url = collector.url.replace("http://", "http://ann:p%40ss@") + "/otlp/"
    export(url).log(line())
    eventually(lambda: collector.requests)
    path, headers, _ = collector.requests[0]
    assert path == "/otlp/v1/logs"
    assert (headers["x-api-key"], headers["x"], headers["authorization"]) == ("k l", "a=b", "Basic YW5uOnBAc3M=")


def test_proxies_are_passed_by(collector, export, eventually, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    export(collector.url).log(line())
    eventually(lambda: collector.logs)


def test_many_items_come_in_order(collector, export):
    exporter = export(collector.url)
    for number in range(CAPACITY):
        exporter.log(line(str(number)))
    exporter.close(30)
    assert collector.texts == [str(number) for number in range(CAPACITY)]
    assert exporter.stats() == {"sent": CAPACITY, "dropped": 0, "waiting": 0, "last_error": None}


def test_a_slow_collector_costs_the_oldest_and_nobody_waits_for_it(collector, export, eventually):
    collector.may_answer.clear()
    exporter = export(collector.url)
    exporter.log(line("slow"))
    eventually(lambda: collector.came)
    for number in range(CAPACITY + 100):
        exporter.log(line(str(number)))
    assert exporter.stats() == {"sent": 0, "dropped": 100, "waiting": CAPACITY, "last_error": None}
    collector.may_answer.set()
    eventually(lambda: exporter.stats()["sent"] == 1 + CAPACITY)
    assert collector.texts == ["slow", *(str(number) for number in range(100, CAPACITY + 100))]
    assert exporter.stats()["waiting"] == 0


def test_a_collector_that_is_away_costs_what_it_would_have_been_told(export, eventually, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    exporter = export("http://ann:t0ps3cret@127.0.0.1:9")
    exporter.log(line())
    exporter.count("n")
    eventually(lambda: exporter.stats()["dropped"] == 1)
    assert "ConnectionError" in str(exporter.stats()["last_error"])
    assert "t0ps3cret" not in str(exporter.stats())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_collector_that_says_later_gets_it_later(collector, export, eventually, status):
    answers = iter([(status, {"Retry-After": "0"}, b"")] * 3)
    collector.answer = lambda: next(answers, (200, {}, b""))
    exporter = export(collector.url)
    exporter.log(line("once"))
    eventually(lambda: collector.texts == ["once"])
    assert exporter.stats()["dropped"] == 0
    assert str(status) in str(exporter.stats()["last_error"])


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500, 301, 307])
def test_a_collector_that_says_no_is_not_asked_again(collector, export, eventually, status):
    other = Collector()
    collector.answer = lambda: (status, {"Location": f"{other.url}/v1/logs"}, f"token={SECRET}".encode())
    exporter = export(collector.url)
    exporter.log(line())
    eventually(lambda: exporter.stats()["dropped"] == 1)
    assert (collector.came, other.came) == (1, 0)
    other.close()
    assert str(status) in str(exporter.stats()["last_error"])
    assert SECRET not in str(exporter.stats())
    collector.answer = lambda: (200, {}, b"")
    exporter.log(line("after"))
    eventually(lambda: collector.texts == ["after"])


@pytest.mark.parametrize("answer", [b"\xff", b"[]", b"x" * 200_000])
def test_an_odd_answer_is_an_answer(collector, export, eventually, answer):
    collector.answer = lambda: (200, {}, answer)
    exporter = export(collector.url)
    exporter.log(line())
    eventually(lambda: exporter.stats()["sent"] == 1)


def test_a_server_that_speaks_no_http_is_survived(export, eventually):
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()
        server.settimeout(0.05)

        def babble() -> None:
            while not stop.is_set():
                try:
                    connection = server.accept()[0]
                except TimeoutError:
                    continue
                with connection, suppress(OSError):  # whoever connected may have gone again
                    connection.sendall(b"\x00\x00\x12\x04\x00 gRPC or so\r\n\r\n")

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        exporter = export(f"http://127.0.0.1:{server.getsockname()[1]}")
        exporter.log(line())
        eventually(lambda: exporter.stats()["last_error"])
        assert exporter.stats()["sent"] == 0
        stop.set()
        thread.join(10)


class Rude:
    """A value that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_what_cannot_be_sent_costs_only_itself(collector, export):
    exporter = export(collector.url)
    odd: Any = Rude()
    exporter.log(line("huge" * 100_000, a=10**30, b=float("nan"), c=b"x", d=odd, e="\ud800\0", f={"g": 2**64}))
    exporter.log(line("\ud800"))
    exporter.log({})
    exporter.log(line("good", long="x" * 100_000, **{f"k{number}": number for number in range(1000)}))
    exporter.close(30)
    first, second, third, last = collector.texts
    assert len(first) < 10_000
    assert (second, third, last) == ("\\ud800", "", "good")
    assert plain(collector.logs[0].attributes)["source"] == "spool"
    assert len(collector.logs[3].attributes) <= module.MOST_ATTRIBUTES
    assert exporter.stats() == {"sent": 4, "dropped": 0, "waiting": 0, "last_error": None}


def test_a_sampler_that_the_environment_names_decides(collector, export, monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    exporter = export(collector.url)
    exporter.span("x", NOON, NOON, True)
    exporter.close(30)
    assert (collector.spans, exporter.stats()["waiting"]) == ([], 0)


def test_closing_twice_and_reporting_afterwards_is_harmless(collector, export):
    exporter = export(collector.url)
    exporter.close(30)
    exporter.close(30)
    exporter.log(line())
    exporter.span("x", 1, 2, True)
    exporter.count("n")
    assert collector.logs == []


def test_closing_does_not_wait_for_a_collector_that_holds_on(collector, export):
    collector.may_answer.clear()
    exporter = export(collector.url)
    for _ in range(CAPACITY):
        exporter.log(line())
    exporter.count("n")
    began = time.monotonic()
    exporter.close(0.05)
    assert time.monotonic() - began < 5
    assert exporter.stats()["sent"] == 0


def test_what_is_closed_sends_no_more(collector, export, eventually):
    collector.may_answer.clear()
    exporter = export(collector.url)
    for _ in range(CAPACITY):
        exporter.log(line())
    exporter.close(0.05)
    collector.may_answer.set()
    eventually(lambda: exporter.stats()["waiting"] == 0)
    assert collector.came <= 1
