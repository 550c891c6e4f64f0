"""
JSON that is edited in place: what we do not touch stays to the letter.

`RawObject` and `RawArray` hold the text of a JSON value and know where its parts begin and end. Setting one
field replaces that span alone, so unknown fields, key order, duplicate keys, `1.10`, `1e5`, escapes and
integers of any size survive.

The standard `json` package costs as much to import as `atm send` takes to do its work, so this module uses
the scanner inside it directly. `json` stays the fallback where an interpreter lacks that scanner.
"""

from __future__ import annotations

try:
    from _json import encode_basestring, encode_basestring_ascii
except ImportError:  # an interpreter without the C accelerator
    from json.encoder import py_encode_basestring as encode_basestring
    from json.encoder import py_encode_basestring_ascii as encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.core.plain import Plain

    Scan = Callable[[str, int], tuple[Plain, int]]

_SPACE = " \t\r\n"


class NotJson(ValueError):
    """The text is not JSON at this place."""


class TooDeep(NotJson):
    """It may well be JSON, but nested more deeply than any program needs."""


def _integer(digits: str) -> int | str:
    """Python refuses to convert integers of more digits than its settings allow; such a value is handed on as text."""
    try:
        return int(digits)
    except ValueError:
        return digits


_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Context:
    """The attributes that the C scanner reads from its decoder. Given `int` it converts integers itself, far faster."""

    strict = False  # a raw control character inside a string is another writer's bug, not a reason to stop
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_CONSTANTS.__getitem__)
    memo: dict[str, str] = {}  # noqa: RUF012 - the C scanner wants it on the class


class _Patient(_Context):
    """For texts with integers that Python refuses to convert."""

    parse_int = staticmethod(_integer)  # type: ignore[assignment]


def _make_scanner(
    context: type[_Context], joined: Callable[[list[tuple[str, Plain]]], dict[str, Plain]] | None = None
) -> Scan:
    try:
        from _json import make_scanner
    except ImportError:
        from json.decoder import JSONDecoder

        decoder = JSONDecoder(
            strict=False, parse_int=_integer, parse_constant=_CONSTANTS.__getitem__, object_pairs_hook=joined
        )
        return decoder.scan_once  # type: ignore[attr-defined, no-any-return]
    return make_scanner(context)  # type: ignore[arg-type, unused-ignore]


_scan: Scan = _make_scanner(_Context)
_scan_patiently: Scan = _make_scanner(_Patient)


def scan(text: str, at: int = 0) -> tuple[Plain, int]:
    """Decode the value that begins at `at`; return it and where it ends."""
    return _scan_with(_scan, text, at)


def _scan_with(scanner: Scan, text: str, at: int) -> tuple[Plain, int]:
    try:
        try:
            return scanner(text, skip_space(text, at))
        except ValueError as error:
            if "Exceeds the limit" not in str(error):
                raise
            return _scan_patiently(text, skip_space(text, at))
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    except (ValueError, StopIteration, SystemError) as error:
        # SystemError: the C scanner raises json.decoder's error, and finds none while nobody has imported that.
        raise NotJson(_reason(error)) from None


def _reason(error: Exception) -> str:
    if isinstance(error, StopIteration):
        return f"no value at character {error.value}"
    if isinstance(error, SystemError):
        return "a string, number or comma is wrong"
    return str(error)


def skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def decode(text: str) -> Plain:
    """Decode a whole text. A byte order mark is skipped, as Windows editors leave one behind."""
    value, end = scan(text, 1 if text.startswith("\ufeff") else 0)
    if skip_space(text, end) != len(text):
        raise NotJson(f"something follows the value at character {end}")
    return value


def decode_object(text: str) -> dict[str, Plain]:
    value = decode(text)
    if not isinstance(value, dict):
        raise NotJson("not an object")
    return value


def decode_with_repeats(text: str) -> tuple[dict[str, Plain], list[str]]:
    """An object, and the keys that it or a table inside it has more than once: there the last value is taken."""
    repeated: list[str] = []

    def joined(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in found if keys.count(key) > 1)
        return found

    class Noting(_Patient):
        object_pairs_hook = staticmethod(joined)  # type: ignore[assignment]

    value, end = _scan_with(_make_scanner(Noting, joined), text, 1 if text.startswith("\ufeff") else 0)
    if skip_space(text, end) != len(text) or not isinstance(value, dict):
        raise NotJson("not an object")
    return value, repeated


