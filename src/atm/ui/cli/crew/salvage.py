"""`atm salvage`: work that was saved before a worktree was taken away."""

from __future__ import annotations

import os

from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.crew.services.salvaging import drop_saved, find_saved, restore_saved, saved_around
from atm.team.services.standing import check_person
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.session import working_folder
from atm.ui.cli.team.belonging import check_here
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.worktrees import Saved, Worktrees
    from atm.ui.cli.session import Session

NOTHING = 3
"""The exit code that says so."""

_ID = Argument("id", "the id, or the beginning of it")
_TEAM = Option("--team", "-t", value="TEAM", help="only what was saved for this team")

LIST = Command(
    "salvage list",
    "what was saved in this repository, newest first",
    text="Exit code 3: nothing was.",
    options=(_TEAM,),
    examples=("atm salvage list", "atm salvage list --team backend --json"),
)
SHOW = Command(
    "salvage show",
    "what is in it, as a patch",
    arguments=(_ID,),
    options=(_TEAM,),
    examples=("atm salvage show 4f0c19",),
)
RESTORE = Command(
    "salvage restore",
    "write its files into a new or empty folder",
    text="All files as they were in the worktree, but for ignored ones. Your own files are not touched.",
    arguments=(_ID,),
    options=(Option("--to", value="FOLDER", help="where to; it must be new or empty"), _TEAM),
    examples=("atm salvage restore 4f0c19 --to ../rescued",),
)
DROP = Command(
    "salvage drop",
    "let it go",
    text="Shows what would go; --yes does it. Git deletes it for good some weeks later.",
    arguments=(_ID,),
    options=(Option("--yes", "-y", help="do it"), _TEAM),
    examples=("atm salvage drop 4f0c19 --yes",),
)
COMMAND = Command(
    "salvage",
    "work that was saved before a worktree was taken away",
    default="list",
    subcommands=(LIST, SHOW, RESTORE, DROP),
    examples=("atm salvage", "atm salvage show 4f0c19", "atm salvage restore 4f0c19 --to ../rescued"),
)


def execute(args: Args, session: Session) -> int:
    from atm.wiring.crew import build_worktrees

    worktrees = build_worktrees(session.layout)
    found = saved_around(worktrees, working_folder(), args.text("team") or "")
    verbs = {"salvage show": _show, "salvage restore": _restore, "salvage drop": _drop}
    verb = verbs.get(args.command.name)
    if args.text("team") and not found:
        check_here(session, args.need("team"), is_named=True)
    if verb is None:
        return _list(session, found)
    return verb(args, session, worktrees, find_saved(found, args.need("id")))


def _list(session: Session, found: list[Saved]) -> int:
    if session.as_json:
        session.print_json({"action": "salvage list", "items": [_as_json(one) for one in found]})
    elif found:
        from atm.ui.views.tables import table

        rows = [[one.id, one.ref, _count(one), one.why] for one in found]
        session.print("\n".join(table(["Id", "Ref", "Files", "Why"], rows, right=(2,), drop=(1, 2))))
    else:
        session.print("Nothing was saved in this repository.")
    return 0 if found else NOTHING


def _count(one: Saved) -> str:
    return str(len(one.dirty) + len(one.untracked))


def _as_json(one: Saved) -> dict[str, object]:
    return {
        "id": one.id,
        "ref": one.ref,
        "commit": one.commit,
        "why": one.why,
        "dirty": one.dirty,
        "untracked": one.untracked,
    }


def _show(args: Args, session: Session, worktrees: Worktrees, one: Saved) -> int:  # noqa: ARG001 - all verbs alike
    patch = worktrees.show(one)
    if session.as_json:
        session.print_json({"action": "salvage show", "item": _as_json(one), "patch": patch})
        return 0
    lines = [f"{one.id}  {one_line(one.ref)}", f"why: {one_line(one.why)}"]
    lines += [f"dirty: {one_line(path)}" for path in one.dirty]
    lines += [f"untracked: {one_line(path)}" for path in one.untracked]
    session.print("\n".join([*lines, "", patch]))
    return 0


def _restore(args: Args, session: Session, worktrees: Worktrees, one: Saved) -> int:
    folder = os.path.abspath(os.path.expanduser(args.need("to")))
    with Spinner(session, f"writing files to {folder}"):
        paths = restore_saved(worktrees, one, folder)
    result: dict[str, object] = {"action": "salvage restore", "item": _as_json(one), "to": folder, "paths": paths}
    session.tell(result, f"wrote {counted(len(paths), 'file')} to {one_line(folder)}")
    return 0


def _drop(args: Args, session: Session, worktrees: Worktrees, one: Saved) -> int:
    doing = args.flag("yes")
    session.wants_yes = not doing
    if doing:
        check_person(session.room, "drop saved work")
        drop_saved(worktrees, one)
    words = (
        f"dropped {one.id}"
        if doing
        else f"would drop {one.id} ({counted(int(_count(one)), 'file')}); add --yes to do it"
    )
    session.tell({"action": "salvage drop", "dry_run": not doing, "item": _as_json(one)}, words)
    return 0
