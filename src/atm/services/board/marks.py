"""
Whose commands a task's checks are (D25).

A check that runs a command runs with the rights of whoever completes the task, so it matters who wrote it. What a
member entered through atm carries a mark that only this team's secret makes: over the command, where it runs, the task
and the member in this life. What came in by another way, a plan's file or an editor, has none and waits for a person's
yes.
"""

from __future__ import annotations

from atm.domain.board.acceptance import about, is_command, kind_of
from atm.domain.board.tasks import Change, task_id
from atm.domain.errors import AtmError, NotTrusted
from atm.domain.team.authority import HUMAN, is_boss, is_human
from atm.formats.files.json_record import encode, to_bytes
from atm.services.board.boardroom import open_team
from atm.services.team.lifecycle import life_of
from atm.services.team.standing import check_person, members_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.domain.board.tasks import Task
    from atm.domain.plain import Record
    from atm.domain.team.team import Team
    from atm.services.board.boardroom import Boardroom

PURPOSE = "atm acceptance 1"
"""What this mark is for: a mark made with the same secret for something else says nothing here."""


class Marker:
    """Marks the commands of new tasks in the name of the member who entered them."""

    __slots__ = ("_author", "_life", "_secret", "_team")

    def __init__(self, boardroom: Boardroom, team: Team, author: str) -> None:
        self._author = author
        self._secret = boardroom.room.secrets.secret(team.name) if author else b""
        self._team = team.name
        self._life = life_of(boardroom.room, team, author) if author else ""

    def marked(self, task: str, folder: str, checks: Sequence[Record]) -> list[Record]:
        return [self._one(task, folder, check) if is_command(check) else check for check in checks]

    def _one(self, task: str, folder: str, check: Record) -> Record:
        bare = {key: value for key, value in check.items() if key not in ("by", "mark")}
        if not self._author:
            return bare
        return {**bare, "by": self._author, "mark": _mark(self._secret, self._life, task, folder, check, self._author)}


def author_of(boardroom: Boardroom, team: Team, who: str) -> str:
    """In whose name commands are entered; empty for a stranger. A name gives nobody more than the process has."""
    for _, home, name in members_above(boardroom.room) if is_boss(team, who) else ():
        return name if home == team.name else ""
    member = team.member(who)
    return member.name if member is not None else who if is_boss(team, who) else ""


def marker_for(boardroom: Boardroom, team: Team, who: str, checks: Sequence[Record]) -> Marker:
    """Without commands nothing is marked, and no secret is needed."""
    return Marker(boardroom, team, author_of(boardroom, team, who) if who and any(map(is_command, checks)) else "")


def written_by(boardroom: Boardroom, team: str, task: Task, check: Record) -> str:
    """The member whose mark a command carries; empty if it carries none that is true."""
    by, mark = check.get("by"), check.get("mark")
    if not isinstance(by, str) or not isinstance(mark, str) or not by:
        return ""
    from hmac import compare_digest

    try:
        secret, found = boardroom.room.secrets.secret(team), boardroom.room.rosters.load(team)
    except (AtmError, OSError):
        return ""
    if found.member(by) is None and not is_boss(found, by):
        return ""  # has left, and nobody stands for it any more
    made = _mark(secret, life_of(boardroom.room, found, by), task.id, task.text("folder"), check, by)
    return by if compare_digest(made.encode(), mark.encode("utf-8", "replace")) else ""


def check_marks(boardroom: Boardroom, team: Team, task: Task, who: str) -> None:
    """Before any of them runs: each command is a member's, or a person's where we run it for others."""
    for check in filter(is_command, task.acceptance):
        by = written_by(boardroom, team.name, task, check)
        if not by:
            raise NotTrusted(
                f"#{task.id} has a check to which no person has said yes: {about(check)}",
                f"look at it; then a person runs: atm tasks complete {task.id} --as {who} --allow-checks",
            )
        if boardroom.is_server and not is_human(team, by):
            raise NotTrusted(
                f"the checks of #{task.id} are {by}'s, so they run in your own shell and not in the daemon",
                f"run there: atm tasks complete {task.id} --team {team.name} --as {who}",
            )


def allow_checks(boardroom: Boardroom, team: str, who: str, id: str) -> Task:
    """A person's yes to every command of a task, as it stands now."""
    check_person(boardroom.room, "say yes to commands")
    found = open_team(boardroom, team)
    person = who if is_human(found, who) else HUMAN
    marker, by = Marker(boardroom, found, person), boardroom.stamp(person)

    def rule(task: Task) -> Change | None:
        marked = marker.marked(task.id, task.text("folder"), task.acceptance)
        if marked == task.acceptance:
            return None
        commands = [about(check) for check in marked if is_command(check)]
        return Change(by.event("checks_allowed", commands=[*commands]), own={"acceptance": [*marked]})

    with boardroom.tasks.turn(found.name) as turn:
        done = turn.change(task_id(id), rule)
    return done if done is not None else boardroom.tasks.read(found.name, task_id(id))


def _mark(secret: bytes, life: str, task: str, folder: str, check: Record, by: str) -> str:
    from hmac import digest

    said = encode([PURPOSE, life, task, folder, kind_of(check), about(check), by])
    return digest(secret, to_bytes(said), "sha256").hex()
