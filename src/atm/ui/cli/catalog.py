"""The commands, and the module of each."""

from __future__ import annotations

from atm.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.ui.cli.arguments import Args, Command
    from atm.ui.cli.session import Session


COMMANDS = {
    "send": "send a message to a member",
    "request": "send a message and wait for the answer",
    "broadcast": "send a message to everybody in a team",
    "read": "read mail",
    "ack": "acknowledge a message, with or without a reply",
    "inbox": "how much mail everybody has",
    "receipts": "where a message is, and how that is known",
    "teams": "teams and their members, from the first to the last day",
    "tasks": "the board: add, claim, review and complete tasks",
    "approvals": "what agents ask for: list, approve, deny; and the policy",
    "sync": "does each member know its current work: status, agenda, report",
    "top": "the screen: who needs you, what goes wrong, what everybody is at",
    "web": "the page: the same in a browser, for a second monitor, a phone, a colleague",
    "run": "a goal in, verified work out: agents work off a plan, each task on a branch of its own",
    "runs": "runs of a team: list, show, clean",
    "merge": "finished work becomes one branch: queue, show, retry, skip, resolve, work, radar",
    "up": "start agents, each with a worktree of its own",
    "spawn": "start one agent",
    "peek": "the agents that atm started, and what one of them said last",
    "attach": "sit down at the window of an agent",
    "down": "end a team's agents, who finish what they are at",
    "kill": "end one agent at once, and everything that it started",
    "stop": "emergency stop: every agent ends now, and that is proven",
    "runtimes": "what agents can be run with, and what is missing",
    "session": "teams that outlive their lead: find, resume, hand over, finish",
    "salvage": "work that was saved before a worktree was taken away",
    "daemon": "the daemon that delivers, watches and carries plugins",
    "plugins": "what the daemon can do more: list, enable, write your own",
    "deliver": "put waiting mail before the agents now",
    "hook": "what the hooks of coding agents call",
    "permit": "what the permission hooks of coding agents call",
    "prime": "the briefing that a session begins with",
    "init": "set up agent CLIs, so that mail reaches them by itself",
    "mcp": "the MCP server for agents of every vendor",
    "members": "who is in a team",
    "status": "a team at a glance",
    "watch": "what changes, as lines: mail as it comes, the board, who comes and goes",
    "snapshot": "everything that is known of teams at this moment, for programs",
    "config": "show and change settings",
    "trust": "say yes to what a repository's settings ask for",
    "cleanup": "archive old read mail",
    "spool": "messages that wait for delivery",
    "logs": "what the daemon and its plugins did",
    "doctor": "find and mend what is wrong",
    "completion": "completion for your shell",
    "version": "which version this is",
    "demo": "watch a team work off a plan, and survive a crash and the death of its lead",
}


TOPICS = {
    **dict.fromkeys(("ack", "broadcast", "cleanup", "inbox", "read", "receipts", "request", "send", "spool"), "mail"),
    **dict.fromkeys(("members", "status", "teams"), "roster"),
    **dict.fromkeys(("deliver", "hook", "permit", "prime"), "delivery"),
    **dict.fromkeys(("config", "init", "trust"), "setup"),
    **dict.fromkeys(("daemon", "logs"), "daemon"),
    **dict.fromkeys(("up", "spawn", "peek", "attach", "down", "kill", "stop", "runtimes", "salvage"), "crew"),
    "approvals": "approvals",
    **dict.fromkeys(("run", "runs"), "runs"),
    "merge": "merges",
    "mcp": "mcp",
    "plugins": "plugins",
    "session": "sessions",
    **dict.fromkeys(("snapshot", "top", "watch", "web"), "snapshot"),
    "sync": "worksync",
    "tasks": "board",
}
"""The folder in which the module of a command lies. It has the command's name."""

SEED_WORDS = {
    "--list-teams": ("session", "list"),
    "--resume-team": ("session", "resume"),
    "--probe-team": ("session", "probe"),
    "--review-team": ("session", "review"),
    "--checkpoint-team": ("session", "checkpoint"),
    "--abort-team": ("session", "abort"),
    "--force-reassign": ("session", "reassign"),
}
"""How the specification of sessions spells some commands, as the first word."""


def as_command(words: list[str]) -> list[str]:
    """The same words, with a command in front."""
    return [*SEED_WORDS[words[0]], *words[1:]] if words and words[0] in SEED_WORDS else words


ELSEWHERE = {
    "completion": "atm.ui.cli.completion",
    "demo": "atm.ui.demo.command",
    "doctor": "atm.ui.cli.checkup",
    "version": "atm.ui.cli.version",
}


def load(name: str) -> tuple[Command, Callable[[Args, Session], int]]:
    """A command's table and its function. Only the module of that command is imported."""
    if name not in COMMANDS:
        from atm.core.names import nearest_name

        near = nearest_name(name, list(COMMANDS))
        raise UsageError(f"unknown command {name!r}", f"did you mean `atm {near}`?" if near else "see `atm --help`")
    where = ELSEWHERE.get(name) or f"atm.ui.cli.{TOPICS[name]}.{name}"
    module = __import__(where, fromlist=["COMMAND", "execute"])
    return module.COMMAND, module.execute
