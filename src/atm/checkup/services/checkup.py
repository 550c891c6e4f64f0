"""
The check-up behind `atm doctor`: what is wrong, why it matters, and the command that mends it.

Each kind of finding is one function. A finding that we can mend safely carries the mending with it. Every check is
contained: one that fails is a finding, and the others look all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from atm.checkup.services.belongings import examine_homes, examine_kinds, examine_owners, examine_permissions
from atm.checkup.services.board import examine_board
from atm.checkup.services.findings import FIX, NOTE, PROBLEM, WARNING, Check, Finding, name_causes
from atm.checkup.services.machine import examine_clock, examine_home, examine_room_left
from atm.core.errors import AtmError, OutsideLink
from atm.core.names import is_claudes_team, nearest_name, same_name
from atm.core.plain import counted
from atm.core.untrusted_text import shell_word, shell_words
from atm.mail.rules.surfacing import half_shown_in_words
from atm.mail.services.overview import InboxFacts, InboxProblem, inbox_facts
from atm.mail.services.putting_back import missing_rows, put_back_dropped
from atm.mail.services.spooling import drain
from atm.mail.services.surfacing import half_shown
from atm.mail.services.surfacing import recover as give_back
from atm.roster.services.deletions import finish_deletions
from atm.roster.services.recovery import recover
from atm.setup.rules.installation import upgrade_command
from atm.team.rules.team import HUMAN, claude_reads_inbox
from atm.vendors.claude.team_folder import strange_in_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.checkup.ports import FilesAround, FoundLock
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team

Look = Callable[[], Iterable[Finding | str]]

STALE_AFTER = 30.0
LARGE_INBOX = 1_000_000
"""Bytes. At about this size Claude Code's interface was seen to stall."""


def examine(boardroom: FullBoardroom, around: FilesAround, more: Sequence[tuple[str, Look]] = ()) -> list[Check]:
    """Look at everything. Changes nothing, but for a file that is made and removed to see whether one can be."""
    room, teams = boardroom.room, known_teams(boardroom.room)
    looks: list[tuple[str, Look]] = [
        ("home", lambda: examine_home(around)),
        ("space", lambda: examine_room_left(around)),
        ("clock", lambda: examine_clock(around, teams, room.clock.now())),
        ("owners", lambda: examine_owners(around, teams)),
        ("files", lambda: examine_kinds(around, teams)),
        ("permissions", lambda: examine_permissions(around, teams)),
        ("homes", lambda: examine_homes(around)),
        *more,
        ("spool", lambda: _spool(room)),
        ("formats", lambda: _drift(room, around)),
        ("processes", lambda: _dead_processes(room, around)),
        ("deletions", lambda: _deletions(room)),
        ("teams", lambda: _teams(room)),
    ]
    checks = []
    for name, at in looks:
        checks.append(Check(name))
        checks[-1].look(at)
    checks += [_examine_team(boardroom, around, name) for name in teams]
    name_causes(findings_of(checks))
    return checks


def _examine_team(boardroom: FullBoardroom, around: FilesAround, name: str) -> Check:
    check = Check(f"team {name}")
    looks = (
        lambda: _team(boardroom.room, around, name),
        lambda: _left_behind(boardroom.room, around, name),
        lambda: _ledger(boardroom.room, name),
        lambda: examine_board(boardroom, name),
    )
    for at in looks:
        check.look(at)
    return check


def mend(
    boardroom: FullBoardroom, around: FilesAround, checks: list[Check], more: Sequence[tuple[str, Look]] = ()
) -> tuple[list[Check], list[Finding]]:
    """
    Do what can be done safely, then look again: the checks as they stand now, and what was mended.

    Only what a second look that came to its end does not find any more was mended.
    """
    refusals: dict[tuple[str, str], Exception] = {}
    for finding in findings_of(checks):
        if finding.mend is not None:
            try:
                finding.mend()
            except (AtmError, OSError) as error:
                refusals[finding.identity] = error
    again = examine(boardroom, around, more)
    for finding in findings_of(again):
        if finding.identity in refusals:
            finding.message += f" (not mended: {refusals[finding.identity]})"
    still = {finding.identity for finding in findings_of(again)}
    blind = {check.name for check in again if check.has_failed}
    gone = [
        finding
        for check in checks
        for finding in check.findings
        if finding.identity not in still and check.name not in blind
    ]
    for finding in gone:
        finding.mended = True
    return again, in_order(gone)


def findings_of(checks: list[Check]) -> list[Finding]:
    return in_order([finding for check in checks for finding in check.findings])


