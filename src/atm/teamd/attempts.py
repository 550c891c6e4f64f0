"""Doing something for one team of many: its trouble is nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from atm.domain.errors import AtmError

T = TypeVar("T")


class Attempt:
    """Call it with work and its arguments: the result, or None and a line in the log."""

    def __init__(self, log: Callable[..., None], source: str) -> None:
        self._log = log
        self._source = source

    def __call__(self, work: Callable[..., T], *args: object) -> T | None:
        try:
            return work(*args)
        except AtmError as error:
            self._log("debug", self._source, str(error))
        except Exception as error:  # noqa: BLE001 - a bug that one team's files bring out must not stop the others
            self._log("error", self._source, f"unexpected {type(error).__name__}: {error}")
        return None
