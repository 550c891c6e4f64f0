"""`atm demo --board`: a crew of real processes on a board, with kills."""

from __future__ import annotations

import sys

from atm.ui.cli.render import Style
from atm.ui.views.looks import LOOKS
from atm.ui.views.style import BOLD, DIM, GREEN, RED
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.ui.demo.board_run import DemoReport

WIDTH = 30


def show_board(args: Args, session: Session) -> int:
    from atm.ui.demo.board_run import Crew

    crew = Crew(args.whole("tasks") or 200, args.whole("workers") or 10, args.whole("seed"))
    style, live = Style(session), sys.stdout.isatty() and not session.as_json
    if not session.as_json:
        session.print(
            f"{style('A crew at a board', BOLD)}: {crew.workers} processes, {crew.tasks} tasks that depend on one "
            "another, a killer. All of it through the command line."
        )
        session.print(style(f"sandbox {crew.sandbox}, seed {crew.seed}", DIM))

    def watch(gone: float, states: dict[str, int], report: DemoReport) -> None:
        if live:
            sys.stdout.write("\r\x1b[K" + _line(gone, states, report))
            sys.stdout.flush()

    report = crew.work(watch)
    if live:
        sys.stdout.write("\r\x1b[K")
    kept = crew.sandbox if args.flag("keep") or not report.clean else None
    if session.as_json:
        session.print_json(_as_json(report, crew.seed, kept))
    else:
        _show(session, style, report, kept)
    if kept is None:
        crew.remove()
    return 0 if report.clean else 1


def _line(gone: float, states: dict[str, int], report: DemoReport) -> str:
    done = int(WIDTH * states.get("completed", 0) / report.tasks)
    bar = "█" * done + "░" * (WIDTH - done)
    counts = "  ".join(f"{shown.symbol} {states[state]}" for state, shown in LOOKS.items() if states.get(state))
    return f"{bar} {gone:4.1f}s  {counts}  kills {report.kills}"


def _rows(report: DemoReport) -> list[tuple[str, int | str]]:
    proof = report.proof
    return [
        ("tasks", report.tasks),
        ("completed, each exactly once", proof.completed),
        ("claims", proof.claims),
        ("claims taken back from the dead", proof.taken_back),
        ("processes ended with kill -9", report.kills),
        ("of these replaced by a newcomer", report.newcomers),
        ("contradictions in the history", len(proof.violations)),
        ("tasks per second", f"{report.tasks / report.seconds:.1f}"),
    ]


def _show(session: Session, style: Style, report: DemoReport, sandbox: str | None) -> None:
    session.print(
        "\n".join(table(["What", "Count"], [[what, str(count)] for what, count in _rows(report)], right=(1,)))
    )
    for violation in report.proof.violations[:10]:
        session.print(f"  {violation}")
    if report.clean:
        words = "\nEvery task was finished exactly once, in order, by the one who held it. The history proves it."
        session.print(style(words, GREEN, BOLD))
    else:
        session.print(style("\nThe history contradicts itself, or work is left: this is a defect.", RED, BOLD))
    if sandbox:
        session.print(f"sandbox: {sandbox}")
        session.print(f"look at it: ATM_HOME={sandbox}/home atm tasks history --team crew")


def _as_json(report: DemoReport, seed: int, sandbox: str | None) -> dict[str, object]:
    proof = report.proof
    return {
        "action": "demo",
        "tasks": report.tasks,
        "workers": report.workers,
        "seed": seed,
        "states": report.states,
        "completed": proof.completed,
        "claims": proof.claims,
        "taken_back": proof.taken_back,
        "kills": report.kills,
        "newcomers": report.newcomers,
        "violations": proof.violations,
        "seconds": round(report.seconds, 1),
        "sandbox": sandbox,
    }
