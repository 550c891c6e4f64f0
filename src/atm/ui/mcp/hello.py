"""
The first line of a connection, and the answer to it: who the launcher says is calling, before any MCP is spoken.

    {"v": 1, "hello": "mcp", "team": "crew", "member": "ann", "role": "", "folder": "/work", "config": ""}
    {"v": 1, "ok": true}
    {"v": 1, "ok": false, "error": {"code": "mcp-missing", "message": "…", "remedy": "…"}}

Light, because `atm mcp` says it: no dataclasses here.
"""

from __future__ import annotations

from atm.core.errors import AtmError, RequestError
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

VERSION = 1
LONGEST_HELLO = 16_384
LONGEST_VALUE = 4_096
LONGEST_LINE = 4 << 20
"""Bytes of one message of the protocol, in either direction."""

FIELDS = ("team", "member", "role", "folder", "config")


class BadHello(RequestError):
    """What came first was no greeting of ours, or nobody who may come in."""

    code = "bad-hello"


class IdentityClaim:
    """Whom the launcher says is calling; what it may do is decided by the roster (`identity.py`)."""

    __slots__ = FIELDS

    def __init__(self, team: str = "", member: str = "", role: str = "", folder: str = "", config: str = "") -> None:
        self.team = team
        self.member = member
        self.role = role
        self.folder = folder
        """Where the client works: the settings of that repository hold."""
        self.config = config
        """What ATM_CONFIG says there."""


def encode_hello(claim: IdentityClaim) -> bytes:
    return _line({"v": VERSION, "hello": "mcp", **{name: getattr(claim, name) for name in FIELDS}})


def decode_hello(line: bytes) -> IdentityClaim:
    """Raises BadHello."""
    try:
        said = decode_object(to_text(line[: LONGEST_HELLO + 1]))
    except NotJson:
        raise BadHello("the first line is not a JSON object", "connect with `atm mcp`") from None
    if len(line) > LONGEST_HELLO or said.get("hello") != "mcp":
        raise BadHello("the first line is not the greeting of `atm mcp`", "connect with `atm mcp`")
    if said.get("v") != VERSION:
        raise BadHello(
            f"this daemon greets in version {VERSION}, not {said.get('v')!r}", "restart it: `atm daemon restart`"
        )
    claim = IdentityClaim(**{name: _text(said.get(name), name) for name in FIELDS})
    if not all(path.startswith("/") for path in (claim.folder, claim.config) if path):
        # Relative to whom? The daemon is somewhere else.
        raise BadHello("a path in the greeting is not absolute", "connect with `atm mcp`")
    return claim


def _text(value: object, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_VALUE or not _can_be_a_path(value):
        raise BadHello(f"{name} in the greeting must be a short text", "connect with `atm mcp`")
    return value


def _can_be_a_path(value: str) -> bool:
    """File names may be any bytes (they come as lone surrogates), but no zero, and no half of anything else."""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def encode_welcome() -> bytes:
    return _line({"v": VERSION, "ok": True})


def encode_refusal(error: AtmError) -> bytes:
    parts = {"code": error.code, "message": str(error)[:2000], "remedy": error.remedy[:2000], "path": error.path}
    return _line({"v": VERSION, "ok": False, "error": parts})


def check_welcome(line: bytes) -> None:
    """Passes if we are let in; raises the refusal as an error otherwise."""
    try:
        said = decode_object(to_text(line))
    except NotJson:
        raise AtmError("the daemon answered with something that is no greeting", "`atm daemon restart`") from None
    if said.get("ok") is True:
        return
    parts = said.get("error")
    parts = parts if isinstance(parts, dict) else {}
    refusal = AtmError(*(str(parts.get(key) or "") for key in ("message", "remedy", "path")))
    refusal.code = str(parts.get("code") or "refused")
    raise refusal


def _line(fields: dict[str, object]) -> bytes:
    return to_bytes(encode(fields) + "\n")
