"""
Our hooks in other programs' settings files, which are JSON.

Everything else in the file stays to the letter: the text is never decoded and written again, pieces are put in and cut
out. What `with_hooks` puts in, `without_hooks` cuts out again, so that the file is what it was before; `json_pieces`
says how. A list or an object that we made to hold nothing but ours goes with our entries.

JSON with comments is refused: nobody could promise to leave it alone, and to its owner it is not a JSON file.
"""

from __future__ import annotations

import re

from atm.files.formats.json_comments import Commented
from atm.files.formats.json_pieces import BYTE_ORDER_MARK, Box, replaced, root_of
from atm.files.formats.json_record import NotJson, decode, decode_object, indent, quote, scan
from atm.vendors.settings import FAIL_CLOSED, FoundHook, OurCommand
from atm.vendors.settings_files import our_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.core.plain import Plain
    from atm.files.formats.json_pieces import Part, Piece
    from atm.vendors.settings import HookEntry

_COMMENT = re.compile(r"(?:^|[\s,{}\[\]])(?://|/\*)", re.MULTILINE)
_LONGEST_NAME = 60


class NotEditable(ValueError):
    """The file is not what its program reads, or not what we know how to change without harm."""


class Shape:
    """
    Where in its file a program looks for hooks.

    All have objects whose keys are events and whose values are lists. Most have one such object, under the key
    "hooks", and groups in its lists, `{"matcher": …, "hooks": [HOOK, …]}`. With `is_named` every member of the file is
    such an object, its key being a name that nobody but people look at, and the lists hold the hooks themselves; only
    those of the events about tools have groups.
    """

    __slots__ = ("holder", "is_named")

    def __init__(self, holder: str, *, is_named: bool) -> None:
        self.holder = holder
        """The member of the file into which we put ours."""
        self.is_named = is_named

    def has_groups(self, event: str) -> bool:
        return not self.is_named or event.lower() in ("pretooluse", "posttooluse")

    def item(self, entry: HookEntry) -> dict[str, object]:
        hook: dict[str, object] = {"type": "command", "command": entry.command, "timeout": entry.timeout}
        return {"hooks": [hook]} if self.has_groups(entry.event) else hook


GROUPED = Shape("hooks", is_named=False)
"""Claude Code, Codex, Gemini CLI."""
NAMED = Shape("atm", is_named=True)
"""Antigravity CLI, as the page says that comes with the program (`agy-customizations/docs/hooks.md`)."""


# What is there.


def is_blank(text: str) -> bool:
    return not text.removeprefix(BYTE_ORDER_MARK).strip()


def holds_nothing(text: str) -> bool:
    """Is there nothing in the file that its owner could miss?"""
    return is_blank(text) or _decoded(text) == {}


def hooks_in(text: str, shape: Shape = GROUPED) -> list[FoundHook]:
    """Every hook of ours, in the order of the file."""
    return [FoundHook(mine.event, mine.command) for mine in _all_ours(text, shape)]


def switched_off(text: str, shape: Shape = GROUPED) -> str:
    """The key in this file that keeps our hooks from running, if there is one."""
    settings = {} if is_blank(text) else _decoded(text)
    if shape.is_named:
        holders = {shape.holder, *(member.key for member, hooks in _holders(text, shape) if any(_ours(hooks, shape)))}
        return next((f"{name}.enabled" for name in settings if name in holders and _is_off(settings[name])), "")
    if settings.get("disableAllHooks") is True:
        return "disableAllHooks"
    return "hooksConfig.enabled" if _is_off(settings.get("hooksConfig")) else ""


def _is_off(value: Plain) -> bool:
    return isinstance(value, dict) and value.get("enabled") is False


def _decoded(text: str) -> dict[str, Plain]:
    try:
        return decode_object(text)
    except NotJson as error:
        raise NotEditable(why_not(text, error)) from None


def why_not(text: str, error: NotJson) -> str:
    """Why a text that should be an object in JSON is none."""
    if _COMMENT.search(text):
        return "it has comments, which JSON has not; atm cannot promise to leave them alone"
    try:
        decode(text)
    except NotJson:
        return f"it is not JSON: {error}"
    return "it is JSON, but not an object"


def _holders(text: str, shape: Shape) -> list[tuple[Part, Box]]:
    """The members of the file that hold hooks by their events. Of two with one name programs see the last."""
    if is_blank(text):
        return []
    _decoded(text)
    members = {member.key: member for member in root_of(text).parts}
    if shape.is_named:
        return [(one, Box(text, one.value_at)) for one in members.values() if text[one.value_at] == "{"]
    return [(one, _box(text, one, "{", one.key)) for one in members.values() if one.key == shape.holder]


def _box(text: str, part: Part, bracket: str, name: str) -> Box:
    if text[part.value_at] != bracket:
        kind = "an object" if bracket == "{" else "a list"
        raise NotEditable(f"its {name!r} is not {kind}, so there is no place for hooks in it")
    return Box(text, part.value_at)


class Mine:
    """One hook of ours, and where it stands: in a group, or by itself and then its own group."""

    __slots__ = ("command", "event", "group", "hook", "inner")

    def __init__(self, event: str, command: OurCommand, group: Part, inner: Box | None, hook: Part) -> None:
        self.event = event
        self.command = command
        self.group = group
        self.inner = inner
        self.hook = hook


def _all_ours(text: str, shape: Shape) -> Iterator[Mine]:
    for _, hooks in _holders(text, shape):
        yield from _ours(hooks, shape)


def _ours(hooks: Box, shape: Shape) -> Iterator[Mine]:
    for member, items in _events(hooks):
        yield from _ours_in(member.key, items, shape)


