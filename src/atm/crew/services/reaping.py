"""
Taking agents away: every process proven gone, work saved, claims back on the board, nothing left behind (G6, G7).

Each step can be repeated, and is, until it is done: whoever is killed in the middle leaves a record that says what may
be there, and the next command goes on with it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from atm.board.services.leaving import release_claims
from atm.core.errors import AtmError
from atm.crew.ports.worktrees import Worktree
from atm.crew.rules.agents import killed_in_words
from atm.crew.rules.marks import family, read_mark, with_ancestors
from atm.crew.rules.refs import QUEUE, names_in
from atm.crew.rules.states import ERROR, STOPPED
from atm.crew.services.crewroom import is_being_started, is_running
from atm.team.rules.liveness import ENDED
from atm.team.services.presence import beat, last_beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from atm.crew.ports.worktrees import Saved
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.rules.marks import AgentMark, RunningProcess
    from atm.crew.services.crewroom import Crewroom

NAP = 0.02
LOOKS = 2
"""Empty looks in a row that prove it: a process may be born while the table is read."""


class Cleared:
    """What was done about one agent."""

    __slots__ = ("how", "left", "released", "saved", "troubles")

    def __init__(self) -> None:
        self.how = "gone"
        """`gone`: nothing ran any more; `killed`: something did."""
        self.left: list[RunningProcess] = []
        self.released: list[str] = []
        self.saved: Saved | None = None
        self.troubles: list[str] = []


class EndedProcesses:
    """What an attempt to end all processes of some agents came to."""

    __slots__ = ("asking", "ended", "left")

    def __init__(self) -> None:
        self.ended: list[RunningProcess] = []
        """Everything that was found and signalled, in the order in which it was found."""
        self.left: list[RunningProcess] = []
        """What was still there when the time was over."""
        self.asking: list[RunningProcess] = []
        """Processes of these agents under which the caller itself runs. They are never ended."""


def end_processes(crew: Crewroom, is_meant: Callable[[AgentMark], bool]) -> EndedProcesses:
    """
    End every process of the agents that are meant: those that carry the mark of one in their environment, which is
    given to them when they start, and their descendants.

    No file has a say here. A record can be out of date, its process number used again, or written by a hostile agent.
    """
    done, empty = EndedProcesses(), 0
    end = crew.clock.monotonic() + crew.policy.gone
    known: dict[tuple[int, str], RunningProcess] = {}
    while True:
        running = crew.processes.running()
        members = family(running, _marks_of(crew, running, is_meant), known)
        callers = with_ancestors(running, crew.pid)
        done.asking = [one for one in members if one.pid in callers and one.pid != crew.pid]
        done.left = [one for one in members if one.pid not in callers]
        empty = 0 if done.left else empty + 1
        if empty >= LOOKS:
            return done
        for process in done.left:
            if (process.pid, process.began) not in known:
                done.ended.append(process)
            known[process.pid, process.began] = process  # its children are still its when it is gone
            crew.processes.signal(process, hard=True)
        if crew.clock.monotonic() >= end:
            return done
        crew.clock.sleep(NAP)


def _marks_of(crew: Crewroom, running: Iterable[RunningProcess], is_meant: Callable[[AgentMark], bool]) -> set[str]:
    """The marks of this home that are in use by running processes, and are meant."""
    read = ((one.mark, read_mark(one.mark)) for one in running if one.mark)
    return {text for text, mark in read if mark is not None and mark.home == crew.records.home and is_meant(mark)}


def is_of(record: AgentRecord) -> Callable[[AgentMark], bool]:
    """Is a mark that of this life of this agent? By its names alone: the key in the record proves nothing more."""
    return lambda mark: (mark.team, mark.member, mark.generation) == (record.team, record.member, record.generation)


def clear_away(crew: Crewroom, record: AgentRecord, *, state: str = STOPPED, error: str = "") -> Cleared:
    """
    All of it: processes, window, claims, worktree, slot. Its record stays, and says so.

    What cannot be done is a trouble and not the end: a full disk must not keep a process alive.
    """
    done = Cleared()
    ended = end_processes(crew, is_of(record))
    done.how, done.left = "killed" if ended.ended else "gone", ended.left
    if done.left:
        done.troubles.append(f"{len(done.left)} of its processes could not be ended")
        return done
    if ended.asking:  # its folder may not go while it works there
        pids = ", ".join(str(one.pid) for one in ended.asking)
        done.troubles.append(f"this command runs inside of {record.member} (process {pids}), which is not ended by it")
        return done
    now = crew.records.read(record.team, record.member)
    if now is not None and now.generation == record.generation:
        record = now  # what it noted while we came for it
    for what, step in (
        ("its window", lambda: crew.backends[record.backend].clear(record)),
        ("its requests", lambda: crew.withdraw_requests(record, f"{record.member} has ended")),
        ("its claims", lambda: done.released.extend(_release(crew, record))),
        ("its worktree", lambda: _save_and_remove(crew, record, error, done)),
        ("its slot", lambda: _give_slots(crew, record)),
        ("its sign of life", lambda: _say_ended(crew, record)),
    ):
        _try(step, what, done.troubles)
    _try(lambda: _note_end(crew, record, state, error, keep=bool(done.troubles)), "its record", done.troubles)
    return done


def _give_slots(crew: Crewroom, record: AgentRecord) -> None:
    """By the owner's mark: an agent may have been killed before its record said which slot it took."""
    is_owner = is_of(record)
    for slot, owner in crew.slots.taken().items():
        mark = read_mark(owner)
        if mark is not None and mark.home == crew.records.home and is_owner(mark):
            crew.slots.give(slot, owner)


