"""
A summary of each team by mail, once a period: what is unread, how the board stands, who is silent, what went wrong.

    [plugins.digest]
    enabled = true
    every = "24h"          # or at = "09:00", every day at that time of this machine
    teams = ["backend"]    # all teams that atm made, if left out
    to = "team-lead"       # the lead of each team, if left out
    skip_empty = true      # no mail when there is nothing to report

A period is told once, also over restarts: what was told stands in a file, and the message of a period has an id of
its own, so that it cannot arrive twice. Periods that nobody was awake for are told as one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from atm.teamd.plugins.api import (
    MESSAGE_ESCALATED,
    MESSAGE_FAILED,
    OFFLINE,
    AtmError,
    Cancel,
    Capability,
    NoSuchMember,
    NoSuchTeam,
    PluginContext,
    PluginError,
    PluginMetadata,
    TeamCompleted,
    TeamFacts,
    Unsuitable,
    counted,
    is_claudes_team,
    one_line,
)

UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
SHORTEST = 60.0
LOOK_AGAIN = 60.0
"""Seconds: the wall clock may be set, and laptops sleep."""

COUNTED = (MESSAGE_ESCALATED, MESSAGE_FAILED)
FINISHED = ("completed", "cancelled")


@dataclass(frozen=True, slots=True)
class Schedule:
    """When periods end: every so many seconds, or every day at a time."""

    every: float = 86_400.0
    at: tuple[int, int] | None = None

    def period(self, now: float) -> int:
        """The period that `now` is in, by the second at which it began."""
        if self.at is None:
            return int(now - now % self.every)
        today = datetime.fromtimestamp(now).replace(hour=self.at[0], minute=self.at[1], second=0, microsecond=0)
        return int((today if today.timestamp() <= now else today - timedelta(days=1)).timestamp())


@dataclass(slots=True)
class Memory:
    """What must outlive a restart: the last period told of each team, and what was counted since."""

    path: str
    told: dict[str, int] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def load(self) -> None:
        try:
            with open(self.path, encoding="utf-8") as file:
                data = json.load(file)
        except (OSError, ValueError):
            return  # the first time, or damaged: the next period is told
        known = data if isinstance(data, dict) else {}
        self.told = {team: p for team, p in _table(known.get("told")).items() if isinstance(p, int)}
        self.counts = {
            team: {kind: n for kind, n in _table(kinds).items() if isinstance(n, int)}
            for team, kinds in _table(known.get("counts")).items()
        }

    def save(self) -> None:
        temporary = f"{self.path}.new"
        private = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(private, "w", encoding="utf-8") as file:
            json.dump({"told": self.told, "counts": self.counts}, file)
        os.replace(temporary, self.path)

    def count(self, team: str, kind: str) -> None:
        kinds = self.counts.setdefault(team, {})
        kinds[kind] = kinds.get(kind, 0) + 1


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


class Digest:
    """The plugin."""

    def metadata(self) -> PluginMetadata:
        wanted = (Capability.INJECT_MESSAGES, Capability.EVENT_LISTENER)
        return PluginMetadata("digest", "1.0", "mails a summary of each team, once a period", wanted)

    async def init(self, ctx: PluginContext) -> None:
        self.schedule = schedule_from(ctx.config)
        teams, to = ctx.config.get("teams"), ctx.config.get("to")
        self.teams = [str(team) for team in teams] if isinstance(teams, list | tuple) else []
        self.to = to if isinstance(to, str) else ""
        self.skips_empty = ctx.config.get("skip_empty") is True
        self.memory = Memory(f"{ctx.temp_dir}/digest.json")
        self.memory.load()

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        counting = asyncio.ensure_future(self._count(ctx))
        try:
            while True:
                await self._tell_all(ctx)
                if await cancel.wait(LOOK_AGAIN):
                    return
                if counting.done():
                    counting.result()
        finally:
            counting.cancel()

    async def shutdown(self) -> None:
        self.memory.save()

    async def _count(self, ctx: PluginContext) -> None:
        async for event in ctx.events:
            if event.kind in COUNTED:
                self.memory.count(event.team, event.kind)

    async def _tell_all(self, ctx: PluginContext) -> None:
        period = self.schedule.period(ctx.now())
        for team in await self._meant(ctx):
            # Met in the middle of a period, the next one is the first. A clock that was set back tells nothing twice,
            # unless it had run ahead for so long that we would be silent for ever.
            last = self.memory.told.setdefault(team, period)
            if period > last or last > period + 2 * self.schedule.every:
                await self._tell(ctx, team, period)
        try:
            self.memory.save()
        except OSError as error:  # the ids of messages still keep a period from being told twice
            ctx.log("warn", f"what was told could not be written down: {error}")

    async def _meant(self, ctx: PluginContext) -> list[str]:
        if self.teams:
            return self.teams
        return [team for team in await ctx.roster.teams() if not is_claudes_team(team)]

    async def _tell(self, ctx: PluginContext, team: str, period: int) -> None:
        """Once for each period: a team that cannot be told is not tried again before the next."""
        try:
            facts = await ctx.mail.overview(team)
            counts = self.memory.counts.get(team, {})
            report = lines_of(facts, counts, ctx.now())
            if not facts.completed and (report or not self.skips_empty):
                head = headline(facts.team, period)
                text = "\n".join([head, "", *(report or ["Nothing to report."])])
                await ctx.mail.send(self.to or facts.lead, team, text, summary=head, once=str(period))
        except (NoSuchMember, NoSuchTeam, TeamCompleted, PluginError) as error:
            ctx.log("warn", f"no digest for {team}: {error}")
        except AtmError as error:
            ctx.log("warn", f"no digest for {team} yet: {error}")
            return
        self.memory.told[team] = period
        self.memory.counts.pop(team, None)


# Settings.


def schedule_from(config: Mapping[str, object]) -> Schedule:
    every, at = config.get("every"), config.get("at")
    if every is not None and at is not None:
        raise Unsuitable("plugins.digest has both `every` and `at`", "leave one of them out")
    if at is not None:
        return Schedule(at=_time_of_day(at))
    return Schedule(every=_seconds(every) if every is not None else 86_400.0)


def _seconds(value: object) -> float:
    """`90m`, `24h`, `7d`, or seconds."""
    text = str(value).strip()
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0.0
    if isinstance(value, bool) or not SHORTEST <= seconds <= 366 * 86_400:
        raise Unsuitable(f"plugins.digest.every must be like 90m, 24h or 7d, not {value!r}", "mend it")
    return seconds


def _time_of_day(value: object) -> tuple[int, int]:
    hour, colon, minute = str(value).partition(":")
    is_time = colon and hour.isdecimal() and minute[:2].isdecimal() and int(hour) < 24 and int(minute[:2]) < 60
    if not is_time:
        raise Unsuitable(f'plugins.digest.at must be like "09:00", not {value!r}', "mend it")
    return int(hour), int(minute[:2])


# The text.


def headline(team: str, began: float) -> str:
    return f"Digest for {one_line(team)}, up to {datetime.fromtimestamp(began).strftime('%Y-%m-%d %H:%M')}"


def lines_of(facts: TeamFacts, counts: Mapping[str, int], now: float) -> list[str]:
    """What there is to report; nothing if all is well and nobody waits."""
    unread = [
        f"  {one_line(m.name)}: {m.unread.count}{_oldest(m.unread.oldest_at, now)}"
        for m in facts.members
        if m.unread.count
    ]
    silent = [
        f"  {one_line(m.name)}" + (f" for {span(m.silent_for)}" if m.silent_for is not None else "")
        for m in facts.members
        if m.kind == "agent" and m.liveness == OFFLINE
    ]
    is_open = any(count for state, count in facts.tasks.items() if state not in FINISHED)
    board = [f"  {', '.join(f'{count} {state}' for state, count in sorted(facts.tasks.items()))}"] if is_open else []
    parts = {"Unread mail": unread, "Tasks": board, "Silent": silent, "Trouble": _trouble(facts, counts)}
    return [line for title, lines in parts.items() if lines for line in (title, *lines, "")][:-1]


def _trouble(facts: TeamFacts, counts: Mapping[str, int]) -> list[str]:
    found = []
    if counts.get(MESSAGE_ESCALATED):
        found.append(f"  {counted(counts[MESSAGE_ESCALATED], 'message')} escalated: nobody acknowledged it in time")
    if facts.spool_failed or counts.get(MESSAGE_FAILED):
        found.append(f"  {counted(max(facts.spool_failed, counts.get(MESSAGE_FAILED, 0)), 'message')} given up")
    if facts.spool_waiting:
        found.append(
            f"  {counted(facts.spool_waiting, 'message waits', 'messages wait')} in the spool (`atm spool list`)"
        )
    found += [f"  {one_line(m.name)}: {one_line(m.unread.problem)}" for m in facts.members if m.unread.problem]
    return [*found, *(f"  {one_line(problem)}" for problem in facts.problems)]


def _oldest(at: float | None, now: float) -> str:
    return "" if at is None else f", the oldest {span(max(0.0, now - at))} old"


def span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
