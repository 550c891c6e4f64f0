"""
What the daemon is asked and answers: one JSON object a line, each with the version of this protocol.

    {"v": 1, "id": "7", "do": "status"}
    {"v": 1, "id": "8", "do": "web-open", "within": 10}
    {"v": 1, "id": "7", "ok": true, "result": {…}}
    {"v": 1, "id": "7", "ok": false, "error": {"code": "unknown-request", "message": "…"}}
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

VERSION = 1
LONGEST = 1 << 20
"""Bytes of a line. A status of hundreds of loops and plugins stays far below."""

LONGEST_WAIT = 60.0
"""Seconds for which somebody may want to wait."""

_OUTER = ("v", "id", "do", "within")


class BadLine(ValueError):
    """A line that is no request of ours. `code` goes back to whoever sent it."""

    def __init__(self, code: str, message: str, id: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.id = id


class Request:
    """What a client asks for."""

    __slots__ = ("do", "fields", "id", "pid", "within")

    def __init__(self, do: str, fields: dict[str, Plain], id: str = "", within: float = 0.0) -> None:
        self.do = do
        self.fields = fields
        self.id = id
        self.within = within
        """So many seconds will be waited for the answer; 0 if nothing was said."""
        self.pid: int | None = None
        """The process that asks, as the system says it; None where it does not."""

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


def encode_request(request: Request) -> bytes:
    within: dict[str, Plain] = {"within": request.within} if request.within else {}
    return _line({"v": VERSION, "id": request.id, "do": request.do, **within, **request.fields})


def decode_request(data: bytes) -> Request:
    """Raises BadLine."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        raise BadLine("bad-request", "a request is one line with a JSON object") from None
    id = fields.get("id")
    known = id if isinstance(id, str) else ""
    if fields.get("v") != VERSION:
        raise BadLine("version-mismatch", f"this daemon speaks version {VERSION}, not {fields.get('v')!r}", known)
    do = fields.get("do")
    if not isinstance(do, str):
        raise BadLine("bad-request", "a request says in `do` what it wants", known)
    within = fields.get("within")
    seconds = float(min(within, LONGEST_WAIT)) if isinstance(within, (int, float)) and within > 0 else 0.0
    return Request(do, {key: value for key, value in fields.items() if key not in _OUTER}, known, seconds)


def encode_result(id: str, result: Plain) -> bytes:
    return _line({"v": VERSION, "id": id, "ok": True, "result": result})


def encode_error(id: str, code: str, message: str) -> bytes:
    return _line({"v": VERSION, "id": id, "ok": False, "error": {"code": code, "message": message}})


def decode_answer(data: bytes) -> dict[str, Plain]:
    """An answer as it came; raises BadLine if that is none."""
    try:
        fields = decode_object(to_text(data))
    except NotJson as error:
        raise BadLine("bad-answer", f"the daemon answered with something that is not JSON: {error}") from None
    if not isinstance(fields.get("ok"), bool):
        raise BadLine("bad-answer", "the daemon's answer says neither yes nor no")
    return fields


def _line(fields: dict[str, Plain]) -> bytes:
    return to_bytes(encode(fields) + "\n")
