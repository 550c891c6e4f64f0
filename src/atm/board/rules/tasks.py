"""
Tasks: what is known of one, and how a change of it is written down.

On disk a task has one of Claude Code's three statuses, always. What Claude Code does not know (a failed or cancelled
task, a review, a plan that waits) stands under `metadata.atm`, and what follows from other tasks (blocked,
unreachable) is derived, never stored.

A `Card` is what the board knows of every task; a `Task` is the whole file. A rule takes one of them and gives a
`Change`: plain data, so that it can be made again on a foreign writer's version and after a crash.
"""

from __future__ import annotations

from atm.core.plain import dicts_in
from atm.core.work_errors import BadTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from atm.core.plain import Plain, Record

PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED)
"""Claude Code's, and the only ones that ever stand in a file's `status`."""

FAILED, CANCELLED = "failed", "cancelled"
"""Outcomes under `metadata.atm`. Such a task lies on disk as in_progress without an owner: Claude Code neither takes
it (it is not pending) nor goes on with what depends on it (it is not completed)."""

BLOCKED, UNREACHABLE, REVIEW, PLANNING, UNREADABLE = "blocked", "unreachable", "review", "planning", "unreadable"
"""States that are derived."""

PRIORITIES = ("critical", "high", "normal", "low")
MAX_RETRIES = 2
"""Two retries are three attempts (D19)."""

LONGEST_TIMEOUT = 30 * 86_400.0
"""Seconds that the limit of an attempt may be."""

LONGEST_SUBJECT = 500
LONGEST_TEXT = 100_000
LONGEST_KEY = 100
"""Characters of what a plan calls a task. It is a handle to name it by; what it is about goes into the title."""

MOST_EVENTS = 100
"""Events that stand in the task's own file; the history keeps all of them."""

MOST_COMMENTS = 200
MOST_NUMBERS = 10**15 - 1
"""The highest number of a task. Nobody gets so far; a file of another program may say so."""


CARD_FIELDS = (
    "number",
    "subject",
    "last_event",
    "blocked_by",
    "blocks",
    "priority",
    "status",
    "owner",
    "claim_id",
    "claimed_at",
    "failures",
    "max_retries",
    "files",
    "review",
    "reviewer",
    "needs",
    "plan",
    "outcome",
    "is_hidden",
    "problem",
    "key",
    "runtime",
    "source",
    "work",
    "merged",
)
"""In the order in which a card is made and the index remembers it: what is rarely set stands last."""


LONGEST_NUMBER = 15
"""Digits of a task's number."""


class Card:
    """What the board knows of a task."""

    __slots__ = CARD_FIELDS

    def __init__(
        self,
        number: int,
        subject: str = "",
        last_event: str = "",
        blocked_by: Sequence[str] = (),
        blocks: Sequence[str] = (),
        priority: str = "normal",
        status: str = PENDING,
        owner: str = "",
        claim_id: str = "",
        claimed_at: str = "",
        failures: int = 0,
        max_retries: int = MAX_RETRIES,
        files: Sequence[str] = (),
        review: str = "",
        reviewer: str = "",
        needs: str = "",
        plan: str = "",
        outcome: str = "",
        is_hidden: bool = False,
        problem: str = "",
        key: str = "",
        runtime: str = "",
        source: str = "",
        work: str = "",
        merged: str = "",
    ) -> None:
        self.number, self.subject = number, subject
        self.status, self.owner = status, owner
        self.blocked_by, self.blocks = blocked_by, blocks
        self.priority = priority
        self.outcome = outcome
        """"" or failed or cancelled."""
        self.claim_id = claim_id
        """Set while a claim made through us is in force: it goes with the owner who made it."""
        self.claimed_at = claimed_at
        self.failures, self.max_retries = failures, max_retries
        self.review = review
        """"" or review, approved, changes_requested."""
        self.reviewer = reviewer
        self.needs = needs
        """Whose answer it waits for: "" or lead or user."""
        self.plan = plan
        """"" (none needed) or required, submitted, approved, rejected."""
        self.files = files
        self.is_hidden = is_hidden
        """Claude Code's own bookkeeping (`_internal`)."""
        self.last_event = last_event
        self.problem = problem
        """Why the file cannot be read as a task, if it cannot."""
        self.key = key
        """What the plan that it comes from calls it."""
        self.runtime = runtime
        """What its agent should run with; empty for any."""
        self.source = source
        """The file of the plan that it comes from."""
        self.work, self.merged = work, merged
        """The commits of its completed work on its branch and on the target; empty for none."""

    @property
    def id(self) -> str:
        return str(self.number)

    @property
    def is_finished(self) -> bool:
        """Nobody will do anything about it any more."""
        return self.status == COMPLETED or bool(self.outcome)

    @property
    def is_claimed(self) -> bool:
        return self.status == IN_PROGRESS and not self.outcome and bool(self.owner)

    @property
    def waits_for_others(self) -> bool:
        """Claimed, but the claimant can do nothing until the reviewer, the lead or the user answers."""
        return self.review == REVIEW or self.plan == "submitted" or bool(self.needs)

    def values(self) -> list[Plain]:
        return [getattr(self, name) for name in CARD_FIELDS]


