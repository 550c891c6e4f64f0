"""
Doing what was decided. Each step can be interrupted by kill -9 and done again: what it changed is on the board and in
the agents' records, and the next look finds it.
"""

from __future__ import annotations

from dataclasses import replace

from atm.board.rules.acceptance import about, is_command
from atm.board.rules.tasks import PENDING
from atm.board.services import working as board
from atm.board.services.leaving import release_claims
from atm.core.errors import AtmError, FileBusy
from atm.core.names import same_name
from atm.crew.rules.agents import AgentRecord, killed_in_words
from atm.crew.rules.refs import parts_of_salvage
from atm.crew.rules.states import ERROR, STOPPED
from atm.crew.rules.task_brief import TaskBrief, brief_in_words
from atm.crew.services.finishing import former_work, start_of
from atm.crew.services.reaping import clear_away, end_processes, is_of, worktree_of
from atm.crew.services.spawning import AgentWish, launch
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import AskHow, Clear, CloseSeat, EndAgent, Finish, Give, MergeNow, Refuse, Say, StartLeader
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.observing import ended
from atm.runs.services.leading import leaders_brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.crew.ports.worktrees import Repository, Saved, Worktree
    from atm.crew.services.reaping import Cleared
    from atm.runs.rules.actions import Action
    from atm.runs.rules.memory import RunMemory
    from atm.runs.rules.orders import AgentSeat, RunOrder
    from atm.runs.rules.view import RunView
    from atm.runs.services.merging import RunMerging
    from atm.runs.services.runroom import Runroom

US = "atm"
"""Who speaks where nobody of the team does."""

ALL_RESOLVED = (
    "All tasks of the board are resolved. If the goal is reached, end your turn: the run ends then. If not, add what "
    "is missing to the board now."
)
HOW_IS_IT = (
    "How does #{task} stand? Nothing was heard of you for {minutes:.0f} minutes. Answer in a word or two, or go on "
    "with it: after {seconds:.0f} seconds of silence it is given to somebody else."
)


