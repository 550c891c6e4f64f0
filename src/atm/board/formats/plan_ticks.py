"""
Plans that are written: boxes ticked in a checklist of the user's, and a checklist made of a plan that was none.

In a file of the user's exactly the boxes that are asked for change, one character each: line ends, tabs, marks of byte
order and bytes that are no text stay. A checklist that we make is read back to the same tasks, whatever is in them.
"""

from __future__ import annotations

import re

from atm.board.formats.checklist import CHECKBOX, escaped, outside_fences, read_checklist, split_attributes, unescaped
from atm.board.formats.task_drafts import NotAPlan, subject_in
from atm.board.rules.time_limits import exact_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from atm.board.formats.task_drafts import TaskDraft

_LINE_END = re.compile(r"(\r\n|\r|\n)")
_SYNTAX = '()"\n\r'


def ticked(text: str, lines: Collection[int]) -> str:
    """A checklist in which the boxes of these lines (`TaskDraft.line`) are ticked; none is unticked."""
    pieces = _LINE_END.split(text)  # lines and what ends them, by turns
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    pieces[0] = pieces[0].removeprefix(mark)
    for number, line in outside_fences(pieces[::2]):
        box = CHECKBOX.fullmatch(line) if number in lines else None
        if box is not None and box[2] == " ":
            at = box.start(2)
            pieces[2 * (number - 1)] = f"{line[:at]}x{line[at + 1 :]}"
    return mark + "".join(pieces)


def ticked_bytes(data: bytes, lines: Collection[int]) -> bytes:
    """The same for a file as it lies there, also where it is no text."""
    return ticked(data.decode("utf-8", "surrogateescape"), lines).encode("utf-8", "surrogateescape")


def as_checklist(drafts: Sequence[TaskDraft]) -> str:
    """Tasks as the readers give them, parents before their parts, as Markdown that is read back to the same tasks."""
    depths: dict[int, int] = {}
    lines: list[str] = []
    for position, draft in enumerate(drafts):
        depth = depths.get(position, 0)
        depths.update(dict.fromkeys(draft.parts, depth + 1))
        groups = _groups(draft, [drafts[part].subject for part in draft.parts])
        margin = "  " * depth
        lines.append(f"{margin}- [{'x' if draft.done else ' '}] {' '.join([_subject(draft.subject), *groups])}")
        lines += [f"{margin}  {line}" if line else "" for line in _description(draft.description)]
    return "\n".join([*lines, ""])


def _groups(draft: TaskDraft, parts: list[str]) -> list[str]:
    said = [
        *([_group("id", draft.key)] if draft.key else []),
        *([_listed("depends", explicit)] if (explicit := _explicit(draft.depends_on, parts)) else []),
        *([_group("priority", draft.priority)] if draft.priority != "normal" else []),
        *([_listed("files", draft.files)] if draft.files else []),
        *([_group("owner", f"@{draft.owner}")] if draft.owner else []),
        *([_group("runtime", draft.runtime)] if draft.runtime else []),
        *([_group("timeout", exact_limit(draft.timeout))] if draft.timeout is not None else []),
        *(["(plan: required)"] if draft.needs_plan else []),
    ]
    said += [_group("accept", command) for command in draft.accept]
    return said + [_group("run", command) for command in draft.run]


def _explicit(depends_on: list[str], parts: list[str]) -> list[str]:
    """What must be written down, as a task waits for its parts anyway."""
    others = [entry for entry in depends_on if entry not in parts]
    return others if list(dict.fromkeys([*others, *parts])) == depends_on else depends_on


def _subject(subject: str) -> str:
    plain = escaped(subject_in(subject), "")
    return plain if split_attributes(plain)[:2] == (plain, []) else escaped(plain, "()")


def _group(key: str, value: str) -> str:
    """`(key: value)`, with as few references as it takes."""
    plain = _trimmed(escaped(value, "\n\r"))
    return _first_that(
        lambda group: [unescaped(found) for _, found in split_attributes(f"x {group}")[1]] == [value],
        f"({key}: {plain})",
        f"({key}: {_trimmed(escaped(value, _SYNTAX))})",
    )


def _listed(key: str, entries: list[str]) -> str:
    """`(key: one, two)`; an entry with a comma or a parenthesis stands in quotes, if it has none of its own."""
    written = []
    for entry in entries:
        plain = _trimmed(escaped(entry, _SYNTAX + ",") if '"' in entry else escaped(entry, "\n\r"))
        written.append(f'"{plain}"' if any(sign in plain for sign in ",()") else plain)
    return f"({key}: {', '.join(written)})"


def _trimmed(text: str) -> str:
    """White space at the ends would be taken for ours."""
    core = text.strip()
    start = len(text) - len(text.lstrip())
    return _all(text[:start]) + core + _all(text[start + len(core) :])


def _all(text: str) -> str:
    return escaped(text, text)


def _description(text: str) -> list[str]:
    """Its lines, unless something in them would be read otherwise; then as few references as that takes."""
    if not text:
        return []
    plain = escaped(text, "").split("\n")
    return plain if _reads_as(plain, text) else _guarded(text)


def _reads_as(lines: list[str], text: str) -> bool:
    try:
        drafts = read_checklist("\n".join(["- [ ] x", *(f"  {line}" if line else "" for line in lines)]))
    except NotAPlan:
        return False  # a checkbox in it that says nothing
    return [draft.description for draft in drafts] == [text]


def _guarded(text: str) -> list[str]:
    core = text.strip()
    start = len(text) - len(text.lstrip())
    body = escaped(core, "\t\r`~[")
    lines = [f"{_all(line[:1])}{line[1:]}" if line[:1].isspace() else line for line in body.split("\n")]
    lines[0] = _all(text[:start]) + lines[0]
    lines[-1] += _all(text[start + len(core) :])
    return lines


def _first_that(is_right: Callable[[str], bool], *choices: str) -> str:
    return next((choice for choice in choices if is_right(choice)), choices[-1])
