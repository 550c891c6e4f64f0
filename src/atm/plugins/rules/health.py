"""
How a plugin fares, and when it is started again: a circuit breaker with growing pauses.

Pure: time and chance are arguments. Times are seconds of a clock that nobody can set. A failure is told with the
phase it happened in; the table of states is drawn by what each function gives.

    starting ──ready──> running ──fails──> backoff ──due──> starting
        └──fails──> failed-init ──due──> starting
    the fifth failure within ten minutes: broken ──due, half an hour later──> starting, on trial
    a failure on trial: broken again; ten minutes of running: as if nothing had been
"""

from __future__ import annotations

from dataclasses import dataclass, replace

STARTING, RUNNING, BACKOFF, BROKEN = "starting", "running", "backoff", "broken"
STOPPED, DISABLED, FAILED_INIT = "stopped", "disabled", "failed-init"
STATES = (STARTING, RUNNING, BACKOFF, BROKEN, STOPPED, DISABLED, FAILED_INIT)

INIT, RUN = "init", "run"
"""The phases in which something can fail: before the plugin said that it is ready, and after."""

LONGEST_ERROR = 2000


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The numbers, in seconds. Tests have shorter ones."""

    first_pause: float = 1.0
    longest_pause: float = 60.0
    most_failures: int = 5
    within: float = 600.0
    open_for: float = 1800.0
    clears_after: float = 600.0
    """A run as long as this makes all former failures forgotten."""


@dataclass(frozen=True, slots=True)
class PluginHealth:
    """Where one plugin stands. Never changed: every step gives a new one."""

    state: str = STOPPED
    since: float = 0.0
    failures: tuple[float, ...] = ()
    """When it failed lately, the newest last."""
    streak: int = 0
    """Failures since it last ran for long."""
    retry_at: float | None = None
    on_trial: bool = False
    last_error: str = ""
    starts: int = 0

    @property
    def restarts(self) -> int:
        return max(0, self.starts - 1)

    @property
    def is_alive(self) -> bool:
        return self.state in (STARTING, RUNNING)


def started(health: PluginHealth, now: float) -> PluginHealth:
    """A process was started. After the circuit was open, this one is on trial."""
    trial = health.state == BROKEN or health.on_trial
    return replace(health, state=STARTING, since=now, retry_at=None, on_trial=trial, starts=health.starts + 1)


def ready(health: PluginHealth, now: float) -> PluginHealth:
    """Its `init` is done."""
    return replace(health, state=RUNNING, since=now)


def settled(health: PluginHealth, now: float, policy: RestartPolicy) -> PluginHealth:
    """Forget former failures once it has run for long enough; the same health otherwise."""
    blemished = health.failures or health.streak or health.on_trial
    if health.state != RUNNING or not blemished or now - health.since < policy.clears_after:
        return health
    return replace(health, failures=(), streak=0, on_trial=False, last_error="")


def failed(
    health: PluginHealth, now: float, error: str, phase: str, policy: RestartPolicy, chance: float
) -> PluginHealth:
    """It ended without being asked to. `chance` in [0, 1) spreads the pauses, so that not all start at once."""
    health = settled(health, now, policy)
    failures = (*(at for at in health.failures if now - at < policy.within), now)
    streak = health.streak + 1
    told = replace(health, since=now, failures=failures, streak=streak, last_error=error[:LONGEST_ERROR])
    if health.on_trial or len(failures) >= policy.most_failures:
        return replace(told, state=BROKEN, retry_at=now + policy.open_for, on_trial=False)
    state = FAILED_INIT if phase == INIT else BACKOFF
    return replace(told, state=state, retry_at=now + pause(streak, policy, chance))


def pause(streak: int, policy: RestartPolicy, chance: float) -> float:
    """Seconds before the next start: 1, 2, 4 … 60, each a fifth shorter or longer by chance."""
    grown = policy.first_pause * 2.0 ** min(streak - 1, 30)
    return min(grown, policy.longest_pause) * (0.8 + 0.4 * chance)


def is_due(health: PluginHealth, now: float) -> bool:
    """Is it time to start it again?"""
    return health.retry_at is not None and now >= health.retry_at


def stopped(health: PluginHealth, now: float) -> PluginHealth:
    """It was asked to stop, and did. The next start is a first one."""
    return PluginHealth(state=STOPPED, since=now, starts=health.starts, last_error=health.last_error)


def disabled(health: PluginHealth, now: float, reason: str) -> PluginHealth:
    """It says itself that it cannot be of use here, or nothing can be started: until the user changes something."""
    return PluginHealth(state=DISABLED, since=now, starts=health.starts, last_error=reason[:LONGEST_ERROR])
