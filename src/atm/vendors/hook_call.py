"""
What vendors' hooks say: the bytes of a payload become a `HookCall`.

Every vendor has its own names for the moments of an agent's day and its own spelling of the same few facts. The tables
below are what we know of them; `tests/corpus/hooks/README.md` says from where, and how well. A payload can be anything:
what cannot be read leaves its field empty, and nothing here raises, for a hook that fails hinders the agent.

OpenCode calls no hooks. Our own plugin file calls us instead, with the event's name and this on stdin:

    {"event": "chat.message", "sessionID": "ses_1", "directory": "/p", "parentID"?: "ses_0", "serverUrl"?: "http://…",
     "wakes"?: true}
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.vendors.moments import (
    AGY,
    CLAUDE,
    CODEX,
    COMPACT,
    END,
    GEMINI,
    IDLE,
    MAIL,
    NOTICE,
    OPENCODE,
    PROMPT,
    START,
    STOP,
    TASK_CREATED,
    TASK_DONE,
    TOOL,
    TURN_DONE,
    UNKNOWN,
    HookCall,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

    Fields = dict[str, Plain]

NOTIFY = "notify"
"""Not an event but Codex's older way: its JSON, the last word of the command line, says what happened."""

_NOTIFIED = {"agent-turn-complete": TURN_DONE, "agent-turn-start": PROMPT}

LARGEST_PAYLOAD = 32 * 1024 * 1024
"""Tools hand over whole files. What is larger is not read; the moment then comes from the command line."""

LONGEST_TEXT = 512
LONGEST_FOLDER = 4096
"""A longer path is dropped: cut, it would name another folder."""

