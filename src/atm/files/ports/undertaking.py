"""Something of several steps that is written down while it is made, so that a crash can be finished."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

else:
    Protocol = object


class Undertaking(Protocol):
    """`with rosters.undertaking(…):` while two files change."""

    def __enter__(self) -> object: ...

    def __exit__(self, *_: object) -> None: ...
