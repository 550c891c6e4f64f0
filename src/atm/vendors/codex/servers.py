"""
Our MCP server in the settings of Codex: a table `[mcp_servers.atm]` in a TOML file.

It is put at the end of the file as text, changed and cut out again as text, so that all the rest stays to the letter:
tomlkit would leave our blank line, take a comment on the next table for a part of ours, and move tables that stand
between `[[…]]`. It is asked where the user has written our entry in another way. Codex itself adds tables below ours
(`[mcp_servers.atm.tools.NAME]`, what may run unasked); they go with it: without a command they would keep Codex from
starting. Whatever was done, the result is read again: the rest must say the same.
"""

from __future__ import annotations

import re

from atm.files.formats.json_record import quote
from atm.vendors.codex.notify import changed_toml, line_break, listed, read_toml, without_mark
from atm.vendors.server_entries import PASSED_ON, SERVER_NAME, command_of, read_command
from atm.vendors.settings_hooks import NotEditable, is_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.vendors.server_entries import ServerEntry

HOLDER = "mcp_servers"

_TEXTS = re.compile(r'''"""(?:[^\\]|\\.)*?"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*''', re.DOTALL)
_HEADER = re.compile(r"[ \t]*\[")
_OUR_HEADER = re.compile(
    rf"[ \t]*\[[ \t]*{HOLDER}[ \t]*\.[ \t]*([\"']?){SERVER_NAME}\1[ \t]*(?:\.[^\r\n]*)?\][ \t]*(?:#.*)?"
)
_KEY = re.compile(r"[ \t]*(command|args)[ \t]*=[ \t]*(?:\"[^\"\r\n]*\"|\[[^\]\r\n]*\])[ \t]*(?:#.*)?")


class TomlServers:
    """See `settings.ServerEntries`."""

    def found_in(self, text: str) -> ServerEntry | None:
        return codex_server_in(text)

    def put_into(self, text: str, program: tuple[str, ...], words: tuple[str, ...]) -> str:
        return with_codex_server(text, program, words)

    def taken_from(self, text: str) -> str:
        return without_codex_server(text)

    def leaves_nothing(self, text: str) -> bool:
        return is_blank(text)


def codex_server_in(text: str) -> ServerEntry | None:
    """The server called `atm`, ours or not; None if there is none."""
    servers = read_toml(text).get(HOLDER)
    if not isinstance(servers, dict) or SERVER_NAME not in servers:
        return None
    entry = servers[SERVER_NAME]
    if not isinstance(entry, dict):
        return read_command(None)
    args = entry.get("args")
    command = [entry.get("command"), *(args if isinstance(args, list) else [])]
    return read_command(command, is_off=entry.get("enabled") is False)


def with_codex_server(text: str, program: tuple[str, ...], words: tuple[str, ...]) -> str:
    """The same file with our server. The caller has made sure that nobody else's of that name is there."""
    found = codex_server_in(text)
    if found is not None and (found.program, found.words) == (program, words):
        return text
    mark, body = without_mark(text)
    change = _appended if found is None else _updated
    return _checked(text, mark + change(body, command_of(program, words)))


def without_codex_server(text: str) -> str:
    found = codex_server_in(text)
    if found is None or not found.is_ours:
        return text
    mark, body = without_mark(text)
    rest = _cut(body)
    if rest is None:
        rest = changed_toml(body, lambda document: document[HOLDER].pop(SERVER_NAME))
    return _checked(text, mark + rest, is_gone=True)


def _values(command: Sequence[str]) -> dict[str, str]:
    return {"command": quote(command[0]), "args": listed(command[1:])}


def _appended(text: str, command: Sequence[str]) -> str:
    """After a blank line. If the last line of the file is not ended, our last one is not either: by that we know it."""
    end = line_break(text)
    values = {**_values(command), "env_vars": listed(PASSED_ON)}
    block = end.join([f"[{HOLDER}.{SERVER_NAME}]", *(f"{key} = {value}" for key, value in values.items())])
    if is_blank(text):
        return f"{block}{end}"
    return f"{text}{end}{block}{end}" if text.endswith("\n") else f"{text}{end}{end}{block}"


def _updated(text: str, command: Sequence[str]) -> str:
    values = _values(command)
    lines = text.split("\n")
    seen = set()
    for start, end in _regions(lines)[:1]:
        for number in range(start + 1, end):
            line = lines[number].removesuffix("\r")
            key = found[1] if (found := _KEY.fullmatch(line)) else ""
            if key and key not in seen:
                lines[number] = f"{key} = {values[key]}" + lines[number][len(line) :]
                seen.add(key)
    if seen == {"command", "args"}:
        return "\n".join(lines)
    new = {"command": command[0], "args": list(command[1:])}
    return changed_toml(text, lambda document: document[HOLDER][SERVER_NAME].update(new))


def _cut(text: str) -> str | None:
    """None if there is no table of ours that stands on lines of its own."""
    lines = text.split("\n")
    regions = _regions(lines)
    for start, end in reversed(regions):
        is_at_end = end == len(lines)  # and its last line is not ended
        del lines[start:end]
        if start and not lines[start - 1].strip():
            del lines[start - 1]
        if is_at_end and lines:
            lines[-1] = lines[-1].removesuffix("\r")
    return "\n".join(lines) if regions else None


def _regions(lines: list[str]) -> list[tuple[int, int]]:
    """The lines of each table of ours, from its header to its last key; what follows may be a comment on the next."""
    found = []
    shadows = _TEXTS.sub(_filled, "\n".join(lines)).split("\n")  # a header inside a text is none
    headers = [number for number, line in enumerate(shadows) if _HEADER.match(line)]
    for start in headers:
        if _OUR_HEADER.fullmatch(lines[start].removesuffix("\r")):
            stop = next((number for number in headers if number > start), len(lines))
            while not (line := lines[stop - 1].strip()) or line.startswith("#"):
                stop -= 1
            found.append((start, stop))
    return found


def _filled(text: re.Match[str]) -> str:
    """As many lines of the same length, with nothing in them that means anything."""
    return "\n".join("x" * len(line) for line in text[0].split("\n"))


def _checked(before: str, after: str, *, is_gone: bool = False) -> str:
    try:
        is_right = _others(after) == _others(before) and (codex_server_in(after) is None) is is_gone
    except NotEditable:
        is_right = False
    if not is_right:
        raise NotEditable(f"its {HOLDER} do not stand where they could be changed safely")
    return after


def _others(text: str) -> dict[str, object]:
    """All that is not ours."""
    settings = read_toml(text)
    servers = settings.pop(HOLDER, None)
    if servers is not None and not isinstance(servers, dict):
        raise NotEditable(f"its {HOLDER!r} is not a table, so there is no place for servers in it")
    return {**settings, HOLDER: {key: value for key, value in (servers or {}).items() if key != SERVER_NAME}}
