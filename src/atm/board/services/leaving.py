"""
What members leave behind on the board: those who fell silent, those who left, and those whose name another has now.

Their claims go back to the board, and roles of reviewers to whoever gave them.
"""

from __future__ import annotations

from atm.board.rules import claims, reviews
from atm.board.rules.tasks import REVIEW
from atm.board.services.boardroom import open_team
from atm.core.names import same_name
from atm.files.formats.times import from_iso
from atm.team.rules.liveness import OFFLINE, ONLINE, UNKNOWN
from atm.team.rules.team import is_boss as is_named_boss
from atm.team.rules.team import is_human, is_somebody_else
from atm.team.services.presence import liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.ports.tasks import Turn
    from atm.board.rules.tasks import Card, Change, Task
    from atm.board.services.boardroom import Boardroom
    from atm.team.rules.team import Team


def release_in_turn(boardroom: Boardroom, team: Team, turn: Turn, who: str) -> list[str]:
    """Take back what members hold who were not heard of for too long: by silence, never by age alone (D19)."""
    released = []
    for card in sorted((c for c in turn.board.cards.values() if c.claim_id), key=lambda card: card.number):
        why = why_lost(boardroom, team, card, who)
        if why and _change_if_held(boardroom, team, turn, card, why):
            released.append(card.id)
    return released


def why_lost(boardroom: Boardroom, team: Team, card: Card, who: str = "") -> str:
    """Why a claim goes back to the board; empty if it stands. `who` asks, and so is there."""
    why = _why_not_theirs(boardroom, team, card)
    if why or card.waits_for_others or same_name(card.owner, who) or is_human(team, card.owner):
        return why  # humans leave no heartbeats
    return _why_gone(boardroom, team, card.owner)


def _why_not_theirs(boardroom: Boardroom, team: Team, card: Card) -> str:
    """A namesake who came after the claim was made does not hold it (D26): another program changed the roster."""
    member, at = team.member(card.owner), from_iso(card.claimed_at) if card.claimed_at else None
    joined_at = member.joined_at if member is not None else None
    is_former = at is not None and is_somebody_else(at, joined_at, boardroom.clock.now())
    return "they left the team, and another has that name now" if is_former else ""


def _why_gone(boardroom: Boardroom, team: Team, who: str) -> str:
    """Why a claimant is not there any more; empty if they may be."""
    seen = liveness(boardroom.presence, team, who, boardroom.clock.now())
    if seen.value == UNKNOWN and team.member(who) is None:
        return "they left the team"  # every claim of ours leaves a heartbeat, and leaving takes it away
    return seen.source if seen.value == OFFLINE else ""


def _change_if_held(boardroom: Boardroom, team: Team, turn: Turn, card: Card, why: str) -> bool:
    """Silence is a failed attempt. A process that is gone is not: nothing says that its work failed (D35)."""
    by, said = boardroom.stamp(""), f"{card.owner} went silent: {why}"
    seen = liveness(boardroom.presence, team, card.owner, boardroom.clock.now())

    def rule(task: Task) -> Change | None:
        if task.claim_id != card.claim_id:
            return None
        return claims.release(task, by, said) if seen.is_process_gone else claims.fail(task, by, said, reason="silent")

    return turn.change(card.id, rule) is not None


def release_silent(boardroom: Boardroom, team: str) -> list[str]:
    """The same, when a command asks for it or the daemon's time has come."""
    found = open_team(boardroom, team)
    with boardroom.tasks.turn(found.name) as turn:
        return release_in_turn(boardroom, found, turn, "")


def has_departed(boardroom: Boardroom, team: Team, name: str) -> bool:
    """On no roster, no person, and not heard of: whoever took them off told nobody. A script that is at work is."""
    if not name or team.member(name) is not None or same_name(name, team.lead) or is_human(team, name):
        return False
    return liveness(boardroom.presence, team, name, boardroom.clock.now()).value != ONLINE


def hand_back_departed(boardroom: Boardroom, team: str) -> list[str]:
    """Reviews that wait for somebody who has departed go back to whoever asked for them, as on `remove-member`."""
    found, by = open_team(boardroom, team), boardroom.stamp("")
    with boardroom.tasks.turn(found.name) as turn:
        waiting = [card for card in turn.board.sorted() if is_in_review(card)]
        departed = {card.id: card.reviewer for card in waiting if has_departed(boardroom, found, card.reviewer)}

        def rule(task: Task) -> Change | None:
            return reviews.hand_back(task, departed[task.id], by, lambda one: is_named_boss(found, one))

        return [id for id in departed if turn.change(id, rule) is not None]


def is_in_review(card: Card) -> bool:
    return card.review == REVIEW and not card.is_finished and not card.problem


def release_claims(
    boardroom: Boardroom, team: str, member: str, by: str, why: str, *, only: str = "", but_waiting: bool = False
) -> list[str]:
    """What a member has claimed goes back to the board, without blame. Not what waits for others, if so said."""
    if not boardroom.tasks.exists(team):
        return []
    stamp = boardroom.stamp(by)

    def is_held(card: Card) -> bool:
        is_kept = but_waiting and card.waits_for_others
        return card.is_claimed and same_name(card.owner, member) and not is_kept and only in ("", card.id)

    def rule(task: Task) -> Change | None:
        return claims.release(task, stamp, why) if is_held(task) else None

    with boardroom.tasks.turn(team) as turn:
        held = [card.id for card in turn.board.sorted() if is_held(card)]
        return [id for id in held if turn.change(id, rule) is not None]


def release_all(boardroom: Boardroom, team: str, who: str, member: str) -> list[str]:
    """Everything that a member holds or was given, and their part in reviews: they have left. The tasks they held."""
    if not boardroom.tasks.exists(team):
        return []

    def rule(task: Task) -> Change | None:
        is_theirs = same_name(task.owner, member) and not task.is_finished
        return claims.release(task, boardroom.stamp(who), f"{member} left the team") if is_theirs else None

    def review(task: Task) -> Change | None:
        found = boardroom.room.rosters.load(team)
        return reviews.hand_back(task, member, boardroom.stamp(who), lambda name: is_named_boss(found, name))

    with boardroom.tasks.turn(team) as turn:
        open_cards = [card for card in turn.board.sorted() if not card.is_finished and not card.problem]
        held = [card.id for card in open_cards if same_name(card.owner, member)]
        freed = [id for id in held if turn.change(id, rule) is not None]
        for card in open_cards:
            if same_name(card.reviewer, member) or card.review == REVIEW:  # the card says who reviews, or who shall
                turn.change(card.id, review)
        return freed
