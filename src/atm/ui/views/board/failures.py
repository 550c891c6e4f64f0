"""Why an attempt failed, for people: the reason, the last lines of output, and the way back."""

from __future__ import annotations

from atm.board.rules.acceptance import reason_and_output
from atm.core.untrusted_text import one_line, shell_words
from atm.ui.views.fitting import last_lines

LONGEST_REASON, LONGEST_LINE = 200, 300


def failure_lines(error: str, most: int) -> list[str]:
    """The reason of a failure, and the last lines that its command or check printed, each on a line of its own."""
    reason, output = reason_and_output(error)
    shown = last_lines(output, most)
    return [f"      {one_line(reason)[:LONGEST_REASON]}", *(f"        | {line[:LONGEST_LINE]}" for line in shown)]


def way_back(task: str, team: str = "") -> str:
    """The command that brings a task back to the board."""
    of_team = f" --team {shell_words(team)}" if team else ""
    return f"atm tasks reopen {shell_words(task)}{of_team}"
