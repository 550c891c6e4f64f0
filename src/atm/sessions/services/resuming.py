"""
A lead finds its team again: the seven steps of seed 003 section 2.2, each told as it is done.

The third step decides who leads, under the lock of the state, so that of two sessions that come at once one gets in.
What follows can be done again: resuming twice tells nobody twice.
"""

from __future__ import annotations

from dataclasses import replace

from atm.core.errors import (
    AtmError,
    NoSuchTeam,
    TeamCompleted,
    TeamNotOurs,
)
from atm.core.names import check_known_name, is_claudes_team
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import ConsolidationRunning, LeadPresent, TeamNotInitialized
from atm.files.formats.times import to_iso
from atm.mail.services.posting import Draft
from atm.mail.services.spooling import drain
from atm.sessions.formats.checkpoint import commit_in, created_in
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint, facts_now, recorded_facts
from atm.sessions.services.consolidating import interrupted_in, is_at_work
from atm.sessions.services.overview import TeamView, look_at
from atm.sessions.services.restoring import GIT, HOME, Copies, bring_back, compare, repository_for, take_better
from atm.sessions.services.resumed import Resumed, Step
from atm.sessions.services.teammates import checkpoint_in, roll_back
from atm.sessions.services.telling import NOTICE, tell
from atm.team.rules import lifecycle
from atm.team.rules.lead_session import FORCED, PRESENT, REATTACHED, TAKEN_OVER, LeadSession, may_attach
from atm.team.rules.team import AGENT
from atm.team.services.leading import change_lead, lead_of, seconds_unseen
from atm.team.services.lifecycle import in_state, standing, team_id, walk
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from atm.sessions.services.sessionroom import SessionRoom
    from atm.team.rules.team import Team

RESUMED, INTERRUPTED = "Lead resumed. Proceed or wait?", "Detected you were interrupted. Status?"


