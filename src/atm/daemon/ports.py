"""Starting the daemon by itself: what the machine's own service manager has to be told."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

NEW, UPDATED, UNCHANGED, REMOVED, ABSENT = "new", "updated", "unchanged", "removed", "absent"
"""What became of the unit's file."""


@dataclass(slots=True, eq=False)
class UnitResult:
    """What was done. The file and the service manager are two things: one may be there without the other."""

    name: str
    """As the service manager knows it: `atm.service`."""
    path: str
    change: str
    """`new`, `updated` or `unchanged` after installing; `removed` or `absent` after uninstalling."""
    _: KW_ONLY
    done: bool
    """Did the service manager do its part? Where there was nothing to do, it did."""
    problem: str = ""
    """Why it did not, in words; empty if it did."""
    hint: str = ""
    """The command line with which the user can do that part; empty if nothing is left to do."""

    def fields(self) -> dict[str, str | bool]:
        """As plain data, for a line of JSON."""
        return {key: getattr(self, key) for key in ("name", "path", "change", "done", "problem", "hint")}


class ServiceUnits(Protocol):
    """The unit of one home: each `ATM_HOME` has its own, so that sandboxes do not meet."""

    name: str
    path: str

    def text(self) -> str:
        """What the unit's file is to say."""

    def install(self) -> UnitResult:
        """
        Write the unit and have it started now and at every log-in. Doing it again changes nothing.

        If the service manager is not there or refuses, the file stays, and the result says what to run by hand.
        Raises AtmError if the file cannot be written, or is not ours.
        """

    def uninstall(self) -> UnitResult:
        """Stop it, and take the unit away. Nothing installed is a result like any other."""