class Performing:
    """Everything that the loop can do, each by one method."""

    def __init__(self, desk: Runroom, order: RunOrder, memory: RunMemory, merging: RunMerging) -> None:
        self._desk = desk
        self._merging = merging
        self._order = order
        self._memory = memory

    def perform(self, action: Action, view: RunView) -> list[RunEvent]:
        """What happened."""
        match action:
            case Give():
                return self._give(action)
            case StartLeader():
                return self._start_leader(action)
            case Clear(seat, why, is_blamed):
                return self._take_away(view, seat, why, is_blamed=is_blamed)
            case EndAgent(seat, why, is_blamed, is_final):
                return self._take_away(view, seat, why, is_blamed=is_blamed, is_final=is_final, is_ended=True)
            case AskHow():
                return self._ask(action)
            case CloseSeat(seat, why):
                return self._close(seat, why)
            case Refuse(task, why):
                return [self._event(kinds.REFUSED, task, why=why)]
            case Say():
                return self._say(action)
            case MergeNow():
                self._merging.start()
                return []
            case Finish():
                return []

    def _say(self, said: Say) -> list[RunEvent]:
        """To whoever follows the run; and that all is resolved, to an agent that leads it."""
        words, letter = said.about.split(" "), None
        subject = words[2] if len(words) > 2 else self._order.run
        if said.kind == kinds.RESOLVED and self._order.leader is not None:
            draft = Draft(sender=US, text=ALL_RESOLVED, summary="all tasks are resolved", is_urgent=True)
            try:
                letter = send(self._desk.crew.room, self._order.team, self._order.lead, draft).message.id
            except AtmError:
                letter = None  # it cannot be told, and is not waited for
        return [self._event(said.kind, subject, about=said.about, text=said.text, letter=letter)]

    def _event(self, kind: str, subject: str, **detail: str | int | bool | None) -> RunEvent:
        return RunEvent(kind, subject, self._desk.clock.now(), **detail)

    # Giving out work.

    def _give(self, action: Give) -> list[RunEvent]:
        seat = self._order.seat(action.seat)
        assert seat is not None
        desk, team = self._desk, self._order.team
        try:
            claimed = board.claim(desk.boardroom, team, seat.name, action.task)
        except FileBusy:
            return []  # whoever has the board's lock lets go of it, or it grows old: no person can help
        except AtmError as error:
            return [self._event(kinds.REFUSED, action.task, why=str(error))]
        if claimed.task is None:
            return []  # somebody was quicker
        if seat.is_script:
            return self._script(seat, action)
        return self._start_for(seat, claimed.task, action)

    def _script(self, seat: AgentSeat, action: Give) -> list[RunEvent]:
        """It runs already and finds its task by itself, or is started now."""
        record = self._desk.crew.records.read(self._order.team, seat.name)
        if record is not None and not record.is_over and record.run == self._order.run:
            return []
        return self._start(seat, self._wish(seat, start=self._order.start), action.task, action.is_restart)

    def _start_for(self, seat: AgentSeat, task: Task, action: Give) -> list[RunEvent]:
        try:
            begin, work = self._begin_with(task)
        except AtmError as error:
            return self._cannot_begin(seat, task, error)
        wish = self._wish(seat, start=begin)
        wish.task, wish.claim, wish.work = task.id, task.claim_id, work
        wish.prompt = self._brief(seat, task, has_work=work is not None)
        if action.is_restart and self._memory.task(task.id).is_cut_off:
            wish.resume = self._session_of(seat, task)
        wish.requires_plan = task.plan in ("required", "submitted", "rejected")
        return self._start(seat, wish, task.id, action.is_restart)

    def _cannot_begin(self, seat: AgentSeat, task: Task, error: AtmError) -> list[RunEvent]:
        """No agent was started, so it is no attempt (D35): the task goes back, and is tried again later."""
        why = f"{error}; {error.remedy}" if error.remedy else str(error)
        self._give_back(seat.name, task.id, why)
        if isinstance(error, FileBusy):
            return []
        is_known = self._memory.task(task.id).refused == why
        return [self._event(kinds.REFUSED, task.id, why=why, again=is_known or None)]

    def _give_back(self, seat: str, task: str, why: str) -> None:
        try:
            release_claims(self._desk.boardroom, self._order.team, seat, "", why, only=task)
        except AtmError:
            return  # the next tick finds it still claimed for this agent, and goes on with it

    def _begin_with(self, task: Task) -> tuple[str, Saved | Worktree | str | None]:
        """Where its dependencies end; and, if an agent was cut off in the middle, what that one had done."""
        crew = self._desk.crew
        repository = crew.worktrees.repository(self._order.folder)
        if repository is None:
            return "", None
        begin = start_of(crew, repository, self._order.team, task, self._order.start)
        left = self._left_of(task, repository) if self._memory.task(task.id).is_cut_off else None
        return begin, left or former_work(crew, repository, task, begin) or None

    def _left_of(self, task: Task, repository: Repository) -> Saved | Worktree | None:
        """What was saved of it; or the branch of whoever tried it last, if that one had committed everything itself."""
        trees, team = self._desk.crew.worktrees, self._order.team
        before = self._order.saved_before
        kept = [o for o in trees.saved(repository.common, team) if _is_of(o.ref, task.id) and o.id not in before]
        if kept:
            return kept[0]
        return next((one for one in trees.unused(team) if one.branch == self._memory.task(task.id).branch), None)

    def _session_of(self, seat: AgentSeat, task: Task) -> str:
        """Its conversation goes on if it is the same agent, in the same place; not if that was tried, and in vain."""
        crew = self._desk.crew
        record = crew.records.read(self._order.team, seat.name)
        can = crew.runtimes[seat.runtime].goes_on
        if record is None or not can or self._memory.seat(seat.name).last_task != task.id:
            return ""
        return "" if record.resumes and not record.turns else record.session

    def _brief(self, seat: AgentSeat, task: Task, *, has_work: bool) -> str:
        now = self._desk.boardroom.tasks.board(self._order.team)
        others = [f"#{c.id} {c.subject}" for c in now.sorted() if c.is_claimed and not same_name(c.owner, seat.name)]
        return brief_in_words(
            TaskBrief(
                me=seat.name,
                team=self._order.team,
                lead=self._order.lead,
                task=task.id,
                subject=task.subject,
                description=task.description,
                files=task.files,
                checks=[about(check) for check in task.acceptance if is_command(check)],
                goal=self._order.goal,
                others=others,
                before=_what_was_before(task, has_work=has_work),
                must_plan=task.plan in ("required", "rejected"),
                limit=task.timeout,
                more=[seat.prompt] if seat.prompt else [],
            )
        )

    def _wish(self, seat: AgentSeat, *, start: str) -> AgentWish:
        return AgentWish(
            team=self._order.team,
            member=seat.name,
            runtime=seat.runtime,
            folder=self._order.folder,
            backend=seat.backend,
            model=seat.model,
            prompt=seat.prompt,
            command=seat.command,
            environment=seat.environment,
            requires_plan=seat.requires_plan,
            tools=seat.tools,
            run=self._order.run,
            start=start,
        )

    def _start(self, seat: AgentSeat, wish: AgentWish, task: str, is_restart: bool) -> list[RunEvent]:
        try:
            record = launch(self._desk.crew, wish)
        except AtmError as error:
            return self._not_started(seat, task, error)
        return [
            self._event(
                kinds.SPAWNED,
                seat.name,
                pid=record.pid,
                worktree=record.worktree or None,
                branch=record.branch or None,
                generation=record.generation,
                runtime=seat.runtime,
                task=task or None,
                restart=is_restart or None,
                resumed=bool(wish.resume) or None,
            )
        ]

    def _not_started(self, seat: AgentSeat, task: str, error: AtmError) -> list[RunEvent]:
        """Nothing of it is left; its task goes back without blame, and the agent is tried again after a pause."""
        why = f"{error}; {error.remedy}" if error.remedy else str(error)
        if task:
            self._give_back(seat.name, task, f"{seat.name} could not be started: {why}")
        is_known = self._memory.seat(seat.name).refused == why
        return [self._event(kinds.NOT_STARTED, seat.name, task=task or None, error=why, again=is_known or None)]

    def _fail(self, who: str, task: str, why: str, claim: str, *, final: bool = False) -> None:
        try:
            board.fail(self._desk.boardroom, self._order.team, who, task, why, claim_id=claim, final=final)
        except AtmError:
            return  # it is not theirs any more

    def _close(self, seat: str, why: str) -> list[RunEvent]:
        """What it holds goes back to the board: nobody would ever go on with it, not even after an answer."""
        try:
            release_claims(self._desk.boardroom, self._order.team, seat, "", f"{seat} gets nothing more: {why}")
        except AtmError:
            pass  # it is told of at the end
        return [self._event(kinds.CLOSED, seat, why=why)]

    def _start_leader(self, action: StartLeader) -> list[RunEvent]:
        leader = self._order.leader
        assert leader is not None
        wish = self._wish(leader, start=self._order.base)
        wish.prompt = leaders_brief(self._order)
        return self._start(leader, wish, "", action.is_restart)

    # Taking it back.

    def _take_away(
        self, view: RunView, seat: str, why: str, *, is_blamed: bool, is_final: bool = False, is_ended: bool = False
    ) -> list[RunEvent]:
        """Its work is saved first (D20), and what it holds fails this attempt, or goes back."""
        crew, team, agent = self._desk.crew, self._order.team, view.agents[seat]
        record = crew.records.read(team, agent.name)
        if record is None:
            return []
        held = self._held(record)
        cut_off = held is not None or (not agent.is_over and self._went_back(agent.task))
        if record.ended_by:  # that a person ended it is no failure of its work, and no restart of the agent
            cleared = clear_away(crew, record)
            killed = replace(agent, state=STOPPED, error=killed_in_words(record.ended_by))
            is_told = self._memory.seat(seat).over >= agent.generation
            told = [] if is_told else [ended(killed, view, task=agent.task, cut_off=cut_off)]
            return [*told, *self._not_cleared(seat, cleared)]
        lost = agent.has_lost_host and not is_ended
        if held is not None and is_blamed:
            self._save(record, why)
            self._fail(agent.name, held.id, f"{agent.name}: {why}", held.claim_id, final=is_final)
        has_failed = is_ended or record.state == ERROR or not record.is_over or cut_off
        cleared = clear_away(crew, record, state=ERROR if has_failed else STOPPED, error=why if has_failed else "")
        is_known = self._memory.seat(seat).over >= agent.generation
        error = why if has_failed else ""
        told = [] if is_known else [ended(agent, view, task=agent.task, cut_off=cut_off, error=error, lost=lost)]
        return [*told, *self._not_cleared(seat, cleared)]

    def _not_cleared(self, seat: str, cleared: Cleared) -> list[RunEvent]:
        """The agent gets nothing more: clearing it away would fail in the same way at every tick."""
        if not cleared.troubles:
            return []
        return self._close(seat, f"what it left cannot be taken away: {'; '.join(cleared.troubles)}")

    def _held(self, record: AgentRecord) -> Task | None:
        """What it works on, unless that waits for others."""
        if not record.task:
            return None
        try:
            task = self._desk.boardroom.tasks.read(record.team, record.task)
        except AtmError:
            return None
        return task if task.is_claimed and same_name(task.owner, record.member) and not task.waits_for_others else None

    def _went_back(self, id: str) -> bool:
        """Has somebody else, who looks after agents too, given back what it had just now?"""
        try:
            return bool(id) and self._desk.boardroom.tasks.read(self._order.team, id).status == PENDING
        except AtmError:
            return False

    def _save(self, record: AgentRecord, why: str) -> None:
        """Before the board says that it failed: whoever takes it next goes on with this."""
        crew, worktree = self._desk.crew, worktree_of(record)
        end_processes(crew, is_of(record))
        try:
            if worktree is not None:
                crew.worktrees.save(worktree, record.team, record.task, why[:200])
        except (AtmError, OSError):
            return  # clearing it away tries again, and tells

    def _ask(self, action: AskHow) -> list[RunEvent]:
        seconds = self._order.rules.answer
        text = HOW_IS_IT.format(task=action.task, minutes=max(1.0, action.seconds / 60), seconds=seconds)
        draft = Draft(sender=self._order.lead, text=text, is_urgent=True)
        try:
            send(self._desk.crew.room, self._order.team, action.seat, draft)
        except AtmError as error:
            return [self._event(kinds.ASKED, action.seat, task=action.task, error=str(error))]
        return [self._event(kinds.ASKED, action.seat, task=action.task)]


def _is_of(ref: str, task: str) -> bool:
    return (parts_of_salvage(ref) or ("", "", ""))[1] == task


def _what_was_before(task: Task, *, has_work: bool) -> str:
    said = []
    if has_work:
        said.append("An earlier attempt was cut off; what it had done is in your folder already.")
    elif task.failures:
        said.append(f"Earlier attempts: {task.failures}. The last one failed: {task.text('error')[-1500:]}")
    last = task.part("lastCheck").get("output")
    if isinstance(last, str) and last and not has_work:
        said.append(f"The check that failed said: {last[-1500:]}")
    return "\n".join(said)
