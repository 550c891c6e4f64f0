"""
Settings files: TOML, read without `tomllib` when they are as simple as settings usually are.

`tomllib` takes longer to import than `atm send` takes to run. `read_simple` understands sections, lists of tables in
them, lists with one inline table a line, strings without escapes, integers, booleans and one-line lists of strings. At
the first thing that it does not know it answers None, and the real parser decides. It never accepts what `tomllib`
would read otherwise.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = str | int | float | bool | list["Value"] | dict[str, "Value"]
    Table = dict[str, "Value"]

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class NotSettings(ValueError):
    """The text is not TOML; says where."""


def read_settings(text: str) -> Table:
    """Sections and keys of a settings file. Raises NotSettings with the line that is wrong."""
    simple = read_simple(text)
    if simple is not None:
        return simple
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers that Python will not convert
        raise NotSettings(str(error)) from None


def read_simple(text: str) -> Table | None:
    """The content of a plain file, or None if anything in it needs the real parser."""
    root: Table = {}
    section = root
    *lines, last = text.split("\n")
    unread = iter([*(line.removesuffix("\r") for line in lines), last])
    for line in unread:
        line = line.strip(" \t")
        if not line or line.startswith("#"):
            if not line.isprintable():
                return None
            continue
        if line.endswith("[") and not line.startswith("["):
            if not _set_tables(section, line, unread):
                return None
            continue
        opened = _open_section(root, line) if line.startswith("[") else _set(section, line)
        if opened is None:
            return None
        section = opened
    return root


def _open_section(root: Table, line: str) -> Table | None:
    if line.startswith("[["):
        return _open_item(root, line)
    name = line[1:-1] if line.endswith("]") else ""
    if not name or not _BARE.issuperset(name) or name in root:
        return None
    section: Table = {}
    root[name] = section
    return section


def _open_item(root: Table, line: str) -> Table | None:
    """`[[section.list]]`: a new table at the end of a list that such lines alone have made."""
    name, dot, key = line[2:-2].partition(".") if line.endswith("]]") else ("", "", "")
    if not (name and dot and key and _BARE.issuperset(name) and _BARE.issuperset(key)):
        return None
    section = root.setdefault(name, {})
    if not isinstance(section, dict):
        return None
    items = section.setdefault(key, _TableList())
    if not isinstance(items, _TableList):
        return None
    item: Table = {}
    items.append(item)
    return item


class _TableList(list["Value"]):
    """A list made of `[[…]]` lines; one that was written as a value takes no more."""


def _set(section: Table, line: str) -> Table | None:
    key, equals, rest = line.partition("=")
    key = key.strip(" \t")
    if not equals or not key or not _BARE.issuperset(key) or key in section:
        return None
    value = _value(rest.strip(" \t"))
    if value is None:
        return None
    section[key] = value
    return section


def _set_tables(section: Table, line: str, unread: Iterator[str]) -> bool:
    """`key = [`, then an inline table a line, then `]`."""
    key, equals, rest = line.partition("=")
    key = key.strip(" \t")
    if not equals or rest.strip(" \t") != "[" or not key or not _BARE.issuperset(key) or key in section:
        return False
    items: list[Value] = []
    may_follow = True
    for line in unread:
        line = line.strip(" \t")
        if line == "]":
            section[key] = items
            return True
        if line and not line.startswith("#"):
            table = _inline_table(line.removesuffix(",").rstrip(" \t")) if may_follow else None
            if table is None:
                return False
            may_follow = line.endswith(",")
            items.append(table)
        elif not line.isprintable():
            return False
    return False


def _inline_table(text: str) -> Table | None:
    """`{key = "text", other = ["a", "b"]}`, on one line."""
    if not text.startswith("{") or not text.endswith("}"):
        return None
    table: Table = {}
    rest = text[1:-1].strip(" \t")
    while rest:
        key, equals, rest = rest.partition("=")
        key, rest = key.strip(" \t"), rest.strip(" \t")
        end = _end_of_value(rest)
        value = _value(rest[:end])
        if not equals or not key or not _BARE.issuperset(key) or key in table or value is None or "#" in rest[:end]:
            return None
        table[key] = value
        rest = rest[end:].strip(" \t")
        if rest and (not rest.startswith(",") or not rest[1:].strip(" \t")):
            return None  # no comma, or one that nothing follows
        rest = rest[1:].strip(" \t")
    return table


def _end_of_value(text: str) -> int:
    """Where the value at the beginning ends: behind its quote or bracket, or before the next comma."""
    if text[:1] in ('"', "'"):
        return text.find(text[0], 1) + 1
    if not text.startswith("["):
        comma = text.find(",")
        return comma if comma >= 0 else len(text)
    at = 1
    while at < len(text) and text[at] != "]":
        at = text.find(text[at], at + 1) + 1 if text[at] in ('"', "'") else at + 1
        if at <= 0:
            return len(text)
    return at + 1


def _value(text: str) -> Value | None:
    if text[:1] in ('"', "'"):
        return _string(text)
    if text.startswith("["):
        return _strings(text)
    word, _, comment = text.partition("#")
    word = word.strip(" \t")
    if not comment.isprintable() or not word.isprintable():
        return None
    if word in ("true", "false"):
        return word == "true"
    if len(word) < 19 and word.isascii() and word.isdecimal() and (word == "0" or word[0] != "0"):
        return int(word)
    return None


def _string(text: str) -> str | None:
    quote = text[0]
    body, end, after = text[1:].partition(quote)
    after = after.strip(" \t")
    if not end or "\\" in body or not body.isprintable() or (after and not after.startswith("#")):
        return None
    return body if after.isprintable() and not (not body and text[1:3] == quote * 2) else None


def _strings(text: str) -> list[Value] | None:
    body, end, after = text[1:].partition("]")
    after = after.strip(" \t")
    if not end or (after and not after.startswith("#")) or not after.isprintable():
        return None
    items: list[Value] = []
    for part in body.split(","):
        part = part.strip(" \t")
        item = _string(part) if part[:1] in ('"', "'") and "#" not in part else None
        if item is None:
            return items if not part and not body.strip(" \t") else None
        items.append(item)
    return items
