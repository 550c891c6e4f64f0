"""Telemetry against a real collector on a loopback socket: one that listens, is away, is slow, and says no."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from atm import __version__
from atm.domain.redaction import REDACTED
from atm.system.daemon import otlp as module
from atm.system.daemon.otlp import BATCH, CAPACITY, Bounded, Otlp, endpoint_from, headers_from

NOON = 1_788_000_000.25
SECRET = "s3cr3tValue99"


class Collector:
    """Keeps every request, and answers as it is told."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answer: Callable[[], tuple[int, dict[str, str], bytes]] = lambda: (200, {}, b"{}")
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
                    collector.requests.append((self.path, dict(self.headers), json.loads(body)))
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

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.server_bind()  # from here on the port is ours, and whoever connects is refused
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        if not is_away:
            self.come()

    def come(self) -> None:
        self.server.server_activate()
        self._thread.start()

    def close(self) -> None:
        self.may_answer.set()
        if self._thread.is_alive():
            self.server.shutdown()
        self.server.server_close()
        if self._thread.is_alive():
            self._thread.join(30)

    def of(self, path: str) -> list[Any]:
        return [body for at, _, body in self.requests if at == path]

    @property
    def logs(self) -> list[Any]:
        return [
            record for body in self.of("/v1/logs") for record in body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        ]

    @property
    def metrics(self) -> list[Any]:
        bodies = self.of("/v1/metrics")
        return [m for body in bodies for m in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]]

    @property
    def spans(self) -> list[Any]:
        return [span for body in self.of("/v1/traces") for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def export():
    """Exporters that do not let a test wait."""
    made: list[Otlp] = []

    def begin(url: str, **more: Any) -> Otlp:
        # What is not answered in time is sent again, so nothing that is to arrive once is in a hurry.
        made.append(Otlp(url, **{"host": "box", "every": 0.02, "first_pause": 0.02, "timeout": 30, **more}))
        return made[-1]

    yield begin
    for one in made:
        one.close(0)


def line(text="hello", **more):
    return {
        "v": 1,
        "ts": "2026-08-29T12:00:00.250Z",
        "level": "warn",
        "source": "spool",
        "text": text,
        "pid": 7,
        **more,
    }


def plain(attributes):
    return {pair["key"]: next(iter(pair["value"].values()), None) for pair in attributes}


def test_a_log_line_arrives_as_the_protocol_wants_it(collector, export, eventually):
    export(collector.url).log(
        line(team="crew", count=3, ok=True, ratio=0.5, tags=["a", 1], more={"x": None}, none=None)
    )
    eventually(lambda: collector.logs)
    path, headers, body = collector.requests[0]
    assert (path, headers["Content-Type"], headers["User-Agent"]) == (
        "/v1/logs",
        "application/json",
        f"atm/{__version__}",
    )
    (resource,) = body["resourceLogs"]
    about = plain(resource["resource"]["attributes"])
    assert (about["service.name"], about["host.name"], about["service.version"]) == ("atm", "box", __version__)
    assert resource["scopeLogs"][0]["scope"] == {"name": "atm", "version": __version__}
    (record,) = resource["scopeLogs"][0]["logRecords"]
    assert record["timeUnixNano"] == "1788004800250000000"
    assert re.fullmatch(r"\d{19}", record["observedTimeUnixNano"])
    assert (record["severityNumber"], record["severityText"]) == (13, "WARN")
    assert record["body"] == {"stringValue": "hello"}
    assert record["attributes"] == [
        {"key": "source", "value": {"stringValue": "spool"}},
        {"key": "team", "value": {"stringValue": "crew"}},
        {"key": "count", "value": {"intValue": "3"}},
        {"key": "ok", "value": {"boolValue": True}},
        {"key": "ratio", "value": {"doubleValue": 0.5}},
        {"key": "tags", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}},
        {"key": "more", "value": {"kvlistValue": {"values": [{"key": "x", "value": {}}]}}},
    ]


def test_a_span_arrives_with_hexadecimal_ids(collector, export, eventually):
    exporter = export(collector.url)
    exporter.span("drain", NOON, NOON + 0.5, True, messages=3)
    exporter.span("drain", NOON, NOON - 1, False)
    eventually(lambda: len(collector.spans) == 2)
    good, bad = collector.spans
    assert re.fullmatch(r"[0-9a-f]{32}", good["traceId"])
    assert re.fullmatch(r"[0-9a-f]{16}", good["spanId"])
    assert good["traceId"] != bad["traceId"]
    assert (good["name"], good["kind"], good["status"], bad["status"]) == ("drain", 1, {"code": 1}, {"code": 2})
    assert (good["startTimeUnixNano"], good["endTimeUnixNano"]) == ("1788000000250000000", "1788000000750000000")
    assert bad["endTimeUnixNano"] == bad["startTimeUnixNano"], "time never runs backwards in a span"
    assert plain(good["attributes"]) == {"messages": "3"}


