"""What atm knows of one program's hooks: their events, their payloads, and what is read of our answer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.core.plain import Plain
    from atm.vendors.moments import HookCall

    Fields = Mapping[str, Plain]

CONTEXT, BLOCK = "context", "block"
"""What an answer can do: put a text into the agent's context, or keep the agent from ending its turn."""

NOTIFY = "notify"
"""Not an event but an older way of some programs: its JSON, the last word of the command line, says what happened."""

HOOK_SECONDS = 5
"""How long an agent may wait for one of our hooks. It takes milliseconds; a hook that hangs freezes the agent."""

PERMIT_SECONDS = 600
"""How long a permission hook may take: it waits for people. Codex and Gemini CLI let the call run after their limit, so
ours denies long before this."""


def additional_context(call: HookCall, text: str) -> dict[str, object]:
    """The shape that most programs read."""
    return {"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": text}}


class HookTable:
    """The hooks of one program."""

    __slots__ = (
        "also",
        "carries",
        "context",
        "entered",
        "event_key",
        "events",
        "has_server",
        "helper_marks",
        "notified",
        "others",
        "permits",
        "runs_elsewhere",
        "silence",
        "speaker",
        "stay",
        "unit",
        "unless",
    )

    def __init__(
        self,
        *,
        events: Mapping[str, str],
        others: Sequence[str] = (),
        entered: Sequence[str] = (),
        permits: Sequence[str] = (),
        carries: Mapping[str, str] | None = None,
        stay: str = "",
        context: Callable[[HookCall, str], dict[str, object]] = additional_context,
        silence: str = "",
        event_key: str = "hook_event_name",
        helper_marks: Sequence[str] = (),
        notified: Mapping[str, str] | None = None,
        has_server: bool = False,
        unit: int = 1,
        unless: str = "",
        also: str = "",
        speaker: Callable[[str, str, Fields], str] | None = None,
        runs_elsewhere: Callable[[HookCall, Mapping[str, str]], bool] | None = None,
    ) -> None:
        self.events = events
        """Events at which `atm hook` has something to do, in the program's spelling, and which moment each is."""
        self.others = others
        """Events at which we have nothing to do. Known all the same: a payload that names one is not what the command
        says."""
        self.entered = entered
        """Those that `atm init` enters in its settings."""
        self.permits = permits
        """Events at which a call can be denied: entered where there is a policy."""
        self.carries = carries or {}
        """
        What an answer can do, by event: CONTEXT or BLOCK. Only what is documented: a text in a shape that is not
        expected is thrown away, and the mail in it would count as shown.
        """
        self.stay = stay
        """The program's word for: do not stop yet."""
        self.context = context
        self.silence = silence
        """What is said when there is nothing to say, where the program asks for an object."""
        self.event_key = event_key
        """The field of a payload that names its event."""
        self.helper_marks = helper_marks
        """Fields of a payload that comes from a helper inside the session."""
        self.notified = notified or {}
        """Moments by the `type` of a payload that names no event."""
        self.has_server = has_server
        """Does a payload name the address of the agent's own server, and whether a plugin asks for mail?"""
        self.unit = unit
        """In which it counts a time-out: how many make a second."""
        self.unless = unless
        """What follows our command on its line, for the day on which there is no atm any more."""
        self.also = also
        """The vendor whose events count as well: settings that were taken over from a predecessor."""
        self.speaker = speaker
        """Who really speaks, where two programs share a folder of settings: (vendor, event, payload) to vendor."""
        self.runs_elsewhere = runs_elsewhere
        """May a hook have the environment of another member: (call, environment)?"""


NONE = HookTable(events={})
"""Of a program that nobody has described."""
