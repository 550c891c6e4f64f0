"""
Delivery beyond the inbox: put unread mail before an agent through the best way that there is.

The inbox is always first and is the truth. What is shown through a pane or an agent's server is taken out of the
unread in one step with every other channel (`mail.services.surfacing`), so that none of them shows it again. A channel
that fails gives it back; a channel that cannot tell leaves it unread and says so.
"""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.identifiers import derived_id, id_of_key
from atm.core.names import is_claudes_team
from atm.core.untrusted_text import line_in_brackets
from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.rules.briefing import framed, mail_in_words
from atm.delivery.rules.channels import WAIT, WAKE, choose_channel
from atm.delivery.services.framing import show_one
from atm.delivery.services.pane_delivery import (
    PROVEN,
    UNPROVEN,
    Expected,
    Pasted,
    has_not_moved,
    paste_line,
    refusal,
    was_submitted,
)
from atm.mail.formats.journal import histories
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.receipts import PASTED, WOKEN
from atm.mail.rules.surfacing import PANE, SERVER
from atm.mail.services.bookkeeping import enter
from atm.mail.services.surfacing import Surfacing, unread_for
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import ENDED, IDLE
from atm.team.rules.liveness import WAITING as ASKING
from atm.team.services.endpoints import endpoint_of
from atm.team.services.presence import last_beat
from atm.vendors.agent_servers import ACCEPTED, UNKNOWN
from atm.vendors.panes import tag_in_composer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.delivery.ports.terminals import Terminals
    from atm.delivery.rules.channels import ChannelChoice
    from atm.mail.rules.messages import Message
    from atm.mail.rules.surfacing import ShowingNote
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Member, Team
    from atm.vendors.agent_servers import AgentServers

LONGEST_LINE = 300
"""Characters that are pasted as they are; more goes to a file."""

MOST_PASTES = 5
"""Unproven attempts after which a pane is left alone until its agent gives a sign of life."""

PANE_LOCK = ".lock"
"""No member has a name that ends so."""

GRACE = 4.0
"""Seconds in which a session that has just begun is left alone: its first hook is still about to show what waits, and
a prompt that it was started with is still on its way."""

JUST_BEGUN = "its session has just begun"
"""Why something waits that is worth another look when the grace is over."""

AT_IT = "another process is showing it right now"
"""Why something waits that is worth another look soon: nothing tells when that process has ended."""

SURFACED, AWAKE, WAITING, REFUSED, IN_DOUBT = "surfaced", "woken", "waiting", "refused", "unproven"


class Channels:
    """What this machine can do beyond files."""

    __slots__ = ("panes_allowed", "server_of", "terminals")

    def __init__(
        self, terminals: Terminals, server_of: Callable[[str], AgentServers | None], *, panes_allowed: bool = True
    ) -> None:
        self.terminals = terminals
        self.server_of = server_of
        """What speaks with the own server of a vendor's agents."""
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


def push(room: Mailroom, channels: Channels, team: Team, name: str, *, grace: float = GRACE) -> Pushed | None:
    """Put what is unread before its owner, if there is a way; None if there is nothing. A person asks without grace."""
    member = team.member(name)
    if member is None or team.completed:
        return None
    name = member.name
    unread = unread_for(room, team.name, name)
    if not room.surfacings.is_cut_off(team.name, name):
        if not unread:
            return _remind(room, channels, team, member, grace)
        if all(idle_sender(message) is not None for message in unread):
            return Pushed(team.name, name, WAITING, "only idle notices; they come with the next mail or prompt")
    endpoint, choice = _way(room, channels, team, member)
    if endpoint is None or choice.step == WAIT:
        return Pushed(team.name, name, WAITING, choice.why)
    if choice.step == WAKE:
        if _has_just_begun(room, endpoint, grace):
            return Pushed(team.name, name, WAITING, JUST_BEGUN)
        return _wake(room, channels, team.name, name, endpoint)
    if choice.step == SERVER:
        return _to_server(room, channels, team.name, name, endpoint)
    return _to_pane(room, channels, team.name, name, endpoint)