def test_counters_add_up_and_gauges_do_not(collector, export, eventually):
    exporter = export(collector.url, every=60)
    for _ in range(3):
        exporter.count("atm.messages", 2, team="crew")
    exporter.count("atm.messages", team="other")
    exporter.count("atm.seconds", 0.25)
    exporter.gauge("atm.spool", 5)
    exporter.gauge("atm.spool", 4.5)
    exporter.close(30)
    found = {metric["name"]: metric for metric in collector.metrics}
    messages = found["atm.messages"]["sum"]
    assert (messages["aggregationTemporality"], messages["isMonotonic"]) == (2, True)
    points = {plain(point["attributes"])["team"]: point for point in messages["dataPoints"]}
    assert (points["crew"]["asInt"], points["other"]["asInt"]) == ("6", "1")
    assert int(points["crew"]["startTimeUnixNano"]) <= int(points["crew"]["timeUnixNano"])
    assert found["atm.seconds"]["sum"]["dataPoints"][0]["asDouble"] == 0.25
    (point,) = found["atm.spool"]["gauge"]["dataPoints"]
    assert point["asDouble"] == 4.5
    assert "startTimeUnixNano" not in point
    assert "isMonotonic" not in found["atm.spool"]["gauge"]
    assert exporter.stats()["sent"] == 4


def test_a_counter_goes_on_from_where_it_was(collector, export, eventually):
    exporter = export(collector.url)
    exporter.count("n")
    eventually(lambda: len(collector.metrics) == 1)
    exporter.count("n", 4)
    eventually(lambda: len(collector.metrics) == 2)
    first, second = (metric["sum"]["dataPoints"][0] for metric in collector.metrics)
    assert (first["asInt"], second["asInt"]) == ("1", "5")
    assert first["startTimeUnixNano"] == second["startTimeUnixNano"]


def test_what_has_not_changed_is_not_sent_again(collector, export, eventually):
    exporter = export(collector.url)
    exporter.gauge("a", 1)
    eventually(lambda: len(collector.metrics) == 1)
    exporter.gauge("b", 1)
    eventually(lambda: len(collector.metrics) == 2)
    assert [metric["name"] for metric in collector.metrics] == ["a", "b"]


def test_secrets_are_in_nothing_that_is_sent(collector, export, eventually):
    exporter = export(collector.url)
    exporter.log(line(f"password={SECRET}", token=SECRET, nested={"api_key": SECRET}))
    exporter.span(f"GET https://a:{SECRET}@h", NOON, NOON, True, authorization=f"Bearer {SECRET}")
    exporter.count("n", 1, secret=SECRET)
    exporter.gauge("g", 1, text=f"token={SECRET}")
    eventually(lambda: collector.logs and collector.spans and len(collector.metrics) == 2)
    said = json.dumps(collector.requests)
    assert SECRET not in said
    assert REDACTED in said


def test_headers_and_paths_are_those_that_were_asked_for(collector, export, eventually):
    url = collector.url.replace("http://", "http://ann:p%40ss@") + "/otlp/"
    export(url, headers={"X-Api-Key": "k", "Content-Type": "text/plain"}).log(line())
    eventually(lambda: collector.requests)
    path, headers, _ = collector.requests[0]
    assert path == "/otlp/v1/logs"
    assert headers["X-Api-Key"] == "k"
    assert headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == "Basic YW5uOnBAc3M="


def test_many_items_go_in_batches(collector, export):
    exporter = export(collector.url, every=60)
    for number in range(BATCH + 10):
        exporter.log(line(str(number)))
    exporter.close(30)
    sizes = [len(body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) for body in collector.of("/v1/logs")]
    assert sum(sizes) == BATCH + 10
    assert max(sizes) <= BATCH
    assert [record["body"]["stringValue"] for record in collector.logs] == [str(n) for n in range(BATCH + 10)]


def test_a_full_batch_does_not_wait_for_its_turn(collector, export, eventually):
    exporter = export(collector.url, every=3600)
    for number in range(BATCH):
        exporter.log(line(str(number)))
    eventually(lambda: len(collector.logs) == BATCH)


