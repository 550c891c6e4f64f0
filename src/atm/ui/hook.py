"""
`atm hook <vendor> <event>`: what the hooks of coding agents call, hundreds of times a day.

Fast, because the agent waits for it; bounded, because a hook that hangs freezes the agent; and it always ends with 0,
because an error of ours is none of the agent's business. What went wrong is in the hook log.
"""

from __future__ import annotations

import os
import sys

from atm.core.errors import AtmError
from atm.mail.formats.inbox import EMPTY
from atm.team.rules.team import is_human
from atm.vendors.hook_answer import can_carry, encode_answer, encode_silence, encode_watch
from atm.vendors.hook_call import parse_call
from atm.vendors.known import hooks_of
from atm.vendors.moments import MAIL, START
from atm.wiring.files import find_layout, interruptions
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.endpoints import Endpoint
    from atm.team.rules.team import Team
    from atm.vendors.moments import HookAnswer, HookCall

LONGEST_PAYLOAD = 4 << 20
NOBODY = "ATM_NOBODY"
"""See `vendors.shared_server`, which few hooks need."""

_said: list[str] = []
"""What this process has answered: one thing at most."""

SECONDS = 3.0
"""After so long we leave. Mail that was taken and not shown is given back by the next call."""

LAST_WORDS = 0.3
"""Seconds of these in which we say why, to the agent and in the log."""

MOST_COUNTED = 4 << 20
"""Bytes of an inbox whose unread mail the briefing counts, sender by sender."""

WORTH_MENTIONING = 8 << 20
"""Bytes from which an inbox may be why we are late."""

_inbox: list[Callable[[], tuple[HookCall, int]]] = []
"""Whose hook this is, and how large its inbox, once we know."""


def run(words: list[str]) -> int:
    """Never fails, never blocks for long."""
    _set_limit(SECONDS, words)
    try:
        _attend(words)
    except KeyboardInterrupt:
        pass  # the agent was interrupted, and we with it; or we are out of time. What was not said is given back
    except (AtmError, OSError, ValueError) as error:
        _note(words, error)
    except Exception as error:  # an agent must not suffer from our bug; it is in the log
        if os.environ.get("ATM_DEBUG"):
            raise
        _note(words, error)
    leave_quietly()
    return 0


def leave_quietly() -> None:
    """Nobody may be there to hear us; that is no error of the agent's either."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends, a moment later


def _set_limit(seconds: float, words: list[str]) -> None:
    """`_signal`, because `signal` builds enumerations for a millisecond. Windows has no such timer: vendors' own."""
    import _signal  # type: ignore[import-not-found]

    def leave(*_: object) -> None:
        """What is being written may be finished in the time for the last words; whatever waits is interrupted."""
        _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
        _signal.setitimer(_signal.ITIMER_REAL, LAST_WORDS)
        try:
            _leave_late(words)
        except Exception:  # noqa: BLE001 - there is no time left for anybody's trouble
            os._exit(0)
        interruptions.notice(_signal.SIGALRM)

    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, leave)
        _signal.setitimer(_signal.ITIMER_REAL, max(seconds - LAST_WORDS, LAST_WORDS))


def _leave_late(words: list[str]) -> None:
    """Out of time, wherever we are: never without a word."""
    size, was_said = 0, bool(_said)
    if _inbox:
        call, size = _inbox[0]()
        if size > len(EMPTY) and can_carry(call) == "context" and not was_said:
            from atm.delivery.rules.channels import late_in_words, too_large_in_words
            from atm.vendors.moments import HookAnswer

            why = too_large_in_words(size) if size >= WORTH_MENTIONING else late_in_words()
            _said.append(encode_answer(call, HookAnswer(context=why)))
            os.write(1, f"{_said[0]}\n".encode("utf-8", "replace"))  # nothing of ours waits in the buffer
    done = "after its answer" if was_said else "before all was looked at"
    _log(" ".join(words[:2]), f"out of time {done}; the inbox has {size:,} bytes")


def _attend(words: list[str]) -> None:
    if len(words) < 2:
        sys.stderr.write("usage: atm hook <vendor> <event> [payload]\n")
        return
    call = parse_call(words[0], words[1], read_payload(words))
    layout, environment = find_layout(os.environ), environment_of_call(call)
    from atm import config

    settings = config.load(layout, environment, folder_of(call), {})
    room = build_room(layout, settings)
    found = who_calls(room, settings, call) if NOBODY not in environment else None
    if found is not None:
        _visit(layout, settings, room, call, environment, *found)
    elif NOBODY in environment and call.moment == START and can_carry(call) == "context":
        from atm.vendors.moments import HookAnswer
        from atm.vendors.shared_sessions import words_for

        _say(call, HookAnswer(context=words_for(call.vendor)))
    silence = encode_silence(call)
    if found is not None and call.moment == MAIL:
        silence = encode_watch(call, layout.inbox(found[0].name, found[1]))
    if silence and not _said:
        sys.stdout.write(silence + "\n")


