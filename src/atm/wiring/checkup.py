"""What doctor looks at."""

from __future__ import annotations

from atm.system.files.disk import RealDisk
from atm.system.machine import RealClock, host_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.formats.files.layout import Layout
    from atm.ports.checkup import FilesAround


def build_files_around(layout: Layout, environment: Mapping[str, str]) -> FilesAround:
    from atm.system.checkup import FilesOnDisk

    return FilesOnDisk(RealDisk(layout.private_roots), RealClock(), layout, environment, host=host_name())
