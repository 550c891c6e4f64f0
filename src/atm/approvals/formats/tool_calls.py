"""
What agents want to do, in the words of their vendors: the fields of a hook's payload, or of a question in a protocol,
become an `AgentCall`.

Of each tool exactly one field is the command: the one that its vendor executes (`vendors.calls`). Nothing is read from
any other. A field that atm does not know and that could carry a command or a file makes the call unclear, so that no
rule allows it; its text is shown to the person who is asked.
"""

from __future__ import annotations

from atm.approvals.rules.calls import EDIT, KNOWN_TOOLS, SHELL, WRITE, AgentCall
from atm.files.formats.json_record import encode
from atm.vendors.calls import UNKNOWN, WIDENS, ToolFields, looks_executed
from atm.vendors.known import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from atm.core.plain import Plain
    from atm.vendors.calls import ToolCalls

_COMMAND = ("command", "cmd", "url", "query")
_PATH = ("file_path", "filePath", "absolute_path", "notebook_path", "path", "filepath")
_FOLDER = ("dir_path", "directory", "workdir", "cwd")
"""Of tools that atm does not know, as those of MCP servers are: what their arguments are mostly called."""

_NEW = ("content", "new_string", "newString", "new_source", "file_text")
_OLD = ("old_string", "oldString")
_PATCH_FILES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_BEGIN_PATCH = "*** Begin Patch"
_LISTED = ("locations", "changes", "content")
"""Fields of protocols that hold a table for each file."""

_STRICT = (SHELL, WRITE, EDIT)
"""Tools of which every field that is not known makes the call unclear."""


def read_call(
    asker: str,
    tool: str,
    given: Mapping[str, Plain],
    *,
    folder: str,
    root: str = "",
    session: str = "",
    call_id: str = "",
    unclear: str = "",
) -> AgentCall:
    """
    A call with its arguments, as the asker reads them: a program whose hook asks, or one of the protocols in which a
    program asks its host (`calls_of`). `unclear`: what is known to be wrong with the whole payload.
    """
    calls = calls_of(asker)
    fields = calls.tools.get(tool.lower())
    is_known = fields is not None
    kind = KNOWN_TOOLS.get(tool.lower())
    if fields is None:
        if kind in _STRICT and not unclear:
            unclear = f"atm does not know that {calls.title or asker} has a tool of this name"
        fields = _usual_fields(given)
    unclear = unclear or _unknown_field(fields, given, is_strict=kind in _STRICT)
    patch = _text(given.get(fields.patch)) if fields.patch else ""
    command = _command(given.get(fields.command)) if fields.command else ""
    where, why = _folder(fields, given, folder), ""
    if calls.folder_of is not None and kind == SHELL:
        where, why = calls.folder_of(given, folder)
    paths = [*_paths(fields, given), *_patched(patch)]
    unclear = unclear or why or _why_unclear(calls, kind, fields, command, patch, paths)
    return AgentCall(
        tool,
        command=command,
        folder=where,
        root=root,
        paths=paths,
        diff=_diff(calls, fields, given, patch),
        session=session,
        call_id=call_id,
        unclear=unclear,
        stored=_stored(tool, given),
        is_unknown=calls is not UNKNOWN and not is_known and bool(command),
        vendor_shell=calls.wraps_shell and kind == SHELL and _is_in_vendors_shell(command),
    )


def read_tool_call(
    vendor: str, fields: Mapping[str, Plain], root: str = "", repeated: Sequence[str] = ()
) -> AgentCall | None:
    """
    The payload of a vendor's hook before a tool; None if it names no tool. `repeated`: keys that it has more than
    once, of which programs read the first or the last.
    """
    calls = calls_of(vendor)
    if calls is UNKNOWN:
        return None
    tool, folder, session, call_id = (_text(fields.get(name)) for name in calls.keys)
    if not tool:
        return None
    given = fields.get("tool_input")
    unclear = f"its payload has the key {_name(repeated[0])} more than once" if repeated else ""
    if not isinstance(given, dict):
        unclear = unclear or "its arguments are not a table"
    return read_call(
        vendor,
        tool,
        given if isinstance(given, dict) else {"tool_input": given},
        folder=folder,
        root=root,
        session=session,
        call_id=call_id,
        unclear=unclear,
    )


_OURS = ("mcp__atm__", "mcp_atm_", "atm_")


def _stored(tool: str, given: Mapping[str, Plain]) -> list[str]:
    """Commands that a tool of atm's own keeps as checks of a task."""
    kept = given.get("accept_commands") if tool.startswith(_OURS) else None
    listed = kept if isinstance(kept, list) else [kept]
    return [line for line in listed if isinstance(line, str)]


# What cannot be told.


def _usual_fields(given: Mapping[str, Plain]) -> ToolFields:
    """Of a tool that atm does not know: the first of the names that are usual for a command and a folder."""
    command = next((key for key in _COMMAND if given.get(key)), "")
    folder = next((key for key in _FOLDER if _text(given.get(key))), "")
    return ToolFields(command=command, folder=folder, paths=[*_PATH, "locations", "changes"], shown=[*given])


