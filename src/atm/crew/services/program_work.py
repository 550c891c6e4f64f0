"""
What a host does for an agent that has a program: it speaks with it, brings its mail when it is idle, answers its
questions, and ends it when it is asked to.
"""

from __future__ import annotations

import queue

from atm.approvals.services.permitting import has_approved_plan
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.crew.rules.output import untold
from atm.crew.rules.states import IDLE, SHUTTING_DOWN, SPAWNING, WORKING
from atm.crew.services.finishing import give_up
from atm.crew.services.hosting import TaskWatch, end_commands
from atm.crew.services.looking import WindowWatch
from atm.crew.services.questions import HostQuestions
from atm.crew.services.spawning import mode_of, port_base, secret_of, working_mode
from atm.crew.services.task_work import TaskWork
from atm.delivery.rules.briefing import mail_in_words
from atm.delivery.services.framing import show_one
from atm.mail.formats.typed_message import type_of
from atm.mail.rules.messages import PLAN_ANSWER
from atm.mail.rules.surfacing import SERVER
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.surfacing import Surfacing, unread_for
from atm.team.rules import liveness
from atm.team.services.presence import is_by_hook, last_beat
from atm.vendors import driver as drivers
from atm.vendors.driver import Brief
from atm.vendors.runtime import PLAIN, TMUX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.children import Child
    from atm.crew.services.hosting import Host
    from atm.mail.rules.messages import Message
    from atm.team.rules.liveness import Beat
    from atm.vendors.driver import Driver, Heard

GO_ON = "Go on with what can be done without it; if that is nothing, say so."
MAY_WORK = "Your plan was approved, and you may work now: go on with your task, unless it is done."
LOOK_EVERY = 0.2
CLOSES_WITHIN = 3.0
PLAN_EVERY = 2.0
"""Seconds between two looks at the board of one who plans."""
MOST_AT_ONCE = 10
HEARD_EVERY = 5.0
"""Seconds between two notes that its program does something."""
LONGEST_WORDS = 50_000
MOST_TOLD = 50
"""Texts of a turn that are remembered, to know its last words again."""


