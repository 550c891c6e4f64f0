"""
What an agent is told about the one task that it was started for: what to do, where, and how to say that it is done.

Short: every word is paid for. Titles and descriptions are other people's words, framed and defused (D22).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.board.rules.time_limits import limit_in_words
from atm.core.untrusted_text import line_for_agents, shell_words, text_for_agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_DESCRIPTION = 6_000
LONGEST_FAILURE = 2_000

ENDING = (
    "When it is done, end your turn with a line that begins with DONE: and says in one sentence what you did. atm "
    "commits your files and runs the checks itself. If it cannot be done, end with FAILED: and why. If you cannot go "
    "on without an answer, end with QUESTION: and the question."
)


@dataclass(slots=True, kw_only=True)
class TaskBrief:
    """The facts."""

    me: str
    team: str
    lead: str
    task: str
    subject: str
    description: str = ""
    files: Sequence[str] = ()
    checks: Sequence[str] = ()
    goal: str = ""
    others: Sequence[str] = ()
    """What teammates work on meanwhile."""
    before: str = ""
    """What became of earlier attempts."""
    must_plan: bool = False
    limit: float | None = None
    """Seconds that this attempt may take; nothing is said where there is no limit."""
    more: list[str] = field(default_factory=list)


def brief_in_words(facts: TaskBrief) -> str:
    lines = [
        f"You are {line_for_agents(facts.me)}, an agent of the team {line_for_agents(facts.team)}. Your task is "
        f"#{facts.task}, and nothing else; it is claimed for you. You work in a git worktree of your own, which is the "
        "folder you are in: change files here only, and leave committing to atm.",
        f'<task id="{facts.task}">',
        line_for_agents(facts.subject),
    ]
    if facts.description:
        lines += ["", text_for_agents(facts.description[:LONGEST_DESCRIPTION])]
    lines.append("</task>")
    if facts.goal:
        lines.append(f"It is part of: {line_for_agents(facts.goal[:500])}")
    if facts.files:
        lines.append(f"It should touch only: {', '.join(map(line_for_agents, facts.files[:20]))}")
    if facts.checks:
        lines.append(
            "It is done when these pass, run here: " + "; ".join(f"`{line_for_agents(c)}`" for c in facts.checks)
        )
    if facts.others:
        lines.append("Teammates work on: " + "; ".join(map(line_for_agents, facts.others[:8])))
    if facts.before:
        lines.append(text_for_agents(facts.before[:LONGEST_FAILURE]))
    if facts.limit:
        lines.append(f"You have {limit_in_words(facts.limit)} for it; then your turn is ended.")
    if facts.must_plan:
        lines.append(
            "Plan first and change no file: end your turn with the plan itself as your last words. You are told when "
            "it is approved; then do it."
        )
    return "\n".join([*lines, *facts.more, ENDING])


def go_on_after(failure: str) -> str:
    """Its checks failed."""
    said = text_for_agents(failure.strip()[-LONGEST_FAILURE:])
    return f"It is not done yet. atm ran the checks:\n{said}\nMend it. {ENDING}"


def ask_how_it_stands(task: str, *, is_heard: bool = True) -> str:
    """Its turn has ended without a word about the task."""
    said = (
        ENDING
        if is_heard
        else f"When it is done, run `atm tasks complete {shell_words(task)}`; if it cannot be done, `atm tasks fail`."
    )
    return f"Your turn ended, and nothing says whether #{task} is done. Go on with it. {said}"


def go_on_after_error(error: str) -> str:
    return f"Your last turn was cut off: {line_for_agents(error[:300])}. Go on with your task. {ENDING}"
