"""JSON-RPC over lines: what we ask, what we are asked, what we are told."""

from __future__ import annotations

import threading

from atm.vendors.drivers.said import record_in, text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain, Record
    from atm.vendors.drivers.hearing import JsonLines

    Then = Callable[[Record, str], None]
    """Takes the result, or what went wrong."""

NO_SUCH_METHOD = -32601


class Rpc:
    """One end of a line. `asked` takes (id, method, parameters), `told` takes (method, parameters)."""

    def __init__(
        self, lines: JsonLines, asked: Callable[[Plain, str, Record], None], told: Callable[[str, Record], None]
    ) -> None:
        self._lines = lines
        self._asked = asked
        self._told = told
        self._last = 0
        self._then: dict[int, Then] = {}
        self._lock = threading.Lock()

    def ask(self, method: str, params: Record, then: Then) -> bool:
        """False if it could not be said; then nothing is heard of it."""
        with self._lock:
            self._last += 1
            number = self._last
            self._then[number] = then
        if self._lines.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params}):
            return True
        self._forget(number)
        return False

    def tell(self, method: str, params: Record | None = None) -> bool:
        more: Record = {} if params is None else {"params": params}
        return self._lines.send({"jsonrpc": "2.0", "method": method, **more})

    def reply(self, id: Plain, result: Record) -> bool:
        return self._lines.send({"jsonrpc": "2.0", "id": id, "result": result})

    def refuse(self, id: Plain, method: str) -> bool:
        """So that nobody waits for what we cannot do."""
        error: Record = {"code": NO_SUCH_METHOD, "message": f"{method} is not supported by atm"}
        return self._lines.send({"jsonrpc": "2.0", "id": id, "error": error})

    def take(self, record: Record) -> None:
        """A line from the other end."""
        method = text_in(record, "method")
        if method and "id" in record:
            self._asked(record["id"], method, record_in(record, "params"))
        elif method:
            self._told(method, record_in(record, "params"))
        elif (then := self._forget(record.get("id"))) is not None:
            then(record_in(record, "result"), error_in(record))

    def _forget(self, number: Plain) -> Then | None:
        with self._lock:
            return self._then.pop(number, None) if isinstance(number, int) else None


def error_in(record: Record) -> str:
    """Empty if nothing went wrong."""
    if "error" not in record:
        return ""
    error = record_in(record, "error")
    return text_in(error, "data", "details") or text_in(error, "message") or f"error {error.get('code', '')}"