class ProgramWork:
    """One program, from its start to its end."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._driver: Driver | None = None
        self._questions: HostQuestions | None = None
        self._told: list[str] = []
        """The last texts of this turn."""
        self._waiting: list[str] = []
        """What could not be said in the middle of a turn."""
        self._window = WindowWatch(host)
        self._plans = host.record.requires_plan
        """Is it still without an approved plan?"""
        self._planned_at = 0.0
        self._is_closing = False
        self._task_work = TaskWork(host) if host.record.has_task_for_life else None
        self._is_finished = False
        """Is the task that it was started for done with?"""
        self._watch: TaskWatch | None = None
        """Over the task that its agent works on now."""
        self._watched: object = None
        self._is_let_go = False
        """Is nothing more to be watched of the task that it was started for?"""
        self._unwatched = ""
        """Why its task could not be read, as it was logged last."""
        self._has_output = False
        self._pane_waits = False
        self._pane_beat = 0.0
        """When its own hooks last showed that it does something."""
        self._is_gone = False
        """It cannot be spoken to any more. A plain program never could be, for certain."""
        self._why = ""

    def work(self, child: Child) -> None:
        host, record = self._host, self._host.record
        host.note(program_pid=child.pid)
        if record.backend == TMUX:
            host.begin()
        else:
            self._shake_hands(child)
        while (code := child.code()) is None:
            self._look(child)
        self._hear_all()
        if self._questions is not None:
            self._questions.cancel_all()
        is_well = self._is_closing or (code == 0 and host.record.state != SPAWNING)
        host.say_goodbye("" if is_well else self._why or f"its program ended with {code}")

    def _shake_hands(self, child: Child) -> None:
        host, record = self._host, self._host.record
        runtime = host.crew.runtimes[record.runtime]
        brief = Brief(
            cwd=record.worktree or record.folder,
            model=record.model,
            mode=mode_of(host.crew, record),
            after_plan=working_mode(host.crew),
            resume=record.resumes,
            session=record.session,
            writable=[record.common] if record.common else [],
            environment={key: value for key, value in host.crew.environment.items() if key.startswith("ATM_")},
            port=port_base(host.crew, record),
            tools=record.tools,
            password=secret_of(record),
        )
        self._driver = child.driver(runtime, brief)
        self._questions = HostQuestions(host, self._driver, host.approvals)
        self._driver.begin(self._heard.put)
        if record.prompt:
            self._waiting.append(record.prompt)

    def _look(self, child: Child) -> None:
        host = self._host
        if self._driver is None:
            host.wait(LOOK_EVERY)
            self._watch_pane()
        else:
            self._hear_all(LOOK_EVERY)
            if self._questions is not None:
                self._questions.look()
            host.looks_again()
            host.beat()
        self._mind_task(child)
        if self._is_gone and not self._is_closing:
            child.ask_to_end()
        elif self._is_finished and not self._is_closing:
            self._close(child)
        elif host.record.is_asked and not self._is_closing:
            if host.heed() and host.record.may_end_now:
                self._close(child)
        elif host.record.state == IDLE and not self._is_closing:
            self._look_for_plan()
            self._speak()

    # Its task: how long it takes, and whether it is still the agent's.

    def _mind_task(self, child: Child) -> None:
        """The turn ends when the task is cancelled, or given to another, or has taken longer than its limit."""
        if self._is_closing or self._is_finished or self._host.record.state == SPAWNING:
            return
        self._follow_task()
        watch = self._watch
        if watch is None:
            return
        is_asking = self._pane_waits or (self._questions is not None and self._questions.is_waiting)
        is_working = self._host.record.state == WORKING and not is_asking
        watch.advance(is_working=is_working, has_output=self._has_output)
        self._has_output = False
        why = watch.why_lost()
        if why:
            self._end_turn(child, watch, why)
        elif watch.is_let_go:
            watch.end()
            self._watch, self._watched, self._is_let_go = None, None, True
        elif watch.is_over_limit:
            why = watch.why_over_limit
            self._end_turn(child, watch, f"#{watch.task.id}: {why}")
            give_up(self._host, watch.task, why)

    def _follow_task(self) -> None:
        """The task that it was started for; of an agent without one, the task that it has claimed on the board."""
        news = self._host.machine.news()
        if news == self._watched:
            return
        self._watched = news
        record, tasks = self._host.record, self._host.crew.boardroom.tasks
        try:
            if not record.has_task_for_life:
                self._follow_claim()
            elif self._watch is None and not self._is_let_go:
                self._watch = TaskWatch(self._host, tasks.read(record.team, record.task), 0.0, record.claim)
        except AtmError as error:
            if self._unwatched != str(error):
                self._unwatched = str(error)
                self._host.machine.log(f"its task: {error}")
            self._watched = None

    def _follow_claim(self) -> None:
        record, tasks = self._host.record, self._host.crew.boardroom.tasks
        if self._watch is not None or not tasks.exists(record.team):
            return
        cards = tasks.board(record.team).sorted()
        mine = next((one for one in cards if one.claim_id and same_name(one.owner, record.member)), None)
        if mine is not None:
            self._watch = TaskWatch(self._host, tasks.read(record.team, mine.id), 0.0)

    def _end_turn(self, child: Child, watch: TaskWatch, why: str) -> None:
        """An agent that was started for the task ends with it; another one is told, and is free for the next task."""
        host = self._host
        host.machine.log(f"{why}: its turn is ended")
        is_working = host.record.state == WORKING
        if self._driver is not None and is_working:
            self._driver.interrupt()
        if self._questions is not None:
            self._questions.cancel_all(why)
        self._watch = self._watched = None
        watch.end()
        if self._task_work is None:
            self._tell(f"{why}. Stop working on it; what is in your folder stays there.")
            return
        self._is_finished = True
        host.machine.pause(CLOSES_WITHIN, lambda: self._has_ended_turn(child))
        self._close(child)
        host.machine.pause(CLOSES_WITHIN, lambda: child.code() is not None)
        end_commands(host)

    def _has_ended_turn(self, child: Child) -> bool:
        """Hears what it says last, and what that cost."""
        self._hear_all()
        return self._driver is None or self._host.record.state != WORKING or child.code() is not None

    def _tell(self, text: str) -> None:
        if self._driver is not None and self._host.crew.runtimes[self._host.record.runtime].protocol != PLAIN:
            self._waiting.append(text)
        else:
            self._mail(text)

    def _watch_pane(self) -> None:
        """In a terminal the agent's own hooks say how it is."""
        try:
            self._window.look()
        except (AtmError, OSError) as error:
            self._host.machine.log(f"its window: {error}")
        record = self._host.record
        last = last_beat(self._host.crew.room.presence, self._host.team, record.member, self._host.crew.clock.now())
        now = self._window.state(last)
        self._pane_waits = bool(record.asks) or now == liveness.WAITING
        self._note_pane_output(last)
        state = WORKING if now in (liveness.WORKING, liveness.WAITING) else IDLE
        if record.state not in (state, SHUTTING_DOWN):
            has_ended_turn = record.state == WORKING
            self._host.note(state=state, heard_at=self._host.crew.clock.now(), turns=record.turns + has_ended_turn)
            if has_ended_turn:
                self._after_turn("", "", is_heard=False)
                self._rests_again()

    def _note_pane_output(self, last: Beat | None) -> None:
        """Each of its hooks shows that its program does something."""
        if last is not None and last.at != self._pane_beat and is_by_hook(last.source):
            self._pane_beat, self._has_output = last.at, True

    def _rests_again(self) -> None:
        """That its task was checked counts as a sign that it works; but it was us, and mail waits while it works."""
        host = self._host
        last = last_beat(host.crew.room.presence, host.team, host.record.member, host.crew.clock.now())
        if last is not None and last.state_source == host.crew.boardroom.source("complete"):
            host.beat(liveness.IDLE, at_once=True)

    def _hear_all(self, seconds: float = 0.0) -> None:
        while True:
            try:
                heard = self._heard.get(timeout=seconds) if seconds else self._heard.get_nowait()
            except queue.Empty:
                return
            self._take(heard)
            seconds = 0.0

    def _take(self, heard: Heard) -> None:
        host = self._host
        self._has_output = True
        self._log(heard)
        if (now := host.crew.clock.now()) - host.record.heard_at >= HEARD_EVERY:
            host.note(heard_at=now)
        session = heard.facts.get("session")
        if isinstance(session, str) and session and session != host.record.session:
            host.note(session=session)
        if heard.kind == drivers.READY:
            host.begin()
            host.become(IDLE)
            self._speak()
        elif heard.kind == drivers.GONE:
            self._is_gone = host.crew.runtimes[host.record.runtime].protocol != PLAIN
            self._why = heard.text
        elif heard.kind == drivers.WORKING and host.record.state != WORKING:
            host.become(WORKING)
        elif heard.kind == drivers.IDLE and host.record.state == SPAWNING:
            self._why = str(heard.facts.get("error") or heard.text)  # it ends before it was there, and says why
        elif heard.kind == drivers.IDLE:
            error = str(heard.facts.get("error") or "")
            if error:
                host.machine.log(f"the turn ended badly: {error}")
            host.note(turns=host.record.turns + 1, heard_at=now, said=self._to_keep(heard.text))
            self._after_turn(heard.text, error)
            host.rest()
        elif heard.kind == drivers.QUESTION and self._questions is not None:
            self._questions.take(heard)
        elif heard.kind == drivers.WITHDRAWN and self._questions is not None:
            self._questions.withdraw(str(heard.facts.get("id")))
        elif heard.kind == drivers.USAGE:
            self._count(heard)

    def _log(self, heard: Heard) -> None:
        """Each text once: with a turn's end a driver repeats the words that it has told already."""
        if heard.kind == drivers.WORKING:
            self._told = []
        text = untold(heard.text, self._told) if heard.kind == drivers.IDLE else heard.text
        if heard.kind == drivers.OUTPUT:
            self._told = [*self._told, heard.text][-MOST_TOLD:]
        if text:
            self._host.machine.log(text)

    def _to_keep(self, words: str) -> str:
        """Of one that was started for its words, and not for a task."""
        return words[-LONGEST_WORDS:] if self._host.record.run and self._task_work is None else ""

    def _after_turn(self, words: str, error: str, *, is_heard: bool = True) -> None:
        if self._task_work is None or self._is_finished:
            return
        try:
            more = self._task_work.turn_ended(words, error, is_heard=is_heard, watch=self._watch)
        except AtmError as trouble:  # the board cannot be read now
            self._host.machine.log(f"its task: {trouble}")
            return
        if more is None:
            self._is_finished = True
        elif more and is_heard:
            self._waiting.append(more)
        elif more:
            self._mail(more)

    def _mail(self, text: str) -> None:
        """To one in a terminal, where nobody else may type."""
        record, team = self._host.record, self._host.team
        try:
            send(self._host.crew.room, record.team, record.member, Draft(sender=team.lead, text=text, is_urgent=True))
        except AtmError as error:
            self._host.machine.log(f"it could not be told: {error}")

    def _say(self, text: str) -> bool:
        """And counted: what atm says is paid for like everything else."""
        is_said = self._driver is not None and self._driver.say(text)
        if is_said:
            self._host.note(injected=self._host.record.injected + len(text))
        return is_said

    def _count(self, heard: Heard) -> None:
        tokens, cost = heard.facts.get("tokens"), heard.facts.get("cost")
        record, is_all = self._host.record, heard.facts.get("counts") == drivers.SESSION
        before = (record.tokens_before, record.cost_before) if is_all else (0, 0.0)
        self._host.note(
            tokens=max(0, tokens - before[0]) if isinstance(tokens, int) else record.tokens,
            cost=max(0.0, float(cost) - before[1]) if isinstance(cost, int | float) else record.cost,
        )
        percent = heard.facts.get("context_percent")
        if isinstance(percent, int | float):
            self._host.context = max(0, min(100, round(percent)))

    def _speak(self) -> None:
        """What waits, then mail. A plain program gets neither: what it reads it would take for input."""
        if self._driver is None or self._host.crew.runtimes[self._host.record.runtime].protocol == PLAIN:
            return self._prompt_plain()
        if self._questions is not None and self._questions.unexplained:
            self._questions.unexplained = False
            if self._driver.explains_late:
                self._waiting.append(GO_ON)
        if self._waiting:
            if self._say(self._waiting[0]):
                self._waiting.pop(0)
                self._host.become(WORKING)
            return None
        self._bring_mail()
        return None

    def _look_for_plan(self, *, at_once: bool = False) -> None:
        """Whoever had to plan first may work as soon as the plan of its task is approved, on the board."""
        host, now = self._host, self._host.crew.clock.monotonic()
        if not self._plans or self._driver is None or (not at_once and now - self._planned_at < PLAN_EVERY):
            return
        self._planned_at = now
        try:
            is_approved = has_approved_plan(host.approvals, host.record.team, host.record.member)
        except AtmError as error:
            host.machine.log(f"its plan cannot be looked up: {error}")
            return  # it plans on, and the next look may find it
        if is_approved:
            self._plans = False
            host.machine.log("its plan was approved: it may work now")
            self._driver.go_to_work()
            if not self._has_letter_about_plan():
                self._waiting.append(MAY_WORK)  # a hook has shown it that letter, while it could only plan

    def _has_letter_about_plan(self) -> bool:
        """Does the answer to its plan wait among its mail? Not if nobody can look: it is told once more then."""
        try:
            unread = unread_for(self._host.crew.room, self._host.record.team, self._host.record.member)
        except AtmError:
            return False
        return any(type_of(letter) == PLAN_ANSWER for letter in unread)

    def _prompt_plain(self) -> None:
        if self._driver is not None and self._waiting:
            self._driver.say(self._waiting.pop(0))

    def _bring_mail(self) -> None:
        crew, record = self._host.crew, self._host.record
        try:
            if not unread_for(crew.room, record.team, record.member):
                return
            self._look_for_plan(at_once=True)  # what it is told may be that it can begin
            turn = Surfacing(crew.room, record.team, record.member, SERVER, where="its host")
            with turn as unread:
                taken = turn.take(unread[:MOST_AT_ONCE]) if unread else []
                if taken:
                    self._show(turn, taken, len(unread or ()) - len(taken))
        except AtmError as error:
            self._host.machine.log(f"its mail: {error}")

    def _show(self, turn: Surfacing, taken: list[Message], left: int) -> None:
        crew, record = self._host.crew, self._host.record
        shown = [show_one(crew.room, record.team, record.member, message) for message in taken]
        if self._say(mail_in_words(record.member, record.team, shown, left)):
            turn.shown(f"said to it by its host ({record.runtime})")
            self._host.become(WORKING)
        else:
            turn.failed("its program did not take it")

    def _close(self, child: Child) -> None:
        """Its own way first: a program that is told in its own words leaves no tool behind."""
        self._is_closing = True
        self._host.note(state=SHUTTING_DOWN)
        if self._driver is not None:
            self._driver.close()
            ends_by_itself = not self._host.crew.runtimes[self._host.record.runtime].ends_by_signal
            self._host.machine.pause(CLOSES_WITHIN if ends_by_itself else 0.0, lambda: child.code() is not None)
        if child.code() is None:
            child.ask_to_end()
