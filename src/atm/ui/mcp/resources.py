"""
Resources: an inbox, the board, an agenda. Looking at one changes nothing; clients are told when one may have changed.

`atm://{team}/inbox/{member}`, `atm://{team}/board`, `atm://{team}/agenda/{member}`. Everybody has their own; the lead
and humans may look at any. Names are percent-encoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from atm.core.errors import NotAllowed, RequestError
from atm.core.names import check_known_name, same_name
from atm.events.rules import TeamEvent
from atm.files.formats.json_record import encode
from atm.mail.services.reading import Filter, peek
from atm.ui.mcp.actor import home, leads
from atm.ui.mcp.answers import harmless, shown
from atm.ui.mcp.board.looking import board_name, board_seen
from atm.ui.mcp.board.view import counts, preview
from atm.ui.mcp.mail.reading import whose_inbox
from atm.ui.mcp.mail.view import summary_fields
from atm.ui.mcp.tool import BOSSES
from atm.ui.mcp.wording import NOTICE
from atm.ui.mcp.worksync import agenda_text

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller

JSON, TEXT = "application/json", "text/plain"
MOST_ROWS = 50
MOST_MEMBERS = 100
"""Members whose resources are listed for the lead; those of others can be read all the same."""


@dataclass(frozen=True)
class Resource:
    """One kind of resource. `uri` is a template."""

    uri: str
    name: str
    title: str
    description: str


RESOURCES = (
    Resource(
        "atm://{team}/inbox/{member}", "inbox", "Inbox", "Unread mail in summaries. Marks nothing: mail_read does."
    ),
    Resource("atm://{team}/board", "board", "Board", "Tasks that are not finished, one line each."),
    Resource("atm://{team}/agenda/{member}", "agenda", "Agenda", "What a member should be working on."),
)


def uris(caller: Caller) -> list[str]:
    """What this caller may read now: one's own, or everybody's."""
    if not caller.team:
        return []
    team = home(caller)
    if leads(caller, team):
        names = team.names[:MOST_MEMBERS]
    else:
        names = [name for name in team.names if caller.member and same_name(name, caller.member)]
    own = [_uri(team.name, kind, name) for name in names for kind in ("inbox", "agenda")]
    return [_uri(team.name, "board"), *own]


def complete(caller: Caller, uri: str, word: str, begun: str) -> list[str]:
    """What stands for a word of a template, as far as this caller may read it."""
    if uri not in [one.uri for one in RESOURCES] or f"{{{word}}}" not in uri or not caller.team:
        return []
    team = home(caller)
    if word == "team":
        names = [team.name]
    else:
        names = team.names if leads(caller, team) else [name for name in team.names if same_name(name, caller.member)]
    return [name for name in names if name.casefold().startswith(begun.casefold())]


def _uri(team: str, *parts: str) -> str:
    return f"atm://{'/'.join(quote(part, safe='') for part in (team, *parts))}"


def read(caller: Caller, uri: str) -> tuple[str, str]:
    """Its media type and its text."""
    _, kind, member = _parsed(caller, uri)
    if kind == "board":
        return JSON, encode(shown(_board(caller)))
    if kind == "inbox":
        return JSON, encode(shown(_inbox(caller, member)))
    return TEXT, harmless(_agenda(caller, member))


def _parsed(caller: Caller, uri: str) -> tuple[str, str, str]:
    """Team, kind and member. A team that is not the connection's is refused, whether or not it exists."""
    scheme, _, rest = uri.partition("://")
    team, _, path = rest.partition("/")
    kind, _, member = path.partition("/")
    shapes = {"board": not member, "inbox": bool(member), "agenda": bool(member)}
    if scheme != "atm" or not shapes.get(kind, False):
        raise RequestError(f"there is no resource {uri[:120]!r}", "see resources/list")
    if not caller.team or not same_name(unquote(team), caller.team):
        raise NotAllowed("this connection sees one team only", "see resources/list")
    return caller.team, kind, check_known_name(unquote(member), "member") if member else ""


def _board(caller: Caller) -> dict[str, Plain]:
    board = board_seen(caller, board_name(caller))
    cards = [card for card in board.sorted() if not card.is_hidden and not card.is_finished]
    tasks: list[Plain] = [preview(card, board) for card in cards[:MOST_ROWS]]
    left = len(cards) - len(tasks)
    more: dict[str, Plain] = {"more": left, "hint": "page with board_list"} if left else {}
    return {"team": caller.team, "counts": counts(board), "tasks": tasks, "notice": NOTICE, **more}


def _inbox(caller: Caller, member: str) -> dict[str, Plain]:
    owner = whose_inbox(caller, member)
    unread = peek(caller.room, owner.team_name, owner.agent, Filter()).messages
    messages: list[Plain] = [summary_fields(message) for message in unread[-MOST_ROWS:]]
    return {"member": owner.agent, "unread": len(unread), "messages": messages, "notice": NOTICE}


def _agenda(caller: Caller, member: str) -> str:
    found = home(caller)
    if not (caller.member and same_name(member, caller.member)) and not leads(caller, found):
        raise NotAllowed("only the lead and humans may see another member's agenda", "read your own")
    return agenda_text(caller, found.required(member, "see team_status").name)


def touched_by(event: TeamEvent, caller: Caller) -> list[str]:
    """Which of the caller's resources may look different after an event. Reads no file: there are many events."""
    if not caller.team or not same_name(event.team, caller.team):
        return []
    subject, _, what = event.kind.partition(".")
    if subject == "message":
        return [_uri(caller.team, "inbox", event.subject)] if _is_mine(caller, event.subject) else []
    if subject == "task":
        return [_uri(caller.team, "board"), *_agendas(event, caller)]
    if subject == "member" and what in ("left", "joined", "changed"):
        return [_uri(caller.team, "agenda", event.subject)] if _is_mine(caller, event.subject) else []
    return []


def _is_mine(caller: Caller, member: str) -> bool:
    return caller.role in BOSSES or (bool(caller.member) and same_name(member, caller.member))


def _agendas(event: TeamEvent, caller: Caller) -> list[str]:
    """The caller's own always: whose work depends on a task is not in the event. The lead's also of who had it."""
    before = event.detail.get("before")
    former = before.get("owner") if isinstance(before, dict) else None
    owners = [event.detail.get("owner"), former]
    names = [caller.member, *(name for name in owners if isinstance(name, str) and _is_mine(caller, name))]
    once = {name.casefold(): name for name in reversed(names) if name}
    return [_uri(caller.team, "agenda", name) for name in reversed(once.values())]
