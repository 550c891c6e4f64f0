"""
What waits on a board for a person's word: reviews, plans and questions. Nothing goes on without it (D18), so
word goes out that it waits: first to whoever has to answer, then to the lead, then to the humans.
"""

from __future__ import annotations

from atm.board.rules.tasks import REVIEW
from atm.core.errors import AtmError
from atm.core.identifiers import derived_id
from atm.core.names import is_claudes_team, same_name
from atm.files.formats.times import from_iso
from atm.mail.formats.journal import histories
from atm.mail.services.escalation import SENDER
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose, deliver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Card
    from atm.board.services.boardroom import Boardroom
    from atm.team.rules.team import Team

MOST_STEPS = 3
A_REVIEW = "a review"


class Reminder:
    """Whoever has to answer, the lead or a human was told that a task waits."""

    __slots__ = ("card", "problem", "to", "what")

    def __init__(self, card: Card, what: str, to: str, problem: str = "") -> None:
        self.card = card
        self.what = what
        self.to = to
        self.problem = problem


def remind(boardroom: Boardroom, team: Team, minutes: float) -> list[Reminder]:
    """Tell whoever is due to be told, each once; what was told is known from the ledger."""
    if team.completed or is_claudes_team(team.name) or not boardroom.tasks.exists(team.name) or minutes <= 0:
        return []
    waiting = [card for card in boardroom.tasks.board(team.name).sorted() if _waits(card)]
    if not waiting:
        return []
    known = histories(boardroom.room.ledger.entries(team.name)[0])
    done: list[Reminder] = []
    for card in waiting:
        try:
            done += _remind_of(boardroom, team, card, minutes, known)
        except AtmError as error:  # one task that cannot be read must not silence the others
            done.append(Reminder(card, "", "", str(error)))
    return done


def _waits(card: Card) -> bool:
    return card.waits_for_others and not card.is_finished and not card.is_hidden and not card.problem


def _remind_of(
    boardroom: Boardroom, team: Team, card: Card, minutes: float, known: dict[tuple[str, str], list[str]]
) -> list[Reminder]:
    what, since = _since(boardroom, team.name, card)
    if since is None:
        return []
    steps = min(MOST_STEPS, int((boardroom.clock.now() - since) // (minutes * 60)))
    done = []
    for step in range(1, steps + 1):
        for name in _who(team, card, step):
            id = reminder_id(team.name, card.id, what, since, step, name)
            if (id, name) not in known:
                done.append(_tell(boardroom, team, card, what, since, name, id))
    return done


def reminder_id(team: str, task: str, what: str, since: float, step: int, name: str) -> str:
    """The stall watch uses the same for a review: whichever of the two is first, nobody hears it twice."""
    return derived_id(team, task, what, str(since), str(step), name)


def _since(boardroom: Boardroom, team: str, card: Card) -> tuple[str, float | None]:
    """What it waits for, and since when."""
    task = boardroom.tasks.read(team, card.id)
    if card.needs:
        what, at = "an answer", task.part("clarification").get("at")
    elif card.review == REVIEW:
        what, at = A_REVIEW, task.part("review").get("since")
    else:
        what, at = "approval of its plan", task.part("plan").get("at")
    return what, from_iso(at) if isinstance(at, str) else None


def _who(team: Team, card: Card, step: int) -> list[str]:
    """Never the one who waits."""
    humans = [member.name for member in team.members if member.kind == "human"]
    asked = humans if card.needs == "user" else [team.lead]
    first = [card.reviewer] if card.review == REVIEW and card.reviewer and not card.needs else asked
    names = {1: first, 2: [team.lead], MOST_STEPS: humans}[step]
    earlier = [] if step == 1 else first
    return [
        name
        for name in names
        if team.member(name) and not same_name(name, card.owner) and not any(same_name(name, one) for one in earlier)
    ]


def _tell(boardroom: Boardroom, team: Team, card: Card, what: str, since: float, name: str, id: str) -> Reminder:
    minutes = (boardroom.clock.now() - since) / 60
    head = f"#{card.id} {card.subject} (of {card.owner or 'nobody'})"
    text = f"{head} has waited for {what} for {minutes:.0f} min.\n\nSee `atm tasks show {card.id}`."
    letter = Draft(sender=SENDER, text=text, summary=f"#{card.id} waits for {what}: {card.subject}"[:100])
    try:
        to = find_recipient(boardroom.room, team.name, name)
        deliver(boardroom.room, to, compose(boardroom.room, to, letter, id), is_new=False)
    except AtmError as error:
        return Reminder(card, what, name, str(error))
    return Reminder(card, what, name)
