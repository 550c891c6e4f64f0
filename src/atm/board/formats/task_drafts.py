"""Tasks as a plan says them, before a board has given them numbers; and what every notation of a plan shares."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from atm.board.rules.tasks import LONGEST_KEY, PRIORITIES, folded
from atm.board.rules.time_limits import read_limit
from atm.core.work_errors import BadTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PLAN_WORDS = {"required": True, "yes": True, "true": True, "no": False, "false": False}
_ENTRY = re.compile(r'\s*(?:"([^"]*)"\s*(?=,|$)|([^,]*))(?:,|$)')


class NotAPlan(ValueError):
    """The text is not a plan of tasks; says at which line or item, and what is wrong there."""


@dataclass(slots=True)
class TaskDraft:
    """
    One task of a plan.

    `depends_on` includes the titles of its sub-tasks; `parts` says which drafts of the plan these are, by position,
    for the plan in which several tasks have a part called "Write tests".
    """

    subject: str
    description: str = ""
    depends_on: list[str] = field(default_factory=list)
    priority: str = "normal"
    files: list[str] = field(default_factory=list)
    owner: str = ""
    accept: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    done: bool = False
    line: int = 0
    item: str = ""
    parts: list[int] = field(default_factory=list)
    key: str = ""
    """What the plan calls it (`id`), for its own dependencies and for the next import."""
    runtime: str = ""
    timeout: float | None = None
    """Seconds that one attempt may take; None where the plan does not say."""
    needs_plan: bool = False
    unknown_groups: list[str] = field(default_factory=list, compare=False)
    """Groups such as `(retries: 3)` that end the line of a checklist and are no key of plans. They stay in it."""

    @property
    def place(self) -> str:
        """Where it stands in the plan: `line 7` of a checklist, `item 3.2` of a list."""
        return f"line {self.line}" if self.line else f"item {self.item}"


def unknown_in_words(drafts: Sequence[TaskDraft], known: Sequence[str]) -> list[str]:
    """A warning for each draft with groups that look like keys of a plan and are none."""
    return [
        f"{one.place}: {', '.join(f'({group})' for group in one.unknown_groups)} is no key of a plan and stays in the "
        f"title; known are {', '.join(known)}"
        for one in drafts
        if one.unknown_groups
    ]


def add_draft(drafts: list[TaskDraft], draft: TaskDraft, parent: TaskDraft | None) -> None:
    """A parent waits for its parts."""
    if parent is not None:
        parent.parts.append(len(drafts))
        parent.depends_on.append(draft.subject)
    drafts.append(draft)


def subject_in(value: str) -> str:
    """A title on one line."""
    return value.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()


def entries_in(value: str) -> list[str]:
    """`Title A, "Title, with comma", #12` as its entries."""
    entries = ((found[1] or found[2] or "").strip() for found in _ENTRY.finditer(value))
    return list(dict.fromkeys(entry for entry in entries if entry))


def priority_in(value: str, place: str) -> str:
    word = value.strip().lower()
    if word not in PRIORITIES:
        raise NotAPlan(f"{place}: {value[:40]!r} is no priority; those are {', '.join(PRIORITIES)}")
    return word


def key_in(value: str, place: str) -> str:
    """An `id` of the plan; empty if it has none. `#12` is the board's, so no plan may call a task that."""
    key = " ".join(value.split())
    if len(key) > LONGEST_KEY:
        raise NotAPlan(f"{place}: the id has {len(key)} characters; at most {LONGEST_KEY} are taken")
    if key.startswith("#"):
        raise NotAPlan(f"{place}: the id {key[:40]!r} begins with #, which names tasks on the board; leave the # out")
    return key


def timeout_in(value: str, place: str) -> float:
    """`10m` as seconds; 0 for none."""
    try:
        return read_limit(value)
    except BadTask as error:
        raise NotAPlan(f"{place}: {error}; {error.remedy}") from None


def needs_plan_in(value: str, place: str) -> bool:
    word = value.strip().lower()
    if word not in _PLAN_WORDS:
        raise NotAPlan(f"{place}: plan is {value[:40]!r}; it must be `required`, true or false")
    return _PLAN_WORDS[word]


def check_keys(drafts: Sequence[TaskDraft]) -> set[str]:
    """The ids of a plan, folded. Raises NotAPlan where two tasks have the same."""
    first: dict[str, TaskDraft] = {}
    for draft in drafts:
        if not draft.key:
            continue
        other = first.setdefault(folded(draft.key), draft)
        if other is not draft:
            raise NotAPlan(f"{draft.place}: the id {draft.key!r} is that of {other.place} too; each needs its own")
    return set(first)
