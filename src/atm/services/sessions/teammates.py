"""What a teammate's work is, saved for whoever goes on with it: its own checkpoint, its rollback."""

from __future__ import annotations

from atm.domain.board import claims
from atm.domain.board.acceptance import about
from atm.domain.errors import AtmError
from atm.domain.names import same_name
from atm.formats.files.json_record import NotJson
from atm.formats.sessions.member_checkpoint import MemberCheckpoint, decode_member, encode_member
from atm.ports.crew.worktrees import Worktree
from atm.services.crew.crewroom import is_running
from atm.services.crew.reaping import clear_away, worktree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.board.tasks import Change, Task
    from atm.domain.plain import Record
    from atm.domain.team.team import Team
    from atm.ports.crew.worktrees import Saved
    from atm.services.sessions.sessionroom import SessionRoom

AUTOSAVE = "autosave of a session"


def checkpoint_in(desk: SessionRoom, team: str, member: str) -> MemberCheckpoint | None:
    """The last one; None if there is none that can be read."""
    data = desk.members.read(team, member)
    try:
        return decode_member(data) if data is not None else None
    except NotJson:
        return None


def save_member(desk: SessionRoom, team: Team, member: str, task: str) -> MemberCheckpoint:
    """
    What the member has changed, under a salvage ref; its last check; the last commit that was good. The former autosave
    goes when a newer one is there.
    """
    former = checkpoint_in(desk, team.name, member)
    tree = tree_of(desk, team, member)
    made = MemberCheckpoint(member=member, task=task, at=desk.clock.now())
    if tree is not None:
        made.worktree, made.branch = tree.path, tree.branch
        saved = desk.crew.worktrees.save(tree, team.name, task or "none", AUTOSAVE)
        if saved is not None:
            made.salvage, made.files = saved.ref, sorted({*saved.dirty, *saved.untracked})
        if former is not None and former.salvage and former.salvage != made.salvage:
            _drop_autosave(desk, tree.common, team.name, former.salvage)
    _add_checks(desk, team.name, task, made, former)
    if former is None or _facts(former) != _facts(made):
        desk.members.write(team.name, member, encode_member(made))
    return made


def _facts(one: MemberCheckpoint) -> tuple[object, ...]:
    return one.task, one.worktree, one.salvage, [*one.files], one.command, one.code, one.output, one.good


def tree_of(desk: SessionRoom, team: Team, member: str) -> Worktree | None:
    """Where it works: the worktree that it has from us, or the folder that the roster names, if git knows it."""
    record = desk.crew.records.read(team.name, member)
    own = worktree_of(record) if record is not None else None
    if own is not None:
        return own
    known = team.member(member)
    if known is None or not known.cwd:
        return None
    try:
        there = desk.crew.worktrees.repository(known.cwd)
    except AtmError:
        return None
    if there is None or not there.root or not there.head:
        return None
    return Worktree(path=there.root, branch=there.branch, base=there.head, common=there.common)


def _drop_autosave(desk: SessionRoom, common: str, team: str, ref: str) -> None:
    """Only what we saved in passing, and nobody's checkpoint names any more. Members of one folder share theirs."""
    if sum(ref.encode() in content for content in desk.members.all(team).values()) > 1:
        return
    for one in desk.crew.worktrees.saved(common, team):
        if one.ref == ref and one.why == AUTOSAVE:
            desk.crew.worktrees.drop(one)


def _add_checks(
    desk: SessionRoom, team: str, task: str, made: MemberCheckpoint, former: MemberCheckpoint | None
) -> None:
    """From what the board knows of the task: the evidence of checks that ran, the commit that they passed for."""
    made.good = former.good if former is not None else ""
    try:
        known = desk.boardroom.tasks.read(team, task) if task else None
    except AtmError:
        return
    if known is None:
        return
    proof = _last_proof(known)
    if proof is not None:
        code = proof.get("code", proof.get("exit_code"))
        made.command, made.output = about(proof), str(proof.get("output") or "")
        made.code = code if isinstance(code, int) else None
        commit = proof.get("commit")
        made.good = commit if isinstance(commit, str) and commit else made.good


def _last_proof(task: Task) -> Record | None:
    evidence = task.details.get("evidence")
    found = [one for one in evidence if isinstance(one, dict)] if isinstance(evidence, list) else []
    return found[-1] if found else None


def roll_back(desk: SessionRoom, team: Team, member: str, by: str) -> tuple[Saved | None, list[str]]:
    """
    Back to the beginning of its task: its work is saved, its claim goes back to the board. An agent that atm started is
    ended and its worktree goes; nobody else's folder is touched. What was saved, and the tasks that are free.
    """
    record = desk.crew.records.read(team.name, member)
    if record is not None and (record.worktree or is_running(desk.crew, record)):
        cleared = clear_away(desk.crew, record, error=f"rolled back by {by}")
        return cleared.saved, [*cleared.released, *release(desk, team, member, by, "rolled back")]
    tree = tree_of(desk, team, member)
    saved = desk.crew.worktrees.save(tree, team.name, "rollback", f"rolled back by {by}") if tree is not None else None
    return saved, release(desk, team, member, by, "rolled back")


def release(desk: SessionRoom, team: Team, member: str, by: str, why: str, only: str = "") -> list[str]:
    """What it has claimed goes back to the board, without blame."""
    boardroom = desk.boardroom
    if not boardroom.tasks.exists(team.name):
        return []
    stamp = boardroom.stamp(by)

    def rule(task: Task) -> Change | None:
        return claims.release(task, stamp, why) if task.is_claimed and same_name(task.owner, member) else None

    with boardroom.tasks.turn(team.name) as turn:
        held = [card.id for card in turn.board.sorted() if card.is_claimed and same_name(card.owner, member)]
        return [id for id in held if (not only or id == only) and turn.change(id, rule) is not None]
