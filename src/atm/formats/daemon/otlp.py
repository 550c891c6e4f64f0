"""
OpenTelemetry's data as JSON, as OTLP over HTTP carries it. Pure: times and ids are arguments.

The JSON of protocol buffers has its ways: 64-bit integers are strings, ids of traces and spans are hexadecimal, enums
are numbers. Secrets are taken out here, behind which nothing is added.
"""

from __future__ import annotations

from atm.domain.redaction import CUT, redact, redact_fields
from atm.formats.files.json_record import NotJson, decode_object, encode
from atm.formats.files.times import from_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain

    Fields = dict[str, Plain]

SEVERITIES = {"debug": 5, "info": 9, "warn": 13, "error": 17}
CUMULATIVE, INTERNAL, OK, FAILED = 2, 1, 1, 2
SUM, GAUGE = "sum", "gauge"

LONGEST_BODY, LONGEST_VALUE, MOST_ATTRIBUTES = 8192, 1024, 64
"""What of one item is sent. Collectors refuse requests above some 20 MB, and a whole batch has to stay below that."""

MOST_SERIES = 2000
"""Different names and attributes that are counted: a member's name in an attribute must not fill the memory."""

LARGEST_WHOLE = 2**63

_NOT_ATTRIBUTES = ("v", "ts", "level", "text", "pid", "host")


def attributes(fields: Fields) -> list[Plain]:
    """Fields as key-value pairs, without secrets. What has no value is left out."""
    kept = redact_fields({key: fields[key] for key in list(fields)[:MOST_ATTRIBUTES]})
    return [{"key": key, "value": _any_value(value)} for key, value in kept.items() if value is not None]


def _any_value(value: Plain) -> Fields:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -LARGEST_WHOLE <= value < LARGEST_WHOLE:
        return {"intValue": str(value)}
    if isinstance(value, float) and is_finite(value):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(item) for item in value[:MOST_ATTRIBUTES]]}}
    if isinstance(value, dict):
        inner: list[Plain] = [{"key": key, "value": _any_value(value[key])} for key in list(value)[:MOST_ATTRIBUTES]]
        return {"kvlistValue": {"values": inner}}
    return {"stringValue": _cut(str(value), LONGEST_VALUE)}


def is_finite(value: float) -> bool:
    return value == value and value not in (float("inf"), float("-inf"))


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[:size] + CUT


def log_record(record: Fields, observed: int) -> Fields:
    """A line of the daemon's log."""
    at = from_iso(str(record.get("ts") or ""))
    level = str(record.get("level"))
    return {
        "timeUnixNano": str(_nanos(at) if at is not None else observed),
        "observedTimeUnixNano": str(observed),
        "severityNumber": SEVERITIES.get(level, 0),
        "severityText": level.upper(),
        "body": {"stringValue": _cut(redact(str(record.get("text", ""))), LONGEST_BODY)},
        "attributes": attributes({key: value for key, value in record.items() if key not in _NOT_ATTRIBUTES}),
    }


def span_record(name: str, times: tuple[float, float], ok: bool, fields: Fields, ids: tuple[str, str]) -> Fields:
    """Something that took time. `ids` are those of its trace and of itself."""
    start, end = times
    return {
        "traceId": ids[0],
        "spanId": ids[1],
        "name": _cut(redact(name), LONGEST_VALUE),
        "kind": INTERNAL,
        "startTimeUnixNano": str(_nanos(start)),
        "endTimeUnixNano": str(_nanos(max(start, end))),
        "attributes": attributes(fields),
        "status": {"code": OK if ok else FAILED},
    }


def _nanos(seconds: float) -> int:
    """Through microseconds, which is what a float of our century still tells apart."""
    return int(seconds * 1_000_000) * 1000


class Series:
    """One metric with one set of attributes."""

    __slots__ = ("at", "attributes", "began", "is_new", "kind", "name", "value")

    def __init__(self, kind: str, name: str, fields: list[Plain], began: int) -> None:
        self.kind = kind
        self.name = name
        self.attributes = fields
        self.began = began
        self.at = began
        self.value: float = 0
        self.is_new = True
        """Has it changed since it was last sent?"""

    def point(self) -> Fields:
        whole = isinstance(self.value, int)
        value: Fields = {"asInt": str(self.value)} if whole else {"asDouble": self.value}
        start: Fields = {"startTimeUnixNano": str(self.began)} if self.kind == SUM else {}
        return {"attributes": self.attributes, **start, "timeUnixNano": str(self.at), **value}


class Meter:
    """All metrics of a process, added up since it began: what did not arrive is in the next value."""

    __slots__ = ("_began", "_series")

    def __init__(self, began: int) -> None:
        self._began = began
        self._series: dict[str, Series] = {}

    def add(self, kind: str, name: str, value: float, fields: Fields, at: int) -> bool:
        """False for what is no number, a counter that would fall, and one series too many."""
        if not isinstance(value, int | float) or (kind == SUM and value < 0):
            return False
        if not is_finite(value) or (isinstance(value, int) and abs(value) >= LARGEST_WHOLE):
            return False
        pairs = attributes(dict(sorted(fields.items())))
        key = encode([kind, name, pairs])
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= MOST_SERIES:
                return False
            series = self._series[key] = Series(kind, _cut(redact(name), LONGEST_VALUE), pairs, self._began)
        total = series.value + value if kind == SUM else value
        if not is_finite(total):
            return False
        series.value = total if abs(total) < LARGEST_WHOLE else float(total)
        series.at, series.is_new = at, True
        return True

    def changed(self) -> list[Series]:
        return [series for series in self._series.values() if series.is_new]


def logs_body(resource: Fields, scope: Fields, records: list[Plain]) -> str:
    return encode({"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]})


def traces_body(resource: Fields, scope: Fields, spans: list[Plain]) -> str:
    return encode({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]})


def metrics_body(resource: Fields, scope: Fields, series: list[Series]) -> str:
    """Points of one name stand together."""
    named: dict[tuple[str, str], list[Plain]] = {}
    for one in series:
        named.setdefault((one.kind, one.name), []).append(one.point())
    metrics: list[Plain] = []
    for (kind, name), points in named.items():
        data: Fields = {"dataPoints": points}
        more: Fields = {"aggregationTemporality": CUMULATIVE, "isMonotonic": True} if kind == SUM else {}
        metrics.append({"name": name, kind: {**data, **more}})
    return encode({"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": scope, "metrics": metrics}]}]})


def rejected(answer: str) -> tuple[int, str]:
    """How many items a collector did not take though it answered with success, and why."""
    try:
        partial = decode_object(answer).get("partialSuccess")
    except NotJson:
        return 0, ""
    if not isinstance(partial, dict):
        return 0, ""
    counts = (partial.get(f"rejected{kind}") for kind in ("LogRecords", "Spans", "DataPoints"))
    digits = [str(count) for count in counts if str(count).isascii() and str(count).isdecimal()]
    return sum(int(count[:9]) for count in digits), redact(str(partial.get("errorMessage") or ""))[:200]
