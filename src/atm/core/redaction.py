"""
Secrets taken out of texts and fields before they are logged or sent anywhere.

What is recognised: values of fields that are named like secrets, `key=value` and `"key": "value"` inside texts,
`--token value` of command lines, credentials of HTTP headers and URLs, and the shapes of well-known tokens. A plain
word after a plain word stays: "the token bucket" and "auth: failed" are no secrets. Where a value has no clear end,
too much is taken rather than too little.

Nothing here raises, whatever it is given. Every step moves forward in the text and looks at a bounded part of it, so
a hostile text costs no more than its length.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from atm.core.plain import Plain

REDACTED = "[redacted]"
CUT = " … [cut]"

LARGEST = 65_536
"""Characters of a text that are kept; the rest is cut, with a mark."""

_BEYOND = 1024
"""Characters behind the cut that are looked at, so that it cannot go through a token and leave an unknown half."""

_DEEPEST, _MOST_FIELDS = 16, 10_000

_STRONG = ("password", "passwd", "passphrase", "apikey", "privatekey", "accesskey", "secretkey")
"""Endings that no innocent name has."""

_WEAK = ("token", "secret", "cookie", "auth", "bearer", "authorization", "credential")
"""Words of daily use: alone before a colon, they are a secret's name only if what follows looks like a secret."""

_MANY = (*(f"{word}s" for word in (*_STRONG, "token", "secret", "cookie", "credential")),)
"""May be lists of secrets, or counts, as `max_tokens` is."""

_HINTS = (
    *("pass", "key", "secret", "token", "auth", "bearer", "basic", "cookie", "credential", "://", "eyj", "-----begin"),
    *("sk-", "sk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-"),
    *("akia", "asia", "aiza", "npm_", "hf_"),
)
"""A text without any of these has nothing to redact, and costs no regular expression."""

_TRAILING = ".,;:!?|&)]}>"
_LITERALS = ("true", "false", "null", "none", "undefined", "str", "string", "")
"""What stands in place of a value and is none."""


def redact(text: str) -> str:
    """The text without the secrets that can be recognised in it."""
    text = str(text)
    looked_at = text[: LARGEST + _BEYOND]
    lower = looked_at.lower()
    if any(hint in lower for hint in _HINTS):
        looked_at = _without_secrets(looked_at)
    if len(text) <= LARGEST + _BEYOND and len(looked_at) <= LARGEST:
        return looked_at
    return looked_at[: LARGEST - len(CUT)] + CUT


def redact_fields(fields: dict[str, Plain]) -> dict[str, Plain]:
    """The same for plain data, by the names of its fields and by their texts. What is no plain data becomes a text."""
    return _Fields().of(fields, 0)


def is_secret_name(name: str) -> bool:
    """Is a field of this name expected to hold a secret?"""
    return _secrecy(name) != ""


class _Fields:
    """One pass over plain data, with a bound on how much of it there may be."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_FIELDS

    def of(self, fields: dict[str, Plain], depth: int) -> dict[str, Plain]:
        kept: dict[str, Plain] = {}
        for key, value in list(fields.items()) if isinstance(fields, dict) else ():
            if self._left <= 0:
                break
            name = redact(_as_text(key))
            kept[name] = REDACTED if _holds_secret(name, value) else self.value(value, depth + 1)
        return kept

    def value(self, value: object, depth: int) -> Plain:
        self._left -= 1
        if value is None or isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 4096):
            return value
        if depth > _DEEPEST or self._left <= 0:
            return CUT.strip()
        if isinstance(value, dict):
            return self.of(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth + 1) for item in list(value)[: max(0, self._left)]]
        return redact(_as_text(value))


def _as_text(value: object) -> str:
    try:
        return value if isinstance(value, str) else str(value)  # of huge integers too, which Python will not print
    except Exception:  # noqa: BLE001 - an object's own __str__ may raise anything; a log line must not
        return f"[{type(value).__name__}]"


def _holds_secret(name: str, value: object) -> bool:
    kind = _secrecy(name)
    if not kind or value is None or value == "" or isinstance(value, bool):
        return False
    return kind != "many" or not isinstance(value, int | float)


def _secrecy(name: str) -> str:
    """`strong`, `weak` or `many`; empty for a name that is not like a secret's."""
    word = name.rstrip("0123456789")
    plain = word.lower().replace("_", "").replace("-", "").replace(".", "").replace(" ", "")
    if plain.endswith(_STRONG):
        return "strong"
    if plain.endswith(_MANY):
        return "many"
    for ending in _WEAK:
        if plain.endswith(ending):
            return _weak_or_strong(word, plain, ending)
    return ""


def _weak_or_strong(word: str, plain: str, ending: str) -> str:
    if plain == ending:
        return "weak"
    if ending in ("token", "secret", "cookie", "credential"):
        return "strong"
    first, before = word[-len(ending)], word[: -len(ending)][-1:]
    apart = before in "_-. " or (first.isupper() and before.islower()) or plain.endswith(f"o{ending}")
    return "weak" if apart else ""


