"""What a real team needs beside its agents: their programs set up, a daemon, and the words what to do next."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from atm.core.errors import NoSuchTeam
from atm.core.untrusted_text import one_line, shell_word, shell_words
from atm.core.work_errors import RuntimeMissing
from atm.crew.services.equipment import look
from atm.team.services.choosing import choose_team
from atm.ui.cli.asking import can_ask, said_yes_to
from atm.ui.cli.waiting import Spinner
from atm.ui.views.extras import screen_command
from atm.ui.views.team.next_steps import HOME, SCRIPT, NextStep, greeting, screen_steps, step_lines, up_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.services.crewroom import Crewroom
    from atm.crew.services.spawning import AgentWish
    from atm.crew.services.upping import Upped
    from atm.ui.cli.session import Session

STARTED, RUNS, OFF, FAILED = "started", "runs", "off", "failed"
"""How the daemon is."""


@dataclass(slots=True)
class Afterwards:
    """How the daemon is, and what to type next."""

    daemon: str | None
    steps: list[NextStep]

    @property
    def in_words(self) -> list[str]:
        columns = shutil.get_terminal_size().columns
        said = {STARTED: "✓ the daemon runs: it wakes who is idle, and tells of what stalls"}.get(self.daemon or "")
        return [*([said] if said else []), *(["", "next", *step_lines(self.steps, columns)] if self.steps else [])]


def vendors_without_hooks(crew: Crewroom, wishes: Sequence[AgentWish]) -> list[str]:
    """Programs that are here and will be started, and to whom mail would not come by itself."""
    names = dict.fromkeys(wish.runtime for wish in wishes if wish.runtime in crew.runtimes)
    found = [look(crew.runtimes[name], crew.find_program, lambda _: "", crew.set_up) for name in names]
    return [one.runtime.vendor for one in found if one.is_ready and not all(one.tools.values())]


def offer_setup(session: Session, crew: Crewroom, wishes: Sequence[AgentWish]) -> list[str]:
    """Ask a person whether hooks and server are to be set up; the vendors that are left without."""
    vendors = vendors_without_hooks(crew, wishes)
    if not vendors or not can_ask(session):
        return vendors
    words = f"{', '.join(vendors)}: atm's hooks are not set up, so mail would not come by itself. Run `atm init` now?"
    if not said_yes_to(words):
        return vendors
    from atm.ui.cli.setup.init import set_up

    return [] if set_up(session, vendors) == 0 else vendors


def bring_daemon(session: Session) -> str:
    from atm.wiring.daemon import find_daemon, start_daemon

    if find_daemon(session.layout) is not None:
        return RUNS
    if not session.may_start_daemon:
        return OFF
    with Spinner(session, "waiting for the daemon to start"):
        problem = start_daemon(session.layout, session.environment, wait=True)
    if problem:
        session.warn(f"Warning: no daemon could be started, so nobody wakes idle agents: {problem}")
    return FAILED if problem else STARTED


def steps_after(session: Session, team: str, done: Sequence[Upped], without: Sequence[str] = ()) -> list[NextStep]:
    """What to type next, each as it stands."""
    well = [one for one in done if one.record is not None]
    suffix = "" if _is_meant_here(session, team) else f" --team {shell_word(team)}"
    missing = [one for one in done if isinstance(one.error, RuntimeMissing)]
    found = []
    if missing:
        others = up_command([f"{SCRIPT}:{one.wish.member}" for one in missing])
        found.append(NextStep(f"{others}{suffix}", "agents that run commands, and need no program"))
    if without:
        found.append(
            NextStep(f"atm init --vendor {shell_word(','.join(without))}", "so that mail reaches them by itself")
        )
    if not well:
        return found
    names = [one.wish.member for one in well]
    first = greeting(names[0], names[-1], is_script=well[0].wish.runtime == SCRIPT)
    return [
        *found,
        NextStep(f"{first.command}{suffix}", first.why),
        NextStep(f"atm status{suffix}", "who is here") if suffix else HOME,
        *screen_steps(screen_command(), "the live screen", suffix),
        NextStep(f"atm peek{suffix} {shell_words(names[0])}", f"what {one_line(names[0])} said last"),
        NextStep(f"atm down{suffix}", "the agents end; what they did stays"),
    ]


def _is_meant_here(session: Session, team: str) -> bool:
    """Would a command that names no team mean this one? A team that was taken back would be made anew."""
    if session.room.rosters.find(team) is None:
        return True
    named = session.home_team()
    if named:
        return named.casefold() == team.casefold()
    try:
        return choose_team(session.room, session.whereabouts).team == team
    except NoSuchTeam:
        return False
