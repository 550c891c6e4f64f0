"""What is told of a session of which nobody knows whose it is: it runs on a server behind several terminals."""

from __future__ import annotations

from atm.vendors.known import get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.shared_server import SharedServer


def words_for(vendor: str) -> str:
    """What a session is told of which nobody knows whose it is."""
    server = _server(vendor)
    return f"{server.trouble}. {server.remedy[:1].upper()}{server.remedy[1:]}." if server is not None else ""


def trouble_and_remedy(vendor: str) -> tuple[str, str]:
    server = _server(vendor)
    return (server.trouble, server.remedy) if server is not None else ("atm cannot tell which member this is", "")


def _server(vendor: str) -> SharedServer | None:
    known = get(vendor)
    return known.shared_server if known is not None else None