_EVENTS = {
    CLAUDE: {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "UserPromptExpansion": PROMPT,
        "PostToolUse": TOOL,
        "PostToolUseFailure": TOOL,
        "PostToolBatch": TOOL,
        "Stop": STOP,
        "StopFailure": TURN_DONE,
        "SubagentStart": START,
        "SubagentStop": STOP,
        "Notification": NOTICE,
        "PermissionRequest": NOTICE,
        "TeammateIdle": IDLE,
        "TaskCreated": TASK_CREATED,
        "TaskCompleted": TASK_DONE,
        "PreCompact": COMPACT,
        "SessionEnd": END,
    },
    CODEX: {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PostToolUse": TOOL,
        "Stop": STOP,
        "StopFailure": TURN_DONE,
        "Interrupt": TURN_DONE,
        "SubagentStart": START,
        "SubagentStop": STOP,
        "PermissionRequest": NOTICE,
        "PreCompact": COMPACT,
        "SessionEnd": END,
        NOTIFY: TURN_DONE,
    },
    GEMINI: {
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "AfterTool": TOOL,
        "AfterAgent": STOP,
        "Notification": NOTICE,
        "PreCompress": COMPACT,
        "SessionEnd": END,
    },
    AGY: {
        "SessionStart": START,
        "PreInvocation": PROMPT,
        "PostInvocation": TOOL,
        "PostToolUse": TOOL,
        "Stop": STOP,
    },
    OPENCODE: {
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
}

_OTHERS = {
    CLAUDE: (
        *("PreToolUse", "Setup", "PermissionDenied", "MessageDisplay", "InstructionsLoaded", "ConfigChange"),
        *("CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PostCompact"),
        *("Elicitation", "ElicitationResult"),
    ),
    CODEX: ("PreToolUse", "PostCompact"),
    GEMINI: ("BeforeTool", "BeforeModel", "BeforeToolSelection", "AfterModel"),
    AGY: ("PreToolUse",),
    OPENCODE: ("tool.execute.before", "session.updated", "session.status", "session.error"),
}
"""Events at which we have nothing to do. Known all the same: a payload that names one is not what the command says."""

_SESSION = ("session_id", "thread-id", "thread_id", "conversationId", "sessionID", "sessionId")
_FOLDER = ("cwd", "directory")
_REASON = {
    START: ("source", "trigger"),
    STOP: ("terminationReason",),
    TURN_DONE: ("error", "type"),
    NOTICE: ("notification_type",),
    COMPACT: ("trigger",),
    END: ("reason", "trigger"),
}
_HELPER_MARKS = {
    CLAUDE: ("agent_id",),  # not agent_type: `claude --agent NAME` has that too
    CODEX: ("agent_id",),
    OPENCODE: ("parentID", "parent_session"),
}
_HELPER_EVENTS = ("SubagentStart", "SubagentStop")

_JOINTS = str.maketrans("", "", "-_. ")


def parse_call(vendor: str, event: str, data: bytes) -> HookCall:
    """What a hook told us: the event on the command line, and a payload which knows better if it names one."""
    read = _fields(data)
    fields = read or {}
    vendor = _speaker(_text(vendor).lower(), event, fields)
    name, moment = _event(vendor, event, fields)
    return HookCall(
        vendor=vendor,
        event=name,
        moment=moment,
        session=_first(fields, _SESSION),
        folder=_folder(fields),
        member=_text(fields.get("teammate_name")),
        team=_text(fields.get("team_name")),
        reason=_first(fields, _REASON.get(moment, ())),
        task_id=_number_or_text(fields.get("task_id")),
        task_subject=_text(fields.get("task_subject")),
        url=_url(fields) if vendor == OPENCODE else "",
        is_subagent=name in _HELPER_EVENTS or _may_be_helper(vendor, moment, read),
        has_agent_type=bool(_text(fields.get("agent_type"))),
        wakes_itself=vendor == OPENCODE and fields.get("wakes") is True,
    )


def known_events(vendor: str) -> tuple[str, ...]:
    """The events of a vendor at which `atm hook` has something to do, as the vendor spells them."""
    return tuple(_EVENTS.get(vendor, ()))


def _fields(data: bytes) -> Fields | None:
    """None if something was said that cannot be read."""
    if len(data) > LARGEST_PAYLOAD:
        return None
    try:
        return decode_object(to_text(data))
    except NotJson:
        return None if data.strip() else {}


def _may_be_helper(vendor: str, moment: str, read: Fields | None) -> bool:
    """
    Is it, or could it be, a subagent?

    A payload that was cut off, as one with a huge file in it can be, may have lost the mark. Then nothing is said
    at the moments that a subagent has too, or the member's mail would vanish in a subagent's context.
    """
    marks = _HELPER_MARKS.get(vendor, ())
    if read is None:
        return bool(marks) and moment in (PROMPT, TOOL)
    return any(read.get(mark) for mark in marks)


def _speaker(vendor: str, event: str, fields: Fields) -> str:
    """Who really speaks: Gemini CLI or Antigravity CLI. Everybody else is who he says."""
    if vendor not in (GEMINI, AGY, "antigravity"):
        return vendor
    if "session_id" in fields or "hook_event_name" in fields:
        return GEMINI
    if "conversationId" in fields or vendor != GEMINI:
        return AGY
    return AGY if not _find(GEMINI, event) and _find(AGY, event) else GEMINI


def _event(vendor: str, event: str, fields: Fields) -> tuple[str, str]:
    """
    The event in the vendor's spelling, and its moment.

    If the payload names an event that nobody knows, the moment is that of the command line, but the name is the
    payload's: an answer in the shape of another event would be thrown away, and the mail in it with it.
    """
    asked = _find(vendor, event)
    named = _first(fields, ("event",) if vendor == OPENCODE else ("hook_event_name",))
    if named:
        return _find(vendor, named) or (named, asked[1] if asked else UNKNOWN)
    kind = _text(fields.get("type")) if vendor == CODEX else ""
    if kind in _NOTIFIED or (kind and asked and asked[0] == NOTIFY):
        return NOTIFY, _NOTIFIED.get(kind, UNKNOWN)  # what else it may tell one day ends no turn
    return asked or (_text(event), UNKNOWN)


def _find(vendor: str, event: str) -> tuple[str, str] | None:
    wanted = _plain(event)
    for name, moment in _EVENTS.get(vendor, {}).items():
        if _plain(name) == wanted:
            return name, moment
    for name in _OTHERS.get(vendor, ()):
        if _plain(name) == wanted:
            return name, UNKNOWN
    return _find(GEMINI, event) if vendor == AGY else None  # for settings that it took over from its predecessor


def _plain(event: str) -> str:
    """`session-start`, `session_start` and `SessionStart` are one event."""
    return event[:LONGEST_TEXT].translate(_JOINTS).lower()


def _first(fields: Fields, names: tuple[str, ...]) -> str:
    for name in names:
        if text := _text(fields.get(name)):
            return text
    return ""


def _folder(fields: Fields) -> str:
    places: list[Plain] = [fields.get(name) for name in _FOLDER]
    workspaces = fields.get("workspacePaths")
    if isinstance(workspaces, list):
        places += workspaces[:1]
    for place in places:
        if isinstance(place, str) and len(place) <= LONGEST_FOLDER and (text := _text(place, LONGEST_FOLDER)):
            return text
    return ""


def _url(fields: Fields) -> str:
    """Any program may have written it: whoever uses it looks first whose server that is."""
    url = _text(fields.get("serverUrl"), LONGEST_TEXT + 1)
    return url if url.startswith(("http://", "https://")) and len(url) <= LONGEST_TEXT else ""


def _number_or_text(value: Plain) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18:
        return str(value)
    return _text(value)


def _text(value: Plain, longest: int = LONGEST_TEXT) -> str:
    """A text that may be shown, compared and written; empty if it is no text or could do more than be read."""
    if not isinstance(value, str):
        return ""
    text = value[:longest]
    return text if text.isprintable() or not any(map(_is_control, text)) else ""


def _is_control(character: str) -> bool:
    """Also half a pair, which no file can hold, and the two characters that end a line for JavaScript."""
    return (
        character < " "
        or "\x7f" <= character <= "\x9f"
        or character in "\u2028\u2029"
        or "\ud800" <= character <= "\udfff"
    )