def _events(hooks: Box) -> Iterator[tuple[Part, Box]]:
    """The events that have a list. Of two with one name programs see the last."""
    seen = {member.key: member for member in hooks.parts}
    for member in seen.values():
        if hooks.text[member.value_at] == "[":
            yield member, Box(hooks.text, member.value_at)


def _ours_in(event: str, items: Box, shape: Shape) -> Iterator[Mine]:
    for item in items.parts:
        inner = _inner(items.text, item) if shape.has_groups(event) else None
        alone = [] if shape.has_groups(event) else [item]
        for hook in alone if inner is None else inner.parts:
            command = our_command(_field(items.text, hook, "command"))
            if command is not None:
                yield Mine(event, command, item, inner, hook)


def _inner(text: str, group: Part) -> Box | None:
    if text[group.value_at] != "{":
        return None
    hooks = Box(text, group.value_at).last("hooks")
    return Box(text, hooks.value_at) if hooks is not None and text[hooks.value_at] == "[" else None


def _field(text: str, hook: Part, key: str) -> Plain:
    value = scan(text, hook.value_at)[0]
    return value.get(key) if isinstance(value, dict) else None


# Putting in.


def with_hooks(text: str, entries: Sequence[HookEntry], shape: Shape = GROUPED) -> str:
    """The same file with these hooks of ours, each once. What is there already is changed only in its program."""
    if is_blank(text):
        return indent({shape.holder: {entry.event: [shape.item(entry)] for entry in entries}}) + "\n"
    _check_members(text, shape)
    if _is_doubled(text, shape):
        text = without_hooks(text, shape)
    found = {mine.event: mine for mine in _all_ours(text, shape) if mine.event == mine.command.event}
    pieces = _entered(text, [entry for entry in entries if entry.event not in found], shape)
    for entry in entries:
        pieces += _updated(text, found[entry.event], entry) if entry.event in found else []
    return replaced(text, pieces)


def _check_members(text: str, shape: Shape) -> None:
    """One member that is no object, and Antigravity CLI drops the whole file without a word, ours included."""
    _decoded(text)
    for member in {member.key: member for member in root_of(text).parts}.values():
        if shape.is_named and text[member.value_at] != "{":
            name = member.key[:_LONGEST_NAME]
            raise NotEditable(f"its {name!r} is not an object with hooks, so Antigravity CLI reads no hook in it")


def _is_doubled(text: str, shape: Shape) -> bool:
    events = [mine.event for mine in _all_ours(text, shape) if mine.event == mine.command.event]
    return len(events) != len(set(events))


def _entered(text: str, entries: Sequence[HookEntry], shape: Shape) -> list[Piece]:
    source = Commented(text, is_plain=True)
    holder = source.root.last(shape.holder)
    new: dict[str, object] = {entry.event: [shape.item(entry)] for entry in entries}
    if holder is None or not entries:
        return source.added_members(source.root, {shape.holder: new}) if entries else []
    hooks = _box(text, holder, "{", shape.holder)
    pieces: list[Piece] = []
    for entry in entries:
        member = hooks.last(entry.event)
        if member is not None:
            items = _box(text, member, "[", f"{shape.holder}.{entry.event}")
            pieces += source.added_item(items, shape.item(entry))
            del new[entry.event]
    return pieces + source.added_members(hooks, new) if new else pieces


def _updated(text: str, mine: Mine, entry: HookEntry) -> list[Piece]:
    command, wanted = mine.command, our_command(entry.command)
    is_same = wanted is not None and (command.program, command.vendor) == (wanted.program, wanted.vendor)
    if wanted is None or (is_same and not command.fails_open):
        return []
    value = Box(text, mine.hook.value_at).last("command")
    assert value is not None
    call = entry.command.removesuffix(wanted.trailing)
    trailing = f"{command.trailing}{FAIL_CLOSED}" if command.fails_open else command.trailing
    return [(value.value_at, value.end, quote(f"{command.leading}{call}{trailing}"))]


# Cutting out.


def without_hooks(text: str, shape: Shape = GROUPED, verb: str = "") -> str:
    """
    The same file without any hook of ours, nor the lists and objects that we made to hold them; with `verb` only those
    that call this command.
    """
    pieces: list[Piece] = []
    emptied: list[Part] = []
    for member, hooks in _holders(text, shape):
        inside: list[Piece] = []
        gone = [event for event, items in _events(hooks) if _cut_event(event.key, items, shape, inside, verb)]
        if gone and len(gone) == len(hooks.parts) and hooks.is_ours_when_empty:
            emptied.append(member)
        else:
            pieces += inside + hooks.without(gone)
    return replaced(text, pieces + root_of(text).without(emptied)) if pieces or emptied else text


def _cut_event(event: str, items: Box, shape: Shape, pieces: list[Piece], verb: str) -> bool:
    """Note what must go from one event; True, and nothing noted, if all of it goes because we made it."""
    gone: list[Part] = []
    shared: list[Piece] = []
    by_group: dict[int, list[Mine]] = {}
    for mine in _ours_in(event, items, shape):
        if verb and mine.command.verb != verb:
            continue
        by_group.setdefault(mine.group.start, []).append(mine)
    for found in by_group.values():
        inner = found[0].inner
        if inner is None or len(found) == len(inner.parts):
            gone.append(found[0].group)
        else:
            shared += inner.without([mine.hook for mine in found])
    if gone and len(gone) == len(items.parts) and items.is_ours_when_empty:
        return True
    pieces += shared + items.without(gone)
    return False
