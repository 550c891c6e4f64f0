"""
Our hooks in other programs' settings files, which are JSON.

Everything else in the file stays to the letter: the text is never decoded and written again, pieces are put in and cut
out. What `with_hooks` puts in, `without_hooks` cuts out again, so that the file is what it was before. For that, the
layout remembers who made a list or an object that holds nothing but ours: if white space follows its bracket, we did,
and it goes with our entries; if it was there before, empty, our entries follow the bracket at once, and it stays.

JSON with comments is refused: nobody could promise to leave it alone, and to its owner it is not a JSON file.
"""

from __future__ import annotations

import re

from atm.domain.vendor_setup import FoundHook, OurCommand, our_command
from atm.formats.json_record import NotJson, decode, decode_object, indent, quote, scan, skip_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from atm.domain.vendor_setup import HookEntry
    from atm.formats.json_record import Json

    Piece = tuple[int, int, str]
    """Where a piece of the text begins and ends, and what comes in its place."""

BYTE_ORDER_MARK = "\ufeff"
_COMMENT = re.compile(r"(?:^|[\s,{}\[\]])(?://|/\*)", re.MULTILINE)


class NotEditable(ValueError):
    """The file is not what its program reads, or not what we know how to change without harm."""


class Part:
    """A value inside the text: an item of an array, or a member of an object together with its key."""

    __slots__ = ("end", "key", "start", "value_at")

    def __init__(self, key: str, start: int, value_at: int, end: int) -> None:
        self.key = key
        self.start = start
        self.value_at = value_at
        self.end = end


