"""Telling teammates what became of their lead, or of their work: who cannot be told stops nobody."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.mail.services.sending import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from atm.mail.services.posting import Draft
    from atm.sessions.services.sessionroom import SessionRoom

NOTICE = "atm-session"
"""Who tells of what happened to a session: no member has that name by itself."""


def tell(
    desk: SessionRoom, team: str, names: Iterable[str], draft: Draft, note: Callable[[str], None] | None = None
) -> list[str]:
    """Those who were told; why the others were not is noted, with the room's other troubles unless said otherwise."""
    told: list[str] = []
    note = note or desk.room.troubles.note
    for name in names:
        try:
            send(desk.room, team, name, draft)
            told.append(name)
        except AtmError as error:
            note(f"{name} could not be told: {error}")
    return told
