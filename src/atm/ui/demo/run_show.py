"""`atm demo`: a team works off a plan, and survives what usually goes wrong."""

from __future__ import annotations

import sys
import time

from atm.core.untrusted_text import shell_word
from atm.runs.formats.report_text import seconds_in_words
from atm.runs.rules import memory as kinds
from atm.ui.cli.render import Style
from atm.ui.demo.calling import first_to_type
from atm.ui.demo.run_page import MINUTES, DemoPage, open_page
from atm.ui.demo.run_play import Play
from atm.ui.demo.run_proof import proofs
from atm.ui.demo.run_repository import AGENTS, TEAM
from atm.ui.demo.run_sandbox import DemoTrouble, Sandbox
from atm.ui.views.fitting import cut
from atm.ui.views.looks import look
from atm.ui.views.runs import event_line, pad, summary
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW
from atm.ui.views.team.signs import cell_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.memory import RunEvent
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.ui.demo.run_proof import Claim

WIDTH = 79
QUIET = (kinds.MESSAGE, kinds.STARTED, kinds.RESUMED, kinds.IDLE)
"""Kinds that are not shown: what they say is said in other lines."""
OPENING = (
    "Thirteen tasks, four agents, one plan. No model, no network; all else is real:",
    "worktrees, commands, tests, commits, merges. It ends as one branch that was",
    "checked. On the way one agent crashes, a plan and a release wait for a yes,",
    "two tasks change one line, two are right alone and wrong together, and the",
    "process that leads it all is killed.",
)
LOOKS = {
    "working": ("◉", "works", BLUE),
    "idle": ("○", "ready", DIM),
    "spawning": ("⟳", "starts", DIM),
    "error": ("▲", "gone", RED),
}


def show_run(args: Args, session: Session) -> int:
    sandbox = Sandbox(session.environment)
    stage = Stage(session, sandbox)
    began = time.monotonic()
    is_fine, page = False, None
    try:
        stage.open()
        sandbox.make()
        play = Play(sandbox, stage.tell, stage.show)
        play.perform()
        stage.clear()
        claims = proofs(sandbox, play.report, play.pids)
        is_fine = all(claim.is_so for claim in claims) and play.report.get("outcome") == "success"
        took = time.monotonic() - began
        page = open_page(sandbox) if is_fine and not args.flag("keep") and not args.flag("no_web") else None
        stage.close(play, claims, took, keeps=args.flag("keep") or not is_fine, page=page)
    except DemoTrouble as error:
        stage.clear()
        session.warn(f"the demo could not go on: {error}")
        session.warn(f"sandbox: {sandbox.folder}")
    except BaseException:  # Ctrl-C too: agents are ended and the sandbox goes, whatever happened
        stage.clear()
        sandbox.clear()
        sandbox.remove()
        raise
    if not is_fine:
        sandbox.clear()
    elif not args.flag("keep") and not isinstance(page, DemoPage):
        sandbox.remove()
    return 0 if is_fine else 1


