"""Who takes part in a run: how many agents, of which runtimes, and whether they can do what is asked."""

from __future__ import annotations

from collections import Counter
from itertools import count as count_from

from atm.core.plain import counted
from atm.core.work_errors import BadTask
from atm.runs.rules.orders import AgentSeat, agents_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SCRIPT = "script"
RUNNER = "runner"
"""The script that is added where tasks say what to run and nobody else would do that."""


class AskedTask:
    """What seating has to know of a task."""

    __slots__ = ("has_commands", "place", "runtime", "wave")

    def __init__(self, place: str, runtime: str = "", *, has_commands: bool = False, wave: int = 0) -> None:
        self.place = place
        """Its name in messages."""
        self.runtime = runtime
        self.has_commands = has_commands
        self.wave = wave
        """Tasks of one wave can be done at the same time."""


def ready_at_once(tasks: Sequence[AskedTask]) -> int:
    """The most tasks of which none waits for another."""
    return max(Counter(one.wave for one in tasks).values(), default=0)


def agents_wanted(tasks: Sequence[AskedTask], runtimes: Sequence[str]) -> int:
    """`--agents auto`: one for every six tasks and for every runtime, and two where two tasks are ready at once."""
    return max(agents_for(len(tasks)), min(2, ready_at_once(tasks)), len(runtimes))


def why_so_many(
    tasks: Sequence[AskedTask], seats: Sequence[AgentSeat], runtimes: Sequence[str], agents: int | None
) -> str:
    """The number of agents and its reason, for the plan that is shown."""
    number = counted(len(seats), "agent")
    if agents is not None:
        return f"{number}: --agents {agents}{_and_more(len(seats) - agents)}"
    if not tasks:
        reason = "as no task is known yet" if seats else "there is nothing to do"
    elif runtimes:
        wanted = agents_wanted(tasks, runtimes)
        reason = f"{_why_wanted(tasks, wanted, len(runtimes))}{_and_more(len(seats) - wanted)}"
    else:
        reason = _why_wanted(tasks, len(seats), len({seat.runtime for seat in seats}))
    return f"{number}: {reason}; --agents changes it"


def _why_wanted(tasks: Sequence[AskedTask], wanted: int, runtimes: int) -> str:
    """Which of the rules of `agents_wanted` gave this number."""
    ready = ready_at_once(tasks)
    if wanted == 1:
        return "1 task is ready at a time"
    if wanted == min(2, ready):
        return f"{counted(ready, 'task')} are ready at once"
    if wanted > runtimes and wanted == agents_for(len(tasks)):
        return f"one for every six of {counted(len(tasks), 'task')}"
    return "one for each runtime that is named"


def _and_more(more: int) -> str:
    """Agents beside those that were asked for."""
    if more <= 0:
        return ""
    what = "for tasks that none of these can do"
    return f", and one {what}" if more == 1 else f", and {more} {what}"


def seats_for(
    tasks: Sequence[AskedTask], runtimes: Sequence[str], agents: int | None, taken: Collection[str] = ()
) -> list[AgentSeat]:
    """
    `a1`, `a2` … of the runtimes in turn; and one more for each runtime that only a task names. Names that are `taken`
    belong to agents that run already, or to people.

    None for `agents`: as many as `agents_wanted` says; of a runtime that only tasks name, two where two are ready.
    """
    minds = [name for name in runtimes if name != SCRIPT]
    count = agents or agents_wanted(tasks, runtimes)
    named = [runtimes[number % len(runtimes)] for number in range(count)] if runtimes else []
    missing = [one.runtime for one in tasks if one.runtime and one.runtime not in named]
    if any(one.has_commands and not one.runtime for one in tasks) and not minds and SCRIPT not in named:
        missing.append(SCRIPT)
    wanted = list(named)
    for name in dict.fromkeys(missing):
        ready = ready_at_once([one for one in tasks if one.runtime == name])
        wanted += [name] * (1 if agents else max(1, min(2, ready)))
    used = {name.casefold() for name in taken}
    names = (name for number in count_from(1) if (name := f"a{number}") not in used)
    seats = [AgentSeat(name=next(names), runtime=name, is_script=name == SCRIPT) for name in wanted]
    return [*seats, *runner_for(tasks, seats)]


def runner_for(tasks: Sequence[AskedTask], seats: Sequence[AgentSeat]) -> list[AgentSeat]:
    """What says what to run is done by a script, and not by a model that is told to."""
    is_wanted = any(one.has_commands and one.runtime in ("", SCRIPT) for one in tasks)
    has_one = any(seat.is_script for seat in seats)
    return [AgentSeat(name=RUNNER, runtime=SCRIPT, is_script=True)] if is_wanted and not has_one else []


def check_seats(tasks: Sequence[AskedTask], seats: Sequence[AgentSeat], known: Collection[str]) -> None:
    """Can every task be done by somebody?"""
    for one in tasks:
        if one.runtime and one.runtime not in known:
            from atm.core.names import nearest_name

            near = nearest_name(one.runtime, [*known])
            raise BadTask(
                f"{one.place}: there is no runtime {one.runtime!r}",
                f"did you mean {near!r}?" if near else "see `atm runtimes list`",
            )
        is_for_a_mind = not one.has_commands and one.runtime in ("", SCRIPT)
        if is_for_a_mind and all(seat.is_script for seat in seats):
            raise BadTask(
                f"{one.place} says nothing to run, and every agent is a script",
                "add `run` to it, or take a runtime with a model: --runtime claude",
            )
