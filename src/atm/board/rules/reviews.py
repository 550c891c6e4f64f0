"""
Reviews: request, start, approve, request changes; and whose turn it is.

Only the current cycle counts (seed 002, section 8.2.2). An old reviewer never comes back by itself, the owner never
reviews their own work, and where it cannot be proven who reviews, nobody does, and the lead and the owner are told why.
"""

from __future__ import annotations

from atm.board.rules.tasks import IN_PROGRESS, REVIEW, Change
from atm.core.names import same_name
from atm.core.untrusted_text import shell_word
from atm.core.work_errors import ReviewRefused
from atm.team.rules.team import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.board.rules.tasks import Stamp, Task
    from atm.core.plain import Plain, Record

REQUESTED, STARTED = "review_requested", "review_started"
APPROVED, CHANGES = "review_approved", "review_changes_requested"
_RETURNS_TO_WORK = (APPROVED, CHANGES, "task_created")
_STATUS_THAT_ENDS_A_CYCLE = ("pending", "in_progress", "completed", "deleted", "failed", "cancelled")


class Reviewer:
    """Who reviews now. None with a reason where that cannot be proven."""

    __slots__ = ("diagnostics", "is_unclear", "name", "opened_by")

    def __init__(
        self, name: str | None, diagnostics: Sequence[str] = (), *, is_unclear: bool = False, opened_by: str = ""
    ) -> None:
        self.name = name
        self.opened_by = opened_by
        """The id of the event that began this cycle."""
        self.diagnostics = list(diagnostics)
        self.is_unclear = is_unclear
        """Several could be meant, or the owner is: then nobody decides before a reviewer starts the review."""


def current_cycle(events: Sequence[Record]) -> list[Record]:
    """The review events since the task last went back to work."""
    cycle: list[Record] = []
    for event in events:
        kind = event.get("type")
        if kind == REQUESTED:
            cycle = [event]  # whoever started before another reviewer was asked is not asked any more
        elif kind == STARTED:
            cycle.append(event)
        elif kind in _RETURNS_TO_WORK or (kind == "status_changed" and event.get("to") in _STATUS_THAT_ENDS_A_CYCLE):
            cycle = []
    return cycle


def current_reviewer(task: Task) -> Reviewer:
    """
    Whose turn it is: the reviewer on the card, else who started, else who was asked, all in the current cycle only.

    Never the owner, the lead or a former reviewer by default.
    """
    if task.review != REVIEW:
        return Reviewer(None)
    cycle = current_cycle(task.events)
    found = _reviewer_in(task, cycle)
    found.opened_by = str(cycle[0].get("id") or "") if cycle else ""
    return found


def _reviewer_in(task: Task, cycle: list[Record]) -> Reviewer:
    if not cycle:  # the seed's rule for a card without its events: what stands on the card counts
        said = "no review event since the task went back to work"
        return _not_owner(task, task.reviewer, [f"{said}; the card counts" if task.reviewer else said])
    proven = _proven(_named(cycle, STARTED, "actor"), _named(cycle, REQUESTED, "reviewer"))
    if not task.reviewer:
        return proven if proven.name is None else _not_owner(task, proven.name, [])
    if proven.name and not same_name(task.reviewer, proven.name):
        proven.diagnostics.append(f"the card says {task.reviewer} and the history says {proven.name}; the card counts")
    return _not_owner(task, task.reviewer, proven.diagnostics)


def _not_owner(task: Task, name: str, problems: list[str]) -> Reviewer:
    if name and same_name(name, task.owner):
        return Reviewer(None, [*problems, f"{name} cannot review their own task"], is_unclear=True)
    return Reviewer(name or None, problems)


def _proven(started: list[str], asked: list[str]) -> Reviewer:
    """By the events alone: the one who started, else whoever was asked last."""
    if len(started) > 1:
        said = f"{' and '.join(started)} started the review: it is not clear whose turn it is"
        return Reviewer(None, [said], is_unclear=True)
    if started or asked:
        return Reviewer((started or asked)[-1])
    return Reviewer(None, ["nobody in particular was asked to review"])


def _named(cycle: Sequence[Record], kind: str, key: str) -> list[str]:
    """Each once, whoever was named last at the end."""
    found: dict[str, str] = {}
    for event in cycle:
        name = event.get(key)
        if event.get("type") == kind and isinstance(name, str) and name:
            found[name.casefold()] = found.pop(name.casefold(), name)
    return list(found.values())


def kept_events(events: Sequence[Record], most: int) -> list[Record]:
    """The events that stay in the task's own file: the last ones, and always those of the review that is going on."""
    cycle = {id(event) for event in current_cycle(events)}
    too_many = len(events) - most
    kept = []
    for event in events:
        if too_many > 0 and id(event) not in cycle:
            too_many -= 1
        else:
            kept.append(event)
    return kept


def check_may_ask(task: Task, reviewer: str, is_boss: Callable[[str], bool]) -> None:
    """Whom the lead or a human named as reviewer, the owner does not replace (D26)."""
    named, by = task.text("reviewer"), task.text("reviewerBy") or task.text("createdBy")
    if not reviewer or not named or same_name(named, reviewer) or same_name(named, task.owner) or not is_boss(by):
        return
    raise ReviewRefused(f"{by} named {named} as reviewer of #{task.id}", f"ask {named}, or have {by} name another")


