"""
The page of the run that just happened: the sandbox stays as long as somebody looks at it.

A process of its own keeps it and takes it away: whoever watched the demo has their terminal back.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from atm.core.errors import AtmError
from atm.files.formats.json_record import NotJson, decode_object
from atm.ui.demo.run_repository import TEAM
from atm.ui.demo.run_sandbox import DemoTrouble
from atm.wiring.daemon import ask_daemon, stop_daemon
from atm.wiring.files import find_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.demo.run_sandbox import Sandbox

MINUTES = 10
"""Without anybody at the page."""
LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class DemoPage:
    """Where it is, and the process that takes everything away: at once if it is asked to end."""

    url: str
    keeper: int


def open_page(sandbox: Sandbox) -> DemoPage | str:
    """Or why there is none."""
    try:
        sandbox.atm("daemon", "start")
        said = decode_object(sandbox.atm("web", "--json", "--port", "0", "--team", TEAM))
    except (DemoTrouble, NotJson) as error:
        stop_daemon(sandbox.layout, 15.0)
        return str(error).partition("fix: ")[2] or str(error)
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import keep; keep({sandbox.folder!r})"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=sandbox.environment,
        cwd="/",
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout as word:
        word.readline()  # from now on it takes everything away, also if it is asked to end
    return DemoPage(str(said["url"]), keeper.pid)


def keep(folder: str) -> None:
    """Until nobody has looked for a while, the page was closed, or somebody ends this process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    layout = find_layout(os.environ)
    seen_at = time.monotonic()
    try:
        os.write(1, b"ready\n")
        os.close(1)
        while time.monotonic() - seen_at < MINUTES * 60:
            time.sleep(LOOK_EVERY)
            try:
                state = ask_daemon(layout, "web-state")
            except AtmError:
                continue  # it is too slow just now
            if not isinstance(state, dict) or state.get("state") != "open":
                return
            if state.get("watching"):
                seen_at = time.monotonic()
    finally:
        stop_daemon(layout, 15.0)
        shutil.rmtree(folder, ignore_errors=True)
