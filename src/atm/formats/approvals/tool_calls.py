"""
What agents want to do, in the words of their vendors: the fields of a hook's payload, or of a question in a protocol,
become a `AgentCall`. The names differ, the few facts are the same. What is not understood is kept as text for people.
"""

from __future__ import annotations

from atm.domain.approvals.calls import KNOWN_TOOLS, SHELL, AgentCall
from atm.domain.approvals.programs import SHELLS
from atm.domain.approvals.shell import parse_line
from atm.formats.files.json_record import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from atm.domain.plain import Plain

_COMMAND = ("command", "cmd", "url", "query")
_PATH = ("file_path", "filePath", "absolute_path", "notebook_path", "path", "filepath")
_FOLDER = ("dir_path", "directory", "workdir", "cwd")
_NEW = ("content", "new_string", "newString", "new_source", "file_text")
_OLD = ("old_string", "oldString")
_PATCH_FILES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_BEGIN_PATCH = "*** Begin Patch"
_OF_CODEX = ("itemId", "reason")
"""What its server says beside a call: which it is, and why it wants it."""

_OF_SHELLS = ("description", "timeout", "run_in_background", "is_background")
"""What a tool that runs commands is told beside the command."""


def read_call(
    tool: str, given: Mapping[str, Plain], *, folder: str, root: str = "", session: str = "", call_id: str = ""
) -> AgentCall:
    """A call with its arguments, whoever's they are."""
    patch = _patch(tool, given)
    command = "" if patch else _unwrapped(_command(given))
    return AgentCall(
        tool,
        command=command,
        folder=_folder(given, folder),
        root=root,
        paths=[*_paths(given), *_patched(patch)],
        diff=patch or _diff(given, is_shell=KNOWN_TOOLS.get(tool.lower()) == SHELL),
        session=session,
        call_id=call_id,
    )


def read_tool_call(fields: Mapping[str, Plain], root: str = "") -> AgentCall | None:
    """The payload of a hook before a tool; None if it names no tool."""
    tool = _text(fields.get("tool_name")) or _text(fields.get("tool"))
    given = fields.get("tool_input")
    if not tool:
        return None
    return read_call(
        tool,
        given if isinstance(given, dict) else {},
        folder=_text(fields.get("cwd")) or _text(fields.get("directory")),
        root=root,
        session=_text(fields.get("session_id")) or _text(fields.get("sessionID")),
        call_id=_text(fields.get("tool_use_id")) or _text(fields.get("callID")),
    )


def _patch(tool: str, given: Mapping[str, Plain]) -> str:
    """A patch is the whole of what is given: not a remark in a command, nor a text that is replaced by another."""
    if KNOWN_TOOLS.get(tool.lower()) == SHELL or any(key in given for key in (*_OLD, *_NEW, "edits")):
        return ""
    return next((value for value in _texts(given) if value.lstrip().startswith(_BEGIN_PATCH)), "")


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _texts(given: Mapping[str, Plain]) -> Iterator[str]:
    for value in given.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))


def _command(given: Mapping[str, Plain]) -> str:
    raw = given.get("rawInput")
    if isinstance(raw, dict) and (inner := _command(raw)):
        return inner
    for key in _COMMAND:
        value = given.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return " ".join(_quoted(str(word)) for word in value)
    return _title(given)


def _unwrapped(command: str) -> str:
    """Codex names the shell by which it runs a command: `/bin/bash -lc 'make test'`."""
    if "-lc " not in command and " -c " not in command:
        return command
    line = parse_line(command)
    words = line.commands[0].words if len(line.commands) == 1 and not line.unclear else []
    is_wrapped = len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else command


def _title(given: Mapping[str, Plain]) -> str:
    """In ACP the command stands in the title, sometimes with remarks of its program behind it."""
    if _text(given.get("kind")) != "execute":
        return ""
    return _text(given.get("title")).partition(" [current working directory ")[0].partition(" [in directory ")[0]


def _quoted(word: str) -> str:
    plain = bool(word) and all(sign.isalnum() or sign in "-_./:=+,@%" for sign in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _folder(given: Mapping[str, Plain], folder: str) -> str:
    for key in _FOLDER:
        named = _text(given.get(key))
        if named:
            return named if named.startswith("/") or not folder else f"{folder}/{named}"
    return folder


def _paths(given: Mapping[str, Plain]) -> list[str]:
    found = [_text(given.get(key)) for key in _PATH]
    for key in ("locations", "changes"):
        listed = given.get(key)
        if isinstance(listed, list):
            found += [_text(one.get("path")) for one in listed if isinstance(one, dict)]
        elif isinstance(listed, dict):
            found += list(listed)
    raw = given.get("rawInput")
    if isinstance(raw, dict):
        found += _paths(raw)
    return list(dict.fromkeys(path for path in found if path))


def _patched(patch: str) -> list[str]:
    lines = [line.strip() for line in patch.splitlines()]
    return [line.removeprefix(mark) for line in lines for mark in _PATCH_FILES if line.startswith(mark)]


def _diff(given: Mapping[str, Plain], *, is_shell: bool) -> str:
    """What would change, to be read by people: old lines, new ones, and all arguments that are shown nowhere else."""
    edits = given.get("edits")
    pairs = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else []
    lines = [*_changed(given)]
    for one in pairs:
        lines += [*_changed(one), *_rest(one, [])]
    others = {key: value for key, value in given.items() if key != "edits" or not pairs}
    return "\n".join([*lines, *_rest(others, [*_told(given), *(_OF_SHELLS if is_shell else ())])])


def _told(given: Mapping[str, Plain]) -> list[str]:
    """The arguments that became the command, the files and the folder of a call: those alone are shown as these."""
    command = next((key for key in _COMMAND if given.get(key)), "")
    folder = next((key for key in _FOLDER if _text(given.get(key))), "")
    return [command, folder, *(key for key in _PATH if _text(given.get(key)))]


def _changed(one: Mapping[str, Plain]) -> Iterator[str]:
    for keys, mark in ((_OLD, "-"), (_NEW, "+")):
        for text in [_text(one.get(key)) for key in keys]:
            if text:
                yield from (f"{mark}{line}" for line in text.split("\n"))


def _rest(one: Mapping[str, Plain], told: Sequence[str]) -> list[str]:
    """How it is changed: everywhere or once, which cell; and whatever a tool of its own takes."""
    changed = [key for key in (*_OLD, *_NEW) if isinstance(one.get(key), str)]
    shown = [*told, *changed, *(_OF_CODEX if "itemId" in one else ())]
    empty: tuple[Plain, ...] = (None, "", [], {})
    rest = {key: said for key, said in one.items() if key not in shown and said is not False and said not in empty}
    return [encode(rest)] if rest else []
