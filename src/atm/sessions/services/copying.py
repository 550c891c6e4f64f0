"""A team of Claude Code's session goes on as one of ours: its roster, open tasks and unread mail (decision 11)."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.board.formats.task import detached
from atm.core.errors import RequestError
from atm.core.names import check_new_name, is_claudes_team
from atm.core.untrusted_text import shell_words
from atm.files.formats.json_record import decode_object, encode, to_bytes
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.team.services.lifecycle import note_activity
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom


@dataclass(slots=True, kw_only=True)
class Copied:
    """What went along."""

    team: str
    members: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    messages: int = 0


def _open_task(desk: SessionRoom, team: str, id: str, open_ids: set[str]) -> bytes:
    """Its file, without what was done before: nobody waits for that any more."""
    fields = decode_object(desk.boardroom.tasks.read(team, id).raw)
    for key in ("blockedBy", "blocks"):
        listed = fields.get(key)
        fields[key] = [one for one in listed if one in open_ids] if isinstance(listed, list) else []
    return detached(to_bytes(encode(fields)))


def copy_into(desk: SessionRoom, source: str, new: str) -> Copied:
    """The source stays as it is. Claims do not go along: whoever held them is in another session."""
    old = find_team(desk.room, source)
    if not is_claudes_team(old.name):
        raise RequestError(f"{old.name!r} is a team of yours: resume it", f"atm session resume {shell_words(old.name)}")
    if not create_team(desk.room, check_new_name(new, "team"), description=f"from {old.name}", lead=old.lead):
        raise RequestError(f"there is a team {new!r} already", "choose another name")
    done = Copied(team=new)
    for member in old.members:
        add_member(
            desk.room, new, Member(member.name, agent_type=member.agent_type, model=member.model, cwd=member.cwd)
        )
        done.members.append(member.name)
    board = desk.boardroom.tasks.board(old.name)
    wanted = [card for card in board.sorted() if not (card.is_finished or card.problem or card.is_hidden)]
    files = {card.number: _open_task(desk, old.name, card.id, {one.id for one in wanted}) for card in wanted}
    came, _ = desk.room.files.put_tasks(new, files, max(files, default=0))
    done.tasks = [str(number) for number in came]
    for member in old.members:
        for row in desk.room.inboxes.unread(old.name, member.name):
            send(desk.room, new, member.name, Draft(sender=row.sender, text=row.text, summary=row.summary))
            done.messages += 1
    note_activity(desk.room, new)
    return done
