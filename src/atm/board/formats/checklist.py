"""
Plans as Markdown: every checkbox is a task, `(key: value)` groups at the end of its line say more about it, and what is
indented below is its description or its parts.

What cannot be said like that, a parenthesis that nothing closes or a command of two lines, is written as a character
reference of seven digits, `&#0000041;`. Markdown shows the character, and nobody types one by chance.
"""

from __future__ import annotations

import re
from textwrap import dedent

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ATTRIBUTES = {
    **dict.fromkeys(("depends", "depends on", "depends_on", "blocked by", "after"), "depends_on"),
    **{name: name for name in ("priority", "files", "owner", "accept", "run", "id", "runtime", "plan", "timeout")},
}
KNOWN_KEYS = sorted({"depends" if name == "depends_on" else name for name in ATTRIBUTES.values()})
_LIKE_A_KEY = re.compile(r"[A-Za-z][A-Za-z_-]*: *[^ ].*", re.DOTALL)
CHECKBOX = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[([ xX])\](?:[ \t]+(.*)|)")
_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_REFERENCE = re.compile(r"&#([0-9]{7});")


def escaped(text: str, letters: str) -> str:
    """Some letters as references, and whatever already looks like one; `unescaped` gives the text back."""
    text = _REFERENCE.sub(lambda found: f"{_reference('&')}{found[0][1:]}", text)
    return "".join(_reference(sign) if sign in letters or "\ud800" <= sign <= "\udfff" else sign for sign in text)


def _reference(letter: str) -> str:
    return f"&#{ord(letter):07};"


def unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda found: chr(int(found[1])) if int(found[1]) < 0x110000 else found[0], text)


def lines_of(text: str) -> list[str]:
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
        self.draft.description = unescaped(dedent("\n".join(self.notes)).strip("\n").rstrip())


def read_checklist(text: str) -> list[TaskDraft]:
    """The tasks of a Markdown checklist, parents before their parts."""
    drafts: list[TaskDraft] = []
    trail: list[_Open] = []  # the item that we are in, after those that it is part of
    for number, line in outside_fences(lines_of(text)):
        box = CHECKBOX.fullmatch(line)
        if box:
            draft = _draft_of(box[3] or "", f"line {number}")
            draft.line, draft.done = number, box[2] != " "
            indent = _width(box[1])
            _leave(trail, indent - 1)  # one blank more is a slip of the hand, not a level
            add_draft(drafts, draft, trail[-1].draft if trail else None)
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


def outside_fences(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines that are no code, each with its number."""
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


def _draft_of(text: str, place: str) -> TaskDraft:
    raw, attributes, unknown = split_attributes(text)
    subject = subject_in(unescaped(raw))
    if not subject:
        raise NotAPlan(f"{place}: the task has no subject")
    draft = TaskDraft(subject, unknown_groups=unknown)
    for key, value in attributes:
        if key == "depends_on":
            draft.depends_on += map(unescaped, entries_in(value))
        elif key == "files":
            draft.files += map(unescaped, entries_in(value))
        elif key == "priority":
            draft.priority = priority_in(value, place)
        elif key == "owner":
            draft.owner = unescaped(value).removeprefix("@")
        elif key == "id":
            draft.key = key_in(unescaped(value), place)
        elif key == "runtime":
            draft.runtime = unescaped(value)
        elif key == "timeout":
            draft.timeout = timeout_in(value, place)
        elif key == "plan":
            draft.needs_plan = needs_plan_in(value, place)
        elif value:
            (draft.run if key == "run" else draft.accept).append(unescaped(value))
    return draft


def split_attributes(text: str) -> tuple[str, list[tuple[str, str]], list[str]]:
    """
    The subject, the known `(key: value)` groups that end the line, and those of one unknown word: they stay in the
    subject, as all other groups do.
    """
    attributes: list[tuple[str, str]] = []
    unknown: list[str] = []
    kept: list[str] = []
    end = rest = len(text.rstrip())
    while end and text[end - 1] == ")":
        start = _start_of_group(text, end)
        if start < 0:
            break
        key, _, value = text[start + 1 : end - 1].partition(":")
        name = ATTRIBUTES.get(" ".join(key.lower().split()))
        is_apart = text[start - 1 : start] in ("", " ", "\t", ")")  # not the call in `fix run(owner: int)`
        if name and is_apart:
            attributes.append((name, value.strip()))
        else:
            if is_apart and _LIKE_A_KEY.fullmatch(text[start + 1 : end - 1]):
                unknown.append(text[start + 1 : end - 1])
            kept.append(text[start:rest])
        end = rest = start
        while end and text[end - 1] in " \t":
            end -= 1
    return "".join([text[:rest], *reversed(kept)]).strip(), attributes[::-1], unknown[::-1]


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
