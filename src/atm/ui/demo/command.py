"""`atm demo`: watch a team work off a plan, a storm of mail, or a crew at a board, survive kills."""

from __future__ import annotations

import sys

from atm.core.errors import UsageError
from atm.ui.cli.arguments import NUMBER, WHOLE, Args, Command, Option
from atm.ui.cli.render import Style
from atm.ui.views.style import BOLD, DIM, GREEN, RED
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session
    from atm.ui.demo.storm_run import Tally

COMMAND = Command(
    "demo",
    "watch a team work off a plan, and survive a crash and the death of its lead",
    text=(
        "In a sandbox of its own, without a model or a network: `atm run` with four agents and a plan whose tasks "
        "depend on one another. One agent crashes, a plan and a release wait for a yes, the lead is ended with "
        "kill -9, and the same command, typed once more, resumes the run. Exit code 1 unless every task "
        "was completed exactly once, every commit is on its branch, the tests pass, and nothing is left.\n"
        "With --storm: 8 senders, a rival that rewrites the inbox and respects no lock, a killer that ends senders "
        "with kill -9, a reader that consumes. Exit code 1 if a message was lost or shown twice.\n"
        "With --board: processes that work off tasks which depend on one another, and are killed meanwhile; the "
        "history is then audited. Exit code 1 unless every task was finished exactly once, in order."
    ),
    options=(
        Option("--storm", help="the mail storm"),
        Option("--board", help="the crew at a board"),
        Option("--seconds", value="N", kind=NUMBER, default=12.0, help="how long the storm blows"),
        Option("--tasks", value="N", kind=WHOLE, default=200, help="how many tasks the crew at the board has"),
        Option("--workers", value="N", kind=WHOLE, default=10, help="how many processes that crew is"),
        Option("--seed", value="N", kind=WHOLE, help="repeat the dice of an earlier storm or board"),
        Option("--keep", help="keep the sandbox to look at"),
        Option("--no-web", help="end without the page of the run"),
    ),
    examples=("atm demo", "atm demo --storm", "atm demo --board", "atm demo --storm --seconds 60 --keep"),
)

WIDTH = 30


def execute(args: Args, session: Session) -> int:
    if args.flag("board"):
        from atm.ui.demo.board import show_board

        if args.flag("storm"):
            raise UsageError("--storm and --board are two demonstrations", "leave one of them out")
        return show_board(args, session)
    if not args.flag("storm"):
        from atm.ui.demo.run_show import show_run

        return show_run(args, session)
    return _show_storm(args, session)


def _show_storm(args: Args, session: Session) -> int:
    from atm.ui.demo.storm_run import SENDERS, Storm

    seconds = args.number("seconds") or 12.0
    storm = Storm(seconds, args.whole("seed"))
    style = Style(session)
    live = sys.stdout.isatty() and not session.as_json
    if not session.as_json:
        session.print(
            f"{style('A storm of mail', BOLD)}: {SENDERS} senders, a rival that takes no locks, a killer, one reader."
        )
        session.print(style(f"sandbox {storm.sandbox}", DIM))

    def watch(gone: float, tally: Tally) -> None:
        if live:
            sys.stdout.write("\r\x1b[K" + _line(gone, seconds, tally))
            sys.stdout.flush()

    tally = storm.blow(watch)
    if live:
        sys.stdout.write("\r\x1b[K")
    if session.as_json:
        session.print_json(_as_json(tally, storm.sandbox if args.flag("keep") else None))
    else:
        _show(session, style, tally, storm.sandbox if args.flag("keep") else None)
    if not args.flag("keep") and tally.clean:
        storm.remove()
    return 0 if tally.clean else 1


def _line(gone: float, seconds: float, tally: Tally) -> str:
    done = int(WIDTH * min(gone / seconds, 1.0))
    bar = "█" * done + "░" * (WIDTH - done)
    counts = f"sent {len(tally.sent)}  read {len(tally.read)}  kills {tally.kills}  rewrites {tally.rewrites}"
    return f"{bar} {gone:4.1f}s  {counts}"


def _rows(tally: Tally) -> list[tuple[str, int | str]]:
    return [
        ("reported as sent", len(tally.sent)),
        ("of these delivered and read", tally.delivered),
        ("went through the spool", tally.queued),
        ("still in the spool", tally.still_spooled),
        ("rows of the rival merged", tally.merged),
        ("rows dropped by the rival and put back", tally.restored),
        ("rewrites by the rival, without a lock", tally.rewrites),
        ("senders ended with kill -9", tally.kills),
        ("lost", tally.lost),
        ("doubled", tally.doubled),
        ("messages per second", f"{len(tally.sent) / tally.seconds:.0f}"),
    ]


def _show(session: Session, style: Style, tally: Tally, sandbox: str | None) -> None:
    session.print("\n".join(table(["What", "Count"], [[what, str(count)] for what, count in _rows(tally)], right=(1,))))
    if tally.clean:
        session.print(style("\nNothing was lost, nothing was doubled.", GREEN, BOLD))
    else:
        session.print(style("\nSomething was lost or doubled: this is a defect.", RED, BOLD))
    if sandbox:
        session.print(f"sandbox: {sandbox}")
    from atm.ui.demo.calling import first_to_type

    session.print("\nNext:")
    for line in first_to_type():
        session.print(line)
    session.print("  atm teams create my-team             # your first team")
    session.print("  atm teams add-member my-team ann     # and its first member")
    session.print('  atm send ann "hello" --team my-team  # her first message')
    session.print("  ATM_IDENTITY=ann atm read            # what she sees")


def _as_json(tally: Tally, sandbox: str | None) -> dict[str, object]:
    return {
        "action": "demo",
        "sent": len(tally.sent),
        "delivered": tally.delivered,
        "spooled": tally.queued,
        "still_spooled": tally.still_spooled,
        "merged_conflicts": tally.merged,
        "restored": tally.restored,
        "rewrites": tally.rewrites,
        "kills": tally.kills,
        "lost": tally.lost,
        "doubled": tally.doubled,
        "messages_per_second": round(len(tally.sent) / tally.seconds, 1),
        "sandbox": sandbox,
    }
