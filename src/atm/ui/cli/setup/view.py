"""
Changes of other programs' settings as people and programs see them: what was done, how everything stands, the diff.

For `atm init` and `atm mcp install`, which do the same to different parts of these files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atm.core.errors import UsageError
from atm.core.untrusted_text import one_line
from atm.setup.services.planning import CREATED, REFUSED, REMOVED, UNCHANGED
from atm.ui.cli.render import Style
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW
from atm.vendors.settings import INSTALLED, PROJECT, USER
from atm.vendors.settings_files import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from atm.setup.ports import VendorFiles
    from atm.setup.services.planning import FileChange
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

LONGEST_LINE = 200
CONTEXT = 3
ERROR, PARTIAL = 1, 2


@dataclass(frozen=True)
class Doing:
    """What was asked for."""

    action: str
    """The command, for `--json`."""
    scope: str
    remove: bool = False
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    """What is to be said beside what the files have to say."""
    is_short: bool = False
    """One line for a file, and not all that changes in it."""


def scope_of(args: Args) -> str:
    if args.flag("user") and args.flag("project"):
        raise UsageError("both --user and --project were given", "leave one of them out")
    if args.flag("check") and args.flag("remove"):
        raise UsageError("both --check and --remove were given", "leave one of them out")
    return PROJECT if args.flag("project") else USER


def names_of(args: Args, option: str, known: Collection[str]) -> list[str]:
    """Whom an option names, each once; none if it was not given."""
    names = [name.strip() for given in args.many(option) for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown {option} {name!r}", f"choose from {', '.join(known)}")
    if args.given(option) and not names:
        raise UsageError(f"--{option} names nobody", f"choose from {', '.join(known)}")
    return list(dict.fromkeys(names))


def words_about_the_path(files: VendorFiles, scope: str) -> list[str]:
    if scope != PROJECT or files.program() == ("atm",):
        return []
    return [
        f"  atm is not on PATH, so these files name {one_line(files.program()[0])}: not so for others who",
        "  share this repository.",
    ]


# --check


def show_standing(session: Session, doing: Doing, changes: Sequence[FileChange]) -> int:
    """How every file stands; the exit code."""
    complete = all(change.is_installed for change in changes)
    if session.as_json:
        session.print_json(
            {
                "action": doing.action,
                "check": True,
                "scope": doing.scope,
                "installed": complete,
                "files": [_standing_json(change) for change in changes],
                "notes": _notes(doing, changes),
            }
        )
        return 0 if complete else ERROR
    style = Style(session)
    for change in changes:
        session.print(_standing_line(style, change))
    for note in _notes(doing, changes):
        session.print(style(f"note: {one_line(note)}", YELLOW))
    return 0 if complete else ERROR


def _notes(doing: Doing, changes: Sequence[FileChange]) -> list[str]:
    return [*(note for change in changes for note in change.notes), *doing.notes]


def _standing_json(change: FileChange) -> dict[str, object]:
    return {
        "vendor": change.vendor,
        "path": change.path,
        "state": REFUSED if change.refusal else change.standing.state,
        "missing": list(change.standing.missing),
        "outdated": list(change.standing.outdated),
        "error": _error_json(change),
    }


def _error_json(change: FileChange) -> dict[str, str] | None:
    error = change.refusal
    return None if error is None else {"code": error.code, "message": str(error), "remedy": error.remedy}


def _standing_line(style: Style, change: FileChange) -> str:
    title = f"{style(clients()[change.vendor].title, BOLD)}  {one_line(change.path)}"
    if change.refusal is not None:
        return f"{style('unclear', RED)}    {title}\n    {one_line(str(change.refusal))}"
    state = change.standing.state
    if state == INSTALLED:
        return f"{style(state, GREEN)}  {title}"
    lacking = [f"missing: {', '.join(change.standing.missing)}"] if change.standing.missing else []
    lacking += [f"out of date: {', '.join(change.standing.outdated)}"] if change.standing.outdated else []
    return f"{style(f'{state:<9}', YELLOW)}  {title}\n    {'; '.join(lacking)}"


# What was done.


def show_changes(
    session: Session, doing: Doing, changes: Sequence[FileChange], next_steps: Callable[[set[str]], list[str]]
) -> int:
    """What happened to every file; the exit code. `next_steps` are asked for the vendors whose files were changed."""
    refused = [change for change in changes if change.refusal is not None]
    if session.as_json:
        result: dict[str, object] = {
            "action": doing.action,
            "scope": doing.scope,
            "remove": doing.remove,
            "dry_run": doing.dry_run,
            "files": [_change_json(change) for change in changes],
            "notes": _notes(doing, changes),
        }
        session.tell(result, "")
    else:
        session.tell({}, "\n".join(_words(session, doing, changes, next_steps)))
    for change in refused:
        session.warn(f"error: {change.refusal}")
        session.warn(f"  fix: {change.refusal.remedy if change.refusal else ''}")
    return 0 if not refused else PARTIAL if len(refused) < len(changes) else ERROR


def _change_json(change: FileChange) -> dict[str, object]:
    return {
        "vendor": change.vendor,
        "path": change.path,
        "change": change.what,
        "diff": "\n".join(_diff(change)),
        "error": _error_json(change),
    }


def _words(
    session: Session, doing: Doing, changes: Sequence[FileChange], next_steps: Callable[[set[str]], list[str]]
) -> list[str]:
    style = Style(session)
    done = changed_files(changes)
    lines = file_lines(session, doing, done)
    if not done and not any(change.refusal for change in changes):
        lines.append(_nothing_done(doing, changes))
    lines += [style(f"note: {one_line(note)}", YELLOW) for note in _notes(doing, changes)]
    if done and not doing.dry_run and not doing.remove:
        lines += next_steps({change.vendor for change in done})
    return lines or ["Nothing was changed."]


def changed_files(changes: Sequence[FileChange]) -> list[FileChange]:
    return [change for change in changes if change.what not in (UNCHANGED, REFUSED)]


def file_lines(session: Session, doing: Doing, done: Sequence[FileChange]) -> list[str]:
    """What became of each file, or would: in a line, or with every line of it."""
    style = Style(session)
    lines: list[str] = []
    for change in done:
        title = style(_done(change, dry_run=doing.dry_run), BOLD)
        if doing.is_short:
            lines.append(f"{title}  {one_line(change.path)}  {style(_size(change), DIM)}")
        else:
            lines += [f"{title}  {one_line(change.path)}", *_coloured(style, change), ""]
    return lines


def _size(change: FileChange) -> str:
    """`Claude Code, 24 lines more`."""
    rows = _diff(change)
    more, less = (sum(row.startswith(mark) for row in rows) for mark in "+-")
    parts = [
        f"{count} line{'' if count == 1 else 's'} {word}" for count, word in ((more, "more"), (less, "less")) if count
    ]
    return f"{clients()[change.vendor].title}, {', '.join(parts)}"


def _nothing_done(doing: Doing, changes: Sequence[FileChange]) -> str:
    if doing.remove:
        return "There is nothing of ours to remove."
    complete = all(change.is_installed for change in changes)
    return "Everything is installed already." if complete else "Nothing was changed."


def _done(change: FileChange, *, dry_run: bool) -> str:
    verb = {CREATED: "create", REMOVED: "remove"}.get(change.what, "change")
    return f"would {verb}" if dry_run else f"{verb}d"


# The diff.


def _coloured(style: Style, change: FileChange) -> list[str]:
    colours = {"+": GREEN, "-": RED, "@": BLUE}
    return [style(_one_line_kept(line), colours.get(line[:1], DIM)) for line in _diff(change)]


def _one_line_kept(line: str) -> str:
    """A line of the user's file, made harmless, with its indentation."""
    return one_line(line.replace("\t", "    "))


def _diff(change: FileChange) -> list[str]:
    """A unified diff. What both have at the start and at the end is left out before difflib sees it: it is slow."""
    import difflib

    old, new = _lines(change.before), _lines(change.after)
    if old == new:
        return []
    start, end = _shared(old, new), 0
    end = _shared(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    rows = difflib.unified_diff(
        old[first : len(old) - max(0, end - CONTEXT)],
        new[first : len(new) - max(0, end - CONTEXT)],
        lineterm="",
        n=CONTEXT,
    )
    return [_moved(row, first) if row.startswith("@@") else _short(row) for row in list(rows)[2:]]


def _lines(text: str | None) -> list[str]:
    return [] if not text else [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _shared(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(head: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", head)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line):,} characters)"
