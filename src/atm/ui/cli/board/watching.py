"""`atm tasks watch`: changes of the board as they happen, whoever makes them."""

from __future__ import annotations

from atm.board.services.boardroom import list_name
from atm.core.untrusted_text import one_line
from atm.files.formats.times import to_iso
from atm.merges.rules.shown_state import shown_state
from atm.ui.cli.board.listing import summary
from atm.ui.cli.board.view import board_of
from atm.ui.cli.render import Style
from atm.ui.views.looks import look, word_of
from atm.ui.views.style import DIM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

    SeenTask = tuple[str, str, str]
    """The state on the board, the owner, and the state that is shown."""
    Seen = dict[str, SeenTask]

LOOK_EVERY = 0.5
"""Seconds: programs that write in place do not change the folder. An unchanged board costs no reading."""

NOTHING = 3


def _watch(args: Args, session: Session) -> int:
    """Exit code 3 if time ran out before everything was done."""
    from atm.wiring.events import build_watch

    team = list_name(session.boardroom, session.team(args))
    style, clock = Style(session), session.boardroom.clock
    limit = args.number("timeout")
    end = None if limit is None else clock.monotonic() + limit
    board = board_of(session, team)
    seen = _seen(board)
    if not session.as_json:
        session.print(style(summary(board), DIM))
        session.flush()
    with build_watch([session.layout.tasks(team), session.layout.merges(team)]) as watch:
        while not (args.flag("until_done") and board.is_resolved):
            if end is not None and clock.monotonic() >= end:
                return NOTHING if args.flag("until_done") else 0
            watch.wait(LOOK_EVERY if end is None else max(0.0, min(LOOK_EVERY, end - clock.monotonic())))
            board = board_of(session, team)
            seen = _tell_changes(session, style, board, seen)
    if not session.as_json:
        session.print(summary(board))
    return 0


def _seen(board: Board) -> Seen:
    return {
        card.id: (board.state(card), card.owner, shown_state(card, board).state)
        for card in board.cards.values()
        if not card.is_hidden
    }


def _tell_changes(session: Session, style: Style, board: Board, seen: Seen) -> Seen:
    now = _seen(board)
    for id in sorted({*now, *seen}, key=int):
        if now.get(id) != seen.get(id):
            _tell(session, style, board, id, seen.get(id), now.get(id))
    return now


def _tell(session: Session, style: Style, board: Board, id: str, was: SeenTask | None, now: SeenTask | None) -> None:
    state, owner, shown = now or ("gone", was[1] if was else "", "gone")
    known = board.cards.get(int(id)) or board.gone.get(int(id))
    subject = known.subject if known else ""
    if session.as_json:
        change = {
            "task": id,
            "subject": subject,
            "from": was[0] if was else None,
            "to": state,
            "shown": shown,
            "owner": owner or None,
        }
        session.print_json({**change, "at": to_iso(session.boardroom.clock.now())})
    else:
        by = f"  @{owner}" if owner else ""
        words = f"{look(shown).symbol} #{id} {word_of(was[2]) if was else 'new'} → {word_of(shown)}{by}  {subject}"
        session.print(style(one_line(words), *look(shown).codes))
    session.flush()


EXECUTE = {"tasks watch": _watch}
