"""
Runtimes: what an agent is run with, as data. What is said of vendors' programs was tried with them (docs/vendors.md).

A command line is a list of words in which `{…}` stands for a value; a word whose value is empty is left out, and so is
the option before it. Nothing in here starts a program in a mode that skips its permissions.
"""

from __future__ import annotations

from atm.core.errors import BadSetting
from atm.core.names import check_new_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atm.core.plain import Plain

SCRIPT, COMMAND = "script", "command"
HEADLESS, TMUX = "headless", "tmux"

STREAM_JSON, APP_SERVER, ACP, OPENCODE, PLAIN, BOARD = "stream-json", "app-server", "acp", "opencode", "plain", "board"
"""How a host speaks with it: four vendors' protocols; a program that is only started; and no program at all, where the
host itself takes tasks from the board and runs their commands."""


_ASKED = {"bash": "ask", "webfetch": "ask", "websearch": "ask", "external_directory": "ask", "doom_loop": "ask"}
OPENCODE_ACTIONS: dict[str, dict[str, str]] = {
    "default": {**_ASKED, "edit": "allow", "question": "deny"},
    "edits": {**_ASKED, "edit": "allow", "question": "deny"},
    "plan": {**_ASKED, "edit": "deny", "bash": "deny", "question": "deny"},
    "asks": {**_ASKED, "edit": "ask", "question": "deny"},
}
"""
What OpenCode does by itself in each of our modes: its own default is to allow everything, and its plan agent runs
commands. Its questions to people would wait for ever where nobody sees them.
"""


