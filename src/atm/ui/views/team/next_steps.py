"""
What to type next: for somebody without a team, and for somebody who looks at theirs.

Pure. Every command here can be typed as it stands; a test types those of the first ten minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.names import as_new_name
from atm.core.untrusted_text import one_line, shell_word, shell_words
from atm.ui.views.style import width_of
from atm.ui.views.team.attention import GONE, answer_command
from atm.ui.views.team.last_run import WORDS, needs_person
from atm.vendors.dialogs import asked_in_words
from atm.vendors.runtimes import with_a_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.ui.views.team.seen import MemberSeen, TeamSeen

SCRIPT = "script"
MOST = 3


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and what comes of it."""

    command: str
    why: str


SCREEN = NextStep("atm top", "the live screen; q leaves it")
"""Advised where its extra is installed."""

HOME = NextStep("atm", "who is here, what waits for you, what is next")


def screen_steps(install: str, why: str = SCREEN.why, suffix: str = "") -> list[NextStep]:
    """How to see the screen; where it is not installed, as lines of text, and the command that installs it."""
    if not install:
        return [NextStep(f"{SCREEN.command}{suffix}", why)]
    plain = NextStep(f"{SCREEN.command} --plain{suffix}", "the screen as lines of text")
    return [plain, NextStep(install, "installs the live screen, `atm top`")]


def step_lines(steps: Sequence[NextStep], columns: int) -> list[str]:
    """A command is never cut: whoever reads it wants to type it. What comes of it stands beside it, or below."""
    widths = sorted({width_of(step.command) for step in steps}, reverse=True)
    beside = (
        wide
        for wide in widths
        if all(4 + wide + width_of(one.why) <= columns for one in steps if width_of(one.command) <= wide)
    )
    room, lines = next(beside, 0), []
    for step in steps:
        if width_of(step.command) <= room:
            lines.append(f"  {step.command}{' ' * (room - width_of(step.command))}  {step.why}")
        else:
            lines += [f"  {step.command}", f"      {step.why}"]
    return lines


def agents_to_start(programs: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """`claude:ann`, `codex:bob`: agents of programs that are here; without any, scripts, which need none."""
    here = [name for name in with_a_model() if name in programs] or [SCRIPT]
    names = [name for name in ("ann", "bob", "cat", "dan") if name not in taken]
    return [f"{here[number % len(here)]}:{name}" for number, name in enumerate(names[:2])]


def up_command(agents: Sequence[str]) -> str:
    return " ".join(["atm", "up", *(shell_word(one) for one in agents)])


def first_steps(programs: Sequence[str], me: str = "") -> list[NextStep]:
    """For somebody without a team."""
    agents = agents_to_start(programs, [me])
    is_script = agents[0].startswith(SCRIPT)
    one, other = (word.partition(":")[2] for word in agents)
    what = "two agents that run commands" if is_script else "two agents, each with a place of its own"
    return [NextStep(up_command(agents), what), greeting(one, other, is_script=is_script), HOME]


def greeting(one: str, other: str, *, is_script: bool) -> NextStep:
    """A first task; one that a script can do says how."""
    command = f"atm tasks add {shell_words(f'Greet {other}')}"
    if not is_script:
        return NextStep(command, "whoever is free takes it")
    run = f"--owner {shell_word(one)} --run {shell_word(f'atm send {shell_words(other)} hello')}"
    return NextStep(f"{command} {run}", f"{one_line(one)} does it")


def next_steps(seen: TeamSeen, me: str, programs: Sequence[str], install: str = "") -> list[NextStep]:
    """
    For a member who reads about the team: what waits for them first, then what gets the work going.

    `install` is the command that installs the screen; empty where it is installed.
    """
    steps = [*_waiting(seen, me), *_going_on(seen, me, programs)][:MOST] or [SCREEN]
    return [shown for step in steps for shown in (screen_steps(install) if step is SCREEN else [step])]


def _waiting(seen: TeamSeen, me: str) -> list[NextStep]:
    found = [NextStep(run.resume, f"the {WORDS[run.state]}") for run in seen.runs if needs_person(run) and run.resume]
    for member in [one for one in seen.members if one.question][:1]:
        what = f"{one_line(member.name)}: {asked_in_words(one_line(member.question))}"
        found.append(NextStep(answer_command(member.name, seen.team), what))
    for asked in seen.approvals[:1]:
        found.append(NextStep(f"atm approvals show {shell_words(asked.id[:8])}", f"{one_line(asked.requester)} asks"))
    for one in seen.asked[:1]:
        if one.kind == "plan":
            found.append(NextStep(f"atm tasks show {shell_words(one.task)}", "a plan waits for your word"))
        else:
            found.append(
                NextStep(f"atm tasks clarify {shell_words(one.task)} --answer TEXT", f"{one_line(one.by) or 'it'} asks")
            )
    person = seen.member(me)
    if person is not None and person.mail.unread:
        found.append(NextStep("atm read", f"{person.mail.unread} for you"))
    if seen.merges is not None and seen.merges.needs_human:
        found.append(NextStep(f"atm merge show {shell_words(seen.merges.needs_human[0])}", "a conflict waits for you"))
    failed = next((task for task in seen.tasks if task.state in ("failed", "unreachable")), None)
    if failed is not None:
        found.append(NextStep(f"atm tasks show {shell_words(failed.id)}", f"it is {failed.state}"))
    return found


def _going_on(seen: TeamSeen, me: str, programs: Sequence[str]) -> list[NextStep]:
    agents = [one for one in seen.members if not one.is_human and one.name == as_new_name(one.name)]
    if not agents:
        return [NextStep(up_command(agents_to_start(programs, [me])), "two agents"), SCREEN]
    started = [member for member in agents if member.agent is not None]
    if started and all(member.liveness in GONE or member.agent_state in ("stopped", "done") for member in started):
        return [NextStep("atm up", "the same agents again"), SCREEN]
    if not seen.tasks:
        one, other = agents[0], (agents[1] if len(agents) > 1 else agents[0])
        return [greeting(one.name, other.name, is_script=_is_script(one)), SCREEN]
    busy = {task.owner for task in seen.tasks}
    unanswered = next((one for one in agents if _is_script(one) and one.mail.unread and one.name not in busy), None)
    if unanswered is not None:
        return [_answer(unanswered, [one for one in agents if one is not unanswered]), SCREEN]
    if all(task.state in ("completed", "cancelled") for task in seen.tasks):
        return [SCREEN, NextStep("atm down", "the agents end; what they did stays")] if started else [SCREEN]
    return [SCREEN]


def _is_script(member: MemberSeen) -> bool:
    return member.agent is not None and member.agent.runtime == SCRIPT


def _answer(who: MemberSeen, others: list[MemberSeen]) -> NextStep:
    """A script answers when a task says so: there is no model that could."""
    to = others[0].name if others else who.name
    run = f"--owner {shell_word(who.name)} --run {shell_word(f'atm read; atm send {shell_words(to)} hi')}"
    return NextStep(" ".join(["atm tasks add", shell_words(f"Answer {to}"), run]), f"{one_line(who.name)} has mail")