def in_order(findings: list[Finding]) -> list[Finding]:
    order = {PROBLEM: 0, WARNING: 1, NOTE: 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def known_teams(room: Teamroom) -> list[str]:
    """None where the folder of teams cannot be looked into: the check of teams says so."""
    try:
        return room.rosters.teams()
    except AtmError:
        return []


def _teams(room: Teamroom) -> Iterator[Finding | str]:
    count = len(room.rosters.teams())
    yield counted(count, "team")


def _team(room: Teamroom, around: FilesAround, name: str) -> Iterator[Finding | str]:
    team = _loaded(room, name)
    if isinstance(team, AtmError):
        word = shell_word(team.path)
        command = f"rm {word}" if isinstance(team, OutsideLink) else f"mv {word} {shell_word(team.path + '.broken')}"
        yield Finding("unreadable-team", PROBLEM, str(team), command, team.path)
        return
    yield from _roster(room, around, team)
    yield from _inboxes(room, team)
    for member, note in half_shown(room, team.name, room.inboxes.owners(team.name)):
        what = half_shown_in_words(member, team.name, note)
        again = partial(give_back, room, team.name, member)
        yield Finding("half-shown", NOTE, what, FIX, mend=again, subject=f"{member}@{team.name}")
    yield counted(len(team.members), "member")


def _loaded(room: Teamroom, name: str) -> Team | AtmError:
    try:
        return room.rosters.load(name)
    except AtmError as error:
        return error


def _left_behind(room: Teamroom, around: FilesAround, name: str) -> Iterator[Finding]:
    if isinstance(_loaded(room, name), OutsideLink):
        return  # nothing behind the link is ours to look at
    for lock in around.locks(name):
        yield from _lock(around, lock)
    for path in around.leftovers(name):
        what = f"{path} was left by a process that was killed"
        yield Finding("leftover-file", NOTE, what, FIX, path, partial(around.remove, path))


def _lock(around: FilesAround, lock: FoundLock) -> Iterator[Finding]:
    path, age = lock.path, f"{lock.age:.0f} s old, {lock.who}"
    remove = partial(around.break_lock, path)
    if lock.kind == "file" and lock.owner == "alive":
        what = f"{path} is a lock file ({age}): after 10 s it wedges Claude Code"
        yield Finding("foreign-lock-file", WARNING, what, f"kill {lock.pid} && rm -f {shell_word(path)}", path)
    elif lock.kind == "file" and (lock.owner == "dead" or lock.age > STALE_AFTER):
        what = f"{path} is a lock file left behind ({age}); Claude Code cannot take this lock"
        yield Finding("wedged-lock", PROBLEM, what, FIX, path, remove)
    elif lock.kind in ("link", "other") or not lock.empty:
        what = f"{path} is no empty directory ({age}): nobody can take this lock"
        yield Finding("wedged-lock", PROBLEM, what, f"ls -la {shell_word(path)}; rm -r {shell_word(path)}", path)
    elif lock.kind == "folder" and lock.age > STALE_AFTER:
        yield Finding("stale-lock", WARNING, f"{path} was left behind ({age})", FIX, path, remove)


def _roster(room: Teamroom, around: FilesAround, team: Team) -> Iterator[Finding]:
    intents, path = room.rosters.abandoned(team.name), team.read_from
    for intent in intents:
        what = f"a command was killed in team {team.name!r}: {intent.get('verb')} {intent.get('name')}"
        yield Finding("half-done", PROBLEM, what, FIX, path, partial(recover, room, team))
    fields = around.unknown_team_fields(team.name)
    if fields:
        what = f"{path} has fields we do not know: {', '.join(fields)} (kept as they are)"
        yield Finding("format-drift", NOTE, what, upgrade_command(around.installation()), path)
    strange = strange_in_team(around.team_folder(team.name)) if is_claudes_team(team.name) else []
    if strange:
        what = f"Claude Code keeps things we do not know in team {team.name!r}: {', '.join(strange[:10])} (left alone)"
        yield Finding(
            "format-drift",
            NOTE,
            what,
            upgrade_command(around.installation()),
            path,
            subject=f"the folder of {team.name}",
        )
    for name in around.unsafe_names(team.name):
        what = f"{name!r} in {team.name!r} is a name that could lead out of its folder, so it gets no mail"
        yield Finding("unsafe-name", WARNING, what, f"${{EDITOR:-vi}} {shell_word(path)}", path)
    owners = {name.casefold() for name in room.inboxes.owners(team.name)}
    for name in team.names:
        if name.casefold() not in owners and not intents and not is_claudes_team(team.name):
            what = f"{name!r} in team {team.name!r} has no inbox yet"
            yield Finding("no-inbox", NOTE, what, f"atm teams add-member {shell_words(team.name, name)}", path)


def _inboxes(room: Teamroom, team: Team) -> Iterator[Finding]:
    members = {name.casefold() for name in team.names}
    for facts in inbox_facts(room, team):
        if isinstance(facts, InboxProblem):
            path = facts.error.path
            if isinstance(facts.error, OutsideLink):
                what = f"{facts.error}; mail for {facts.agent!r} is refused"
                yield Finding("outside-link", PROBLEM, what, f"rm {shell_word(path)}", path)
                continue
            what = f"{facts.error}; mail for {facts.agent!r} waits in the spool"
            yield Finding(
                "unreadable-inbox",
                PROBLEM,
                what,
                f"mv {shell_word(path)} {shell_word(path + '.broken')} && atm spool retry",
                path,
            )
            continue
        yield from _one_inbox(team, facts)
        if facts.agent.casefold() not in members and not same_name(facts.agent, HUMAN):
            yield _phantom(team, facts)


def _phantom(team: Team, facts: InboxFacts) -> Finding:
    near = nearest_name(facts.agent, team.names)
    hint = f"; did somebody mean {near!r}?" if near else ""
    what = f"{facts.agent!r} has an inbox in {team.name!r} with {facts.unread} unread, but is no member{hint}"
    look = f"atm read --all {shell_words(f'{facts.agent}@{team.name}')}"
    if is_claudes_team(team.name):  # it is Claude Code's, which takes it away with the session; we are refused
        return Finding("phantom-inbox", NOTE, f"{what}; it goes with the session", look)
    remove = f"atm teams remove-member --force {shell_words(team.name, facts.agent)}"
    return Finding("phantom-inbox", WARNING, what, f"{look}; {remove}")


def _one_inbox(team: Team, facts: InboxFacts) -> Iterator[Finding]:
    whose = f"{facts.agent!r} in {team.name!r}"
    if facts.size > LARGE_INBOX:
        what = f"the inbox of {whose} has {counted(facts.total, 'row')}, {facts.size / 1e6:.1f} MB"
        command = f"atm cleanup --team {shell_word(team.name)} --yes"
        if claude_reads_inbox(team.member(facts.agent), is_claudes_team(team.name)):
            command = f"atm config set retention.claude_inboxes true; {command}"
        yield Finding("large-inbox", WARNING, what, command)
    if facts.malformed:
        rows = counted(facts.malformed, "row")
        what = f"{rows} in the inbox of {whose} cannot be read as a message: kept, and shown to nobody"
        yield Finding("malformed-rows", NOTE, what, f"atm read --all {shell_words(facts.agent + chr(64) + team.name)}")


def _ledger(room: Teamroom, name: str) -> Iterator[Finding]:
    team = _loaded(room, name)
    if isinstance(team, AtmError):
        return
    path = room.ledger.path(name)
    try:
        entries, torn = room.ledger.entries(name)
    except AtmError as error:
        what = f"{error}: mail goes on, but nobody knows what was shown before, and nothing dropped is put back"
        yield Finding("unreadable-ledger", PROBLEM, what, f"ls -ld {shell_word(path)}", path)
        return
    if torn:
        what = f"{counted(torn, 'line')} of {path} cannot be read, as after a crash; all others count"
        yield Finding("torn-ledger-lines", NOTE, what, f"grep -nv '^{{.*}}$' {shell_word(path)}", path)
    dropped = 0 if team.completed else missing_rows(room, team, entries)
    if dropped:
        gone = counted(dropped, "message")
        what = f"{gone} of team {name!r} went by another program's rewrite"
        again = partial(put_back_dropped, room, team, everything=True)
        yield Finding("dropped-rows", PROBLEM, what, FIX, path, again)


def _deletions(room: Teamroom) -> Iterator[Finding | str]:
    for deletion in room.files.cut_off():
        what = f"a command was killed while it deleted team {deletion.team!r}"
        yield Finding("half-done", PROBLEM, what, FIX, deletion.aside, partial(finish_deletions, room))
    yield "none was cut off"


def _spool(room: Teamroom) -> Iterator[Finding | str]:
    waiting, failed = room.spool.pending(), room.spool.failed()
    if waiting:
        wait = counted(len(waiting), "message waits", "messages wait")
        what = f"{wait} for delivery; the oldest: {waiting[0].entry.reason}"
        again = partial(drain, room, everything=True)
        yield Finding("spool-backlog", WARNING, what, "atm spool retry", waiting[0].path, again, subject="spool")
    for path in room.spool.unreadable():
        what = f"{path} lies in the spool but is no message of ours; it is left alone"
        yield Finding(
            "spool-unreadable", PROBLEM, what, f"mv {shell_word(path)} {shell_word(path.rsplit(chr(47), 2)[0])}/", path
        )
    if failed:
        what = f"{counted(len(failed), 'message was', 'messages were')} given up: {failed[0].entry.reason}"
        command = "atm spool list; atm spool retry --failed"
        yield Finding("spool-failed", PROBLEM, what, command, failed[0].path, subject="failed")
    yield "nothing waits"


def _drift(room: Teamroom, around: FilesAround) -> Iterator[Finding | str]:
    seen = room.drift.seen()
    if seen:
        names = ", ".join(sorted({f"{entry.get('kind')}.{entry.get('field')}" for entry in seen})[:8])
        what = f"fields that we do not know were met and kept: {names}"
        yield Finding("format-drift", NOTE, what, upgrade_command(around.installation()))
    yield "no field that we do not know"


def _dead_processes(room: Teamroom, around: FilesAround) -> Iterator[Finding | str]:
    for held in around.held():
        owner = held.inbox_owner
        if held.alive or owner is None:
            continue
        what = f"process {held.pid} was killed while it wrote {held.target} ({held.since}); the next write finishes it"
        finish = partial(room.inboxes.change, owner[0], owner[1], list)
        yield Finding("interrupted-write", NOTE, what, FIX, held.target, finish)
    yield "no write was cut off"
