"""`~/.claude/sessions/{pid}.json`: what Claude Code says of a session that runs. Not ours, and never trusted."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, to_text

LARGEST_NOTE = 64 * 1024
"""Bytes. One has some 400."""

LONGEST_WORD = 200


class SessionNote:
    """One of them. What is missing or strange is empty."""

    __slots__ = ("began", "pid", "session", "status")

    def __init__(self, pid: int, session: str, status: str, began: str) -> None:
        self.pid = pid
        self.session = session
        self.status = status
        self.began = began
        """When the process began, as the system tells it. Numbers of processes are used again."""


def decode_session(data: bytes) -> SessionNote | None:
    """None if it says nothing about any session."""
    try:
        fields = decode_object(to_text(data[: LARGEST_NOTE + 1])) if len(data) <= LARGEST_NOTE else {}
    except NotJson:
        return None
    pid, session, status = fields.get("pid"), _word(fields.get("sessionId")), _word(fields.get("status"))
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or not session:
        return None
    return SessionNote(pid, session, status, _word(fields.get("procStart")))


def _word(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= LONGEST_WORD else ""
