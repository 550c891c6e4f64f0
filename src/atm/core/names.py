"""
Names of teams and members, and the addresses made of them.

Two strictnesses, because we create few names and meet many: a name that *we create* must be safe on every
file system and for Claude Code (D21); a name that *exists* only has to be unable to escape its folder.
"""

from __future__ import annotations

from atm.core.errors import BadName

LONGEST_CREATED = 64
LONGEST_KNOWN = 128
"""Other tools accept up to 128 characters; past that, file systems begin to refuse `<name>.json.lock`."""

LONGEST_IN_BYTES = 240
"""A file name has at most 255 bytes, and `.json.lock` needs ten of them."""

RESERVED = ("user", "system", "atm")
"""Senders with a meaning of their own; a member of that name could pass for them."""

CLAUDE_TEAM_PREFIX = "session-"
"""Claude Code names the implicit team of a session `session-` and eight characters of its id."""

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _FIRST | frozenset("._+-")


def check_new_name(name: str, what: str) -> str:
    """Return the name if we may create it, or raise saying which rule it breaks."""
    check_known_name(name, what)
    if len(name) > LONGEST_CREATED:
        raise BadName(f"{what} name is {len(name)} characters long", f"use at most {LONGEST_CREATED}")
    if name[0] not in _FIRST or not _REST.issuperset(name):
        raise BadName(
            f"{what} name {name!r} has characters that we do not create",
            "use a-z, 0-9, '.', '_', '+', '-', beginning with a letter or a digit",
        )
    if name in RESERVED:
        raise BadName(f"{what} name {name!r} is reserved", "choose another name")
    if what == "team" and name.startswith(CLAUDE_TEAM_PREFIX):
        raise BadName(f"team names beginning with {CLAUDE_TEAM_PREFIX!r} belong to Claude Code", "choose another name")
    return name


def as_new_name(words: str) -> str:
    """What somebody is called, as a name that we may create: `Zoë Ó Briain` is `zoe-o-briain`. Empty if it has none."""
    from unicodedata import normalize

    plain = normalize("NFKD", words[:LONGEST_IN_BYTES]).encode("ascii", "ignore").decode().lower()
    kept = "".join(c if c in _REST else " " for c in plain.replace("'", ""))
    parts = (word.strip("._+-") for word in kept.split())
    name = "-".join(word for word in parts if word)[:LONGEST_CREATED].strip("._+-")
    return name if name not in RESERVED and is_safe_name(name) else ""


def check_known_name(name: str, what: str) -> str:
    """Return the name if it cannot lead out of its folder, or raise."""
    problem = _escape_in(name)
    if problem:
        raise BadName(f"{what} name {name[:80]!r} {problem}", "use the plain name of a team or member")
    return name


def is_safe_name(name: str) -> bool:
    return not _escape_in(name)


def check_sender(name: str) -> str:
    """Who may sign a message: every name but those of the user and the system themselves."""
    if name.partition("@")[0].strip().casefold() in RESERVED:
        raise BadName(f"nobody may sign as {name!r}", "use your own name")
    return check_known_name(name, "member")


def _escape_in(name: str) -> str:
    if not name or not name.strip():
        return "is empty"
    if len(name) > LONGEST_KNOWN or len(name.encode("utf-8", "surrogatepass")) > LONGEST_IN_BYTES:
        return f"is {len(name)} characters long"
    if not name.isprintable():
        return "contains a control character"
    if name != name.strip():
        return "begins or ends with a blank"
    if "/" in name or "\\" in name or ":" in name:  # on Windows a colon names a drive or a stream
        return "contains a path separator"
    if name.startswith(".") or ".." in name:
        return "could lead out of its folder"
    if name.endswith(".lock"):
        return "ends in .lock, which marks locks"
    return ""


def parse_address(address: str) -> tuple[str, str | None]:
    """Split `agent@team`; a bare `agent` has no team of its own."""
    agent, at, team = address.partition("@")
    check_known_name(agent, "member")
    if not at:
        return agent, None
    return agent, check_known_name(team, "team")


def same_name(one: str, other: str) -> bool:
    """Names are compared without case: some file systems cannot tell them apart."""
    return one.casefold() == other.casefold()


def find_name(name: str, known: list[str]) -> str | None:
    """The known spelling of a name, or None. The exact one first, where two differ by case alone."""
    if name in known:
        return name
    for candidate in known:
        if same_name(candidate, name):
            return candidate
    return None


LONGEST_SLIP = 200
"""Characters of a name that somebody may have mistyped."""
MOST_LETTERS = 500_000
"""That are compared with each other, a tenth of a second: on a large board not all long titles are looked at."""


def nearest_name(name: str, known: list[str]) -> str | None:
    """
    The known name that whoever typed `name` probably meant: a slip of the finger away, one in three letters at most, or
    begun and not ended. What is further away is no help: whoever follows it does something else.
    """
    if len(name) > LONGEST_SLIP:
        return None  # nobody typed that, and every letter costs
    typed = name.casefold()
    most = max(1, len(typed.strip("-")) // 3)
    alike = [one for one in known if abs(len(one.casefold()) - len(typed)) <= most]
    few = alike[: MOST_LETTERS // (len(typed) * (len(typed) + most) or 1)]
    slips = [(_slips(typed, one.casefold()), one[:1].casefold() != typed[:1], one) for one in few]
    fewest, _, near = min(slips, key=lambda one: one[:2], default=(len(typed), True, ""))
    if fewest <= most and fewest < len(typed.strip("-")):
        return near
    begun = [candidate for candidate in known if len(typed) > 2 and candidate.casefold().startswith(typed)]
    return begun[0] if len(begun) == 1 else None


def _slips(one: str, other: str) -> int:
    """Letters that are wrong, missing, too many, or two that have changed places."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        now = [i]
        for j, b in enumerate(other, 1):
            now.append(min(last[j] + 1, now[-1] + 1, last[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b and a != b:
                now[j] = min(now[j], before[j - 2] + 1)
        before, last = last, now
    return last[-1]


def is_claudes_team(team: str) -> bool:
    """Claude Code deletes, overwrites and validates what lies in its implicit teams."""
    return team.startswith(CLAUDE_TEAM_PREFIX)
