"""What a member should know when its session begins: gathered here, put into words by `delivery.rules.briefing`."""

from __future__ import annotations

from atm.board.rules.reviews import current_reviewer
from atm.board.rules.tasks import PENDING, REVIEW
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.delivery.rules.briefing import Briefing
from atm.mail.services.surfacing import unread_for
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.board.services.boardroom import Boardroom


def brief(boardroom: Boardroom, team: str, me: str, *, counts_mail: bool = True) -> Briefing:
    """A part that cannot be read is left out: a briefing must not keep a session from beginning."""
    found = find_team(boardroom.room, team)
    member = found.member(me)
    name = member.name if member is not None else me
    facts = Briefing(
        me=name,
        team=found.name,
        lead=found.lead,
        others=[other for other in found.names if not same_name(other, name) and not same_name(other, found.lead)],
    )
    if counts_mail:
        _count_mail(boardroom, facts)
    _list_work(boardroom, facts)
    return facts


def _count_mail(boardroom: Boardroom, facts: Briefing) -> None:
    try:
        for message in unread_for(boardroom.room, facts.team, facts.me):
            facts.unread[message.sender] = facts.unread.get(message.sender, 0) + 1
    except AtmError:
        return


def _list_work(boardroom: Boardroom, facts: Briefing) -> None:
    try:
        if not boardroom.tasks.exists(facts.team):
            return
        board = boardroom.tasks.board(facts.team)
    except AtmError:
        return
    mine = [card for card in board.sorted() if same_name(card.owner, facts.me) and not card.is_finished]
    facts.work = [f"#{card.id} {card.subject} ({board.state(card)})" for card in mine]
    facts.work += [
        f"#{card.id} {card.subject} (waits for your review)"
        for card in board.sorted()
        if _reviews(boardroom, facts, card)
    ]
    facts.claimable = sum(_is_free(board, card) for card in board.sorted())


def _reviews(boardroom: Boardroom, facts: Briefing, card: Card) -> bool:
    """By the same rule as everywhere: the current cycle says whose turn it is, and it is never the owner's."""
    if card.review != REVIEW or card.is_finished or card.is_hidden or card.problem:
        return False
    if card.reviewer and not same_name(card.reviewer, facts.me):
        return False
    try:
        return same_name(current_reviewer(boardroom.tasks.read(facts.team, card.id)).name or "", facts.me)
    except AtmError:
        return False


def _is_free(board: Board, card: Card) -> bool:
    return not card.owner and not card.is_hidden and board.state(card) == PENDING
