"""
Stalls: does whoever holds a task make meaningful progress on it? Slow, and for one task at a time.

Progress is what stands in the task's history and changes something: a claim, a plan, a question, a review, a remark
that says something. A report to work-sync is never progress, however long its lease: it says that a member knows its
work, not that the work goes on (seed 002, sections 16.1 and 16.5). What is not known to be progress is none.

Where it is not clear whose turn it is, nobody is judged: a wrong alert costs more than a late one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.board.rules.reviews import APPROVED, CHANGES, REQUESTED, STARTED, current_reviewer
from atm.board.rules.tasks import IN_PROGRESS, REVIEW
from atm.core.names import same_name
from atm.team.rules.liveness import ONLINE, WAITING, WORKING

if TYPE_CHECKING:
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain, Record

ReadTime = Callable[[str], float | None]
"""How a time in a file is read: the business of `formats`, so it is given."""

NOTHING, OWNER, LEAD = "", "owner", "lead"
"""Verdicts, and kinds of alerts. `owner` goes to whoever holds the task, in a review its reviewer."""

DEFAULT_MINUTES = 30.0

MOST_AHEAD = 24 * 3600.0
"""Seconds. No clock is wrong by more: a time further in the future would keep the watch quiet for ever."""

LONGEST_LOOK = 2000
"""Characters of a remark that are looked at."""

_DONE_BY_HOLDER = frozenset({"status_changed", STARTED, "plan_submitted", "clarification_requested", "split"})
_HANDED_OVER = frozenset(
    {REQUESTED, APPROVED, CHANGES, "plan_approved", "plan_rejected", "clarification_answered", "owner_changed"}
)
"""With these the ball comes to the holder, whoever threw it: the time before was not theirs to lose."""

_SEEN = "observed"
"""Another program changed the task, and nobody knows who. The benefit of the doubt."""


# Whose turn it is.


def may_be_overdue(card: Card, before: float, read_time: ReadTime) -> bool:
    """
    From the card alone: could it be that nothing happened since `before`?

    A claim is progress, so a task claimed after that is not overdue. One without such a claim was taken through
    another program, and only its history tells.
    """
    if not card.is_claimed or card.is_hidden or card.problem or card.needs or card.plan == "submitted":
        return False
    claimed_at = read_time(card.claimed_at) if card.claimed_at else None
    return claimed_at is None or claimed_at <= before


def whose_turn(task: Task, *, is_blocked: bool) -> str:
    """Who could go on with it now; empty if it waits for an answer or another task, or if nobody can say."""
    if not task.is_claimed or task.is_hidden or task.problem or is_blocked:
        return ""
    if task.needs or task.plan == "submitted":
        return ""
    if task.review == REVIEW:
        return current_reviewer(task).name or ""
    return task.owner


# What counts as progress.


def last_progress(
    task: Task, holder: str, read_time: ReadTime, now: float, older: Iterable[Record] = ()
) -> float | None:
    """
    When the holder last got on with it, or got it; None if nobody can say.

    `older` are events that stand in the history and, perhaps, not in the task's own file any more.
    """
    said = [event.get("at") for event in (*task.events, *older) if is_progress(event, holder)]
    times = [read_time(at) for at in (*said, task.claimed_at) if isinstance(at, str) and at]
    return max((at for at in times if at is not None and at <= now + MOST_AHEAD), default=None)


def is_progress(event: Record, holder: str) -> bool:
    """Does this event of a task show that its holder gets on with it, or that it just became theirs?"""
    kind = event.get("type")
    if not isinstance(kind, str):
        return False
    if kind == _SEEN or kind in _HANDED_OVER or (kind == "status_changed" and event.get("to") == IN_PROGRESS):
        return True
    if kind == "dependencies_changed":
        return bool(event.get("removed"))  # it may have been blocked until then; one more to wait for is no progress
    actor = event.get("actor")
    if not isinstance(actor, str) or not same_name(actor, holder):
        return False
    return kind in _DONE_BY_HOLDER or (kind == "commented" and says_something(event.get("note")))


_ENGLISH = """
    a about ack acknowledge acknowledged acknowledging again all already alright am an and are as at away aye back be
    been begin beginning begun by can claim claimed claiming complete completed continue continuing copied copy do doing
    done fine finished for get getting go going gonna good got gotcha great have hello here hey hi i i'll i'm i've im
    immediately in is issue it it's its job just k kk let let's lets look looking me moment my nice no noted now of ok
    okay on one onto over pick picked picking please proceed proceeding progress reading ready received right roger
    shortly soon stand standing start started starting starts still sure take taken taking task that thank thanks the
    then there this thx ticket to today took ty under understood up wait waiting we we'll we're wilco will wip with work
    working yeah yep yes yet you your
