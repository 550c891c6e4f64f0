"""
`atm completion`: scripts for bash, zsh and fish, from the tables that the parser reads. Static: a TAB starts no Python.

Names of teams and members, tasks and messages come from the files they lie in, read by the shell itself.
"""

from __future__ import annotations

from atm.ui.cli.arguments import Args, Argument, Command
from atm.ui.cli.setup.shell_scripts import bash, fish, zsh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session


COMMAND = Command(
    "completion",
    "completion for your shell",
    arguments=(Argument("shell", "which shell", choices=("bash", "zsh", "fish")),),
    examples=(
        'eval "$(atm completion bash)"',
        "atm completion zsh > ~/.zfunc/_atm",
        "atm completion fish > ~/.config/fish/completions/atm.fish",
    ),
)


def execute(args: Args, session: Session) -> int:
    shell = args.need("shell")
    if args.flag("json"):  # never by a setting: the script is for a shell
        session.print_json({"action": "completion", "shell": shell, "script": script(shell)})
    else:
        session.print(script(shell))
    return 0


def script(shell: str) -> str:
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell]()
