"""What the daemon keeps doing for a team that is led: signs of life it can see, checkpoints, one restart."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.crew.rules.states import ERROR
from atm.crew.services.spawning import spawn
from atm.crew.services.upping import again
from atm.sessions.formats.checkpoint import sequence_in
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint
from atm.sessions.services.overview import look_at
from atm.team.rules import lifecycle
from atm.team.rules.liveness import ENDED
from atm.team.services.leading import lead_of
from atm.team.services.lifecycle import in_state, standing
from atm.team.services.presence import beat, last_beat
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.rules.agents import AgentRecord
    from atm.sessions.services.checkpointing import Checkpointed, GitCopy
    from atm.sessions.services.overview import MemberView, TeamView
    from atm.sessions.services.sessionroom import SessionRoom

SOURCE = "atm daemon (its process runs)"
LOST_HOST = "its host is gone"


def keep(desk: SessionRoom, team: str, *, git: bool, why: str = "milestone") -> tuple[Checkpointed, GitCopy | None]:
    """One checkpoint of a team; into git too, if its time has come. Signs of life of those who can be seen first."""
    view, last = look_at(desk, team), in_state(desk.room, team, sequence_in, 0)
    seen = [one for one in view.members if _beat_for(desk, view, one, last)]
    made = checkpoint(desk, team, view=look_at(desk, team) if seen else view)
    return made, commit_checkpoint(desk, team, why) if git else None


def _beat_for(desk: SessionRoom, view: TeamView, one: MemberView, checkpoint: int) -> bool:
    """A process that is known to be the member's own is as good as its word."""
    room, now = desk.room, desk.clock.now()
    last = last_beat(room.presence, view.team, one.name, now)
    if last is None or last.pid is None or last.state == ENDED or last.host != room.presence.host:
        return False
    if now - last.at < desk.policy.checkpoint or last.boot != room.presence.boot:
        return False
    owners = room.processes.owners(last.pid)  # of this very process, not of another with its number
    if not any(same_name(owner.team, view.team.name) and same_name(owner.member, one.name) for owner in owners):
        return False
    beat(
        room.presence, view.team, one.name, now, SOURCE, task=one.task, message=one.last_message, checkpoint=checkpoint
    )
    return True


def restart_lost(desk: SessionRoom, team: str) -> list[str]:
    """
    Agents whose host died in the middle are started again, with their conversation: once in `restart` seconds.

    One that dies again sooner is left alone: its task is free, and whoever leads decides.
    """
    if standing(desk.room, team).status != lifecycle.ACTIVE or desk.crew.records.latch(team) is not None:
        return []
    done: list[str] = []
    for member in desk.crew.records.names(team):
        record = desk.crew.records.read(team, member)
        if record is None or not _died_alone(desk, record):
            continue
        try:
            (wish,) = again(desk.crew, team, [member])
            wish.resume = record.session if desk.crew.runtimes[record.runtime].vendor else ""
            wish.prompt = "" if wish.resume else wish.prompt
            spawn(desk.crew, wish)
            done.append(member)
        except (AtmError, KeyError, ValueError) as error:
            desk.room.troubles.note(f"{member}@{team} could not be started again: {error}")
    return done


def _died_alone(desk: SessionRoom, record: AgentRecord) -> bool:
    if record.state != ERROR or record.error != LOST_HOST or record.worktree or record.pid or record.run:
        return False  # an agent of a run is its loop's to start again
    now = desk.clock.now()
    lived = record.since - record.at
    return now - record.since <= desk.policy.restart and (record.generation == 1 or lived > desk.policy.restart)


def led_teams(desk: SessionRoom) -> list[str]:
    """Teams with a recorded lead session that are not over; and sessions of Claude Code, which are only observed."""
    found = []
    for name in desk.room.rosters.teams():
        try:
            is_led = is_claudes_team(name) or bool(lead_of(desk.room, name).session)
            if is_led and not find_team(desk.room, name).completed:
                found.append(name)
        except AtmError:
            continue  # whoever looks at that team is told
    return found
