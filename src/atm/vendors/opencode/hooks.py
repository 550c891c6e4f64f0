"""OpenCode calls no hooks: a plugin file of ours calls us instead, with the names of its events."""

from __future__ import annotations

from atm.vendors.hooks import CONTEXT, HookTable
from atm.vendors.moments import COMPACT, END, MAIL, NOTICE, PROMPT, START, TOOL, TURN_DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.moments import HookCall


def _plain_context(_: HookCall, text: str) -> dict[str, object]:
    return {"context": text}


HOOKS = HookTable(
    events={
        "session.created": START,
        "session.compacted": START,
        "chat.message": PROMPT,
        "tool.execute.after": TOOL,
        "session.idle": TURN_DONE,
        "mail.waiting": MAIL,
        "permission.asked": NOTICE,
        "permission.updated": NOTICE,
        "question.asked": NOTICE,
        "experimental.session.compacting": COMPACT,
        "session.deleted": END,
    },
    others=("tool.execute.before", "session.updated", "session.status", "session.error"),
    # The plugin file puts what we say at any event into the session; at `mail.waiting` it wakes the model with it.
    carries={
        "session.created": CONTEXT,
        "session.compacted": CONTEXT,
        "chat.message": CONTEXT,
        "tool.execute.after": CONTEXT,
        "mail.waiting": CONTEXT,
    },
    context=_plain_context,
    event_key="event",
    helper_marks=("parentID", "parent_session"),
    has_server=True,
)
