"""The cases of design section 6, each measured beside what it is compared with."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import baseline
from benchmarks.crowd import Outcome, run_crowd
from benchmarks.installation import Installation
from benchmarks.measure import Program, Ratio, Times, Variant, ratio, round_robin
from benchmarks.sandboxes import (
    OWNER,
    REPO_SETTINGS,
    SENDER,
    TEAM,
    TEXT,
    Sandbox,
    copy_of,
    count_rows,
    count_unread,
    inbox_of,
    new_repository,
    new_team,
)

FEW, MANY, HUGE = 10, 10_000, 100_000
UNREAD = 5
CROWD = 8

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are measured."""

    rounds: int
    large_rounds: int
    crowds: int
    sends: int


THOROUGH = Effort(rounds=40, large_rounds=20, crowds=5, sends=200)
QUICK = Effort(rounds=3, large_rounds=2, crowds=1, sends=20)


@dataclass(slots=True)
class Bench:
    """What all cases share."""

    folder: Path
    installation: Installation
    effort: Effort
    say: Say
    _made: int = field(default=0)

    def new_folder(self) -> Path:
        self._made += 1
        return self.folder / f"made-{self._made}"


class Prepared:
    """A program that is given a fresh sandbox before every run, and whose effect is checked after it."""

    def __init__(
        self, bench: Bench, team: Sandbox, content: bytes, cwd: str, words: Callable[[Sandbox], list[str]]
    ) -> None:
        self._bench = bench
        self._team = team
        self._content = content
        self._cwd = cwd
        self._words = words
        self._sandbox: Sandbox | None = None
        self._program: Program | None = None

    def prepare(self) -> None:
        self._sandbox = copy_of(self._team, self._bench.new_folder(), self._content)
        self._program = Program(tuple(self._words(self._sandbox)), self._sandbox.environment, self._cwd)

    def run(self) -> None:
        assert self._program is not None
        self._program()

    def check(self, count: Callable[[Path], int], expected: int) -> None:
        assert self._sandbox is not None
        found = count(self._sandbox.inbox)
        if found != expected:
            raise RuntimeError(f"{found} rows instead of {expected} after {self._words(self._sandbox)}")
        self._sandbox.remove()

    def variant(self, name: str, count: Callable[[Path], int], expected: int) -> Variant:
        return Variant(name, self.run, self.prepare, lambda: self.check(count, expected))


def time_programs(bench: Bench) -> dict[str, Times]:
    """Every command line, in one round robin."""
    bench.say(f"command lines, {bench.effort.rounds} rounds: bare interpreter, send, read, filelock + json")
    return round_robin(_programs(bench), bench.effort.rounds, _progress(bench, bench.effort.rounds))


def _programs(bench: Bench) -> list[Variant]:
    made, team = bench.installation, new_team(bench.new_folder())
    plain = new_repository(bench.new_folder())
    with_settings = new_repository(bench.new_folder(), REPO_SETTINGS)
    team.trust(with_settings)
    few, many = (inbox_of(count - 1, UNREAD - 1) for count in (FEW, MANY))  # more of one sender's would have to wait
    mostly_read = inbox_of(MANY - 1, UNREAD - 1)

    def send(name: str, script: str, content: bytes, cwd: str, rows: int) -> Variant:
        words = [script, "send", OWNER, TEXT, "--from", SENDER]
        return Prepared(bench, team, content, cwd, lambda _: words).variant(name, count_rows, rows + 1)

    def rival(name: str, style: str, content: bytes, rows: int) -> Variant:
        case = Prepared(bench, team, content, plain, lambda home: [made.baseline, style, str(home.inbox), SENDER, TEXT])
        return case.variant(name, count_rows, rows + 1)

    read = Prepared(bench, team, mostly_read, plain, lambda _: [made.atm, "read", "--json", "--as", OWNER])
    bare = Program((made.python, "-I", "-c", "pass"), Sandbox(bench.folder).environment, plain)
    variants = [
        Variant("bare", bare),
        send("send", made.atm, few, plain, FEW),
        send("send with settings", made.atm, few, with_settings, FEW),
        send("send to many", made.atm, many, plain, MANY),
        read.variant("read", count_unread, 0),
        rival("rival", "dump", few, FEW),
        rival("rival to many", "dump", many, MANY),
        rival("quick rival to many", "dumps", many, MANY),
    ]
    variants.append(Variant("hook", hook_program(bench, team, made.atm, plain)))
    if made.installed_script_imports_re:
        variants.append(send("send as installed", made.atm_as_installed, few, plain, FEW))
    return variants


