"""Who is there: leaving signs of life, and judging them."""

from __future__ import annotations

from atm.domain.team.liveness import Beat, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team.liveness import Liveness
    from atm.ports.team.presence import Presence


def beat(
    presence: Presence,
    team: str,
    member: str,
    now: float,
    source: str,
    *,
    pid: int | None = None,
    state: str = "",
) -> Beat | None:
    """Leave a sign of life; the former one. What the new one does not say stays as it was."""
    former = presence.last(team, member)
    kept_state = state or (former.state if former else "")
    is_same = former is not None and former.state == kept_state
    since = former.state_since if former and is_same else now
    presence.beat(
        team,
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
        ),
    )
    return former


def is_by_hook(source: str) -> bool:
    """Only an agent's hooks see its turns and tool calls; a command that it runs is a sign of life and no more."""
    return " hook " in source


def liveness(presence: Presence, team: str, member: str, now: float) -> Liveness:
    last = presence.last(team, member)
    is_here = last is not None and last.pid is not None and last.host == presence.host
    runs = presence.process_runs(last.pid) if is_here and last is not None and last.pid is not None else None
    is_ours = last is not None and last.host == presence.host and last.boot == presence.boot
    return judge(last, now, runs, presence.uptime() if is_ours else None)


def _living_process(presence: Presence, former: Beat | None) -> int | None:
    if former is None or former.pid is None or former.host != presence.host:
        return None
    return former.pid if presence.process_runs(former.pid) else None
