"""`atm tasks` allow and beat: a person's yes, and a sign of life."""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.team.rules.team import check_open
from atm.team.services.registry import find_team
from atm.ui.cli.board.doing import worker
from atm.ui.cli.board.view import report, task_meant, team_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def _allow(args: Args, session: Session) -> int:
    from atm.board.services.marks import allow_checks

    team, who = team_of(args, session), session.identity(args)
    task = allow_checks(session.boardroom, team, who, task_meant(args, session, team))
    return report(session, "allow", team, task, f"the commands of #{task.id} may run as they are now")


def _beat(args: Args, session: Session) -> int:
    from atm.team.services.presence import beat, last_beat
    from atm.team.services.standing import record_named

    found = check_open(find_team(session.room, team_of(args, session)))
    team, who = found.name, worker(args, session, found)
    boardroom, lasting = session.boardroom, args.whole("while")
    pid = args.whole("pid") if lasting is None else lasting
    if pid is not None and not boardroom.presence.process_runs(pid):
        raise UsageError(f"no process {pid} runs here", "give the number of a running process, such as $$")
    if pid is not None:
        record_named(session.room, found, who, pid)
    context = args.whole("context")
    if context is not None and context > 100:
        raise UsageError(f"--context is a percentage, not {context}", "give 0 to 100")
    beat(boardroom.presence, found, who, boardroom.clock.now(), "atm tasks beat", pid=pid, context=context)
    session.tell({"action": "beat", "team": team, "member": who, "pid": pid}, f"{who} is there")
    every = args.number("every") or 60.0
    while lasting is not None and boardroom.presence.process_runs(lasting):
        boardroom.clock.sleep(min(1.0, every))
        last = last_beat(boardroom.presence, found, who, boardroom.clock.now())
        if last is None or boardroom.clock.now() - last.at >= every:
            beat(boardroom.presence, found, who, boardroom.clock.now(), "atm tasks beat", pid=pid)
    return 0


EXECUTE = {"tasks allow": _allow, "tasks beat": _beat}
