"""
An agent's hook calls: learn from it, and use the chance to put mail into the agent's context.

Each call is a sign of life. A call after mail was put into the context shows that the agent went on with it, which
is as much as we can say of reading.
"""

from __future__ import annotations

from atm.core.names import is_claudes_team
from atm.delivery.rules.channels import NATIVE_BACKENDS, keeps_from_stopping, too_large_in_words
from atm.mail.rules.surfacing import GLANCED, HOOK
from atm.team.rules.endpoints import MOST_UNCONFIRMED, Endpoint
from atm.team.rules.liveness import ENDED, IDLE, WAITING, WORKING
from atm.team.rules.team import is_human
from atm.team.services.presence import beat, is_by_hook, last_beat
from atm.vendors.moments import END, MAIL, NOTICE, PROMPT, START, STOP, TOOL, TURN_DONE, HookAnswer
from atm.vendors.moments import IDLE as TEAMMATE_IDLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.rules.messages import Message
    from atm.mail.rules.surfacing import Glance
    from atm.mail.services.mailroom import Mailroom
    from atm.mail.services.surfacing import Surfacing
    from atm.team.rules.team import Team
    from atm.vendors.moments import HookCall

BEAT_EVERY = 30.0
"""Seconds between two heartbeats that say the same."""

HEAD = 400
"""Characters for the line above the messages."""

IDLE_NOTICE = "idle_prompt"
GOES_ON = ("clear", "resume")
"""Why a session ends in a program that goes on with another one, which will say so itself."""

MAIL_WAITS = "mail waits for you"

LOST_LEAD = (
    "\n\nThis session does not lead team {team} any more: session {session} has taken over. Do not assign, reassign "
    "or consolidate; to lead it again: atm session takeover {team} --force"
)

ASKS = ("permission", "elicitation")
"""Words in the names of notices that wait for a person."""


