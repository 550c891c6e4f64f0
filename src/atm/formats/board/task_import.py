"""
Plans that the user or an agent wrote down: a Markdown checklist, JSON or YAML, read as drafts of tasks.

A draft names what it depends on by title, or by `#12` for a task that exists; who that is, the board decides.
Everything is read or nothing is: a plan with one wrong item would leave half of itself on the board.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import dedent

from atm.domain.names import nearest_name
from atm.formats.files.json_record import NotJson, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_PLAN = 5_000_000
"""Characters. PyYAML needs about a minute for that much, and nobody reads such a plan."""

DEEPEST = 50
"""Levels of sub-tasks, and of brackets in YAML, whose scanner slows down with each."""

LONGEST_NUMBER = 200
"""Characters. `1:1:1:...` is a number to YAML, and takes the square of its length to read."""

LARGEST_ID = 10**15
"""YAML can hold numbers, in hexadecimal, that Python refuses to write out."""
PRIORITIES = ("critical", "high", "normal", "low")
_STATUSES = ("pending", "in_progress", "completed")
_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_KEYS = {
    **{name: name for name in ("subject", "description", "depends_on", "priority", "files", "owner", "accept")},
    **{name: name for name in ("done", "status", "tasks", "run")},
    **dict.fromkeys(("dependsOn", "blockedBy", "depends"), "depends_on"),
    "title": "subject",
    "subtasks": "tasks",
}
_ATTRIBUTES = {
    **dict.fromkeys(("depends", "depends on", "depends_on", "blocked by", "after"), "depends_on"),
    **{name: name for name in ("priority", "files", "owner", "accept", "run")},
}

_CHECKBOX = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[([ xX])\](?:[ \t]+(.*)|)")
_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
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

    @property
    def place(self) -> str:
        """Where it stands in the plan: `line 7` of a checklist, `item 3.2` of a list."""
        return f"line {self.line}" if self.line else f"item {self.item}"


def kind_of(file_name: str, text: str) -> str:
    """`markdown`, `json` or `yaml`: by the name of the file, or by what the text looks like."""
    for suffix, kind in _SUFFIXES.items():
        if file_name.lower().endswith(suffix):
            return kind
    if text.lstrip("\ufeff \t\r\n").startswith(("[", "{")):
        return "json"
    return "markdown" if any(_CHECKBOX.fullmatch(line) for line in _lines(text)) else "yaml"


def read_plan(text: str, kind: str) -> list[TaskDraft]:
    """The tasks of a plan, parents before their parts. Raises NotAPlan, naming the line or the item."""
    if len(text) > LARGEST_PLAN:
        raise NotAPlan(f"the plan has {len(text):,} characters; at most {LARGEST_PLAN:,} are read")
    if kind == "markdown":
        drafts = _read_checklist(text)
    else:
        drafts = _read_items(_decode_json(text) if kind == "json" else _decode_yaml(text))
    for draft in drafts:
        draft.depends_on = list(dict.fromkeys(draft.depends_on))
    return drafts


def _lines(text: str) -> list[str]:
    """Not `splitlines`, which also breaks at characters that may stand in a subject."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


class _Open:
    """An item whose indented lines may still follow."""

    __slots__ = ("draft", "indent", "notes")

    def __init__(self, draft: TaskDraft, indent: int) -> None:
        self.draft = draft
        self.indent = indent
        self.notes: list[str] = []

    def close(self) -> None:
        self.draft.description = dedent("\n".join(self.notes)).strip("\n").rstrip()


def _read_checklist(text: str) -> list[TaskDraft]:
    drafts: list[TaskDraft] = []
    trail: list[_Open] = []  # the item that we are in, after those that it is part of
    for number, line in _outside_fences(_lines(text)):
        box = _CHECKBOX.fullmatch(line)
        if box:
            draft = _draft_of(box[3] or "", f"line {number}")
            draft.line, draft.done = number, box[2] != " "
            indent = _width(box[1])
            _leave(trail, indent - 1)  # one blank more is a slip of the hand, not a level
            _add(drafts, draft, trail[-1].draft if trail else None)
            trail.append(_Open(draft, indent))
        elif line.strip():
            _leave(trail, _width(line))
            if trail:
                trail[-1].notes.append(line.expandtabs(4))
        elif trail:
            trail[-1].notes.append("")
    _leave(trail, 0)
    if not drafts:
        raise NotAPlan("no line of the plan is a checkbox like `- [ ] Write the parser`")
    return drafts