class _Resuming:
    """One run of the steps."""

    def __init__(self, desk: SessionRoom, team: str, heard: Callable[[Step], None]) -> None:
        self.desk = desk
        self.heard = heard
        self.copies = Copies()
        self.done = Resumed(team=team)
        self.lead = LeadSession()

    def step(self, name: str, work: Callable[[], str]) -> None:
        began = self.desk.clock.monotonic()
        said = work()
        step = Step(name, round((self.desk.clock.monotonic() - began) * 1000, 1), said)
        self.done.steps.append(step)
        self.heard(step)

    def load(self, *, may_write: bool) -> str:
        desk, done = self.desk, self.done
        done.team = named(desk, check_known_name(done.team, "team"))
        known = desk.room.rosters.find(done.team)
        if known is None:
            return self._lost(may_write=may_write)
        done.team = known
        if is_claudes_team(known):
            raise TeamNotOurs(
                f"{known!r} is a team of Claude Code: its session leads it",
                f"atm session resume {shell_words(known)} --into NEW copies it into a team of yours",
            )
        if not desk.room.rosters.is_completed(known):
            self.copies = compare(desk, known, repository_for(desk, known))
            if may_write:
                done.restored_from = take_better(desk, known, self.copies)
            else:
                done.restored_from = self.copies.better
        self._warn_of_copies()
        done.id = team_id(desk.room, find_team(desk.room, known))
        return f"{known} from {'its home' if done.restored_from == HOME else 'its checkpoint in git'}"

    def _lost(self, *, may_write: bool) -> str:
        desk, done = self.desk, self.done
        common = repository_for(desk, done.team)
        if not common or compare(desk, done.team, common).git is None:
            raise NoSuchTeam(f"Team {done.team} not found. Use --list-teams", "atm session list --all")
        if not may_write:
            words = f"atm session resume {shell_words(done.team)}"
            raise NoSuchTeam(f"Team {done.team} is only left in its checkpoints", f"bring it back: {words}")
        done.brought_back = bring_back(desk, done.team, common)
        done.restored_from = GIT
        self._warn_of_copies()
        done.id = team_id(desk.room, find_team(desk.room, done.team))
        return f"{done.team} was lost and is back from git: {counted(len(done.brought_back), 'file')}"

    def _warn_of_copies(self) -> None:
        if self.done.restored_from == GIT:
            self.done.warn("restored-from-git", "the copy in the home was lost or older: the one in git counts")
        if self.copies.is_divergent:
            self.done.warn("divergence", "home and git have one sequence with different content: the home counts")

    def status(self) -> str:
        desk, done = self.desk, self.done
        now = standing(desk.room, done.team).status
        words = shell_words(done.team)
        if now == lifecycle.COMPLETE:
            raise TeamCompleted(f"Team is complete. Use --review-team {done.team}", f"atm session review {words}")
        if now in (lifecycle.INIT, lifecycle.PENDING):
            raise TeamNotInitialized(
                "Team not initialized. Spawn with --create-team", f"begin its work: atm up RUNTIME:NAME --team {words}"
            )
        if now == lifecycle.STOPPED or desk.crew.records.latch(done.team) is not None:
            done.warn("was-stopped", "the team was stopped; it goes on now")
        if now == lifecycle.CONSOLIDATING:
            if is_at_work(desk, done.team):
                raise ConsolidationRunning(
                    "Team in consolidation. Wait for completion.", f"see atm session show {words}"
                )
            done.warn("consolidating", "Team in consolidation. Wait for completion.")
            done.interrupted = interrupted_in(desk, done.team)
        self._check_clock()
        return now

    def _check_clock(self) -> None:
        created = in_state(self.desk.room, self.done.team, created_in, None)
        if created is not None and self.desk.clock.now() < created:
            self.done.warn("clock-skew", "the team was made in the future: this clock or that one is wrong; seq counts")

    def attach(self, *, force: bool) -> str:
        desk, done = self.desk, self.done
        team, mine = find_team(desk.room, done.team), desk.as_lead()

        def decide(recorded: LeadSession) -> LeadSession:
            age = seconds_unseen(desk.room, team, recorded, mine.session)
            how = may_attach(recorded.session, mine.session, age, longest=desk.policy.takeover, force=force)
            if how == PRESENT:
                raise LeadPresent(
                    f"another session leads {done.team}: {recorded.session}, seen {_ago(age)}",
                    f"wait until it is silent for {desk.policy.takeover / 60:g} min, or take over with --force",
                )
            self.lead, done.how = recorded, how
            done.session, done.last_seen = mine.session, recorded.last_seen
            done.session_old = recorded.session if how != REATTACHED else recorded.former
            was_away = recorded.away_since is not None or (how != REATTACHED and bool(recorded.session))
            return replace(
                mine,
                is_untold=was_away or recorded.is_untold,
                former=done.session_old,
                common=mine.common or recorded.common,
            )

        change_lead(desk.room, team.name, decide)
        if done.how in (TAKEN_OVER, FORCED) and self.lead.session:
            done.warn("different-lead", "Different lead detected. Coordinator override needed.")
        return f"{done.how.replace('_', ' ')}: {done.session}"

    def look_at_lead(self) -> str:
        desk, done = self.desk, self.done
        self.lead = lead_of(desk.room, done.team)
        done.session, done.session_old = self.lead.session, self.lead.former
        done.last_seen = self.lead.last_seen
        return self.lead.session or "nobody has led it yet"

    def probe(self) -> str:
        desk = self.desk
        view = self.done.view = look_at(desk, self.done.team)
        for one in view.members:
            if (kept := checkpoint_in(desk, view.team.name, one.name)) is not None:
                self.done.checkpoints[one.name] = kept
            vendor = _vendor(desk, one.runtime)
            if vendor and one.session:
                self.done.resumable[one.name] = desk.transcripts.is_there(vendor, one.session)
            if one.liveness.warning:
                self.done.warn("clock-skew", f"{one.name}: {one.liveness.warning}")
        return f"{view.online} of {len(view.members)} online"

    def facts(self) -> str:
        desk, done = self.desk, self.done
        recorded = recorded_facts(desk, done.team)
        renew = {source.name: source.renew for source in desk.fact_sources}
        now = facts_now(desk) if recorded else {}
        done.stale = [(name, renew.get(name, "")) for name, sum in recorded.items() if now.get(name, "") != sum]
        for name, command in done.stale:
            done.warn("facts-stale", f"Facts stale. Run `{command}`" if command else f"Facts stale: {name}")
        return f"{len(done.stale)} stale of {len(recorded)}"

    @property
    def _view(self) -> TeamView:
        assert self.done.view is not None, "the teammates are looked at before"
        return self.done.view

    def mailbox(self) -> str:
        done, view = self.done, self._view
        numbers = view.numbers
        if numbers.gaps:
            missing = ", ".join(f"{one}-{other}" if one != other else str(one) for one, other in numbers.gaps[:5])
            done.warn("mailbox-gap", f"numbers are missing in the ledger: {missing}")
        if numbers.duplicates:
            done.warn("mailbox-duplicate", f"numbers occur twice in the ledger: {numbers.duplicates[:5]}")
        if view.torn:
            done.warn("mailbox-torn", f"{counted(view.torn, 'line')} of the ledger cannot be read")
        since = self.lead.last_seen
        done.messages_since = sum(at > to_iso(since) for at in view.said_at) if since else 0
        return f"{counted(len(view.tail), 'message')}, last number {numbers.last}"

    def summary(self) -> str:
        view = self._view
        queue = f"{len(view.pending)} pending, {len(view.in_progress)} in progress, {len(view.completed)} completed"
        return f"{queue}: {view.progress.percent} % done"


