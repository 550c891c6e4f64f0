"""What an emergency stop did and did not do, in words, in JSON and as an exit code."""

from __future__ import annotations

from atm.core.untrusted_text import one_line, shell_words
from atm.runs.rules.standing import continue_command
from atm.runs.services.stopping import PATIENT
from atm.ui.cli.crew.ends import NOTHING, ended_json, ended_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.services.ending import Stopped
    from atm.runs.services.stopping import RunStopped


def stopped_json(action: str, done: Stopped, runs: Sequence[RunStopped], **more: object) -> dict[str, object]:
    return {
        "action": action,
        **more,
        "stopped": [ended_json(one) for one in done.ended],
        "left": [{"pid": one.pid, "command": one.command[:200]} for one in done.left],
        "asked": done.asking,
        "runs": [
            {"team": one.team, "run": one.run or None, "state": one.state or None, "has_report": one.has_report}
            for one in runs
        ],
        "untouched": [
            {"pid": one.pid, "command": one.command[:200], "team": one.team, "member": one.member, "why": one.why}
            for one in done.untouched
        ],
        "troubles": done.troubles,
    }


def stopped_words(done: Stopped, runs: Sequence[RunStopped]) -> str:
    lines = [
        *map(ended_words, done.ended),
        *map(_run_words, runs),
        *(f"✗ still there: {one.pid} {one_line(one.command)}" for one in done.left),
        *(
            f"✗ {one_line(name)} is asked to end, and not killed: this command runs inside of it"
            for name in done.asking
        ),
    ]
    for one in done.untouched:
        lines.append(f"- process {one.pid} was left alone ({one_line(one.command)[:60]}): {one_line(one.why)}")
    return "\n".join(lines) or "no agent ran"


def _run_words(one: RunStopped) -> str:
    team = shell_words(one.team)
    if one.pid:
        what = f"run {one_line(one.run)}" if one.run else f"a run of {one_line(one.team)}"
        return (
            f"✗ {what} is suspended (Ctrl-Z), and writes its report as soon as it is continued: "
            f"{continue_command(one.pid)}, or `fg` in its terminal"
        )
    if not one.is_over:
        what = f"run {one_line(one.run)}" if one.run else f"a run of {one_line(one.team)}"
        return f"✗ {what} did not end within {PATIENT:g} s; its agents are ended. Press Ctrl-C where it was started"
    if not one.run:
        return f"✓ a run of {one_line(one.team)} that was being prepared has ended"
    if not one.has_report:
        return (
            f"✗ run {one_line(one.run)} ended without a report: atm run --resume {shell_words(one.run)} --team {team}"
        )
    show = f"atm runs show {shell_words(one.run)} --team {team}"
    return f"✓ run {one_line(one.run)} has stopped and written its report: {show}"


def stopped_code(done: Stopped, runs: Sequence[RunStopped]) -> int:
    if not done.is_complete or any(not one.is_over for one in runs):
        return 1
    return 0 if done.ended or runs else NOTHING
