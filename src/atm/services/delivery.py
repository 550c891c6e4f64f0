"""
Delivery beyond the inbox: put unread mail before an agent through the best way that there is.

The inbox is always first and is the truth. What is shown through a pane or an agent's server is taken out of the
unread in one step with every other channel (`services.surfacing`), so that none of them shows it again. A channel
that fails gives it back; a channel that cannot tell leaves it unread and says so.
"""

from __future__ import annotations

from atm.domain.briefing import framed, mail_in_words
from atm.domain.endpoints import Endpoint
from atm.domain.escalation import derived_id
from atm.domain.liveness import ENDED, IDLE
from atm.domain.names import is_claudes_team
from atm.domain.panes import composer_holds, shows
from atm.domain.receipts import PASTED, WOKEN
from atm.domain.surfacing import PANE, SERVER, WAIT, WAKE, choose_channel
from atm.domain.untrusted_text import one_line
from atm.formats.journal import histories
from atm.ports.agent_servers import ACCEPTED, UNKNOWN
from atm.ports.terminals import PaneAddress
from atm.services.agent_hooks import show_one
from atm.services.pane_delivery import PROVEN, UNPROVEN, Expected, Pasted, paste_line
from atm.services.surfacing import Surfacing, enter, unread_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.messages import Message
    from atm.domain.surfacing import Note
    from atm.domain.team import Member, Team
    from atm.ports.agent_servers import AgentServers
    from atm.ports.terminals import Terminals
    from atm.services.mailroom import Mailroom

LONGEST_LINE = 300
"""Characters that are pasted as they are; more goes to a file."""

MOST_PASTES = 5
"""Unproven attempts after which a pane is left alone until its agent gives a sign of life."""

SURFACED, AWAKE, WAITING, REFUSED, IN_DOUBT = "surfaced", "woken", "waiting", "refused", "unproven"


class Reach:
    """What this machine can do beyond files."""

    __slots__ = ("panes_allowed", "servers", "terminals")

    def __init__(self, terminals: Terminals, servers: AgentServers, *, panes_allowed: bool = True) -> None:
        self.terminals = terminals
        self.servers = servers
        self.panes_allowed = panes_allowed


class Pushed:
    """What was done about one agent's unread mail."""

    __slots__ = ("evidence", "ids", "member", "outcome", "team")

    def __init__(self, team: str, member: str, outcome: str, evidence: str, ids: list[str] | None = None) -> None:
        self.team = team
        self.member = member
        self.outcome = outcome
        self.evidence = evidence
        self.ids = ids or []


def push(room: Mailroom, reach: Reach, team: Team, name: str) -> Pushed | None:
    """Put what is unread before its owner, if there is a way; None if nothing is unread."""
    member = team.member(name)
    if member is None or team.completed:
        return None
    unread = unread_for(room, team.name, name)
    if not unread and not room.surfacings.is_cut_off(team.name, name):
        return None
    endpoint = _living(room, team.name, name) or _pane_in_roster(room, member)
    choice = choose_channel(
        member,
        endpoint,
        in_claudes_team=is_claudes_team(team.name),
        is_idle=_is_idle(room, team.name, name),
        panes_allowed=reach.panes_allowed,
    )
    if endpoint is None or choice.step == WAIT:
        return Pushed(team.name, name, WAITING, choice.why)
    if choice.step == WAKE:
        return _wake(room, reach, team.name, name, endpoint, unread)
    if choice.step == SERVER:
        return _to_server(room, reach, team.name, name, endpoint)
    return _to_pane(room, reach, team.name, name, endpoint)


def _living(room: Mailroom, team: str, name: str) -> Endpoint | None:
    endpoint = room.endpoints.of(team, name)
    return endpoint if endpoint is not None and endpoint.is_on(room.presence.host, room.presence.boot) else None


def _pane_in_roster(room: Mailroom, member: Member) -> Endpoint | None:
    """A program without hooks, whose pane a person entered with `atm teams update-member --pane-id`."""
    if not (member.pane_id.startswith("%") and member.pane_id[1:].isdecimal()):
        return None
    return Endpoint(vendor="", session="", at=room.clock.now(), pane=member.pane_id)


def _is_idle(room: Mailroom, team: str, name: str) -> bool:
    last = room.presence.last(team, name)
    return last is not None and last.state in (IDLE, ENDED)


def tag_of(keys: list[object]) -> str:
    """
    What a line in a terminal is recognised by: the same for the same messages, another for any others.

    A tag of the first message alone would take a line of yesterday for one that holds today's mail too.
    """
    if len(keys) == 1 and isinstance(keys[0], str):
        return f"atm:{keys[0][:8]}"
    return f"atm:{derived_id(*(str(key) for key in keys))[:8]}"


# An idle agent with hooks.


