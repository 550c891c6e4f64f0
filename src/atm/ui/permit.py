"""
`atm permit <vendor> <event>`: what the permission hooks of coding agents call before a tool runs.

Installed only where there is a policy. It answers in the vendor's words and within its limit; whatever goes wrong is a
no (G8). Its line in a vendor's settings ends with `|| exit 2`, which denies too: for the day on which this program is
killed, or is not there any more. Whoever is no member of a team, a person at their own terminal, is bound by deny
rules alone: what else they may do is between them and their program.
"""

from __future__ import annotations

import os
import sys

from atm.approvals.formats.tool_calls import read_tool_call
from atm.approvals.rules.policy import DENY
from atm.approvals.services.asking import denied_by, judged
from atm.approvals.services.permitting import CallingMember, permit
from atm.core.errors import AtmError
from atm.crew.rules.marks import HOST_ASKS
from atm.files.formats.json_record import NotJson, decode_with_repeats, to_text
from atm.team.rules.agent_processes import owner_in
from atm.team.rules.team import is_human
from atm.ui.hook import LONGEST_PAYLOAD, NOBODY, environment_of_call, folder_of, introduce, read_payload, who_calls
from atm.vendors.calls import ASK, ASKED_ONCE_MORE, LATER, NO, NO_OPINION, YES
from atm.vendors.hook_call import parse_call
from atm.vendors.known import calls_of
from atm.vendors.permission_answer import encode_permission
from atm.wiring.approvals import LONGEST_WAIT, build_approval_policy, build_approvalroom
from atm.wiring.files import find_layout
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.approvals.rules.calls import AgentCall
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.approvals.services.permitting import Permission
    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.files.formats.settings_text import Value
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team
    from atm.vendors.moments import HookCall

REFUSED = 2
"""The exit code with which every vendor's hook denies."""

SPARE = 10.0
"""Seconds beyond those that an answer is waited for, then we deny wherever we are."""


def run(words: list[str]) -> int:
    """Denies on every failure."""
    vendor, event = (*words, "", "")[:2]
    if not event:
        sys.stderr.write("usage: atm permit <vendor> <event>\n")
        return REFUSED
    heard = [event]
    try:
        verdict, reason = _decide(vendor, heard, words)
    except KeyboardInterrupt:
        verdict, reason = NO, "it was interrupted before anybody could answer"
    except (AtmError, OSError, ValueError) as error:
        verdict, reason = NO, f"atm could not judge this call, and what is not judged is denied: {error}"
    except Exception as error:
        if os.environ.get("ATM_DEBUG"):
            raise
        verdict, reason = NO, f"atm failed, and what is not judged is denied: {type(error).__name__}: {error}"
    return _say(vendor, heard[-1], verdict, reason)


def _say(vendor: str, event: str, verdict: str, reason: str) -> int:
    said = encode_permission(vendor, event, verdict, reason)
    try:
        if said:
            os.write(1, f"{said}\n".encode())
        elif verdict == NO:
            sys.stderr.write(f"{reason}\n")
            return REFUSED
    except OSError:
        return REFUSED
    return 0


def _deny_late(seconds: float, vendor: str, event: str) -> None:
    """Vendors give a hook ten minutes, and two of them let the call run after that."""
    import _signal  # type: ignore[import-not-found]

    def leave(*_: object) -> None:
        os._exit(_say(vendor, event, NO, "atm took too long, and what is not judged is denied"))

    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, leave)
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _decide(vendor: str, heard: list[str], words: list[str]) -> tuple[str, str]:
    """`heard`: the event as the command line names it; the payload knows better, and the answer must name that."""
    _deny_late(SPARE, vendor, heard[-1])
    data = read_payload(words)
    call = parse_call(vendor, heard[-1], data)
    heard.append(call.event)
    layout, environment = find_layout(os.environ), environment_of_call(call)
    from atm import config

    try:
        settings = config.load(layout, environment, folder_of(call), {})
    except AtmError as error:
        if not _may_be_member(layout, environment, call):
            sys.stderr.write(f"atm: {error}\n")
            return NO_OPINION, ""  # a person at their own terminal
        return NO, f"the policy cannot be read, so everything is denied: {error}; {error.remedy}"
    room = build_room(layout, settings)
    found = who_calls(room, settings, call) if NOBODY not in environment else None
    if found is None or is_human(*found):
        found = _by_session(room, call)
    if found is not None:
        _register(room, *found)  # first of all: nothing that this program starts acts as a person from here on
    started_in = _started_in(call)
    approvals = build_approvalroom(layout, settings, room, lambda: _boardroom(layout, settings, room), started_in)
    asked = _tool_call(call.vendor, data, settings)
    if asked is None:
        return NO, "this call names no tool that atm can judge"
    if found is None:
        # Deny rules hold for people, in whatever file they are.
        approvals.policy = build_approval_policy(layout, settings, checks_files=False)
        return _for_person(approvals, asked)
    if calls_of(call.vendor).waits_in_hook and _is_hosted(environment):
        approvals.hook = LONGEST_WAIT
    _deny_late(approvals.hook + SPARE, vendor, call.event)
    caller = _caller(settings, environment, call, *found)
    permission = permit(approvals, caller, asked, is_second=call.event == ASKED_ONCE_MORE)
    return _verdict(settings, call, permission)