class Box:
    """An array or an object inside the text, as its parts."""

    __slots__ = ("at", "parts", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.parts = list(_parts(text, at))

    @property
    def is_ours_when_empty(self) -> bool:
        return self.text[self.at + 1 : self.at + 2].isspace()

    def last(self, key: str) -> Part | None:
        """The member of that name; of several the last, which is the one that programs see."""
        return next((part for part in reversed(self.parts) if part.key == key), None)

    def without(self, gone: Sequence[Part]) -> list[Piece]:
        """The pieces that vanish with these parts. The white space before the closing bracket stays."""
        if not gone:
            return []
        starts = {part.start for part in gone}
        first = next((i for i, part in enumerate(self.parts) if part.start not in starts), None)
        if first is None:
            return [(self.at + 1, self.parts[-1].end, "")]
        pieces = [(self.parts[0].start, self.parts[first].start, "")] if first else []
        rest = zip(self.parts[first:], self.parts[first + 1 :], strict=False)
        return pieces + [(before.end, part.end, "") for before, part in rest if part.start in starts]


def _parts(text: str, at: int) -> Iterator[Part]:
    """The text is known to be JSON, so nothing is checked here."""
    is_object = text[at] == "{"
    at = skip_space(text, at + 1)
    while text[at] not in "]}":
        start, key = at, ""
        if is_object:
            name, at = scan(text, at)
            key, at = str(name), skip_space(text, skip_space(text, at) + 1)
        end = scan(text, at)[1]
        yield Part(key, start, at, end)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


def _replaced(text: str, pieces: Iterable[Piece]) -> str:
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# What is there.


def is_blank(text: str) -> bool:
    return not text.removeprefix(BYTE_ORDER_MARK).strip()


def holds_nothing(text: str) -> bool:
    """Is there nothing in the file that anybody could miss?"""
    return is_blank(text) or _decoded(text) == {}


def hooks_in(text: str) -> list[FoundHook]:
    """Every hook of ours, in the order of the file."""
    hooks = None if is_blank(text) else _hooks(text)
    return [] if hooks is None else [FoundHook(mine.event, mine.command) for mine in _ours(hooks)]


def switched_off(text: str) -> str:
    """The key in this file that keeps every hook from running, if there is one."""
    settings = {} if is_blank(text) else _decoded(text)
    if settings.get("disableAllHooks") is True:
        return "disableAllHooks"
    config = settings.get("hooksConfig")
    return "hooksConfig.enabled" if isinstance(config, dict) and config.get("enabled") is False else ""


def _decoded(text: str) -> dict[str, Json]:
    try:
        return decode_object(text)
    except NotJson as error:
        raise NotEditable(_why_not(text, error)) from None


def _why_not(text: str, error: NotJson) -> str:
    if _COMMENT.search(text):
        return "it has comments, which JSON has not; atm cannot promise to leave them alone"
    try:
        decode(text)
    except NotJson:
        return f"it is not JSON: {error}"
    return "it is JSON, but not an object"


def _root(text: str) -> Box:
    return Box(text, text.index("{"))


def _hooks(text: str) -> Box | None:
    """The object that holds all hooks, or None if there is none."""
    _decoded(text)
    member = _root(text).last("hooks")
    return None if member is None else _box(text, member, "{", "hooks")


def _box(text: str, part: Part, bracket: str, name: str) -> Box:
    if text[part.value_at] != bracket:
        kind = "an object" if bracket == "{" else "a list"
        raise NotEditable(f"its {name!r} is not {kind}, so there is no place for hooks in it")
    return Box(text, part.value_at)


class Mine:
    """One hook of ours, and where it stands."""

    __slots__ = ("command", "event", "group", "hook", "inner")

    def __init__(self, event: str, command: OurCommand, group: Part, inner: Box, hook: Part) -> None:
        self.event = event
        self.command = command
        self.group = group
        self.inner = inner
        self.hook = hook


def _ours(hooks: Box) -> Iterator[Mine]:
    for member, groups in _events(hooks):
        yield from _ours_in(member.key, groups)


def _events(hooks: Box) -> Iterator[tuple[Part, Box]]:
    """The events that have a list of groups. Of two with one name programs see the last."""
    seen = {member.key: member for member in hooks.parts}
    for member in seen.values():
        if hooks.text[member.value_at] == "[":
            yield member, Box(hooks.text, member.value_at)


def _ours_in(event: str, groups: Box) -> Iterator[Mine]:
    for group in groups.parts:
        inner = _inner(groups.text, group)
        for hook in inner.parts if inner is not None else ():
            command = our_command(_field(groups.text, hook, "command"))
            if inner is not None and command is not None:
                yield Mine(event, command, group, inner, hook)


def _inner(text: str, group: Part) -> Box | None:
    if text[group.value_at] != "{":
        return None
    hooks = Box(text, group.value_at).last("hooks")
    return Box(text, hooks.value_at) if hooks is not None and text[hooks.value_at] == "[" else None


def _field(text: str, hook: Part, key: str) -> Json:
    value = scan(text, hook.value_at)[0]
    return value.get(key) if isinstance(value, dict) else None


# Putting in.


def with_hooks(text: str, entries: Sequence[HookEntry]) -> str:
    """The same file with these hooks of ours, each once. What is there already is changed only in its program."""
    wanted: dict[str, object] = {entry.event: [_group(entry)] for entry in entries}
    if is_blank(text):
        return indent({"hooks": wanted}) + "\n"
    if _is_doubled(text):
        text = without_hooks(text)
    hooks = _hooks(text)
    if hooks is None:
        return _replaced(text, [_added_members(text, _root(text), {"hooks": wanted})])
    return _replaced(text, _changes(hooks, entries))


def _changes(hooks: Box, entries: Sequence[HookEntry]) -> list[Piece]:
    found = {mine.event: mine for mine in _ours(hooks) if mine.event == mine.command.event}
    pieces: list[Piece] = []
    new: dict[str, object] = {}
    for entry in entries:
        member = hooks.last(entry.event)
        if entry.event in found:
            pieces += _updated(hooks.text, found[entry.event], entry)
        elif member is None:
            new[entry.event] = [_group(entry)]
        else:
            groups = _box(hooks.text, member, "[", f"hooks.{entry.event}")
            pieces.append(_added_item(hooks.text, groups, _group(entry)))
    return [*pieces, _added_members(hooks.text, hooks, new)] if new else pieces


def _group(entry: HookEntry) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": entry.command, "timeout": entry.timeout}]}


def _is_doubled(text: str) -> bool:
    events = [found.event for found in hooks_in(text) if found.event == found.command.event]
    return len(events) != len(set(events))


def _updated(text: str, mine: Mine, entry: HookEntry) -> list[Piece]:
    command, wanted = mine.command, our_command(entry.command)
    if wanted is None or (command.program, command.vendor) == (wanted.program, wanted.vendor):
        return []
    value = Box(text, mine.hook.value_at).last("command")
    assert value is not None
    return [(value.value_at, value.end, quote(f"{command.leading}{entry.command}{command.trailing}"))]


def _added_members(text: str, box: Box, members: dict[str, object]) -> Piece:
    def written(lead: str) -> str:
        return f",{lead}".join(f"{quote(key)}: {_laid_out(text, value, lead)}" for key, value in members.items())

    return _added(text, box, written)


def _added_item(text: str, box: Box, item: object) -> Piece:
    return _added(text, box, lambda lead: _laid_out(text, item, lead))


def _added(text: str, box: Box, written: Callable[[str], str]) -> Piece:
    """After the last part, laid out like it; or, in a box that is empty, right after its bracket."""
    if not box.parts:
        lead = _line_break(text) + _margin(text, box.at) + _step(text) if _has_lines(text) else " "
        return (box.at + 1, box.at + 1, written(lead))
    lead = _space_before(text, box.parts[-1].start) or " "
    return (box.parts[-1].end, box.parts[-1].end, f",{lead}{written(lead)}")


def _laid_out(text: str, value: object, lead: str) -> str:
    """A value that begins after `lead`: over several lines if that has a line break, else on one."""
    if "\n" not in lead:
        return _on_one_line(value)
    margin, step = lead.rpartition("\n")[2], _step(text)
    first, *lines = indent(value).split("\n")
    deeper = [margin + step * ((len(line) - len(line.lstrip(" "))) // 2) + line.lstrip(" ") for line in lines]
    return _line_break(text).join([first, *deeper])


def _on_one_line(value: object) -> str:
    """With white space after each bracket, by which we know it again."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quote(key)}: {_on_one_line(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(map(_on_one_line, value)) + " ]"
    return indent(value)


def _has_lines(text: str) -> bool:
    """A file that is one line stays one, unless there is nothing in it yet."""
    return "\n" in text.strip() or not _root(text).parts


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _step(text: str) -> str:
    """How far this file indents: what stands before its first key."""
    root = _root(text)
    lead = text[root.at + 1 : root.parts[0].start] if root.parts else ""
    return lead.rpartition("\n")[2] if "\n" in lead else "  "


def _margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BYTE_ORDER_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _space_before(text: str, at: int) -> str:
    start = at
    while text[start - 1] in " \t\r\n":
        start -= 1
    return text[start:at]


# Cutting out.


def without_hooks(text: str) -> str:
    """The same file without any hook of ours, nor the lists and objects that we made to hold them."""
    hooks = None if is_blank(text) else _hooks(text)
    if hooks is None:
        return text
    pieces: list[Piece] = []
    gone = [member for member, groups in _events(hooks) if _cut_event(member.key, groups, pieces)]
    if gone and len(gone) == len(hooks.parts) and hooks.is_ours_when_empty:
        root = _root(text)
        return _replaced(text, root.without([part for part in root.parts if part.value_at == hooks.at]))
    return _replaced(text, pieces + hooks.without(gone))


def _cut_event(event: str, groups: Box, pieces: list[Piece]) -> bool:
    """Note what must go from one event; True, and nothing noted, if all of it goes because we made it."""
    gone: list[Part] = []
    shared: list[Piece] = []
    by_group: dict[int, list[Mine]] = {}
    for mine in _ours_in(event, groups):
        by_group.setdefault(mine.group.start, []).append(mine)
    for found in by_group.values():
        inner = found[0].inner
        if len(found) == len(inner.parts):
            gone.append(found[0].group)
        else:
            shared += inner.without([mine.hook for mine in found])
    if gone and len(gone) == len(groups.parts) and groups.is_ours_when_empty:
        return True
    pieces += shared + groups.without(gone)
    return False