def _try(step: Callable[[], object], what: str, troubles: list[str]) -> None:
    try:
        step()
    except (AtmError, OSError, KeyError) as error:
        troubles.append(f"{what}: {error}")


def _release(crew: Crewroom, record: AgentRecord) -> list[str]:
    why = f"{record.member} was ended"
    return release_claims(crew.boardroom, record.team, record.member, "", why, but_waiting=True)


def worktree_of(record: AgentRecord) -> Worktree | None:
    if not record.worktree:
        return None
    return Worktree(path=record.worktree, branch=record.branch, base=record.base, common=record.common)


def _save_and_remove(crew: Crewroom, record: AgentRecord, error: str, done: Cleared) -> None:
    """Saved first, always (D20)."""
    noted, why = worktree_of(record), error or f"{record.member} was ended"
    if noted is not None:
        done.saved = crew.worktrees.save(noted, record.team, record.task or "up", why)
        crew.worktrees.remove(noted, branch=False)
    for worktree in _trees_of(crew, record.team, record.member):  # made a moment before it could be noted
        crew.worktrees.remove(worktree, branch=False)


def _trees_of(crew: Crewroom, team: str, member: str) -> list[Worktree]:
    return [one for one in crew.worktrees.left(team) if owner_in_path(one.path) == member]


def owner_in_path(path: str) -> str:
    """Whose worktree that is, by its name."""
    return (names_in(path.rpartition("/")[2]) or ("", ""))[1]


def _say_ended(crew: Crewroom, record: AgentRecord) -> None:
    if crew.room.rosters.find(record.team) is None:
        return
    crew.room.endpoints.forget(record.team, record.member)
    last = last_beat(crew.room.presence, record.team, record.member, crew.clock.now())
    if last is not None and last.state == ENDED:
        return  # its host has said so itself; a second word would be a sign of life
    beat(crew.room.presence, record.team, record.member, crew.clock.now(), "atm crew", state=ENDED)


def _note_end(crew: Crewroom, record: AgentRecord, state: str, error: str, *, keep: bool) -> None:
    """The record stays for its generation: the next one of that name has a higher one."""
    with crew.records.turn(record.team, record.member) as turn:
        if turn.record is None or turn.record.generation != record.generation:
            return
        if turn.record.ended_by:  # a person's word about its end counts more than what others made of it
            state, error = STOPPED, killed_in_words(turn.record.ended_by)
        ended = replace(turn.record, state=state, asks="", since=crew.clock.now(), error=error or turn.record.error)
        if not keep:
            ended = replace(
                ended, pid=0, began="", program_pid=0, pane="", slot=-1, task="", claim="", worktree="", asked_at=0.0
            )
        turn.write(ended)