def _wake(
    room: Mailroom, reach: Reach, team: str, name: str, endpoint: Endpoint, unread: list[Message]
) -> Pushed | None:
    """Tell it that mail waits. The prompt that this makes calls the hook, and the hook shows the mail."""
    if not unread:
        return None
    newest, ids = unread[-1], [message.id for message in unread if message.id]
    past = histories(room.ledger.recent(team)).get((newest.id or "", name), [])
    if WOKEN in past or past.count(PASTED) >= MOST_PASTES:
        return Pushed(team, name, WAITING, "it has been told that mail waits", ids)
    count = "a message waits" if len(unread) == 1 else f"{len(unread)} messages wait"
    tag = tag_of([newest.key])
    pasted = _paste(room, reach, endpoint, f"[{tag}] {count} for you; atm shows it with this prompt.", tag)
    if pasted.outcome == PROVEN:
        enter(room, team, name, ids, WOKEN, pasted.evidence)
        return Pushed(team, name, AWAKE, pasted.evidence, ids)
    if pasted.outcome == UNPROVEN:
        enter(room, team, name, [newest.id] if newest.id else [], PASTED, pasted.evidence)
        return Pushed(team, name, IN_DOUBT, pasted.evidence, ids)
    return Pushed(team, name, REFUSED, pasted.evidence, ids)


# A bare terminal program.


def _to_pane(room: Mailroom, reach: Reach, team: str, name: str, endpoint: Endpoint) -> Pushed | None:
    turn = Surfacing(
        room,
        team,
        name,
        PANE,
        where=f"{endpoint.server} {endpoint.pane}",
        was_shown=lambda note: _found_in_pane(reach, endpoint, note),
    )
    with turn as unread:
        if not unread:
            return None
        if _tried_too_often(room, team, name, unread[0]):
            return Pushed(team, name, WAITING, f"pane {endpoint.pane} did not take it {MOST_PASTES} times")
        taken = turn.take(_as_before(room, team, name, unread))
        if not taken:
            return None
        ids = [message.id for message in taken if message.id]
        tag = tag_of([message.key for message in taken])
        pasted = _paste(room, reach, endpoint, _line_for(room, team, name, taken, tag), tag)
        if pasted.outcome == PROVEN:
            turn.shown(pasted.evidence)
            return Pushed(team, name, SURFACED, pasted.evidence, ids)
        if pasted.outcome == UNPROVEN:
            turn.kept_unread(PASTED, pasted.evidence)
            return Pushed(team, name, IN_DOUBT, pasted.evidence, ids)
        turn.failed(pasted.evidence)
        return Pushed(team, name, REFUSED, pasted.evidence, ids)


def _tried_too_often(room: Mailroom, team: str, name: str, oldest: Message) -> bool:
    return histories(room.ledger.recent(team)).get((oldest.id or "", name), []).count(PASTED) >= MOST_PASTES


def _as_before(room: Mailroom, team: str, name: str, unread: list[Message]) -> list[Message]:
    """The messages of an attempt that nobody could prove, so that its line is found again; else all."""
    for entry in reversed(room.ledger.recent(team)):
        if entry.state == PASTED and entry.agent == name and unread[0].id in entry.ids:
            return [message for message in unread if message.id in entry.ids]
    return unread


def _line_for(room: Mailroom, team: str, name: str, taken: list[Message], tag: str) -> str:
    """One short message as it is; several, or a long one, as a pointer to a file."""
    first = taken[0]
    senders = ", ".join(dict.fromkeys(one_line(message.sender)[:40] for message in taken))
    if len(taken) == 1 and "\n" not in first.text and len(first.text) <= LONGEST_LINE:
        return f"[{tag} from {senders}] {one_line(first.text)}"
    text = "\n\n".join(framed(message, message.text) for message in taken)
    path = room.surfacings.keep_text(team, name, first.id or "mail", text)
    count = "a message" if len(taken) == 1 else f"{len(taken)} messages"
    return f"[{tag}] {count} from {senders[:120]}: read {path}"


def _paste(room: Mailroom, reach: Reach, endpoint: Endpoint, line: str, tag: str) -> Pasted:
    at = PaneAddress(endpoint.server, endpoint.pane)
    expected = Expected(endpoint.pane_pid, endpoint.pane_command)
    return paste_line(reach.terminals, room.clock, at, expected, line, tag)


def _found_in_pane(reach: Reach, endpoint: Endpoint, note: Note) -> str | None:
    """A process died between pasting and saying so: the pane itself tells."""
    seen = reach.terminals.history(PaneAddress(endpoint.server, endpoint.pane)) or ""
    tag = tag_of(note.keys)
    if note.channel != PANE or not note.keys or not shows(seen, tag) or composer_holds(seen, tag):
        return None
    return f"found submitted in pane {endpoint.pane} after the process that pasted it had ended"


# An agent with a server of its own.


def _to_server(room: Mailroom, reach: Reach, team: str, name: str, endpoint: Endpoint) -> Pushed | None:
    turn = Surfacing(room, team, name, SERVER, where=f"{endpoint.url} {endpoint.session}")
    with turn as unread:
        # One at a time: the server knows each by its id, so an offer that was not answered for can be repeated.
        taken = turn.take(unread[:1]) if unread else []
        if not taken:
            return None
        ids = [message.id for message in taken if message.id]
        text = mail_in_words(name, team, [show_one(room, team, name, taken[0])], 0)
        answer = reach.servers.tell(endpoint.url, endpoint.session, taken[0].id or taken[0].timestamp, text)
        if answer.outcome == ACCEPTED:
            turn.shown(answer.evidence)
            return Pushed(team, name, SURFACED, answer.evidence, ids)
        if answer.outcome == UNKNOWN:
            turn.kept_unread(PASTED, answer.evidence)
            return Pushed(team, name, IN_DOUBT, answer.evidence, ids)
        turn.failed(answer.evidence)
        return Pushed(team, name, REFUSED, answer.evidence, ids)