def _unknown_field(fields: ToolFields, given: Mapping[str, Plain], *, is_strict: bool) -> str:
    """Why a field could be what is executed, or keeps what is executed from being seen."""
    for key, value in given.items():
        if value in (None, "") or value == [] or value == {}:
            continue
        is_scalar = isinstance(value, bool | int | float)
        if key not in fields.known:
            if not is_scalar and (is_strict or looks_executed(key)):
                return f"it has a field {_name(key)} that atm does not know"
        elif key in WIDENS and value is not False:
            return f"it asks to run outside the sandbox of its program ({_name(key)})"
        elif not isinstance(value, str) and _must_be_text(fields, key, is_scalar=is_scalar):
            return f"its field {_name(key)} is {_kind(value)} where a text is expected"
    return ""


def _must_be_text(fields: ToolFields, key: str, *, is_scalar: bool) -> bool:
    if key in _LISTED:
        return False
    return key in (fields.command, fields.folder, fields.patch, *fields.paths) or (
        key in fields.quiet and not is_scalar
    )


def _why_unclear(
    calls: ToolCalls, kind: str | None, fields: ToolFields, command: str, patch: str, paths: Sequence[str]
) -> str:
    if kind == SHELL and calls.why_unclear is not None and (why := calls.why_unclear(command)):
        return why
    if fields.patch and not patch.lstrip().startswith(_BEGIN_PATCH):
        return "it has no patch that atm can read"
    if kind in (WRITE, EDIT) and not paths:
        return "it names no file that atm can see"
    return ""


def _is_in_vendors_shell(command: str) -> bool:
    from atm.approvals.rules.vendor_shell import wrapped_line  # here: hooks never need it

    return wrapped_line(command) is not None


def _name(key: str) -> str:
    return key if len(key) <= 40 else f"{key[:40]}…"


def _kind(value: Plain) -> str:
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "a number"


# What is executed, and where.


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _command(value: Plain) -> str:
    """The text. Of a list, which no vendor executes, its words, so that rules that deny still see them."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return " ".join(_quoted(str(word)) for word in value)
    return _text(value)


def _quoted(word: str) -> str:
    plain = bool(word) and all(sign.isalnum() or sign in "-_./:=+,@%" for sign in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _folder(fields: ToolFields, given: Mapping[str, Plain], folder: str) -> str:
    named = _text(given.get(fields.folder)) if fields.folder else ""
    return _within(named, folder) if named else folder


def _within(named: str, folder: str) -> str:
    return named if named.startswith("/") or not folder else f"{folder}/{named}"


def _paths(fields: ToolFields, given: Mapping[str, Plain]) -> list[str]:
    found: list[str] = []
    for key in fields.paths:
        value = given.get(key)
        if isinstance(value, list):
            for one in value:
                found += _paths_of_change(one) if isinstance(one, dict) else []
        elif isinstance(value, dict):
            found += list(value)
        else:
            found.append(_text(value))
    return list(dict.fromkeys(path for path in found if path))


def _paths_of_change(one: Mapping[str, Plain]) -> list[str]:
    """Where a file is, and where it would be moved to."""
    kind = one.get("kind")
    return [_text(one.get("path")), _text(kind.get("move_path")) if isinstance(kind, dict) else ""]


def _patched(patch: str) -> list[str]:
    lines = [line.strip() for line in patch.split("\n")]
    return [line.removeprefix(mark) for line in lines for mark in _PATCH_FILES if line.startswith(mark)]


# What is shown.


def _diff(calls: ToolCalls, fields: ToolFields, given: Mapping[str, Plain], patch: str) -> str:
    """What would change, to be read by people: old lines, new ones, and all arguments that are shown nowhere else."""
    edits = given.get("edits")
    pairs = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else []
    lines = [patch] if patch else [*_changed(given)]
    for one in pairs:
        lines += [*_changed(one), *_rest(one, [])]
    others = {key: value for key, value in given.items() if key != "edits" or not pairs}
    read = (fields.command, fields.folder, fields.patch, *fields.paths)
    shown = [key for key in read if key and _text(given.get(key))]
    quiet = [key for key in fields.quiet if isinstance(given.get(key), str | bool | int | float)]
    if calls.is_aside is not None:
        quiet += [key for key in fields.quiet if calls.is_aside(key, given.get(key))]
    return "\n".join([*lines, *_rest(others, [*shown, *quiet])])


def _changed(one: Mapping[str, Plain]) -> Iterator[str]:
    for keys, mark in ((_OLD, "-"), (_NEW, "+")):
        for text in [_text(one.get(key)) for key in keys]:
            if text:
                yield from (f"{mark}{line}" for line in text.split("\n"))


def _rest(one: Mapping[str, Plain], told: Sequence[str]) -> list[str]:
    """How it is changed: everywhere or once, which cell; and whatever a tool of its own takes."""
    changed = [key for key in (*_OLD, *_NEW) if isinstance(one.get(key), str)]
    shown = [*told, *changed]
    empty: tuple[Plain, ...] = (None, "", [], {})
    rest = {key: said for key, said in one.items() if key not in shown and said is not False and said not in empty}
    return [encode(rest)] if rest else []
