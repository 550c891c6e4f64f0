"""
`make bench`: measure what the design promises about speed, print it, and write docs/benchmarks.md.

Exit code 1 if a message was lost or doubled. A ratio that misses its target is reported and fails nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

# Started as a script. Its own folder must not be searched: `mcp` is the SDK, not the module of that name in here.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.approvals import measure_approvals
from benchmarks.board import run_claimants, time_board
from benchmarks.busy_team import measure_busy_teams
from benchmarks.cases import CROWD, QUICK, THOROUGH, Bench, run_crowds, time_large_append, time_programs
from benchmarks.checkpoints import measure_checkpoints
from benchmarks.crew import measure_crew
from benchmarks.daemon import measure_daemon
from benchmarks.installation import PROJECT, install
from benchmarks.mail_talk import measure_mail_talk
from benchmarks.mcp import measure_mcp
from benchmarks.measure import describe_machine
from benchmarks.merges import measure_merges
from benchmarks.report import Results, context, page, sizes, table, targets
from benchmarks.runs import measure_runs
from benchmarks.screen import measure_screen
from benchmarks.sessions import measure_sessions
from benchmarks.snapshot import measure_snapshots
from benchmarks.web_page import measure_page
from benchmarks.worksync import measure_worksync

PAGE = PROJECT / "docs" / "benchmarks.md"


def main(words: list[str]) -> int:
    arguments = _parse(words)
    with tempfile.TemporaryDirectory(prefix="atm-bench-", ignore_cleanup_errors=True) as folder:
        machine = describe_machine(folder)
        results = measure_all(Path(folder), arguments.quick)
    print(f"{machine}\n")
    print(table([*targets(results), *context(results), *sizes(results)]))
    if not arguments.no_write:
        command = "make bench" if not arguments.quick else "benchmarks/run.py --quick"
        PAGE.write_text(page(results, machine, command), encoding="utf-8")
    return 1 if any(crowds.lost("atm") + crowds.doubled("atm") for crowds in (results.crowds, results.alone)) else 0


def measure_all(folder: Path, quick: bool) -> Results:
    """Every measurement, one after the other."""
    say = _Progress()
    say("installing the project into an environment of its own")
    installation = install(folder)
    bench = Bench(folder, installation, QUICK if quick else THOROUGH, say)
    programs = time_programs(bench)
    return Results(
        programs=programs,
        large=time_large_append(bench),
        crowds=run_crowds(bench, CROWD),
        alone=run_crowds(bench, 1),
        board=time_board(bench),
        claimants=run_claimants(bench),
        daemon=measure_daemon(bench),
        worksync=measure_worksync(bench),
        mcp=measure_mcp(bench),  # from here on the SDK is in the environment
        mail_talk=measure_mail_talk(bench),
        busy=measure_busy_teams(bench),
        crew=measure_crew(bench),
        checkpoints=measure_checkpoints(bench),
        sessions=measure_sessions(bench),
        snapshots=measure_snapshots(bench),
        approvals=measure_approvals(bench),
        runs=measure_runs(bench),
        merges=measure_merges(bench),
        screen=measure_screen(bench),
        page=measure_page(bench),
        effort=bench.effort,
        pip=installation.pip,
    )


class _Progress:
    """A line for each step, with the seconds gone by."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"[{time.monotonic() - self._started:5.0f} s] {text}", file=sys.stderr, flush=True)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure atm beside a bare interpreter and beside filelock + json.")
    parser.add_argument("--quick", action="store_true", help="few rounds: does it run at all?")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
