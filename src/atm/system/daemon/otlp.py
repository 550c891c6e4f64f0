"""
OpenTelemetry export over HTTP, without a dependency. What is sent is in `formats.otlp`.

It fails open. Callers put things into a bounded queue and go on; one thread sends them in batches. A collector that is
away, slow or angry costs telemetry, which is counted, and never time or an exception.

Redirects and proxies are not followed: headers may hold credentials, and they are for one address only.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Generic, TypeVar

from atm import __version__
from atm.domain.redaction import redact
from atm.formats.daemon import otlp as shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.domain.plain import Plain
    from atm.formats.daemon.otlp import Fields

    Item = tuple[str, Callable[[], Fields]]
    Point = tuple[str, str, float, Fields, int]

CAPACITY = 2048
BATCH = 512
EVERY = 3.0
TIMEOUT = 3.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LARGEST_ANSWER = 65_536

RETRYABLE = (429, 502, 503, 504)
"""By the protocol all other refusals are final: the same data would be refused again."""

SENT, LATER, NEVER = "sent", "later", "never"
LOGS, TRACES, METRICS = "logs", "traces", "metrics"

T = TypeVar("T")


def endpoint_from(environment: Mapping[str, str], setting: str | None = None) -> tuple[str, dict[str, str]] | None:
    """
    Where to send and with which headers, from OpenTelemetry's own variables or else from a setting; None for nowhere.

    The setting `off` switches the variables off too. A collector that is spoken to by gRPC is of no use to us.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or setting == "off":
        return None
    given = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    if environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip().lower() == "grpc":
        given = ""
    endpoint = given or (setting or "").strip()
    if address_of(endpoint) is None:
        return None
    return endpoint, headers_from(environment.get("OTEL_EXPORTER_OTLP_HEADERS", ""))


def headers_from(text: str) -> dict[str, str]:
    """`key=value,key2=value2`, values percent-encoded. What no header can hold is left out."""
    from urllib.parse import unquote

    found = {}
    for pair in text.split(","):
        name, _, value = (part.strip() for part in pair.partition("="))
        value = unquote(value)
        is_name = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        if is_name and value and value.isascii() and value.isprintable():
            found[name] = value
    return found


class Address:
    """A collector's address in its parts."""

    __slots__ = ("authorization", "host", "is_secure", "path", "port")

    def __init__(self, endpoint: str) -> None:
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("not an http or https address")
        self.is_secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port
        self.path = parts.path.rstrip("/")
        self.authorization = ""
        if parts.username:
            from base64 import b64encode

            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.authorization = f"Basic {b64encode(pair.encode()).decode()}"


def address_of(endpoint: str) -> Address | None:
    try:
        return Address(endpoint)
    except ValueError:
        return None


class Bounded(Generic[T]):
    """A queue that drops its oldest items rather than grow."""

    def __init__(self, capacity: int) -> None:
        self.dropped = 0
        self._capacity = capacity
        self._items: deque[T] = deque()
        # Not a plain lock: a signal handler may report while its own thread is reporting.
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> int:
        """How many there are now."""
        with self._lock:
            if len(self._items) >= self._capacity:
                self._items.popleft()
                self.dropped += 1
            self._items.append(item)
            return len(self._items)

    def take(self, most: int) -> list[T]:
        with self._lock:
            return [self._items.popleft() for _ in range(min(most, len(self._items)))]

    def give_back(self, items: list[T]) -> None:
        """In front of those that came meanwhile; the oldest of them if there is no room for all."""
        with self._lock:
            room = self._capacity - len(self._items)
            fitting = items[max(0, len(items) - room) :] if room > 0 else []
            self.dropped += len(items) - len(fitting)
            self._items.extendleft(reversed(fitting))


