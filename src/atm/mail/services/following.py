"""Telling new rows from old ones while files shrink, are rewritten and come back: by key, never by position."""

from __future__ import annotations

from collections import OrderedDict

from atm.core.errors import AtmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.mail.ports.stores import Inboxes
    from atm.mail.rules.messages import Message

MOST_REMEMBERED = 100_000


class Follower:
    """Remembers which rows it has reported."""

    def __init__(self) -> None:
        self._seen: OrderedDict[object, None] = OrderedDict()
        self._begun = False

    def new_rows(self, rows: list[Message]) -> list[Message]:
        """Rows that were not there at any earlier call. The first call only takes note of what there is."""
        new = [row for row in rows if row.key not in self._seen and row.understood]
        for row in rows:
            self._seen[row.key] = None
            self._seen.move_to_end(row.key)
        while len(self._seen) > max(MOST_REMEMBERED, len(rows)):
            self._seen.popitem(last=False)
        begun, self._begun = self._begun, True
        return new if begun else []


class Followers:
    """The same for all inboxes of some teams."""

    def __init__(self) -> None:
        self._followers: dict[tuple[str, str], Follower] = {}

    def news(self, inboxes: Inboxes, team: str, *, begins: bool) -> Iterator[tuple[str, Message]]:
        """
        Whose, and what. When it `begins` with a team, what lies there is not new; of an inbox that appears later, all.

        Whoever tells people how things are begins before he says it: what comes after his word is news.
        """
        for agent in inboxes.owners(team):
            follower = self._followers.get((team, agent))
            if follower is None:
                follower = self._followers[team, agent] = Follower()
                if not begins:
                    follower.new_rows([])
            try:
                rows = inboxes.rows(team, agent)
            except AtmError:
                continue  # being rewritten, or gone: the next look tells
            yield from ((agent, message) for message in follower.new_rows(rows))
