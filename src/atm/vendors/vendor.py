"""
A vendor: all that atm knows of one agent program, in one object (D34).

Each has a package in this room, or comes from another package through the entry point `atm.vendors`. Its parts are
loaded when they are asked for: a hook of one program pays for that program's tables and for nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.vendors.calls import ToolCalls
    from atm.vendors.conversations import Conversations
    from atm.vendors.hooks import HookTable
    from atm.vendors.runtime import Runtime
    from atm.vendors.screen import Screen
    from atm.vendors.settings import SettingsOf
    from atm.vendors.shared_server import SharedServer


class Vendor:
    """One agent program. What a vendor has not is None or empty."""

    __slots__ = (
        *("_parts", "agent_server", "aliases", "backends", "letters", "models", "name", "own_names", "package"),
        *("processes", "seen", "session_notes", "thinks", "title", "variables"),
    )

    def __init__(
        self,
        name: str,
        title: str,
        *,
        letters: str = "",
        thinks: bool = True,
        processes: Sequence[str] = (),
        aliases: Sequence[str] = (),
        backends: Sequence[str] = (),
        models: Sequence[str] = (),
        own_names: Sequence[str] = (),
        variables: Sequence[str] = (),
        package: str = "",
        seen: Sequence[str] = (),
        hooks: HookTable | str | None = None,
        calls: ToolCalls | str | None = None,
        runtime: Runtime | str | None = None,
        screen: Screen | str | None = None,
        settings: SettingsOf | str | None = None,
        conversations: Conversations | str | None = None,
        shared_server: SharedServer | str | None = None,
        session_notes: str = "",
        agent_server: str = "",
    ) -> None:
        self.name = name
        self.title = title
        """What people call it."""
        self.letters = letters
        """Two letters, where there is no room for more."""
        self.thinks = thinks
        """Has it a model?"""
        self.processes = tuple(processes)
        """What its processes are called. A hook that anything else started says nothing about a process."""
        self.aliases = tuple(aliases)
        """Other words for it: a model that does not know who it is signs with these."""
        self.backends = tuple(backends)
        """What rosters call the ways in which it runs an agent."""
        self.models = tuple(models)
        """Words in the names of its models."""
        self.own_names = tuple(own_names)
        """Files and folders of a project by which it decides what its agents may do."""
        self.variables = tuple(variables)
        """What it sets for commands that its models run."""
        self.package = package
        """What npm calls it; the packages of one platform begin with it or with the program's name."""
        self.seen = tuple(seen)
        """Versions that the lab has run, newest last: what atm does inside them was seen in what their models got."""
        self.session_notes = session_notes
        """`module:FUNCTION` of (disk, layout): what reads what it notes of its sessions."""
        self.agent_server = agent_server
        """`module:CLASS` that puts a text into a session over the agent's own server (`agent_servers.AgentServers`)."""
        self._parts: dict[str, object] = {
            "hooks": hooks,
            "calls": calls,
            "runtime": runtime,
            "screen": screen,
            "settings": settings,
            "conversations": conversations,
            "shared_server": shared_server,
        }

    @property
    def hooks(self) -> HookTable | None:
        """Its hooks: their events and payloads, and what it reads as our answer."""
        return self._part("hooks")  # type: ignore[return-value]

    @property
    def calls(self) -> ToolCalls | None:
        """How its permission hook asks about the call of a tool, and which field of a tool it executes."""
        return self._part("calls")  # type: ignore[return-value]

    @property
    def runtime(self) -> Runtime | None:
        """How an agent is run with it: command lines, modes, the protocol in which it is spoken to."""
        return self._part("runtime")  # type: ignore[return-value]

    @property
    def screen(self) -> Screen | None:
        """What its window shows."""
        return self._part("screen")  # type: ignore[return-value]

    @property
    def settings(self) -> SettingsOf | None:
        """Its settings files, and what of ours belongs in them."""
        return self._part("settings")  # type: ignore[return-value]

    @property
    def conversations(self) -> Conversations | None:
        """Where it keeps conversations, and the command that goes on with one."""
        return self._part("conversations")  # type: ignore[return-value]

    @property
    def shared_server(self) -> SharedServer | None:
        """Its server behind several terminals, if it has one."""
        return self._part("shared_server")  # type: ignore[return-value]

    def _part(self, name: str) -> object:
        part = self._parts[name]
        if isinstance(part, str):
            self._parts[name] = part = loaded(part)
        return part

    def __repr__(self) -> str:
        return f"Vendor({self.name!r})"


def loaded(place: str) -> object:
    """`module:NAME`."""
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
