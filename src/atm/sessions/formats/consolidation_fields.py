"""`consolidation` in `state.json`: how far a team's work is brought together."""

from __future__ import annotations

from atm.files.formats.json_record import decode_object, to_text
from atm.sessions.rules.consolidation import Consolidation
from atm.team.formats.lead_fields import milliseconds, seconds_in, text_in, whole_in, with_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain


def consolidation_in(data: bytes) -> Consolidation | None:
    """None if none was begun. Raises NotJson."""
    found = decode_object(to_text(data)).get("consolidation")
    if not isinstance(found, dict):
        return None
    return Consolidation(
        step=text_in(found, "step"),
        partial=found.get("partial") is True,
        by=text_in(found, "by"),
        session=text_in(found, "session"),
        at=seconds_in(found, "at_utc_ms") or 0.0,
        pid=whole_in(found, "pid"),
        began=text_in(found, "began"),
        boot=text_in(found, "boot"),
        message=text_in(found, "message"),
        push=text_in(found, "push"),
        index=text_in(found, "index"),
        head=text_in(found, "head"),
        commit=text_in(found, "commit"),
        asked_at=seconds_in(found, "asked_utc_ms") or 0.0,
    )


def with_consolidation(data: bytes, said: Consolidation | None) -> bytes:
    """None takes it away. `partial_consolidation` is the seed's own word for one that is under way."""
    if said is None:
        return with_fields(data, {"consolidation": None, "partial_consolidation": None})
    fields: dict[str, Plain] = {
        "step": said.step,
        "partial": said.partial,
        "by": said.by,
        "session": said.session,
        "at_utc_ms": milliseconds(said.at),
        "pid": said.pid,
        "began": said.began,
        "boot": said.boot,
        "message": said.message,
        "push": said.push,
        "index": said.index,
        "head": said.head,
        "commit": said.commit,
        "asked_utc_ms": milliseconds(said.asked_at) if said.asked_at else None,
    }
    return with_fields(data, {"consolidation": fields, "partial_consolidation": said.partial})
