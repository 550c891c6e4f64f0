"""What `atm doctor` finds on boards: each with the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from atm.domain.errors import AtmError
from atm.domain.team.liveness import OFFLINE
from atm.services.board.working import release_silent
from atm.services.checkup.findings import FIX, NOTE, PROBLEM, WARNING, Finding, shell_word
from atm.services.team.presence import liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.board.dependencies import Board
    from atm.services.board.boardroom import Boardroom


def examine_board(boardroom: Boardroom, team: str) -> Iterator[Finding]:
    """Reads only."""
    unfinished = boardroom.tasks.unfinished(team)
    if unfinished is not None:
        what = f"a change of several tasks of {team} was cut off; the next change finishes it"
        yield Finding("unfinished-task-change", NOTE, what, FIX, unfinished, partial(_finish, boardroom, team))
    try:
        board = boardroom.tasks.board(team)
    except AtmError as error:
        yield Finding("unreadable-board", PROBLEM, str(error), f"ls -la {shell_word(error.path)}", error.path)
        return
    yield from _unreadable(boardroom, team, board)
    yield from _dependencies(boardroom, team, board)
    yield from _silent(boardroom, team, board)


def _finish(boardroom: Boardroom, team: str) -> None:
    with boardroom.tasks.turn(team):
        return


def _unreadable(boardroom: Boardroom, team: str, board: Board) -> Iterator[Finding]:
    for card in board.sorted():
        if card.problem:
            path = boardroom.tasks.path(team, card.id)
            word = shell_word(path)
            what = f"{path} is no task: {card.problem}; what depends on #{card.id} waits for ever"
            yield Finding("unreadable-task", PROBLEM, what, f"mv {word} {shell_word(path + '.broken')}", path)


def _dependencies(boardroom: Boardroom, team: str, board: Board) -> Iterator[Finding]:
    for card in board.sorted():
        path = boardroom.tasks.path(team, card.id)
        for id in board.broken_blockers(card) if not card.is_finished else ():
            what = f"#{card.id} waits for #{id}, which cannot be found"
            yield Finding("broken-dependency", WARNING, what, f"atm tasks depend {card.id} --off {id} -t {team}", path)
    for number, why in board.lost().items():
        if "circle" in why:
            first = next(iter(board.blockers(board.cards[number])))
            what = f"#{number} can never be done: {why}"
            command = f"atm tasks depend {number} --off {first} -t {team}"
            yield Finding("dependency-circle", WARNING, what, command, boardroom.tasks.path(team, str(number)))


def _silent(boardroom: Boardroom, team: str, board: Board) -> Iterator[Finding]:
    for card in board.sorted():
        if card.claim_id and not card.waits_for_others:
            seen = liveness(boardroom.presence, team, card.owner, boardroom.clock.now())
            if seen.value == OFFLINE:
                what = f"#{card.id} is held by {card.owner}, who is gone: {seen.source}"
                command = f"atm tasks release --silent -t {team}"
                path = boardroom.tasks.path(team, card.id)
                yield Finding("silent-claimant", WARNING, what, command, path, partial(release_silent, boardroom, team))
