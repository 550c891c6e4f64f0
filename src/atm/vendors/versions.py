"""
Which versions of the agent programs the lab has run: what atm does inside of them was seen in what their models got.

Vendors change hooks, screens and files from one version to the next. One that is not among `seen` may work as well; the
lab has not looked. `tests/lab/programs.json` pins what the lab installs, and a test says when the two disagree.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.vendor import Vendor

_VERSION = re.compile(r"(?<![\d.-])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?![\d.]*\d)", re.ASCII)


def parse_version(text: str) -> tuple[int, int, int] | None:
    """The first `N.N.N` in what a program prints of itself."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def is_unseen(vendor: Vendor, version: str) -> bool:
    """Is this a version that we can name and the lab has not run? Of a vendor that it never ran: no."""
    return bool(vendor.seen) and parse_version(version) is not None and version not in vendor.seen
