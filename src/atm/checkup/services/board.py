"""What `atm doctor` finds on boards: each with the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from atm.board.services.leaving import hand_back_departed, has_departed, is_in_review, release_silent, why_lost
from atm.checkup.services.findings import FIX, NOTE, PROBLEM, WARNING, Finding
from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.board.services.boardroom import Boardroom
    from atm.team.rules.team import Team


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
    roster = boardroom.room.rosters.load(team)
    yield from _silent(boardroom, roster, board)
    yield from _departed(boardroom, roster, board)


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
            yield Finding(
                "broken-dependency",
                WARNING,
                what,
                f"atm tasks depend {card.id} --off {shell_word(id)} -t {shell_word(team)}",
                path,
            )
    for number, why in board.lost().items():
        if "circle" in why:
            first = next(iter(board.blockers(board.cards[number])))
            what = f"#{number} can never be done: {why}"
            command = f"atm tasks depend {number} --off {shell_word(first)} -t {shell_word(team)}"
            yield Finding("dependency-circle", WARNING, what, command, boardroom.tasks.path(team, str(number)))


def _silent(boardroom: Boardroom, team: Team, board: Board) -> Iterator[Finding]:
    for card in board.sorted():
        why = why_lost(boardroom, team, card) if card.claim_id else ""
        if why:
            what = f"#{card.id} is held by {card.owner}, who is gone: {why}"
            mend = partial(release_silent, boardroom, team.name)
            path = boardroom.tasks.path(team.name, card.id)
            yield Finding("silent-claimant", WARNING, what, _release(team), path, mend)


def _departed(boardroom: Boardroom, team: Team, board: Board) -> Iterator[Finding]:
    """Another program took them off the roster: what they held, or shall review, waits for nobody."""
    for card in board.sorted():
        path = boardroom.tasks.path(team.name, card.id)
        if card.claim_id and card.waits_for_others and has_departed(boardroom, team, card.owner):
            what = f"#{card.id} waits for an answer, and {card.owner}, who holds it, is not in {team.name} any more"
            command = f"atm tasks release {card.id} -t {shell_word(team.name)}"
            yield Finding("departed-owner", WARNING, what, command, path)
        elif _is_orphan(boardroom, team, card):
            what = f"#{card.id} belongs to {card.owner}, who is not in {team.name}: nobody will begin it"
            command = f"atm tasks assign {card.id} --to {shell_word(team.lead)} -t {shell_word(team.name)}"
            yield Finding("departed-owner", WARNING, what, command, path)
        if is_in_review(card) and has_departed(boardroom, team, card.reviewer):
            what = f"#{card.id} waits for a review by {card.reviewer}, who is not in {team.name} any more"
            mend = partial(hand_back_departed, boardroom, team.name)
            yield Finding("departed-reviewer", WARNING, what, _release(team), path, mend)


def _is_orphan(boardroom: Boardroom, team: Team, card: Card) -> bool:
    """Given to somebody who is not there. What was claimed, `silent-claimant` finds."""
    is_open = bool(card.owner) and not (card.is_finished or card.problem or card.claim_id)
    return is_open and not is_in_review(card) and has_departed(boardroom, team, card.owner)


def _release(team: Team) -> str:
    return f"atm tasks release --silent -t {shell_word(team.name)}"
