"""`atm version`: needs neither a home nor settings."""

from __future__ import annotations

from atm import __version__
from atm.ui.cli.arguments import Args, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command("version", "which version this is", text="The same as --version and -V.", examples=("atm version",))


def execute(args: Args, session: Session) -> int:
    if args.flag("json"):  # never by a setting: settings that cannot be read hide no version
        session.print_json({"action": "version", "version": __version__})
    else:
        session.print(f"atm {__version__}")
    return 0
