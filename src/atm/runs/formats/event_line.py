"""Events of a run, one JSON object a line: `events.jsonl` in its folder, and what `atm run --json` prints."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode
from atm.files.formats.times import from_iso, to_iso
from atm.runs.rules.memory import RunEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.core.plain import Plain


def event_fields(event: RunEvent, team: str, run: str) -> dict[str, Plain]:
    at = to_iso(event.at)
    return {
        "kind": event.kind,
        "at": at,
        "run": run,
        "team": team,
        "subject": event.subject,
        "detail": {**event.detail},
    }


def encode_event(event: RunEvent, team: str, run: str) -> str:
    return encode(event_fields(event, team, run)) + "\n"


def decode_events(text: str) -> Iterator[RunEvent]:
    """Every whole line. One that was torn by a crash tells nothing: what it was about is looked at again."""
    for line in text.split("\n"):
        event = _decoded(line) if line.strip() else None
        if event is not None:
            yield event


def _decoded(line: str) -> RunEvent | None:
    try:
        said = decode_object(line)
    except NotJson:
        return None
    kind, subject, at, detail = (said.get(key) for key in ("kind", "subject", "at", "detail"))
    when = from_iso(at) if isinstance(at, str) else None
    if not isinstance(kind, str) or not isinstance(subject, str) or when is None:
        return None
    event = RunEvent(kind, subject, when)
    event.detail = detail if isinstance(detail, dict) else {}
    return event
