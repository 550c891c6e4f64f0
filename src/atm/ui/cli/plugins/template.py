"""The files of a new plugin, by their path. `@NAME@` and `@MODULE@` stand for its name and its module."""

from __future__ import annotations

PYPROJECT = """\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "atm-@NAME@"
version = "0.1.0"
description = "A plugin for atm."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["agent-team-manager"]

# This is how the daemon finds it: the name is the one that settings and `atm plugins` use.
[project.entry-points."atm.plugins"]
@NAME@ = "@MODULE@:Greeter"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

MODULE = '''\
"""Greets whoever joins a team. Replace it by something useful."""

from __future__ import annotations

from atm.teamd.plugins.api import MEMBER_JOINED, Cancel, Capability, PluginContext, PluginMetadata


class Greeter:
    """The daemon makes one of these, in a process of its own, wherever the plugin is enabled."""

    def metadata(self) -> PluginMetadata:
        return PluginMetadata(
            name="@NAME@",
            version="0.1.0",
            description="greets whoever joins a team",
            capabilities=(Capability.EVENT_LISTENER, Capability.INJECT_MESSAGES),
        )

    async def init(self, ctx: PluginContext) -> None:
        """Read the settings (the section `[plugins.@NAME@]`), open connections."""
        self.greeting = str(ctx.config.get("greeting", "Welcome!"))

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        """Work until the daemon asks to end: then `ctx.events` ends, and `cancel` is set."""
        async for event in ctx.events:
            if event.kind == MEMBER_JOINED and not cancel.is_set():
                await ctx.mail.send(event.subject, event.team, self.greeting, once=f"{event.subject}@{event.team}")
                ctx.log("info", f"greeted {event.subject}", team=event.team)

    async def shutdown(self) -> None:
        """Close what `init` opened."""
'''

TEST = '''\
"""The test kit runs the plugin in memory, with the same rules as in the daemon."""

from __future__ import annotations

import asyncio

from atm.teamd.plugins.api import MEMBER_JOINED, TASK_CREATED, TeamEvent
from atm.teamd.plugins.kit import PluginHarness

from @MODULE@ import Greeter


def test_whoever_joins_is_greeted_once() -> None:
    async def play() -> None:
        async with PluginHarness(Greeter(), config={"greeting": "Hello!"}) as kit:
            kit.emit(TeamEvent(MEMBER_JOINED, "crew", "bob", kit.now()))
            kit.emit(TeamEvent(MEMBER_JOINED, "crew", "bob", kit.now()))
            await kit.until(lambda: len(kit.logs) == 2)
            assert kit.unread("bob") == ["Hello!"]

    asyncio.run(play())


def test_other_events_are_none_of_its_business() -> None:
    async def play() -> None:
        async with PluginHarness(Greeter()) as kit:
            kit.emit(TeamEvent(TASK_CREATED, "crew", "1", kit.now()))
            await kit.settle()
            assert kit.sent == []

    asyncio.run(play())
'''

README = """\
# atm-@NAME@

A plugin for atm: it greets whoever joins a team.

    python -m pytest                  # its tests, without a daemon
    python -m pip install -e .        # into the environment that atm runs in
    atm plugins list                  # it is found
    atm plugins enable @NAME@         # and started by the daemon
    atm plugins logs @NAME@ --follow  # what it says

Settings, in your `config.toml` or a repository's `.atm.toml`:

    [plugins.@NAME@]
    enabled = true
    greeting = "Welcome!"

A plugin imports `atm.teamd.plugins.api`, and its tests `atm.teamd.plugins.kit`; nothing else of atm.
It may do what it declares among its
capabilities. It runs in a process of its own: when it fails it is started again, after pauses that grow; when it blocks
its event loop for ten seconds, or takes more than `max_memory_mb` (512), it is ended. Print what you like: it goes to
its log.
"""

IGNORE = """\
__pycache__/
*.egg-info/
.pytest_cache/
build/
dist/
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": README,
    ".gitignore": IGNORE,
    "src/@MODULE@/__init__.py": MODULE,
    "tests/test_plugin.py": TEST,
}
