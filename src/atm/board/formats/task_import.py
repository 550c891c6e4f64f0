"""
Plans that the user or an agent wrote down: a Markdown checklist, JSON or YAML, read as drafts of tasks.

A draft names what it depends on by an `id` of the plan, by title, or by `#12` for a task that exists; who that is, the
board decides. Everything is read or nothing is: a plan with one wrong item would leave half of itself on the board.
"""

from __future__ import annotations

from atm.board.formats.checklist import CHECKBOX, lines_of, read_checklist
from atm.board.formats.plan_items import decode_json, decode_yaml, read_items
from atm.board.formats.task_drafts import NotAPlan, TaskDraft, check_keys
from atm.board.rules.tasks import folded

__all__ = ["LARGEST_PLAN", "NotAPlan", "TaskDraft", "kind_of", "read_plan"]

LARGEST_PLAN = 5_000_000
"""Characters. PyYAML needs about a minute for that much, and nobody reads such a plan."""

_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def kind_of(file_name: str, text: str) -> str:
    """`markdown`, `json` or `yaml`: by the name of the file, or by what the text looks like."""
    for suffix, kind in _SUFFIXES.items():
        if file_name.lower().endswith(suffix):
            return kind
    if text.lstrip("\ufeff \t\r\n").startswith(("[", "{")):
        return "json"
    return "markdown" if any(CHECKBOX.fullmatch(line) for line in lines_of(text)) else "yaml"


def read_plan(text: str, kind: str) -> list[TaskDraft]:
    """The tasks of a plan, parents before their parts. Raises NotAPlan, naming the line or the item."""
    if len(text) > LARGEST_PLAN:
        raise NotAPlan(f"the plan has {len(text):,} characters; at most {LARGEST_PLAN:,} are read")
    if kind == "markdown":
        drafts = read_checklist(text)
    else:
        drafts = read_items(decode_json(text) if kind == "json" else decode_yaml(text))
    keys = check_keys(drafts)
    for draft in drafts:
        parts = {drafts[position].subject for position in draft.parts}
        named = (entry if entry in parts else _named(entry, keys) for entry in draft.depends_on)
        draft.depends_on = list(dict.fromkeys(named))
    return drafts


def _named(entry: str, keys: set[str]) -> str:
    """A bare number is an id of the plan if the plan has that id; else it is a task on the board."""
    is_number = entry.isascii() and entry.isdecimal()
    return f"#{entry}" if is_number and folded(entry) not in keys else entry
