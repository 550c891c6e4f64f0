"""How the pump takes leave of a server: what nobody heard and nobody waits for any more is cancelled there."""

from __future__ import annotations

import time
from _socket import SHUT_WR

from atm.files.formats.json_record import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Line
    from collections.abc import Sequence

CANCELLED = "notifications/cancelled"
GIVE_BACK_SECONDS = 3.0
"""For the server, at the end, to give back what was cancelled."""

BUFFER = 64 << 10


def part(line: Line, unsaid: bytes | bytearray, unheard: Sequence[str]) -> None:
    """Tell it so, let it finish with that, and hang up. Half a line may have been sent before: `unsaid` goes first."""
    said = (f'{{"jsonrpc":"2.0","method":"{CANCELLED}","params":{{"requestId":{id}}}}}\n' for id in unheard)
    end = time.monotonic() + GIVE_BACK_SECONDS
    try:
        if unheard:
            line.settimeout(GIVE_BACK_SECONDS)
            line.sendall(unsaid + to_bytes("".join(said)))
            line.shutdown(SHUT_WR)
        while unheard and (left := end - time.monotonic()) > 0:
            line.settimeout(left)
            if not line.recv(BUFFER):
                break
    except OSError:
        pass  # it has gone, or takes too long
    line.close()