def named(desk: SessionRoom, team: str) -> str:
    """A team by its name, or by the id of its life."""
    if desk.room.rosters.find(team) is not None:
        return team
    for name in desk.room.rosters.teams():
        if not is_claudes_team(name) and _id_of(desk, name) == team:
            return name
    return team


def _id_of(desk: SessionRoom, team: str) -> str:
    try:
        return team_id(desk.room, find_team(desk.room, team))
    except AtmError:
        return ""


def _vendor(desk: SessionRoom, runtime: str) -> str:
    known = desk.crew.runtimes.get(runtime)
    return known.vendor if known is not None else runtime


def _ago(age: float | None) -> str:
    return "never" if age is None else f"{max(0.0, age) / 60:.0f} min ago"


def probe(desk: SessionRoom, team: str, heard: Callable[[Step], None] = lambda _: None) -> Resumed:
    """All steps, and not one byte is written."""
    run = _Resuming(desk, team, heard)
    for name, work in _looking(run):
        run.step(name, work)
    return run.done


def _looking(run: _Resuming) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "load", lambda: run.load(may_write=False)
    yield "status", run.status
    yield "lead", run.look_at_lead
    yield from _rest(run)


def _rest(run: _Resuming) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "probe", run.probe
    yield "facts", run.facts
    yield "mailbox", run.mailbox
    yield "summary", run.summary


def resume(
    desk: SessionRoom,
    team: str,
    *,
    force: bool = False,
    go_on: Sequence[str] = (),
    back: Sequence[str] = (),
    heard: Callable[[Step], None] = lambda _: None,
) -> Resumed:
    """Attach this session to a team as its lead."""
    run = _Resuming(desk, team, heard)
    run.step("load", lambda: run.load(may_write=True))
    run.step("status", run.status)
    run.step("lead", lambda: run.attach(force=force))
    for name, work in _rest(run):
        run.step(name, work)
    _take_up(run, go_on, back)
    return run.done


def _take_up(run: _Resuming, go_on: Sequence[str], back: Sequence[str]) -> None:
    """What follows from a lead that is there again."""
    desk, done = run.desk, run.done
    team = find_team(desk.room, done.team)
    if desk.crew.records.latch(team.name) is not None:
        desk.crew.records.set_latch(team.name, None)
    if standing(desk.room, team.name).status == lifecycle.STOPPED:
        walk(desk.room, team.name, lifecycle.ACTIVE, done.session)
    desk.room.states.set_lead_away(team.name, None)
    done.released = drain(desk.room, everything=True).delivered
    team = find_team(desk.room, done.team)
    if lead_of(desk.room, team.name).is_untold:
        done.told = _tell(desk, team, [one.name for one in team.members if not team.is_lead(one.name)], RESUMED)
        done.asked = _tell(desk, team, _interrupted_members(run, {*go_on, *back}), INTERRUPTED)
        _tell_former(desk, team, done)
        change_lead(desk.room, team.name, lambda lead: replace(lead, is_untold=False))
    for name in go_on:
        _tell(desk, team, [name], "Continue: go on from your checkpoint.")
    for name in back:
        saved, freed = roll_back(desk, team, name, team.lead)
        done.rolled_back[name] = [saved.ref, *freed] if saved is not None else freed
    if done.view is not None:
        done.view.standing = standing(desk.room, team.name)
    made = checkpoint(desk, team.name, is_divergent=run.copies.is_divergent, good=_where_it_began(desk, team.name))
    if made.sequence:
        commit_checkpoint(desk, team.name, "resume")


def _where_it_began(desk: SessionRoom, team: str) -> str:
    """The commit that is checked out where the team is led from, until one is known whose checks passed."""
    if in_state(desk.room, team, commit_in, ""):
        return ""
    try:
        status = desk.tree.status(desk.caller.folder)
    except AtmError:
        return ""
    return status.head if status is not None else ""


def _interrupted_members(run: _Resuming, decided: set[str]) -> list[str]:
    view = run._view
    working = [one for one in view.members if one.task and one.kind == AGENT and not view.team.is_lead(one.name)]
    return [one.name for one in working if one.name not in decided]


def _tell(desk: SessionRoom, team: Team, names: Sequence[str], text: str) -> list[str]:
    return tell(desk, team.name, names, Draft(sender=team.lead, text=text, intent="question"))


def _tell_former(desk: SessionRoom, team: Team, done: Resumed) -> None:
    """The one who lost: in its inbox, which its hooks put before it at once."""
    if team.member(team.lead) is None or not done.session_old or done.how == REATTACHED:
        return
    text = (
        f"Session {done.session} leads this team now; session {done.session_old} has lost it at "
        f"{to_iso(desk.clock.now())}. If that is you: stop leading, or take it back with "
        f"`atm session takeover {shell_words(team.name)} --force`."
    )
    tell(desk, team.name, [team.lead], Draft(sender=NOTICE, text=text, is_urgent=True))
