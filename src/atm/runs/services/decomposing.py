"""
Asking a runtime to break a goal into tasks: an agent that looks, answers, and goes.

It works in a worktree of its own that is thrown away, and nothing that it answers is believed: it is read as a plan,
like one from a file.
"""

from __future__ import annotations

from atm.board.formats.plan_answer import plan_in_answer
from atm.board.formats.task_drafts import NotAPlan
from atm.board.rules.decomposing import decompose_prompt
from atm.core.work_errors import BadTask
from atm.crew.services.one_answer import NoAnswer, await_answer, dismiss
from atm.crew.services.reaping import clear_away
from atm.crew.services.spawning import AgentWish, spawn
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.vendors.runtime import HEADLESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.board.formats.task_drafts import TaskDraft
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom

PLANNER = "planner"
MOST_ROUNDS = 3
"""Answers that are no plan: a model that was told twice what is wrong will not find it the third time."""


class Goal:
    """What is asked of whom."""

    __slots__ = ("agents", "base", "folder", "lead", "model", "run", "runtime", "runtimes", "team", "text")

    def __init__(
        self,
        text: str,
        *,
        team: str,
        lead: str,
        folder: str,
        base: str,
        run: str,
        runtime: str,
        runtimes: Sequence[str],
        agents: int | None,
        model: str = "",
    ) -> None:
        self.text = text
        self.team = team
        self.lead = lead
        self.folder = folder
        self.base = base
        self.run = run
        self.runtime = runtime
        self.runtimes = [*runtimes]
        self.agents = agents
        self.model = model


def decompose(crew: Crewroom, goal: Goal, seconds: float, meanwhile: Callable[[], None]) -> list[TaskDraft]:
    """The plan. Raises BadTask if none comes within so many seconds; then nothing is left of the planner either way."""
    wish = AgentWish(
        team=goal.team,
        member=PLANNER,
        runtime=goal.runtime,
        folder=goal.folder,
        backend=HEADLESS,
        model=goal.model,
        prompt=decompose_prompt(goal.text, goal.agents, goal.runtimes),
        run=goal.run,
        start=goal.base,
    )
    former = crew.records.read(goal.team, PLANNER)
    if former is not None and not former.is_over:
        clear_away(crew, former, error="whoever asked it is gone")  # we hold the team, so nobody waits for it
    record = spawn(crew, wish)
    try:
        return _ask(crew, goal, record, crew.clock.monotonic() + seconds, meanwhile)
    finally:
        now = crew.records.read(goal.team, PLANNER)
        if now is not None:
            clear_away(crew, now)
        dismiss(crew, goal.team, PLANNER)


def _ask(crew: Crewroom, goal: Goal, record: AgentRecord, end: float, meanwhile: Callable[[], None]) -> list[TaskDraft]:
    for turn in range(1, MOST_ROUNDS + 1):
        try:
            said = await_answer(crew, record, turn, end, meanwhile)
        except NoAnswer as error:
            remedy = "see `atm peek planner`; or write one yourself, and use --plan"
            raise BadTask(f"{goal.runtime} gave no plan: {error}", remedy) from None
        try:
            return plan_in_answer(said)
        except NotAPlan as error:
            if turn == MOST_ROUNDS:
                raise BadTask(f"{goal.runtime} gave no plan: {error}", "write one yourself, and use --plan") from None
            text = f"Your answer cannot be used: {error}. Answer again, with the whole plan."
            send(crew.room, goal.team, PLANNER, Draft(sender=goal.lead, text=text))
    raise AssertionError("unreachable")
