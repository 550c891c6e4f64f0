"""
What a `script` agent does: takes tasks that say what to run, runs it, each in a worktree of its own, and proves it.

No model is asked. Useful by itself, for codemods, tests and linting, and what demos and tests work with.
"""

from __future__ import annotations

from atm.board.rules.acceptance import about, said_by
from atm.board.rules.claims import may_claim
from atm.board.rules.tasks import LONGEST_TIMEOUT, by_urgency
from atm.board.services import working as board
from atm.board.services.marks import check_run_marks
from atm.board.services.reviews import submit_plan
from atm.core.errors import AtmError
from atm.core.work_errors import NotTrusted
from atm.crew.rules.states import CLAIMING, PLANNING, WORKING, pause_after
from atm.crew.services.finishing import finish, former_work, give_back, give_up, is_of_the_machine, start_of
from atm.crew.services.hosting import TaskWatch, end_commands, forget_time
from atm.crew.services.reaping import worktree_of
from atm.files.formats.times import from_iso
from atm.mail.formats.typed_message import type_of
from atm.mail.rules.messages import ASSIGNMENT
from atm.mail.services.reading import Filter, take
from atm.mail.services.surfacing import unread_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.acceptance import Ran
    from atm.board.rules.tasks import Task
    from atm.crew.services.hosting import Host


TRY_AGAIN = 30.0
"""Seconds after which a task that could not be begun is claimed again."""
GIVEN_WITHIN = 2.0
"""Seconds after which a task that was given out in a run is found, should two changes have looked like one."""
LOOK_EVERY = 0.5
"""Seconds between two checks, while a command runs, whether its task is still the agent's and the agent may go on."""


class CutOff(Exception):
    """The task is not the agent's any more while a command of it runs."""


def work(host: Host) -> None:
    """Until it is asked to end."""
    looks, last_claim = 0, ""
    while not host.heed():
        _read_assignments(host)
        task = _next_task(host)
        if task is not None and task.claim_id == last_claim:  # how it ended could not be written to the board
            last_claim = ""
            host.wait(TRY_AGAIN)
            continue
        if task is not None:
            looks, last_claim = 0, task.claim_id
            _do(host, task)
            continue
        host.rest()
        host.wait(min(pause_after(looks), GIVEN_WITHIN) if host.record.run else pause_after(looks))
        looks += 1
    _read_assignments(host)
    host.say_goodbye()


def _read_assignments(host: Host) -> None:
    """It goes by the board. The letters that say the same are done with, or they would wait for it for good."""
    room, record = host.crew.room, host.record
    try:
        if any(type_of(letter) == ASSIGNMENT for letter in unread_for(room, record.team, record.member)):
            take(room, record.team, record.member, Filter(types=[ASSIGNMENT]))
    except AtmError as error:
        host.machine.log(f"its mail: {error}")


def _next_task(host: Host) -> Task | None:
    """The most urgent one that says what to run, claimed. Tasks for a mind are left to those who have one."""
    boardroom, record = host.crew.boardroom, host.record
    if not boardroom.tasks.exists(record.team):
        return None
    now = boardroom.tasks.board(record.team)
    for card in by_urgency(now.sorted()):
        if may_claim(now, card, record.member) is not None or (record.run and not card.is_claimed):
            continue  # in a run tasks are given out, so that no two collide
        try:
            task = boardroom.tasks.read(record.team, card.id)
            if not task.run or (not card.is_claimed and _was_refused_just_now(host, task)):
                continue
            host.become(CLAIMING)
            claimed = board.claim(boardroom, record.team, record.member, card.id)
        except AtmError as error:
            host.machine.log(f"#{card.id}: {error}")
            continue
        if claimed.task is not None:
            return claimed.task
    return None


def _was_refused_just_now(host: Host, task: Task) -> bool:
    at = from_iso(str(task.part("refused").get("at") or ""))
    return at is not None and host.crew.clock.now() - at < TRY_AGAIN


def _is_approved(host: Host, task: Task) -> bool:
    """
    Its plan is what it would run. No answer means no (D18): it waits, and gives the task back when it is asked to end
    meanwhile, or is told no.
    """
    boardroom, record = host.crew.boardroom, host.record
    host.become(PLANNING, task=task.id)
    if task.plan == "required":
        text = "Run, in a worktree of its own:\n" + "\n".join(f"- {about(command)}" for command in task.run)
        submit_plan(boardroom, record.team, record.member, task.id, text)
    while not host.heed():
        now = boardroom.tasks.read(record.team, task.id)
        if now.claim_id != task.claim_id:
            return False  # it was taken from us
        if now.plan not in ("required", "submitted", "rejected"):
            return True
        if now.plan == "rejected":
            board.fail(boardroom, record.team, record.member, task.id, "its plan was rejected", claim_id=task.claim_id)
            return False
        host.wait(pause_after(3))
    board.release(boardroom, record.team, record.member, task.id, reason="asked to end", claim_id=task.claim_id)
    return False


