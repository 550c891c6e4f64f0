"""`python -m atm`: the same program as the installed `atm`."""

from atm.ui.cli.main import run

run()