class Stage:
    """What the viewer sees: lines, and on a terminal a picture below them that moves."""

    def __init__(self, session: Session, sandbox: Sandbox) -> None:
        self._session = session
        self._sandbox = sandbox
        self._style = Style(session)
        is_dumb = session.environment.get("TERM", "dumb") == "dumb"
        self._live = sys.stdout.isatty() and not session.as_json and not is_dumb
        self._drawn = 0

    def open(self) -> None:
        if not self._session.as_json:
            self._session.print(self._style("A team at work", BOLD))
            for line in OPENING:
                self._session.print(line)
            self._session.print(self._style(f"sandbox {self._sandbox.folder}", DIM))
            self._session.flush()

    def tell(self, play: Play, text: str) -> None:
        command, mark, remark = text.partition("    #")
        said = self._style(command, BOLD) + (self._style(f"    #{remark}", DIM) if mark else "")
        self._say(play, [said])

    def show(self, play: Play, event: RunEvent | None) -> None:
        line = event_line(event, play.titles) if event is not None and event.kind not in QUIET else None
        if line is not None or self._live:
            text, colour = line if line is not None else ("", "")
            self._say(play, [self._style(cut(one, WIDTH), colour) for one in text.split("\n") if one])

    def _say(self, play: Play, lines: list[str]) -> None:
        if self._session.as_json:
            return
        if not self._live:
            for line in lines:
                self._session.print(line)
            self._session.flush()
            return
        picture = self._picture(play)
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        sys.stdout.write(f"{up}\r\x1b[J" + "".join(f"{line}\n" for line in [*lines, *picture]))
        sys.stdout.flush()
        self._drawn = len(picture)

    def _picture(self, play: Play) -> list[str]:
        states = [task.state for _, task in sorted(play.memory.tasks.items(), key=lambda one: int(one[0]))]
        if not states:
            return []
        cells = "".join(self._style(cell_sign(state).mark, *look(state).codes) for state in states)
        took = seconds_in_words(play.memory.seconds(time.time()))
        done = f"{states.count('completed')} of {len(states)} done"
        head = f" {self._style(TEAM, BOLD)}  {cells}  {done}  {took}"
        return ["", head, *(self._agent(play, name) for name in AGENTS)]

    def _agent(self, play: Play, name: str) -> str:
        owned = {task.owner: id for id, task in play.memory.tasks.items() if task.state in ("in_progress", "planning")}
        seat, id = play.memory.seat(name), owned.get(name, "")
        sign, word, colour = LOOKS[seat.state if seat.state in LOOKS and (id or seat.state != "working") else "idle"]
        if id and play.memory.task(id).state == "planning":
            sign, word, colour = "✎", "plans", YELLOW
        what = f"#{id} {play.titles.get(id, '')}" if id else ""
        left = self._style(f" {sign} {pad(name, 6)} {pad(word, 7)}", colour)
        return left + cut(what, WIDTH - 20)

    def clear(self) -> None:
        if self._live and self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\r\x1b[J")
            sys.stdout.flush()
            self._drawn = 0

    def close(
        self, play: Play, claims: list[Claim], seconds: float, *, keeps: bool, page: DemoPage | str | None
    ) -> None:
        is_fine = all(claim.is_so for claim in claims)
        sandbox = self._sandbox.folder if keeps else None
        self._session.tell(
            {
                "action": "demo",
                "outcome": play.report.get("outcome"),
                "tasks": play.report.get("tasks"),
                "restarts": sum(seat.restarts for seat in play.memory.seats.values()),
                "approvals": play.report.get("approvals"),
                "kills": play.kills,
                "resolved": play.resolved,
                "sent_back": play.sent_back,
                "proofs": [{"text": one.text, "ok": one.is_so, "how": one.how} for one in claims],
                "clean": is_fine,
                "seconds": round(seconds, 1),
                "sandbox": sandbox,
                "url": page.url if isinstance(page, DemoPage) else None,
                "keeper": page.keeper if isinstance(page, DemoPage) else None,
            },
            "\n".join([*self._ending(play, claims, seconds, sandbox), *self._page(page)]),
        )

    def _ending(self, play: Play, claims: list[Claim], seconds: float, sandbox: str | None) -> list[str]:
        style = self._style
        head, *rest = summary(play.report, style)
        lines = ["", head, *(cut(line, WIDTH) for line in rest if sandbox or "report:" not in line), ""]
        for one in claims:
            mark = style("✓", GREEN) if one.is_so else style("✗", RED)
            lines.append(f"  {mark} {pad(one.text, 40)} {style(one.how, DIM)}")
        if all(one.is_so for one in claims):
            lines += ["", style(f"Nothing was lost. {seconds_in_words(seconds)} in all.", GREEN, BOLD)]
        else:
            lines += ["", style("Something is not as it should be: this is a defect.", RED, BOLD)]
        if sandbox:
            folder, home = shell_word(f"{sandbox}/{TEAM}"), shell_word(f"{sandbox}/home")
            lines += [f"look at it: cd {folder}; export ATM_HOME={home}; atm runs show"]
        return [*lines, *_next()]

    def _page(self, page: DemoPage | str | None) -> list[str]:
        if page is None:
            return []
        if isinstance(page, str):
            return ["", "The page of this run is not there:", f"  {page}"]
        return [
            "",
            "Look at this run, and replay how it came about:",
            f"  {page.url}",
            f"The link works once. All of it is taken away {MINUTES} minutes after the last look;",
            f"sooner: kill {shell_word(str(page.keeper))}",
        ]


def _next() -> list[str]:
    return [
        "",
        "Next, in a repository of yours:",
        *first_to_type(),
        "  atm run --plan plan.md --dry-run    # a checklist; what would be done",
        '  atm run "what you want"             # a model makes the plan; you say yes',
        "  atm demo --storm                    # mail that survives kills and rivals",
    ]
