"""What the pump carries: whole lines, and those that a new daemon has to be told again."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

GREETING = "initialize"
PROBE = "server/discover"
KEPT = 4096
"""Bytes of both ends of a line that is too long: whose it is stands at one of them."""

_SHORT = rb'\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*'
_ID = rb'\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*'


class PumpLines:
    """Bytes as they come, as whole lines. Of one that is too long only `too_long` tells: its id as JSON, or nothing."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._skipped: tuple[bytes, bytes] | None = None
        """The two ends of a line that is too long and goes on."""
        self.too_long: list[str] = []

    def feed(self, data: bytes) -> list[bytes]:
        if self._skipped is not None:
            data = self._skip(data)
        self._rest += data
        if b"\n" not in data:
            self._check()
            return []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        self.too_long += [_id_in(line[:KEPT], line[-KEPT:]) for line in lines if len(line) > self._longest]
        self._check()
        return [line + b"\n" for line in lines if line.strip() and len(line) <= self._longest]

    def _check(self) -> None:
        if len(self._rest) > self._longest:
            self._skipped = bytes(self._rest[:KEPT]), bytes(self._rest[-KEPT:])
            self._rest.clear()

    def _skip(self, data: bytes) -> bytes:
        """What comes after the line that is too long, once it has come to its end."""
        assert self._skipped is not None
        head, tail = self._skipped
        more, is_over, rest = data.partition(b"\n")
        tail = (tail + more)[-KEPT:]
        self._skipped = None if is_over else (head, tail)
        if is_over:
            self.too_long.append(_id_in(head, tail))
        return rest

    def forget(self) -> None:
        """Half a line, of a daemon that is gone."""
        self._rest.clear()
        self._skipped = None


def _id_in(head: bytes, tail: bytes) -> str:
    """
    The id of a message of which only the two ends are known; nothing if it is at neither.

    Clients in Python say it first, those in JavaScript last. Inside of a text a quotation mark has a backslash before
    it, so what looks like a member at one end of the line is one.
    """
    import re  # only when somebody has said too much

    found = re.match(rb"\s*\{(?:" + _SHORT + rb",)*" + _ID + rb"[,}]", head)
    found = found or re.search(rb"[,{]" + _ID + rb"(?:," + _SHORT + rb")*\}\s*$", tail)
    return found.group(1).decode("utf-8", "replace") if found else ""


class Opening:
    """What the agent said that a new daemon has to be told: the handshake, and what it follows."""

    def __init__(self) -> None:
        self._handshake: list[bytes] = []
        self.asked: Plain = None
        """What came with the handshake."""
        self.has_probed = False
        """Did it ask what clients of the later era ask first?"""
        self._followed: dict[str, bytes] = {}
        self._ids: dict[str, Plain] = {}

    def note(self, method: str, fields: dict[str, Plain], line: bytes) -> None:
        if method == GREETING:
            self._handshake, self._ids = [line], {"": fields.get("id")}
            self.asked = fields.get("params")
        elif method == PROBE:
            self.has_probed = True
        elif method == "notifications/initialized":
            self._handshake = [*self._handshake[:1], line]
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            params = fields.get("params")
            uri = str(params.get("uri")) if isinstance(params, dict) else ""
            self._followed.pop(uri, None)
            if method == "resources/subscribe":
                self._followed[uri], self._ids[f"={uri}"] = line, fields.get("id")

    def again(self) -> tuple[bytes, list[Plain]]:
        """The lines to say once more, and whose answers the agent must not see: it has them."""
        ids = [self._ids[""]] if self._handshake else []
        return b"".join([*self._handshake, *self._followed.values()]), [
            *ids,
            *(self._ids[f"={uri}"] for uri in self._followed),
        ]


def answered(line: bytes) -> str | None:
    """The id that an answer carries, as JSON; None for everything else."""
    try:
        fields = decode_object(to_text(line))
    except NotJson:
        return None
    return encode(fields["id"]) if "id" in fields and "method" not in fields else None


def result_in(line: bytes) -> Plain:
    return decode_object(to_text(line)).get("result")