class HookVisit:
    """One call of a member's hook."""

    __slots__ = ("brief", "call", "carries", "introduce", "locate", "log", "me", "room", "say", "stop_on", "team")

    def __init__(
        self,
        room: Mailroom,
        team: Team,
        me: str,
        call: HookCall,
        *,
        carries: str,
        say: Callable[[HookAnswer], None],
        stop_on: str,
        brief: Callable[[], str],
        locate: Callable[[], Endpoint],
        introduce: Callable[[], int | None] = lambda: None,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.room = room
        self.team = team
        self.me = me
        self.call = call
        self.carries = carries
        """What the vendor takes at this moment: `context`, `block` or nothing."""
        self.say = say
        """Hands the answer to the vendor; raises if that fails."""
        self.stop_on = stop_on
        self.brief = brief
        """The briefing of a session that begins."""
        self.locate = locate
        """Where the session runs, looked up when it begins."""
        self.introduce = introduce
        """Leaves word whose process the agent is, when a session or a turn begins; its number, if it is known."""
        self.log = log
        """Writes down what people should know of, in the log of hooks."""

    def is_person(self, sender: str) -> bool:
        return is_human(self.team, sender)


def attend(visit: HookVisit) -> list[Message]:
    """Do what the moment allows; the mail that was put into the agent's context."""
    if visit.team.completed:
        return []  # nothing of it may change, not even who is there
    if visit.call.is_subagent:
        _sign(visit, "")  # its context is not the member's, who may have nothing to do meanwhile
        return []
    _confirm(visit)
    moment = visit.call.moment
    if moment == START:
        pid = visit.introduce()
        _settle_in(visit, visit.locate())
        # It waits for its first prompt, except in the middle of a turn whose context was cut.
        _sign(visit, WORKING if visit.call.reason == "compact" else IDLE, pid)
        return _speak(visit, f"{visit.brief()}{_lost_lead(visit)}" if visit.carries == "context" else "")
    if moment in (PROMPT, TOOL):
        pid = visit.introduce() if moment == PROMPT else None
        if moment == PROMPT and _is_foreign(visit):  # it has begun without a word
            _settle_in(visit, visit.locate())
        _sign(visit, WORKING, pid)
        return _speak(visit, _lost_lead(visit).strip() if moment == PROMPT and visit.carries == "context" else "")
    if moment == MAIL:
        return _offer(visit)
    if moment == STOP:
        return _stop(visit)
    _learn(visit, moment)
    return []


def _settle_in(visit: HookVisit, endpoint: Endpoint) -> None:
    """Rarely: imported here, because most calls have no use for it."""
    from atm.team.services.endpoints import put_endpoint

    put_endpoint(visit.room, visit.team, visit.me, endpoint)


def _lost_lead(visit: HookVisit) -> str:
    """For a session that led the team until another one took over (D17): that it does so no more."""
    if not visit.team.is_lead(visit.me) or not visit.call.session or is_claudes_team(visit.team.name):
        return ""
    from atm.core.untrusted_text import line_in_brackets, shell_words
    from atm.team.services.leading import lead_of

    lead = lead_of(visit.room, visit.team.name)
    if lead.former != visit.call.session or lead.session in ("", visit.call.session):
        return ""
    return LOST_LEAD.format(team=shell_words(visit.team.name), session=line_in_brackets(lead.session, 60))


def _is_foreign(visit: HookVisit) -> bool:
    """Is it another session than the one that we know? Programs have threads of their own, for titles."""
    return bool(visit.call.session) and _known_session(visit) not in ("", visit.call.session)


def _known_session(visit: HookVisit) -> str:
    from atm.team.services.endpoints import endpoint_of

    endpoint = endpoint_of(visit.room, visit.team, visit.me)
    return endpoint.session if endpoint is not None else ""


def _learn(visit: HookVisit, moment: str) -> None:
    """Moments at which nobody listens."""
    if moment != END and _is_foreign(visit):
        return
    if moment in (TURN_DONE, TEAMMATE_IDLE) or (moment == NOTICE and visit.call.reason == IDLE_NOTICE):
        _go_idle(visit)
    elif moment == NOTICE and any(word in f"{visit.call.event} {visit.call.reason}".casefold() for word in ASKS):
        _sign(visit, WAITING)
    elif moment == END:
        _end(visit)
    else:
        _sign(visit, "")


def _offer(visit: HookVisit) -> list[Message]:
    """
    A plugin asks what it should wake its idle agent with. Idle notices alone are no reason.

    A program without a session has no context to put mail into: it is told that mail waits, and begins one.
    """
    from atm.mail.formats.protocol_message import idle_sender

    def is_due(unread: list[Message]) -> bool:
        return any(idle_sender(message) is None for message in unread)

    if not visit.call.session:
        _sign(visit, IDLE, visit.introduce())
        _settle_in(visit, visit.locate())
        if _may_show(visit) and is_due(_look(visit).messages):
            _say(visit, MAIL_WAITS)
        return []
    if _is_foreign(visit):
        return []
    shown = _speak(visit, is_due=is_due)
    if shown:
        _sign(visit, WORKING)
    return shown


def _stop(visit: HookVisit) -> list[Message]:
    shown: list[Message] = []
    if visit.carries == "block":
        shown = _speak(visit, is_due=lambda unread: keeps_from_stopping(unread, visit.stop_on))
    if shown:
        _sign(visit, WORKING)
    else:
        _go_idle(visit)
    return shown


def _end(visit: HookVisit) -> None:
    """A session that was replaced by a newer one, or is about to be, says nothing about the member."""
    if visit.call.reason in GOES_ON:
        return
    endpoint = visit.room.endpoints.of(visit.team.name, visit.me)
    if endpoint is not None and endpoint.session not in ("", visit.call.session):
        return
    visit.room.endpoints.forget(visit.team.name, visit.me)
    _sign(visit, ENDED)


def _go_idle(visit: HookVisit) -> None:
    from atm.delivery.services.idle_notices import goes_idle

    goes_idle(visit.room, visit.team, visit.me, _source(visit), pid=_own_process(visit))


def _sign(visit: HookVisit, state: str, pid: int | None = None) -> None:
    """With the agent's process, where it is known: when that has ended, however it did, the agent is not there."""
    now, presence = visit.room.clock.now(), visit.room.presence
    last = last_beat(presence, visit.team, visit.me, now)
    is_known = last is not None and last.state == (state or last.state) and is_by_hook(last.state_source)
    if is_known and last is not None and 0 <= now - last.at < BEAT_EVERY and pid in (None, last.pid):
        return
    pid = _own_process(visit) if pid is None else pid
    beat(presence, visit.team, visit.me, now, _source(visit), pid=pid, state=state)


def _own_process(visit: HookVisit) -> int | None:
    """
    The process that this session began in, though it may be gone: programs do not wait for the hooks of their last
    turn, and what these leave would show for ten minutes that somebody is there.
    """
    if visit.call.moment in (START, PROMPT):
        return None  # it has just been looked for
    presence = visit.room.presence
    last = last_beat(presence, visit.team, visit.me, visit.room.clock.now())
    is_here = last is not None and last.host == presence.host
    return last.pid if last and is_here and visit.call.session == _known_session(visit) != "" else None


def _source(visit: HookVisit) -> str:
    return f"{visit.call.vendor} hook {visit.call.event}"


def _confirm(visit: HookVisit) -> None:
    """It goes on after mail was put into its context. One that ends, begins anew or sits idle does not."""
    call = visit.call
    if call.moment in (START, END, MAIL, TEAMMATE_IDLE) or (call.moment == NOTICE and call.reason == IDLE_NOTICE):
        return
    endpoint = visit.room.endpoints.of(visit.team.name, visit.me)
    if endpoint is None or not endpoint.unconfirmed or endpoint.session != visit.call.session:
        return
    from atm.mail.services.bookkeeping import enter

    evidence = f"the session went on ({_source(visit)}) with it in its context"
    if enter(visit.room, visit.team.name, visit.me, endpoint.unconfirmed, "read", evidence):
        endpoint.unconfirmed = []
        visit.room.endpoints.put(visit.team.name, visit.me, endpoint)


def _may_show(visit: HookVisit) -> bool:
    """Claude Code puts its own teams' mail before its teammates; ours would come a second time."""
    member = visit.team.member(visit.me)
    return member is not None and not is_claudes_team(visit.team.name) and member.backend not in NATIVE_BACKENDS


def _look(visit: HookVisit) -> Glance:
    """Without a lock: most calls find nothing. The only look: the turn goes on with what was seen here."""
    found = visit.room.inboxes.glance(visit.team.name, visit.me, visit.is_person, GLANCED)
    if not found.messages:
        return found
    from atm.mail.services.surfacing import not_shown

    return not_shown(visit.room, visit.team.name, visit.me, found)


def _speak(
    visit: HookVisit, greeting: str = "", is_due: Callable[[list[Message]], bool] = lambda _: True
) -> list[Message]:
    """Say the greeting, if there is one, and as much mail as fits, if it `is_due`."""
    if not visit.carries:
        return []
    seen = _look(visit) if _may_show(visit) else None
    if seen is None or not _has_mail(visit, seen, is_due):
        _say(visit, greeting)
        return []
    return _show(visit, seen, greeting, is_due)


def _show(visit: HookVisit, seen: Glance, greeting: str, is_due: Callable[[list[Message]], bool]) -> list[Message]:
    """What this needs is imported here: few calls get so far."""
    from atm.delivery.rules.briefing import LONGEST_CONTEXT, size_of
    from atm.delivery.rules.channels import urgent_first
    from atm.mail.services.surfacing import Surfacing

    warning = "" if seen.is_whole else _too_large(visit, seen.size)
    where = f"{visit.call.vendor} {visit.call.session}"
    turn = Surfacing(visit.room, visit.team.name, visit.me, HOOK, where=where, people=visit.is_person, seen=seen)
    with turn as found:
        unread = found if found and is_due(found) else []
        space = LONGEST_CONTEXT - len(greeting) - len(warning) - HEAD
        fitting = urgent_first(unread, space, lambda one: size_of(one, in_doubt=turn.doubts(one)), visit.is_person)
        taken = turn.take(fitting) if fitting else []
        left = turn.more + len(unread) - len(fitting)  # what could not be taken was marked by another reader
        mail = _in_words(visit, turn, left, space) if taken else ""
        if taken or visit.carries != "block":  # a warning alone keeps nobody from stopping
            _say(visit, "\n\n".join(part for part in (greeting, mail, warning) if part))
        if taken:
            turn.shown(f"{_source(visit)}, session {visit.call.session[:8] or 'unknown'}")
            _remember(visit, taken)
        return taken


def _has_mail(visit: HookVisit, seen: Glance, is_due: Callable[[list[Message]], bool]) -> bool:
    """Also where a process died while it showed some: that is given back in the turn."""
    is_more = bool(seen.messages) or seen.left > 0 or not seen.is_whole
    return (is_more and is_due(seen.messages)) or visit.room.surfacings.is_cut_off(visit.team.name, visit.me)


def _too_large(visit: HookVisit, size: int) -> str:
    """Never silently: the agent is told, and whoever looks into the log."""
    warning = too_large_in_words(size)
    visit.log(f"inbox too large: {size:,} bytes; only urgent mail near its end was looked for")
    return warning


def _say(visit: HookVisit, text: str) -> None:
    if text:
        visit.say(HookAnswer(block=text) if visit.carries == "block" else HookAnswer(context=text))


def _remember(visit: HookVisit, taken: list[Message]) -> None:
    """Its next call will show that it went on."""
    from atm.team.services.endpoints import endpoint_of

    endpoint = endpoint_of(visit.room, visit.team, visit.me)
    if endpoint is None or endpoint.session != visit.call.session:
        endpoint = visit.locate()
    ids = [message.id for message in taken if message.id]
    endpoint.unconfirmed = [*endpoint.unconfirmed, *ids][-MOST_UNCONFIRMED:]
    _settle_in(visit, endpoint)


def _in_words(visit: HookVisit, turn: Surfacing, left: int, space: int) -> str:
    """The first one may be longer than what is left beside a long greeting."""
    from atm.delivery.rules.briefing import mail_in_words
    from atm.delivery.services.framing import show_one

    room, team, me = visit.room, visit.team.name, visit.me
    shown = [show_one(room, team, me, one, space, in_doubt=turn.doubts(one)) for one in turn.taken]
    return mail_in_words(me, team, shown, left)
