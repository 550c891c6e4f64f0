"""
Times as they stand in files: ISO 8601 in UTC with milliseconds and `Z`, as JavaScript writes them.

`datetime` is imported only to read times of others: our own form is read and written by arithmetic.
"""

from __future__ import annotations


def to_iso(epoch: float) -> str:
    """Epoch seconds as `2026-08-27T10:15:30.123Z`."""
    millis = int(epoch * 1000 + 0.5)
    seconds, milli = divmod(millis, 1000)
    days, second = divmod(seconds, 86_400)
    year, month, day = _civil(days)
    return (
        f"{year:04d}-{month:02d}-{day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{milli:03d}Z"
    )


def for_name(epoch: float) -> str:
    """The same as part of a file's name: `20260827T101530123Z`."""
    return to_iso(epoch).replace("-", "").replace(":", "").replace(".", "")


def _civil(days: int) -> tuple[int, int, int]:
    """Days since 1970-01-01 as a Gregorian date, counted in years that begin in March."""
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def _days(year: int, month: int, day: int) -> int:
    """The other way round."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _from_own_form(text: str) -> float | None:
    """The form that we write, by arithmetic: hooks read times all day, and `datetime` takes 3 ms to load."""
    digits = f"{text[:4]}{text[5:7]}{text[8:10]}{text[11:13]}{text[14:16]}{text[17:19]}{text[20:23]}"
    if len(text) != 24 or len(digits) != 17 or not (digits.isascii() and digits.isdigit()):
        return None
    year, month, day, hour, minute = (int(text[at:end]) for at, end in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16)))
    seconds = _days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + int(text[17:19])
    found = (seconds * 1000 + int(text[20:23])) / 1000
    return found if to_iso(found) == text else None  # no such day, or another form after all


def from_iso(text: str) -> float | None:
    """Epoch seconds of a time in a file, or None if it cannot be read. Without a zone it is taken as UTC."""
    own = _from_own_form(text)
    if own is not None:
        return own
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    try:
        return when.timestamp()
    except (OverflowError, ValueError):
        return None
