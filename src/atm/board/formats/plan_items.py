"""
Plans as JSON or YAML: a list of titles and objects, or an object with such a list under `tasks`.

YAML can say a lot with little text. What would take longer than anybody waits is refused before it is built.
"""

from __future__ import annotations

from atm.board.formats.task_drafts import (
    NotAPlan,
    TaskDraft,
    add_draft,
    entries_in,
    key_in,
    needs_plan_in,
    priority_in,
    subject_in,
    timeout_in,
)
from atm.core.names import nearest_name
from atm.files.formats.json_record import NotJson, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 50
"""Levels of sub-tasks, and of brackets in YAML, whose scanner slows down with each."""

LONGEST_NUMBER = 200
"""Characters. `1:1:1:...` is a number to YAML, and takes the square of its length to read."""

LARGEST_ID = 10**15
"""YAML can hold numbers, in hexadecimal, that Python refuses to write out."""

_STATUSES = ("pending", "in_progress", "completed")
_KEYS = {
    **{name: name for name in ("subject", "description", "depends_on", "priority", "files", "owner", "accept")},
    **{name: name for name in ("done", "status", "tasks", "run", "id", "runtime", "plan", "timeout")},
    **dict.fromkeys(("dependsOn", "blockedBy", "depends"), "depends_on"),
    "title": "subject",
    "subtasks": "tasks",
}


def decode_json(text: str) -> object:
    try:
        return decode(text)
    except NotJson as error:
        raise NotAPlan(f"the plan is not JSON: {error}") from None


def decode_yaml(text: str) -> object:
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise NotAPlan(
            "reading YAML needs PyYAML, which atm brings: install atm again, or write the plan as Markdown"
        ) from None
    try:
        _refuse_what_explodes(yaml.parse(text, Loader=yaml.SafeLoader))
        value: object = yaml.safe_load(text)
        return value
    except yaml.YAMLError as error:
        raise NotAPlan(_what_yaml_says(error, text)) from None
    except NotAPlan:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # How PyYAML answers to a date in month 13, `!!bool maybe`, `!!int ""` or `!!timestamp soon`.
        raise NotAPlan(f"the plan is not YAML: {error}") from None


def _refuse_what_explodes(events: Iterator[object]) -> None:
    """Little text that stands for more items, levels or digits than PyYAML can handle in a lifetime."""
    depth = 0
    for event in events:
        kind, value = type(event).__name__, getattr(event, "value", "")
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        mark = getattr(event, "start_mark", None)
        place = f"line {mark.line + 1 if mark else 1}"
        if kind == "AliasEvent":
            raise NotAPlan(f"{place}: a plan may not use aliases (`*name`); write it out")
        if depth > 2 * DEEPEST + 4:
            raise NotAPlan(f"{place}: nested too deeply")
        if len(value) > LONGEST_NUMBER and not value.strip("0123456789:_.+-"):
            raise NotAPlan(f"{place}: a number of {len(value):,} characters")


def _what_yaml_says(error: Exception, text: str) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    position = getattr(error, "position", 0)  # of a character that YAML does not allow at all
    line = mark.line if mark else text.count("\n", 0, position)
    return f"line {line + 1}: {problem}"


def read_items(value: object) -> list[TaskDraft]:
    """The tasks of a list, or of an object that has one, parents before their parts."""
    items = value.get("tasks") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise NotAPlan("the plan is neither a list of tasks nor an object with a list `tasks`")
    drafts: list[TaskDraft] = []
    _read_level(items, "", None, drafts)
    if not drafts:
        raise NotAPlan("the plan has no tasks")
    return drafts


def _read_level(items: list[object], above: str, parent: TaskDraft | None, drafts: list[TaskDraft]) -> None:
    for number, item in enumerate(items, 1):
        path = f"{above}{number}"
        if path.count(".") >= DEEPEST:
            raise NotAPlan(f"item {path[:40]}…: sub-tasks are nested more than {DEEPEST} deep")
        fields = _PlanFields(item if isinstance(item, dict) else {"subject": item}, f"item {path}")
        draft = fields.draft()
        draft.item = path
        add_draft(drafts, draft, parent)
        _read_level(fields.children(), f"{path}.", draft, drafts)


