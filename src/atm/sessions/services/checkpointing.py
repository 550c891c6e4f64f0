"""
Checkpoints: the state of a team into its home, and now and then into git.

Nobody waits for one: the daemon writes them, and a verb that is a checkpoint itself. State and ledgers are whole files
of their own; a checkpoint that is torn or lost costs nothing but the moments since the one before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team
from atm.crew.rules.refs import checkpoint_branch
from atm.files.formats.json_record import NotJson, decode_object
from atm.sessions.formats.checkpoint import Checkpoint, Teammate, facts_in, sequence_in, with_checkpoint
from atm.sessions.rules.thinning import which_stay
from atm.sessions.services.overview import look_at
from atm.team.formats.team_state import new_state
from atm.team.rules.lifecycle import ACTIVE
from atm.team.services.leading import lead_of
from atm.team.services.lifecycle import in_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.sessions.ports.checkpoints import CheckpointCommit
    from atm.sessions.services.overview import TeamView
    from atm.sessions.services.sessionroom import SessionRoom

LEDGER, HISTORY, STATE = "mailbox.log", "tasks.jsonl", "state.json"
MOST_THINNED = 1.25


@dataclass(slots=True, kw_only=True)
class Checkpointed:
    """What a checkpoint into the home did."""

    team: str
    sequence: int = 0
    is_new: bool = False
    """False: nothing had changed."""
    size: int = 0


@dataclass(slots=True, kw_only=True)
class GitCopy:
    """What the copy of a checkpoint into git did."""

    commit: str = ""
    """Empty: nothing had changed, or there is a trouble."""
    branch: str = ""
    """Empty: no git copy, because the lead works in no repository."""
    trouble: str = ""


def checkpoint(
    desk: SessionRoom,
    team: str,
    *,
    facts: bool = False,
    good: str = "",
    is_divergent: bool = False,
    view: TeamView | None = None,
) -> Checkpointed:
    """
    Into the home. With `facts` the checksums of what it rests on are taken anew: only when somebody who answers for it
    asks, or nobody would ever learn that they changed.
    """
    view = view or look_at(desk, team)
    name, now = view.team.name, desk.clock.now()
    sums = facts_now(desk) if facts or not recorded_facts(desk, name) else None
    said = replace(checkpoint_of(desk, view), facts=sums, commit=good)
    said.metadata = {"divergence_detected": is_divergent}
    made = Checkpointed(team=name)

    def change(data: bytes | None) -> bytes:
        former = data if data is not None else new_state(name, ACTIVE, "", "")
        content = with_checkpoint(former, said, now, view.team.created_at or now)
        made.is_new, made.sequence, made.size = content != data, sequence_in(content), len(content)
        return content

    desk.room.states.change(name, change)
    return made


def recorded_facts(desk: SessionRoom, team: str) -> dict[str, str]:
    """Checksums of what the team's work rests on, as they were when somebody answered for it."""
    return in_state(desk.room, team, facts_in, dict[str, str]())


def facts_now(desk: SessionRoom) -> dict[str, str]:
    """Where the caller stands: the state names a folder too, but whoever can write it would choose where we run."""
    return {source.name: desk.facts.checksum(desk.caller.folder, source) for source in desk.fact_sources}


def checkpoint_of(desk: SessionRoom, view: TeamView) -> Checkpoint:
    entries = {member.name: member.raw for member in view.team.members}
    return Checkpoint(
        lead=view.team.lead,
        teammates=[
            Teammate(
                id=one.name,
                index=one.index,
                role=one.role,
                quantum=one.quantum,
                status=one.status,
                task=one.task,
                context=one.context,
                heartbeat=one.heartbeat,
                last_message=one.last_message,
                runtime=one.runtime,
                session=one.session,
                entry=decode_object(entries[one.name]) if entries.get(one.name) else {},
            )
            for one in view.members
        ],
        pending=view.pending,
        in_progress=view.in_progress,
        completed=view.completed,
        open_tasks=_open_tasks(desk, view),
        mailbox_seq=view.numbers.last,
        tail=view.tail,
    )


def _open_tasks(desk: SessionRoom, view: TeamView) -> list[dict[str, Plain]]:
    """Their files, so that a board can be made again. One that cannot be read is missing there too."""
    found: list[dict[str, Plain]] = []
    for id in sorted((*view.pending, *(task.id for task in view.in_progress)), key=int):
        try:
            found.append(decode_object(desk.boardroom.tasks.read(view.team.name, id).raw))
        except (AtmError, NotJson) as error:
            view.troubles.append(f"task {id}: {error}")
    return found


def commit_checkpoint(desk: SessionRoom, team: str, why: str) -> GitCopy:
    """What is in the home now, onto the team's branch of checkpoints. Says why there is none."""
    made = GitCopy()
    lead = lead_of(desk.room, team)
    folder = lead.folder or desk.caller.folder
    common = lead.common or (desk.git.repository(folder) if folder else "")
    if not common or is_claudes_team(team):
        made.trouble = "no git copy: the lead does not work in a repository"
        return made
    state = desk.room.states.read(team)
    if state is None:
        made.trouble = "no git copy: there is no checkpoint yet"
        return made
    files = {STATE: state}
    for name in (LEDGER, HISTORY):
        content = desk.room.files.content(team, name)
        if content is not None:
            files[name] = content
    files |= desk.members.all(team)
    try:
        made.commit = desk.git.commit(common, team, files, f"atm: checkpoint {sequence_in(state)} of {team} ({why})")
        made.branch = checkpoint_branch(team)
        if made.commit and _thin(desk, common, team):
            made.commit = desk.git.commits(common, team, 1)[0].commit  # those after the first gap are written anew
    except (AtmError, NotJson) as error:
        made.trouble = f"no git copy: {error}"
    return made


def _thin(desk: SessionRoom, common: str, team: str) -> bool:
    most = desk.policy.keep_commits
    if len(desk.git.commits(common, team, int(most * MOST_THINNED) + 1)) <= most * MOST_THINNED:
        return False

    def keep(commits: list[CheckpointCommit]) -> list[CheckpointCommit]:
        stay = which_stay([one.at for one in commits], desk.clock.now(), most)
        return [commits[position] for position in stay]

    return desk.git.thin(common, team, keep) > 0
