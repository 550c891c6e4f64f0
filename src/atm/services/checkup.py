"""
The check-up behind `atm doctor`: what is wrong, why it matters, and the command that mends it.

Each kind of finding is one function. A finding that we can mend safely carries the mending with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from atm.domain.errors import AtmError
from atm.domain.names import nearest_name
from atm.services.mail_upkeep import drain, missing_rows, put_back_dropped
from atm.services.overview import InboxFacts, InboxProblem, inbox_facts
from atm.services.roster import recover, unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team import Team
    from atm.ports.inspection import FoundLock, Site
    from atm.services.mailroom import Mailroom

PROBLEM, WARNING, NOTE = "problem", "warning", "note"

STALE_AFTER = 30.0
LARGE_INBOX = 1_000_000
"""Bytes. At about this size Claude Code's interface was seen to stall."""

FIX = "atm doctor --fix"


@dataclass(slots=True)
class Finding:
    """Something that is not as it should be."""

    code: str
    severity: str
    message: str
    command: str
    path: str = ""
    mend: Callable[[], object] | None = field(default=None, repr=False)
    mended: bool = False


def examine(room: Mailroom, site: Site) -> list[Finding]:
    """Look at everything. Reads only."""
    teams = room.rosters.teams()
    found = [*_spool(room), *_permissions(site, teams), *_homes(site), *_drift(room), *_dead_processes(room, site)]
    for name in teams:
        found += _team(room, site, name)
    order = {PROBLEM: 0, WARNING: 1, NOTE: 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def mend(findings: list[Finding]) -> None:
    """Do what can be done safely; what remains says how."""
    for finding in findings:
        if finding.mend is not None:
            try:
                finding.mend()
                finding.mended = True
            except (AtmError, OSError) as error:
                finding.message += f" (not mended: {error})"


def _team(room: Mailroom, site: Site, name: str) -> Iterator[Finding]:
    for lock in site.locks(name):
        yield from _lock(site, lock)
    for path in site.leftovers(name):
        yield Finding("leftover-file", NOTE, f"{path} was left by a process that was killed", FIX, path, lambda p=path: site.remove(p))  # type: ignore[misc]
    try:
        team = room.rosters.load(name)
    except AtmError as error:
        yield Finding("unreadable-team", PROBLEM, str(error), f"mv {error.path} {error.path}.broken", error.path)
        return
    yield from _roster(room, site, team)
    yield from _inboxes(room, team)
    yield from _ledger(room, team)


def _lock(site: Site, lock: FoundLock) -> Iterator[Finding]:
    age = f"{lock.age:.0f} s old, {lock.who}"
    if lock.kind == "file" and lock.owner == "alive":
        yield Finding("foreign-lock-file", WARNING, f"{lock.path} is a lock file ({age}): after 10 s it wedges Claude Code", "stop that program", lock.path)
    elif lock.kind == "file" and (lock.owner == "dead" or lock.age > STALE_AFTER):
        yield Finding("wedged-lock", PROBLEM, f"{lock.path} is a lock file left behind ({age}); Claude Code cannot take this lock", FIX, lock.path, lambda: site.break_lock(lock.path))
    elif lock.kind in ("link", "other") or not lock.empty:
        yield Finding("wedged-lock", PROBLEM, f"{lock.path} is no empty directory ({age}): nobody can take this lock", f"ls -la {lock.path}; rm -r {lock.path}", lock.path)
    elif lock.kind == "folder" and lock.age > STALE_AFTER:
        yield Finding("stale-lock", WARNING, f"{lock.path} was left behind ({age})", FIX, lock.path, lambda: site.break_lock(lock.path))


def _roster(room: Mailroom, site: Site, team: Team) -> Iterator[Finding]:
    intent = unfinished(room, team.name)
    if intent is not None:
        what = f"{intent.get('verb')} {intent.get('name')}"
        yield Finding("half-done", PROBLEM, f"a command was killed in team {team.name!r} before it finished: {what}", FIX, team.read_from, lambda: recover(room, team))
    fields = site.unknown_team_fields(team.name)
    if fields:
        yield Finding("format-drift", NOTE, f"{team.read_from} has fields we do not know: {', '.join(fields)} (kept as they are)", "pip install --upgrade agent-team-manager", team.read_from)
    owners = {name.casefold() for name in room.inboxes.owners(team.name)}
    for name in team.names:
        if name.casefold() not in owners and intent is None:
            yield Finding("no-inbox", NOTE, f"{name!r} in team {team.name!r} has no inbox yet", f"atm teams add-member {team.name} {name}", team.read_from)


def _inboxes(room: Mailroom, team: Team) -> Iterator[Finding]:
    members = {name.casefold() for name in team.names}
    for facts in inbox_facts(room, team):
        if isinstance(facts, InboxProblem):
            path = facts.error.path
            yield Finding("unreadable-inbox", PROBLEM, f"{facts.error}; mail for {facts.agent!r} waits in the spool", f"mv {path} {path}.broken && atm spool retry", path)
            continue
        yield from _one_inbox(team, facts)
        if facts.agent.casefold() not in members:
            near = nearest_name(facts.agent, team.names)
            hint = f"; did somebody mean {near!r}?" if near else ""
            yield Finding("phantom-inbox", WARNING, f"{facts.agent!r} is not in team {team.name!r} but has an inbox with {facts.unread} unread messages{hint}", f"atm read {facts.agent}@{team.name} --all; atm teams remove-member {team.name} {facts.agent} --force")


def _one_inbox(team: Team, facts: InboxFacts) -> Iterator[Finding]:
    if facts.size > LARGE_INBOX:
        yield Finding("large-inbox", WARNING, f"the inbox of {facts.agent!r} in {team.name!r} has {facts.total:,} rows, {facts.size / 1e6:.1f} MB", f"atm cleanup --team {team.name}")
    if facts.malformed:
        yield Finding("malformed-rows", NOTE, f"{facts.malformed} rows in the inbox of {facts.agent!r} in {team.name!r} are not messages; they are kept and shown to nobody", f"atm read {facts.agent}@{team.name} --all")


def _ledger(room: Mailroom, team: Team) -> Iterator[Finding]:
    entries, torn = room.ledger.entries(team.name)
    if torn:
        yield Finding("torn-ledger-lines", NOTE, f"{torn} lines of the ledger of {team.name!r} cannot be read, as after a crash; the others count", "grep -nv '^{.*}$' " + room.ledger.path(team.name))
    dropped = missing_rows(room, team.name, entries)
    if dropped:
        yield Finding("dropped-rows", PROBLEM, f"{dropped} messages of team {team.name!r} were dropped by another program's rewrite", FIX, "", lambda: put_back_dropped(room, team.name, everything=True))


def _spool(room: Mailroom) -> Iterator[Finding]:
    waiting, failed = room.spool.pending(), room.spool.failed()
    if waiting:
        yield Finding("spool-backlog", WARNING, f"{len(waiting)} messages wait for delivery; the oldest: {waiting[0].entry.reason}", "atm spool retry", waiting[0].path, lambda: drain(room, everything=True))
    if failed:
        yield Finding("spool-failed", PROBLEM, f"{len(failed)} messages were given up: {failed[0].entry.reason}", "atm spool list; atm spool retry --failed", failed[0].path)


def _permissions(site: Site, teams: list[str]) -> Iterator[Finding]:
    for loose in site.loose_paths(teams):
        yield Finding("wrong-permissions", WARNING, f"{loose.path} has mode {loose.mode:o}: {loose.why}", f"chmod {loose.should_be:o} {loose.path}", loose.path, lambda loose=loose: site.tighten(loose))  # type: ignore[misc]


def _homes(site: Site) -> Iterator[Finding]:
    other = site.other_home()
    if other is not None:
        yield Finding("two-homes", WARNING, f"teams also lie under {other}: agents without your CLAUDE_CONFIG_DIR or ATM_HOME use those", "export the same CLAUDE_CONFIG_DIR for every agent, or unset it here", other)


def _drift(room: Mailroom) -> Iterator[Finding]:
    seen = room.drift.seen()
    if seen:
        names = ", ".join(sorted({f"{entry.get('kind')}.{entry.get('field')}" for entry in seen})[:8])
        yield Finding("format-drift", NOTE, f"fields that we do not know were met and kept: {names}", "pip install --upgrade agent-team-manager")


def _dead_processes(room: Mailroom, site: Site) -> Iterator[Finding]:
    for held in site.held():
        owner = held.inbox_owner
        if held.alive or owner is None:
            continue
        yield Finding(
            "interrupted-write",
            NOTE,
            f"process {held.pid} was killed while it wrote {held.target} ({held.since}); the next write finishes it",
            FIX,
            held.target,
            lambda owner=owner: room.inboxes.change(*owner, lambda rows: rows),  # type: ignore[misc]
        )