class _PlanFields:
    """The fields of one item, under their own names whatever alias the plan uses."""

    __slots__ = ("place", "values")

    def __init__(self, item: dict[object, object], place: str) -> None:
        self.place = place
        self.values: dict[str, object] = {}
        for key, value in item.items():
            if not isinstance(key, str):
                raise NotAPlan(f"{place}: a key is not text; if it is meant as text, put it in quotes")
            name = _KEYS.get(key)
            if name is None:
                raise NotAPlan(f"{place}: unknown key {key[:40]!r}; {_meant(key[:40])}")
            if name in self.values:
                raise NotAPlan(f"{place}: {key!r} says the same as another key of this item")
            if value is not None:  # `owner:` with nothing behind it
                self.values[name] = value

    def draft(self) -> TaskDraft:
        subject = subject_in(self._text("subject"))
        if not subject:
            raise NotAPlan(f"{self.place}: the task has no subject")
        files = self.values.get("files")
        return TaskDraft(
            subject,
            description=self._text("description"),
            depends_on=[self._dependency(entry) for entry in self._list("depends_on")],
            priority=priority_in(self._text("priority") or "normal", self.place),
            files=entries_in(files) if isinstance(files, str) else self._texts("files"),
            owner=self._text("owner").removeprefix("@"),
            accept=self._texts("accept"),
            run=self._texts("run"),
            done=self._done(),
            key=key_in(self._text("id"), self.place),
            runtime=self._text("runtime").strip(),
            timeout=timeout_in(self._text("timeout"), self.place) if "timeout" in self.values else None,
            needs_plan=self._needs_plan(),
        )

    def children(self) -> list[object]:
        tasks = self.values.get("tasks", [])
        if isinstance(tasks, list):
            return tasks
        raise self._wrong("tasks", "a list of tasks")

    def _text(self, name: str) -> str:
        return self._as_text(name, self.values.get(name, ""))

    def _texts(self, name: str) -> list[str]:
        return [text for text in (self._as_text(name, entry) for entry in self._list(name)) if text]

    def _as_text(self, name: str, value: object) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST_ID:
            raise self._wrong(name, "text; if it is meant as text, put it in quotes")
        return str(value)

    def _list(self, name: str) -> list[object]:
        value = self.values.get(name, [])
        return value if isinstance(value, list) else [value]

    def _dependency(self, entry: object) -> str:
        if isinstance(entry, int) and not isinstance(entry, bool) and 0 < entry <= LARGEST_ID:
            return str(entry)  # an id of the plan, or else a task on the board: whoever has read all of it knows
        if not isinstance(entry, str) or not entry.strip():
            raise self._wrong("depends_on", "titles, or ids like 12 or '#12'")
        return " ".join(entry.splitlines()).strip()

    def _needs_plan(self) -> bool:
        value = self.values.get("plan", False)
        return value if isinstance(value, bool) else needs_plan_in(self._as_text("plan", value), self.place)

    def _done(self) -> bool:
        done, status = self.values.get("done", False), self.values.get("status", "pending")
        if not isinstance(done, bool):
            raise self._wrong("done", "true or false")
        if status not in _STATUSES:
            raise self._wrong("status", f"{', '.join(_STATUSES[:2])} or {_STATUSES[2]}")
        return done or status == "completed"

    def _wrong(self, name: str, wanted: str) -> NotAPlan:
        return NotAPlan(f"{self.place}: {name} must be {wanted}")


def _meant(key: str) -> str:
    nearest = nearest_name(key, list(_KEYS))
    return f"did you mean {nearest!r}?" if nearest else f"known are {', '.join(sorted(set(_KEYS.values())))}"
