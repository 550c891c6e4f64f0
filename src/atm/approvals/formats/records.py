"""
Requests, answers and uses in files, and lines of the audit.

Each is signed with the team's secret: a request whose tier somebody lowered, or an answer that somebody put there by
hand, counts for nothing. Against a program that reads the secret this is no wall; see docs/security.md.
"""

from __future__ import annotations

from atm.approvals.rules.calls import MOST_SHOWN
from atm.approvals.rules.requests import (
    APPROVED,
    CANCELLED,
    DENIED,
    EXPIRED,
    Approval,
    AskerProcess,
    GivenAnswer,
    RuleNote,
)
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.files.formats.times import from_iso, to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.calls import AgentCall
    from atm.core.plain import Plain, Record

VERSION = 1
_TEXTS = ("requester", "tier", "operation", "tool", "command", "folder", "diff", "task", "session", "digest", "why")


def digest_of(requester: str, call: AgentCall) -> str:
    """
    Of the very call: one byte of difference, and it is another one. The line is what the vendor's shell gets, with all
    assignments, redirections and shells on it. What cannot be told is a part of it, so that a yes for a plain call is
    no yes for one with a field that atm does not know.
    """
    from hashlib import sha256

    parts = [requester.casefold(), call.tool, call.line, call.folder, [*call.paths], call.branch, call.diff]
    parts += [call.unclear] if call.unclear else []
    return sha256(to_bytes(encode(parts))).hexdigest()


def cut(text: str) -> str:
    """For people to read; what is left out is said."""
    left = len(text) - MOST_SHOWN
    return text if left <= 0 else f"{text[:MOST_SHOWN]}\n… {left} characters more, which are not shown"


# Requests.


def encode_request(approval: Approval, secret: bytes) -> bytes:
    record: Record = {"version": VERSION, "id": approval.id, "team": approval.team}
    record |= {key: getattr(approval, key) for key in _TEXTS}
    record |= {
        "paths": [*approval.paths],
        "asked_at": to_iso(approval.asked_at),
        "expires_at": to_iso(approval.expires_at),
        "rule": rule_json(approval.rule),
    }
    if approval.claim:
        record["claim"] = approval.claim
    if (asker := approval.asker) is not None:
        record["asker"] = {"pid": asker.pid, "began": asker.began, "host": asker.host}
    if approval.is_deferred:
        record["deferred"] = True
    return signed(record, secret)


def decode_request(data: bytes, id: str, team: str, secret: bytes) -> Approval:
    """Raises NotJson for what is no request; one that was changed by others has a `problem`."""
    record = decode_object(to_text(data))
    asked, expires = from_iso(str(record.get("asked_at"))), from_iso(str(record.get("expires_at")))
    texts = {key: record.get(key) for key in _TEXTS}
    paths, rule = record.get("paths"), record.get("rule")
    if asked is None or expires is None or not all(isinstance(text, str) for text in texts.values()):
        raise NotJson("it is no request for an approval")
    approval = Approval(
        id,
        team=team,
        asked_at=asked,
        expires_at=expires,
        paths=[path for path in paths if isinstance(path, str)] if isinstance(paths, list) else [],
        rule=_rule(rule),
        asker=_asker(record.get("asker")),
        claim=str(record.get("claim") or ""),
        is_deferred=record.get("deferred") is True,
        **{key: str(text) for key, text in texts.items()},
    )
    if record.get("id") != id or record.get("team") != team or not is_signed(record, secret):
        approval.problem = "somebody changed it: it counts for nothing"
    return approval


def _asker(said: Plain) -> AskerProcess | None:
    pid = said.get("pid") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(pid, int) or not said.get("began"):
        return None
    return AskerProcess(pid, str(said.get("began")), str(said.get("host") or ""))


def _rule(said: Plain) -> RuleNote:
    if not isinstance(said, dict):
        return RuleNote()
    number = said.get("number")
    return RuleNote(str(said.get("file") or ""), number if isinstance(number, int) else 0, str(said.get("text") or ""))


# Answers and uses.


