"""What the pump carries: whole lines, and those that a new daemon has to be told again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain

GREETING = "initialize"


class PumpLines:
    """Bytes as they come, as whole lines. A line that is too long is left out, and `too_long` counts it."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._skips = False
        self.too_long = 0

    def feed(self, data: bytes) -> list[bytes]:
        self._rest += data
        if b"\n" not in data:
            self._check()
            return []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        if self._skips:
            self._skips = False
            lines = lines[1:]
        whole = [line + b"\n" for line in lines if line.strip() and len(line) <= self._longest]
        self.too_long += sum(len(line) > self._longest for line in lines)
        self._check()
        return whole

    def _check(self) -> None:
        if self._skips or len(self._rest) > self._longest:
            self.too_long += not self._skips
            self._rest.clear()
            self._skips = True

    def forget(self) -> None:
        """Half a line, of a daemon that is gone."""
        self._rest.clear()
        self._skips = False


class Opening:
    """What the agent said that a new daemon has to be told: the handshake, and what it follows."""

    def __init__(self) -> None:
        self._handshake: list[bytes] = []
        self.asked: Plain = None
        """What came with the handshake."""
        self._followed: dict[str, bytes] = {}
        self._ids: dict[str, Plain] = {}

    def note(self, method: str, fields: dict[str, Plain], line: bytes) -> None:
        if method == GREETING:
            self._handshake, self._ids = [line], {"": fields.get("id")}
            self.asked = fields.get("params")
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
