"""
The `notify` of Codex: one key at the top of a TOML file, naming the program that is told when a turn is over.

Our line is put in as the first of the file, where no table has begun yet, and is cut out again as a line. tomlkit keeps
comments, but not the last line break, the blank line before a table or CRLF when a key comes and goes; it is asked only
where the user has laid out our line anew. Whatever was done, the result is read again: the rest must say the same.
"""

from __future__ import annotations

import re

from atm.files.formats.json_pieces import BYTE_ORDER_MARK
from atm.files.formats.json_record import quote
from atm.vendors.server_entries import is_atm
from atm.vendors.settings_hooks import NotEditable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_LINE = re.compile(r"^notify[ \t]*=[ \t]*\[[^\r\n]*\][ \t]*(\r?\n|\Z)", re.MULTILINE)


def notify_words(program: tuple[str, ...]) -> tuple[str, ...]:
    return (*program, "hook", "codex", "notify")


def our_words(words: object) -> tuple[str, ...] | None:
    """The program in a list of words that is a notify of ours, else None."""
    if not isinstance(words, list) or len(words) < 4 or words[-3:-1] != ["hook", "codex"]:
        return None
    program = [str(word) for word in words[:-3]]
    return tuple(program) if is_atm(program) else None


def notify_program(text: str) -> tuple[str, ...] | None:
    """The program in a `notify` of ours; None if there is none of ours."""
    return our_words(read_toml(text).get("notify"))


def has_other_notify(text: str) -> bool:
    """Is another program told already? There is room for one."""
    found = read_toml(text).get("notify")
    return bool(found) and our_words(found) is None


def has_hook_tables(text: str) -> bool:
    """Are there hooks in this file? Codex warns where a folder has both these and a hooks.json."""
    hooks = read_toml(text).get("hooks")
    return isinstance(hooks, dict) and any(name != "state" for name in hooks)  # where Codex notes what is trusted


def with_notify(text: str, words: Sequence[str]) -> str:
    """The same file with our `notify`. The caller has made sure that nobody else's is there."""
    found = read_toml(text).get("notify")
    if found == list(words):
        return text
    line = f"notify = {listed(words)}"
    if found is None:
        mark, body = without_mark(text)
        changed = f"{mark}{line}{line_break(text)}{body}"
    else:
        changed = _line_replaced(text, line) or changed_toml(text, lambda document: document.update(notify=[*words]))
    return _checked(text, changed, list(words))


def without_notify(text: str) -> str:
    if notify_program(text) is None:
        return text
    rest = _line_replaced(text, None) or changed_toml(text, lambda document: document.remove("notify"))
    return _checked(text, rest, None)


def read_toml(text: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise NotEditable(f"it is not TOML: {error}") from None
    except RecursionError:
        raise NotEditable("it is nested too deeply") from None


def line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def without_mark(text: str) -> tuple[str, str]:
    """The byte order mark of a file, if it has one, and the rest."""
    body = text.removeprefix(BYTE_ORDER_MARK)
    return text[: len(text) - len(body)], body


def _line_replaced(text: str, line: str | None) -> str | None:
    """Another line in the place of ours, or none; None if ours does not stand on a line of its own."""
    mark, body = without_mark(text)
    found = _LINE.search(body)
    if found is None:
        return None
    new = "" if line is None else line + found[1]
    return mark + body[: found.start()] + new + body[found.end() :]


def listed(words: Sequence[str]) -> str:
    return f"[{', '.join(map(quote, words))}]"


def changed_toml(text: str, change: Callable[[Any], object]) -> str:
    """The same file with what a change does to its document."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark, body = without_mark(text)
    try:
        document = tomlkit.parse(body)
        change(document)
        return mark + tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise NotEditable(f"it cannot be changed: {error}") from None


def _checked(before: str, after: str, words: list[str] | None) -> str:
    """The line we took for ours may have stood in a text of several lines: then nothing is changed."""
    rest = {key: value for key, value in read_toml(before).items() if key != "notify"}
    wanted = rest if words is None else {**rest, "notify": words}
    try:
        is_right = read_toml(after) == wanted
    except NotEditable:
        is_right = False
    if not is_right:
        raise NotEditable("its notify does not stand where it could be changed safely")
    return after
