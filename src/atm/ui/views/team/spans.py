"""Times as faces say them: `41 s`, `17 min`, `1 h 02`, `3 d`; `11:42 left`."""

from __future__ import annotations

from atm.board.rules.time_limits import standing_in_words
from atm.files.formats.times import from_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.views.team.seen import MemberSeen


def span(seconds: float | None) -> str:
    """How long. Empty for what nobody knows."""
    if seconds is None:
        return ""
    whole = int(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02}"
    return f"{whole // 86_400} d"


def since(at: str | None, now: float) -> float | None:
    """Seconds since a time that was written down. None if it cannot be read, or lies ahead: a clock jumped."""
    then = from_iso(at) if at else None
    return None if then is None or then > now + 5 else max(0.0, now - then)


def on_task(member: MemberSeen, now: float) -> str:
    """`12 min of 1h, no output for 8 min`: how long an agent works on its task; empty where that is not known."""
    return standing_in_words(since(member.task_since, now), member.task_limit, since(member.output_at, now))


def left(until: str, now: float) -> str:
    """How long until then, with seconds: somebody has to be quick."""
    then = from_iso(until) if until else None
    if then is None:
        return ""
    whole = int(max(0.0, then - now))
    return f"{whole // 60}:{whole % 60:02}" if whole < 3600 else span(whole)


def clock(at: str | None) -> str:
    """Wall-clock time, of this machine."""
    from time import localtime, strftime

    then = from_iso(at) if at else None
    return strftime("%H:%M:%S", localtime(then)) if then is not None else "unknown"
