"""
A spooled message: one file of ours in `spool/pending/`, until it is delivered or given up (D8).

File names sort in the order of sending: `<nanoseconds>-<8 of the id>-<agent>@<team>.json`.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, RawObject, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.core.plain import Plain

VERSION = 1

DIGITS = 19
"""Of the nanoseconds in a file's name: names sort as numbers do, until the year 2286."""


class SpoolEntry:
    """What is needed to deliver a message later, and what was tried so far."""

    __slots__ = (
        "agent",
        "answers",
        "created_at",
        "last_attempt",
        "life",
        "message_id",
        "next_attempt",
        "raw",
        "reason",
        "team",
        "tries",
    )

    def __init__(
        self,
        *,
        team: str,
        agent: str,
        message_id: str,
        raw: str,
        created_at: float,
        reason: str,
        tries: int = 0,
        last_attempt: float | None = None,
        next_attempt: float = 0.0,
        answers: dict[str, str] | None = None,
        life: str = "",
    ) -> None:
        self.team = team
        self.agent = agent
        self.message_id = message_id
        self.raw = raw
        self.created_at = created_at
        self.reason = reason
        self.tries = tries
        self.last_attempt = last_attempt
        self.next_attempt = next_attempt
        self.answers = answers
        """The message that this one answers: {team, agent, message_id}. Delivered together or not at all."""
        self.life = life
        """Which life of the recipient it is for; empty where that is not known."""

    def file_name(self, nanoseconds: int) -> str:
        short = self.message_id[:8].replace("-", "")  # the target is what follows the second dash
        return f"{nanoseconds:0{DIGITS}d}-{short}-{self.agent}@{self.team}.json"

    def encoded(self) -> bytes:
        fields: dict[str, Plain] = {
            "version": VERSION,
            "target_team": self.team,
            "target_agent": self.agent,
            "message_id": self.message_id,
            "retry_count": self.tries,
            "created_at": self.created_at,
            "last_attempt": self.last_attempt,
            "next_attempt": self.next_attempt,
            "reason": self.reason,
        }
        if self.answers:
            fields["answers"] = dict(self.answers)
        if self.life:
            fields["life"] = self.life
        return to_bytes(f'{encode(fields)[:-1]}, "message": {self.raw}}}\n')


class Spooled:
    """A spooled message and the file it lies in."""

    __slots__ = ("entry", "name", "path", "was_tried")

    def __init__(self, name: str, path: str, entry: SpoolEntry, was_tried: bool) -> None:
        self.name = name
        self.path = path
        self.entry = entry
        self.was_tried = was_tried
        """A delivery was under way when its process ended: it may have arrived."""


def decode_entry(data: bytes) -> SpoolEntry | None:
    """The entry in a spool file, or None if the file is not one that we wrote."""
    try:
        record = RawObject(to_text(data))
    except NotJson:
        return None
    team, agent, id = record.get("target_team"), record.get("target_agent"), record.get("message_id")
    raw = record.raw("message")
    if not (isinstance(team, str) and isinstance(agent, str) and isinstance(id, str) and raw):
        return None
    answers = record.get("answers")
    return SpoolEntry(
        team=team,
        agent=agent,
        message_id=id,
        raw=raw,
        created_at=_number(record.get("created_at")),
        reason=str(record.get("reason") or ""),
        tries=int(_number(record.get("retry_count"))),
        last_attempt=_number(record.get("last_attempt")) or None,
        next_attempt=_number(record.get("next_attempt")),
        answers={str(k): str(v) for k, v in answers.items()} if isinstance(answers, dict) else None,
        life=str(record.get("life") or ""),
    )


def target_in_name(file_name: str) -> str:
    """`agent@team` of a spool file, from its name alone."""
    return file_name.removesuffix(".trying").removesuffix(".json").split("-", 2)[-1]


def highest_for(target: str, file_names: Iterable[str]) -> int:
    """The highest number among the files that wait for `agent@team`; 0 if none does."""
    numbers = [name.partition("-")[0] for name in file_names if target_in_name(name) == target]
    return max((int(number) for number in numbers if len(number) == DIGITS and number.isdecimal()), default=0)


def _number(value: Plain) -> float:
    """Numbers of ours are times and counts; anything beyond those is another program's doing."""
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else 0.0
