"""Looking after a run from a terminal, a pipe or a program: the loop, and what is seen of it."""

from __future__ import annotations

import shutil
import sys

from atm.core.untrusted_text import many_lines
from atm.runs.formats.event_line import event_fields
from atm.runs.rules.actions import PARTIAL, STOPPED, SUCCESS
from atm.runs.rules.standing import resume_command
from atm.runs.services.looping import RunLoop
from atm.ui.cli.main import BY_SIGNAL, end_echoed_line
from atm.ui.cli.render import Style
from atm.ui.cli.runs.waiting import wait_for
from atm.ui.cli.session import LAST_WORDS
from atm.ui.cli.waiting import Spinner
from atm.ui.views.fitting import cut, last_lines
from atm.ui.views.runs import event_line, progress, summary
from atm.wiring.files import interruptions
from atm.wiring.runs import RunNews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.runs.rules.memory import RunEvent
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def watch(session: Session, args: Args, desk: Runroom, order: RunOrder) -> int:
    """Until it ends, or somebody interrupts it."""
    if any(seat.backend == "tmux" for seat in order.everybody):
        session.need_daemon("mail to agents in windows")
    loop = RunLoop(desk, order)
    seen = _Seen(session, loop, args.text("display") or "inline")
    try:
        _drive(loop, seen, RunNews(session.layout, order.team, order.lead))
    except KeyboardInterrupt as error:
        interruptions.forget()
        seen.say("interrupted: the agents end, their work is saved …", after_echo=True)
        try:
            with Spinner(session, f"waiting for the agents of {order.team} to end"):
                last = loop.pause("a person interrupted it")
        except KeyboardInterrupt:
            resume = resume_command(order.team, order.run)
            seen.say(f"interrupted again: some agents may still run; resume it: {resume}", after_echo=True)
            raise
        seen.show(last)
        seen.end()
        return BY_SIGNAL + (error.args[0] if error.args else 2)
    except Exception as error:
        loop.pause(f"the loop ended: {error}")  # whatever it was, nobody is left behind
        raise
    finally:
        seen.clear()
    seen.end()
    outcome = str(loop.report.get("outcome")) if loop.report is not None else STOPPED
    tasks = loop.report.get("tasks") if loop.report is not None else {}
    has_some = isinstance(tasks, dict) and bool(tasks.get("completed"))
    return 0 if outcome == SUCCESS else 2 if outcome == PARTIAL or (outcome == STOPPED and has_some) else 1


def _drive(loop: RunLoop, seen: _Seen, news: RunNews) -> None:
    seen.show(loop.take_up())
    while loop.report is None:
        known = news.now()
        seen.show(loop.tick())
        if loop.report is None:
            wait_for(news, known)


class _Seen:
    """What is seen: lines of JSON, a picture that moves, plain lines, or nothing until the end."""

    def __init__(self, session: Session, loop: RunLoop, display: str) -> None:
        self._session = session
        self._loop = loop
        self._style = Style(session)
        self._is_quiet = display == "none"
        is_dumb = session.environment.get("TERM", "dumb") == "dumb"
        self._live = sys.stdout.isatty() and not session.as_json and not self._is_quiet and not is_dumb
        self._drawn = 0

    def show(self, events: Sequence[RunEvent]) -> None:
        order = self._loop.order
        if self._session.as_json:
            for event in events:
                self._session.print_json(event_fields(event, order.team, order.run))
            self._session.flush()
            return
        if self._is_quiet:
            return
        titles, me = self._titles(), self._session.settings.text("core.identity")
        lines = [line for line in (event_line(event, titles, me) for event in events) if line is not None]
        if self._live:
            most = shutil.get_terminal_size().columns - 1
            self._redraw([self._style(cut(line, most), colour) for text, colour in lines for line in text.split("\n")])
        else:
            for text, _ in lines:
                self._session.print(text)
            if lines:
                self._session.flush()

    def _titles(self) -> dict[str, str]:
        view = self._loop.view
        return {card.id: card.subject for card in view.board.cards.values()} if view is not None else {}

    def _redraw(self, lines: list[str]) -> None:
        loop = self._loop
        size = shutil.get_terminal_size()
        picture: list[str] = []
        if loop.view is not None:
            now = loop.desk.clock.now()
            picture = progress(loop.order, loop.memory, loop.view, self._style, size.columns, now, self._said())
            picture = picture[: max(3, size.lines - 2)]
        said = "".join(f"\r\x1b[K{line}\n" for line in [*lines, *picture])
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        with interruptions:
            sys.stdout.write(f"{up}\r\x1b[J{said}")
            sys.stdout.flush()
        self._drawn = len(picture)

    def _said(self) -> dict[str, str]:
        """The last line of what each agent says that is at work: of a check that runs, how far it is."""
        view, team, records = self._loop.view, self._loop.order.team, self._loop.desk.crew.records
        at_work = [one.name for one in view.agents.values() if one.is_at_work] if view is not None else []
        ends = {name: last_lines(records.log_end(team, name, LAST_WORDS), 1) for name in at_work}
        return {name: lines[0] for name, lines in ends.items() if lines}

    def clear(self) -> None:
        """The picture goes; what was said stays."""
        if self._live and self._drawn:
            drawn, self._drawn = self._drawn, 0
            try:
                sys.stdout.write(f"\x1b[{drawn}A\r\x1b[J")
                sys.stdout.flush()
            except (OSError, ValueError):
                return  # nobody looks any more

    def say(self, text: str, *, after_echo: bool = False) -> None:
        """`after_echo`: the terminal has just drawn `^C` where the cursor is, and the text begins below it."""
        if not self._session.as_json:
            was_drawn = bool(self._drawn)
            self.clear()
            if after_echo and not was_drawn:  # else the echo went with the picture
                end_echoed_line(sys.stdout)
            self._session.print(many_lines(text))
            self._session.flush()

    def end(self) -> None:
        self.clear()
        report = self._loop.report
        assert report is not None
        lines = summary(report, self._style)
        self._session.tell({**report}, "\n".join(["", *lines]))