class _Patterns:
    """Compiled when the first suspicious text comes: `re` is not free on the path of `atm send`."""

    __slots__ = ("before", "credentials", "flag", "key", "next_pair", "pair", "pem", "run", "scheme", "shapes", "url")

    def __init__(self) -> None:
        import re

        either = re.ASCII | re.IGNORECASE
        ends = "password|passwd|passphrase|(?:api|private|access|secret)[-_. ]?key"
        ends = f"(?:{ends}|token|secret|cookie|credential|authorization|auth|bearer)"
        name = rf"{ends}s?\d{{0,4}}(?![A-Za-z0-9_])"
        self.key = re.compile(
            rf"{name}(?P<close>\\*[\"'`])?[ \t]{{0,16}}(?P<sep>=>|:=|=(?!=)|:(?![/:]))[ \t]{{0,16}}", either
        )
        self.flag = re.compile(rf"(?<![\w-])--?[\w.-]{{0,64}}?{name}[ \t]{{1,16}}(?=[^\s-])", either)
        self.before = re.compile(r"[A-Za-z0-9_.-]{0,64}$", re.ASCII)
        self.run = re.compile(r"[^\s\"'`]+")
        self.next_pair = re.compile(r"[\w.\-]{1,64}=(?=[^=])", re.ASCII)
        self.pair = re.compile(r"[&,;|][\w.\-]{1,64}[=:]", re.ASCII)
        self.scheme = re.compile(r"(?:bearer|basic|digest|token|apikey|negotiate|ntlm|key)\s{1,16}(?=\S)", either)
        self.credentials = re.compile(
            r"\b(bearer|basic)(\s{1,16}|%20|\+)([A-Za-z0-9._~+/=-]{6,}+)(?!\.?\w)", re.ASCII | re.IGNORECASE
        )
        self.url = re.compile(
            r"(://[^\s/?#@:\[\]\"'<>]{0,128}:)(?!\d{1,5}(?:[/?#]|$))"
            r"(?:[^\s/?#\"'<>]{1,256}|[^\s\"'<>]{1,256}?)@"
        )
        self.pem = re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        )
        self.shapes = re.compile(
            r"(?<![A-Za-z0-9_-])(?:"
            r"(?P<sk>sk-[A-Za-z0-9_-]{16,}+)|[sr]k_(?:live|test)_[A-Za-z0-9]{8,}+"
            r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+|glpat-[A-Za-z0-9_.-]{16,}+"
            r"|xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
            r"|AIza[A-Za-z0-9_-]{30,}+|npm_[A-Za-z0-9]{20,}+|hf_[A-Za-z0-9]{20,}+"
            r"|eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+(?:\.[A-Za-z0-9_-]*+){1,3})",
            re.ASCII,
        )


_compiled: _Patterns | None = None


def _patterns() -> _Patterns:
    global _compiled  # noqa: PLW0603 - compiled once, and the same whoever compiles it
    if _compiled is None:
        _compiled = _Patterns()
    return _compiled


def _without_secrets(text: str) -> str:
    """Whole blocks first, then what names say, then what shapes say."""
    known = _patterns()
    text = known.pem.sub(REDACTED, text)
    text = known.url.sub(rf"\g<1>{REDACTED}@", text)
    text = _by_names(text, known)
    text = known.credentials.sub(_credential, text)
    return known.shapes.sub(_shape, text)


def _credential(found: re.Match[str]) -> str:
    """`Bearer abc123` goes, "bearer certificates" and "Basic usage" stay."""
    value = found[3].rstrip(".")
    if not _looks_opaque(value) or (found[1].lower() == "basic" and "." in value):
        return found[0]
    return f"{found[1]}{found[2]}{REDACTED}{found[3][len(value) :]}"


def _shape(found: re.Match[str]) -> str:
    """A key of `sk-learn-based-pipelines` is none."""
    key = found["sk"]
    if key is not None and "-" in key[3:] and key.islower() and not any(c.isdigit() for c in key):
        return found[0]
    return REDACTED


def _looks_opaque(value: str) -> bool:
    """Not a word of a sentence: digits, capitals inside, signs that words do not have, or very long."""
    inside = value[1:]
    if len(value) >= 24 or any(c.isdigit() for c in value):
        return True
    mixed = inside != inside.lower() and not value.isupper()
    return len(value) >= 6 and (mixed or any(c in "_+/=~@#$%^*!" for c in value))


def _by_names(text: str, known: _Patterns) -> str:
    """`key=value`, `key: value`, `"key": "value"` and `--key value`."""
    for pattern in (known.flag, known.key):
        parts, done = [], 0
        found = pattern.search(text)
        while found is not None:
            start, end = _value(text, found, known)
            if end > start:
                end = _past_names(text, start, end, known)
                parts += [text[done:start], REDACTED]
                done = end
            found = pattern.search(text, max(end, found.end()))
        text = "".join([*parts, text[done:]])
    return text