def _do(host: Host, task: Task) -> None:
    if task.plan in ("required", "submitted", "rejected") and not _is_approved(host, task):
        host.note(task="")
        return
    host.become(WORKING, task=task.id)
    host.machine.log(f"#{task.id} {task.subject}")
    folder, watch = "", None
    try:
        folder = _settle(host, task)
        watch = TaskWatch(host, task, host.crew.policy.task)
        error = _run_all(host, watch, folder) or finish(host, task, _in_words(task), watch)
    except CutOff as cut:
        _cut_off(host, str(cut))
    except (AtmError, OSError) as trouble:
        if watch is not None and (why := watch.why_lost()):
            _cut_off(host, why)  # while its checks ran
        else:
            _stop_at(host, task, trouble, has_begun=bool(folder))
    else:
        if error:
            give_up(host, task, error)
    _leave(host)


def _cut_off(host: Host, why: str) -> None:
    """The task is over, or another's: no attempt, and the agent is free. What was done is saved with its worktree."""
    host.machine.log(f"{why}: its command was ended")
    end_commands(host)


def _stop_at(host: Host, task: Task, error: AtmError | OSError, *, has_begun: bool) -> None:
    """
    Only work that was begun and failed is an attempt (D35); a task without a worktree, or a full disk, is not.
    """
    if isinstance(error, NotTrusted):  # a person has to allow its commands: no second try would find it otherwise
        give_up(host, task, f"{error}; {error.remedy}", final=True)
    elif not has_begun or is_of_the_machine(error):
        give_back(host, task, error)
    else:
        give_up(host, task, str(error))


def _in_words(task: Task) -> str:
    return f"{len(task.run)} command{'s' if len(task.run) != 1 else ''} ran"


def _settle(host: Host, task: Task) -> str:
    """A worktree of its own where there is a repository; else the folder that it was started for."""
    check_run_marks(host.crew.boardroom, host.team, task)
    folder = task.text("folder") or host.record.folder
    repository = host.crew.worktrees.repository(folder)
    if repository is not None:
        begin = start_of(host.crew, repository, host.record.team, task, host.record.start)
        made = host.crew.worktrees.make(repository, host.record.team, task.id, host.record.member, begin)
        host.note(worktree=made.path, branch=made.branch, base=made.base, common=made.common)
        if former := former_work(host.crew, repository, task, begin):
            host.crew.worktrees.go_on(made, former)
        folder = made.path
    host.machine.enter(folder)
    return folder


def _run_all(host: Host, watch: TaskWatch, folder: str) -> str:
    """Why it failed; empty if it did not."""
    setup, task, has_run = host.crew.policy.setup, watch.task, False
    for command in [*([setup] if setup and host.record.worktree else []), *(about(one) for one in task.run)]:
        ran = _run(host, watch, command, folder)
        if ran.code is None and not ran.timed_out:
            if not has_run:  # no process, no shell or no folder for it: nothing of the task was begun
                raise OSError(f"`{command}` could not be started: {said_by(ran).strip()[-1000:]}")
            return f"`{command}` could not be started: {said_by(ran).strip()[-1000:]}"
        has_run = True
        if ran.timed_out:
            end_commands(host)  # its process group has ended; this ends what had left the group
            return f"{watch.why_over_limit}: `{command}`\n{said_by(ran).strip()[-1000:]}"
        if ran.code != 0:
            return f"`{command}` ended with {ran.code}:\n{said_by(ran).strip()[-1000:]}"
    return ""


def _run(host: Host, watch: TaskWatch, command: str, folder: str) -> Ran:
    facts = {"ATM_TASK": watch.task.id, "ATM_WORKTREE": folder}

    def look() -> None:
        watch.advance(has_output=host.machine.has_output())
        host.heed()  # a person who asks the agent to end is told that it finishes first
        if why := watch.why_lost():
            raise CutOff(why)

    look()
    seconds = watch.clock.left if watch.clock.limit else LONGEST_TIMEOUT
    ran = host.crew.boardroom.programs.run(
        command, folder=folder, seconds=seconds, facts=facts, meanwhile=look, every=LOOK_EVERY
    )
    watch.advance(has_output=host.machine.has_output())
    return ran


def _leave(host: Host) -> None:
    """The worktree goes, and what is on no branch is saved; the branch stays if it has something to show."""
    worktree = worktree_of(host.record)
    host.machine.enter(host.record.folder)
    if worktree is not None:
        host.crew.worktrees.remove(worktree, branch=False)
    host.note(task="", worktree="", branch="", base="", common="")
    forget_time(host)