def encode_given(approval: Approval, answer: GivenAnswer, secret: bytes) -> bytes:
    record: Record = {
        "version": VERSION,
        "id": approval.id,
        "digest": approval.digest,
        "state": answer.state,
        "by": answer.by,
        "how": answer.how,
        "pid": answer.pid,
        "at": to_iso(answer.at),
        "reason": answer.reason,
    }
    return signed(record, secret)


def decode_given(data: bytes, approval: Approval, secret: bytes) -> GivenAnswer:
    """Raises NotJson for what is no answer to this request, or was not given through us."""
    record = decode_object(to_text(data))
    at, pid = from_iso(str(record.get("at"))), record.get("pid")
    if not is_signed(record, secret) or (record.get("id"), record.get("digest")) != (approval.id, approval.digest):
        raise NotJson("nobody gave this answer through atm")
    if record.get("state") not in (APPROVED, DENIED, CANCELLED, EXPIRED) or at is None or not isinstance(pid, int):
        raise NotJson("it is no answer")
    return GivenAnswer(
        str(record.get("state")),
        by=str(record.get("by")),
        how=str(record.get("how")),
        pid=pid,
        at=at,
        reason=str(record.get("reason") or ""),
    )


def encode_mark(approval: Approval, event: str, at: float, call_id: str, secret: bytes) -> bytes:
    """`event`: the use of an approval, or the end of the wait for it."""
    record: Record = {"id": approval.id, "event": event, "at": to_iso(at), "call": call_id}
    return signed(record, secret)


def decode_mark(data: bytes, approval: Approval, event: str, secret: bytes) -> tuple[float, str]:
    """
    When it happened, and by which call. A mark that atm did not write still counts, but names no time and no call: no
    later call can pass for the one that was executed.
    """
    try:
        record = decode_object(to_text(data))
    except NotJson:
        return 0.0, ""
    if (record.get("id"), record.get("event")) != (approval.id, event) or not is_signed(record, secret):
        return 0.0, ""
    return from_iso(str(record.get("at"))) or 0.0, str(record.get("call") or "")


# Signatures.


def signed(record: Record, secret: bytes) -> bytes:
    return to_bytes(encode({**record, "signature": _signature(record, secret)}) + "\n")


def is_signed(record: Record, secret: bytes) -> bool:
    import hmac

    given = record.get("signature")
    rest = {key: value for key, value in record.items() if key != "signature"}
    return isinstance(given, str) and hmac.compare_digest(given, _signature(rest, secret))


def _signature(record: Record, secret: bytes) -> str:
    import hmac

    return hmac.new(b"approvals" + secret, to_bytes(encode(record)), "sha256").hexdigest()


# For people and programs.


def rule_json(rule: RuleNote) -> Record:
    return {"file": rule.file, "number": rule.number, "text": rule.text}


def approval_json(approval: Approval, now: float) -> Record:
    """As every surface tells it."""
    state, answer = approval.state(now), approval.answer
    said: Record = {
        "id": approval.id,
        "team": approval.team,
        "requester": approval.requester,
        "tier": approval.tier,
        "operation": approval.operation,
        "tool": approval.tool,
        "command": approval.command,
        "folder": approval.folder,
        "paths": [*approval.paths],
        "diff": approval.diff or None,
        "task": approval.task or None,
        "asked_at": to_iso(approval.asked_at),
        "expires_at": to_iso(approval.expires_at),
        "state": state,
        "decided_by": (answer.by or None) if answer else None,
        "decided_at": to_iso(answer.at) if answer else None,
        "reason": answer.reason if answer else "",
        "why": approval.why,
        "rule": rule_json(approval.rule),
        "used_at": to_iso(approval.used_at) if approval.used_at is not None else None,
    }
    if approval.problem:
        said["problem"] = approval.problem
    return said


class AuditLine:
    """One line of the audit."""

    __slots__ = ("record",)

    def __init__(
        self, at: float, id: str, event: str, *, by: str, how: str, pid: int, rule: RuleNote, reason: str = ""
    ) -> None:
        self.record: Record = {
            "at": to_iso(at),
            "id": id,
            "event": event,
            "by": by,
            "how": how,
            "pid": pid,
            "rule": rule_json(rule),
            "reason": reason,
        }

    def numbered(self, seq: int) -> bytes:
        return to_bytes(encode({"seq": seq, **self.record}) + "\n")
