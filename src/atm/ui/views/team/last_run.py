"""
The last run of a team in words, wherever a person looks: what happened to it, how long ago, and what to type next.

Pure: from the row of the snapshot and the time. A run that works is no news, and is not told here.
"""

from __future__ import annotations

from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.files.formats.dataclass_record import made_from
from atm.runs.rules.actions import STOPPED
from atm.runs.rules.standing import DIED, HELD, PAUSED, SUSPENDED
from atm.ui.views.team.seen import RunSeen
from atm.ui.views.team.spans import since, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain

SENTENCES = {
    DIED: "run {run} died{ago}: {done}{why}",
    PAUSED: "run {run} was interrupted{ago}: {done}",
    STOPPED: "run {run} was stopped{ago}: {done}{why}",
    SUSPENDED: "run {run} is suspended{during}, as by Ctrl-Z: {done}{why}",
    HELD: "run {run} waits for a person{during}: {done}{why}",
}
WORDS = {
    DIED: "run died",
    PAUSED: "run paused",
    STOPPED: "run stopped",
    SUSPENDED: "run suspended",
    HELD: "run held",
}
"""How a row of the first screen names it."""
NO_COMMAND = "it cannot be resumed, as its order cannot be read; begin another run: atm run"
MOST_ALIVE = 4


def last_runs(rows: Sequence[Plain]) -> list[RunSeen]:
    """Rows of a snapshot with types."""
    found = [made_from(RunSeen, row) for row in rows if isinstance(row, dict)]
    return [one for one in found if one is not None]


def needs_person(one: RunSeen) -> bool:
    return one.state in SENTENCES


def about_run(one: RunSeen) -> str:
    """How far it is, why it ended, and who still works: what stands beside its name."""
    return f"{_done(one)}{_why(one)}"


def run_sentence(one: RunSeen, now: float) -> str:
    waits = span(since(one.since, now))
    facts = {
        "run": one_line(one.run),
        "ago": f" {waits} ago" if waits else "",
        "during": f" for {waits}" if waits else "",
        "done": _done(one),
        "why": _why(one),
    }
    return SENTENCES[one.state].format_map(facts)


def run_lines(runs: Sequence[RunSeen], now: float) -> list[str]:
    """Two lines for each run that needs a person: a sentence, and the command."""
    lines: list[str] = []
    for one in runs:
        if needs_person(one):
            lines += [run_sentence(one, now), f"  {next_words(one)}"]
    return lines


def next_words(one: RunSeen) -> str:
    if not one.resume:
        return NO_COMMAND
    if one.state == SUSPENDED:
        return f"continue it: {one.resume} (or `fg` in its terminal)"
    return f"resume it: {one.resume}" if one.resumable else f"answer it: {one.resume}"


def _done(one: RunSeen) -> str:
    return f"{one.done} of {counted(one.tasks, 'task')} completed"


def _why(one: RunSeen) -> str:
    if one.state in (DIED, SUSPENDED):
        names = ", ".join(one_line(name) for name in one.alive[:MOST_ALIVE])
        more = f" and {len(one.alive) - MOST_ALIVE} more" if len(one.alive) > MOST_ALIVE else ""
        return f"; still running: {names}{more}" if one.alive else ""
    return f"; {one_line(one.why)}" if one.why and one.state != PAUSED else ""
