"""
What the server offers: tools, resources and prompts, as plain values. `server.py` puts them into the protocol.

The real ones are in `catalog.py`, `resources.py` and `prompts.py`; tests offer a few of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from atm.core.errors import AtmError
    from atm.core.plain import Plain
    from atm.events.rules import TeamEvent
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Tool

    Told = Callable[[Caller, str, dict[str, Plain], str], None]
    """The caller, the tool's name, its result, and what became of that."""


class OfferedResource(Protocol):
    """A kind of resource: `uri` is a template such as `atm://{team}/inbox/{member}`."""

    @property
    def uri(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def description(self) -> str: ...


class OfferedPrompt(Protocol):
    """A prompt: `arguments` are names with what each is for, all optional."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Everything that a client can ask for."""

    tools_for: Callable[[str], Sequence[Tool]]
    moved: Callable[[str, str], AtmError | None] = lambda *_: None
    """For a role and the former name of a tool: what to tell whoever calls it by that."""
    waiting: frozenset[str] = frozenset()
    """Names of tools that mostly wait for another member."""
    lasting: frozenset[str] = frozenset()
    """Names of tools that may take minutes."""
    not_delivered: Told = lambda *_: None
    """Told of a tool's result that its client never got: mail that was marked as shown was seen by nobody."""
    seen: Told = lambda *_: None
    """Told of a tool's result that was sent, and after which the client called again: it went on with it."""
    resources: Sequence[OfferedResource] = ()
    uris: Callable[[Caller], Sequence[str]] = lambda _: ()
    """Those that this caller may read now."""
    read: Callable[[Caller, str], tuple[str, str]] | None = None
    """Its media type and text; raises AtmError for what is not there or not for this caller."""
    touched_by: Callable[[TeamEvent, Caller], Sequence[str]] = lambda *_: ()
    """Which resources of this caller an event may have changed."""
    complete: Callable[[Caller, str, str, str], Sequence[str]] = lambda *_: ()
    """For a template's uri, one of its words and the beginning of a value: what it may be for this caller."""
    prompts_for: Callable[[str], Sequence[OfferedPrompt]] = lambda _: ()
    render: Callable[[Caller, str, Mapping[str, str]], str] | None = None


def full_offer() -> Offer:
    """Everything there is. Imported here, because the daemon needs it only once a client comes."""
    from atm.ui.mcp import catalog, prompts, resources

    return Offer(
        tools_for=catalog.tools_for,
        moved=catalog.moved,
        waiting=frozenset(tool.name for tool in catalog.all_tools() if tool.waits),
        lasting=frozenset(tool.name for tool in catalog.all_tools() if tool.lasts),
        not_delivered=catalog.not_delivered,
        seen=catalog.seen,
        resources=resources.RESOURCES,
        uris=resources.uris,
        read=resources.read,
        touched_by=resources.touched_by,
        complete=resources.complete,
        prompts_for=prompts.prompts_for,
        render=prompts.render,
    )
