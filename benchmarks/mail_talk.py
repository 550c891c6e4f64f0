"""Mail over an open MCP connection, beside a plain server of the field (`rival_mcp.py`): one sends, one reads."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Bench
from benchmarks.daemon import running
from benchmarks.mcp import Calls, talk_to_atm
from benchmarks.mcp_programs import Talk
from benchmarks.rows import Row
from benchmarks.sandboxes import OWNER, SENDER, TEXT, Sandbox, inbox_of, new_team

RIVAL = Path(__file__).with_name("rival_mcp.py")

SIZES = (0, 1_000, 10_000)
WHAT = ("send", "read", "nothing")
PAUSE = 0.12
"""Seconds between two calls: what a daemon does after an answer is not on the next one's clock, as with agents."""


@dataclass(frozen=True, slots=True)
class MailTalk:
    """Calls by (who, what, rows in the inbox)."""

    calls: dict[tuple[str, str, int], Calls]
    transport: Calls
    """A call of atm that does next to nothing."""

    def middle(self, who: str, what: str, size: int) -> float:
        return self.calls[who, what, size].percentile(0.5)


def measure_mail_talk(bench: Bench) -> MailTalk:
    rounds = 3 if bench.effort.rounds < 10 else 40
    calls: dict[tuple[str, str, int], Calls] = {}
    transport = Calls(())
    for size in SIZES:
        bench.say(f"MCP: mail over an open connection, {size:,} rows, {rounds} rounds, beside a plain server")
        with ExitStack() as stack:
            atm, transport_of = _atm(bench, stack, size)
            pairs = {"atm": atm, "rival": _rival(bench, stack, size)}
            taken = _take_turns(pairs, rounds)
            calls |= {(who, what, size): Calls((tuple(found),)) for (who, what), found in taken.items()}
            transport = Calls((tuple(transport_of.time("team_status", {}) for _ in range(10 * rounds)),))
    return MailTalk(calls, transport)


def _atm(bench: Bench, stack: ExitStack, size: int) -> tuple[tuple[Talk, Talk], Talk]:
    sandbox = new_team(bench.new_folder())
    if size:
        sandbox.inbox.write_bytes(inbox_of(size, 0))
    stack.enter_context(running(bench, sandbox))
    sender = stack.enter_context(talk_to_atm(bench, sandbox, SENDER))
    reader = stack.enter_context(talk_to_atm(bench, sandbox, OWNER))
    return (sender, reader), sender


def _rival(bench: Bench, stack: ExitStack, size: int) -> tuple[Talk, Talk]:
    folder = bench.new_folder()
    folder.mkdir(parents=True)
    if size:
        (folder / f"{OWNER}.json").write_bytes(inbox_of(size, 0))
    sender, reader = (stack.enter_context(_rival_of(bench, folder, name)) for name in (SENDER, OWNER))
    return sender, reader


def _rival_of(bench: Bench, folder: Path, name: str) -> Talk:
    words = (bench.installation.python, "-P", str(RIVAL), str(folder), name)
    return Talk(words, Sandbox(folder).environment, str(folder)).shake_hands()


def _take_turns(pairs: dict[str, tuple[Talk, Talk]], rounds: int) -> dict[tuple[str, str], list[float]]:
    """A message, a look that finds it, and one that finds nothing. One round more is thrown away."""
    taken: dict[tuple[str, str], list[float]] = {(who, what): [] for who in pairs for what in WHAT}
    for number in range(rounds + 1):
        for who, (sender, reader) in pairs.items():
            seconds = []
            for talk, tool, given in (
                (sender, "mail_send", {"to": OWNER, "text": TEXT}),
                (reader, "mail_read", {}),
                (reader, "mail_read", {}),
            ):
                time.sleep(PAUSE)
                seconds.append(talk.time(tool, given))
            for what, found in zip(WHAT, seconds, strict=True):
                taken[who, what] += [found] if number else []
    return taken


WHY = (
    "an answer of atm stands for three files that are on the disk and a book that can prove it; the plain server only "
    "hands its bytes to the system, and forgets who has seen what"
)


def mail_talk_targets(found: MailTalk) -> list[Row]:
    most = SIZES[-1]
    over = (found.middle("atm", "nothing", most) - found.transport.percentile(0.5)) * 1000
    return [
        _beside("send, empty inbox / a plain server without fsync", found, ("send", 0, "rival", 0), 1.0),
        _beside(f"send, {most:,} rows / empty inbox", found, ("send", most, "atm", 0), 1.3),
        _beside("read of 1 new, empty inbox / a plain server without fsync", found, ("read", 0, "rival", 0), 1.0),
        _beside(f"read of 1 new, {most:,} rows / empty inbox", found, ("read", most, "atm", 0), 2.0),
        Row(
            f"over MCP: read of nothing new, {most:,} rows, beyond a call that does nothing",
            f"{over:.1f} ms",
            f"p50 {found.middle('atm', 'nothing', most) * 1000:.1f} ms",
            "≤ 2 ms",
            over <= 2,
            "an inbox that other programs may write is looked through for unread marks whenever its file has changed, "
            "and each of the sends between these reads changes it",
        ),
    ]


def _beside(what: str, found: MailTalk, pair: tuple[str, int, str, int], most: float) -> Row:
    verb, size, other, other_size = pair
    one, unit = found.middle("atm", verb, size), found.middle(other, verb, other_size)
    value = round(one / unit, 2)
    detail = f"{one * 1000:.1f} ms / {unit * 1000:.1f} ms"
    return Row(f"over MCP: {what}, p50", f"{value:.2f}", detail, f"≤ {most}", value <= most, WHY)


def mail_talk_context(found: MailTalk) -> list[Row]:
    return [
        Row(
            f"over MCP: {what}, {size:,} rows: atm, p50 and p99",
            found.calls["atm", what, size].middle_and_slowest,
            f"plain server {found.calls['rival', what, size].middle_and_slowest}",
        )
        for what in WHAT
        for size in SIZES
    ]