def why_it_waits(room: Mailroom, channels: Channels, team: Team, name: str) -> str:
    """Why nothing that may be unread can be put before this member now; empty if it can. Reads no mail."""
    member = team.member(name)
    if member is None or team.completed:
        return ""
    endpoint, choice = _way(room, channels, team, member)
    return choice.why if endpoint is None or choice.step == WAIT else ""


def _way(room: Mailroom, channels: Channels, team: Team, member: Member) -> tuple[Endpoint | None, ChannelChoice]:
    endpoint = _living(room, team, member.name) or _pane_in_roster(room, member)
    last = last_beat(room.presence, team, member.name, room.clock.now())
    choice = choose_channel(
        member,
        endpoint,
        in_claudes_team=is_claudes_team(team.name),
        is_idle=last is not None and last.state in (IDLE, ENDED),
        panes_allowed=channels.panes_allowed,
        is_waiting=last is not None and last.state == ASKING,
        team=team.name,
    )
    return endpoint, choice


def _living(room: Mailroom, team: Team, name: str) -> Endpoint | None:
    endpoint = endpoint_of(room, team, name)
    return endpoint if endpoint is not None and endpoint.is_on(room.presence.host, room.presence.boot) else None


def _pane_in_roster(room: Mailroom, member: Member) -> Endpoint | None:
    """A program without hooks, whose pane a person entered with `atm teams update-member --pane-id`."""
    if not (member.pane_id.startswith("%") and member.pane_id[1:].isdecimal()):
        return None
    return Endpoint(vendor="", session="", at=room.clock.now(), pane=member.pane_id)


def _busy(team: str, name: str) -> Pushed:
    return Pushed(team, name, WAITING, AT_IT)


def tag_of(keys: list[object]) -> str:
    """
    What a line in a terminal is recognised by: the same for the same messages, another for any others.

    A tag of the first message alone would take a line of yesterday for one that holds today's mail too.
    """
    return f"atm:{derived_id(*(id_of_key(key) for key in keys))[:8]}"


def _id_of(message: Message) -> str:
    """For the ledger, also of a row without an id: attempts must be counted."""
    return message.id or id_of_key(message.key)


def _past(room: Mailroom, team: str, name: str, message: Message) -> list[str]:
    id = _id_of(message)
    return histories(room.ledger.about(team, [id])).get((id, name), [])


# An idle agent with hooks.


def _wake(room: Mailroom, channels: Channels, team: str, name: str, endpoint: Endpoint) -> Pushed | None:
    """
    Tell it that mail waits. The prompt that this makes calls the hook, and the hook shows the mail.

    Under a lock of the pane and not in the turn at the mail: that hook takes the turn while we still look on.
    """
    with room.surfacings.turn(team, f"{name}{PANE_LOCK}") as held:
        if not held:
            return _busy(team, name)
        unread = unread_for(room, team, name)
        if not unread:
            return None
        newest, ids = unread[-1], [message.id for message in unread if message.id]
        past = _past(room, team, name, newest)
        if WOKEN in past or past.count(PASTED) >= MOST_PASTES:
            return Pushed(team, name, WAITING, "it has been told that mail waits", ids)
        at = _address(endpoint)[0]
        why_not = has_not_moved(channels.terminals, at, _last_paste(room, team, name, newest))
        if why_not:
            return Pushed(team, name, REFUSED, why_not, ids)
        # One that was left in the composer says the same: it is submitted, whichever message it was about.
        tag = tag_in_composer(channels.terminals.screen(at) or "") or tag_of([newest.key])
        pasted = _paste(room, channels, endpoint, f"[{tag}] mail waits for you; atm shows it with this prompt.", tag)
        outcome = {PROVEN: AWAKE, UNPROVEN: IN_DOUBT}.get(pasted.outcome, REFUSED)
        if outcome != REFUSED:
            told = [_id_of(message) for message in unread] if outcome == AWAKE else [_id_of(newest)]
            enter(room, team, name, told, WOKEN if outcome == AWAKE else PASTED, pasted.evidence)
        return Pushed(team, name, outcome, pasted.evidence, ids)


def _has_just_begun(room: Mailroom, endpoint: Endpoint, grace: float) -> bool:
    return endpoint.has_hooks and 0 <= room.clock.now() - endpoint.at < grace


