"""`atm teams backup` and `restore`."""

from __future__ import annotations

import os

from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.roster.services.backups import back_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.services.restore_pass import Restored
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def _backup(args: Args, session: Session) -> int:
    done = back_up(session.room, args.need("team"))
    result: dict[str, object] = {
        "action": "backup",
        "team": done.team,
        "backup_path": done.path,
        "inbox_count": done.inboxes,
        "task_count": done.tasks,
        "member_count": done.members,
        "bytes": done.bytes,
    }
    what = f"{counted(done.members, 'member')}, {counted(done.inboxes, 'inbox', 'inboxes')}"
    what += f", {counted(done.tasks, 'task')}, {done.bytes:,} bytes"
    session.tell(result, one_line(f"backed up {done.team} to {done.path} ({what})"))
    return 0


def _restore(args: Args, session: Session) -> int:
    from atm.roster.services.restoring import restore

    given, dry_run = args.text("from"), args.flag("dry_run")
    if given is not None and ("/" in given or os.sep in given or given.startswith("~")):
        given = os.path.abspath(os.path.expanduser(given)).replace(os.sep, "/")
    done = restore(session.room, args.need("team"), given, dry_run=dry_run, skip_tasks=args.flag("skip_tasks"))
    session.tell(_as_json(done, dry_run), _words(done, dry_run))
    return 0


def _as_json(done: Restored, dry_run: bool) -> dict[str, object]:
    return {
        "action": "restore",
        "team": done.team,
        "dry_run": dry_run,
        "backup_path": done.path,
        "made_anew": done.anew,
        "members_restored": len(done.members),
        "inboxes_restored": len(done.inboxes),
        "messages_restored": done.messages,
        "tasks_restored": len(done.tasks),
        "highwatermark": done.high_water,
        "members": [*done.members],
        "tasks": [str(number) for number in done.tasks],
        "skipped": done.skipped,
    }


def _words(done: Restored, dry_run: bool) -> str:
    counts = (
        f"{counted(len(done.members), 'member')}, {counted(len(done.inboxes), 'inbox', 'inboxes')} with "
        f"{counted(done.messages, 'message')}, "
        f"{counted(len(done.tasks), 'task')}"
    )
    verb = "would restore" if dry_run else "restored"
    lines = [f"{verb} {done.team} from {done.path}: {counts}"]
    lines += [f"  {item['kind']} {item['name']}: {item['reason']}" for item in done.skipped]
    return "\n".join(one_line(line) for line in lines)


VERBS = {"backup": _backup, "restore": _restore}