class Task(Card):
    """A whole task, as its file says."""

    __slots__ = ("acceptance", "comments", "description", "details", "events", "raw", "run")

    def __init__(self, card: Card, *, description: str, own: dict[str, Plain], raw: str) -> None:
        for name in CARD_FIELDS:
            setattr(self, name, getattr(card, name))
        self.description = description
        self.details = own
        """Everything under `metadata.atm`, also what only later versions understand."""
        self.raw = raw
        self.events: list[Record] = dicts_in(own.get("events"))
        self.comments: list[Record] = dicts_in(own.get("comments"))
        self.acceptance = _checks_in(own.get("acceptance"))
        self.run = _checks_in(own.get("run"))
        """Commands that do it, for whoever works without a model."""

    @property
    def timeout(self) -> float | None:
        """Seconds that one attempt may take: 0 for no limit, None where the task does not say."""
        value = self.details.get("timeout")
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return float(value) if value == 0 or 1 <= value <= LONGEST_TIMEOUT else None

    def text(self, key: str) -> str:
        """A text under `metadata.atm`; empty if there is none."""
        value = self.details.get(key)
        return value if isinstance(value, str) else ""

    def part(self, key: str) -> dict[str, Plain]:
        """An object under `metadata.atm`; empty if there is none."""
        value = self.details.get(key)
        return value if isinstance(value, dict) else {}


class Change:
    """What a rule decided about one task."""

    __slots__ = ("add", "drop", "event", "fields", "own")

    def __init__(
        self,
        event: Record | None = None,
        *,
        fields: dict[str, str] | None = None,
        own: dict[str, Plain] | None = None,
        add: dict[str, list[str]] | None = None,
        drop: dict[str, list[str]] | None = None,
    ) -> None:
        self.event = event
        """Goes into the file and into the history. A change of `blocks` alone, the mirror of a task's dependency,
        has none."""
        self.fields = fields or {}
        self.own = own or {}
        """Keys under `metadata.atm`; None takes one away."""
        self.add = add or {}
        self.drop = drop or {}
        """Ids into and out of `blocks` and `blockedBy`."""


class Stamp:
    """Who changes something, when, and the id under which that is remembered."""

    __slots__ = ("actor", "at", "id")

    def __init__(self, actor: str, at: str, id: str) -> None:
        self.actor = actor
        self.at = at
        self.id = id

    def event(self, kind: str, **facts: Plain) -> Record:
        said = {key: value for key, value in facts.items() if value not in (None, "")}
        return {"id": self.id, "type": kind, "at": self.at, "actor": self.actor, **said}


class Refusal:
    """An expected no: why a task cannot be had."""

    __slots__ = ("code", "why")

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why


def _checks_in(value: Plain) -> list[Record]:
    """Whatever stands there as a check, also what we do not understand: it must not pass for no check at all (G8)."""
    if value is None:
        return []
    return [item if isinstance(item, dict) else {"kind": str(item)} for item in _listed(value)]


def _listed(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else [value]


def check_subject(subject: str) -> str:
    """A subject that can be shown on one line."""
    clean = " ".join(check_text(subject, "subject").split())
    if not clean:
        raise BadTask("a task needs a subject", "say in a few words what is to be done")
    if len(clean) > LONGEST_SUBJECT:
        raise BadTask(
            f"the subject has {len(clean)} characters", f"use at most {LONGEST_SUBJECT}; more in --description"
        )
    return clean


def check_said(text: str, what: str) -> str:
    """A text that says something."""
    if not text.strip():
        raise BadTask(f"the {what} is empty", f"write the {what}")
    return check_text(text, what)


def check_text(text: str, what: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise BadTask(f"the {what} has {len(text)} characters", f"use at most {LONGEST_TEXT}; put the rest in a file")
    if "\0" in text:
        raise BadTask(f"the {what} contains a NUL character", "remove it")
    return text


def check_key(key: str, what: str = "id") -> str:
    """A short word or two, on one line: what a plan calls a task, or what its agent runs with."""
    clean = " ".join(check_text(key, what).split())
    if len(clean) > LONGEST_KEY:
        raise BadTask(f"the {what} has {len(clean)} characters", f"use at most {LONGEST_KEY}")
    if clean.startswith("#"):
        raise BadTask(f"the {what} {clean!r} begins with #, which names tasks on the board", "leave the # out")
    return clean


def folded(title: str) -> str:
    """Titles and ids of plans are the same whatever their case and the blanks between their words."""
    return " ".join(title.split()).casefold()


def check_priority(priority: str) -> str:
    folded = priority.casefold()
    if folded not in PRIORITIES:
        raise BadTask(f"priority {priority!r} is unknown", f"use one of {', '.join(PRIORITIES)}")
    return folded


_RANKS = {priority: rank for rank, priority in enumerate(PRIORITIES)}


def urgency(card: Card) -> tuple[int, int]:
    """Sorts what should be done first to the front: by priority, then the lowest id."""
    return (_RANKS.get(card.priority, 2), card.number)


def by_urgency(cards: Iterable[Card]) -> Iterator[Card]:
    """The most urgent first, of cards in the order of their numbers."""
    ranks: list[list[Card]] = [[] for _ in PRIORITIES]
    for card in cards:
        ranks[_RANKS.get(card.priority, 2)].append(card)
    for rank in ranks:
        yield from rank


def task_id(given: str) -> str:
    """`7`, `#7` or `07` as `7`; raises for what cannot be a task."""
    digits = given.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > LONGEST_NUMBER:
        raise BadTask(f"{given!r} is no task id", "use the number that `atm tasks list` shows")
    return str(int(digits))
