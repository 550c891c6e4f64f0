"""The board of a team beside everything else of that team: what commands, tools and the daemon hold."""

from __future__ import annotations

from atm.board.services.boardroom import Boardroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.services.teamroom import Teamroom


class FullBoardroom(Boardroom):
    """A boardroom whose room can also make and end teams."""

    __slots__ = ()

    room: Teamroom
