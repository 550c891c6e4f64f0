"""
One round of the control plane for a team: look at who is due, plan, dispatch, and say when to look again.

Used by the daemon's loop and by `atm sync nudge`, which is a round for one member, now, with every guard in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atm.board.rules.tasks import task_id
from atm.files.ports.records import STATUS
from atm.team.services.presence import is_by_hook, last_beat
from atm.team.services.registry import find_team
from atm.worksync.formats.status import decode_status
from atm.worksync.rules.decisions import NEEDS_SYNC, SUPPRESSED_BUSY, VALID_LEASE
from atm.worksync.rules.nudges import RECOVERY_AFTER
from atm.worksync.rules.statuses import HISTORY_SECONDS
from atm.worksync.rules.triggers import ALL_MEMBERS, HEARTBEAT, OF_TASK, trigger_of_beat
from atm.worksync.services.nudges import dispatch, next_due, plan
from atm.worksync.services.reconcile import reconcile

if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.core.plain import Record
    from atm.team.rules.team import Team
    from atm.worksync.rules.triggers import Route
    from atm.worksync.services.nudges import Dispatched, Planned
    from atm.worksync.services.reconcile import MemberLook
    from atm.worksync.services.syncroom import SyncRoom

MARGIN = 1.0
"""Seconds after a lease has run out at which it is looked at."""


@dataclass(slots=True)
class SyncRound:
    """What a round did."""

    team: str
    looks: list[MemberLook] = field(default_factory=list)
    planned: list[Planned] = field(default_factory=list)
    dispatched: list[Dispatched] = field(default_factory=list)
    again: dict[str, float] = field(default_factory=dict)
    """When a member is worth another look although nothing tells of it; seconds since 1970."""
    outbox_due: float | None = None


def run_round(syncroom: SyncRoom, team: str, members: Mapping[str, str]) -> SyncRound:
    """Why somebody is looked at stands beside their names."""
    done = SyncRound(team)
    done.looks = reconcile(syncroom, team, members)
    if done.looks:
        found = find_team(syncroom.room, team)
        done.planned = plan(syncroom, found, done.looks)
    done.dispatched = dispatch(syncroom, team)
    done.outbox_due = next_due(syncroom, team)
    for look in done.looks:
        at = _again_at(look)
        if at is not None:
            done.again[look.member] = at + MARGIN
    return done


def _again_at(look: MemberLook) -> float | None:
    if look.decision.kind == VALID_LEASE:
        return look.decision.lease_until
    if look.decision.kind == SUPPRESSED_BUSY:
        return look.seen.busy.until
    if look.decision.kind != NEEDS_SYNC:
        return None
    return look.seen.heard_until(look.status) or look.seen.at + RECOVERY_AFTER


def forget_members(syncroom: SyncRoom, team: Team) -> int:
    """What was remembered of a member who left goes after a week; until then it explains what happened."""
    here, before = {name.casefold() for name in team.names}, syncroom.now() - HISTORY_SECONDS

    def is_gone(key: str, record: Record) -> bool:
        return key not in here and decode_status(team.name, key, record).updated < before

    gone = [key for key, record in syncroom.records.read(team.name, STATUS).items() if is_gone(key, record)]
    if gone:
        syncroom.records.change(
            team.name, STATUS, lambda known: {key: None for key in known if key not in here}, keys=gone
        )
    return len(gone)


def members_of(syncroom: SyncRoom, team: Team, routes: Iterable[Route]) -> dict[str, set[str]]:
    """Whom events are about, by trigger, as the board says now: it is looked at once. Names in events are hints."""
    board: Board | None = None
    spelled = {name.casefold(): name for name in team.names}
    found: dict[str, set[str]] = {}
    for route in dict.fromkeys(routes):
        names = team.names if route.scope == ALL_MEMBERS else [*route.names]
        if route.scope == OF_TASK and (board is not None or syncroom.boardroom.tasks.exists(team.name)):
            board = board if board is not None else syncroom.boardroom.tasks.board(team.name).turn_around()
            names += _of_task(board, route.task, team)
        for name in {spelled[name.casefold()] for name in names if name.casefold() in spelled}:
            trigger = _what_beat_tells(syncroom, team, name) if route.trigger == HEARTBEAT else route.trigger
            found.setdefault(trigger, set()).add(name)
    return found


def _what_beat_tells(syncroom: SyncRoom, team: Team, member: str) -> str:
    """As the file says now: an event only tells that there was a sign of life."""
    last = last_beat(syncroom.room.presence, team, member, syncroom.now())
    return trigger_of_beat(last, is_by_hook=last is not None and is_by_hook(last.source))


def _of_task(board: Board, id: str, team: Team) -> list[str]:
    """Its owner and reviewer; whoever waits for it; and the lead, if it is an orphan or a dependency is broken."""
    card = board.cards.get(int(task_id(id))) if id.isdecimal() else None
    names = [card.owner, card.reviewer] if card is not None else []
    dependants = board.dependants(id)
    names += [dependant.owner for dependant in dependants]
    is_orphan = any(name and team.member(name) is None for name in names)
    if is_orphan or (card is None and dependants) or (card is not None and board.broken_blockers(card)):
        names.append(team.lead)
    return [name for name in names if name]