"""
_RUSSIAN = """
    беру берусь будет в вас взял взяла всё готов готова готово да делаю есть же за задача задаче задачей задачи задачу
    здесь и ладно на над начал начала начинаем начинаю начну ок окей понял поняла понятно приму принял приняла принято
    приступаю приступил приступила приступлю продолжаю продолжу процессе работа работаем работаю работе работой работу с
    сделаем сделано сделаю сейчас скоро спасибо так тут уже хорошо эта этим этой эту я
"""
_OTHERS = """
    alles arbeite beginne bin dabei danke daran dran fange gut ich ja jetzt klar mache noch verstanden weiter
    acuerdo claro con de ello empezando empiezo entendido gracias listo si sí trabajando vale voy ya
    commence compris d'accord je m'y mets merci oui suis
    好 好的 收到 明白 了解 开始 继续 正在 处理中 进行中 谢谢 はい 了解です 承知しました
"""
_WEAK_WORDS = frozenset(f"{_ENGLISH} {_RUSSIAN} {_OTHERS}".split())
"""Words that promise, greet or acknowledge. A remark of nothing else says nothing about the work."""

_NAMED = re.compile(r"#\d+|\b(?:task|ticket|issue|задач\w?)\s{1,5}\d+\b")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def says_something(note: Plain) -> bool:
    """Is this more than "starting", "ok", "will do", "беру в работу" or a thumb?"""
    if not isinstance(note, str):
        return False
    text = note[:LONGEST_LOOK].casefold().replace("’", "'")
    return any(word not in _WEAK_WORDS for word in _WORD.findall(_NAMED.sub(" ", text)))


# What is to be done about it.


@dataclass(frozen=True, slots=True)
class HolderActivity:
    """What the holder's heartbeat says."""

    liveness: str = ""
    state: str = ""


def patience(minutes: float, activity: HolderActivity) -> float | None:
    """
    Seconds without progress that are nothing unusual; None while nothing counts.

    A holder at work has nothing to say for a while: a long test run, a large change. A holder who waits for a
    person's permission can do nothing, and is silent because of it, so that waiting never grows stale.
    """
    if activity.state == WAITING:
        return None
    is_at_work = activity.state == WORKING and activity.liveness == ONLINE
    return minutes * 60 * (2 if is_at_work else 1)


@dataclass(frozen=True, slots=True)
class StallTold:
    """When the owner and the lead were told of one stall; None for not yet."""

    owner_at: float | None = None
    lead_at: float | None = None


def judge(
    *, since: float, now: float, minutes: float, activity: HolderActivity, told: StallTold, has_lead: bool = True
) -> str:
    """
    Who is to be told now: nobody, the holder, or the lead. Each once for one stall, and nobody else ever.

    `since` is the last progress, or the moment from which it counts if the team stood still until then. The lead's
    time begins when the holder was told: after a night without a daemon, the holder still gets the first chance.
    """
    allowed = patience(minutes, activity)
    if minutes <= 0 or allowed is None or now - since < allowed or told.lead_at is not None:
        return NOTHING
    if told.owner_at is None:
        return OWNER
    return LEAD if has_lead and now - told.owner_at >= allowed else NOTHING
