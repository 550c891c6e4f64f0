"""What a teammate's work is, saved for whoever goes on with it: its own checkpoint, its rollback."""

from __future__ import annotations

from atm.board.rules.acceptance import about, commit_of
from atm.board.services.leaving import release_claims
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.core.plain import dicts_in
from atm.crew.ports.worktrees import Worktree
from atm.crew.services.crewroom import is_running
from atm.crew.services.reaping import clear_away, worktree_of
from atm.files.formats.json_record import NotJson
from atm.sessions.formats.member_checkpoint import MemberCheckpoint, decode_member, encode_member
from atm.team.rules.team import AGENT
from atm.team.services.leading import lead_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.board.rules.tasks import Task
    from atm.crew.ports.worktrees import Saved
    from atm.sessions.services.overview import TeamView
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.team.rules.team import Team

AUTOSAVE = "autosave of a session"
MOST_TASKS = 50


def checkpoint_in(desk: SessionRoom, team: str, member: str) -> MemberCheckpoint | None:
    """The last one; None if there is none that can be read."""
    data = desk.members.read(team, member)
    try:
        return decode_member(data) if data is not None else None
    except NotJson:
        return None


def save_all(desk: SessionRoom, view: TeamView, note: Callable[[str, AtmError], None]) -> dict[str, MemberCheckpoint]:
    """
    The work of every agent, by name; of the lead only what lies in a worktree of ours. What cannot be saved is noted,
    and keeps nobody else's from it.
    """
    saved: dict[str, MemberCheckpoint] = {}
    for one in view.members:
        works = bool(one.task) and not view.team.is_lead(one.name)  # a lead's own folder is the user's
        if one.kind != AGENT or not (works or has_tree(desk, view.team, one.name)):
            continue
        try:
            saved[one.name] = save_member(desk, view.team, one.name, one.task)
        except AtmError as error:
            note(one.name, error)
    return saved


def has_tree(desk: SessionRoom, team: Team, member: str) -> bool:
    record = desk.crew.records.read(team.name, member)
    return record is not None and bool(record.worktree)


def save_member(desk: SessionRoom, team: Team, member: str, task: str) -> MemberCheckpoint:
    """
    What the member has changed, under a salvage ref; its last check; the last commit that was good. The former autosave
    goes when a newer one is there.
    """
    former = checkpoint_in(desk, team.name, member)
    tree = tree_of(desk, team, member)
    # Its claim may have gone back to the board: whoever takes that task over needs what was begun for it.
    task = task or (former.task if former is not None else "")
    made = MemberCheckpoint(member=member, task=task, at=desk.clock.now())
    if tree is not None:
        made.worktree, made.branch = tree.path, tree.branch
        saved = desk.crew.worktrees.save(tree, team.name, task or "none", AUTOSAVE)
        if saved is not None:
            made.salvage, made.files = saved.ref, sorted({*saved.dirty, *saved.untracked})
        if former is not None and former.salvage and former.salvage != made.salvage:
            _drop_autosave(desk, tree.common, team.name, former.salvage)
    _add_checks(desk, team.name, made)
    if former is None or _facts(former) != _facts(made):
        desk.members.write(team.name, member, encode_member(made))
    return made


def _facts(one: MemberCheckpoint) -> tuple[object, ...]:
    return one.task, one.worktree, one.salvage, [*one.files], one.command, one.code, one.output, one.good


def tree_of(desk: SessionRoom, team: Team, member: str) -> Worktree | None:
    """
    Where it works: the worktree that it has from us, or the folder that the roster names, if that is of the repository
    which the team is led in. A roster names what its members like; it must not choose whose files are copied.
    """
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
    if there is None or not there.root or not there.head or there.common != lead_of(desk.room, team.name).common:
        return None
    return Worktree(path=there.root, branch=there.branch, base=there.head, common=there.common)


def _drop_autosave(desk: SessionRoom, common: str, team: str, ref: str) -> None:
    """Only what we saved in passing, and nobody's checkpoint names any more. Members of one folder share theirs."""
    if sum(ref.encode() in content for content in desk.members.all(team).values()) > 1:
        return
    for one in desk.crew.worktrees.saved(common, team):
        if one.ref == ref and one.why == AUTOSAVE:
            desk.crew.worktrees.drop(one)


def _add_checks(desk: SessionRoom, team: str, made: MemberCheckpoint) -> None:
    """From what the board knows: the check that failed last on its task, and the commit of the work it proved last."""
    for task in _readable(desk, team, [made.task] if made.task else []):  # also if it is nobody's any more
        failed = task.part("lastCheck")
        code = failed.get("code")
        made.command, made.output = about(failed), str(failed.get("output") or "")
        made.code = code if isinstance(code, int) else None
    board = desk.boardroom.tasks.board(team)
    own = [card.id for card in board.sorted() if same_name(card.owner, made.member) and card.is_finished]
    proofs = [
        (task.text("finishedAt"), commit_of(one))
        for task in _readable(desk, team, own[-MOST_TASKS:])  # the last proven one is hardly older than so many
        for one in dicts_in(task.details.get("evidence"))
    ]
    made.good = max((proof for proof in proofs if proof[1]), default=("", ""))[1]


def _readable(desk: SessionRoom, team: str, ids: list[str]) -> Iterator[Task]:
    for id in ids:
        try:
            yield desk.boardroom.tasks.read(team, id)
        except AtmError as error:
            desk.room.troubles.note(f"task {id}: {error}")


def roll_back(desk: SessionRoom, team: Team, member: str, by: str) -> tuple[Saved | None, list[str]]:
    """
    Back to the beginning of its task: its work is saved, its claim goes back to the board. An agent that atm started is
    ended and its worktree goes; nobody else's folder is touched. What was saved, and the tasks that are free.
    """
    record = desk.crew.records.read(team.name, member)
    if record is not None and (record.worktree or is_running(desk.crew, record)):
        cleared = clear_away(desk.crew, record, error=f"rolled back by {by}")
        freed = release_claims(desk.boardroom, team.name, member, by, "rolled back")
        return cleared.saved, [*cleared.released, *freed]
    tree = tree_of(desk, team, member)
    saved = desk.crew.worktrees.save(tree, team.name, "rollback", f"rolled back by {by}") if tree is not None else None
    return saved, release_claims(desk.boardroom, team.name, member, by, "rolled back")