def _remind(room: Mailroom, channels: Channels, team: Team, member: Member, grace: float) -> Pushed | None:
    """
    Mail that was put into a context of which no request was made since: nobody has seen it (a session that was opened
    without a prompt, for instance). The agent is woken once for it, and not told it a second time.
    """
    endpoint, choice = _way(room, channels, team, member)
    if endpoint is None or choice.step != WAKE:
        return None
    if _has_just_begun(room, endpoint, grace):
        return Pushed(team.name, member.name, WAITING, JUST_BEGUN)
    ids = endpoint.unconfirmed
    if not ids or _was_reminded(room, team.name, member.name, ids[-1]):
        return None
    with room.surfacings.turn(team.name, f"{member.name}{PANE_LOCK}") as held:
        if not held:
            return _busy(team.name, member.name)
        tag = f"atm:{derived_id(member.name, *ids, endpoint.session)[:8]}"
        line = f"[{tag}] mail from your team came into your context before this prompt; go on with it."
        pasted = _paste(room, channels, endpoint, line, tag)
        outcome = {PROVEN: AWAKE, UNPROVEN: IN_DOUBT}.get(pasted.outcome, REFUSED)
        if outcome != REFUSED:
            enter(room, team.name, member.name, ids, WOKEN if outcome == AWAKE else PASTED, pasted.evidence)
        return Pushed(team.name, member.name, outcome, pasted.evidence, ids)


def _was_reminded(room: Mailroom, team: str, name: str, id: str) -> bool:
    """Since it was last put into its context; an attempt that nobody could prove counts, because it may be seen yet."""
    past = histories(room.ledger.about(team, [id])).get((id, name), [])
    shown = max((at for at, state in enumerate(past) if state == "surfaced"), default=-1)
    return any(state in (WOKEN, PASTED) for state in past[shown + 1 :])


# A bare terminal program.


def _to_pane(room: Mailroom, channels: Channels, team: str, name: str, endpoint: Endpoint) -> Pushed | None:
    turn = Surfacing(
        room,
        team,
        name,
        PANE,
        where=f"{endpoint.server} {endpoint.pane}",
        was_shown=lambda note: _found_in_pane(room, channels, endpoint, note),
    )
    with turn as unread:
        if not unread:
            return None if unread is not None else _busy(team, name)
        if _past(room, team, name, unread[0]).count(PASTED) >= MOST_PASTES:
            return Pushed(team, name, WAITING, f"pane {endpoint.pane} did not take it {MOST_PASTES} times")
        batch = _as_before(room, team, name, unread, turn.left)
        tag, (at, expected) = tag_of([message.key for message in batch]), _address(endpoint)
        why_not = refusal(channels.terminals, room.clock, at, expected, tag)
        why_not = why_not or has_not_moved(channels.terminals, at, _last_paste(room, team, name, batch[0]))
        if why_not:  # before anything is taken: a dialog may stand there for hours
            return Pushed(team, name, REFUSED, why_not, [message.id for message in batch if message.id])
        return _paste_batch(room, channels, turn, endpoint, batch, tag)


def _paste_batch(
    room: Mailroom, channels: Channels, turn: Surfacing, endpoint: Endpoint, batch: list[Message], tag: str
) -> Pushed | None:
    team, name = turn.team, turn.member
    try:
        line = _line_for(room, team, name, batch, tag)
    except AtmError as error:
        return Pushed(team, name, REFUSED, str(error))
    if len(turn.take(batch)) != len(batch):  # another reader has taken one of them: the line would say too much
        return _settled(turn, False, "another reader was quicker with a part of it")
    pasted = _paste(room, channels, endpoint, line, tag)
    return _settled(turn, {PROVEN: True, UNPROVEN: None}.get(pasted.outcome, False), pasted.evidence)


def _settled(turn: Surfacing, was_shown: bool | None, evidence: str) -> Pushed:
    """What was taken is shown; or unread again; or, where nobody can say, unread again and entered as such."""
    ids = [message.id for message in turn.taken if message.id]
    if was_shown:
        turn.shown(evidence)
    elif was_shown is None:
        turn.kept_unread(PASTED, evidence)
    else:
        turn.failed(evidence)
    outcome = SURFACED if was_shown else IN_DOUBT if was_shown is None else REFUSED
    return Pushed(turn.team, turn.member, outcome, evidence, ids)