def _value(text: str, found: re.Match[str], known: _Patterns) -> tuple[int, int]:
    """From where to where the value reaches that belongs to a name; the same place twice if it is to stay."""
    at, groups = found.end(), found.groupdict()
    stays = (at, at)
    kind = _secrecy(_name(text, found, known))
    if not kind or text.startswith(REDACTED, at):
        return stays
    certain = bool(groups.get("close")) or groups.get("sep") != ":"
    begin, opener = _opening(text, at)
    if opener:
        end = _closing(text, begin, opener)
        return stays if kind == "many" and _is_number(text[begin:end]) else (begin, end)
    if text[at : at + 1] in ("[", "{"):
        return (at, _bracket_end(text, at)) if certain else stays
    return _bare_value(text, found, kind, certain, known)


def _past_names(text: str, start: int, end: int, known: _Patterns) -> int:
    """`token=password: x`: what looked like a value is a name itself, and the secret comes behind it."""
    while start < end:
        inner = known.key.search(text, max(start, end - 64), end + 64)
        if inner is None or not inner.start() < end <= inner.end():
            break
        start, end = end, max(end, _value(text, inner, known)[1])
    return end


def _name(text: str, found: re.Match[str], known: _Patterns) -> str:
    """The whole of a name whose end was found: `GITHUB_TOKEN`, but not `monkey`."""
    before = known.before.search(text, max(0, found.start() - 64), found.start())
    word = text[found.start() : found.end()].partition("=")[0].partition(":")[0]
    return (before[0] if before else "") + word.strip(" \t\\\"'`")


def _opening(text: str, at: int) -> tuple[int, str]:
    """Where a quoted value begins, and its quote with the backslashes before it; `b'…'` of Python too."""
    begin = at
    while begin < at + 2 and text[begin : begin + 1] in tuple("bBrRuUfF"):
        begin += 1
    end = begin
    while text[end : end + 1] == "\\" and end < begin + 16:
        end += 1
    if text[end : end + 1] in ('"', "'", "`"):
        return end + 1, text[begin : end + 1]
    return at, ""


def _closing(text: str, at: int, opener: str) -> int:
    """
    Where the same quote comes again at the same level of escaping. Without one the value has been cut off, and
    reaches to the end.
    """
    level, quote = len(opener) - 1, opener[-1]
    place = text.find(quote, at)
    while place != -1:
        slashes = 0
        while place - slashes > at and text[place - slashes - 1] == "\\":
            slashes += 1
        if slashes % (2 * (level + 1)) == level:
            return place - level
        place = text.find(quote, place + 1)
    return len(text)


def _bracket_end(text: str, at: int) -> int:
    """Behind the bracket that closes this one, or the end of the text."""
    depth = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character in "\"'":
            at = min(len(text), _closing(text, at, character) + 1)
            continue
        depth += (character in "[{(") - (character in "]})")
        if depth <= 0:
            break
    return at


def _bare_value(text: str, found: re.Match[str], kind: str, certain: bool, known: _Patterns) -> tuple[int, int]:
    """A value without quotes: the scheme of a credential stays, a cookie reaches to the end of its line."""
    start = at = found.end()
    word = found[0].lower()
    scheme = known.scheme.match(text, at) if word.startswith("auth") else None
    if scheme is not None:
        start = scheme.end()
    run = known.run.match(text, start)
    if run is None or text.startswith(REDACTED, start):
        return (at, at)
    value = _first_of_pairs(run[0], known)
    if scheme is not None and scheme[0].lower().startswith("digest"):
        return (start, _line_end(text, start, "\n\r"))
    if word.startswith("cookie") and not certain and "=" in value:
        return (at, _line_end(text, at, "\n\r\"'"))
    if text[at - 1] in " \t" and known.next_pair.match(value):
        return (at, at)  # `token= user=bob`: the token is empty
    if scheme is None and not _is_secret_value(value, kind, certain):
        return (at, at)
    return (start, start + len(value))


def _is_secret_value(value: str, kind: str, certain: bool) -> bool:
    if value.lower() in _LITERALS:
        return False
    if kind == "many":
        return _looks_opaque(value) and not _is_number(value)
    return kind == "strong" or certain or _looks_opaque(value)


def _is_number(value: str) -> bool:
    """A count, as people write it: `12`, `1,200`, `4.5k`."""
    return value.replace(",", "").replace(".", "").rstrip("kKmM%").isdecimal()


def _first_of_pairs(run: str, known: _Patterns) -> str:
    """`abc` of `abc,user=bob` and `abc&x=1`, but all of `p,a&ss`; brackets and full stops at the end are not of it."""
    pair = known.pair.search(run)
    value = run if pair is None else run[: pair.start()]
    return value.rstrip(_TRAILING)


def _line_end(text: str, at: int, marks: str) -> int:
    """The end of the line; for a header of a command line the quote that it ends with."""
    return min([place for place in (text.find(mark, at) for mark in marks) if place != -1], default=len(text))
