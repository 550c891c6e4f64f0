"""
The plan in the answer of a model that was asked for one.

Models put words around what they were asked for, show drafts before the final version, and sometimes leave the fence
out. The last block that reads as a plan counts. One that was meant as a plan and has a fault is not passed over for an
earlier draft: the error goes back to the model, which knows what it meant.
"""

from __future__ import annotations

import re

from atm.board.formats.checklist import CHECKBOX, lines_of
from atm.board.formats.task_import import LARGEST_PLAN, NotAPlan, TaskDraft, kind_of, read_plan
from atm.files.formats.json_record import NotJson, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WANTED = (
    "answer with one fenced ```json block: a list of tasks, each an object with `id`, `title`, `description`, `files`, "
    "`depends_on` and `accept`"
)
MOST_TRIED = 50
"""Places at which a bare list may begin, and blocks that may be one."""

_KINDS = {"json": "json", "json5": "json", "yaml": "yaml", "yml": "yaml", "markdown": "markdown", "md": "markdown"}
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_MEANT = re.compile(r"""(?m)["']?\b(?:tasks|title|subject)["']?[ \t]*:""")


class _Block:
    """A part of the answer that may be a plan."""

    __slots__ = ("kind", "text")

    def __init__(self, text: str, kind: str = "") -> None:
        self.text = text
        self.kind = kind or kind_of("", text)

    @property
    def is_meant(self) -> bool:
        """Does it look as if it should be one, whether or not it can be read?"""
        return bool(_MEANT.search(self.text)) or any(CHECKBOX.fullmatch(line) for line in lines_of(self.text))


def plan_in_answer(text: str) -> list[TaskDraft]:
    """The tasks that a model answered with. Raises NotAPlan with words that can be sent back to it."""
    if len(text) > LARGEST_PLAN:
        raise NotAPlan(f"your answer has {len(text):,} characters, which is no plan of tasks; {WANTED}")
    for block in _candidates(text):
        try:
            return read_plan(block.text, block.kind)
        except NotAPlan as error:
            if block.is_meant:
                raise NotAPlan(f"the plan in your answer cannot be used: {error}; {WANTED}") from None
    raise NotAPlan(f"there is no plan in your answer; {WANTED}")


def _candidates(text: str) -> Iterator[_Block]:
    """What may be the plan, the likeliest first."""
    lines = lines_of(text)
    for kind, body in reversed(_fenced(lines)[-MOST_TRIED:]):
        known = _KINDS.get(kind.lower(), "")
        block = _Block(body, known)
        if known or (not kind and (block.kind == "json" or block.is_meant)):
            yield block
    yield from _bare_lists("\n".join(lines))
    if any(CHECKBOX.fullmatch(line) for line in lines):
        yield _Block(text, "markdown")
    for number, line in enumerate(lines):
        if line.rstrip() == "tasks:":
            yield _Block("\n".join(lines[number:]), "yaml")
            return


def _fenced(lines: list[str]) -> list[tuple[str, str]]:
    """What each code block says it is, and its text. One that is never closed ends with the answer."""
    found: list[tuple[str, str]] = []
    fence, kind, body = "", "", [""]
    for line in lines:
        mark = line.strip()
        if fence:
            if mark.startswith(fence) and not mark.strip(fence[0]):
                found.append((kind, "\n".join(body)))
                fence = ""
            else:
                body.append(line)
        elif opened := _FENCE.fullmatch(line):
            fence, kind, body = opened[1], opened[2], []
    return [*found, (kind, "\n".join(body))] if fence else found


def _bare_lists(text: str) -> Iterator[_Block]:
    """JSON that begins with a line of the answer, the last first."""
    found: list[_Block] = []
    end = tried = 0
    for begin in re.finditer(r"(?m)^[ \t]*(?=[\[{])", text):
        if begin.end() < end or tried == MOST_TRIED:
            continue
        tried += 1
        try:
            end = scan(text, begin.end())[1]
        except NotJson:
            continue
        found.append(_Block(text[begin.end() : end], "json"))
    yield from reversed(found)