def request(task: Task, reviewer: str, by: Stamp, *, for_good: bool = False) -> Change:
    """
    The work is done as far as its owner is concerned; a reviewer shall look.

    A reviewer whom a boss names is the task's own `for_good`, also in the next round.
    """
    if task.status != IN_PROGRESS or task.outcome:
        raise ReviewRefused(
            f"#{task.id} is {task.outcome or task.status}", "a review is asked for while a task is in progress"
        )
    if reviewer and same_name(reviewer, task.owner):
        raise ReviewRefused(f"{reviewer} owns #{task.id} and cannot review it", "ask somebody else")
    # Whoever the task itself names, unless it is their own now. Never whoever reviewed it before.
    named = task.text("reviewer")
    asked = reviewer or ("" if same_name(named, task.owner) else named)
    event = by.event(REQUESTED, reviewer=asked)
    own: dict[str, Plain] = {"review": {"state": REVIEW, "reviewer": asked or None, "since": by.at}}
    if reviewer and for_good:
        own |= {"reviewer": reviewer, "reviewerBy": by.actor}
    return Change(event, own=own)


def hand_back(task: Task, member: str, by: Stamp, is_boss: Callable[[str], bool]) -> Change | None:
    """
    A reviewer has left: nobody who comes under the same name later reviews in their place (D26).

    The role goes back to whoever gave it, if that was the lead or a human, else to whoever starts the review. None if
    the member has no part in it.
    """
    named, why = task.text("reviewer"), f"{member} left the team"
    own: dict[str, Plain] = {}
    if same_name(named, member):
        named = _giver(task, member, is_boss)
        own["reviewer"] = named or None
    if task.review == REVIEW and same_name(current_reviewer(task).name or "", member):
        asked = "" if same_name(named, task.owner) else named
        own["review"] = {"state": REVIEW, "reviewer": asked or None, "since": by.at}
        return Change(by.event(REQUESTED, reviewer=asked, reason=why), own=own)  # a cycle of its own: theirs is over
    return Change(by.event("reviewer_changed", reviewer=named, reason=why), own=own) if own else None


def _giver(task: Task, member: str, is_boss: Callable[[str], bool]) -> str:
    """Who has the role back: the boss who named the member; a human, where that boss cannot review this task."""
    by = task.text("reviewerBy") or task.text("createdBy")
    if not is_boss(by):
        return ""
    return HUMAN if same_name(by, member) or same_name(by, task.owner) else by


def start(task: Task, by: Stamp) -> Change:
    """Whoever starts a review that nobody in particular was asked for is its reviewer."""
    _check_reviewer(task, by.actor, "start")
    return Change(by.event(STARTED), own={"review": {**task.part("review"), "reviewer": by.actor, "started": by.at}})


def approve(task: Task, by: Stamp, note: str) -> Change:
    _check_reviewer(task, by.actor, "approve")
    own: dict[str, Plain] = {"review": {"state": "approved", "reviewer": by.actor, "at": by.at, "note": note or None}}
    return Change(by.event(APPROVED, note=note), own=own)


def request_changes(task: Task, by: Stamp, note: str) -> Change:
    """Back to the owner, who goes on where they stopped."""
    _check_reviewer(task, by.actor, "ask for changes of")
    if not note.strip():
        raise ReviewRefused("changes were asked for without saying which", "say what is to be changed, with --note")
    own: dict[str, Plain] = {"review": {"state": "changes_requested", "reviewer": by.actor, "at": by.at, "note": note}}
    return Change(by.event(CHANGES, note=note), own=own)


def _check_reviewer(task: Task, who: str, what: str) -> None:
    if task.review != REVIEW:
        raise ReviewRefused(f"#{task.id} is not in review", f"ask for one: `atm tasks review request {task.id}`")
    if same_name(who, task.owner):
        raise ReviewRefused(f"{who} owns #{task.id} and cannot {what} their own work", "somebody else must review it")
    found = current_reviewer(task)
    named = found.name
    if found.is_unclear and what != "start":
        raise ReviewRefused(
            f"it is not clear who reviews #{task.id}: {'; '.join(found.diagnostics)}",
            f"start the review first: `atm tasks review start {task.id}`",
        )
    if named and not same_name(named, who):
        raise ReviewRefused(
            f"{named} reviews #{task.id}, not {who}",
            f"ask for another reviewer: `atm tasks review request {task.id} --reviewer {shell_word(who)}`",
        )


def check_may_complete(task: Task) -> None:
    """A task in review, or one that needs a review, is not completed over the reviewer's head."""
    if task.review == REVIEW:
        raise ReviewRefused(f"#{task.id} is in review", "wait for the reviewer, or ask another one")
    if task.review == "changes_requested" and task.details.get("needsReview") is True:
        raise ReviewRefused(f"changes were asked for in #{task.id}", "make them and ask for a review again")
    if task.details.get("needsReview") is True and task.review != "approved":
        raise ReviewRefused(f"#{task.id} must be reviewed first", f"ask for it: `atm tasks review request {task.id}`")
