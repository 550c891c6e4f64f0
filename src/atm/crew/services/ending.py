"""
Ending agents: asked first, and only silence is killed; or at once, for everything of a team, and proven (`stop`).
"""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import BadMove, NoSuchAgent, TeamInUse
from atm.crew.rules.agents import FINISHING, REFUSED, killed_in_words
from atm.crew.rules.marks import read_mark
from atm.crew.services.crewroom import change, is_being_started, is_running
from atm.crew.services.reaping import clear_away, end_processes, reconcile
from atm.files.formats.times import to_iso
from atm.mail.rules.message_types import LONGEST_VALUE, NO, YES, in_words, shutdown_id
from atm.mail.rules.messages import SHUTDOWN, SHUTDOWN_ANSWER
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.rules import lifecycle
from atm.team.services.lifecycle import standing, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from atm.crew.ports.worktrees import Saved
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.rules.marks import AgentMark, RunningProcess
    from atm.crew.services.crewroom import Crewroom

NAP = 0.05
ASKED, TERMINATED, KILLED, GONE, REFUSES = "asked", "terminated", "killed", "gone", "refused"
"""How one ended: by itself when it was asked; because its time was over; at once; it ran no more; or it does not."""


REASON = "atm down"
REQUEST = (
    "You are asked to end. Finish what you are at and stop: your session is closed when your turn is over. If it must "
    "not be closed yet, say why: atm down --keep REASON"
)


class AgentEnd:
    """What became of one agent."""

    __slots__ = ("how", "member", "pid", "reason", "released", "saved", "team", "troubles")

    def __init__(self, team: str, member: str, pid: int, how: str, reason: str = "") -> None:
        self.team = team
        self.member = member
        self.pid = pid
        self.how = how
        self.reason = reason
        self.released: list[str] = []
        self.saved: Saved | None = None
        self.troubles: list[str] = []


def agents_of(crew: Crewroom, team: str) -> list[AgentRecord]:
    """Those that are not over, or of which something may be left."""
    found = [crew.records.read(team, member) for member in crew.records.names(team)]
    return [one for one in found if one is not None and (not one.is_over or one.pid or one.worktree or one.slot >= 0)]


def agent_named(crew: Crewroom, team: str, member: str) -> AgentRecord:
    record = crew.records.read(team, member)
    if record is None:
        known = ", ".join(crew.records.names(team)) or "none"
        raise NoSuchAgent(
            f"atm has started no agent {member!r} in team {team!r}",
            f"those that it has: {known}; members of a team are in `atm members --team {shell_words(team)}`",
        )
    return record


def down(
    crew: Crewroom,
    team: str,
    by: str,
    names: Sequence[str] = (),
    *,
    waits_for: Callable[[AgentRecord], None] = lambda _: None,
) -> list[AgentEnd]:
    """
    End agents of a team gracefully. Without names it is the whole team, which is stopped then. `waits_for` hears once
    of each that finishes its task first. In the order in which they were asked, whoever was quicker.
    """
    wanted = [agent_named(crew, team, name) for name in names] if names else agents_of(crew, team)
    waiting = {record.member: record for record in wanted}
    for record in wanted:
        ask_to_end(crew, record, by)
    done: list[AgentEnd] = []
    finishing: set[str] = set()
    began = crew.clock.monotonic()
    while waiting:
        for member, record in list(waiting.items()):
            how = _is_over(crew, record, crew.clock.monotonic() - began)
            if how is not None:
                del waiting[member]
                done.append(_finish(crew, record, *how))
            elif member not in finishing and _finishes(crew, record):
                finishing.add(member)
                waits_for(record)
        if waiting:
            crew.clock.sleep(NAP)
    if not names:
        reconcile(crew, team)
        _stop_team(crew, team, by)
    asked = [record.member for record in wanted]
    return sorted(done, key=lambda one: asked.index(one.member))


