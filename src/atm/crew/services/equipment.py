"""What agents can be run with on this machine: what is there, and what is missing with the command that brings it."""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.untrusted_text import shell_word
from atm.core.work_errors import RuntimeMissing
from atm.vendors.runtime import BOARD, PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.vendors.runtime import Runtime

HOOKS, MCP = "hooks", "mcp"
TOOLS = (HOOKS, MCP)


@dataclass(slots=True, eq=False)
class Equipment:
    """What is known of one runtime."""

    runtime: Runtime
    path: str
    version: str
    tools: dict[str, bool]
    """Whether hooks and the MCP server are set up; empty where atm sets nothing up."""
    missing: list[str]
    """Each with the command that brings it."""

    @property
    def is_ready(self) -> bool:
        """A missing hook or server never keeps an agent from starting; a missing program does."""
        return bool(self.path) or not self.runtime.program


def look(
    runtime: Runtime,
    find: Callable[[str], str],
    ask_version: Callable[[Sequence[str]], str],
    set_up: Callable[[str], dict[str, bool]],
) -> Equipment:
    path = find(runtime.program) if runtime.program else ""
    if runtime.program and not path:
        brings = runtime.brings or f"install {runtime.program}"
        return Equipment(runtime, "", "", {}, [f"the program {runtime.program}: {brings}"])
    version = ask_version(runtime.version) if runtime.version and path else ""
    tools = set_up(runtime.vendor) if runtime.vendor and runtime.protocol not in (BOARD, PLAIN) else {}
    wanting = [name for name, is_there in tools.items() if not is_there]
    missing = [f"{' and '.join(wanting)}: atm init --vendor {shell_word(runtime.vendor)}"] if wanting else []
    return Equipment(runtime, path, version, tools, missing)


def check_tools(found: Equipment, required: Sequence[str]) -> None:
    """`crew.require_tools`: refuse, and say what to do."""
    wanting = [tool for tool in required if found.tools.get(tool) is False]
    if wanting:
        raise RuntimeMissing(
            f"{found.runtime.name} has no {' and no '.join(wanting)}, which crew.require_tools asks for",
            f"set it up with `atm init --vendor {shell_word(found.runtime.vendor)}`, or change the setting",
        )
