"""
OpenTelemetry export over HTTP, through its SDK. Importing this needs the extra `otel`, and memory: only a daemon that
has a collector does it.

It fails open. The SDK keeps what it is given in bounded queues and sends it from threads of its own. A collector that
is away, slow or angry costs telemetry, which is counted, and never time or an exception.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import requests
from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LogRecordLimits
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

from atm import __version__
from atm.core.redaction import CUT, redact, redact_fields
from atm.files.formats.times import from_iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain

CAPACITY = 2048
TIMEOUT = 10.0
"""Seconds in which a batch is tried, with pauses that double; then it is dropped."""

LARGEST_ANSWER = 65_536
LONGEST_BODY, LONGEST_VALUE, MOST_ATTRIBUTES = 8192, 1024, 64
"""What of one item is sent. Collectors refuse requests above some 20 MB, and a whole batch has to stay below that."""

SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warn": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
}
_NOT_ATTRIBUTES = ("v", "ts", "level", "text", "pid", "host")


class _Session(requests.Session):
    """Goes to one address only, past proxies and without following redirects: headers may hold credentials."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self.trust_env = False
        self._note = note

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        try:
            with super().send(request, **{**how, "allow_redirects": False, "stream": True}) as response:
                answer = response.raw.read(LARGEST_ANSWER).decode("utf-8", "replace")
            if 300 <= response.status_code < 400:  # for the SDK that is a success
                raise requests.RequestException(f"the collector answered {response.status_code}")
        except Exception as error:
            self._note(f"{type(error).__name__}: {error}")
            raise
        if not response.ok:
            self._note(f"the collector answered {response.status_code} {answer[:200]}")
        return response


class _Counted:
    """What becomes of the items of one exporter."""

    waiting = sent = dropped = 0
    lock = threading.Lock()

    def expect(self) -> None:
        """One more is put into its queue, which drops the oldest rather than grow."""
        with self.lock:
            if self.waiting < CAPACITY:
                self.waiting += 1
            else:
                self.dropped += 1

    def export(self, batch: Any) -> Any:
        with self.lock:
            self.waiting -= len(batch)
        result = super().export(batch)  # type: ignore[misc]  # of the exporter beside which it is inherited
        if result.name == "SUCCESS":
            self.sent += len(batch)
        else:
            with self.lock:
                self.dropped += len(batch)
        return result


class _Logs(_Counted, OTLPLogExporter):
    pass


class _Spans(_Counted, OTLPSpanExporter):
    pass


class Otlp:
    """An exporter. Only `close` waits."""

    def __init__(self, endpoint: str, host: str) -> None:
        complaints = logging.getLogger("opentelemetry")  # ours are in `stats`; nobody reads a daemon's stderr
        complaints.addHandler(logging.NullHandler())
        complaints.propagate = False
        about = {"service.name": "atm", "service.version": __version__, "host.name": host}
        resource = Resource.create({**about, "process.pid": os.getpid()})
        base = endpoint.rstrip("/")
        self._last_error: str | None = None
        logs, spans, points = (_Session(self._note) for _ in range(3))
        self._logs = _Logs(f"{base}/v1/logs", session=logs, timeout=TIMEOUT)
        self._spans = _Spans(f"{base}/v1/traces", session=spans, timeout=TIMEOUT)
        self._points = OTLPMetricExporter(f"{base}/v1/metrics", session=points, timeout=TIMEOUT)
        limits = LogRecordLimits(max_attribute_length=LONGEST_VALUE)
        logging_ = LoggerProvider(resource, shutdown_on_exit=False, log_record_limits=limits)
        logging_.add_log_record_processor(BatchLogRecordProcessor(self._logs, max_queue_size=CAPACITY))
        tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracing.add_span_processor(BatchSpanProcessor(self._spans, max_queue_size=CAPACITY))
        metering = MeterProvider([PeriodicExportingMetricReader(self._points)], resource, shutdown_on_exit=False)
        self._providers = (logging_, tracing, metering)
        self._logger = logging_.get_logger("atm", __version__)
        self._tracer = tracing.get_tracer("atm", __version__)
        self._meter = metering.get_meter("atm", __version__)
        self._counters: dict[str, Any] = {}

    def log(self, record: dict[str, Plain]) -> None:
        """A line of the daemon's log."""
        at = from_iso(str(record.get("ts") or ""))
        level = str(record.get("level"))
        text = redact(str(record.get("text", ""))).encode("utf-8", "backslashreplace").decode()
        fields = [pair for pair in record.items() if pair[0] not in _NOT_ATTRIBUTES and pair[1] is not None]
        self._logs.expect()
        self._logger.emit(
            timestamp=_nanos(at) if at is not None else None,
            observed_timestamp=time.time_ns(),
            context=Context(),
            severity_number=SEVERITIES.get(level, SeverityNumber.UNSPECIFIED),
            severity_text=level.upper(),
            body=text if len(text) <= LONGEST_BODY else text[:LONGEST_BODY] + CUT,
            attributes=redact_fields(dict(fields[:MOST_ATTRIBUTES])),
        )

    def span(self, name: str, start: float, end: float, ok: bool, /, **fields: Plain) -> None:
        """Something that took time, from one moment to another in seconds since 1970."""
        span = self._tracer.start_span(
            redact(name), Context(), attributes=redact_fields(fields), start_time=_nanos(start)
        )
        span.set_status(Status(StatusCode.OK if ok else StatusCode.ERROR))
        if span.is_recording():  # a sampler that the environment names may have passed over it
            self._spans.expect()
        span.end(_nanos(max(start, end)))

    def count(self, name: str, value: int = 1, /, **fields: Plain) -> None:
        """Add to a counter, which never falls."""
        if name not in self._counters:
            self._counters[name] = self._meter.create_counter(name)
        self._counters[name].add(value, redact_fields(fields))

    def stats(self) -> dict[str, Plain]:
        """How it goes: log lines and spans sent, dropped and waiting, and what went wrong last."""
        counted = (self._logs, self._spans)
        return {
            "sent": sum(one.sent for one in counted),
            "dropped": sum(one.dropped for one in counted),
            "waiting": sum(one.waiting for one in counted),
            "last_error": self._last_error,
        }

    def _note(self, trouble: str) -> None:
        self._last_error = redact(trouble)[:500]

    def close(self, seconds: float) -> None:
        """Send what is left, for at most so many seconds. The SDK itself would wait half a minute for each kind."""
        ends = [threading.Thread(target=provider.shutdown, daemon=True) for provider in self._providers]
        for thread in ends:
            thread.start()
        until = time.monotonic() + seconds
        for thread in ends:
            thread.join(max(0.0, until - time.monotonic()))
        for exporter in (self._logs, self._spans, self._points):
            exporter.shutdown()


def _nanos(seconds: float) -> int:
    """Through microseconds, which is what a float of our century still tells apart."""
    return int(seconds * 1_000_000) * 1000
