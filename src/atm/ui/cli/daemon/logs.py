"""`atm logs`: what the daemon and its plugins did."""

from __future__ import annotations

from atm.ui.cli.arguments import Command
from atm.ui.cli.log_view import OPTIONS, show_log

COMMAND = Command(
    "logs",
    "what the daemon and its plugins did",
    text="One line an event, oldest first. Secrets were taken out before they were written. Exit code 3: no log.",
    options=OPTIONS,
    examples=(
        "atm logs",
        "atm logs --level warn --since 2h",
        "atm logs --follow --source plugin:ci",
        "atm logs -n 500 --json",
    ),
)

execute = show_log
