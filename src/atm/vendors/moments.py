"""
Moments of a coding agent's day, whatever its vendor calls them, and what may be said to it then.

A vendor's hook is a chance to speak: at some moments a text can be put into the agent's context, at one it can be
kept from stopping, at the others we only learn something.
"""

from __future__ import annotations

START = "start"
"""A session begins, or begins anew after its context was cut."""
PROMPT = "prompt"
"""The user typed a prompt, or our line was pasted as one; the agent is about to think."""
TOOL = "tool"
"""A tool call has ended; the agent goes on."""
STOP = "stop"
"""The agent is about to end its turn."""
TURN_DONE = "turn-done"
"""It has ended its turn. Nobody listens to an answer."""
NOTICE = "notice"
"""It waits for the user: a permission, or an idle prompt."""
IDLE = "idle"
"""A teammate goes idle."""
TASK_CREATED, TASK_DONE = "task-created", "task-done"
MAIL = "mail"
"""It is idle, and a plugin inside its program asks what should be put before it. What is said wakes it."""
COMPACT = "compact"
"""Its context is about to be cut."""
END = "end"
"""The session is over."""
UNKNOWN = "unknown"

MOMENTS = (START, PROMPT, TOOL, STOP, TURN_DONE, NOTICE, IDLE, TASK_CREATED, TASK_DONE, MAIL, COMPACT, END, UNKNOWN)


class HookCall:
    """What a vendor's hook told us. Everything in it is untrusted; what it does not say is empty."""

    __slots__ = (
        "event",
        "folder",
        "has_agent_type",
        "is_subagent",
        "member",
        "moment",
        "reason",
        "session",
        "task_id",
        "task_subject",
        "team",
        "url",
        "vendor",
        "wakes_itself",
    )

    def __init__(
        self,
        *,
        vendor: str,
        event: str,
        moment: str,
        session: str = "",
        folder: str = "",
        member: str = "",
        team: str = "",
        reason: str = "",
        task_id: str = "",
        task_subject: str = "",
        url: str = "",
        is_subagent: bool = False,
        has_agent_type: bool = False,
        wakes_itself: bool = False,
    ) -> None:
        self.vendor = vendor
        self.event = event
        """In the vendor's own spelling; an answer must repeat it."""
        self.moment = moment
        self.session = session
        self.folder = folder
        self.member = member
        """Who it is about, where the vendor says so: the teammate of a Claude Code team."""
        self.team = team
        self.reason = reason
        """Why a session starts or ends, or what kind of notice it is."""
        self.task_id = task_id
        self.task_subject = task_subject
        self.url = url
        """The agent's own server, where its vendor has one."""
        self.is_subagent = is_subagent
        """It comes from a helper inside the session, whose context is not the member's."""
        self.has_agent_type = has_agent_type
        """It may come from a teammate in a pane of its own, which has its lead's environment."""
        self.wakes_itself = wakes_itself
        """What calls is a plugin that asks for mail whenever the agent is idle."""


class HookAnswer:
    """What we want to say. `context` goes into the agent's context; `block` keeps it from stopping."""

    __slots__ = ("block", "context")

    def __init__(self, *, context: str = "", block: str = "") -> None:
        self.context = context
        self.block = block
