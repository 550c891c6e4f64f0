"""The report of a run, as Markdown for people."""

from __future__ import annotations

from atm.board.rules.acceptance import reason_and_output
from atm.board.rules.tasks import FAILED
from atm.core.untrusted_text import one_line, shell_words
from atm.crew.rules.costs import cost_in_words, tokens_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain

SHOWN_LINES = 20
"""Lines of output that the report keeps of each failure."""

IN_WORDS = {
    "success": "everything that was wanted was completed",
    "partial": "a part of it was completed, or could be merged",
    "failed": "nothing was completed",
    "stopped": "it was stopped",
}


def report_text(facts: Mapping[str, Plain]) -> str:
    parts = [_head(facts), _done(facts), _merged(facts), _not_done(facts), _agents(facts), _costs(facts)]
    return "\n".join(part for part in parts if part)


def _head(facts: Mapping[str, Plain]) -> str:
    why = f" ({_cell(facts['why'])})" if facts.get("why") else ""
    outcome = str(facts["outcome"])
    lines = [f"# Run {facts['run']} of {_cell(facts['team'])}: {outcome}", ""]
    if facts.get("goal"):
        lines += [f"> {_cell(facts['goal'])}", ""]
    lines.append(f"{IN_WORDS.get(outcome, outcome).capitalize()}{why}, in {seconds_in_words(facts.get('seconds'))}.")
    tasks = facts.get("tasks")
    cancelled = _values(tasks, "cancelled") if isinstance(tasks, dict) else []
    if cancelled:
        lines += ["", f"Cancelled: {', '.join(f'#{_cell(id)}' for id in cancelled)}."]
    if facts.get("resume"):
        lines += ["", f"Resume it: `{one_line(str(facts['resume']))}`."]
    return "\n".join([*lines, ""])


def _done(facts: Mapping[str, Plain]) -> str:
    rows = _rows(facts, "branches")
    if not rows:
        return ""
    lines = ["## Done", "", "| task | by | branch | commit |", "|---|---|---|---|"]
    for row in rows:
        what = f"#{row['task']} {_cell(row['subject'])}"
        branch = f"`{_cell(row['branch'])}`" if row.get("branch") else "no change"
        lines.append(f"| {what} | {_cell(row['by'])} | {branch} | {str(row.get('commit') or '')[:12]} |")
    return "\n".join([*lines, ""])