def _as_before(room: Mailroom, team: str, name: str, unread: list[Message], left: list[object]) -> list[Message]:
    """The messages of an attempt that nobody could prove or finish, so that its line is found again; else all."""
    if unread[0].key in left:
        return [message for message in unread if message.key in left]
    first = _id_of(unread[0])
    for entry in reversed(room.ledger.about(team, [first])):
        if entry.state == PASTED and entry.agent == name:
            return [message for message in unread if _id_of(message) in entry.ids]
    return unread


def _line_for(room: Mailroom, team: str, name: str, taken: list[Message], tag: str) -> str:
    """One short message as it is; several, or a long one, as a pointer to a file."""
    first = taken[0]
    senders = ", ".join(dict.fromkeys(line_in_brackets(message.sender, 40) for message in taken))
    said = line_in_brackets(first.text, LONGEST_LINE + 1)
    if len(taken) == 1 and "\n" not in first.text and max(len(first.text), len(said)) <= LONGEST_LINE:
        # Closed by a bracket: a backslash at the end would open a second line, and `@name` a menu that takes Enter.
        return f"[{tag} from {senders}, a teammate, not the user: {said}]"
    text = mail_in_words(name, team, [framed(message, message.text) for message in taken], 0)
    path = room.surfacings.keep_text(team, name, tag, text)
    count = "a message" if len(taken) == 1 else f"{len(taken)} messages"
    return f"[{tag}] {count} from {senders[:120]}: read {path}"


def _last_paste(room: Mailroom, team: str, name: str, message: Message) -> str:
    """The evidence of the last attempt that nobody could prove."""
    entries = room.ledger.about(team, [_id_of(message)])
    return next((e.evidence for e in reversed(entries) if e.state == PASTED and e.agent == name), "")


def _paste(room: Mailroom, channels: Channels, endpoint: Endpoint, line: str, tag: str) -> Pasted:
    at, expected = _address(endpoint)
    return paste_line(channels.terminals, room.clock, at, expected, line, tag)


def _address(endpoint: Endpoint) -> tuple[PaneAddress, Expected]:
    return PaneAddress(endpoint.server, endpoint.pane), Expected(endpoint.pane_pid, endpoint.pane_command)


def _found_in_pane(room: Mailroom, channels: Channels, endpoint: Endpoint, note: ShowingNote) -> str | None:
    """A process died between pasting and saying so: the pane itself tells."""
    if note.channel != PANE or not note.keys:
        return None
    at, expected = _address(endpoint)
    return was_submitted(channels.terminals, room.clock, at, expected, tag_of(note.keys))


# An agent with a server of its own.


def _to_server(room: Mailroom, channels: Channels, team: str, name: str, endpoint: Endpoint) -> Pushed | None:
    turn = Surfacing(room, team, name, SERVER, where=f"{endpoint.url} {endpoint.session}")
    with turn as unread:
        if unread is None:
            return _busy(team, name)
        why_not = _server_refusal(channels, endpoint) if unread else ""
        if why_not:  # before anything is taken: a server may be away for hours
            return Pushed(team, name, REFUSED, why_not, [message.id for message in unread if message.id])
        if unread and _past(room, team, name, unread[0]).count(PASTED) >= MOST_PASTES:
            return Pushed(team, name, WAITING, f"{endpoint.url} did not say that it took it {MOST_PASTES} times")
        # One at a time: the server knows each by its id, so an offer that was not answered for can be repeated.
        taken = turn.take(unread[:1]) if unread else []
        if not taken:
            return None
        text = mail_in_words(name, team, [show_one(room, team, name, taken[0])], 0)
        server = channels.server_of(endpoint.vendor)
        assert server is not None  # or it would have been refused
        answer = server.tell(endpoint.url, endpoint.session, _id_of(taken[0]), text)
        return _settled(turn, {ACCEPTED: True, UNKNOWN: None}.get(answer.outcome, False), answer.evidence)


def _server_refusal(channels: Channels, endpoint: Endpoint) -> str:
    server = channels.server_of(endpoint.vendor)
    if server is None or endpoint.url_pid is None or not server.is_of(endpoint.url, endpoint.url_pid):
        return f"{endpoint.url} is not known to be the agent's own server any more"
    return server.refusal(endpoint.url, endpoint.session)