class Runtime:
    """How one kind of agent is started, spoken to, and known."""

    __slots__ = (
        "brings",
        "ends_by_signal",
        "environment",
        "headless",
        "ignored",
        "is_built_in",
        "modes",
        "name",
        "origin",
        "program",
        "protocol",
        "remarks",
        "resume",
        "terminal",
        "tools",
        "vendor",
        "version",
    )

    def __init__(
        self,
        name: str,
        *,
        protocol: str,
        program: str = "",
        headless: Sequence[str] = (),
        terminal: Sequence[str] = (),
        resume: Sequence[str] = (),
        tools: Sequence[str] = (),
        modes: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        version: Sequence[str] = (),
        ignored: Sequence[str] = (),
        brings: str = "",
        vendor: str = "",
        ends_by_signal: bool = False,
        remarks: Sequence[str] = (),
        origin: str = "built in",
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.program = program
        """What must be on the PATH; empty if nothing must."""
        self.headless = [*headless]
        """Without a terminal, to be spoken to by its protocol. Empty: it cannot."""
        self.terminal = [*terminal]
        """In a pane, for eyes; the prompt is part of the line."""
        self.resume = [*resume]
        """Words more, to go on with a session of the vendor's."""
        self.tools = [*tools]
        """Words more, to limit its tools; without them only OpenCode's server can be told."""
        self.modes = dict(modes or {})
        """What it calls our modes (`default`, `edits`, `plan`, `asks`) on its command line."""
        self.environment = dict(environment or {})
        self.version = [*version]
        self.ignored = [*ignored]
        """What it leaves in a worktree, as patterns that git is told to pass over there."""
        self.brings = brings
        """The command that brings the program."""
        self.vendor = vendor
        """As `atm init` and the hooks call it; empty where atm sets nothing up."""
        self.ends_by_signal = ends_by_signal
        """Headless, it stays when its standard input is closed: after the driver's goodbye it needs a SIGTERM."""
        self.remarks = [*remarks]
        """What somebody should know who runs it."""
        self.origin = origin
        self.is_built_in = origin == "built in"


BUILT_IN = (
    Runtime(
        "claude",
        protocol=STREAM_JSON,
        program="claude",
        headless=(
            *("claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
            *("--permission-prompt-tool", "stdio", "--session-id", "{session}", "--resume", "{resume}"),
            *("--model", "{model}", "--permission-mode", "{mode}", "--append-system-prompt", "{instructions}"),
        ),
        terminal=(
            *("claude", "--session-id", "{session}", "--resume", "{resume}", "--model", "{model}"),
            *("--permission-mode", "{mode}", "--append-system-prompt", "{instructions}", "{prompt}"),
        ),
        tools=("--tools", "{tools}"),
        modes={"default": "default", "edits": "acceptEdits", "plan": "plan", "asks": "default"},
        environment={"CLAUDE_CODE_MAX_RETRIES": "4"},
        version=("claude", "--version"),
        brings="npm install -g @anthropic-ai/claude-code",
        vendor="claude",
        remarks=("SIGTERM in the middle of a tool leaves its command behind: it is interrupted first",),
    ),
    Runtime(
        "codex",
        protocol=APP_SERVER,
        program="codex",
        headless=("codex", "app-server"),
        terminal=("codex", "--no-daemon", "--model", "{model}", "{prompt}"),
        resume=("resume", "{resume}"),
        version=("codex", "--version"),
        brings="npm install -g @openai/codex",
        vendor="codex",
        remarks=(
            "plan mode is only instructions: it gets a read-only sandbox beside it",
            "its sandbox must be told of the repository's git folder, or it cannot commit in a worktree",
        ),
    ),
    Runtime(
        "gemini",
        protocol=ACP,
        program="gemini",
        headless=("gemini", "--acp", "-m", "{model}", "--approval-mode", "{mode}"),
        terminal=("gemini", "-m", "{model}", "--approval-mode", "{mode}", "-i", "{prompt}"),
        resume=("--resume", "{resume}"),
        modes={"default": "default", "edits": "auto_edit", "plan": "plan", "asks": "default"},
        environment={"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        version=("gemini", "--version"),
        brings="npm install -g @google/gemini-cli",
        vendor="gemini",
        ends_by_signal=True,
        remarks=(
            "it hides the user's git identity from its shells: the worktree gets one",
            "it would write over a session that it loads in the minute in which it began: that is refused",
        ),
    ),
    Runtime(
        "opencode",
        protocol=OPENCODE,
        program="opencode",
        headless=("opencode", "serve", "--hostname", "127.0.0.1", "--port", "{port}"),
        terminal=("opencode", "--model", "{model}", "--prompt", "{prompt}"),
        resume=("--session", "{resume}"),
        version=("opencode", "--version"),
        brings="npm install -g opencode-ai",
        vendor="opencode",
        ends_by_signal=True,
        remarks=("its own default is to allow everything: it is told to ask before it runs commands",),
    ),
    Runtime(
        COMMAND,
        protocol=PLAIN,
        remarks=("any program: `command` in the crew file or settings, or the prompt; otherwise your shell",),
    ),
    Runtime(
        SCRIPT,
        protocol=BOARD,
        remarks=("claims tasks and runs their `run` commands, each in a worktree of its own; no model",),
    ),
)
_OWN = ("brings", "command", "like")
"""What the user can say of a runtime of their own."""

KNOWN = {runtime.name: runtime for runtime in BUILT_IN}


def opencode_permission(mode: str) -> str:
    """The value of `OPENCODE_PERMISSION` for a process in this mode."""
    return "{" + ", ".join(f'"{what}": "{action}"' for what, action in OPENCODE_ACTIONS[mode].items()) + "}"


def opencode_rules(mode: str, tools: Sequence[str] = ()) -> list[dict[str, Plain]]:
    """
    The same for one session; the last rule that fits is the one that counts. With `tools`, all others are denied; to be
    among them is no leave to use one unasked.
    """
    actions = OPENCODE_ACTIONS[mode]
    wanted = {"*": "deny", **{tool: actions.get(tool, "allow") for tool in tools}} if tools else actions
    return [{"permission": what, "pattern": "*", "action": action} for what, action in wanted.items()]


def can_limit_tools(runtime: Runtime) -> bool:
    return bool(runtime.tools) or runtime.protocol == OPENCODE


def command_line(template: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """A template's words with values in them; what has no value goes, together with the option before it."""
    words: list[str] = []
    for word in template:
        if not (word.startswith("{") and word.endswith("}")):
            words.append(word)
            continue
        value = values.get(word[1:-1], "")
        if value:
            words.append(value)
        elif words and words[-1].startswith("-"):
            words.pop()
    return words


def read_runtime(name: str, said: Mapping[str, object], origin: str) -> Runtime:
    """A runtime of the user's own: a program that is started as it is, or one of a known vendor's with other words."""
    check_new_name(name, "runtime")
    unknown = sorted(set(said) - set(_OWN))
    if unknown:
        raise BadSetting(f"runtimes.{name}: {unknown[0]!r} is unknown", f"known are {', '.join(sorted(_OWN))}")
    command = said.get("command")
    words = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    if not words or not all(isinstance(word, str) and word for word in words):
        raise BadSetting(f"runtimes.{name}.command must be a list of words", 'for example ["aider", "--no-git"]')
    like = KNOWN.get(str(said.get("like", COMMAND)))
    if like is None or like.protocol == BOARD:
        raise BadSetting(
            f"runtimes.{name}.like names no runtime with a program", "use claude, codex, gemini or opencode"
        )
    brings = said.get("brings")
    if like.protocol == PLAIN:
        return Runtime(name, protocol=PLAIN, program=words[0], headless=words, brings=str(brings or ""), origin=origin)
    return Runtime(
        name,
        protocol=like.protocol,
        program=words[0],
        headless=[*words, *like.headless[1:]],
        terminal=[*words, *like.terminal[1:]],
        environment=like.environment,
        version=[words[0], *like.version[1:]],
        vendor=like.vendor,
        modes=like.modes,
        brings=str(brings or ""),
        origin=origin,
    )