def environment_of_call(call: HookCall) -> Mapping[str, str]:
    """A program's shared server, and a teammate in a pane, may have the environment of another member."""
    runs_elsewhere = hooks_of(call.vendor).runs_elsewhere
    if runs_elsewhere is not None and runs_elsewhere(call, os.environ):
        from atm.wiring.delivery import environment_of_speaker

        return environment_of_speaker(os.environ)
    return os.environ


def _visit(
    layout: Layout,
    settings: Settings,
    room: Teamroom,
    call: HookCall,
    environment: Mapping[str, str],
    team: Team,
    me: str,
) -> None:
    from atm.delivery.services.agent_hooks import HookVisit, attend

    _inbox.append(lambda: (call, room.inboxes.size(team.name, me)))
    attend(
        HookVisit(
            room,
            team,
            me,
            call,
            carries=can_carry(call),
            say=lambda answer: _say(call, answer),
            stop_on=settings.text("delivery.stop_on"),
            brief=lambda: _brief(layout, settings, room, team.name, me),
            locate=lambda: _locate(room, call, environment),
            introduce=lambda: introduce(room, team, me),
            log=lambda what: _log(f"{call.vendor} {call.event}", what),
        )
    )


def read_payload(words: list[str]) -> bytes:
    """On standard input; Codex's `notify` gives it as the last word instead."""
    if len(words) > 2:
        return words[2].encode("utf-8", "surrogateescape")
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    with interruptions:
        return sys.stdin.buffer.read(LONGEST_PAYLOAD + 1)


def folder_of(call: HookCall) -> str:
    """Where the agent works: some vendors run their hooks elsewhere, beside their own settings."""
    try:
        return call.folder if os.path.isdir(call.folder) else os.getcwd()
    except OSError:  # it was deleted under us
        return "/"


def who_calls(room: Teamroom, settings: Settings, call: HookCall) -> tuple[Team, str] | None:
    """
    Which member calls: whom the environment or the settings name; a teammate that Claude Code names; whoever has
    this session in the roster. Nobody is guessed: the default identity, ours or the one that the user's own file has
    since they made a team, is the person at the terminal.
    """
    identity, team_name = settings.setting("core.identity"), settings.text("core.default_team")
    if call.member and call.team:
        return _member(room, call.team, call.member)
    if identity.origin != "default" and isinstance(identity.value, str):
        from atm.team.services.choosing import only_team

        found = _member(room, team_name or only_team(room), identity.value)
        if found is None or not (identity.is_of_the_user and is_human(*found)):
            return found
    if team_name and call.session:
        team = room.rosters.load(room.rosters.find(team_name) or team_name)
        names = [member.name for member in team.members if member.session_id == call.session]
        return (team, names[0]) if len(names) == 1 else None
    return None


def _member(room: Teamroom, team_name: str, name: str) -> tuple[Team, str] | None:
    spelled = room.rosters.find(team_name) if team_name else None
    if spelled is None:
        return None
    team = room.rosters.load(spelled)
    member = team.member(name)
    return (team, member.name) if member is not None else None


def _say(call: HookCall, answer: HookAnswer) -> None:
    text = encode_answer(call, answer)
    if not text:
        raise ValueError(f"{call.vendor} takes no answer at {call.event}")
    with interruptions:  # whoever ended us does not listen any more
        _said.append(text)
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    # It is said: now the ledger must hear of it, or it would be said again.
    _set_limit(SECONDS, [call.vendor, call.event])


def _brief(layout: Layout, settings: Settings, room: Teamroom, team: str, me: str) -> str:
    from atm.delivery.rules.briefing import in_words
    from atm.delivery.services.briefing import brief
    from atm.wiring.board import build_boardroom

    is_large = room.inboxes.size(team, me) > MOST_COUNTED
    facts = brief(build_boardroom(layout, settings, room), team, me, counts_mail=not is_large)
    facts.mail_follows = is_large or bool(facts.unread)
    return in_words(facts)


def _locate(room: Teamroom, call: HookCall, environment: Mapping[str, str]) -> Endpoint:
    from atm.wiring.delivery import locate_session

    return locate_session(room, call, environment)


def introduce(room: Teamroom, team: Team, me: str) -> int | None:
    """The vendor's program above this process is the member's from now on, as far as it was not known before."""
    from atm.team.services.standing import record_agent

    return record_agent(room, team, me, os.getpid())


def _note(words: list[str], error: Exception) -> None:
    _log(" ".join(words[:2]), f"{type(error).__name__}: {error}")


def _log(event: str, what: str) -> None:
    """In the log of hooks, as far as that can be written."""
    try:
        from atm.wiring.board import log_hook

        log_hook(find_layout(os.environ), {"event": event[:100], "error": what[:1000]})
    except Exception:  # noqa: BLE001 - there is nobody left to tell
        return