def ask_to_end(crew: Crewroom, record: AgentRecord, by: str) -> None:
    """Its host hears of it at once. One with a mind of its own also gets it in words, and may say no."""
    if record.is_over or not is_running(crew, record):
        return
    try:
        now = crew.clock.now()
        change(crew, record.team, record.member, record.generation, asked_at=now, asked_by=by, answer="")
        if crew.runtimes[record.runtime].vendor:
            carries = {"request_id": shutdown_id(now, record.member), "reason": REASON}
            letter = Draft(sender=by, text=REQUEST, is_urgent=True, type=SHUTDOWN, metadata=carries)
            send(crew.room, record.team, record.member, letter)
    except (AtmError, KeyError):
        return


def answer_to_asker(crew: Crewroom, record: AgentRecord, *, approved: bool, reason: str = "") -> None:
    """
    What an agent answers when it is asked to end, as mail to whoever asked; nothing to one without an inbox.

    Its record has the same answer, and that is what is acted on: a letter that cannot be sent stops nothing.
    """
    carries = {"approved": YES if approved else NO, "request_id": shutdown_id(record.asked_at, record.member)}
    if reason:
        carries["reason"] = reason[:LONGEST_VALUE]
    text = in_words(SHUTDOWN_ANSWER, carries, reason)
    letter = Draft(sender=record.member, text=text, type=SHUTDOWN_ANSWER, metadata=carries)
    try:
        send(crew.room, record.team, record.asked_by, letter)
    except AtmError:
        return


def end_if_over(crew: Crewroom, record: AgentRecord) -> AgentEnd | None:
    """For whoever has asked it and has other things to do meanwhile: None while it still has time."""
    how = _is_over(crew, record, crew.clock.now() - record.asked_at)
    return _finish(crew, record, *how) if how is not None else None


def keep(crew: Crewroom, team: str, member: str, reason: str) -> None:
    """An agent that was asked to end says no. Whoever asked decides: it is waited for, or killed."""
    record = agent_named(crew, team, member)
    if not record.is_asked:
        raise BadMove(f"nobody has asked {member} to end", "nothing is to be done")
    change(crew, team, member, record.generation, answer=REFUSED, reason=reason)
    answer_to_asker(crew, record, approved=False, reason=reason)


def _is_over(crew: Crewroom, record: AgentRecord, waited: float) -> tuple[str, str] | None:
    """How, and why; None while it still has time."""
    now = crew.records.read(record.team, record.member)
    if now is None or now.generation != record.generation or not is_running(crew, now):
        return (ASKED if now is not None and now.answer else GONE), ""
    if now.answer == REFUSED:
        return REFUSES, now.reason
    if not now.answer and waited >= crew.policy.shutdown:
        return TERMINATED, f"it said nothing for {crew.policy.shutdown:g} s"
    if now.answer == FINISHING and waited >= crew.policy.finish:
        return TERMINATED, f"it did not finish within {crew.policy.finish:g} s"
    if now.answer and now.answer != FINISHING and waited >= crew.policy.shutdown:
        return TERMINATED, f"it agreed, and did not end within {crew.policy.shutdown:g} s"
    return None


def _finishes(crew: Crewroom, record: AgentRecord) -> bool:
    now = crew.records.read(record.team, record.member)
    return now is not None and now.answer == FINISHING


def _finish(crew: Crewroom, record: AgentRecord, how: str, why: str) -> AgentEnd:
    ended = AgentEnd(record.team, record.member, record.pid, how, why)
    if how == REFUSES:
        return ended
    now = crew.records.read(record.team, record.member)
    if now is None or now.generation != record.generation:
        return ended
    cleared = clear_away(crew, now, error=why)
    ended.released, ended.saved, ended.troubles = cleared.released, cleared.saved, cleared.troubles
    if how == GONE and cleared.how == "killed":
        ended.how = KILLED  # its host was gone, and something of it was not
    return ended


