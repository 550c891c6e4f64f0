"""
What a host does for an agent that was started for one task: after each of its turns it looks how the task stands.

It goes by the agent's last words, the board and the checks, so it works with any program, whether or not that has a
tool of ours. The agent's word alone is enough only where the task has no checks.
"""

from __future__ import annotations

from atm.board.services.reviews import ask, submit_plan
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.crew.rules.last_words import DONE, FAILED, QUESTION, last_words
from atm.crew.rules.task_brief import ask_how_it_stands, go_on_after, go_on_after_error
from atm.crew.services.finishing import finish, give_back, give_up, is_of_the_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.crew.services.hosting import Host, TaskWatch

MOST_IN_VAIN = 3
"""Turns in a row that failed, or that said nothing: then the attempt has failed."""

IS_OVER: str | None = None
WAIT = ""


class TaskWork:
    """The task of one life."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._errors = 0
        self._silent = 0
        self._watch: TaskWatch | None = None

    def turn_ended(
        self, words: str, error: str, *, is_heard: bool = True, watch: TaskWatch | None = None
    ) -> str | None:
        """
        What to say to the agent next; nothing (`WAIT`) if it waits for somebody; None (`IS_OVER`) if it is done with.

        `is_heard` is false where only the end of a turn can be seen, as in a terminal. `watch` knows how much time is
        left for the checks.
        """
        host, self._watch = self._host, watch
        task = host.crew.boardroom.tasks.read(host.record.team, host.record.task)
        if not self._is_mine(task):
            return IS_OVER
        if task.waits_for_others:
            return WAIT
        try:
            return self._judge(task, words, error, is_heard=is_heard)
        except AtmError as trouble:
            if is_of_the_machine(trouble):
                give_back(host, task, trouble)
            else:
                give_up(host, task, str(trouble))
            return IS_OVER

    def _is_mine(self, task: Task) -> bool:
        record = self._host.record
        return task.is_claimed and same_name(task.owner, record.member) and task.claim_id == record.claim

    def _judge(self, task: Task, words: str, error: str, *, is_heard: bool) -> str | None:
        if error:
            return self._after_error(task, error)
        self._errors = 0
        if self._host.record.turns > self._host.crew.policy.turns > 0:
            return self._fails(task, f"it was not done after {self._host.crew.policy.turns} turns")
        if task.plan in ("required", "rejected"):
            return self._plan(task, words)
        said = last_words(words)
        if said.kind == FAILED:
            return self._fails(task, said.text or "its agent says that it cannot be done")
        if said.kind == QUESTION:
            record = self._host.record
            ask(self._host.crew.boardroom, record.team, record.member, task.id, "lead", said.text or words[-500:])
            return WAIT
        if said.kind == DONE or task.acceptance:
            self._silent = 0
            why = finish(self._host, task, said.text or f"done by {self._host.record.member}", self._watch)
            if why and self._watch is not None and self._watch.is_over_limit:
                return self._fails(task, why)
            return go_on_after(why) if why else IS_OVER
        return self._after_silence(task, is_heard=is_heard)

    def _plan(self, task: Task, words: str) -> str:
        """Its last words are its plan. No answer means no (D18): it waits."""
        record = self._host.record
        if not words.strip():
            return "Plan first: end your turn with your plan, in words, and change no file."
        submit_plan(self._host.crew.boardroom, record.team, record.member, task.id, words)
        return WAIT

    def _after_error(self, task: Task, error: str) -> str | None:
        self._errors += 1
        if self._errors >= MOST_IN_VAIN:
            return self._fails(task, f"{self._errors} turns in a row failed: {error}")
        return go_on_after_error(error)

    def _after_silence(self, task: Task, *, is_heard: bool) -> str | None:
        self._silent += 1
        if self._silent >= MOST_IN_VAIN:
            return self._fails(task, f"it ended {self._silent} turns without saying whether it is done")
        return ask_how_it_stands(task.id, is_heard=is_heard)

    def _fails(self, task: Task, why: str) -> str | None:
        give_up(self._host, task, why)
        return IS_OVER
