"""Letters of one of the eight types, as somebody sends them by hand: checked, and put into words."""

from __future__ import annotations

from atm.mail.rules.message_types import (
    ALL,
    BOSSES,
    check_by_hand,
    checked_metadata,
    in_words,
    read_pairs,
    shutdown_id,
)
from atm.mail.rules.messages import SHUTDOWN
from atm.team.services.registry import find_team
from atm.team.services.standing import is_boss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.mail.services.mailroom import Mailroom
    from atm.mail.services.posting import Draft


def give_type(room: Mailroom, team: str, agent: str, letter: Draft, type: str, pairs: Sequence[str]) -> None:
    """
    Make a letter to somebody one of this type; `pairs` are its metadata, each `key=value`.

    Raises BadMessage for what nobody, or not this sender, may say by hand (G8), and for metadata that does not belong.
    """
    for_bosses = type in ALL and ALL[type].by_hand == BOSSES
    check_by_hand(type, for_bosses and is_boss(room, find_team(room, team), letter.sender))
    given = read_pairs(pairs)
    if type == SHUTDOWN:
        given.setdefault("request_id", shutdown_id(room.clock.now(), agent))
    letter.metadata = checked_metadata(type, given, letter.text)
    letter.text = in_words(type, letter.metadata, letter.text)
    letter.type = type