def test_a_collector_that_is_away_costs_nothing_but_the_oldest(export, eventually, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)
    collector = Collector(is_away=True)
    try:
        exporter = export(collector.url)
        for number in range(CAPACITY + 100):
            exporter.log(line(str(number)))
        for _ in range(100):
            exporter.count("n")
        # Those that were under way when the others came are back in the queue only when their attempt has failed.
        eventually(lambda: exporter.stats()["last_error"] and exporter.stats()["dropped"] == 100)
        assert exporter.stats()["waiting"] <= 2 * CAPACITY
        assert exporter.stats()["sent"] == 0
        collector.come()

        def counted() -> list[str]:
            return [metric["sum"]["dataPoints"][0]["asInt"] for metric in collector.metrics]

        eventually(lambda: exporter.stats()["waiting"] == 0 and counted()[-1:] == ["100"])  # a counter loses nothing
        texts = [record["body"]["stringValue"] for record in collector.logs]
        assert texts == [str(n) for n in range(100, CAPACITY + 100)], "the newest are there, each once and in order"
        assert exporter.stats()["dropped"] == 100
    finally:
        collector.close()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_collector_that_says_later_gets_it_later(collector, export, eventually, status):
    answers = iter([(status, {"Retry-After": "0"}, b"")] * 3)
    collector.answer = lambda: next(answers, (200, {}, b"{}"))
    exporter = export(collector.url)
    exporter.log(line("once"))
    eventually(lambda: collector.logs)
    assert [record["body"]["stringValue"] for record in collector.logs] == ["once"]
    assert exporter.stats()["dropped"] == 0
    assert str(status) in str(exporter.stats()["last_error"])


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500, 301])
def test_a_collector_that_says_no_is_not_asked_again(collector, export, eventually, status):
    collector.answer = lambda: (status, {"Location": "http://127.0.0.1:1/"}, f"token={SECRET}".encode())
    exporter = export(collector.url)
    exporter.log(line())
    exporter.count("n")
    eventually(lambda: exporter.stats()["dropped"] == 2)
    assert str(status) in str(exporter.stats()["last_error"])
    assert SECRET not in str(exporter.stats())
    collector.answer = lambda: (200, {}, b"{}")
    exporter.log(line("after"))
    eventually(lambda: collector.logs)
    assert [record["body"]["stringValue"] for record in collector.logs] == ["after"]


def test_a_slow_collector_is_not_waited_for_by_anybody(collector, export, eventually, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)
    collector.may_answer.clear()
    exporter = export(collector.url, timeout=1)
    exporter.log(line("slow"))
    eventually(lambda: "imeout" in str(exporter.stats()["last_error"]))
    for _ in range(100):
        exporter.log(line())
    collector.may_answer.set()
    eventually(lambda: exporter.stats()["waiting"] == 0)
    assert exporter.stats()["dropped"] == 0