def _stop_team(crew: Crewroom, team: str, by: str) -> None:
    try:
        if standing(crew.room, team).status not in (lifecycle.STOPPED, lifecycle.COMPLETE):
            walk(crew.room, team, lifecycle.STOPPED, by)
    except AtmError:
        return  # its agents are ended, which is what was asked for


def kill(crew: Crewroom, team: str, member: str, by: str) -> AgentEnd:
    """One agent, at once. It may be gone already, and its folder too."""
    record = _note_who_ends(crew, agent_named(crew, team, member), by)
    cleared = clear_away(crew, record)
    ended = AgentEnd(record.team, record.member, record.pid, KILLED if cleared.how == "killed" else GONE)
    ended.released, ended.saved, ended.troubles = cleared.released, cleared.saved, cleared.troubles
    return ended


def _note_who_ends(crew: Crewroom, record: AgentRecord, by: str) -> AgentRecord:
    """
    Before anything is ended: a run, or its own host, may see the end first, and must not call it a crash.

    An agent that is over already keeps its own end.
    """
    if record.is_over:
        return record
    try:
        return change(crew, record.team, record.member, record.generation, ended_by=by, error=killed_in_words(by))
    except (AtmError, OSError):
        return record  # a full disk keeps no process alive


class Untouched:
    """A process that a record names, or that is in the way, and that a stop has not ended; and why."""

    __slots__ = ("command", "member", "pid", "team", "why")

    def __init__(self, record: AgentRecord, process: RunningProcess, why: str) -> None:
        self.team = record.team
        self.member = record.member
        self.pid = process.pid
        self.command = process.command
        self.why = why


class Stopped:
    """What an emergency stop did, and what it did not."""

    __slots__ = ("asking", "ended", "left", "troubles", "untouched")

    def __init__(self) -> None:
        self.ended: list[AgentEnd] = []
        self.left: list[RunningProcess] = []
        """Processes of agents that were signalled, and are still there."""
        self.asking: list[str] = []
        """Agents inside of which this command runs: they were asked to end."""
        self.untouched: list[Untouched] = []
        self.troubles: list[str] = []

    @property
    def is_complete(self) -> bool:
        return not self.left and not self.asking


def stop(
    crew: Crewroom,
    teams: Sequence[str],
    by: str,
    meanwhile: Callable[[], None] = lambda: None,
    also_latched: Sequence[str] = (),
) -> Stopped:
    """
    End every agent of these teams, or of all teams, at once, and prove it. Needs no daemon and no readable team.

    The latch comes first: a process that starts an agent reads it before and after, and a new host reads it as well, so
    such a process does not have to be ended. `meanwhile` waits for processes that are no agents and end by themselves;
    `also_latched` are teams with such a process, and perhaps without any agent yet.
    Saving work comes after the last process is gone, and what goes wrong there is no reason to stop less.
    """
    done = Stopped()
    for team in sorted({*(teams or crew.records.teams()), *also_latched}):
        try:
            crew.records.set_latch(team, {"at": to_iso(crew.clock.now()), "by": by})
        except (AtmError, OSError) as error:
            done.troubles.append(f"nothing keeps {team} from being started again: {error}")

    def is_meant(mark: AgentMark) -> bool:
        return not teams or mark.team in teams

    for record in _records_of(crew, teams):
        if is_running(crew, record):
            _note_who_ends(crew, record, by)
    first = end_processes(crew, is_meant)
    _await_starts(crew, _records_of(crew, teams))
    meanwhile()
    last = end_processes(crew, is_meant)  # an agent that was just being started, and what a run started before it ended
    done.left, killed = last.left, _agents_among([*first.ended, *last.ended])
    asking, records = _agents_among(last.asking), _records_of(crew, teams)
    done.untouched = _unproven(crew, records, {one.pid for one in (*last.left, *last.asking)})
    for record in records:
        _end_one(crew, record, by, done, killed, asking)
    known = {(record.team, record.member) for record in records}
    for (team, member), pids in killed.items():
        if (team, member) not in known:
            done.ended.append(AgentEnd(team, member, pids[0], KILLED))
    return done