def _started_in(call: HookCall) -> str:
    """The folder in which the agent was started; the folder of a call is where the agent went since."""
    variables = ("ATM_WORKTREE", calls_of(call.vendor).folder_variable)
    return next((folder for name in variables if name and (folder := os.environ.get(name))), "")


def _register(room: Teamroom, team: Team, me: str) -> None:
    """The vendor's program above this hook is the member's process. Written once, and only looked up afterwards."""
    mine, above = owner_in(team, me), room.processes.ancestors(os.getpid())[1:]
    if not any(mine in room.processes.owners(pid) for pid in above):
        introduce(room, team, me)


def _boardroom(layout: Layout, settings: Settings, room: Teamroom) -> FullBoardroom:
    from atm.wiring.board import build_boardroom

    return build_boardroom(layout, settings, room)


def _tool_call(vendor: str, data: bytes, settings: Settings) -> AgentCall | None:
    """What the agent wants to do; None if that cannot be read."""
    if len(data) > LONGEST_PAYLOAD:
        return None
    try:
        fields, repeated = decode_with_repeats(to_text(data))
    except NotJson:
        return None
    return read_tool_call(vendor, fields, settings.root, repeated)


def _may_be_member(layout: Layout, environment: Mapping[str, str], call: HookCall) -> bool:
    """Without all settings: by the variables, by the roster, or by what the user's own file says."""
    from atm import config

    if call.member or "ATM_IDENTITY" in environment or _by_session(build_room(layout), call) is not None:
        return True
    try:
        named = config.load(layout, environment, "/", {}).setting("core.identity")
        return named.origin != "default" and not (named.is_of_the_user and _is_person(build_room(layout), named.value))
    except AtmError:
        return False


def _is_person(room: Teamroom, name: Value | None) -> bool:
    """The default identity of this machine: somebody's name, and nowhere an agent's."""
    known = [(team, team.member(str(name))) for team in map(room.rosters.load, room.rosters.teams())]
    return any(one is not None for _, one in known) and not any(
        one and not is_human(team, one.name) for team, one in known
    )


def _by_session(room: Teamroom, call: HookCall) -> tuple[Team, str] | None:
    """The agent whose session a roster says this is. No name in a file can make a person of it."""
    for name in room.rosters.teams() if call.session else ():
        team = room.rosters.load(name)
        for member in team.members:
            if member.session_id == call.session and not is_human(team, member.name):
                return team, member.name
    return None


def _for_person(approvals: Approvalroom, asked: AgentCall) -> tuple[str, str]:
    """Deny rules hold for everybody."""
    if not approvals.policy.exists:
        return NO_OPINION, ""
    verdict = judged(approvals, asked)[1]
    return (NO, denied_by(verdict)) if verdict.decision == DENY else (NO_OPINION, "")


def _caller(settings: Settings, environment: Mapping[str, str], call: HookCall, team: Team, me: str) -> CallingMember:
    from atm.team.formats.team_config import delegates, must_plan

    member = team.required(me)
    return CallingMember(
        team,
        me,
        plans=must_plan(member),
        delegates=delegates(member, otherwise=settings.yes("crew.delegate")),
        defers=calls_of(call.vendor).can_wait and settings.yes("approvals.defer"),
        is_asked_for=_host_asks(call) if _is_hosted(environment) else None,
    )


def _is_hosted(environment: Mapping[str, str]) -> bool:
    """Is the program that calls the one that the host speaks with? What that starts has the same variables."""
    host = environment.get(HOST_ASKS, "")
    if not host.isdecimal():
        return False
    from atm.team.rules.agent_processes import is_started_by
    from atm.wiring.delivery import commands_above

    return is_started_by(int(host), commands_above(os.getpid()))


def _host_asks(call: HookCall) -> Callable[[AgentCall], bool] | None:
    """Will its program ask its host about a call? None where that cannot be told."""
    asks = calls_of(call.vendor).asks_host
    if asks is None:
        return None
    return lambda asked: asks(asked.tool, asked.folder == call.folder, not asked.unclear)


def _verdict(settings: Settings, call: HookCall, permission: Permission) -> tuple[str, str]:
    calls = calls_of(call.vendor)
    if permission.is_left:
        return (ASK if calls.can_ask else NO_OPINION), permission.reason
    if permission.waits is not None and calls.can_wait and settings.yes("approvals.defer"):
        return LATER, permission.reason
    if permission.is_yes:
        return YES, permission.reason
    return (NO if permission.is_no else NO_OPINION), permission.reason