def _outside_fences(lines: list[str]) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = line.strip()
        if fence:
            fence = "" if mark.startswith(fence) and not mark.strip(fence[0]) else fence
            continue
        opened = _FENCE.match(line)
        if opened:
            fence = opened[1]
        else:
            yield number, line


def _width(line: str) -> int:
    """Columns of white space at its beginning."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


def _leave(trail: list[_Open], indent: int) -> None:
    while trail and trail[-1].indent >= indent:
        trail.pop().close()


def _add(drafts: list[TaskDraft], draft: TaskDraft, parent: TaskDraft | None) -> None:
    if parent is not None:
        parent.parts.append(len(drafts))
        parent.depends_on.append(draft.subject)
    drafts.append(draft)


def _draft_of(text: str, place: str) -> TaskDraft:
    subject, attributes = _split_attributes(text)
    if not subject:
        raise NotAPlan(f"{place}: the task has no subject")
    draft = TaskDraft(subject)
    for key, value in attributes:
        if key == "depends_on":
            draft.depends_on += _entries(value)
        elif key == "files":
            draft.files += _entries(value)
        elif key == "priority":
            draft.priority = _priority(value, place)
        elif key == "owner":
            draft.owner = value.removeprefix("@")
        elif value:
            (draft.run if key == "run" else draft.accept).append(value)
    return draft


def _split_attributes(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The subject, and the known `(key: value)` groups that end the line. Other groups stay in the subject."""
    attributes: list[tuple[str, str]] = []
    kept: list[str] = []
    end = rest = len(text.rstrip())
    while end and text[end - 1] == ")":
        start = _start_of_group(text, end)
        if start < 0:
            break
        key, _, value = text[start + 1 : end - 1].partition(":")
        name = _ATTRIBUTES.get(" ".join(key.lower().split()))
        if name and text[start - 1 : start] in ("", " ", "\t", ")"):  # not the call in `fix run(owner: int)`
            attributes.append((name, value.strip()))
        else:
            kept.append(text[start:rest])
        end = rest = start
        while end and text[end - 1] in " \t":
            end -= 1
    return "".join([text[:rest], *reversed(kept)]).strip(), attributes[::-1]


def _start_of_group(text: str, end: int) -> int:
    """The parenthesis that the one before `end` closes; -1 if there is none. Those in quotes do not count."""
    depth, quoted = 0, False
    for at in range(end - 1, -1, -1):
        character = text[at]
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "()":
            depth += 1 if character == ")" else -1
            if not depth:
                return at
    return -1


def _entries(value: str) -> list[str]:
    """`Title A, "Title, with comma", #12` as its entries."""
    entries = ((found[1] or found[2] or "").strip() for found in _ENTRY.finditer(value))
    return list(dict.fromkeys(entry for entry in entries if entry))


def _priority(value: str, place: str) -> str:
    word = value.strip().lower()
    if word not in PRIORITIES:
        raise NotAPlan(f"{place}: {value[:40]!r} is no priority; those are {', '.join(PRIORITIES)}")
    return word


def _decode_json(text: str) -> object:
    try:
        return decode(text)
    except NotJson as error:
        raise NotAPlan(f"the plan is not JSON: {error}") from None


def _decode_yaml(text: str) -> object:
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise NotAPlan("reading YAML needs PyYAML: `pip install pyyaml`, or write the plan as Markdown") from None
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


def _read_items(value: object) -> list[TaskDraft]:
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
        _add(drafts, draft, parent)
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
        subject = self._text("subject").replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
        if not subject:
            raise NotAPlan(f"{self.place}: the task has no subject")
        files = self.values.get("files")
        return TaskDraft(
            subject,
            description=self._text("description"),
            depends_on=[self._dependency(entry) for entry in self._list("depends_on")],
            priority=_priority(self._text("priority") or "normal", self.place),
            files=_entries(files) if isinstance(files, str) else self._texts("files"),
            owner=self._text("owner").removeprefix("@"),
            accept=self._texts("accept"),
            run=self._texts("run"),
            done=self._done(),
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
            return f"#{entry}"
        if not isinstance(entry, str) or not entry.strip():
            raise self._wrong("depends_on", "titles, or ids like 12 or '#12'")
        return " ".join(entry.splitlines()).strip()

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