class Reconciled:
    """What one look found and put right."""

    __slots__ = ("adopted", "cleared", "orphans", "trees", "troubles")

    def __init__(self) -> None:
        self.adopted: list[AgentRecord] = []
        """They live, and go on."""
        self.cleared: list[AgentRecord] = []
        self.orphans: list[RunningProcess] = []
        """Processes of agents that no record knows any more."""
        self.trees: list[str] = []
        """Worktrees that no record names."""
        self.troubles: list[str] = []


def reconcile(crew: Crewroom, team: str = "") -> Reconciled:
    """After a crash at any point: who lives is adopted, everything else is cleared away."""
    done = Reconciled()
    marks: set[str] = set()
    for name in [team] if team else crew.records.teams():
        found = [crew.records.read(name, member) for member in crew.records.names(name)]
        records = [record for record in found if record is not None]
        marks |= {record.mark for record in records}
        for record in records:
            _look_after(crew, record, done)
        _try(partial(_clear_trees, crew, name, done), "worktrees", done.troubles)
    _end_orphans(crew, team, marks, done)
    return done


def _clear_trees(crew: Crewroom, team: str, done: Reconciled) -> None:
    """
    Worktrees that no record names: whoever made them was killed before that was noted.

    One whose agent lives may have been made a moment ago, and is its own.
    """
    living = [member for member in crew.records.names(team) if _lives(crew, crew.records.read(team, member))]
    for worktree in crew.worktrees.left(team):
        if owner_in_path(worktree.path) in (QUEUE, *living):
            continue  # what the merge queue has prepared is for it to take away: a person may sit there
        crew.worktrees.save(worktree, team, worktree.path.rpartition("/")[2], "its agent is gone")
        crew.worktrees.remove(worktree, branch=False)
        done.trees.append(worktree.path)


def _lives(crew: Crewroom, record: AgentRecord | None) -> bool:
    return record is not None and (is_being_started(crew, record) or is_running(crew, record))


def _look_after(crew: Crewroom, record: AgentRecord, done: Reconciled) -> None:
    if is_being_started(crew, record):
        return
    if not record.is_over and record.state != "spawning" and is_running(crew, record):
        done.adopted.append(record)
        return
    if record.is_over and not (record.worktree or record.slot >= 0 or record.pid):
        return
    why = (
        "" if record.is_over else "whoever started it was killed" if record.state == "spawning" else "its host is gone"
    )
    cleared = clear_away(crew, record, state=STOPPED if record.is_over else ERROR, error=why)
    done.cleared.append(record)
    done.troubles += [f"{record.member}@{record.team}: {trouble}" for trouble in cleared.troubles]


def _end_orphans(crew: Crewroom, team: str, marks: set[str], done: Reconciled) -> None:
    """
    A record is written before the first process is made: a mark that none has is of a life that is over. Looked at once
    more after the processes: an agent may have been started since the records were read.
    """
    unknown = [one for one in crew.processes.running() if one.mark and one.mark not in marks]
    strays = [one for one in unknown if _is_over_here(crew, one, team)]
    if strays:
        stray_marks = {one.mark for one in strays}
        ended = end_processes(crew, lambda mark: str(mark) in stray_marks)
        done.orphans = strays if ended.ended else []
        done.troubles += [f"process {one.pid} ({one.command[:60]}) could not be ended" for one in ended.left]


def _is_over_here(crew: Crewroom, process: RunningProcess, team: str) -> bool:
    """Is it of this home, and of a life that no record tells of any more?"""
    mark = read_mark(process.mark)
    if mark is None or mark.home != crew.records.home or (team and mark.team != team) or process.pid == crew.pid:
        return False
    record = crew.records.read(mark.team, mark.member)
    return record is None or record.mark != process.mark
