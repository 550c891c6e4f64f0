"""
What vendors' hooks say: the bytes of a payload become a `HookCall`.

Every vendor has its own names for the moments of an agent's day (its `HookTable`) and its own spelling of the same few
facts; `tests/corpus/hooks/README.md` says from where we know them, and how well. A payload can be anything: what cannot
be read leaves its field empty, and nothing here raises, for a hook that fails hinders the agent.

OpenCode calls no hooks. Our own plugin file calls us instead, with the event's name and this on stdin:

    {"event": "chat.message", "sessionID": "ses_1", "directory": "/p", "parentID"?: "ses_0", "serverUrl"?: "http://…",
     "wakes"?: true}
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.vendors.hooks import NOTIFY, HookTable
from atm.vendors.known import FORMER, hooks_of
from atm.vendors.moments import (
    COMPACT,
    END,
    NOTICE,
    PROMPT,
    START,
    STOP,
    TOOL,
    TURN_DONE,
    UNKNOWN,
    HookCall,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

    Fields = dict[str, Plain]

LARGEST_PAYLOAD = 32 * 1024 * 1024
"""Tools hand over whole files. What is larger is not read; the moment then comes from the command line."""

LONGEST_TEXT = 512
LONGEST_FOLDER = 4096
"""A longer path is dropped: cut, it would name another folder."""

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
_HELPER_EVENTS = ("SubagentStart", "SubagentStop")

_JOINTS = str.maketrans("", "", "-_. ")


def parse_call(vendor: str, event: str, data: bytes) -> HookCall:
    """What a hook told us: the event on the command line, and a payload which knows better if it names one."""
    read = _fields(data)
    fields = read or {}
    vendor = _text(vendor).lower()
    vendor = FORMER.get(vendor, vendor)
    table = hooks_of(vendor)
    if table.speaker is not None:
        vendor = table.speaker(vendor, event, fields)
        table = hooks_of(vendor)
    name, moment = _event(table, event, fields)
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
        url=_url(fields) if table.has_server else "",
        is_subagent=name in _HELPER_EVENTS or _may_be_helper(table, moment, read),
        has_agent_type=bool(_text(fields.get("agent_type"))),
        wakes_itself=table.has_server and fields.get("wakes") is True,
    )


def known_events(vendor: str) -> tuple[str, ...]:
    """The events of a vendor at which `atm hook` has something to do, as the vendor spells them."""
    return tuple(hooks_of(vendor).events)


def _fields(data: bytes) -> Fields | None:
    """None if something was said that cannot be read."""
    if len(data) > LARGEST_PAYLOAD:
        return None
    try:
        return decode_object(to_text(data))
    except NotJson:
        return None if data.strip() else {}


def _may_be_helper(table: HookTable, moment: str, read: Fields | None) -> bool:
    """
    Is it, or could it be, a subagent?

    A payload that was cut off, as one with a huge file in it can be, may have lost the mark. Then nothing is said
    at the moments that a subagent has too, or the member's mail would vanish in a subagent's context.
    """
    marks = table.helper_marks
    if read is None:
        return bool(marks) and moment in (PROMPT, TOOL)
    return any(read.get(mark) for mark in marks)


def _event(table: HookTable, event: str, fields: Fields) -> tuple[str, str]:
    """
    The event in the vendor's spelling, and its moment.

    If the payload names an event that nobody knows, the moment is that of the command line, but the name is the
    payload's: an answer in the shape of another event would be thrown away, and the mail in it with it.
    """
    asked = find_event(table, event)
    named = _first(fields, (table.event_key,))
    if named:
        return find_event(table, named) or (named, asked[1] if asked else UNKNOWN)
    kind = _text(fields.get("type")) if table.notified else ""
    if kind in table.notified or (kind and asked and asked[0] == NOTIFY):
        return NOTIFY, table.notified.get(kind, UNKNOWN)  # what else it may tell one day ends no turn
    return asked or (_text(event), UNKNOWN)


def find_event(table: HookTable, event: str) -> tuple[str, str] | None:
    wanted = _plain(event)
    for name, moment in table.events.items():
        if _plain(name) == wanted:
            return name, moment
    for name in table.others:
        if _plain(name) == wanted:
            return name, UNKNOWN
    return find_event(hooks_of(table.also), event) if table.also else None


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
