"""What a policy costs a call that it allows, and how soon an agent goes on after an answer."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from atm import config
from atm.approvals.rules.requests import APPROVED
from atm.approvals.services.answering import give_answer
from atm.approvals.services.looking import waiting_in
from atm.files.adapters.machine import find_layout
from atm.wiring.approvals import build_approvalroom
from atm.wiring.board import build_boardroom
from benchmarks.cases import Bench, hook_program
from benchmarks.measure import Program, Times, Variant, round_robin
from benchmarks.rows import Row, at_most
from benchmarks.sandboxes import OWNER, TEAM, Sandbox, new_team

RULES = """
[[approvals.rules]]
decision = "allow"
tool = ["Read", "Grep", "Glob"]

[[approvals.rules]]
decision = "allow"
command = ["make *", "git status*", "git diff*"]

[[approvals.rules]]
decision = "deny"
command = "git push *"
branch = "main"
"""
ANSWERS, QUICK_ANSWERS = 100, 3
LONGEST = 0.5
WHY_ANSWER = "the hook looks every 50 ms; the rest is the start of whoever reads its answer"


@dataclass(frozen=True, slots=True)
class ApprovalFigures:
    """Of programs, and seconds from an answer to the end of the hook that waited for it."""

    hook: Times
    permit: Times
    answers: list[float]

    def percentile(self, share: float) -> float:
        return sorted(self.answers)[min(len(self.answers) - 1, int(share * len(self.answers)))]


def measure_approvals(bench: Bench) -> ApprovalFigures:
    bench.say("approvals: a call that is allowed, beside the hook after it; answers")
    team = new_team(bench.new_folder())
    settings = Path(find_layout(team.environment).settings)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(RULES)
    atm, folder = str(bench.installation.atm), str(team.home)
    variants = [
        Variant("hook", hook_program(bench, team, atm, folder)),
        Variant("permit", _permit(team, atm, folder, "make test")),
    ]
    times = round_robin(variants, bench.effort.rounds, lambda _: None)
    count = QUICK_ANSWERS if bench.effort.rounds < 10 else ANSWERS
    return ApprovalFigures(times["hook"], times["permit"], [_answer(team, atm, number) for number in range(count)])


def _environment(team: Sandbox) -> dict[str, str]:
    return {**team.environment, "ATM_TEAM": TEAM, "ATM_IDENTITY": OWNER}


def _payload(folder: str, command: str) -> str:
    call = {"session_id": "5e55", "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps({**call, "tool_input": {"command": command}})


def _permit(team: Sandbox, atm: str, folder: str, command: str) -> Program:
    payload = team.home / "permit.json"
    payload.write_text(_payload(folder, command))
    return Program((atm, "permit", "claude", "PreToolUse"), _environment(team), folder, str(payload))


def _answer(team: Sandbox, atm: str, number: int) -> float:
    """Somebody answers in this process; the hook that waits is another."""
    layout = find_layout(team.environment)
    settings = config.load(layout, team.environment, str(team.home), {})
    room = team.room()
    approvals = build_approvalroom(layout, settings, room, lambda: build_boardroom(layout, settings, room))
    with subprocess.Popen(
        [atm, "permit", "claude", "PreToolUse"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(team),
        cwd=team.home,
    ) as hook:
        assert hook.stdin is not None
        assert hook.stdout is not None
        hook.stdin.write(_payload(str(team.home), f"rm -rf /nowhere/{number}").encode())
        hook.stdin.close()
        while not (waiting := waiting_in(approvals, TEAM)):
            time.sleep(0.01)
        began = time.perf_counter()
        give_answer(approvals, waiting[0], "human", APPROVED, "", "benchmark")
        said = hook.stdout.read()
        taken = time.perf_counter() - began
    if b'"allow"' not in said:
        raise RuntimeError(f"it was not allowed: {said!r}")
    return taken


def approval_targets(found: ApprovalFigures) -> list[Row]:
    slowest, middle = found.percentile(0.99), found.percentile(0.5)
    return [
        at_most("a call that a policy allows / the hook after a tool", found.permit, found.hook, 1.2),
        Row(
            "an answer → its agent goes on, p99",
            *(f"{slowest * 1000:.0f} ms", f"p50 {middle * 1000:.0f} ms", "≤ 500 ms", slowest <= LONGEST, WHY_ANSWER),
        ),
    ]
