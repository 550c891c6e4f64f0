"""Who is there: leaving signs of life, and judging them."""

from __future__ import annotations

from atm.team.rules.liveness import SILENT_AFTER, Beat, judge
from atm.team.rules.team import Team, is_somebody_else

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.ports.presence import Presence
    from atm.team.rules.liveness import Liveness


def beat(
    presence: Presence,
    team: Team | str,
    member: str,
    now: float,
    source: str,
    *,
    pid: int | None = None,
    state: str = "",
    task: str | None = None,
    context: int | None = None,
    message: int = 0,
    checkpoint: int = 0,
) -> Beat | None:
    """Leave a sign of life; the former one. What the new one does not say stays as it was."""
    former = last_beat(presence, team, member, now)
    kept_state = state or (former.state if former else "")
    is_same = former is not None and former.state == kept_state
    since = former.state_since if former and is_same else now
    presence.beat(
        team.name if isinstance(team, Team) else team,
        member,
        Beat(
            at=now,
            source=source,
            host=presence.host,
            pid=pid if pid is not None else _living_process(presence, former),
            state=kept_state,
            state_since=since if kept_state else None,
            state_source=former.state_source if former and is_same and not is_by_hook(source) else source,
            uptime=presence.uptime(),
            boot=presence.boot,
            task=(former.task if former else "") if task is None else task,
            message=message or (former.message if former else 0),
            checkpoint=checkpoint or (former.checkpoint if former else 0),
            context=(former.context if former else None) if context is None else context,
        ),
    )
    return former


def is_by_hook(source: str) -> bool:
    """Only an agent's hooks see its turns and tool calls; a command that it runs is a sign of life and no more."""
    return " hook " in source


def last_beat(presence: Presence, team: Team | str, member: str, now: float) -> Beat | None:
    """
    The newest sign of life of this very member (D26).

    Another program may have taken a namesake off the roster, whose heartbeat stayed. By the roster they are told apart;
    where only the team's name is given, nobody can. One that is too old to show that somebody is there is silence,
    whoever left it.
    """
    if not isinstance(team, Team):
        return presence.last(team, member)
    last, known = presence.last(team.name, member), team.member(member)
    joined_at = known.joined_at if known is not None else None
    if last is None or (now - last.at <= SILENT_AFTER and is_somebody_else(last.at, joined_at, now)):
        return None
    return last


def liveness(presence: Presence, team: Team | str, member: str, now: float) -> Liveness:
    last = last_beat(presence, team, member, now)
    is_here = last is not None and last.pid is not None and last.host == presence.host
    runs = presence.process_runs(last.pid) if is_here and last is not None and last.pid is not None else None
    is_ours = last is not None and last.host == presence.host and last.boot == presence.boot
    return judge(last, now, runs, presence.uptime() if is_ours else None)


def _living_process(presence: Presence, former: Beat | None) -> int | None:
    if former is None or former.pid is None or former.host != presence.host:
        return None
    return former.pid if presence.process_runs(former.pid) else None
