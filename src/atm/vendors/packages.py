"""Vendors that other packages bring: entry points of the group `atm.vendors`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "atm.vendors"


def vendors_of_others() -> list[tuple[str, str]]:
    """Names, and the place of each: `module:NAME`."""
    if not any(f"[{GROUP}]".encode() in content for content in _entry_points()):
        return []
    from importlib.metadata import entry_points

    return [(point.name, point.value) for point in entry_points(group=GROUP)]


def _entry_points() -> Iterator[bytes]:
    """
    The files that `importlib.metadata` would read. To import that takes longer than a permission hook needs for all of
    its work, and mostly no package brings a vendor.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(folder or ".", name, "entry_points.txt"), "rb") as file:
                        yield file.read()
                except OSError:
                    continue