def _end_one(
    crew: Crewroom,
    record: AgentRecord,
    by: str,
    done: Stopped,
    killed: Mapping[tuple[str, str], Sequence[int]],
    asking: Container[tuple[str, str]],
) -> None:
    who = record.team, record.member
    if who in asking:
        ask_to_end(crew, record, by)
        done.asking.append(record.member)
        return
    is_left = bool(record.pid or record.worktree or record.slot >= 0)
    if who not in killed and not is_left:
        return
    pids = killed.get(who, ())
    pid = record.pid if record.pid in pids or not pids else pids[0]
    ended = AgentEnd(*who, pid, KILLED if pids else GONE)
    done.ended.append(ended)
    if not done.left:
        cleared = clear_away(crew, record, error="" if record.ended_by else "the team was stopped")
        ended.released, ended.saved, ended.troubles = cleared.released, cleared.saved, cleared.troubles


def _records_of(crew: Crewroom, teams: Sequence[str]) -> list[AgentRecord]:
    found = [
        crew.records.read(team, name) for team in teams or crew.records.teams() for name in crew.records.names(team)
    ]
    return [record for record in found if record is not None]


def _await_starts(crew: Crewroom, records: Sequence[AgentRecord]) -> None:
    """A process that is starting an agent finds the latch at its next step, and takes back what it has made."""
    end = crew.clock.monotonic() + crew.policy.gone
    while crew.clock.monotonic() < end:
        read = [crew.records.read(record.team, record.member) for record in records]
        if not any(one is not None and is_being_started(crew, one) for one in read):
            return
        crew.clock.sleep(NAP)


def _agents_among(processes: Sequence[RunningProcess]) -> dict[tuple[str, str], list[int]]:
    """Each agent of which some of these processes carry the mark, and the numbers of those."""
    found: dict[tuple[str, str], list[int]] = {}
    for process in processes:
        mark = read_mark(process.mark)
        if mark is not None:
            found.setdefault((mark.team, mark.member), []).append(process.pid)
    return found


def _unproven(crew: Crewroom, records: Sequence[AgentRecord], known: set[int]) -> list[Untouched]:
    """Processes that a record names and that run, but that are no agents of its team as far as can be proven."""
    running = {process.pid: process for process in crew.processes.running()}
    found = []
    for record in records:
        names = ((record.pid, record.began, "as its host"), (record.spawner, record.spawner_began, "as its starter"))
        for pid, began, what in names:
            process = running.get(pid)
            if process is None or process.began != began or pid in known or pid == crew.pid:
                continue
            if what == "as its host" or is_being_started(crew, record):
                why = f"the record of {record.member} names it {what}, but it has no mark of an agent of this team"
                found.append(Untouched(record, process, why))
    return found


def leave_nothing(crew: Crewroom, team: str, *, force: bool) -> list[str]:
    """
    Before a team is archived or deleted: no agent, worktree or branch of it may stay behind. What went wrong.

    Agents that run are ended only with `force`. Work is saved first, that of branches too, and stays to be had.
    """
    at_work = [record.member for record in agents_of(crew, team) if is_running(crew, record)]
    if at_work and not force:
        raise TeamInUse(
            f"agents of {team!r} run: {', '.join(at_work)}", f"end them first: atm down --team {shell_words(team)}"
        )
    troubles = [trouble for record in agents_of(crew, team) for trouble in clear_away(crew, record).troubles]
    for worktree in [*crew.worktrees.left(team), *crew.worktrees.unused(team)]:
        try:
            crew.worktrees.remove(worktree, branch=True)
        except (AtmError, OSError) as error:
            troubles.append(str(error))
    return troubles


def forget(crew: Crewroom, team: str) -> None:
    """The team is gone: so are the records of its agents. A later one of that name begins afresh."""
    for member in crew.records.names(team):
        with crew.records.turn(team, member) as turn:
            turn.remove()
    crew.records.set_latch(team, None)