def quote(text: str) -> str:
    """A JSON string. Lone surrogates, which no UTF-8 file can hold, are written as escapes."""
    return encode_basestring(text) if _is_utf8(text) else encode_basestring_ascii(text)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def encode(value: object) -> str:
    """Encode plain data on one line."""
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "null"  # what JavaScript writes for numbers that JSON does not have
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote(str(key))}: {encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([encode(item) for item in value]) + "]"
    raise TypeError(f"{type(value).__name__} is not plain data")


def indent(value: object, margin: str = "") -> str:
    """Encode plain data the way `JSON.stringify(value, null, 2)` lays it out."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{quote(str(key))}: {indent(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(inner + indent(item, inner) for item in value) + f"\n{margin}]"
    return encode(value)


class RawObject:
    """The text of a JSON object that can be edited field by field."""

    __slots__ = ("_spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._spans = dict(_members(text))

    def __contains__(self, key: str) -> bool:
        return key in self._spans

    def raw(self, key: str) -> str | None:
        span = self._spans.get(key)
        return None if span is None else self.text[span[0] : span[1]]

    def get(self, key: str) -> Plain:
        raw = self.raw(key)
        return None if raw is None else scan(raw)[0]

    def with_raw(self, key: str, raw: str) -> RawObject:
        """The same object with one field set to `raw`, at its old place or at the end."""
        span = self._spans.get(key)
        if span is not None:
            return RawObject(self.text[: span[0]] + raw + self.text[span[1] :])
        if not self._spans:
            start, end = self.text.index("{"), self.text.rindex("}")
            return RawObject(f"{self.text[: start + 1]}{quote(key)}: {raw}{self.text[end:]}")
        first, last = min(self._spans.values()), max(self._spans.values())
        lead = self._lead(first[0])
        return RawObject(f"{self.text[: last[1]]},{lead}{quote(key)}: {raw}{self.text[last[1] :]}")

    def _lead(self, first_value: int) -> str:
        """The white space before the first key, so that an added field is laid out like the others."""
        start = self.text.index("{") + 1
        end = skip_space(self.text, start)
        return self.text[start:end] or (" " if end < first_value else "")


class RawArray:
    """The text of a JSON array as its items, each verbatim, and their values."""

    __slots__ = ("head", "items", "tail", "values")

    def __init__(self, text: str) -> None:
        self.values: list[Plain] = []
        """Of the items as they were read; None for one that is nested too deeply."""
        self.head, self.items, self.tail = _items(text, self.values)

    def joined(self, separator: str = ",\n  ") -> str:
        if not self.items:
            return f"{self.head}[]{self.tail}"
        edge = separator[1:]
        return f"{self.head}[{edge}{separator.join(self.items)}\n{edge[1:-2]}]{self.tail}"


def _members(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    at = skip_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[at : at + 1] != "{":
        raise NotJson("not an object")
    at = skip_space(text, at + 1)
    if text[at : at + 1] == "}":
        _rest(text, at + 1)
        return
    while True:
        key, end = scan(text, at)
        if not isinstance(key, str):
            raise NotJson(f"no key at character {at}")
        colon = skip_space(text, end)
        if text[colon : colon + 1] != ":":
            raise NotJson(f"no colon at character {colon}")
        start = skip_space(text, colon + 1)
        end = scan(text, start)[1]
        yield key, (start, end)
        at = skip_space(text, end)
        if text[at : at + 1] == "}":
            _rest(text, at + 1)
            return
        if text[at : at + 1] != ",":
            raise NotJson(f"no comma at character {at}")
        at = skip_space(text, at + 1)


def _items(text: str, values: list[Plain]) -> tuple[str, list[str], str]:
    start = skip_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[start : start + 1] != "[":
        raise NotJson("not an array")
    items: list[str] = []
    at = skip_space(text, start + 1)
    if text[at : at + 1] == "]":
        return text[:start], items, _rest(text, at + 1)
    while True:
        value, end = _value_at(text, at)
        items.append(text[at:end])
        values.append(value)
        at = skip_space(text, end)
        if text[at : at + 1] == "]":
            return text[:start], items, _rest(text, at + 1)
        if text[at : at + 1] != ",":
            raise NotJson(f"no comma at character {at}")
        at = skip_space(text, at + 1)


def _value_at(text: str, at: int) -> tuple[Plain, int]:
    """A value and where it ends. One that is nested too deeply to decode is stepped over: a row blocks nothing (D9)."""
    try:
        return scan(text, at)
    except TooDeep:
        return None, _step_over(text, at)


def _step_over(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        character = text[at]
        if character == '"':
            at = scan(text, at)[1]
            continue
        depth += (character in "[{") - (character in "]}")
        at += 1
        if not depth:
            return at
    raise NotJson("a bracket is not closed")


def _rest(text: str, at: int) -> str:
    if skip_space(text, at) != len(text):
        raise NotJson(f"something follows the value at character {at}")
    return text[at:]


def to_text(data: bytes) -> str:
    """Decode a file. Bytes that are no UTF-8 survive the way back through `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


MOST_SEQ = 2**53 - 1
"""The largest number of a line: readers in other languages keep it exactly. A larger one was not written by us."""

_SEQ = b'{"seq": '
"""How each line of ours begins."""


def last_seq(tail: bytes) -> int | None:
    """The number of the last readable line in the end of a file, or None if none can be read there."""
    for line in reversed(tail.split(b"\n")):
        seq = _seq_in(line)
        if seq is not None:
            return seq
    return None


def highest_seq(lines: bytes) -> int:
    """The highest number in these lines, torn ones too; 0 if there is none."""
    found = 0
    for line in lines.split(b"\n"):
        number, comma, _ = line[len(_SEQ) : len(_SEQ) + 20].partition(b",")
        if comma and line.startswith(_SEQ) and number.isdigit():
            seq: int | None = int(number)
        else:
            seq = _seq_in(line)
        if seq is not None and found < seq <= MOST_SEQ:
            found = seq
    return found


def _seq_in(line: bytes) -> int | None:
    if not line.strip():
        return None
    try:
        seq = decode_object(to_text(line)).get("seq")
    except NotJson:
        return None
    return seq if type(seq) is int and seq <= MOST_SEQ else None
