"""
Through which channel mail goes to an agent, how much at once, and what must not wait.

Whatever the channel, mail is shown from the oldest on and nothing is skipped, so that what one sender wrote arrives
in the order in which it was written (G4). Only urgent mail overtakes, where more waits than a hook can show at once.
"""

from __future__ import annotations

from atm.core.untrusted_text import shell_word, shell_words
from atm.mail.rules.messages import ACK_MARKER, REQUEST_MARKER, URGENT_MARK
from atm.mail.rules.surfacing import PANE, SERVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.rules.messages import Message
    from atm.team.rules.endpoints import Endpoint
    from atm.team.rules.team import Member


WAKE, WAIT = "wake", "wait"
"""Not channels: tell an idle agent that mail waits, and leave it to the agent's next sign of life."""


NO_SESSION = "no session of this agent is known here; `atm read` and hooks show it"
WAITS_FOR_A_PERSON = "its program asks a person; its mail is shown when that is answered"

NATIVE_BACKENDS = ("in-process", "iterm2")
"""Teammates that live inside Claude Code, which takes their mail out of the inbox itself."""


URGENT, ANY, NEVER = "urgent", "any", "never"
"""Which unread mail keeps an agent from ending its turn."""


class ChannelChoice:
    """What to do about unread mail of one agent, and why; the reason is shown to people."""

    __slots__ = ("step", "why")

    def __init__(self, step: str, why: str) -> None:
        self.step = step
        self.why = why


def choose_channel(
    member: Member,
    endpoint: Endpoint | None,
    *,
    in_claudes_team: bool,
    is_idle: bool,
    panes_allowed: bool,
    is_waiting: bool = False,
    team: str = "",
) -> ChannelChoice:
    """The best way to put mail that lies in an inbox before its owner."""
    if member.kind != "agent":
        return ChannelChoice(WAIT, f"{member.kind} members read their inbox themselves")
    if in_claudes_team or member.backend in NATIVE_BACKENDS:
        return ChannelChoice(WAIT, "Claude Code takes it from the inbox itself")
    if endpoint is None and is_waiting:
        return ChannelChoice(WAIT, f"{WAITS_FOR_A_PERSON}; {_to_window(member.name, team)}")
    if endpoint is None:
        return ChannelChoice(WAIT, f"{NO_SESSION}; {_to_window(member.name, team)}")
    if endpoint.wakes_itself:
        return ChannelChoice(WAIT, "its own plugin looks after it, and wakes it when it is idle")
    if endpoint.url and endpoint.url_pid is not None:
        return ChannelChoice(SERVER, f"the agent's own server at {endpoint.url}")
    if is_waiting:
        return ChannelChoice(WAIT, WAITS_FOR_A_PERSON)
    if endpoint.has_hooks:
        return _beside_hooks(endpoint, is_idle, panes_allowed)
    if not endpoint.pane:
        return ChannelChoice(WAIT, "the agent has neither hooks nor a terminal")
    return (
        ChannelChoice(PANE, f"pane {endpoint.pane}") if panes_allowed else ChannelChoice(WAIT, "delivery.tmux is off")
    )


def _to_window(member: str, team: str) -> str:
    """The command that opens the window of an agent that atm started."""
    named = f"--team {shell_word(team)} " if team else ""
    return f"if atm started it: atm attach {named}{shell_words(member)}"


def _beside_hooks(endpoint: Endpoint, is_idle: bool, panes_allowed: bool) -> ChannelChoice:
    if not is_idle:
        return ChannelChoice(WAIT, "it works; its next hook shows the mail")
    if endpoint.pane and panes_allowed:
        return ChannelChoice(WAKE, f"it is idle in pane {endpoint.pane}")
    return ChannelChoice(WAIT, "it is idle; its next prompt shows the mail")


def is_urgent(message: Message) -> bool:
    """The sender says so, or waits for an answer."""
    text = message.text
    return text.startswith(URGENT_MARK) or ACK_MARKER in text or REQUEST_MARKER in text


def keeps_from_stopping(unread: list[Message], which: str) -> bool:
    if which == NEVER or not unread:
        return False
    return which == ANY or any(is_urgent(message) for message in unread)


def urgent_first(
    unread: list[Message], room: int, size_of: Callable[[Message], int], people: Callable[[str], bool]
) -> list[Message]:
    """
    As many as fit, in their order. If not all do, urgent ones overtake: those of people, then the others, then the
    oldest. Else an agent that is flooded could not be stopped.
    """
    chosen = from_the_oldest(unread, room, size_of)
    if len(chosen) == len(unread):
        return chosen
    ranked = sorted(unread, key=lambda message: _rank(message, people))
    chosen = from_the_oldest(ranked, room, size_of)
    return [message for message in unread if any(message is one for one in chosen)]


def _rank(message: Message, people: Callable[[str], bool]) -> int:
    if message.text.startswith(URGENT_MARK):
        return 0 if people(message.sender) else 1
    return 2 if is_urgent(message) else 3


def too_large_in_words(size: int) -> str:
    """What an agent is told instead of mail that cannot be gone through in time."""
    megabytes = max(1, size >> 20)
    return (
        f"Your inbox is too large to show here: {megabytes} MB. Run `atm read` (or `atm read --limit 5`), "
        "or ask for a clean-up: `atm cleanup --yes`."
    )


def late_in_words() -> str:
    """What an agent is told instead of mail that could not be looked at in time, whatever took so long."""
    return "Your mail could not be looked at in time; nothing of it is lost. Run `atm read` to see what is new."


def from_the_oldest(unread: list[Message], room: int, size_of: Callable[[Message], int]) -> list[Message]:
    """As many as fit, from the oldest on; the first one always, or nothing would ever be shown."""
    chosen: list[Message] = []
    for message in unread:
        room -= size_of(message)
        if chosen and room < 0:
            break
        chosen.append(message)
    return chosen
