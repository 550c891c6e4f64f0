"""How OpenCode is run."""

from __future__ import annotations

from atm.vendors.opencode.permissions import as_variable
from atm.vendors.runtime import Runtime

OPENCODE, PASSWORD = "opencode", "OPENCODE_SERVER_PASSWORD"


def _for_its_server(mode: str, secret: str) -> dict[str, str]:
    """Without a password it is open to every user of the machine, and it allows everything unless told."""
    return {PASSWORD: secret, "OPENCODE_PERMISSION": as_variable(mode)}


RUNTIME = Runtime(
    "opencode",
    protocol=OPENCODE,
    program="opencode",
    headless=("opencode", "serve", "--hostname", "127.0.0.1", "--port", "{port}"),
    terminal=("opencode", "--model", "{model}", "--prompt", "{prompt}"),
    resume=("--session", "{resume}"),
    version=("opencode", "--version"),
    brings="npm install -g opencode-ai",
    vendor="opencode",
    ends_by_signal=True,
    goes_on=True,
    takes_tools=True,
    variables=_for_its_server,
    driver="atm.vendors.opencode.driver:OpenCodeDriver",
    remarks=("its own default is to allow everything: it is told to ask before it runs commands",),
)
