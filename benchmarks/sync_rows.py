"""The rows of work-sync and of the MCP server."""

from __future__ import annotations

from benchmarks.mcp import TIMED, McpFigures
from benchmarks.measure import Times, ratio
from benchmarks.rows import Row, at_most, beside, rounded
from benchmarks.worksync import BURST, BURST_OWNERS, LARGE_TEAM, SMALL_TEAM, SyncFigures

MIB = 1 << 20
MOST_MEMORY = 16
"""MiB of `atm mcp`."""


def worksync_targets(found: SyncFigures) -> list[Row]:
    burst = found.burst
    looks = " and ".join(map(str, burst.looks))
    detail = f"{burst.events} events, {burst.others} looks at others"
    return [
        at_most(
            f"work-sync: look at one member, team of {LARGE_TEAM:,} / of {SMALL_TEAM}, rosters older than 2 s",
            found.looks["large"],
            found.looks["small"],
            2.0,
            "a roster of a thousand members that is older than two seconds is read again, all of it, before anything "
            "is decided about one of them",
        ),
        Row(
            f"{BURST} changed tasks of {BURST_OWNERS} members at once: looks at each of these by the daemon",
            looks,
            detail,
            "1",
            burst.is_one_each,
        ),
    ]


def worksync_context(found: SyncFigures) -> list[Row]:
    scan = found.scan
    board = scan.board.median
    return [
        Row(
            f"work-sync: look at all of {scan.members:,} members with {scan.tasks:,} tasks",
            f"{scan.again.median:.2f} s",
            f"{scan.first:.2f} s the first time",
        ),
        beside("stall watch over these tasks, none overdue / a look at the board", scan.stall_watch, scan.board),
        Row(
            f"finding out whom {BURST} events about these tasks concern / a look at the board",
            f"{scan.routing / board:.2f}",
            f"{scan.routing * 1000:.1f} ms / {scan.board.milliseconds}",
        ),
    ]


def mcp_targets(found: McpFigures) -> list[Row]:
    return [
        at_most(
            "`atm mcp` to its first answer beside a warm daemon / bare interpreter",
            found.starts["mcp"],
            found.starts["bare"],
            4.0,
        ),
        Row(
            "the same: resident memory",
            f"{found.pump_memory / MIB:.1f} MiB",
            f"at most {found.pump_most / MIB:.1f} MiB so far",
            f"≤ {MOST_MEMORY} MiB",
            found.pump_most <= MOST_MEMORY * MIB,
        ),
        *(_call(found, tool) for tool in TIMED),
    ]


def _call(found: McpFigures, tool: str) -> Row:
    """Issue 5: within three times the service in process, plus the floor of the transport."""
    call, service, echo = (found.calls[name].medians for name in (tool, f"{tool} service", "echo"))
    allowed = Times(tuple(3 * ours + floor for ours, floor in zip(service.seconds, echo.seconds, strict=True)))
    against = ratio(call, allowed)
    return Row(
        f"`{tool}` over stdio / (3 × its service in process + a bare echo server), p50",
        str(against),
        f"{call.milliseconds} / (3 × {service.milliseconds} + {echo.milliseconds})",
        "≤ 1.0",
        rounded(against) <= 1.0,
    )


def mcp_context(found: McpFigures) -> list[Row]:
    timed = [(f"`{tool}` over stdio", tool, f"{tool} service") for tool in TIMED]
    echo = found.calls["echo"].middle_and_slowest
    return [
        *(
            Row(
                f"{what}, p50 and p99",
                found.calls[call].middle_and_slowest,
                f"in process {found.calls[service].middle_and_slowest}",
            )
            for what, call, service in timed
        ),
        Row("`task_briefing` over HTTP, p50 and p99", found.http.middle_and_slowest),
        Row(
            "a bare echo server of the same SDK over stdio, p50 and p99",
            echo,
            f"{found.echo_start:.2f} s to its first answer, {found.echo_memory / MIB:.0f} MiB",
        ),
        Row(
            "daemon: resident memory after its first MCP client",
            f"{found.daemon_after / 1e6:.0f} MB",
            f"{found.daemon_before / 1e6:.0f} MB before",
        ),
    ]


def size_rows(found: McpFigures) -> list[Row]:
    return [Row(one.what, f"{one.tokens:,}", f"{one.seen:,} of {one.sent:,}") for one in found.sizes]
