"""`atm run --resume RUN --detach`: the loop in a process of its own, which outlives its terminal or page."""

from __future__ import annotations

import time

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line, shell_words
from atm.runs.rules.memory import ENDED, RESUMED, STARTED
from atm.ui.cli.runs.beginning import take_up
from atm.wiring.files import interruptions
from atm.wiring.runs import start_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.ports import LoopProcess
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

PATIENCE = 15.0
"""Seconds in which the new process has to take the run up; the page waits a little longer for this command."""
NAP = 0.05
BEGUN = (STARTED, RESUMED, ENDED)


def resume_in_background(args: Args, session: Session, desk: Runroom, order: RunOrder) -> int:
    """What can be refused is refused here, in the caller's sight; then the process starts, and says that it has it."""
    with desk.runs.hold(order.team):
        order = take_up(args, session, desk, order)
    _, offset = desk.runs.events_since(order.team, order.run, 0)
    loop = start_loop(session.layout, session.environment, order)
    _wait_until_taken_up(desk, order, offset, loop)
    loop.leave()
    team = shell_words(order.team)
    words = [
        f"run {order.run} is resumed in the background, by process {loop.pid}",
        f"  watch it: atm top --team {team}; end it: atm stop --team {team}",
        f"  its output: {one_line(loop.log)}",
    ]
    facts = {"action": "run", "team": order.team, "run": order.run, "outcome": "resumed"}
    session.tell({**facts, "pid": loop.pid, "log": loop.log}, "\n".join(words))
    return 0


def _wait_until_taken_up(desk: Runroom, order: RunOrder, offset: int, loop: LoopProcess) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        has_ended = loop.has_ended()  # before its events are read: it writes them first
        events, _ = desk.runs.events_since(order.team, order.run, offset)
        if any(event.kind in BEGUN for event in events):
            return
        if has_ended:
            said, remedy = _refusal(loop.last_words())
            raise AtmError(f"run {order.run} was not resumed: {said}", remedy or f"see {loop.log}", loop.log)
        with interruptions:
            time.sleep(NAP)


def _refusal(output: str) -> tuple[str, str]:
    """The error and its remedy, as the command prints them."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("error:").strip() for line in lines if line.startswith("error:")]
    fixes = [line.removeprefix("fix:").strip() for line in lines if line.startswith("fix:")]
    said = errors[-1] if errors else lines[-1] if lines else "its process ended without a word"
    return one_line(said), one_line(fixes[-1]) if fixes else ""