def _merged(facts: Mapping[str, Plain]) -> str:
    """Where everything is; and what is not there, by name, with the way to it."""
    into, team = facts.get("into"), shell_words(str(facts["team"]))
    if not isinstance(into, dict):
        return ""
    count = len(_rows(facts, "merged"))
    lines = ["## Merged", "", f"{count} into `{_cell(into.get('branch'))}`, now {str(into.get('head') or '')[:12]}."]
    for row in _rows(facts, "lost"):
        said = "; ".join(_cell(one) for one in _values(row, "what"))
        lines.append(f"- #{_cell(row.get('task'))}, in a conflict, lost: {said}")
    if rows := _rows(facts, "conflicts"):
        lines += ["", "Not merged:", "", "| task | by | files | with | why | kept |", "|---|---|---|---|---|---|"]
    for row in _rows(facts, "conflicts"):
        cells = [
            f"#{_cell(row.get('task'))} {_cell(row.get('subject'))}",
            _cell(row.get("agent")),
            ", ".join(_cell(one) for one in _values(row, "files")),
            ", ".join(f"#{_cell(one)}" for one in _values(row, "with")),
            _cell(row.get("reason"))[:300],
            f"`{_cell(row.get('salvage') or row.get('branch'))}`",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if rows:
        lines += [
            "",
            f"`atm merge --team {team}` shows them; `atm merge resolve TASK --team {team}` prepares one for you.",
        ]
    return "\n".join([*lines, ""])


def _not_done(facts: Mapping[str, Plain]) -> str:
    rows, tasks = _rows(facts, "failures"), facts.get("tasks")
    if not rows:
        return ""
    asks = tasks.get("needs_human") if isinstance(tasks, dict) else []
    people = asks if isinstance(asks, list) else []
    lines = ["## Not done", "", "| task | state | why |", "|---|---|---|"]
    for row in rows:
        state = "needs a person" if row["task"] in people else str(row["state"])
        why, _ = reason_and_output(str(row["why"] or ""))
        lines.append(f"| #{row['task']} {_cell(row['subject'])} | {state} | {_cell(why)[:300]} |")
    for row in rows:
        if row["state"] == FAILED:
            lines += ["", *_failure(row, str(facts["team"]))]
    saved = facts.get("salvage")
    if isinstance(saved, list) and saved:
        ids = ", ".join(f"`atm salvage show {shell_words(str(one))}`" for one in saved[:10])
        lines += ["", f"What was begun and not finished is saved: {ids}."]
    return "\n".join([*lines, ""])


def _failure(row: Mapping[str, Plain], team: str) -> list[str]:
    """The last lines of what its command or check printed, and the command that brings the task back."""
    task = shell_words(str(row["task"]))
    _, output = reason_and_output(str(row["why"] or ""))
    printed = [one_line(line)[:300] for line in output.split("\n") if line.strip()][-SHOWN_LINES:]
    lines = [f"#{_cell(row['task'])} {_cell(row['subject'])} failed for good. The way back:"]
    lines += ["", f"    atm tasks reopen {task} --team {shell_words(team)}"]
    return [*lines, "", "The last lines of its output:", "", *(f"    {line}" for line in printed)] if printed else lines


def _agents(facts: Mapping[str, Plain]) -> str:
    lines = ["## Agents", "", "| agent | seconds | turns | restarts | tokens | cost |", "|---|---|---|---|---|---|"]
    for row in _rows(facts, "agents"):
        cells = [
            _cell(row["name"]),
            *(_number(row.get(key)) for key in ("seconds", "turns", "restarts")),
            *spent_in_words(row),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _costs(facts: Mapping[str, Plain]) -> str:
    overhead, approvals = facts.get("overhead"), facts.get("approvals")
    lines = ["## What it took", ""]
    if isinstance(overhead, dict):
        lines.append(f"- Coordination: {overhead.get('seconds')} s in which no agent worked.")
        if overhead.get("tokens_injected") is not None:
            each = f", {overhead['per_task']} for each task done" if overhead.get("per_task") is not None else ""
            lines.append(f"- Said by atm to models: about {overhead['tokens_injected']} tokens{each}.")
    if isinstance(approvals, dict) and approvals.get("asked"):
        lines.append(f"- Approvals: {approvals['asked']} asked for, {approvals['approved']} given.")
    tokens, cost = spent_in_words(facts)
    lines.append(f"- Tokens: {tokens}; cost: {cost}.")
    return "\n".join([*lines, ""])


def spent_in_words(facts: Mapping[str, Plain]) -> tuple[str, str]:
    """Tokens and cost of a run or an agent. Reports of older versions do not say whether their sums are whole."""
    tokens = tokens_in_words(facts.get("tokens"), is_complete=facts.get("tokens_known") is True)
    return tokens, cost_in_words(facts)


def _rows(facts: Mapping[str, Plain], key: str) -> list[dict[str, Plain]]:
    found = facts.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _values(facts: Mapping[str, Plain], key: str) -> list[Plain]:
    found = facts.get(key)
    return found if isinstance(found, list) else []


def _number(value: Plain) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _cell(value: Plain) -> str:
    """Titles are other people's words: no table, no line and no page may break by them (D22)."""
    said = one_line(str(value or ""))
    return said.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")


def seconds_in_words(value: Plain) -> str:
    seconds = float(value) if isinstance(value, int | float) else 0.0
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