PAYLOAD = '{"session_id": "5e55", "cwd": "/work", "hook_event_name": "PostToolUse", "tool_name": "Bash"}'


def hook_program(bench: Bench, team: Sandbox, atm: str, folder: str) -> Program:
    """A hook after a tool call, as most are: the agent has no new mail, and gave a sign of life a moment ago."""
    payload = bench.new_folder()
    payload.write_text(PAYLOAD, encoding="utf-8")
    environment = {**team.environment, "ATM_TEAM": TEAM, "ATM_IDENTITY": SENDER}
    return Program((atm, "hook", "claude", "PostToolUse"), environment, folder, str(payload))


def time_large_append(bench: Bench) -> dict[str, Times]:
    """Sending to a very large inbox, and copying that file, taking turns in this process."""
    bench.say(f"appending to {HUGE:,} rows beside copying the file, {bench.effort.large_rounds} rounds")
    sandbox = copy_of(new_team(bench.new_folder()), bench.new_folder(), inbox_of(HUGE - 1, HUGE - 1))
    room, target = sandbox.room(), bench.new_folder()
    variants = [
        Variant("append", lambda: _discard(sandbox.send(room))),
        Variant("copy", lambda: copy_durably(sandbox.inbox, target)),
    ]
    times = round_robin(variants, bench.effort.large_rounds, _progress(bench, bench.effort.large_rounds))
    sandbox.remove()
    return times


def _discard(_: object) -> None:
    """A variant returns nothing."""


def copy_durably(source: Path, target: Path) -> None:
    """Copy the bytes, fsync, rename: the least that any safe rewrite of a file does."""
    temporary = target.with_suffix(".new")
    with open(source, "rb", buffering=0) as old, open(temporary, "wb", buffering=0) as new:
        while data := old.read(1 << 20):
            new.write(data)
        os.fsync(new.fileno())
    os.replace(temporary, target)


@dataclass(frozen=True, slots=True)
class Crowds:
    """What crowds of each kind did, run by run."""

    outcomes: dict[str, list[Outcome]]

    def throughput(self, rival: str) -> Ratio:
        """How many times as many messages a second as this rival."""
        return ratio(self._times(rival), self._times("atm"))  # of times, so the rival's stands above

    def _times(self, kind: str) -> Times:
        return Times(tuple(run.seconds for run in self.outcomes[kind]))

    def rate(self, kind: str) -> float:
        return statistics.median(run.rate for run in self.outcomes[kind])

    def slowest_percent(self, kind: str) -> float:
        """Seconds below which 99 of 100 sends took."""
        return statistics.median(run.slowest_percent for run in self.outcomes[kind])

    def lost(self, kind: str) -> int:
        return sum(run.lost for run in self.outcomes[kind])

    def doubled(self, kind: str) -> int:
        return sum(run.doubled for run in self.outcomes[kind])


def run_crowds(bench: Bench, processes: int) -> Crowds:
    """A crowd of each kind, in turn."""
    outcomes: dict[str, list[Outcome]] = {"atm": [], **{style: [] for style in baseline.STYLES}}
    for number in range(bench.effort.crowds):
        for kind, found in outcomes.items():
            name = "atm" if kind == "atm" else f"filelock + {baseline.NAMES[kind]}"
            bench.say(f"{processes} × {bench.effort.sends} sends, {name}, {number + 1} of {bench.effort.crowds}")
            os.sync()
            found.append(run_crowd(bench.installation, kind, bench.new_folder(), processes, bench.effort.sends))
    return Crowds(outcomes)


def _progress(bench: Bench, rounds: int) -> Callable[[int], None]:
    def tick(number: int) -> None:
        if number and number % 10 == 0:
            bench.say(f"  round {number} of {rounds}")

    return tick
