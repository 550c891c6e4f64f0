"""`--since`: a time, or how long ago."""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.ui.cli.arguments import Args

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session


def since(args: Args, session: Session) -> float | None:
    """`--since`: a time, or how long ago."""
    given = args.text("since")
    if given is None:
        return None
    sizes = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    if given[-1:] in sizes and given[:-1].isascii() and given[:-1].isdecimal() and len(given) < 12:
        return session.room.clock.now() - int(given[:-1]) * sizes[given[-1]]
    from atm.files.formats.times import from_iso

    at = from_iso(given)
    if at is None:
        raise UsageError(f"--since {given!r} is no time", "write 2026-08-27T10:15:00Z, or 30m, 2h, 7d")
    return at