def test_items_that_a_collector_rejects_are_counted(collector, export, eventually):
    answer = {"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}
    collector.answer = lambda: (200, {}, json.dumps(answer).encode())
    exporter = export(collector.url, every=3600)
    for _ in range(3):
        exporter.log(line())
    exporter.close(30)
    assert (exporter.stats()["sent"], exporter.stats()["dropped"]) == (1, 2)
    assert "too old" in str(exporter.stats()["last_error"])


@pytest.mark.parametrize(
    "answer",
    [b"", b"\xff", b"[]", b'{"partialSuccess": 5}', b'{"partialSuccess": {"rejectedSpans": "many"}}', b"x" * 200_000],
)
def test_an_odd_answer_is_an_answer(collector, export, eventually, answer):
    collector.answer = lambda: (200, {}, answer)
    exporter = export(collector.url)
    exporter.log(line())
    eventually(lambda: exporter.stats()["sent"] == 1)


def test_a_server_that_speaks_no_http_is_survived(export, eventually):
    import socket

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


def test_what_cannot_be_sent_costs_only_itself(collector, export, eventually):
    exporter = export(collector.url, every=3600)
    odd: Any = Rude()
    exporter.log(odd)
    exporter.log({"ts": odd, "text": odd})
    exporter.log(line("huge" * 100_000, a=10**30, b=float("nan"), c=b"x", d=odd, e="\ud800\0"))
    exporter.span(odd, float("nan"), odd, odd, x=odd)
    exporter.span("x", float("inf"), 0, True)
    for value in (odd, None, float("nan"), float("inf"), -1, 10**30, "5"):
        exporter.count("bad", value)
    exporter.gauge(odd, 1)
    exporter.gauge("good", -1.5, x=odd)
    exporter.log(line("good"))
    exporter.close(30)
    texts = [record["body"]["stringValue"] for record in collector.logs]
    assert texts[-1] == "good"
    assert len(texts[0]) < 10_000
    assert [metric["name"] for metric in collector.metrics] == ["good"]
    assert exporter.stats()["waiting"] == 0
    assert exporter.stats()["dropped"] == 2 + 2 + 7 + 1


def test_attributes_that_are_always_different_do_not_fill_the_memory(collector, export, monkeypatch):
    monkeypatch.setattr("atm.formats.daemon.otlp.MOST_SERIES", 10)
    exporter = export(collector.url, every=3600)
    for number in range(50):
        exporter.count("n", 1, member=str(number))
    exporter.close(30)
    assert sum(len(metric["sum"]["dataPoints"]) for metric in collector.metrics) == 10
    assert exporter.stats()["dropped"] == 40


@pytest.mark.parametrize(
    "url", ["", "collector:4318", "ftp://h/", "http://", "http://h:port/", "file:///etc", "http://[x/"]
)
def test_an_address_that_is_none_exports_nothing_and_says_so(url):
    exporter = Otlp(url, host="box")
    exporter.log(line())
    exporter.count("n")
    exporter.close(0)
    assert exporter.stats() == {"sent": 0, "dropped": 0, "waiting": 0, "last_error": "not an http or https address"}


def test_closing_twice_and_reporting_afterwards_is_harmless(collector, export):
    exporter = export(collector.url)
    exporter.close(30)
    exporter.close(30)
    exporter.log(line())
    exporter.span("x", 1, 2, True)
    exporter.count("n")
    exporter.gauge("n", 1)
    assert exporter.stats()["waiting"] == 0


def test_closing_does_not_wait_for_a_collector_that_is_away(collector, export):
    collector.may_answer.clear()
    exporter = export(collector.url, timeout=30)
    exporter.log(line())
    exporter.close(0.05)  # returns although the collector holds the connection; the fixture ends it
    assert exporter.stats()["sent"] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers that signal are a POSIX thing")
def test_a_signal_handler_may_report_while_its_thread_does(collector, export):
    exporter = export(collector.url, every=3600)
    old = signal.signal(signal.SIGALRM, lambda *_: exporter.count("signals"))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for number in range(CAPACITY):
            exporter.log(line(str(number)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    exporter.close(30)
    assert len(collector.logs) == CAPACITY


def test_a_queue_gives_back_in_order_and_never_grows():
    queue: Bounded[int] = Bounded(4)
    for number in range(6):
        queue.put(number)
    assert queue.dropped == 2
    taken = queue.take(3)
    assert taken == [2, 3, 4]
    queue.put(6)
    queue.give_back(taken)
    assert queue.dropped == 3
    assert queue.take(10) == [3, 4, 5, 6]
    for number in range(4):
        queue.put(number)
    queue.give_back([9])
    assert queue.take(10) == [0, 1, 2, 3]


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("environment", "setting", "found"),
    [
        ({}, None, None),
        ({}, "", None),
        ({}, "http://h:4318", "http://h:4318"),
        ({ENDPOINT: "https://c/"}, None, "https://c/"),
        ({ENDPOINT: "https://c"}, "http://h", "https://c"),
        ({ENDPOINT: " "}, "http://h", "http://h"),
        ({ENDPOINT: "https://c"}, "off", None),
        ({ENDPOINT: "https://c", "OTEL_SDK_DISABLED": "TRUE"}, "http://h", None),
        ({ENDPOINT: "https://c", "OTEL_SDK_DISABLED": "no"}, None, "https://c"),
        ({ENDPOINT: "https://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, None, None),
        ({ENDPOINT: "https://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://h", "http://h"),
        ({ENDPOINT: "unix:///run/x"}, None, None),
        ({ENDPOINT: "localhost:4318"}, None, None),
    ],
)
def test_where_to_send_comes_from_the_environment_or_a_setting(environment, setting, found):
    answer = endpoint_from(environment, setting)
    assert (answer[0] if answer else None) == found


def test_headers_come_from_the_environment():
    environment = {ENDPOINT: "http://h", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k, Authorization=Basic%20abc,x=a=b"}
    answer = endpoint_from(environment)
    assert answer == ("http://h", {"api-key": "k", "Authorization": "Basic abc", "x": "a=b"})


@pytest.mark.parametrize("text", ["", ",", "=", "a", "a=", "=b", "a b=c", "a=b%0d%0aEvil: x", "a=ü", "ü=a", "a:b=c"])
def test_what_no_header_can_hold_is_left_out(text):
    assert headers_from(text) == {}
