"""Handing a task over: the new owner gets what the old one left, and the old one's late word does not count."""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.board.services.working import assign
from atm.core.names import same_name
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import MemberInUse, TaskClosed
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.sessions.formats.member_checkpoint import MemberCheckpoint, encode_member
from atm.sessions.services.checkpointing import checkpoint
from atm.sessions.services.teammates import checkpoint_in, save_member
from atm.team.rules.liveness import ONLINE
from atm.team.rules.team import check_open
from atm.team.services.presence import liveness
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.sessions.services.sessionroom import SessionRoom


@dataclass(slots=True, kw_only=True)
class Reassigned:
    """What was handed over, from whom to whom."""

    task: Task
    former: str
    to: str
    inherited: MemberCheckpoint | None
    warnings: list[str]


def reassign(desk: SessionRoom, team: str, id: str, to: str, by: str, *, force: bool = False) -> Reassigned:
    """Raises MemberInUse while the owner is online, unless forced."""
    found = check_open(find_team(desk.room, team))
    member = found.required(to)
    task = desk.boardroom.tasks.read(found.name, id)
    former = task.owner or last_claimant(task)
    if task.is_finished:
        raise TaskClosed(f"#{task.id} is finished: there is nothing to hand over", "see `atm tasks list`")
    if task.owner and not same_name(former, member.name):
        known = liveness(desk.room.presence, found, former, desk.clock.now())
        if known.value == ONLINE and not force:
            raise MemberInUse(
                f"{former} is online and works on #{task.id} ({known.source})",
                f"ask {former} to give it back, or add --force: "
                f"atm session reassign {shell_words(task.id, member.name)} --force --team {shell_words(found.name)}",
            )
    inherited = _inherit(desk, team, former, member.name, task.id) if former else None
    task, warnings = assign(desk.boardroom, found.name, by, task.id, member.name)
    if inherited is not None:
        send(desk.room, found.name, member.name, Draft(sender=by, text=_hand_over(task, former, inherited)))
    checkpoint(desk, found.name)
    return Reassigned(task=task, former=former, to=member.name, inherited=inherited, warnings=warnings)


def last_claimant(task: Task) -> str:
    """Whose it was before its claim went back to the board, because they fell silent."""
    claimed = [one.get("owner") for one in task.events if one.get("to") == "in_progress"]
    return next((name for name in reversed(claimed) if isinstance(name, str)), "")


def _inherit(desk: SessionRoom, team: str, former: str, to: str, task: str) -> MemberCheckpoint | None:
    """The old owner's work is saved as it is now; the new one's checkpoint says where it is."""
    if same_name(former, to):
        return None
    found = find_team(desk.room, team)
    kept = checkpoint_in(desk, found.name, former)
    now = save_member(desk, found, former, task)
    # What is left of a worktree that was taken away is what was saved before.
    best = now if now.salvage or now.worktree or kept is None or kept.task != task else kept
    made = replace(best, member=to, task=task, at=desk.clock.now(), inherited_from=former)
    desk.members.write(found.name, to, encode_member(made))
    return made


def _hand_over(task: Task, former: str, kept: MemberCheckpoint) -> str:
    lines = [f"#{task.id} {task.subject} is yours now; {former} began it."]
    if kept.salvage:
        lines.append(f"What {former} changed is saved as {kept.salvage}:")
        lines += [f"  {path}" for path in kept.files[:20]]
        lines.append("Look at it with `atm salvage list` and `atm salvage restore ID --to DIR`.")
    if kept.branch:
        lines.append(f"Its branch: {kept.branch}")
    if kept.command:
        lines.append(f"Its last check, `{kept.command}`, {kept.how_it_ended}.")
    if kept.good:
        lines.append(f"The last commit whose checks passed: {kept.good}")
    return "\n".join(lines)
