"""The settings files of agent CLIs: which CLIs are here, where their files lie, and changing one file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.vendors.settings import Before, ConfigFile, Surroundings
    from atm.vendors.vendor import Vendor
else:
    Protocol = object


class VendorFiles(Protocol):
    """Texts are decoded so that every byte survives; None stands for a file that is not there."""

    def places(self, project: str) -> Surroundings:
        """Where the vendors keep their files, for this user and in this project."""

    def evidence(self, vendor: Vendor, places: Surroundings) -> str:
        """The program or the folder by which we know that it is installed; empty if it is not."""

    def version(self, vendor: Vendor) -> str:
        """Of the program that is on PATH, as its package or its place says; empty if neither does. Starts nothing."""

    def program(self) -> tuple[str, ...]:
        """How to start atm: by name if that is found on PATH, else by its absolute path."""

    def permits(self, *, project: bool) -> bool:
        """Is there a policy that permission hooks have to enforce: in a project's files, or in the user's?"""

    def can_serve(self) -> bool:
        """Can this atm serve MCP? What it needs for that is an extra."""

    def read(self, file: ConfigFile) -> str | None:
        """Raises UnreadableFile if something else than a file lies there, OutsideLink if a link leads too far."""

    def change(self, file: ConfigFile, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
        """
        Apply a change to the file as it is now, one writer at a time and all at once; what was and what is there.

        To return None removes the file. Where nothing was before, that is remembered. Raises WriteRefused where the
        file may not be written.
        """

    def before(self, file: ConfigFile) -> Before | None:
        """What was there when we made the file; None if we did not make it, or do not know."""

    def forget(self, file: ConfigFile) -> None:
        """
        What was there before is of no interest any more. If there is no file again, the folders that we made for it go
        too, unless something else is in them.
        """
