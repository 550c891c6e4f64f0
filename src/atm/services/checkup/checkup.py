"""
The check-up behind `atm doctor`: what is wrong, why it matters, and the command that mends it.

Each kind of finding is one function. A finding that we can mend safely carries the mending with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from atm.domain.errors import AtmError, OutsideLink
from atm.domain.names import is_claudes_team, nearest_name
from atm.domain.team.team import claude_reads_inbox
from atm.services.checkup.board import examine_board
from atm.services.checkup.findings import FIX, NOTE, PROBLEM, WARNING, Finding, shell_word
from atm.services.mail.overview import InboxFacts, InboxProblem, inbox_facts
from atm.services.mail.putting_back import missing_rows, put_back_dropped
from atm.services.mail.spooling import drain
from atm.services.roster.deletions import finish_deletions
from atm.services.roster.recovery import recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team.team import Team
    from atm.ports.checkup import FilesAround, FoundLock
    from atm.services.roster.full_boardroom import FullBoardroom
    from atm.services.roster.teamroom import Teamroom

STALE_AFTER = 30.0
LARGE_INBOX = 1_000_000
"""Bytes. At about this size Claude Code's interface was seen to stall."""

UPGRADE = "pip install --upgrade agent-team-manager"


def examine(boardroom: FullBoardroom, around: FilesAround) -> list[Finding]:
    """Look at everything. Reads only."""
    room = boardroom.room
    teams = room.rosters.teams()
    found = [
        *_spool(room),
        *_permissions(around, teams),
        *_homes(around),
        *_drift(room),
        *_dead_processes(room, around),
    ]
    found += _deletions(room)
    for name in teams:
        found += [*_team(room, around, name), *examine_board(boardroom, name)]
    order = {PROBLEM: 0, WARNING: 1, NOTE: 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def mend(boardroom: FullBoardroom, around: FilesAround, findings: list[Finding]) -> list[Finding]:
    """Do what can be done safely, then look again: what is gone was mended, what is left says how."""
    for finding in findings:
        if finding.mend is not None:
            try:
                finding.mend()
            except (AtmError, OSError) as error:
                finding.message += f" (not mended: {error})"
    left = examine(boardroom, around)
    still = {(finding.code, finding.path) for finding in left}
    gone = [finding for finding in findings if (finding.code, finding.path) not in still]
    for finding in gone:
        finding.mended = True
    return [*gone, *left]


def _team(room: Teamroom, around: FilesAround, name: str) -> Iterator[Finding]:
    try:
        team = room.rosters.load(name)
    except AtmError as error:
        word = shell_word(error.path)
        command = f"rm {word}" if isinstance(error, OutsideLink) else f"mv {word} {shell_word(error.path + '.broken')}"
        yield Finding("unreadable-team", PROBLEM, str(error), command, error.path)
        if isinstance(error, OutsideLink):
            return  # nothing behind the link is ours to look at
        team = None
    for lock in around.locks(name):
        yield from _lock(around, lock)
    for path in around.leftovers(name):
        what = f"{path} was left by a process that was killed"
        yield Finding("leftover-file", NOTE, what, FIX, path, partial(around.remove, path))
    if team is None:
        return
    yield from _roster(room, around, team)
    yield from _inboxes(room, team)
    yield from _ledger(room, team)


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
        yield Finding("format-drift", NOTE, what, UPGRADE, path)
    for name in around.unsafe_names(team.name):
        what = f"{name!r} in {team.name!r} is a name that could lead out of its folder, so it gets no mail"
        yield Finding("unsafe-name", WARNING, what, f"${{EDITOR:-vi}} {shell_word(path)}", path)
    owners = {name.casefold() for name in room.inboxes.owners(team.name)}
    for name in team.names:
        if name.casefold() not in owners and not intents:
            what = f"{name!r} in team {team.name!r} has no inbox yet"
            yield Finding(
                "no-inbox", NOTE, what, f"atm teams add-member {shell_word(team.name)} {shell_word(name)}", path
            )


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
        if facts.agent.casefold() not in members:
            yield _phantom(team, facts)


def _phantom(team: Team, facts: InboxFacts) -> Finding:
    near = nearest_name(facts.agent, team.names)
    hint = f"; did somebody mean {near!r}?" if near else ""
    what = f"{facts.agent!r} has an inbox in {team.name!r} with {facts.unread} unread, but is no member{hint}"
    whose, where = shell_word(f"{facts.agent}@{team.name}"), shell_word(team.name)
    look, remove = f"atm read {whose} --all", f"atm teams remove-member {where} {shell_word(facts.agent)} --force"
    return Finding("phantom-inbox", WARNING, what, f"{look}; {remove}")


def _one_inbox(team: Team, facts: InboxFacts) -> Iterator[Finding]:
    whose = f"{facts.agent!r} in {team.name!r}"
    if facts.size > LARGE_INBOX:
        what = f"the inbox of {whose} has {facts.total:,} rows, {facts.size / 1e6:.1f} MB"
        command = f"atm cleanup --team {shell_word(team.name)} --yes"
        if claude_reads_inbox(team.member(facts.agent), is_claudes_team(team.name)):
            command = f"atm config set retention.claude_inboxes true; {command}"
        yield Finding("large-inbox", WARNING, what, command)
    if facts.malformed:
        what = f"{facts.malformed} rows in the inbox of {whose} are not messages: kept, and shown to nobody"
        yield Finding("malformed-rows", NOTE, what, f"atm read {shell_word(facts.agent + chr(64) + team.name)} --all")


def _ledger(room: Teamroom, team: Team) -> Iterator[Finding]:
    entries, torn = room.ledger.entries(team.name)
    path = room.ledger.path(team.name)
    if torn:
        what = f"{torn} lines of {path} cannot be read, as after a crash; all others count"
        yield Finding("torn-ledger-lines", NOTE, what, f"grep -nv '^{{.*}}$' {shell_word(path)}", path)
    dropped = 0 if team.completed else missing_rows(room, team.name, entries)
    if dropped:
        what = f"{dropped} messages of team {team.name!r} were dropped by another program's rewrite"
        again = partial(put_back_dropped, room, team, everything=True)
        yield Finding("dropped-rows", PROBLEM, what, FIX, path, again)


def _deletions(room: Teamroom) -> Iterator[Finding]:
    for deletion in room.files.cut_off():
        what = f"a command was killed while it deleted team {deletion.team!r}"
        yield Finding("half-done", PROBLEM, what, FIX, deletion.aside, partial(finish_deletions, room))


def _spool(room: Teamroom) -> Iterator[Finding]:
    waiting, failed = room.spool.pending(), room.spool.failed()
    if waiting:
        what = f"{len(waiting)} messages wait for delivery; the oldest: {waiting[0].entry.reason}"
        again = partial(drain, room, everything=True)
        yield Finding("spool-backlog", WARNING, what, "atm spool retry", waiting[0].path, again)
    for path in room.spool.unreadable():
        what = f"{path} lies in the spool but is no message of ours; it is left alone"
        yield Finding(
            "spool-unreadable", PROBLEM, what, f"mv {shell_word(path)} {shell_word(path.rsplit(chr(47), 2)[0])}/", path
        )
    if failed:
        what = f"{len(failed)} messages were given up: {failed[0].entry.reason}"
        yield Finding("spool-failed", PROBLEM, what, "atm spool list; atm spool retry --failed", failed[0].path)


def _permissions(around: FilesAround, teams: list[str]) -> Iterator[Finding]:
    for loose in around.loose_paths(teams):
        what = f"{loose.path} has mode {loose.mode:o}: {loose.why}"
        command = f"chmod {loose.should_be:o} {shell_word(loose.path)}"
        yield Finding("wrong-permissions", WARNING, what, command, loose.path, partial(around.tighten, loose))


def _homes(around: FilesAround) -> Iterator[Finding]:
    other = around.other_home()
    if other is not None:
        what = f"teams also lie under {other}: agents without your CLAUDE_CONFIG_DIR or ATM_HOME use those"
        command = "unset CLAUDE_CONFIG_DIR ATM_HOME"
        yield Finding("two-homes", WARNING, what, command, other)


def _drift(room: Teamroom) -> Iterator[Finding]:
    seen = room.drift.seen()
    if seen:
        names = ", ".join(sorted({f"{entry.get('kind')}.{entry.get('field')}" for entry in seen})[:8])
        yield Finding("format-drift", NOTE, f"fields that we do not know were met and kept: {names}", UPGRADE)


def _dead_processes(room: Teamroom, around: FilesAround) -> Iterator[Finding]:
    for held in around.held():
        owner = held.inbox_owner
        if held.alive or owner is None:
            continue
        what = f"process {held.pid} was killed while it wrote {held.target} ({held.since}); the next write finishes it"
        finish = partial(room.inboxes.change, owner[0], owner[1], list)
        yield Finding("interrupted-write", NOTE, what, FIX, held.target, finish)