class Otlp:
    """An exporter. Nothing that is called on it raises, and nothing but `close` waits."""

    def __init__(
        self,
        endpoint: str,
        *,
        headers: Mapping[str, str] | None = None,
        service: str = "atm",
        host: str = "",
        every: float = EVERY,
        timeout: float = TIMEOUT,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._address = address_of(endpoint)
        self._headers = dict(headers or {})
        self._every = every
        self._timeout = timeout
        self._first_pause = first_pause
        about: Fields = {"service.name": service, "service.version": __version__, "process.pid": os.getpid()}
        self._resource: Fields = {"attributes": shape.attributes({**about, "host.name": host or None})}
        self._scope: Fields = {"name": "atm", "version": __version__}
        self._items: Bounded[Item] = Bounded(CAPACITY)
        self._points: Bounded[Point] = Bounded(CAPACITY)
        self._meter = shape.Meter(time.time_ns())
        self._wake = threading.Event()
        self._closing = False
        self._sent = self._dropped = 0
        self._last_error = ""
        self._pause = 0.0
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="atm-otlp", daemon=True)
        self._begin()

    def _begin(self) -> None:
        try:
            if self._address is None:
                raise RuntimeError("not an http or https address")
            self._thread.start()
        except RuntimeError as error:  # also when the system has no more threads: then there is no export
            self._closing, self._last_error = True, str(error)

    # For callers.

    def log(self, record: Fields) -> None:
        """A line of the daemon's log, which the caller leaves as it is from now on."""
        now = time.time_ns()
        self._report((LOGS, lambda: shape.log_record(record, now)))

    def span(self, name: str, start: float, end: float, ok: bool, /, **attrs: Plain) -> None:
        """Something that took time, from one moment to another in seconds since 1970."""
        times = (start, end)
        self._report((TRACES, lambda: shape.span_record(name, times, ok, attrs, _new_ids())))

    def _report(self, item: Item) -> None:
        if not self._closing and self._items.put(item) % BATCH == 0:
            self._wake.set()

    def count(self, name: str, value: float = 1, /, **attrs: Plain) -> None:
        """Add to a counter, which never falls."""
        self._measure((shape.SUM, name, value, attrs, time.time_ns()))

    def gauge(self, name: str, value: float, /, **attrs: Plain) -> None:
        """A value at this moment."""
        self._measure((shape.GAUGE, name, value, attrs, time.time_ns()))

    def _measure(self, point: Point) -> None:
        if not self._closing and self._points.put(point) % BATCH == 0:
            self._wake.set()

    def stats(self) -> dict[str, Plain]:
        """How it goes: items sent, dropped and waiting, and what went wrong last."""
        return {
            "sent": self._sent,
            "dropped": self._dropped + self._items.dropped + self._points.dropped,
            "waiting": len(self._items) + len(self._points),
            "last_error": self._last_error or None,
        }

    def close(self, seconds: float) -> None:
        """Send what is left, for at most so many seconds. Whatever comes later is ignored."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(max(0.0, seconds))

    # In its own thread.

    def _run(self) -> None:
        while True:
            self._wake.wait(self._every)
            self._wake.clear()
            closing = self._closing
            try:
                self._send_what_is_due(closing)
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever it was given to send
                self._fail(f"{type(error).__name__}: {error}")
            if closing:
                return

    def _send_what_is_due(self, closing: bool) -> None:
        self._add_up()
        if not closing and time.monotonic() < self._retry_at:
            return
        while items := self._items.take(BATCH):
            for path in (LOGS, TRACES):
                if not self._send_items(path, [item for item in items if item[0] == path]):
                    rest = [item for item in items if item[0] == TRACES] if path == LOGS else []
                    self._items.give_back(rest)
                    return
        self._send_metrics()

    def _add_up(self) -> None:
        """Measurements are added up even while nothing can be sent: a counter loses nothing by waiting."""
        while points := self._points.take(BATCH):
            for point in points:
                try:
                    added = self._meter.add(*point)
                except Exception as error:  # noqa: BLE001 - one that cannot be read must not cost the others
                    added, self._last_error = False, str(error)
                self._dropped += not added

    def _send_items(self, path: str, items: list[Item]) -> bool:
        """False if they were given back, to be sent later."""
        records: list[Plain] = []
        for _, make in items:
            try:
                records.append(make())
            except Exception as error:  # noqa: BLE001 - the same
                self._dropped, self._last_error = self._dropped + 1, str(error)
        if not records:
            return True
        body = (shape.logs_body if path == LOGS else shape.traces_body)(self._resource, self._scope, records)
        outcome = self._post(path, body, len(records))
        if outcome == LATER:
            self._items.give_back(items)
        return outcome != LATER

    def _send_metrics(self) -> None:
        changed = self._meter.changed()
        for at in range(0, len(changed), BATCH):
            batch = changed[at : at + BATCH]
            if self._post(METRICS, shape.metrics_body(self._resource, self._scope, batch), len(batch)) == LATER:
                return
            for series in batch:
                series.is_new = False

    def _post(self, path: str, body: str, count: int) -> str:
        try:
            status, wait, answer = self._exchange(f"/v1/{path}", body.encode("utf-8", "backslashreplace"))
        except Exception as error:  # noqa: BLE001 - http.client raises many things at an odd collector
            self._put_off(0.0)
            self._fail(f"{type(error).__name__}: {error}")
            return LATER
        if status in RETRYABLE:
            self._put_off(wait)
            self._fail(f"the collector answered {status}")
            return LATER
        self._pause = self._retry_at = 0.0
        if not 200 <= status < 300:
            self._dropped += count
            self._fail(f"the collector refused {path}: {status} {answer[:200]}")
            return NEVER
        lost, why = shape.rejected(answer)
        self._sent += max(0, count - lost)
        if lost:
            self._dropped += min(lost, count)
            self._fail(f"the collector rejected {lost} of {count}: {why}")
        return SENT

    def _exchange(self, path: str, body: bytes) -> tuple[int, float, str]:
        """The status, how long to wait before the next try, and the beginning of the answer."""
        from http.client import HTTPConnection, HTTPSConnection

        address = self._address
        assert address is not None
        kind = HTTPSConnection if address.is_secure else HTTPConnection
        connection = kind(address.host, address.port, timeout=self._timeout)
        given = {"Authorization": address.authorization} if address.authorization else {}
        headers = {**given, **self._headers, "Content-Type": "application/json", "User-Agent": f"atm/{__version__}"}
        try:
            connection.request("POST", address.path + path, body=body, headers=headers)
            response = connection.getresponse()
            answer = response.read(LARGEST_ANSWER).decode("utf-8", "replace")
            return response.status, _seconds(response.getheader("Retry-After")), answer
        finally:
            connection.close()

    def _put_off(self, wanted: float) -> None:
        self._pause = min(LONGEST_PAUSE, max(self._first_pause, self._pause * 2))
        self._retry_at = time.monotonic() + max(self._pause, min(wanted, LONGEST_PAUSE))

    def _fail(self, why: str) -> None:
        self._last_error = redact(why)[:500]


def _seconds(header: str | None) -> float:
    """Of a Retry-After header; a date in it is passed over."""
    return float(header[:6]) if header and header.isascii() and header.isdecimal() else 0.0


def _new_ids() -> tuple[str, str]:
    """Of a trace and of its only span."""
    return os.urandom(16).hex(), os.urandom(8).hex()
